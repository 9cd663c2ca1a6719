"""Probabilities of clusters for rows, against the enumeration of all partitions of a few rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from vmf_problem import ROWS, labellings, log_partition, log_sum

from geodrift.distributions import host_log_normaliser
from geodrift.models.von_mises_fisher_mixture._collapsed_gibbs import CollapsedGibbs
from geodrift.models.von_mises_fisher_mixture._concentrations import ConcentrationPrior
from geodrift.models.von_mises_fisher_mixture._known_rows import KnownRows
from geodrift.models.von_mises_fisher_mixture._own_rows import Seats
from geodrift.models.von_mises_fisher_mixture._parameters import Prior
from geodrift.models.von_mises_fisher_mixture._partition_membership import Posterior, membership
from geodrift.models.von_mises_fisher_mixture._place_membership import Places, place_membership
from geodrift.models.von_mises_fisher_mixture._predict import Draw
from geodrift.models.von_mises_fisher_mixture._rows_of import rows_of
from geodrift.models.von_mises_fisher_mixture._settings import Settings
from law_checks import z_bound

KAPPA = 6.0
NEW = np.array([[0.8, 0.6, 0.0], [0.0, -0.6, -0.8], [-0.6, 0.0, 0.8]])
GROUPS, DRAWS = 10, 50


def log_joint(labels, rows, number, prior):
    """Log of the probability of a partition and of the rows' density, all of concentration `KAPPA`."""
    dim, value = rows.shape[1], log_partition(np.array(labels), number, prior.a0)
    for k in set(labels):
        if k < 0:
            value += np.sum(np.equal(labels, k)) * host_log_normaliser(dim, 0.0)
            continue
        members = rows[np.equal(labels, k)]
        length = np.linalg.norm(KAPPA * members.sum(axis=0) + prior.r0)
        value += len(members) * host_log_normaliser(dim, KAPPA) - host_log_normaliser(dim, length)
        value += host_log_normaliser(dim, np.linalg.norm(prior.r0))
    return value


def share(labels, k, partition):
    """Of a row that is in cluster k of a draw: its probabilities of the partition's clusters."""
    clusters, told = partition.max() + 1, partition >= 0
    found = np.zeros(clusters + 1)
    if k < 0:
        found[-1] = 1.0
        return found
    members = partition[(labels == k) & told]
    counts = np.bincount(members if len(members) else partition[told], minlength=clusters)
    found[:-1] = counts / counts.sum()
    return found


def exact(partition, number, prior):
    """Of the fitted rows and of new ones the probabilities; the latter's of a new cluster."""
    every = list(labellings(len(ROWS), prior.a0 > 0))
    logs = np.array([log_joint(labels, ROWS, number, prior) for labels in every])
    p = np.exp(logs - log_sum(logs))
    fitted = sum(
        q * np.array([share(labels, k, partition) for k in labels])
        for q, labels in zip(p, every, strict=True)
    )
    told, fresh = [], []
    for x in NEW:
        rows = np.concatenate([ROWS, x[None]])
        which = [(labels, k) for labels in every for k in range(-(prior.a0 > 0), labels.max() + 2)]
        logs = np.array([log_joint([*labels, k], rows, number, prior) for labels, k in which])
        p = np.exp(logs - log_sum(logs))
        old = [k <= labels.max() for labels, k in which]
        fresh.append(1 - p[old].sum())
        mean = sum(
            q * share(*place, partition) for q, place, is_old in zip(p, which, old, strict=True) if is_old
        )
        told.append(mean / mean.sum())
    return fitted, np.array(told), np.array(fresh)


def exact_draws(settings, prior, rng, number_of_draws):
    """Independent draws of the posterior, made as a chain makes them."""
    number, rows = settings.number(), rows_of(ROWS)
    every = list(labellings(len(ROWS), prior.a0 > 0))
    logs = np.array([log_joint(labels, ROWS, number, prior) for labels in every])
    p, draws, seats = np.exp(logs - log_sum(logs)), [], []
    for chosen in rng.choice(len(every), size=number_of_draws, p=p):
        z = every[chosen]
        room = np.full(z.max() + 1, KAPPA)
        number.update(rng, len(room), len(z), prior.a0)
        found = CollapsedGibbs(rows, number, prior, z, room).parameters(rng)
        draws.append(Draw.of_parameters(found, prior))
        stored = {
            "labels": found.labels,
            "concentrations": found.concentrations,
            "assignments": z,
            "number_parameter": number.value,
        }
        seats.append(
            Seats.of({name: np.array(value)[None] for name, value in stored.items()}, (0,), settings)
        )
    return Posterior(draws, seats, KnownRows.of(rows))


# With a background, which has a column of its own, and without it.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("number_prior", "r0", "a0"),
    [
        ("finite mixtures", 0.0, 0.0),
        ("Dirichlet process", 0.0, 0.0),
        ("finite mixtures", 5.0, 0.0),
        ("Dirichlet process", 0.0, 0.7),
    ],
)
def test_probabilities_are_those_of_all_partitions(number_prior, r0, a0):
    """Rows of clusters of their own, far new ones, directions with a prior, a background."""
    settings = Settings(
        number_prior=number_prior,
        most_clusters=20,
        weight_prior=1.5,
        background=a0,
        shared_concentration=True,
    )
    prior = Prior(ConcentrationPrior(3.0, 1.0, 1e6), True, a0, r0 * np.eye(3)[1])
    partition = np.array([0, 0, 1, -1 if a0 else 1])
    every = exact_draws(settings, prior, np.random.default_rng(7), GROUPS * DRAWS)
    told = {"fitted": [], "new": [], "fresh": []}
    for group in range(GROUPS):
        part = slice(group * DRAWS, (group + 1) * DRAWS)
        posterior = Posterior(every.draws[part], every.seats[part], every.known)
        told["fitted"].append(membership(rows_of(ROWS), posterior, partition, bool(a0)))
        told["new"].append(membership(rows_of(NEW), posterior, partition, bool(a0)))
        numbers = np.array(
            [np.where(np.arange(4) < len(d.weights), np.arange(4), -1) for d in posterior.draws]
        )
        places = Places(posterior, numbers, np.ones((DRAWS, 5 + bool(a0)), bool), True, bool(a0))
        told["fresh"].append(place_membership(rows_of(NEW), places)["mean"][:, 4])
    right = dict(zip(told, exact(partition, settings.number(), prior), strict=True))
    for name, values in told.items():
        values, truth = np.array(values), right[name]
        truth = truth[:, : values.shape[2]] if values.ndim == 3 else truth
        spread = values.std(axis=0, ddof=1) / np.sqrt(GROUPS)
        assert spread.max() < 0.025, name
        assert (np.abs(values.mean(axis=0) - truth) < 1.5 * z_bound(100) * spread + 2e-3).all(), name


def test_rows_that_were_fitted_are_known_in_any_form():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((50, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x[7] = x[3]
    known = KnownRows.of(rows_of(x))
    asked = np.concatenate([x[[7, 20]], -x[:1], x[[49]]])
    for form in (asked, asked.astype(np.float32)):
        assert known.find(rows_of(form)).tolist() == [3, 20, -1, 49]
    sparse = sp.csr_matrix(np.where(np.abs(x) > 0.3, x, 0.0))
    known = KnownRows.of(rows_of(sparse, True))
    assert known.find(rows_of(sparse[[5, 1]], True)).tolist() == [5, 1]
