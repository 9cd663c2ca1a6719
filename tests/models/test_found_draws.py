"""Weights of components come from the chains that have found them."""

import numpy as np
import pytest
import scipy.sparse as sp

from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._found_draws import draws_found, with_intervals_of_shared
from geodrift.models.latent_dirichlet_allocation import document_mixtures

CHAINS, DRAWS, TOPICS = 4, 5, 3


def agreement(found):
    cosines = np.where(found, 0.99, 0.1)
    orders = np.broadcast_to(np.arange(TOPICS), (len(cosines), DRAWS, TOPICS))
    return Agreement(orders, cosines, 0.8, 0.05, [])


@pytest.fixture
def three_of_four():
    """The last chain lacks the second topic."""
    found = np.ones((CHAINS, TOPICS), bool)
    found[3, 1] = False
    return agreement(found)


def test_a_draw_belongs_to_what_its_chain_has_found(three_of_four):
    chosen = np.array([0, 7, 14, 15, 19])
    told = draws_found(three_of_four, chosen, others=1)
    assert told[:, 1].tolist() == [True, True, True, False, False]
    assert told[:, [0, 2, 3]].all()


def test_a_topic_that_none_of_the_draws_has_found_is_told_of_all(three_of_four):
    assert draws_found(three_of_four, np.array([15, 19])).all()


def test_a_chain_that_lacks_a_topic_says_nothing_of_its_weight(three_of_four):
    theirs = np.full((TOPICS, 30), 1e-3)
    for topic in range(TOPICS):
        theirs[topic, 10 * topic : 10 * topic + 10] = 1.0
    # In the second place the last chain has half of the first topic, which the documents are of.
    other = theirs.copy()
    other[0, 5:10], other[1] = 1e-3, theirs[1]
    other[1, 5:10], other[1, 10:20] = 1.0, 1e-3
    draws = np.stack([theirs] * 3 * DRAWS + [other] * DRAWS)
    draws /= draws.sum(axis=2, keepdims=True)
    rows = np.zeros((2, 30), int)
    rows[0, :10], rows[1, :10], rows[1, 20:] = 5, 2, 2
    found = draws_found(three_of_four)
    with_it = document_mixtures(sp.csr_matrix(rows), draws, 0.1, found=found)
    of_three = document_mixtures(sp.csr_matrix(rows), draws[: 3 * DRAWS], 0.1)
    of_all = document_mixtures(sp.csr_matrix(rows), draws, 0.1)
    assert of_all["mean"][:, 1].min() > 0.05
    for name in ("mean", "low", "high"):
        np.testing.assert_allclose(with_it[name][:, 1], of_three[name][:, 1], atol=0.01)


def test_means_over_different_chains_are_a_mixture_again():
    found = np.ones((CHAINS, TOPICS), bool)
    found[1:, 2] = False
    agreed = agreement(found)
    mean = np.array([[0.5, 0.2, 0.9], [0.6, 0.5, 0.1]], np.float32)
    told = with_intervals_of_shared({"mean": mean, "low": mean - 0.1, "high": mean + 0.1}, agreed)
    np.testing.assert_allclose(told["mean"], [[0.5, 0.2, 0.3], [0.6 / 1.1, 0.5 / 1.1, 0.0]], rtol=1e-6)
    np.testing.assert_array_equal(np.isnan(told["low"]), np.tile([False, False, True], (2, 1)))
    np.testing.assert_array_equal(told["high"][:, :2], (mean + 0.1)[:, :2])
    certain = with_intervals_of_shared({"mean": mean, "low": mean - 0.001, "high": mean + 0.001}, agreed)
    np.testing.assert_allclose(certain["low"][:, :2], [[0.499, 0.199], [0.6 / 1.1, 0.5 / 1.1]], rtol=1e-6)
    np.testing.assert_allclose(certain["high"][:, :2], (mean + 0.001)[:, :2])
    assert (
        with_intervals_of_shared({"mean": mean}, agreement(np.ones((CHAINS, TOPICS), bool)))["mean"] is mean
    )
