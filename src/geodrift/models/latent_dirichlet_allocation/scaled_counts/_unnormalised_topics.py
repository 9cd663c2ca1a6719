r"""Topics as unnormalised gammas that a stochastic-gradient sampler moves.

:math:`\pi_{kw} = \theta_{kw} / \theta_{k\cdot}`, and :math:`\theta` has one of two laws whose quotients are
the same:

* gammas on the posterior, Gamma(eta + N_kw): Baker et al. (2018), section 4.1. Its drift has no term of the
  norm, so the assignments, which see :math:`\pi` alone, leave a stale :math:`\theta_{k\cdot}`; a move whose
  pace is :math:`1 / \theta_{k\cdot}` then tarries where the sum is large, and the law of :math:`\pi` is wrong
  however short the step. Before each move the sum is therefore drawn from a Gamma whose shape does not
  depend on :math:`\pi`.
* gammas on the prior, Gamma(eta): Patterson and Teh (2013), section 4. The sum has the law Gamma(V eta)
  whatever the data are.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._streams import LDA_MOMENTA_START, LDA_TOPIC_MOVES, LDA_TOPIC_SUMS
from geodrift.models.latent_dirichlet_allocation._topics import draw_sums
from geodrift.models.latent_dirichlet_allocation.scaled_counts import _cir_topics, _langevin_topics

LEAST_SUM = 1e-30
_SMALL_SUM = 1e-3  # `_cir_topics` leaves out of a sum what is below 1e-13
WITH_MOMENTA = ("sgrhmc", "sghmc")


class UnnormalisedTopics:
    """theta of every topic and word, and its moves by a stochastic-gradient sampler.

    Args:
        method: "scir", or a key of `_langevin_topics.KINDS`.
        gammas_on: "posterior" or "prior".
        theta: Values at the start, [V, K], positive.
        prior: eta, each word's Dirichlet parameter.
        seed: Seed of the run.
        chain: Number of the chain; (seed, chain, step) keys the random streams.
    """

    def __init__(
        self,
        method: str,
        gammas_on: str,
        theta: Float[np.ndarray, "V K"],
        prior: float,
        seed: int,
        chain: int,
    ) -> None:
        self.method, self.gammas_on, self.prior = method, gammas_on, prior
        self.seed, self.chain = seed, chain
        self.in_logs = method in ("scir", "sgld", "sghmc")
        self.sums = theta.sum(axis=0, dtype=np.float64)
        self.x = (np.log(theta) if self.in_logs else theta).astype(np.float32)
        has_momenta = method in WITH_MOMENTA
        rng = LDA_MOMENTA_START.generator(seed, chain)
        self.momenta = rng.standard_normal(theta.shape if has_momenta else (0, theta.shape[1]), np.float32)
        self.place = np.full(theta.shape[0], -1, np.int32)

    def of_words(self, words: Int[np.ndarray, " W"]) -> Float[np.ndarray, "W K"]:
        """Pi of some words, [W, K] float32."""
        return self._topics_of(self.x[words])

    def all_words(self) -> Float[np.ndarray, "K V"]:
        """pi, float32 rows that sum to 1."""
        topics = self._topics_of(self._present()).T
        return np.ascontiguousarray(topics / topics.sum(axis=1, keepdims=True))

    def move(
        self,
        words: Int[np.ndarray, " W"],
        counts: Float[np.ndarray, "W K"],
        shapes: Float[np.ndarray, " K"],
        step_size: float,
        friction: float,
        count: int,
    ) -> None:
        """Move the topics by one step, given estimates of the counts of some words; the other counts are 0.

        Args:
            words: Distinct.
            counts: Estimates of N_kw, float32.
            shapes: Gamma shapes of the topics' sums, for gammas on the posterior.
            step_size: h, time.
            friction: C, 1/time; see `_langevin_topics.move_topics`.
            count: Steps taken; (seed, chain, count) keys the random streams.
        """
        self.place[words] = np.arange(len(words))
        streams = self._streams(count)
        if self.gammas_on == "posterior":
            factors, pulls = self._factors(shapes, count), np.zeros_like(self.sums)
        else:
            factors, pulls = np.ones_like(self.sums), counts.sum(axis=0, dtype=np.float64) / self.sums
        if self.method == "scir":
            self.sums = _cir_topics.move_topics(
                self.x, self.place, counts, self.prior, np.log(factors), step_size, streams
            )
            if self.gammas_on == "posterior":
                self._enlarge_small_topics()
        else:
            self.sums = _langevin_topics.move_topics(
                _langevin_topics.KINDS[self.method],
                self.x,
                self.momenta,
                self.place,
                counts,
                self.prior,
                factors,
                pulls,
                step_size,
                friction,
                streams,
            )
        self.place[words] = -1

    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to go on, bit for bit."""
        return {"theta": self.x.copy(), "sums": self.sums.copy(), "momenta": self.momenta.copy()}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take up what `state` put down."""
        self.x, self.sums, self.momenta = (np.array(arrays[n]) for n in ("theta", "sums", "momenta"))

    def _topics_of(self, x: Float[np.ndarray, "W K"]) -> Float[np.ndarray, "W K"]:
        if self.in_logs:
            return np.exp(x - np.log(self.sums).astype(np.float32))
        return x / self.sums.astype(np.float32)

    def _enlarge_small_topics(self) -> None:
        """Rescale small topics to the sum 1, so that no entry underflows; each move draws the sum anew."""
        small = self.sums < _SMALL_SUM
        if small.any():
            self.x[:, small] -= logsumexp(self.x[:, small].astype(np.float64), axis=0)
            self.sums[small] = 1.0

    def _present(self) -> Float[np.ndarray, "V K"]:
        """The entries of all words at present."""
        return self.x

    def _streams(self, count: int) -> Family:
        return LDA_TOPIC_MOVES.family(self.seed, self.chain, count)

    def _factors(self, shapes: Float[np.ndarray, " K"], count: int) -> Float[np.ndarray, " K"]:
        """The factor of each topic from its present sum to a new draw of the sum."""
        family = LDA_TOPIC_SUMS.family(self.seed, self.chain, count).word
        # Not 0, from which no discretised move can start.
        return np.maximum(draw_sums(shapes, family), LEAST_SUM) / self.sums
