"""Logarithms of gamma and Dirichlet draws: none underflows."""

import numpy as np
from jaxtyping import Float


def log_gamma(shapes: Float[np.ndarray, "*n"], rng: np.random.Generator) -> Float[np.ndarray, "*n"]:
    """Logarithms of Gamma draws; none underflows."""
    return np.log(rng.standard_gamma(shapes + 1.0)) - rng.standard_exponential(np.shape(shapes)) / shapes


def log_dirichlet(shapes: Float[np.ndarray, "*n V"], rng: np.random.Generator) -> Float[np.ndarray, "*n V"]:
    """Logarithms of Dirichlet draws along the last axis; none underflows."""
    # Gamma(s) = Gamma(s + 1) U^(1/s).
    logs = log_gamma(shapes, rng)
    logs -= logs.max(axis=-1, keepdims=True)
    return logs - np.log(np.exp(logs).sum(axis=-1, keepdims=True))
