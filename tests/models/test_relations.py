"""Components that are two, or part of one, in other chains."""

import numpy as np
import pytest

from geodrift.models.kit._agreement import agreement
from geodrift.models.kit._alignment import unit_directions
from geodrift.models.kit._found_draws import with_intervals_of_shared
from geodrift.models.kit._relations import Relation, best_pair, relations_of
from geodrift.models.kit._verdict import Verdict, verdict_of

NUM_WORDS = 60


def blocks(*shares):
    """Probabilities of words in components that have so much of their weight in each sixth of the words."""
    return np.repeat(np.array(shares, float), NUM_WORDS // 6, axis=1) / (NUM_WORDS // 6)


PARTS = blocks([1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0])
WHOLE = blocks([0.55, 0.45, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 0])
OTHER = blocks([0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0])


def relations(chains, *, place, chain, directions=np.sqrt):
    means = np.stack([directions(components) for components in chains])
    means /= np.linalg.norm(means, axis=2, keepdims=True)
    found = np.zeros(means.shape[:2], bool)
    found[chain] = True
    cosines = np.einsum("ckv,dlv->cdkl", means, means)
    return relations_of(means, cosines, found, np.full(3, chain), np.array([place]), 0.8, directions)


@pytest.mark.parametrize("directions", [np.sqrt, unit_directions])
def test_two_components_that_are_one_elsewhere_and_one_that_is_two(directions):
    chains = [PARTS, WHOLE, WHOLE, OTHER]
    assert relations(chains, place=0, chain=0, directions=directions) == [Relation(0, "merged", 1, 2)]
    chains = [WHOLE, PARTS, OTHER, OTHER]
    assert relations(chains, place=0, chain=0, directions=directions) == [Relation(0, "split", None, 1)]


def test_components_that_nothing_resembles_have_no_relation():
    assert relations([PARTS, OTHER, OTHER], place=0, chain=0) == []
    assert relations([PARTS, OTHER, OTHER], place=1, chain=0) == []


def test_no_pair_that_exceeds_the_threshold_is_passed_over():
    """Of parts that are far from the whole no mixture is made, by a bound on what its cosine may be."""
    rng, above = np.random.default_rng(0), 0
    for _ in range(200):
        parts = rng.dirichlet(np.full(NUM_WORDS, 0.3), 8)
        share = rng.uniform(0.2, 0.8)
        whole = np.sqrt(0.8 * (share * parts[0] + (1 - share) * parts[1]) + 0.2 * parts[2])
        cosines = np.sqrt(parts) @ whole
        first = int(cosines.argmax())
        given = whole, np.sqrt(parts), cosines, first
        (told, second), (all_of_them, best) = (best_pair(*given, least, np.sqrt) for least in (0.974, -1.0))
        above += all_of_them > 0.974
        assert (told, second) == (all_of_them, best) if all_of_them > 0.974 else told <= 0.974
    assert 50 < above < 150


def test_the_verdict_names_them():
    rng = np.random.default_rng(0)
    chains = [np.array([rng.dirichlet(2000 * row + 1e-3) for row in x]) for x in (PARTS, PARTS, WHOLE, WHOLE)]
    agreed = agreement(iter(np.repeat(np.array(chains)[:, None], 5, axis=1)), np.sqrt)
    verdict = verdict_of(agreed, {}, "topic")
    assert len(verdict.relations) >= 1
    said = str(verdict)
    assert "are one topic in 2 other chains." in said or "is two topics in 2 other chains." in said
    assert verdict.to_dict()["relations"][0]["chains"] == 2


def test_the_verdict_tells_of_two_that_are_one_elsewhere_once():
    merged = [Relation(1, "merged", 11, 1), Relation(5, "split", None, 1), Relation(11, "merged", 1, 2)]
    verdict = Verdict("topic", [2] * 12, 4, 0.9, 0.0, [*merged, Relation(6, "split", None, 1)], {})
    assert str(verdict).split("\n")[2:] == [
        "Topics 11 and 1 are one topic in 2 other chains.",
        "Topic 5 is two topics in 1 other chain.",
        "Topic 6 is two topics in 1 other chain.",
    ]


def test_weights_of_components_that_are_not_shared_have_no_interval():
    agreed = agreement(iter(np.array([PARTS, PARTS, WHOLE, WHOLE])[:, None]), np.sqrt)
    weights = {name: np.full((2, 3), value, np.float32) for name, value in (("mean", 0.3), ("low", 0.2))}
    told = with_intervals_of_shared(weights | {"high": weights["mean"]}, agreed)
    assert agreed.shared.sum() == 1
    np.testing.assert_array_equal(np.isfinite(told["low"]), np.tile(agreed.shared, (2, 1)))
    assert np.isfinite(told["mean"]).all()
    assert told["low"].dtype == np.float32
    alone = agreement(iter(PARTS[None, None]), np.sqrt)
    assert np.isfinite(with_intervals_of_shared(weights | {"high": weights["mean"]}, alone)["low"]).all()
