"""The von Mises-Fisher law in NumPy, always in float64: constants, their inverse, and fitting."""

import operator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float

from geodrift.distributions import _bessel


def checked_dimension(dim: int) -> int:
    """``dim`` as an int; a ``ValueError`` unless it is a whole number of at least 2."""
    try:
        whole = operator.index(dim)
    except TypeError:
        raise ValueError(f"dim must be a whole number of at least 2, got {dim!r}") from None
    if whole < 2:
        raise ValueError(f"dim must be a whole number of at least 2, got {dim!r}")
    return whole


def _checked_concentration(concentration: ArrayLike) -> np.ndarray:
    values = np.asarray(concentration, dtype=np.float64)
    if not (np.all(np.isfinite(values)) and np.all(values >= 0)):
        raise ValueError(f"concentration must be finite and not negative, got {concentration!r}")
    return values


def host_log_normaliser(dim: int, concentration: Float[ArrayLike, "*batch"]) -> Float[Any, "*batch"]:
    r"""``log c_d(kappa)`` in float64; see `geodrift.distributions.log_normaliser`.

    Args:
        dim: Ambient dimension d, at least 2.
        concentration: kappa, finite and not negative.

    Returns:
        ``log c_d(kappa)``, the shape of ``concentration``: an array, or a NumPy float for a number.

    Raises:
        ValueError: for a dimension below 2 or a concentration that is negative or not finite.
    """
    nu = checked_dimension(dim) / 2 - 1
    return -_bessel.log_bessel_i_scaled(np, nu, _checked_concentration(concentration))


def host_mean_resultant_length(dim: int, concentration: Float[ArrayLike, "*batch"]) -> Float[Any, "*batch"]:
    r"""``A_d(kappa) = I_{d/2}(kappa) / I_{d/2-1}(kappa)`` in float64.

    Args:
        dim: Ambient dimension d, at least 2.
        concentration: kappa, finite and not negative.

    Returns:
        The length of the law's mean vector, in [0, 1), the shape of ``concentration``.

    Raises:
        ValueError: for a dimension below 2 or a concentration that is negative or not finite.
    """
    nu = checked_dimension(dim) / 2 - 1
    return _bessel.ratio_and_derivative(np, nu, _checked_concentration(concentration))[0]


def host_mean_resultant_length_derivative(
    dim: int, concentration: Float[ArrayLike, "*batch"]
) -> Float[Any, "*batch"]:
    r"""``dA_d/dkappa = 1 - A^2 - (d - 1) A / kappa`` in float64, without its cancellation.

    It is also the variance of ``mu' x``. Arguments and errors as in `host_mean_resultant_length`.
    """
    nu = checked_dimension(dim) / 2 - 1
    return _bessel.ratio_and_derivative(np, nu, _checked_concentration(concentration))[1]


def host_concentration(dim: int, mean_resultant_length: float) -> float:
    r"""The concentration at which the mean vector has a given length: the inverse of ``A_d``.

    Newton's method from the start of Banerjee et al. (2005), eq. (4.4). As ``A_d`` is concave, the iterates
    rise monotonically to the root after the first; a step that would leave the positive axis is cut to a
    tenth.

    Args:
        dim: Ambient dimension d, at least 2.
        mean_resultant_length: A length in [0, 1).

    Returns:
        kappa with ``A_d(kappa)`` equal to the length.

    Raises:
        ValueError: when the length is outside [0, 1).
    """
    dim = checked_dimension(dim)
    target = float(mean_resultant_length)
    if not 0 <= target < 1:
        raise ValueError(f"mean_resultant_length must be in [0, 1), got {mean_resultant_length!r}")
    if target == 0:
        return 0.0
    kappa = target * (dim - target**2) / ((1 - target) * (1 + target))
    for _ in range(100):
        value, slope = _bessel.ratio_and_derivative(np, dim / 2 - 1, np.float64(kappa))
        following = max(kappa + float((target - value) / slope), 0.1 * kappa)
        if abs(following - kappa) <= 1e-14 * kappa:
            return following
        kappa = following
    return kappa


class Fit(NamedTuple):
    """Maximum-likelihood parameters of a von Mises-Fisher law."""

    mean: Float[np.ndarray, " d"]  # unit mean direction mu
    concentration: float  # kappa


def fit(x: Float[ArrayLike, "n d"], weights: Float[ArrayLike, " n"] | None = None) -> Fit:
    r"""Maximum-likelihood mean direction and concentration of unit vectors.

    ``mu = R / |R|`` with ``R`` the weighted mean of the rows, and ``A_d(kappa) = |R|`` (Mardia & Jupp 2000,
    10.3.1).

    Args:
        x: Unit vectors in rows, shape [n, d], n >= 1, d >= 2.
        weights: Weights that are not negative and not all zero, shape [n]; equal when not given.

    Returns:
        The unit mean [d] and the concentration, in float64.

    Raises:
        ValueError: for a wrong shape, a value that is not finite, rows that are not of unit norm (to 1e-3),
            bad weights, a resultant of zero (no mean direction), or rows that all coincide (no finite
            concentration).
    """
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 2 or x.shape[0] < 1 or x.shape[1] < 2:
        raise ValueError(f"x must have shape [n, d] with n >= 1 and d >= 2, got {x.shape}")
    norms = np.linalg.norm(x, axis=1)
    if not np.all(np.abs(norms - 1) < 1e-3):
        row = int(np.flatnonzero(~(np.abs(norms - 1) < 1e-3))[0])
        raise ValueError(f"x must have rows of unit norm: row {row} has norm {norms[row]:.6g}")
    weights = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
    if (
        weights.shape != (len(x),)
        or not np.all(np.isfinite(weights))
        or np.any(weights < 0)
        or not np.any(weights > 0)
    ):
        raise ValueError(
            f"weights must be {len(x)} finite numbers, none negative and not all zero, got {weights!r}"
        )
    share = weights / weights.sum()
    resultant = share @ (x / norms[:, None])
    length = float(np.linalg.norm(resultant))
    # Rounding of n unit rows leaves a length near 1e-16: below, the direction means nothing.
    if length < 1e-15:
        raise ValueError("x has a resultant of length zero: its mean direction is undefined")
    mean = resultant / length
    # 1 - |R| as a mean of squared chords keeps its digits where |R| is near 1 and concentrations are large.
    spread = 0.5 * float(share @ np.sum((x / norms[:, None] - mean) ** 2, axis=1))
    if spread < 1e-14:
        raise ValueError("the rows of x coincide: the likelihood has no maximum at a finite concentration")
    return Fit(mean, host_concentration(x.shape[1], 1 - spread if spread < 0.5 else length))
