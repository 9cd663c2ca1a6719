"""Coherence, exclusivity and diversity of topics in one table, with posterior intervals."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float, Int

from geodrift.models.topics._coherence import Cooccurrence, cooccurrence, npmi, u_mass
from geodrift.models.topics._score_summary import defined_mean, summary_of
from geodrift.models.topics._topic_words import exclusivity, frex, top_words, topic_diversity

DIVERSITY_WORDS = 25  # of each topic, as Dieng, Ruiz and Blei (2020) take


def topic_scores(
    expected: Float[np.ndarray, "K V"],
    reference: sp.csr_matrix,
    *,
    draws: Float[np.ndarray, "N K V"] | None = None,
    found: Bool[np.ndarray, "N K"] | None = None,
    top: int = 10,
) -> dict[str, Any]:
    """Coherence, exclusivity and diversity of topics, as plain values for JSON.

    Args:
        expected: The topics' posterior means, whose scores are ``"value"``.
        reference: Counts of the documents in which words are looked up, [D, V].
        draws: Aligned draws, for ``"mean"``, ``"median"``, ``"low"`` and ``"high"``: posterior mean and
            median, and ends of the 90% interval of a score. None: these are None. The top words of a draw are
            more scattered than those of the mean, so that ``"value"`` may lie outside the interval. A topic
            that a draw lacks is NaN there, and no part of the draw's scores.
        found: Whether each draw is of a chain that has found each topic: what is told of a topic is over
            these draws, as its mean is, and an average is of all topics of a draw. None: all are.
        top: Number of top words of each topic that are scored; diversity takes 25.

    Returns:
        ``{"top_words", "reference_documents", "diversity"}`` and, for each of ``"npmi"``, ``"u_mass"``,
        ``"exclusivity"`` and ``"frex"``, the average over topics and, under ``"topics"``, the same values of
        each topic. Values that are not defined are None.

    Raises:
        ValueError: Shapes disagree, ``top`` is outside what is allowed, or no document has a word.
    """
    num_words = reference.shape[1]
    if expected.ndim != 2 or expected.shape[1] != num_words:
        raise ValueError(
            f"expected must be [topic, word] with the reference's {num_words} words, got {expected.shape}"
        )
    if draws is not None and draws.shape[1:] != expected.shape:
        raise ValueError(f"draws must be [draw, {expected.shape[0]}, {num_words}], got {draws.shape}")
    if found is not None and (draws is None or found.shape != draws.shape[:2]):
        raise ValueError(f"found must be [draw, {expected.shape[0]}], as the draws are, got {found.shape}")
    if not 2 <= top <= num_words:
        raise ValueError(f"top must be from 2 to the {num_words} words, got {top!r}")
    sets = [expected, *([] if draws is None else draws)]
    there = [~np.isnan(topics).any(axis=1) for topics in sets]
    own = [topics[has] for topics, has in zip(sets, there, strict=True)]
    words = [top_words(topics, top) for topics in own]
    counted = cooccurrence(reference, np.concatenate([each.ravel() for each in words]))
    tables = [_by_topic(*of_set, counted, top) for of_set in zip(own, words, there, strict=True)]
    scores: dict[str, Any] = {"top_words": top, "reference_documents": counted.num_documents}
    for name in tables[0]:
        values = np.array([table[name] for table in tables])  # [1 + N, K]
        over_topics = np.array([defined_mean(row) for row in values])
        if found is not None:
            values[1:][~found] = np.nan  # of another topic, which such a chain has in its place
        scores[name] = summary_of(over_topics) | {"topics": [summary_of(column) for column in values.T]}
    scores["diversity"] = summary_of(
        np.array(
            [topic_diversity(each, min(DIVERSITY_WORDS, num_words)) if len(each) else np.nan for each in own]
        )
    )
    return scores


def _by_topic(
    topics: Float[np.ndarray, "k V"],
    words: Int[np.ndarray, "k top"],
    there: Bool[np.ndarray, " K"],
    counted: Cooccurrence,
    top: int,
) -> dict[str, Float[np.ndarray, " K"]]:
    """Every score of each topic, by its name; NaN of topics that are not there."""
    names = ("npmi", "u_mass", "exclusivity", "frex")
    scores = {name: np.full(len(there), np.nan) for name in names}
    if len(topics):
        found = npmi(words, counted), u_mass(words, counted), exclusivity(topics, top), frex(topics, top)
        for name, values in zip(names, found, strict=True):
            scores[name][there] = values
    return scores
