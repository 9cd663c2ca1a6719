"""What the chain asks of the part that moves the topics."""

import abc
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from geodrift.driver import Plan
from geodrift.models.latent_dirichlet_allocation._settings import Settings
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch, TokenSource


class TopicMove(abc.ABC):
    """Assignments of a minibatch given the topics, then the topics given the assignments.

    The chain chooses the documents and counts the steps; the move holds the rest of the chain's state.
    """

    settings: Settings
    batch_size: int  # documents of a step, at most those of the corpus

    @property
    def threads_of_a_step(self) -> int:
        """See `Chain.threads_of_a_step`."""
        return 0

    @property
    def document_prior(self) -> Float[np.ndarray, " K"]:
        """The present alpha."""
        return self.settings.document_prior

    @property
    def topic_word_prior(self) -> float:
        """The present eta."""
        return self.settings.topic_word_prior

    def compile(self) -> None:  # noqa: B027  some compile in their first step
        """See `Chain.compile`."""

    def begin(self, documents: Int[np.ndarray, " D"]) -> None:  # noqa: B027  most moves do nothing
        """What happens before the first step; ``documents`` are those of the first pass."""

    @abc.abstractmethod
    def documents_of_pass(self, count: int, plan: Plan | None) -> int:
        """How many documents the pass goes over that begins after ``count`` steps.

        ``plan`` is None while there is none.
        """

    def anneal(self, count: int, plan: Plan | None) -> None:  # noqa: B027  most moves do not
        """What the step that follows on ``count`` steps does otherwise than later ones, in warm-up alone.

        ``plan`` is None while there is none.
        """

    def minibatch(self, source: TokenSource, documents: Int[np.ndarray, " S"]) -> Any:
        """The documents of a step, read as `step` wants them: a `Minibatch`, unless processes share it."""
        return source.minibatch(documents)

    @abc.abstractmethod
    def step(self, batch: Minibatch, count: int, warming_up: bool) -> int:
        """One step; random numbers are named by (seed, chain, count). Returns its number of token draws."""

    @abc.abstractmethod
    def topics(self, count: int) -> Float[np.ndarray, "K V"]:
        """A draw of the topics after ``count`` steps, float32 rows that sum to 1."""

    @abc.abstractmethod
    def expected_topics(self) -> Float[np.ndarray, "K V"]:
        """The topics' mean given the present assignments or counts, float32 rows that sum to 1."""

    @abc.abstractmethod
    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to go on, bit for bit."""

    @abc.abstractmethod
    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state returned by `state`."""

    def metrics(self) -> dict[str, float]:
        """Numbers of the present state to show."""
        return {}

    def work(self, count: int) -> float:
        """What was done in ``count`` steps, in units that take the same time."""
        return float(count)

    def steps_within(self, seconds: float, pace: float, count: int) -> int:
        """How many more steps fit in a time.

        Args:
            seconds: The time.
            pace: Seconds of a unit of `work` now.
            count: Steps taken so far.
        """
        del count
        return int(seconds / pace)
