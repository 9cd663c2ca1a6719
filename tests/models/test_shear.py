"""Shear moves: nothing that the likelihood sees moves, and the prior is left as it is."""

import numpy as np
import pytest
from scipy.stats import norm

from geodrift.distributions import host_log_normaliser
from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._streams import SAM_MIXTURES
from geodrift.models.spherical_admixture import DocumentSource
from geodrift.models.spherical_admixture.documents import _shear_in_jax
from geodrift.models.spherical_admixture.documents._document_states import (
    DocumentStates,
    initial_states,
    on_host,
    recompute_sums,
)
from geodrift.models.spherical_admixture.documents._kept_mixtures import update_all_documents
from geodrift.models.spherical_admixture.documents._kept_mixtures_in_jax import on_device
from geodrift.models.spherical_admixture.documents._mixture_sampler import MixtureSampler
from geodrift.models.spherical_admixture.documents._shear import shear, shear_prior
from geodrift.models.spherical_admixture.documents._shear_kernel import ShearState
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


def moved(form, states, topics, velocities, prior, streams, num_moves):
    """The states, topics and velocities after moves that do not adapt, on the host."""
    if form == "host":
        shear(states, topics, velocities, prior, streams, num_moves, adapting=False)
        return states, topics, velocities
    arrays = on_device((states, topics, velocities), None)
    constants = on_device(prior.constants(topics.shape[1]), None)
    states, topics, velocities = _shear_in_jax.shear(
        *arrays, prior, constants, streams, num_moves, adapting=False
    )
    return on_host(states), np.asarray(topics), np.asarray(velocities)


each_form = pytest.mark.parametrize("form", ["host", "jax"])


def directions(states, topics):
    means = states.mixtures.astype(np.float64) @ topics
    return means / np.linalg.norm(means, axis=1, keepdims=True)


@each_form
def test_documents_stay_and_sums_follow(form):
    source, topics, states, sampler = problem()
    velocities = np.random.default_rng(0).normal(size=topics.shape).astype(np.float32)
    velocities -= topics * (topics * velocities).sum(axis=1, keepdims=True)
    before, start, speeds = directions(states, topics), topics.copy(), np.linalg.norm(velocities, axis=1)
    prior = shear_prior(source.mean_direction, 20.0, 20.0, 2.0, 3)
    states, topics, velocities = moved(form, states, topics, velocities, prior, Family(1, 0, 0), 60)
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


@pytest.mark.parametrize(
    ("alpha", "form"),
    [(0.7, "host"), (3.0, "host"), (0.7, "jax"), pytest.param(3.0, "jax", marks=pytest.mark.slow)],
)
def test_the_prior_is_invariant(alpha, form):
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
        still = np.zeros_like(topics)
        states, topics, _ = moved(form, states, topics, still, prior, Family(7, chain, 0), 40)
        of_pairs = (topics @ topics.T)[np.triu_indices(num_topics, 1)]
        cosines.append([of_pairs.mean(), (of_pairs**2).mean()])
        entries.append([states.mixtures[:, 0].mean(), (states.mixtures**2).mean()])
    cosines, entries = np.array(cosines), np.array(entries)
    # Uniform: E cos = 0, E cos^2 = 1/V.
    # Dirichlet: E theta = 1/K, E theta^2 = (alpha + 1) / (K (K alpha + 1)).
    exact = [0.0, 1 / num_words, 1 / num_topics, (alpha + 1) / (num_topics * (num_topics * alpha + 1))]
    values = np.column_stack([cosines, entries])
    z = (values.mean(axis=0) - exact) / (values.std(axis=0) / np.sqrt(num_chains))
    assert np.abs(z).max() < norm.ppf(1 - 0.01 / 16 / 2), z


def test_the_table_of_normalisers_is_exact_enough():
    prior = shear_prior(np.eye(5000)[0], 1e4, 1e4, 10.0, 20)
    lengths = np.random.default_rng(0).uniform(0.0, 2.1e5, 500)
    np.testing.assert_allclose(
        prior.log_normaliser(lengths), host_log_normaliser(5000, lengths), rtol=0, atol=1e-6
    )


def test_the_normalisers_of_float32_differ_as_those_of_float64_do():
    """Numbers of 100,000 and more, of which a move changes a thousandth."""
    num_topics, num_words = 20, 5000
    rng = np.random.default_rng(4)
    topics = rng.normal(size=(num_topics, num_words)) + 0.5
    topics /= np.linalg.norm(topics, axis=1, keepdims=True)
    prior = shear_prior(np.full(num_words, num_words**-0.5), 1e4, 1e4, 1.0, num_topics)
    constants = on_device(prior.constants(num_words), None)
    state = ShearState(*[None] * 2, topics @ topics.T, topics @ prior.mean_direction, *[None] * 3)
    for epsilon in (-0.1, 1e-3, 0.03):
        turned = topics.copy()
        turned[3] = topics[3] + epsilon * topics[8]
        log_norm = np.log(np.linalg.norm(turned[3]))
        turned[3] /= np.exp(log_norm)
        lengths = [np.linalg.norm(1e4 * prior.mean_direction + 1e4 * t.sum(axis=0)) for t in (topics, turned)]
        exact = -np.diff(host_log_normaliser(num_words, np.array(lengths)))[0]
        pair = on_device(_shear_in_jax.Pair(3, 8, epsilon, log_norm), None)
        ours = float(_shear_in_jax._normalisers_log_ratio(on_device(state, None), pair, constants))
        assert abs(exact) > 0.5
        np.testing.assert_allclose(ours, exact, rtol=1e-4, atol=1e-3)
