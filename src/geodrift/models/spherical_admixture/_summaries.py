"""What draws say of topics and documents.

Aligned topics, intervals, and the probability of being among the top words.
"""

import zlib

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment

from geodrift.models.spherical_admixture._latents import MixtureSampler, affinities, initial_step_size
from geodrift.models.spherical_admixture._settings import Settings, filled

INTERVAL = (0.05, 0.95)  # ends of the 90% intervals
ADAPTING_TRANSITIONS = 60
DRAWS_PER_TOPIC_DRAW = 10


def alignment(
    topics: Float[np.ndarray, "N K V"], reference: Float[np.ndarray, "K V"]
) -> Int[np.ndarray, "N K"]:
    """For each draw the topic that stands in each place of the reference.

    It is the assignment with the largest sum of cosines.
    """
    orders = [linear_sum_assignment(-(reference @ draw.T))[1] for draw in topics]
    return np.array(orders)


def align(topics: Float[np.ndarray, "N K V"], *, num_rounds: int = 3) -> Float[np.ndarray, "N K V"]:
    """Topics of all draws (of all chains, one after the other) in one order.

    The posterior does not know which topic is the first: chains differ by a permutation. Each draw is matched
    with the mean direction of the aligned draws, starting from the last draw.
    """
    reference, aligned = topics[-1], topics
    for _ in range(num_rounds):
        orders = alignment(topics, reference)
        if (orders == np.arange(topics.shape[1])).all():
            return topics
        aligned = np.take_along_axis(topics, orders[:, :, None], axis=1)
        mean = aligned.mean(axis=0)
        reference = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    return aligned


def expected_topics(topics: Float[np.ndarray, "N K V"]) -> Float[np.ndarray, "K V"]:
    """Mean direction of each aligned topic."""
    mean = topics.mean(axis=0, dtype=np.float64)
    return (mean / np.linalg.norm(mean, axis=1, keepdims=True)).astype(topics.dtype)


def summarise_topics(
    topics: Float[np.ndarray, "N K V"], vocabulary: list[str], *, top: int = 10
) -> list[dict]:
    """Each topic's words at both ends, with 90% intervals.

    Args:
        topics: Aligned draws.
        vocabulary: V words.
        top: Words at each end.

    Returns:
        For each topic ``{"topic", "words", "negative_words"}``, a word being ``{"word", "weight", "low",
        "high", "p_top10"}``: posterior mean, ends of the 90% interval, and the probability of being among the
        ten highest (for negative words: lowest) weights.

    Raises:
        ValueError: The vocabulary has not V words.
    """
    if topics.shape[2] != len(vocabulary):
        raise ValueError(f"topics have {topics.shape[2]} words but the vocabulary has {len(vocabulary)}")
    return [
        {
            "topic": k,
            "words": _end(topics[:, k], vocabulary, top, sign=1.0),
            "negative_words": _end(topics[:, k], vocabulary, top, sign=-1.0),
        }
        for k in range(topics.shape[1])
    ]


def _end(draws: Float[np.ndarray, "N V"], vocabulary: list[str], top: int, sign: float) -> list[dict]:
    mean = draws.mean(axis=0)
    words = np.argsort(-sign * mean, kind="stable")[:top]
    words = words[sign * mean[words] > 0]
    low, high = np.quantile(draws[:, words], INTERVAL, axis=0)
    ten = min(10, draws.shape[1])
    last = -np.partition(-sign * draws, ten - 1, axis=1)[:, ten - 1]
    in_top = (sign * draws[:, words] >= last[:, None]).mean(axis=0)
    return [
        {
            "word": vocabulary[w],
            "weight": float(mean[w]),
            "low": float(a),
            "high": float(b),
            "p_top10": float(p),
        }
        for w, a, b, p in zip(words, low, high, in_top, strict=True)
    ]


def document_mixtures(
    rows: sp.csr_matrix, topics: Float[np.ndarray, "N K V"], settings: Settings, *, seed: int = 0
) -> dict[str, Float[np.ndarray, "D K"]]:
    """Mixtures of documents given aligned topic draws: posterior mean and 90% interval.

    Both are over topics and mixtures.

    Args:
        rows: Unit vectors, [D, V]; a row without an entry has the prior's mixture.
        topics: Aligned draws.
        settings: Resolved settings.
        seed: Of the mixture draws.

    Returns:
        ``{"mean", "low", "high"}``.
    """
    rows = sp.csr_matrix(rows)
    num_documents, num_topics = rows.shape[0], topics.shape[1]
    concentration = filled(settings.document_concentration)
    sampler = MixtureSampler(
        concentration=concentration,
        prior=np.full(num_topics, settings.doc_topic_prior),
        num_leapfrog=settings.mixture_leapfrog_steps,
        burn_in=0,
        num_draws=ADAPTING_TRANSITIONS,
        seed=seed,
        chain=0,
    )
    start = np.full((num_documents, num_topics), 1.0 / num_topics)
    step_size = initial_step_size(concentration, settings.doc_topic_prior, num_topics)
    steps = np.full(num_documents, step_size)
    documents, draws = _names(rows), []
    for n, draw in enumerate(topics):
        by_word = np.ascontiguousarray(draw.T, dtype=np.float64)
        affinity, gram = affinities(rows.indptr, rows.indices, rows.data, by_word), by_word.T @ by_word
        if n == 0:
            sampler.draw(start, steps, affinity, gram, documents, 0, 0.1)
            sampler = sampler._replace(burn_in=DRAWS_PER_TOPIC_DRAW, num_draws=DRAWS_PER_TOPIC_DRAW)
        new, _ = sampler.draw(start, steps, affinity, gram, documents, n + 1, 0.0)
        draws.append(new)
    everything = np.concatenate(draws, axis=1)
    low, high = np.quantile(everything, INTERVAL, axis=1)
    return {"mean": everything.mean(axis=1), "low": low, "high": high}


def _names(rows: sp.csr_matrix) -> Int[np.ndarray, " D"]:
    """A number for each row from its contents.

    So a document's draws do not depend on the documents beside it.
    """
    ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    words, values = rows.indices.astype(np.int64), rows.data.astype(np.float64)
    return np.array(
        [zlib.crc32(words[a:b].tobytes() + values[a:b].tobytes()) for a, b in ends], dtype=np.int64
    )
