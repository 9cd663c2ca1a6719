"""The default method: collapsed Gibbs sampling of the clusters of rows."""
