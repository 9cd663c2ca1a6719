"""The topics' gradient.

Against automatic differentiation, over all minibatches, and as the sums are kept up to date.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from geodrift.kernels._streams import SAM_MIXTURES
from geodrift.models.spherical_admixture import DocumentSource
from geodrift.models.spherical_admixture.documents import _device_rows, _padded_rows
from geodrift.models.spherical_admixture.documents import _kept_mixtures_in_jax as in_jax
from geodrift.models.spherical_admixture.documents._device_rows import DeviceRows
from geodrift.models.spherical_admixture.documents._document_states import initial_states, on_host
from geodrift.models.spherical_admixture.documents._fresh_mixtures import estimate_from_minibatch
from geodrift.models.spherical_admixture.documents._kept_mixtures import (
    update_all_documents,
    update_minibatch,
)
from geodrift.models.spherical_admixture.documents._mixture_sampler import MixtureSampler
from geodrift.models.spherical_admixture.documents._statistics import SufficientStatistics
from geodrift.models.spherical_admixture.sampler._posterior import (
    DeviceStatistics,
    DocumentEntries,
    TopicGradient,
    TopicPrior,
    log_joint,
)
from models.sam_problem import planted

KAPPA = 200.0
FROZEN = 1e-13  # a step size at which mixtures stay where they are


def problem(num_documents=80):
    corpus, topics = planted(num_documents)
    source = DocumentSource(corpus, "none")
    rng = np.random.default_rng(5)
    topics = topics + 0.1 * rng.normal(size=topics.shape)
    topics = (topics / np.linalg.norm(topics, axis=1, keepdims=True)).astype(np.float32)
    states = initial_states(source, topics, KAPPA, 2.0)
    states.mixtures[...] = rng.dirichlet(np.full(3, 2.0), num_documents)
    states.step_sizes[...] = FROZEN
    sampler = MixtureSampler(KAPPA, np.full(3, 2.0), 2, 0, 2, SAM_MIXTURES, seed=0, chain=0)
    prior = TopicPrior(jnp.asarray(source.mean_direction), jnp.asarray(30.0), jnp.asarray(20.0))
    return source, topics, states, sampler, prior


def tangent(topics, gradient):
    return gradient - topics * (topics * gradient).sum(axis=1, keepdims=True)


def gradient_of(prior, topics, statistics):
    sums = DeviceStatistics(
        jnp.asarray(statistics.weighted_documents.T), jnp.asarray(statistics.curvature), None
    )
    return np.asarray(
        TopicGradient(prior, jnp.asarray(KAPPA)).gradient(jnp.asarray(topics, jnp.float64), sums)
    )


def test_gradient_is_the_derivative_of_the_log_joint():
    source, topics, states, sampler, prior = problem()
    statistics, mixtures, _ = update_all_documents(states, sampler, source, topics, 0, 0.0)
    everything = source.rows(np.arange(source.num_documents)).tocoo()
    entries = DocumentEntries(
        jnp.asarray(everything.row), jnp.asarray(everything.col), jnp.asarray(everything.data)
    )
    last = jnp.asarray(mixtures[None, :, -1])
    exact = jax.grad(log_joint)(jnp.asarray(topics, jnp.float64), prior, jnp.asarray(KAPPA), entries, last)
    ours = gradient_of(prior, topics, statistics)
    np.testing.assert_allclose(
        tangent(topics, ours), tangent(topics, np.asarray(exact)), rtol=1e-4, atol=1e-4 * np.abs(exact).max()
    )


def test_estimate_is_unbiased_over_all_minibatches_and_its_noise_variance_is_right():
    source, topics, states, sampler, _ = problem(num_documents=6)
    whole, _, _ = update_all_documents(states, sampler, source, topics, 0, 0.0)
    subsets = [np.array(s) for s in itertools.combinations(range(6), 3)]
    weighted, curvatures, stated, gradients = [], [], [], []
    for subset in subsets:
        states.noise_variance[...] = 0.0  # no smoothing over steps
        statistics, _ = estimate_from_minibatch(states, sampler, subset, source.rows(subset), topics, 0, 0.0)
        weighted.append(statistics.weighted_documents)
        curvatures.append(statistics.curvature)
        stated.append(statistics.noise_variance.copy())
        gradients.append(
            tangent(topics, KAPPA * (statistics.weighted_documents.T - statistics.curvature @ topics))
        )
    np.testing.assert_allclose(np.mean(weighted, axis=0), whole.weighted_documents, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.mean(curvatures, axis=0), whole.curvature, rtol=1e-5, atol=1e-6)
    # The mean square over tangent directions of the deviation is the variance that the sampler subtracts, on
    # average over subsets.
    exact = np.var(gradients, axis=0).sum(axis=1) / (topics.shape[1] - 1)
    np.testing.assert_allclose(np.mean(stated, axis=0), exact, rtol=1e-3)


@pytest.mark.parametrize("place", ["device", pytest.param("host", marks=pytest.mark.slow)])
def test_kept_sums_in_jax_equal_those_of_the_host_made_anew(place, monkeypatch):
    """And so do sums made anew in JAX; rows are padded, and blocks do not divide a minibatch."""
    monkeypatch.setattr(_padded_rows, "BLOCK_BYTES", 8 * 4 * 40)
    source, topics, states, sampler, _ = problem()
    states.step_sizes[...] = 0.02
    update_all_documents(states, sampler, source, topics, 0, 0.0)
    monkeypatch.setattr(_device_rows, "AT_ONCE", 100)  # less than the entries of all documents
    rows = DeviceRows(source, None)
    if place == "host":
        rows.kept = None
    on_device, before = in_jax.on_device(states, None), states.mixtures.copy()
    rng = np.random.default_rng(0)
    for count in range(40):
        documents = rng.choice(80, 11, replace=False)
        on_device, acceptance = in_jax.update_minibatch(
            on_device, sampler, documents, rows.padded(documents, 11), jnp.asarray(topics), count, 0.0, None
        )
        assert 0.5 < float(acceptance) <= 1.0
    anew_in_jax = on_host(in_jax.recomputed_sums(on_device, rows))
    kept = on_host(on_device)
    assert (np.abs(kept.mixtures - before).max(axis=1) > 1e-3).all()
    on_the_host = kept._replace(step_sizes=np.full(80, FROZEN, np.float32))
    anew, _, _ = update_all_documents(on_the_host, sampler, source, topics, 0, 0.0)
    for found in (kept, anew_in_jax):
        np.testing.assert_allclose(found.weighted_documents, anew.weighted_documents, atol=2e-5)
        np.testing.assert_allclose(found.curvature, anew.curvature, atol=2e-4)


def test_kept_sums_equal_sums_made_anew():
    source, topics, states, sampler, _ = problem()
    update_all_documents(states, sampler, source, topics, 0, 0.0)
    states.step_sizes[...] = 0.02
    rng = np.random.default_rng(0)
    for count in range(200):
        documents = rng.choice(80, 10, replace=False)
        kept, _ = update_minibatch(states, sampler, documents, source.rows(documents), topics, count, 0.0)
    kept = SufficientStatistics(kept.weighted_documents.copy(), kept.curvature.copy(), kept.noise_variance)
    states.step_sizes[...] = FROZEN
    anew, _, _ = update_all_documents(states, sampler, source, topics, 0, 0.0)
    np.testing.assert_allclose(kept.weighted_documents, anew.weighted_documents, atol=1e-5)
    np.testing.assert_allclose(kept.curvature, anew.curvature, atol=1e-4)


def test_prior_is_the_corpus_mean_integrated_out():
    """V = 3, K = 2: the integral over mu by quadrature on the sphere.

    Its integrand is vMF(mu | m, kappa0) prod vMF(beta_k | mu, sigma).
    """
    rng = np.random.default_rng(1)
    mean = np.array([0.0, 0.6, 0.8])
    prior = TopicPrior(jnp.asarray(mean), jnp.asarray(3.0), jnp.asarray(2.0))
    height, angle = np.meshgrid(
        np.polynomial.legendre.leggauss(60)[0], np.arange(120) * np.pi / 60, indexing="ij"
    )
    weights = np.polynomial.legendre.leggauss(60)[1][:, None] * np.full((1, 120), np.pi / 60)
    circle = np.sqrt(1 - height**2)
    mu = np.stack([circle * np.cos(angle), circle * np.sin(angle), height], axis=-1)

    def quadrature(topics):
        return np.log((weights * np.exp(mu @ (3.0 * mean + 2.0 * topics.sum(axis=0)))).sum())

    topics = rng.normal(size=(2, 2, 3))
    topics /= np.linalg.norm(topics, axis=2, keepdims=True)
    ours = float(prior.log_density(jnp.asarray(topics[0])) - prior.log_density(jnp.asarray(topics[1])))
    np.testing.assert_allclose(ours, quadrature(topics[0]) - quadrature(topics[1]), rtol=1e-10)
    gradient = jax.grad(prior.log_density)(jnp.asarray(topics[0]))
    np.testing.assert_allclose(prior.gradient(jnp.asarray(topics[0])), gradient[0], rtol=1e-10)
