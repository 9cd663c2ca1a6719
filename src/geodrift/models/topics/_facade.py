"""What the scikit-learn estimators of topic models share."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float, Int

from geodrift.driver import Chain
from geodrift.models.kit._facade import Facade, component_draws

TRANSFORM_DRAWS = 20  # draws that `transform` averages over, at most


class TopicModelFacade(Facade):
    """A topic model under scikit-learn's contract."""


def aligned_draws(
    chains: Sequence[Chain],
    num_steps: int,
    common_order: Callable[[Float[np.ndarray, "N K V"]], Int[np.ndarray, "N K"]],
) -> dict[str, np.ndarray]:
    """The draws of all chains, one after the other, of every variable that has topics, in one order of them.

    Args:
        chains: At their start.
        num_steps: Steps of each chain.
        common_order: The topic that stands in each place, for each draw.
    """
    return component_draws(chains, num_steps, "topics", common_order)


def spaced(draws: Float[np.ndarray, "N ..."], most: int = TRANSFORM_DRAWS) -> Float[np.ndarray, "M ..."]:
    """At most so many of the draws, evenly spaced."""
    return draws[np.linspace(0, len(draws) - 1, min(most, len(draws))).astype(int)]
