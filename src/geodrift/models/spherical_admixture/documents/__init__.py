"""Documents: unit vectors, their mixtures, and the sums over them that the topics need."""
