"""Coherence, exclusivity and diversity against values worked out by hand."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from geodrift.models.hierarchical_dirichlet_process._answers import HierarchicalAnswers
from geodrift.models.kit._agreement import aligned
from geodrift.models.latent_dirichlet_allocation._answers import LatentDirichletAnswers
from geodrift.models.topics._coherence import cooccurrence, npmi, u_mass
from geodrift.models.topics._topic_scores import topic_scores
from geodrift.models.topics._topic_words import exclusivity, frex, top_words, topic_diversity

# Documents: a b, a b c, a, c d, and an empty one; no document has e.
REFERENCE = sp.csr_matrix(
    np.array([[2, 1, 0, 0, 0], [1, 4, 1, 0, 0], [3, 0, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 0]])
)
TOPICS = np.array([[0.5, 0.3, 0.2, 0.0], [0.5, 0.1, 0.1, 0.3]])


def test_npmi_by_hand():
    counted = cooccurrence(REFERENCE, np.arange(5))
    assert counted.num_documents == 4
    words = np.array([[0, 1, 2], [3, 0, 4], [4, 4, 4]])
    # a b: log((2/4) / (3/4 2/4)) / log 2; a c: log((1/4) / (3/4 2/4)) / log 4; b c: independent; d a never
    # meet.
    first = (np.log(4 / 3) / np.log(2) + np.log(2 / 3) / np.log(4) + 0.0) / 3
    np.testing.assert_allclose(npmi(words, counted), [first, -1.0, np.nan], rtol=1e-12)


def test_npmi_of_words_that_are_everywhere_is_one():
    counted = cooccurrence(sp.csr_matrix(np.ones((3, 2))), np.arange(2))
    np.testing.assert_array_equal(npmi(np.array([[0, 1]]), counted), [1.0])


def test_u_mass_by_hand():
    counted = cooccurrence(REFERENCE, np.array([4, 0, 1, 2, 3]))
    words = np.array([[1, 0, 2], [3, 0, 4], [4, 0, 1]])
    first = (np.log(3 / 2) + np.log(2 / 2) + np.log(2 / 3)) / 3
    second = (np.log(1 / 1) + np.log(1 / 1) + np.log(1 / 3)) / 3
    third = np.log(3 / 3)  # the two pairs that e leads are not defined
    np.testing.assert_allclose(u_mass(words, counted), [first, second, third], rtol=1e-12)


def test_stored_zeros_and_words_that_stand_twice_count_as_they_should_and_the_counts_stay():
    """Documents of the caller's were other ones afterwards, where a count was a stored 0."""
    data, columns = np.array([2.0, 0.0, 1.0, 3.0, 1.0, 4.0]), np.array([0, 1, 2, 1, 1, 2])
    counts = sp.csr_matrix((data, columns, np.array([0, 3, 6])), shape=(2, 3))
    before = counts.toarray()
    counted = cooccurrence(counts, np.arange(3))
    assert counted.joint.toarray().tolist() == [[1, 0, 1], [0, 1, 1], [1, 1, 2]]
    np.testing.assert_array_equal(counts.toarray(), before)


def test_words_and_their_exclusivity_by_hand():
    np.testing.assert_array_equal(top_words(TOPICS, 3), [[0, 1, 2], [0, 3, 1]])
    np.testing.assert_allclose(exclusivity(TOPICS, 2), [(1 / 2 + 3 / 4) / 2, (1 / 2 + 1) / 2])
    assert topic_diversity(TOPICS, 2) == 3 / 4
    assert topic_diversity(TOPICS, 1) == 1 / 2
    # Ranks of (share, weight): topic 0 (2/4, 1), (1, 3/4); topic 1 (3/4, 1), (1, 3/4).
    for omega in (0.5, 0.7):
        ranks = np.array([[[0.5, 1.0], [1.0, 0.75]], [[0.75, 1.0], [1.0, 0.75]]])
        expected = (1 / (omega / ranks[..., 0] + (1 - omega) / ranks[..., 1])).mean(axis=1)
        np.testing.assert_allclose(frex(TOPICS, 2, omega), expected)


def test_negative_weights_count_as_nothing():
    topics = np.array([[0.9, 0.1, -0.4], [-0.3, 0.1, 0.9]])
    np.testing.assert_allclose(exclusivity(topics, 1), [1.0, 1.0])
    np.testing.assert_allclose(exclusivity(topics, 2), [0.75, 0.75])


def test_table_of_scores():
    rng = np.random.default_rng(0)
    draws, reference = rng.dirichlet(np.full(30, 0.3), (50, 4)), sp.csr_matrix(rng.poisson(0.3, (80, 30)))
    expected = draws.mean(axis=0)
    scores = json.loads(json.dumps(topic_scores(expected, reference, draws=draws, top=5), allow_nan=False))
    assert (scores["top_words"], scores["reference_documents"]) == (5, 80)
    for name, score in {"npmi": npmi, "u_mass": u_mass}.items():
        each = []
        for topics in (expected, *draws):
            words = top_words(topics, 5)
            each.append(score(words, cooccurrence(reference, words.ravel())))
        check(scores[name], np.array(each))
    check(scores["exclusivity"], np.array([exclusivity(topics, 5) for topics in (expected, *draws)]))
    check(scores["frex"], np.array([frex(topics, 5) for topics in (expected, *draws)]))
    shares = np.array([topic_diversity(topics) for topics in (expected, *draws)])
    check_one(scores["diversity"], shares)


