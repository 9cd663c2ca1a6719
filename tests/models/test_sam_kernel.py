"""The kernel for GPUs that draws the SAM's mixtures, run step by step on the CPU as it stands.

Its law is that of `_mixtures_in_jax`, whose functions it calls, and which `test_mixtures` tests.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from geodrift.models.spherical_admixture.documents._mixtures_in_jax import (
    Target,
    document_keys,
    document_words,
    walk,
)
from geodrift.models.spherical_admixture.documents._mixtures_in_pallas import walk_of_gpu
from models.kernels_for_gpus import assert_compiles_to_triton


def problem(num_topics, number=20, num_words=200):
    """Keys, mixtures, step sizes and a density, of documents that fill no program of the GPU."""
    rng = np.random.default_rng(0)
    topics = np.abs(rng.standard_normal((num_topics, num_words)))
    topics /= np.linalg.norm(topics, axis=1, keepdims=True)
    mixtures = rng.dirichlet(np.ones(num_topics), number)
    documents = mixtures @ topics
    documents /= np.linalg.norm(documents, axis=1, keepdims=True)
    alpha = np.linspace(1.0, 1.5, num_topics)
    keys = document_keys(jax.random.key(3), document_words(np.arange(number)))
    given = documents @ topics.T, topics @ topics.T, 6.0 * num_words, alpha, mixtures
    projections, gram, kappa, prior, start = (jnp.asarray(x, jnp.float32) for x in given)
    return keys, start, jnp.full(number, 0.02, jnp.float32), Target(projections, gram, kappa, prior)


@pytest.mark.parametrize(
    "num_topics", [pytest.param(3, marks=pytest.mark.slow), 5, pytest.param(16, marks=pytest.mark.slow)]
)
def test_its_transitions_are_those_of_jax(num_topics):
    """Some trajectories meet faces, of which padding has none."""
    gain = jnp.float32(0.1)
    expected, _ = walk(*problem(num_topics), gain, 5, 1, 2)
    found = walk_of_gpu(*problem(num_topics), gain, 5, 3, interpret=True)
    assert 0.05 < float(found.acceptance.mean()) < 0.999
    assert np.abs(np.asarray(found.mixtures - problem(num_topics)[1])).max() > 0.05
    for name in ("mixtures", "log_density", "step_sizes", "acceptance"):
        a, b = (np.asarray(getattr(end, name)) for end in (found, expected))
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4, err_msg=name)


def test_it_compiles_to_triton():
    keys, *given = problem(100)
    assert_compiles_to_triton(
        lambda *x: walk_of_gpu(keys, *x[:2], Target(*x[2:]), jnp.float32(0.0), 10, 8), *given[:2], *given[2]
    )
