"""A chain of a model: a chain on the host that tells what it samples."""

import warnings
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from geodrift._errors import RunWarning
from geodrift.driver import HostChain, Shares
from geodrift.models.kit._settings import ModelSettings


class ModelChain(HostChain):
    """One chain of a model.

    Attributes:
        settings: What is sampled, with every default resolved.
        seed: Of the random streams.
        counted_length: What a dimension whose length differs from draw to draw is counted as, before a run
            begins, when what it will need is told.
    """

    settings: ModelSettings
    seed: int
    counted_length: int = 1

    def start_from(self, topics: Float[np.ndarray, "J V"]) -> None:
        """Begin at these components, of which there may be fewer than the model has; before the first step.

        A start is no prior: warm-up follows, and the law of the draws is that of the posterior.

        Args:
            topics: Probabilities of words, or unit vectors.

        Raises:
            ValueError: There are more of them than the model has, or the model starts as it does.
        """
        raise ValueError("this model takes no topics to start from")

    def doubts(self) -> str:
        """What speaks against the draws of the plan that has ended; nothing where nothing does."""
        return ""

    @property
    def shares(self) -> Shares:  # type: ignore[override]
        """How the settings divide a run in warm-up and draws."""
        return self.settings.shares


def doubts_of(chains: Sequence[ModelChain]) -> list[str]:
    """What speaks against the draws of chains that have ended their plan, and of how many of them."""
    told = [line for line in (chain.doubts() for chain in chains) if line]
    return [f"{len(told)} of {len(chains)} chains: {told[0]}"] if told else []


def warn_of_doubts(chains: Sequence[ModelChain]) -> None:
    """What speaks against the draws of an estimator, whose `fit` calls this, as a `RunWarning`."""
    for line in doubts_of(chains):
        warnings.warn(line, RunWarning, stacklevel=3)
