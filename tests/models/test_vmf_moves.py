"""Splits and merges, the number of clusters without data, and Geweke's joint test."""

import copy

import numpy as np
import pytest

from geodrift.distributions._compiled import debye_table
from geodrift.distributions._host import host_log_normaliser
from geodrift.distributions._host_sample import host_sample
from geodrift.kernels._streams import VMF_ASSIGNMENTS, VMF_CONCENTRATIONS
from geodrift.models.von_mises_fisher_mixture import _split_merge
from geodrift.models.von_mises_fisher_mixture._cluster_number import (
    MEAN_ALPHA,
    Components,
    DirichletProcess,
    FiniteMixtures,
    log_components_prior,
)
from geodrift.models.von_mises_fisher_mixture._cluster_score import ClusterScore
from geodrift.models.von_mises_fisher_mixture._collapsed_gibbs import CollapsedGibbs
from geodrift.models.von_mises_fisher_mixture._concentrations import ConcentrationPrior
from geodrift.models.von_mises_fisher_mixture._merges import Merges
from geodrift.models.von_mises_fisher_mixture._parameters import Prior
from geodrift.models.von_mises_fisher_mixture._rows_of import rows_of
from geodrift.models.von_mises_fisher_mixture._scan_kernel import restricted_scan
from law_checks import assert_means
from models import vmf_problem

MOVED = {
    "three components": (Components(3, 0.7), vmf_problem.prior(r0=(0.5, -1.0, 0.2))),
    "a Dirichlet process": (DirichletProcess(1.3), vmf_problem.prior()),
    "one kappa, finite mixtures": (FiniteMixtures(12, 0.8), vmf_problem.prior(shared=True)),
}


SLOW = {"three components", "one kappa, finite mixtures", "finite mixtures"}


def cases(names):
    """Of these the slow ones are marked."""
    return [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in names]


@pytest.mark.parametrize("name", cases(MOVED))
def test_splits_and_merges_leave_the_law_of_enumeration(name, monkeypatch):
    """Two of them between redraws of a single row: most of the mixing is theirs."""
    monkeypatch.setattr(_split_merge, "SCANS", 1)
    number, law = MOVED[name]
    steps = 600 if name in SLOW else 300
    draws = [vmf_problem.chain(copy.copy(number), law, seed, steps, 1, moves=2) for seed in range(8)]
    expected = vmf_problem.expected(number, law)
    told = (expected != 0) & (expected != 1)
    assert_means(np.array(draws)[:, 100:, told], expected[told])


def restaurant(alpha, rows):
    """Probabilities of 1, 2, ... clusters of a Chinese restaurant process."""
    p = np.array([1.0])
    for i in range(1, rows):
        p = np.append(p * i, 0.0) + alpha * np.append(0.0, p)
        p /= i + alpha
    return p


def finite(number, rows):
    """The same of a mixture of finite mixtures, by its number of components and of ways to fill t of them."""
    k, g = np.arange(1, number.most + 1), number.g
    log_p = log_components_prior(k)
    p = np.exp(log_p - np.logaddexp.reduce(log_p))
    found = np.zeros(rows)
    for components, weight in zip(k, p, strict=True):
        # Occupied boxes of a Polya urn: the next row opens a box with probability (K - t) g / (K g + i).
        law = np.array([1.0])
        for i in range(1, rows):
            t = np.arange(1, len(law) + 1)
            opens = np.maximum(components - t, 0) * g / (components * g + i)
            law = np.append(law * (1 - opens), 0.0) + np.append(0.0, law * opens)
        found += weight * law
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", cases(["process", "finite mixtures"]))
def test_the_number_of_clusters_has_its_prior_where_rows_say_nothing(name):
    rows = host_sample(np.random.default_rng(0), np.zeros((30, 3)))
    number = DirichletProcess(1.5) if name == "process" else FiniteMixtures(60, 0.7)
    expected = restaurant(1.5, 30) if name == "process" else finite(number, 30)
    law = Prior(ConcentrationPrior(1e-3, 1e4, 1.0), False, 0.0, np.zeros(3))
    draws = []
    for seed in range(8):
        steps = 500 if name in SLOW else 300
        found = vmf_problem.chain(copy.copy(number), law, seed, steps, rows=rows, moves=1)[100:, -2]
        draws.append(found[:, None] == np.arange(1, 6))
    assert_means(np.array(draws, float), expected[:5])