def check(table, values):
    check_one(table, values.mean(axis=1))
    for one, column in zip(table["topics"], values.T, strict=True):
        check_one(one, column)


def check_one(table, values):
    np.testing.assert_allclose(table["value"], values[0])
    np.testing.assert_allclose(table["mean"], values[1:].mean())
    np.testing.assert_allclose([table["low"], table["high"]], np.quantile(values[1:], [0.05, 0.95]))


def test_without_draws_and_with_undefined_scores():
    topics = np.array([[0.0, 0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 0.0, 0.0, 0.0]])
    scores = topic_scores(topics, REFERENCE, top=2)
    assert scores["npmi"]["topics"][0] == dict.fromkeys(("value", "mean", "median", "low", "high"))
    np.testing.assert_allclose(scores["npmi"]["value"], np.log(4 / 3) / np.log(2))


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"expected": TOPICS}, "5 words"),
        ({"draws": np.ones((3, 2, 4))}, "draws must be"),
        ({"draws": np.ones((3, 2, 5)), "found": np.ones((2, 2), bool)}, "found must be"),
        ({"found": np.ones((3, 2), bool)}, "found must be"),
        ({"top": 1}, "top must be"),
        ({"top": 6}, "top must be"),
        ({"reference": REFERENCE[[4]]}, "no reference document"),
    ],
)
def test_refusals(arguments, message):
    topics = np.full((2, 5), 0.2)
    with pytest.raises(ValueError, match=message):
        topic_scores(**({"expected": topics, "reference": REFERENCE, "top": 3} | arguments))


def test_topics_that_a_draw_lacks_are_no_part_of_its_scores():
    """A draw of one topic has diversity 1, however its empty place is filled."""
    draws, reference = np.array([TOPICS, TOPICS]), REFERENCE[:, :4]
    draws[1, 1] = np.nan
    scores = topic_scores(TOPICS, reference, draws=draws, top=2)
    both, one = (topic_scores(topics, reference, top=2) for topics in (TOPICS, TOPICS[:1]))
    for name in ("npmi", "u_mass", "exclusivity", "frex", "diversity"):
        assert scores[name]["mean"] == pytest.approx((both[name]["value"] + one[name]["value"]) / 2)
    assert scores["npmi"]["topics"][1]["mean"] == pytest.approx(both["npmi"]["topics"][1]["value"])
    nothing = topic_scores(TOPICS, reference, draws=np.full((1, 2, 4), np.nan), top=2)
    assert nothing["diversity"]["median"] is nothing["npmi"]["mean"] is None


def test_what_is_told_of_a_topic_is_over_the_draws_that_have_found_it():
    """Its interval was over all draws, beside a mean of those that have it: there it lay far outside."""
    rng = np.random.default_rng(0)
    right, other = rng.dirichlet(np.full(30, 0.3), 4), rng.dirichlet(np.full(30, 0.3), 4)
    other[:3] = right[:3]
    draws = np.stack([right * rng.uniform(0.9, 1.1, (4, 30)) for _ in range(20)] + [other] * 20)
    found = np.ones((40, 4), bool)
    found[20:, 3] = False
    reference = sp.csr_matrix(rng.poisson(0.3, (80, 30)))
    both = topic_scores(right, reference, draws=draws, found=found, top=5)
    of_finders = topic_scores(right, reference, draws=draws[:20], top=5)
    of_all = topic_scores(right, reference, draws=draws, top=5)
    for name in ("npmi", "u_mass", "frex"):
        assert both[name]["topics"][3] == of_finders[name]["topics"][3] != of_all[name]["topics"][3]
        assert both[name]["topics"][:3] == of_all[name]["topics"][:3]
        assert both[name]["mean"] == of_all[name]["mean"]
    assert both["diversity"] == of_all["diversity"]


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize("kind", [LatentDirichletAnswers, HierarchicalAnswers])
def test_evaluate_tells_intervals_of_topics_over_the_chains_that_have_found_them(kind, monkeypatch):
    rng = np.random.default_rng(1)
    topics, own = rng.dirichlet(np.full(40, 0.1), 3), rng.dirichlet(np.full(40, 0.1))
    lacks = np.stack([topics[0], topics[1], own])
    draws = np.stack([[each] * 6 for each in (topics, topics, topics, lacks)])
    ordered, agreed = aligned({"topics": draws}, "topics", np.sqrt)
    ordered["topic_weights"] = np.ones(draws.shape[:3])  # every draw has all
    place = int(np.flatnonzero(~agreed.found[3])[0])
    answers, module = kind(None), sys.modules[kind.__module__]
    monkeypatch.setattr(answers, "aligned", lambda run: (ordered, agreed), raising=False)
    score = "open_completion" if kind is HierarchicalAnswers else "completion_perplexity"
    monkeypatch.setattr(module, score, lambda *told, **how: SimpleNamespace(to_dict=dict))
    monkeypatch.setattr(module, "as_lda", lambda draws: (), raising=False)
    run = SimpleNamespace(config={"settings": {"doc_topic_prior": 0.1, "topic_word_prior": 0.1}})
    rows, flat = sp.csr_matrix(rng.poisson(1.0, (50, 40))), {"topics": draws.reshape(-1, 3, 40)}
    told = answers.score(run, rows, flat, seed=0, options={})["npmi"]["topics"][place]
    assert told["low"] == pytest.approx(told["value"]) == pytest.approx(told["high"])
