"""Geweke's (2004) joint test: rows and clusters drawn in turn have the law of the prior."""

import numpy as np
import pytest
import scipy.sparse as sp

from geodrift.models.dirichlet_process_mixture import Settings
from geodrift.models.dirichlet_process_mixture._rows import RowSource
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._kernel import add_rows
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._sampler import CollapsedGibbs
from geodrift.models.kit._facade import MatrixCorpus
from law_checks import assert_means

NUM_ROWS, NUM_WORDS, LENGTH, PRIOR = 7, 4, 5, 0.4


def prior_means(rng, number):
    """Means of `statistics` under the prior, by simulation, and their standard errors."""
    found = []
    for _ in range(number):
        alpha = rng.gamma(1.0)
        z = [0]
        for i in range(1, NUM_ROWS):
            p = np.append(np.bincount(z), alpha) / (i + alpha)
            z.append(int(rng.choice(len(p), p=p)))
        found.append(statistics(alpha, np.array(z), draw_rows(np.array(z), rng)))
    return np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(number)


def draw_rows(z, rng):
    clusters = rng.dirichlet(np.full(NUM_WORDS, PRIOR), z.max() + 1)
    return np.array([rng.multinomial(LENGTH, clusters[k]) for k in z])


def statistics(alpha, z, rows):
    same = z[:, None] == z
    alike = (rows @ rows.T) / LENGTH**2
    upper = np.triu_indices(len(z), 1)
    numbers = len(np.unique(z))
    return [alpha, numbers, numbers == 1, alike[upper].mean(), (alike * same)[upper].mean()]


def replace_rows(move, rows):
    """Give the rows other words; their clusters stay."""
    move.source = RowSource(MatrixCorpus(sp.csr_matrix(rows)))
    move.table[:], move.tokens[:], move.numbers[:] = 0, 0, 0
    all_rows = move.source.rows(np.arange(len(rows)))
    add_rows(*all_rows, move.assignments, move.table, move.tokens, move.numbers)
    return all_rows


@pytest.mark.slow  # enumeration tells the same law in CI
@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("batch_size", "groups"), [*(pytest.param(size, 1, marks=pytest.mark.slow) for size in (2, 7)), (3, 2)]
)
def test_rows_and_clusters_drawn_in_turn_have_the_law_of_the_prior(batch_size, groups):
    rng = np.random.default_rng(0)
    expected, error = prior_means(rng, 20_000)
    draws = []
    for chain in range(12):
        source = RowSource(MatrixCorpus(sp.csr_matrix(draw_rows(np.zeros(NUM_ROWS, int), rng))))
        settings = Settings(cluster_word_prior=PRIOR, batch_size=batch_size, cluster_groups=groups)
        move = CollapsedGibbs(source, settings, 3, chain)
        move.begin(source.rows(np.arange(NUM_ROWS)))
        kept = []
        for step in range(700):
            _, z = np.unique(move.assignments, return_inverse=True)
            rows = draw_rows(z, rng)
            replace_rows(move, rows)
            kept.append(statistics(move.concentration, z, rows))
            some = np.arange(batch_size) if batch_size == NUM_ROWS else rng.permutation(NUM_ROWS)[:batch_size]
            move.step(move.source.rows(some), step)
        draws.append(kept[50:])
    assert_means(np.array(draws), expected, slack=3 * error)
