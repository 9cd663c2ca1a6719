"""What draws of assignments say: pairs, the number of clusters and the best partition, against brute
force."""

import itertools

import numpy as np
import pytest

from geodrift.models.clusters import cluster_count, coclustering, membership, point_partition
from geodrift.models.clusters._cluster_count import law_of_count
from geodrift.models.clusters._labels import compact
from geodrift.models.clusters._point_partition import expected_distance


def partitions(number):
    """All partitions of so many rows, labels in the order of first rows."""
    for labels in itertools.product(range(number), repeat=number):
        if list(dict.fromkeys(labels)) == list(range(max(labels) + 1)):
            yield np.array(labels)


def entropy(labels):
    p = np.unique(labels, return_counts=True)[1] / len(labels)
    return -(p * np.log(p)).sum()


def variation_of_information(a, b):
    return 2 * entropy(a * 100 + b) - entropy(a) - entropy(b)


def binder(a, b):
    """Twice the share of the pairs on which two partitions disagree."""
    together = [np.equal.outer(labels, labels) for labels in (a, b)]
    return (together[0] != together[1]).mean()


DISTANCES = {"vi": variation_of_information, "binder": binder}


def draws_of(seed, number=7, rows=6, names=4):
    rng = np.random.default_rng(seed)
    centre = rng.integers(names, size=rows)
    draws = np.where(rng.random((number, rows)) < 0.3, rng.integers(names, size=(number, rows)), centre)
    # Labels without any order, with gaps.
    return np.array([rng.permutation(50)[draw] for draw in draws])


@pytest.mark.parametrize("loss", DISTANCES)
def test_expected_distance_is_the_mean_of_the_definition(loss):
    draws, distance = draws_of(0), DISTANCES[loss]
    compacted = np.stack([compact(draw) for draw in draws])
    for partition in itertools.islice(partitions(6), 20, 60):
        expected = np.mean([distance(draw, partition) for draw in draws])
        assert expected_distance(compacted, partition, loss) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("loss", [pytest.param("vi", marks=pytest.mark.slow), "binder"])
def test_point_partition_is_the_best_of_all_partitions(loss):
    every, distance, found = list(partitions(6)), DISTANCES[loss], 0
    for seed in range(25):
        draws = draws_of(seed)
        partition = point_partition(draws, loss)
        of_all = [np.mean([distance(draw, candidate) for draw in draws]) for candidate in every]
        expected = np.mean([distance(draw, partition) for draw in draws])
        assert expected <= min(np.mean([distance(d, e) for d in draws]) for e in draws) + 1e-12
        assert expected <= min(of_all) * 1.05
        found += expected <= min(of_all) + 1e-12
        assert sorted(set(partition)) == list(range(partition.max() + 1))
        assert (np.diff(np.bincount(partition)) <= 0).all()
    assert found >= 24


def test_point_partition_has_at_most_so_many_clusters():
    draws = draws_of(3)
    best = min(
        (p for p in partitions(6) if p.max() < 2),
        key=lambda p: np.mean([variation_of_information(d, p) for d in draws]),
    )
    found = point_partition(draws, most=2)
    assert found.max() < 2
    assert np.mean([variation_of_information(d, found) for d in draws]) == pytest.approx(
        np.mean([variation_of_information(d, best) for d in draws])
    )


def test_point_partition_of_groups_that_all_draws_have():
    truth = np.repeat(np.arange(20), 50)
    rng = np.random.default_rng(1)
    draws = np.array([rng.permutation(20)[truth] for _ in range(10)])
    found = point_partition(draws)

    assert len(set(zip(found, truth, strict=True))) == 20


def test_coclustering_is_the_share_of_draws():
    draws = draws_of(2)
    pairs = np.array(list(itertools.product(range(6), repeat=2)))
    expected = [(draws[:, i] == draws[:, j]).mean() for i, j in pairs]
    np.testing.assert_allclose(coclustering(draws, pairs), expected)
    assert coclustering([[-1, -1, 3, 3]], [[0, 1], [2, 3], [0, 0]]).tolist() == [0, 1, 1]


