"""Shear moves: nothing that the likelihood sees moves, and the prior is left as it is."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from geodrift.distributions import host_log_normaliser, host_mean_resultant_length, host_sample
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
from models.sam_problem import planted, run

KAPPA = 200.0
NUM_WORDS = 4  # of the law tests


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
    constants = _shear_in_jax.DeviceShearPrior.of(prior, None)
    states, topics, velocities = _shear_in_jax.shear(*arrays, constants, streams, num_moves, adapting=False)
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


@pytest.mark.slow
@pytest.mark.usefixtures("optimised")
def test_sums_do_not_drift_from_their_documents():
    """Hundreds of passes with shear moves: an error that was sheared along would have grown without bound."""
    _, chain = run(1500, batch_size=80, num_draws=10)
    weighted, curvature = chain.latents.weighted_documents.copy(), chain.latents.curvature.copy()
    recompute_sums(chain.latents, chain.source)
    np.testing.assert_allclose(weighted, chain.latents.weighted_documents, atol=1e-4)
    np.testing.assert_allclose(curvature, chain.latents.curvature, atol=1e-3)


def exact_draws(number, num_documents, num_topics, concentrations, alpha):
    """Draws of the prior: corpus mean around the first axis, topics around it, mixtures."""
    rng = np.random.default_rng(7)
    first = np.zeros((number, NUM_WORDS))
    first[:, 0] = 1.0
    means = host_sample(rng, concentrations[0] * first)
    topics = host_sample(rng, concentrations[1] * np.repeat(means, num_topics, axis=0))
    mixtures = rng.dirichlet(np.full(num_topics, alpha), (number, num_documents))
    return topics.reshape(number, num_topics, NUM_WORDS), mixtures


def expected_statistics(num_topics, concentrations, alpha):
    """Of `statistics`, under the prior."""
    kappa, sigma = concentrations
    along_mean, along = host_mean_resultant_length(NUM_WORDS, np.array([kappa, sigma]))
    # E[beta beta'] given mu has this eigenvalue along mu, and equal ones across it.
    square = 1.0 - (NUM_WORDS - 1) * along / sigma
    across = (1.0 - square) / (NUM_WORDS - 1)
    return [
        along**2,
        square**2 + (NUM_WORDS - 1) * across**2,
        along_mean * along,
        1 / num_topics,
        (alpha + 1) / (num_topics * (num_topics * alpha + 1)),
    ]


def statistics(topics, mixtures):
    """Means over pairs of topics and over documents: of cosines, mixtures, and of their squares."""
    of_pairs = (topics @ topics.T)[np.triu_indices(len(topics), 1)]
    return [
        of_pairs.mean(),
        (of_pairs**2).mean(),
        topics[:, 0].mean(),
        mixtures[:, 0].mean(),
        (mixtures**2).mean(),
    ]


def many_states(mixtures):
    """States of chains side by side, as the moves read them."""
    number, num_documents, num_topics = mixtures.shape
    zeros = np.zeros((number, num_documents))
    return DocumentStates(
        mixtures=mixtures,
        step_sizes=zeros,
        weighted_documents=np.zeros((number, NUM_WORDS, num_topics)),
        curvature=np.zeros((number, num_topics, num_topics)),
        inverse_norms=zeros.copy(),
        curvature_weights=zeros.copy(),
        noise_variance=np.zeros((number, num_topics)),
        shear_scale=np.full(number, 0.4),
    )


def moved_chains(form, states, topics, prior, num_moves):
    """Topics and mixtures of each chain after its moves."""
    still = np.zeros_like(topics)
    if form == "jax":
        constants = _shear_in_jax.DeviceShearPrior.of(prior, None)
        arrays, keys = (
            on_device((states, topics, still), None),
            jax.random.split(jax.random.key(7), len(topics)),
        )
        num_rounds = num_moves // (topics.shape[1] // 2)

        def of_one(chain, key):
            return _shear_in_jax.sheared(*chain, constants, key, num_rounds, jnp.float32(0.0))

        states, topics, _ = jax.vmap(of_one)(arrays, keys)
        return np.asarray(topics), np.asarray(states.mixtures)
    for chain in range(len(topics)):
        one = DocumentStates(
            *[np.asarray(x[chain]) for x in states[:-1]], states.shear_scale[chain : chain + 1]
        )
        shear(one, topics[chain], still[chain], prior, Family(7, chain, 0), num_moves, adapting=False)
    return topics, states.mixtures


@pytest.mark.parametrize("form", ["host", pytest.param("jax", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("num_topics", "alpha", "concentrations"),
    [
        *(pytest.param(3, alpha, (1e-9, 1e-9), marks=pytest.mark.slow) for alpha in (0.7, 3.0)),
        (5, 1.5, (3.0, 6.0)),
    ],
)
def test_the_prior_is_invariant(num_topics, alpha, concentrations, form):
    """Without the likelihood the joint law is known: start from exact draws of it, move, and compare.

    A wrong volume factor, or a wrong prior of the topics, shows as a drift.
    """
    topics, mixtures = exact_draws(1500, 3, num_topics, concentrations, alpha)
    prior = shear_prior(np.eye(NUM_WORDS)[0], *concentrations, alpha, num_topics)
    start = topics.copy()
    topics, mixtures = moved_chains(form, many_states(mixtures), topics, prior, 20 * num_topics)
    assert np.abs(topics - start).mean() > 0.1
    values = np.array([statistics(*chain) for chain in zip(topics, mixtures, strict=True)])
    exact = expected_statistics(num_topics, concentrations, alpha)
    z = (values.mean(axis=0) - exact) / (values.std(axis=0) / np.sqrt(len(values)))
    assert np.abs(z).max() < norm.ppf(1 - 0.01 / 30 / 2), z


def test_the_table_of_normalisers_is_exact_enough():
    prior = shear_prior(np.eye(5000)[0], 1e4, 1e4, 10.0, 20)
    lengths = np.random.default_rng(0).uniform(0.0, 2.1e5, 500)
    np.testing.assert_allclose(
        prior.log_normaliser(lengths), host_log_normaliser(5000, lengths), rtol=0, atol=1e-6
    )
