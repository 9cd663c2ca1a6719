"""Collapsed Gibbs sampling whose documents are shared out to processes."""
