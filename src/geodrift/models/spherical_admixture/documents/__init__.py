"""Documents: unit vectors, their mixtures, and the sums over them that the gradient of the topics needs."""
