"""Shear moves: nothing that the likelihood sees moves, and the prior is left as it is."""

import numpy as np
import pytest
from scipy.stats import norm

from geodrift.distributions import host_log_normaliser
from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._streams import SAM_MIXTURES
from geodrift.models.spherical_admixture import DocumentSource
from geodrift.models.spherical_admixture.documents._document_states import (
    DocumentStates,
    initial_states,
    recompute_sums,
)
from geodrift.models.spherical_admixture.documents._kept_mixtures import update_all_documents
from geodrift.models.spherical_admixture.documents._mixture_sampler import MixtureSampler
from geodrift.models.spherical_admixture.documents._shear import shear, shear_prior
from models.sam_problem import planted, run

KAPPA = 200.0


def problem():
    corpus, topics = planted(30)
    source = DocumentSource(corpus, "none")
    topics = topics.astype(np.float32)
    states = initial_states(source, topics, KAPPA, 2.0)
    states.mixtures[...] = np.random.default_rng(3).dirichlet(np.full(3, 2.0), 30)
    states.step_sizes[...] = 1e-13
    sampler = MixtureSampler(KAPPA, np.full(3, 2.0), 2, 0, 1, SAM_MIXTURES, seed=0, chain=0)
    update_all_documents(states, sampler, source, topics, 0, 0.0)
    return source, topics, states, sampler


def directions(states, topics):
    means = states.mixtures.astype(np.float64) @ topics
    return means / np.linalg.norm(means, axis=1, keepdims=True)


def test_documents_stay_and_sums_follow():
    source, topics, states, sampler = problem()
    velocities = np.random.default_rng(0).normal(size=topics.shape).astype(np.float32)
    velocities -= topics * (topics * velocities).sum(axis=1, keepdims=True)
    before, start, speeds = directions(states, topics), topics.copy(), np.linalg.norm(velocities, axis=1)
    prior = shear_prior(source.mean_direction, 20.0, 20.0, 2.0, 3)
    assert shear(states, topics, velocities, prior, Family(1, 0, 0), 60, False) > 0.1
    assert np.abs(topics - start).max() > 0.01
    np.testing.assert_allclose(directions(states, topics), before, atol=2e-6)
    np.testing.assert_allclose((topics * velocities).sum(axis=1), 0.0, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(velocities, axis=1), speeds, rtol=1e-5)
    recompute_sums(states, source)
    weighted, curvature = states.weighted_documents.copy(), states.curvature.copy()
    statistics, _, _ = update_all_documents(states, sampler, source, topics, 0, 0.0)
    np.testing.assert_allclose(weighted, statistics.weighted_documents, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(curvature, statistics.curvature, rtol=1e-4)


@pytest.mark.usefixtures("optimised")
def test_sums_do_not_drift_from_their_documents():
    """Hundreds of passes with shear moves: an error that was sheared along would have grown without bound."""
    _, chain = run(1500, batch_size=80, num_draws=10)
    weighted, curvature = chain.latents.weighted_documents.copy(), chain.latents.curvature.copy()
    recompute_sums(chain.latents, chain.source)
    np.testing.assert_allclose(weighted, chain.latents.weighted_documents, atol=1e-4)
    np.testing.assert_allclose(curvature, chain.latents.curvature, atol=1e-3)


@pytest.mark.parametrize("alpha", [0.7, 3.0])
def test_the_prior_is_invariant(alpha):
    """Without the likelihood the joint law is known: topics uniform (sigma near 0), mixtures Dirichlet.

    Start from exact draws of it, move, and compare: a wrong volume factor shows as a drift.
    """
    num_chains, num_documents, num_topics, num_words = 1500, 3, 3, 4
    rng = np.random.default_rng(7)
    cosines, entries = [], []
    prior = shear_prior(np.eye(num_words)[0], 1e-9, 1e-9, alpha, num_topics)
    for chain in range(num_chains):
        topics = rng.normal(size=(num_topics, num_words))
        topics /= np.linalg.norm(topics, axis=1, keepdims=True)
        zeros = np.zeros(num_documents)
        states = DocumentStates(
            mixtures=rng.dirichlet(np.full(num_topics, alpha), num_documents),
            step_sizes=zeros,
            weighted_documents=np.zeros((num_words, num_topics)),
            curvature=np.zeros((num_topics, num_topics)),
            inverse_norms=zeros.copy(),
            curvature_weights=zeros.copy(),
            noise_variance=np.zeros(num_topics),
            shear_scale=np.array(0.4),
        )
        shear(states, topics, np.zeros_like(topics), prior, Family(7, chain, 0), 20, False)
        cosines.append([topics[0] @ topics[1], (topics[0] @ topics[1]) ** 2])
        entries.append([states.mixtures[0, 0], states.mixtures[0, 0] ** 2, states.mixtures[0].min()])
    cosines, entries = np.array(cosines), np.array(entries)
    # Uniform: E cos = 0, E cos^2 = 1/V.
    # Dirichlet: E theta = 1/K, E theta^2 = (alpha + 1) / (K (K alpha + 1)).
    exact = [0.0, 1 / num_words, 1 / num_topics, (alpha + 1) / (num_topics * (num_topics * alpha + 1))]
    values = np.column_stack([cosines, entries[:, :2]])
    z = (values.mean(axis=0) - exact) / (values.std(axis=0) / np.sqrt(num_chains))
    assert np.abs(z).max() < norm.ppf(1 - 0.01 / 8 / 2), z


def test_the_table_of_normalisers_is_exact_enough():
    prior = shear_prior(np.eye(5000)[0], 1e4, 1e4, 10.0, 20)
    lengths = np.random.default_rng(0).uniform(0.0, 2.1e5, 500)
    np.testing.assert_allclose(
        prior.log_normaliser(lengths), host_log_normaliser(5000, lengths), rtol=0, atol=1e-6
    )
