"""Convergence statistics of plain arrays, by arviz-stats."""

from typing import Any

import numpy as np
from jaxtyping import Float

TAIL = (0.05, 0.95)  # the quantiles of Vehtari et al. (2021), section 4.3
_OF_A_PROBABILITY = ("quantile", "local")  # methods of arviz-stats that ask for one


def ess(draws: Float[np.ndarray, "chain draw *event"], method: str = "bulk") -> Float[np.ndarray, "*event"]:
    """Effective sample size of each quantity; Vehtari et al. (2021).

    Args:
        draws: Draws ``[chain, draw, ...]``.
        method: The estimate for which the size is meant: ``"bulk"``, ``"mean"``, ``"tail"`` or another that
            arviz-stats knows and that is not of a probability.

    Raises:
        ValueError: There is no axis of chains, or no such method.
    """
    _check_method(method)
    # arviz-stats asks for the quantiles whose size is meant, the least of which it returns.
    prob = TAIL if method == "tail" else None
    return _statistics().ess(_of_chains(draws), chain_axis=0, draw_axis=1, method=method, prob=prob)


def rhat(draws: Float[np.ndarray, "chain draw *event"], method: str = "rank") -> Float[np.ndarray, "*event"]:
    """Rank-normalised split R-hat of each quantity; Vehtari et al. (2021).

    Args:
        draws: Draws ``[chain, draw, ...]``, of two chains or more; of one it is NaN.
        method: ``"rank"`` or ``"split"``.

    Raises:
        ValueError: There is no axis of chains.
    """
    draws = _of_chains(draws, "its halves, draws[: 2 * half].reshape(2, half)")
    with np.errstate(divide="ignore", invalid="ignore"):  # a chain that has not moved has no variance
        return _statistics().rhat(draws, chain_axis=0, draw_axis=1, method=method)


def mcse(draws: Float[np.ndarray, "chain draw *event"], method: str = "mean") -> Float[np.ndarray, "*event"]:
    """Monte Carlo standard error of each quantity.

    Args:
        draws: Draws ``[chain, draw, ...]``.
        method: The estimate whose error is meant: ``"mean"``, ``"sd"`` or ``"median"``.

    Raises:
        ValueError: There is no axis of chains, or no such method.
    """
    _check_method(method)
    return _statistics().mcse(_of_chains(draws), chain_axis=0, draw_axis=1, method=method)


def _check_method(method: str) -> None:
    if method in _OF_A_PROBABILITY:
        raise ValueError(
            f"method = {method!r}: is of a probability, which is not taken here; give 'mean' or 'median',"
            " or call arviz_stats"
        )


def _of_chains(
    draws: Float[np.ndarray, "chain draw *event"], of_one: str = "draws[None]"
) -> Float[np.ndarray, "chain draw *event"]:
    draws = np.asarray(draws)
    if draws.ndim < 2:
        raise ValueError(
            f"draws: of shape {draws.shape}: must be [chain, draw, ...]; of a single chain give {of_one}"
        )
    return draws


def _statistics() -> Any:
    # Imported here: arviz-stats takes a second to load.
    from arviz_stats.base import array_stats

    return array_stats