def test_components_prior_is_a_law_with_mean_two():
    values = np.arange(1, 200_000)
    p = np.exp(log_components_prior(values))
    assert p.sum() == pytest.approx(1, abs=1e-6)
    assert (p * values).sum() == pytest.approx(2, abs=1e-3)


JOINT = Prior(ConcentrationPrior(4.0, 2.0, 100.0), False, 0.7, np.array([0.0, 1.5, 0.0]))
ROWS = 8


def joint_statistics(z, kappa, x, number):
    """Functions of all that the joint law is of."""
    t, inside = len(set(z[z >= 0])), z >= 0
    same = (z[:, None] == z) & inside[:, None]
    gram = x @ x.T
    log_kappa = np.log(kappa[z[inside]]).mean() if inside.any() else 0.0
    within = (gram * same).sum() / ROWS**2
    return np.array(
        [t, t**2, same.mean(), inside.mean(), log_kappa, gram.mean(), within, x[:, 1].mean(), np.log(number)]
    )


def from_the_prior(rng, kind):
    """One draw of everything by the generative model."""
    if kind == "process":
        number = alpha = rng.exponential(MEAN_ALPHA)
        total, cluster = alpha, lambda counts: [*counts, alpha]
    else:
        k = np.arange(1, 31)
        p = np.exp(log_components_prior(k))
        number = rng.choice(k, p=p / p.sum())
        total = 0.8 * number
        cluster = lambda counts: [*(np.array(counts) + 0.8), (number - len(counts)) * 0.8]  # noqa: E731
    outside = rng.beta(JOINT.a0, total)
    counts, z = [], np.full(ROWS, -1)
    for i in range(ROWS):
        if rng.random() < outside:
            continue
        weights = np.array(cluster(counts), float)
        z[i] = rng.choice(len(weights), p=weights / weights.sum())
        if z[i] == len(counts):
            counts.append(0)
        counts[z[i]] += 1
    kappa = JOINT.concentration.draws(rng, max(1, len(counts)))
    directions = host_sample(rng, np.tile(JOINT.r0, (len(kappa), 1)))
    return z, kappa, rows_given(rng, z, kappa, directions), number


def rows_given(rng, z, kappa, directions):
    resultants = np.zeros((ROWS, 3))
    resultants[z >= 0] = (kappa[:, None] * directions)[z[z >= 0]]
    return host_sample(rng, resultants)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["process", "finite"])
def test_rows_and_parameters_drawn_in_turn_have_the_joint_law(kind):
    """Geweke (2004): z, kappa, the number and parameters given rows, then rows given parameters."""
    rng = np.random.default_rng(1)
    expected = np.array([joint_statistics(*from_the_prior(rng, kind)) for _ in range(8_000)])
    chains = []
    for seed in range(8):
        z, kappa, x, value = from_the_prior(rng, kind)
        number = DirichletProcess(None) if kind == "process" else FiniteMixtures(30, 0.8)
        number.value, found, move = float(value), [], _split_merge.SplitMerge(JOINT)
        for count in range(600):
            gibbs = CollapsedGibbs(rows_of(x), number, JOINT, z, kappa)
            names = seed, 0, count
            numbers = rng.permutation(ROWS)[:5]
            gibbs.step(numbers, VMF_ASSIGNMENTS.family(*names), VMF_CONCENTRATIONS.family(*names), rng)
            move.propose(gibbs, rng)
            told = gibbs.parameters(rng)
            z, kappa = gibbs.z.copy(), gibbs.kappa.copy()
            directions = np.zeros((len(kappa), 3))
            directions[told.labels] = told.directions
            x = rows_given(rng, z, kappa, directions)
            found.append(joint_statistics(z, kappa, x, number.value))
        chains.append(found)
    slack = 4 * expected.std(axis=0) / np.sqrt(len(expected))
    assert_means(np.array(chains), expected.mean(axis=0), slack=slack)


