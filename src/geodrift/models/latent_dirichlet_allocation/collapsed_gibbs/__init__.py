"""The default method: exact collapsed Gibbs sampling with partial updates."""
