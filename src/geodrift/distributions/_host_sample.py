"""Exact draws of the von Mises-Fisher law in NumPy, in float64."""

import numpy as np
from jaxtyping import Float

from geodrift.distributions._host import checked_dimension


def host_sample(rng: np.random.Generator, resultants: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    r"""One draw of each of several laws with density proportional to ``exp(r'x)``.

    The height along r is drawn by Wood's rejection (1994) in the form of `geodrift.distributions.sample`,
    which keeps the digits of ``1 - w`` at any concentration; the direction across is uniform.

    Args:
        rng: Generator.
        resultants: r = kappa mu, one law a row; a row of zeros is the uniform law.

    Returns:
        Unit vectors [n, d].
    """
    number, dim = resultants.shape
    checked_dimension(dim)
    concentration = np.linalg.norm(resultants, axis=1)
    u, tangent = _heights(rng, dim, concentration)
    across = rng.standard_normal((number, dim - 1))
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    x = np.concatenate([1 - u[:, None], tangent[:, None] * across], axis=1)
    first = np.zeros((number, dim))
    first[:, 0] = 1.0
    directed = concentration > 0
    mean = np.where(directed[:, None], resultants / np.where(directed, concentration, 1)[:, None], first)
    # Householder: with v = mu + s e1, s = sign(mu_1), the reflection maps e1 to -s mu.
    sign = np.where(mean[:, :1] < 0, -1.0, 1.0)
    normal = mean.copy()
    normal[:, :1] += sign
    along = (normal * x).sum(axis=1, keepdims=True) / (1 + np.abs(mean[:, :1]))
    x = -sign * (x - along * normal)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def _heights(
    rng: np.random.Generator, dim: int, concentration: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """``1 - w`` and ``sqrt(1 - w^2)`` for w = mu'x."""
    degrees = dim - 1.0
    b = degrees / (2 * concentration + np.hypot(2 * concentration, degrees))
    u0 = 2 * b / (1 + b)
    u, tangent = np.zeros((2, len(concentration)))
    left = np.arange(len(concentration))
    while len(left):
        first, second = rng.standard_gamma(degrees / 2, (2, len(left)))
        denominator = second + b[left] * first
        proposed = 2 * b[left] * first / denominator
        y = concentration[left] * (proposed - u0[left]) / degrees
        taken = -rng.standard_exponential(len(left)) <= degrees * (np.log1p(y) - y)
        now = left[taken]
        u[now] = proposed[taken]
        tangent[now] = 2 * np.sqrt(b[now] * first[taken] * second[taken]) / denominator[taken]
        left = left[~taken]
    return u, tangent