def test_membership_is_the_chance_of_a_companion():
    draws = draws_of(4)
    partition = point_partition(draws)
    expected = np.zeros((6, partition.max() + 1))
    for draw, i in itertools.product(draws, range(6)):
        for j in np.flatnonzero(draw == draw[i]):
            expected[i, partition[j]] += 1 / (draw == draw[i]).sum() / len(draws)
    found = membership(draws, partition)
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_rows_of_no_cluster_have_no_companion():
    found = membership(np.array([[0, 0, 1, -1, -1]] * 2), np.array([0, 0, 1, 0, 1]))
    np.testing.assert_array_equal(found, [[1, 0], [1, 0], [0, 1], [1, 0], [0, 1]])


def test_number_of_clusters_above_a_size():
    draws = np.array([[0, 0, 0, 0, 5], [1, 1, 2, 2, 3], [7, 7, 7, 7, 7], [0, 0, 1, 1, -1]])
    told = cluster_count(draws, 0.2)
    assert told.draws.tolist() == [1, 2, 1, 2]
    assert told.values.tolist() == [1, 2]
    assert told.probabilities.tolist() == [0.5, 0.5]
    assert (told.low, told.high) == (1, 2)
    assert cluster_count(draws, 0).draws.tolist() == [2, 3, 1, 2]
    of_chains = cluster_count(draws.reshape(2, 2, 5), 0.2)
    assert of_chains.draws.tolist() == [1, 2, 1, 2]
    assert (of_chains.low, of_chains.high) == (1, 2)  # the chains are alike


def test_interval_of_a_number_holds_what_another_chain_finds():
    """Chains that move about a number of their own, as slow chains do."""
    rng, hits, pooled = np.random.default_rng(0), [], []
    for _ in range(400):
        levels = 10 + 2 * rng.normal(size=(5, 1))
        numbers = np.maximum(1, np.rint(levels + 0.7 * rng.normal(size=(5, 25)))).astype(int)
        told, truth = law_of_count(numbers[:4], 0.01), numbers[4, 0]
        hits.append(told.low <= truth <= told.high)
        low, high = np.quantile(numbers[:4], [0.05, 0.95], method="inverted_cdf")
        pooled.append(low <= truth <= high)
    # Standard error .013. Numbers are rounded, so that an interval holds a little more than it says.
    assert 0.89 < np.mean(hits) < 0.96
    assert np.mean(pooled) < 0.85


def test_chains_of_one_law_have_the_interval_of_their_draws():
    numbers = np.random.default_rng(1).poisson(20, (4, 200))
    told = law_of_count(numbers, 0.01)
    low, high = np.quantile(numbers, [0.05, 0.95], method="inverted_cdf")
    assert low - 1 <= told.low <= low
    assert high <= told.high <= high + 1
    alike, none = law_of_count(np.full((4, 25), 3), 0.01), law_of_count(np.zeros((4, 25), int), 0.01)
    assert (alike.low, alike.high, none.low, none.high) == (3, 3, 0, 0)


def test_chains_that_stand_still_have_an_interval_to_both_sides():
    numbers = np.repeat([[5], [6], [5], [6]], 25, axis=1)
    numbers[1, 3] = 7
    told = law_of_count(numbers, 0.01)
    assert told.low <= 4
    assert told.high >= 7


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: coclustering([[0, 1]], [[0, 2]]), "rows from 0 to 1"),
        (lambda: coclustering([[0.5, 1]], [[0, 1]]), r"shape \[draw, row\]"),
        (lambda: coclustering([[0, 1]], [0, 1]), r"shape \[pair, 2\]"),
        (lambda: point_partition([[0, 1]], "loss"), "one of vi, binder"),
        (lambda: point_partition([[0, 1]], most=0), "most = 0: must be a whole number, 1 or more"),
        (lambda: cluster_count([[0, 1]], 1.0), "below 1"),
        (lambda: membership([[0, 1]], [0]), "each of 2 rows"),
    ],
)
@pytest.mark.usefixtures("unchecked_types")
def test_wrong_arguments_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
