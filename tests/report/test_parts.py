"""Angles and places of components, words that set them apart, and the check of Mimno and Blei."""

import numpy as np
import pytest
import scipy.sparse as sp

from geodrift.models.kit._agreement import agreement
from geodrift.models.kit._component_map import component_map
from geodrift.models.kit._told_apart import told_apart
from geodrift.models.latent_dirichlet_allocation.evaluation._topic_checks import (
    information_by_word,
    replicated_words,
    topic_checks,
)


def drawn(number, chains=3, draws=6, seed=0, noise=2000.0):
    """Draws of topics about the same means in all chains."""
    rng = np.random.default_rng(seed)
    means = rng.dirichlet(np.full(40, 0.2), size=number)
    draws = rng.gamma(noise * np.broadcast_to(means, (chains, draws, *means.shape)) + 1e-3)
    return draws / draws.sum(axis=3, keepdims=True), means


def test_angles_are_those_of_the_directions():
    draws, _ = drawn(5, noise=1e7)
    agreed = agreement(iter(draws), np.sqrt)
    found = component_map(draws, agreed, signed=False)
    own = np.sqrt(draws[0, 0])
    angles = np.degrees(np.arccos(np.clip(own @ own.T, -1, 1)))
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(found.angles[off], angles[off], atol=0.1)
    assert (found.low[off] <= found.angles[off]).all()
    assert (found.angles[off] <= found.high[off]).all()
    assert not any(found.alike(one, other) for one in range(5) for other in range(one))


def test_three_components_lie_in_the_plane_at_their_angles():
    draws, _ = drawn(3, noise=1e7)
    found = component_map(draws, agreement(iter(draws), np.sqrt), signed=False)
    assert found.explained == pytest.approx(1.0)
    apart = np.linalg.norm(found.places[:, None] - found.places, axis=2)
    np.testing.assert_allclose(apart, found.angles, atol=1e-6)


def test_places_scatter_as_the_draws_do():
    wide, narrow = (
        component_map(draws, agreement(iter(draws), np.sqrt), signed=False)
        for draws in (drawn(6, noise=300.0)[0], drawn(6, noise=30_000.0)[0])
    )
    of = [np.sqrt(np.trace(found.spreads, axis1=1, axis2=2)).mean() for found in (wide, narrow)]
    assert 5 < of[0] / of[1] < 20  # the square root of 100


def test_a_component_that_is_there_twice_may_be_the_same():
    draws, _ = drawn(4, noise=1e5)
    draws[:, :, 3] = draws[:, ::-1, 0]
    found = component_map(draws, agreement(iter(draws), np.sqrt), signed=False)
    pairs = [(one, other) for one in range(4) for other in range(one) if found.alike(one, other)]
    assert len(pairs) == 1


@pytest.mark.parametrize("number", [1, 2])
def test_few_components_have_a_map(number):
    draws, _ = drawn(number, chains=1)
    found = component_map(draws, agreement(iter(draws), np.sqrt), signed=False)
    assert found.places.shape == (number, 2)
    assert np.isfinite(found.places).all()


def test_relevance_is_that_of_the_formula():
    topics = np.array([[0.6, 0.3, 0.1], [0.5, 0.1, 0.4]])
    words = told_apart(topics, np.array([3.0, 1.0]), ["a", "b", "c"], 3, balance=0.3)
    marginal = 0.75 * topics[0] + 0.25 * topics[1]
    expected = 0.3 * np.log(topics) + 0.7 * np.log(topics / marginal)
    for place in range(2):
        order = np.argsort(-expected[place])
        assert [entry["word"] for entry in words[place]] == ["abc"[i] for i in order]
        assert [entry["relevance"] for entry in words[place]] == pytest.approx(expected[place][order])
    by_lift = told_apart(topics, np.array([3.0, 1.0]), ["a", "b", "c"], 3, balance=0.0)
    assert by_lift[0][0]["word"] == "b"  # not the likeliest


