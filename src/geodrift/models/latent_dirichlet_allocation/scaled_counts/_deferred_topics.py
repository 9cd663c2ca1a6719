r"""SCIR's topics for large vocabularies: a word moves when a minibatch has it, all its missed moves at once.

A step needs pi of the minibatch's words, and a word that no minibatch has visited since s has missed moves
that merge into one (`_merged_moves`). What needs all words at each step is the sum :math:`\theta_{k\cdot}`.
In its place stands its mean given what has been drawn,

.. math:: \bar\theta_{k\cdot} = \sum_{\text{up to date}} \theta_{kw}
    + \sum_{\text{behind}} (B_{s(w)} \theta_{kw} + C_{s(w)} \eta),

whose share of the words that are behind follows from step to step by their common B and C. That is not exact:
of the sum's variance the part is missing that the words behind have gained since they were last moved, and a
topic's probabilities are too large or too small by that part, all of them alike. Every `WINDOW` steps all
words are moved.
"""

import numpy as np
from jaxtyping import Float, Int

from geodrift.models.latent_dirichlet_allocation.scaled_counts._merged_moves import move_words
from geodrift.models.latent_dirichlet_allocation.scaled_counts._unnormalised_topics import (
    LEAST_SUM,
    UnnormalisedTopics,
)

WINDOW = 64  # steps after which all words are moved; at most 255
LEAST_WORDS = 50_000
MOST_VISITED = 0.3  # share of the words that a minibatch has: each of them is moved twice
LEAST_SHAPE = 100.0  # Gamma shape of a topic's sum without counts: its missing part is then below a tenth


def worth_deferring(num_words: int, prior: float, visited: int) -> bool:
    """Whether deferred moves are faster than moving all V words at each step, and accurate.

    Args:
        num_words: V.
        prior: eta, each word's Dirichlet parameter.
        visited: Distinct words of a minibatch.
    """
    large = num_words >= LEAST_WORDS and prior * num_words >= LEAST_SHAPE
    return large and visited <= MOST_VISITED * num_words


class DeferredTopics(UnnormalisedTopics):
    """Unnormalised topics of which a step moves the minibatch's words only.

    Args:
        theta: Values at the start, [V, K], positive.
        prior: eta, each word's Dirichlet parameter.
        seed: Seed of the run.
        chain: Number of the chain; (seed, chain, step) keys the random streams.

    Attributes:
        sums: Mean of the sums of theta over words, given what has been drawn, [K].
        moves: Number of moves since all words were moved.
        since: How many of those moves each word has made, [V].
        left: log B of the merged moves from each number of moves to the present, [WINDOW + 1, K].
        scale: C of the same merged moves.
        count: Steps taken.
    """

    def __init__(self, theta: Float[np.ndarray, "V K"], prior: float, seed: int, chain: int) -> None:
        super().__init__("scir", "posterior", theta, prior, seed, chain)
        self.moves, self.count = 0, 0
        self.since = np.zeros(theta.shape[0], np.uint8)
        self.left, self.scale = (np.zeros((WINDOW + 1, theta.shape[1])) for _ in range(2))

    def of_words(self, words: Int[np.ndarray, " W"]) -> Float[np.ndarray, "W K"]:
        """Pi of some words, float32, after their missed moves."""
        self._catch_up(words)
        return super().of_words(words)

    def move(
        self,
        words: Int[np.ndarray, " W"],
        counts: Float[np.ndarray, "W K"],
        shapes: Float[np.ndarray, " K"],
        step_size: float,
        friction: float,
        count: int,
    ) -> None:
        """See `UnnormalisedTopics.move`."""
        del friction
        self.count = count
        self._catch_up(words)
        left = np.log(self._factors(shapes, count)) - step_size
        scale = np.full_like(left, -np.expm1(-step_size))
        self.sums = np.exp(left) * self.sums + self.prior * len(self.x) * scale
        rows = np.zeros(len(words), np.uint8)
        moves = rows, left[None], scale[None], counts, self.prior, 0
        self._add(move_words(self.x, words, *moves, self._streams(count)))
        before = slice(0, self.moves + 1)
        self.left[before] += left
        self.scale[before] = np.exp(left) * self.scale[before] + scale
        self.moves += 1
        self.since[words] = self.moves
        self.count = count + 1
        if self.moves == WINDOW:
            self._catch_up(np.arange(len(self.x)))
            self.moves, self.since[:], self.left[:], self.scale[:] = 0, 0, 0.0, 0.0

    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to go on, bit for bit."""
        return super().state() | {
            "since": self.since.copy(),
            "left": self.left.copy(),
            "scale": self.scale.copy(),
            "moves": np.array([self.moves, self.count]),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take up what `state` put down."""
        super().restore(arrays)
        self.since, self.left, self.scale = (np.array(arrays[n]) for n in ("since", "left", "scale"))
        self.moves, self.count = (int(number) for number in arrays["moves"])

    def _present(self) -> Float[np.ndarray, "V K"]:
        """A copy in which all missed moves are made: reading the topics changes no later step."""
        x = self.x.copy()
        self._make_missed_moves(x, np.arange(len(x)))
        return x

    def _catch_up(self, words: Int[np.ndarray, " W"]) -> None:
        self._add(self._make_missed_moves(self.x, words))
        self.since[words] = self.moves

    def _make_missed_moves(
        self, x: Float[np.ndarray, "V K"], words: Int[np.ndarray, " W"]
    ) -> Float[np.ndarray, " K"]:
        words = words[self.since[words] < self.moves]
        if len(words) == 0:
            return np.zeros_like(self.sums)
        # Their items follow those of the step's own move.
        moves = self.since[words], self.left, self.scale, None, self.prior, x.size
        return move_words(x, words, *moves, self._streams(self.count))

    def _add(self, changes: Float[np.ndarray, " K"]) -> None:
        self.sums = np.maximum(self.sums + changes, LEAST_SUM)
