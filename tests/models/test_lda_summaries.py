"""Alignment by Bhattacharyya's coefficient, mean topics, and words with intervals."""

import numpy as np
import pytest

from geodrift.models.latent_dirichlet_allocation import align, common_order, mean_topics, summarise_topics


def scattered(num_draws=40, num_topics=5, num_words=60, seed=0):
    """Draws around sparse topics, some of whose probabilities are 0."""
    rng = np.random.default_rng(seed)
    centre = rng.dirichlet(np.full(num_words, 0.1), num_topics)
    draws = np.array([[rng.dirichlet(80 * topic + 1e-3) for topic in centre] for _ in range(num_draws)])
    return np.where(draws < 1e-4, 0.0, draws) / np.where(draws < 1e-4, 0.0, draws).sum(axis=2, keepdims=True)


def test_alignment_undoes_any_permutation_of_two_chains():
    draws = scattered()
    rng = np.random.default_rng(1)
    orders = np.array([rng.permutation(5) for _ in draws])
    orders[-1] = np.arange(5)
    shuffled = np.array([draw[order] for draw, order in zip(draws, orders, strict=True)])
    np.testing.assert_array_equal(align(shuffled), draws)
    np.testing.assert_array_equal(
        np.take_along_axis(orders, common_order(shuffled), axis=1), np.tile(np.arange(5), (40, 1))
    )


def test_alignment_is_by_bhattacharyya_not_by_the_commonest_word():
    """A word of probability 0.8 in two topics rules products and cosines of probabilities."""
    first = np.array([[0.8, 0.1, 0.1, 0.0], [0.1, 0.0, 0.2, 0.7]])
    last = np.array([[0.8, 0.0, 0.1, 0.1], [0.1, 0.9, 0.0, 0.0]])
    coefficient, product = np.sqrt(first) @ np.sqrt(last).T, first @ last.T
    assert coefficient[0, 1] + coefficient[1, 0] > coefficient[0, 0] + coefficient[1, 1] + 0.2
    assert product[0, 1] + product[1, 0] < product[0, 0] + product[1, 1] - 0.2
    np.testing.assert_array_equal(common_order(np.stack([first, last]))[0], [1, 0])


def test_mean_topics_and_summary_against_counting():
    draws = scattered(num_draws=200)
    mean = draws.mean(axis=0)
    np.testing.assert_allclose(mean_topics(draws), mean, rtol=1e-12)
    vocabulary = [f"w{i}" for i in range(60)]
    topic = summarise_topics(draws, vocabulary, top=12)[2]
    assert topic["topic"] == 2
    order = np.argsort(-mean[2])[:12]
    assert [w["word"] for w in topic["words"]] == [f"w{i}" for i in order]
    ranks = (-draws[:, 2]).argsort(axis=1).argsort(axis=1)
    for word, i in zip(topic["words"], order, strict=True):
        np.testing.assert_allclose(word["weight"], mean[2, i])
        ends = np.quantile(np.sqrt(draws[:, 2, i]), [0.05, 0.95], method="weibull") ** 2
        np.testing.assert_allclose([word["low"], word["high"]], ends, rtol=1e-6)
        np.testing.assert_allclose(word["p_top10"], (ranks[:, i] < 10).mean())
    with pytest.raises(ValueError, match="vocabulary has 59"):
        summarise_topics(draws, vocabulary[1:])