def test_the_law_of_weights_and_directions_given_assignments():
    """Their means: (n + g) / (N + K g), and A(|kappa R + r_0|) along the resultant."""
    from geodrift.distributions import host_mean_resultant_length

    law, rng = vmf_problem.prior(r0=(0.3, 0.0, 0.4), a0=0.5), np.random.default_rng(0)
    gibbs = CollapsedGibbs(
        rows_of(vmf_problem.ROWS), Components(3, 0.6), law, np.array([0, 0, 2, -1]), np.array([5.0, 1.0, 2.0])
    )
    found = [gibbs.parameters(rng) for _ in range(4_000)]
    weights = np.array([[*draw.weights, draw.background] for draw in found])
    assert_means(weights.reshape(40, 100, 4), np.array([2.6, 0.6, 1.6, 1.5]) / 6.3)
    rows = vmf_problem.ROWS
    sums = np.array([5 * rows[:2].sum(axis=0), [0, 0, 0], 2 * rows[2]]) + law.r0
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    directions = np.array([draw.directions for draw in found]).reshape(40, 100, 3, 3)
    assert_means(directions, sums / lengths * host_mean_resultant_length(3, lengths))


def test_kept_scores_of_pairs_are_those_made_anew():
    """After rows have moved between two clusters, and with one cluster more than there was room for."""
    rng = np.random.default_rng(7)
    x = host_sample(rng, 20 * host_sample(rng, np.zeros((4, 3)))[rng.integers(4, size=80)])
    law = vmf_problem.prior()
    gibbs = CollapsedGibbs(rows_of(x), DirichletProcess(1.0), law, rng.integers(5, size=80), np.full(5, 5.0))
    score = ClusterScore(law, gibbs.table)
    merges = Merges(gibbs, score)
    merges.best(gibbs.occupied)
    for k, free in ((1, 5), (3, len(gibbs.kappa) + 2)):
        if free >= len(gibbs.kappa):
            gibbs.grow()
        members = np.flatnonzero(gibbs.z == k)
        gibbs.z[members[::2]] = free
        gibbs.rebuild([k, free], members)
        merges.forget([k, free])
        first, second, gain = merges.best(gibbs.occupied)
        again = Merges(gibbs, score).best(gibbs.occupied)
        assert (first, second) == again[:2]
        assert gain == pytest.approx(again[2], abs=1e-8)
        pair = np.flatnonzero(np.isin(gibbs.z, (first, second)))
        parts = [np.flatnonzero(gibbs.z == k) for k in (first, second)]

        def value(members):
            total = x[members].sum(axis=0)
            return score(np.array([len(members)]), np.array([total @ total]), np.zeros(1))[0]

        def log_gamma(number):
            return float(np.log(np.arange(1, number)).sum())

        by_hand = value(pair) + log_gamma(len(pair))
        by_hand -= sum(value(part) + log_gamma(len(part)) for part in parts)
        assert gain == pytest.approx(by_hand, abs=1e-6)


def test_a_restricted_scan_tells_the_probability_of_its_choices():
    """Of ends that are given, against sums that are made anew at every row; proposals need not be right."""
    rng = np.random.default_rng(0)
    x, r0 = host_sample(rng, np.zeros((7, 4))), np.array([0.5, -1.0, 0.2, 0.3])
    kappa, g, order, target = 6.0, 0.7, np.array([4, 2, 6, 3, 5]), np.array([0, 1, 1, 0, 0, 1, 1])
    sides, log_p = np.array([0, 1, 0, 1, 1, 0, 1]), 0.0
    found = restricted_scan(
        x, sides.copy(), order, np.ones(5), target, x @ r0, kappa, g, r0 @ r0, *debye_table(4)
    )
    for i in order:
        scores = []
        for side in (0, 1):
            rows = x[(sides == side) & (np.arange(7) != i)]
            without = np.linalg.norm(kappa * rows.sum(axis=0) + r0)
            with_it = np.linalg.norm(kappa * (rows.sum(axis=0) + x[i]) + r0)
            scores.append(
                np.log(len(rows) + g) + host_log_normaliser(4, without) - host_log_normaliser(4, with_it)
            )
        log_p += scores[target[i]] - np.logaddexp(*scores)
        sides[i] = target[i]
    np.testing.assert_allclose(found, log_p, rtol=1e-9)
