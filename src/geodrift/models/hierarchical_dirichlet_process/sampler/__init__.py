"""Collapsed Gibbs sampling of assignments and weights, which is exact."""
