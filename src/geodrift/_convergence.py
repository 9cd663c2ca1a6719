"""Convergence statistics of plain arrays, by arviz-stats."""

from typing import Any

import numpy as np
from jaxtyping import Float

TAIL = (0.05, 0.95)  # the quantiles of Vehtari et al. (2021), section 4.3


def ess(draws: Float[np.ndarray, "chain draw *event"], method: str = "bulk") -> Float[np.ndarray, "*event"]:
    """Effective sample size of each quantity; Vehtari et al. (2021).

    Args:
        draws: Draws ``[chain, draw, ...]``.
        method: The estimate for which the size is meant: ``"bulk"``, ``"mean"``, ``"tail"`` or another that
            arviz-stats knows.

    Raises:
        ValueError: There is no axis of chains.
    """
    # arviz-stats asks for the quantiles whose size is meant, the least of which it returns.
    prob = TAIL if method == "tail" else None
    return _statistics().ess(_of_chains(draws), chain_axis=0, draw_axis=1, method=method, prob=prob)


def rhat(draws: Float[np.ndarray, "chain draw *event"], method: str = "rank") -> Float[np.ndarray, "*event"]:
    """Rank-normalised split R-hat of each quantity; Vehtari et al. (2021).

    Args:
        draws: Draws ``[chain, draw, ...]``.
        method: ``"rank"`` or ``"split"``.

    Raises:
        ValueError: There is no axis of chains.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # a chain that has not moved has no variance
        return _statistics().rhat(_of_chains(draws), chain_axis=0, draw_axis=1, method=method)


def mcse(draws: Float[np.ndarray, "chain draw *event"], method: str = "mean") -> Float[np.ndarray, "*event"]:
    """Monte Carlo standard error of each quantity.

    Args:
        draws: Draws ``[chain, draw, ...]``.
        method: The estimate whose error is meant: ``"mean"``, ``"sd"`` or ``"median"``.

    Raises:
        ValueError: There is no axis of chains.
    """
    return _statistics().mcse(_of_chains(draws), chain_axis=0, draw_axis=1, method=method)


def _of_chains(draws: Float[np.ndarray, "chain draw *event"]) -> Float[np.ndarray, "chain draw *event"]:
    draws = np.asarray(draws)
    if draws.ndim < 2:
        raise ValueError(
            f"draws: of shape {draws.shape}: must be [chain, draw, ...]; of a single chain give draws[None]"
        )
    return draws


def _statistics() -> Any:
    # Imported here: arviz-stats takes a second to load.
    from arviz_stats.base import array_stats

    return array_stats
