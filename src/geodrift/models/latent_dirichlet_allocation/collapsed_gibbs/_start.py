"""How a collapsed Gibbs chain starts: with some documents, and the topics that a factorisation finds in them.

More topics than a factorisation finds in a reasonable time start as one document each.

Topics form within a number of sweeps that does not depend on how many documents there are, if they are enough
to tell topics apart; then the other documents join. The documents of the start are chosen at random by each
chain, at most three quarters of the corpus, so that chains which find the same topics have found them in
different documents.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from geodrift.driver import Plan
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import TokenSource
from geodrift.models.topics._factorisation import MOST_TOPICS, factorised_topics
from geodrift.models.topics._given_topics import filled_up

TOKENS_OF_A_STEP = 2**19
# The documents of the start: so much of the corpus, but at most so many steps' tokens, and those factorised.
SHARE, MOST, MOST_FACTORISED = 0.75, 8, 4
SWEEPS = 10  # over the documents of the start, until the others join
SMOOTHING = 0.3  # the share of the words' frequencies in a topic of the start


class StartSizes(NamedTuple):
    """Numbers of documents: of a step, of the start, and of these in the factorisation."""

    of_step: int
    of_start: int
    factorised: int


def sizes_of(source: TokenSource, batch_size: int | None, at_least: int) -> StartSizes:
    """What the corpus asks for; a step has at least so many tokens if the user asked for no number."""

    def with_tokens(tokens: float) -> int:
        documents = math.ceil(tokens * source.num_documents / source.num_tokens)
        return max(1, min(documents, source.num_documents))

    of_step = with_tokens(max(TOKENS_OF_A_STEP, at_least))
    if batch_size is not None:
        of_step = min(batch_size, source.num_documents)
    of_start = with_tokens(min(SHARE * source.num_tokens, MOST * TOKENS_OF_A_STEP))
    return StartSizes(of_step, of_start, min(of_start, with_tokens(MOST_FACTORISED * TOKENS_OF_A_STEP)))


def first_topics(
    counts: sp.csr_matrix, num_topics: int, seed: int, given: Float[np.ndarray, "J V"] | None = None
) -> Float[np.ndarray, "V K"]:
    """Topics to start from, as word weights, float32: each shrunk towards the words' frequencies.

    Up to `MOST_TOPICS` are from a factorisation of the documents' counts, whose work grows with the square of
    their number. More are a document each: the first ones, which a chain has in a random order. Topics that
    are given come first; those of the others that are least like them fill up.
    """
    if given is not None and len(given) == num_topics:
        topics = given.astype(np.float64)
    else:
        topics = _topics_of(counts, num_topics, seed)
        if given is not None:
            topics = filled_up(given.astype(np.float64), topics, np.sqrt)
    frequencies = np.asarray(counts.sum(axis=0), np.float64).ravel() + 1.0
    topics = (1 - SMOOTHING) * topics + SMOOTHING * frequencies / frequencies.sum()
    return np.ascontiguousarray(topics.T, dtype=np.float32)


def _topics_of(counts: sp.csr_matrix, num_topics: int, seed: int) -> Float[np.ndarray, "K V"]:
    return _factors(counts, num_topics, seed) if num_topics <= MOST_TOPICS else _documents(counts, num_topics)


def _factors(counts: sp.csr_matrix, num_topics: int, seed: int) -> Float[np.ndarray, "K V"]:
    """Topics of a factorisation.

    A word weighs (1 + log n) idf in a document, and documents have length 1; of a topic the idf is taken out
    again.
    """
    from sklearn.feature_extraction.text import TfidfTransformer

    weighting = TfidfTransformer(sublinear_tf=True)
    topics = factorised_topics(weighting.fit_transform(counts.astype(np.float64)), num_topics, seed)
    topics /= weighting.idf_
    return topics / topics.sum(axis=1, keepdims=True)


def _documents(counts: sp.csr_matrix, num_topics: int) -> Float[np.ndarray, "K V"]:
    """Word frequencies of the first documents, of them all again where they are fewer than the topics."""
    topics = counts[np.arange(num_topics) % counts.shape[0]].toarray().astype(np.float64)
    return topics / np.maximum(topics.sum(axis=1, keepdims=True), 1.0)


class Start(NamedTuple):
    """When the other documents join: a function of the count of steps and the plan.

    Attributes:
        sweeps: Over a document in one step.
        of_start: Steps of a pass over the documents of the start.
        of_all: Steps of a pass over all documents.
    """

    sweeps: int
    of_start: int
    of_all: int

    def joins(self, count: int, plan: Plan | None) -> bool:
        """Whether the pass that begins after ``count`` steps goes over all documents.

        Where the plan is short they join by half of its warm-up, but not before a pilot ends, which has no
        plan: the same steps give the same draws without one.
        """
        late = plan is not None and count >= max((plan.warm_up - self.of_all) / 2, plan.pilot_ends)
        return late or count * self.sweeps >= SWEEPS * self.of_start
