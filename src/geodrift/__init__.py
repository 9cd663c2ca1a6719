"""Bayesian inference from minibatches on spheres, simplices and other constrained spaces."""

__version__ = "0.1.0"
