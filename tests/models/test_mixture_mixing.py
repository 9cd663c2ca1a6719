"""Mixtures of twenty topics: chains from far starts meet, and short runs agree with a long one."""

import numpy as np
import pytest

import geodrift as gd
from geodrift.kernels._streams import SAM_MIXTURES
from geodrift.models.spherical_admixture.documents._mixture_sampler import MixtureSampler, initial_step_size

NUM_DOCUMENTS, NUM_TOPICS, NUM_WORDS = 20, 20, 1000
KAPPA, ALPHA = 6000.0, 10.0
ADAPTING, SHORT, LONG = 300, 2000, 20_000


def chains(projections, gram, start, transitions, seed):
    """Draws [document, transition, topic] after adapting and freezing each document's step size."""
    theta = np.tile(start, (NUM_DOCUMENTS, 1))
    steps = np.full(NUM_DOCUMENTS, initial_step_size(KAPPA, ALPHA, NUM_TOPICS))
    documents, prior = np.arange(NUM_DOCUMENTS), np.full(NUM_TOPICS, ALPHA)
    for length, adaptation, step in ((ADAPTING, 0.05, 0), (transitions, 0.0, 1)):
        sampler = MixtureSampler(KAPPA, prior, 10, 0, length, SAM_MIXTURES, seed, chain=0)
        draws, _ = sampler.draw(theta, steps, projections, gram, documents, step, adaptation)
    return draws


@pytest.fixture(scope="module")
def problem():
    """Topics that nearly cancel, as fitted ones do, and documents drawn from the model."""
    rng = np.random.default_rng(2)
    topics = rng.normal(size=(NUM_TOPICS, NUM_WORDS))
    topics += 0.5 * rng.normal(size=NUM_WORDS) - 0.9 * topics.mean(axis=0)
    topics /= np.linalg.norm(topics, axis=1, keepdims=True)
    means = rng.dirichlet(np.full(NUM_TOPICS, ALPHA), NUM_DOCUMENTS) @ topics
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    rows = means + rng.normal(size=means.shape) / np.sqrt(KAPPA)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ topics.T, topics @ topics.T


def corner(topic):
    start = np.full(NUM_TOPICS, 0.1 / (NUM_TOPICS - 1))
    start[topic] = 0.9
    return start


@pytest.mark.slow  # `test_mixtures` has the moments of the same chains in CI
def test_chains_from_far_starts_meet(problem):
    one, other = (chains(*problem, corner(k), SHORT, seed) for k, seed in ((0, 11), (NUM_TOPICS - 1, 12)))
    pairs = np.stack([one, other])  # [chain, document, transition, topic]
    cells = [pairs[:, d, :, k] for d in range(NUM_DOCUMENTS) for k in range(NUM_TOPICS)]
    assert max(float(gd.diagnostics.rhat(cell)) for cell in cells) < 1.05
    assert min(float(gd.diagnostics.ess(cell)) for cell in cells) > 50


@pytest.mark.slow  # quadrature tells the same law in CI
def test_short_runs_have_the_moments_of_a_long_one(problem):
    short = chains(*problem, np.full(NUM_TOPICS, 1 / NUM_TOPICS), SHORT, 21)
    long = chains(*problem, corner(3), LONG, 22)
    z = []
    for d in range(NUM_DOCUMENTS):
        for k in range(NUM_TOPICS):
            a, b = short[d, :, k], long[d, :, k]
            for moment in (lambda x: x, lambda x, b=b: (x - b.mean()) ** 2):
                ma, mb = moment(a), moment(b)
                errors = [m.var() / float(gd.diagnostics.ess(m[None])) for m in (ma, mb)]
                z.append((ma.mean() - mb.mean()) / np.sqrt(sum(errors)))
    assert np.abs(z).max() < 4.5  # 800 z-scores
    assert abs(np.std(z) - 1) < 0.15  # and their size is what the errors say