def test_information_is_that_of_the_table():
    rng = np.random.default_rng(1)
    assigned, documents, words = (rng.integers(n, size=500) for n in (2, 7, 11))
    parts = information_by_word(assigned, documents, words, (2, 11))
    for topic in range(2):
        table = np.zeros((7, 11))
        np.add.at(table, (documents[assigned == topic], words[assigned == topic]), 1)
        joint = table / table.sum()
        outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            whole = np.where(joint > 0, joint * np.log(joint / outer), 0.0)
        np.testing.assert_allclose(parts[topic], whole.sum(axis=0), atol=1e-12)


def test_replicas_have_the_words_of_their_topics():
    topics = np.array([[0.2, 0.8, 0.0], [0.0, 0.1, 0.9]])
    assigned = np.repeat([0, 1], 20_000)
    words = replicated_words(assigned, topics, np.random.default_rng(0))
    shares = np.stack([np.bincount(words[assigned == k], minlength=3) / 20_000 for k in range(2)])
    np.testing.assert_allclose(shares, topics, atol=4 * np.sqrt(0.25 / 20_000))


def simulated(bursts, seed=3):
    """Documents of the model; or such in which one word of a topic fills some documents and shuns others."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(30, 0.5), size=2)
    if bursts:
        topics[0] *= 0.8
        topics[0, 0] += 0.2
        topics /= topics.sum(axis=1, keepdims=True)
    counts = np.zeros((200, 30), int)
    for document in range(200):
        mixture = rng.dirichlet([0.5, 0.5])
        own = topics.copy()
        if bursts:
            own[0, 0] *= 3.0 if document % 4 == 0 else 0.0
            own /= own.sum(axis=1, keepdims=True)
        counts[document] = rng.multinomial(80, mixture @ own)
    return sp.csr_matrix(counts), topics


def test_the_check_is_quiet_where_the_model_holds_and_speaks_where_words_come_in_bursts():
    words = [f"w{i}" for i in range(30)]
    counts, topics = simulated(False)
    quiet = topic_checks(counts, np.repeat(topics[None], 20, axis=0), 0.5, words)
    # One set of documents and 20 replicas: the true model is among them.
    assert all(0.0 < check["p_value"] < 1.0 for check in quiet)
    assert all(abs(check["ratio"] - 1) < 0.05 for check in quiet)
    counts, topics = simulated(True)
    loud = topic_checks(counts, np.repeat(topics[None], 20, axis=0), 0.5, words)
    assert loud[0]["p_value"] == 0.0
    assert loud[0]["ratio"] > 1.1
    assert loud[0]["words"][0] == "w0"


def test_the_check_is_of_draws_that_have_found_the_topic():
    """A chain that lacks a topic has another one in its place."""
    words, (counts, topics) = [f"w{i}" for i in range(30)], simulated(True)
    own = np.repeat(topics[None], 6, axis=0)
    others = np.repeat(topics[:, ::-1][None], 2, axis=0)
    found = np.repeat([[True, True], [False, True]], [6, 2], axis=0)
    alone, both = (topic_checks(counts, draws, 0.5, words) for draws in (own, np.concatenate([own, others])))
    told = topic_checks(counts, np.concatenate([own, others]), 0.5, words, found=found)
    assert told[0] == alone[0]
    assert told[1] == both[1]
    assert abs(both[0]["ratio"] - alone[0]["ratio"]) > 0.05


def test_a_topic_has_a_check_though_the_last_draw_gives_it_no_token():
    topics = np.array([[[0.5, 0.5, 1e-9], [1e-9, 1e-9, 1.0]], [[0.3, 0.3, 0.4], [1.0, 1e-9, 1e-9]]])
    topics /= topics.sum(axis=2, keepdims=True)
    counts = sp.csr_matrix([[0, 5, 3], [0, 4, 4], [0, 6, 2]])
    first, both = (
        topic_checks(counts, draws, [1.0, 1e-6], ["a", "b", "c"]) for draws in (topics[:1], topics)
    )
    assert first[1]["observed"] is not None
    assert both[1] == first[1]


def test_a_topic_without_a_token_has_no_check():
    topics = np.array([[[0.5, 0.5, 0.0], [1e-9, 1e-9, 1.0]]])
    topics /= topics.sum(axis=2, keepdims=True)
    found = topic_checks(sp.csr_matrix([[4, 5, 0]]), topics, [1.0, 1e-9], ["a", "b", "c"])
    assert found[1]["observed"] is None
    assert found[1]["ratio"] is None
