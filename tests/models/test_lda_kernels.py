"""LDA's kernels for GPUs, run on the CPU step by step: their law, and that Triton takes them."""

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2

from geodrift.models.latent_dirichlet_allocation.documents import _sweeps_in_pallas
from geodrift.models.latent_dirichlet_allocation.documents._draw_in_jax import pad_topics
from geodrift.models.latent_dirichlet_allocation.documents._sweeps_in_jax import redrawn
from geodrift.models.latent_dirichlet_allocation.documents._sweeps_in_pallas import by_tokens, sweep_documents
from models.kernels_for_gpus import assert_compiles_to_triton

DOCUMENTS, START, UNTOUCHED = 4000, (1, 3, 3), 77
WORDS = np.array([0, 2, 5])
ALPHA = np.array([0.1, 0.4, 0.3, 0.2, 0.6], np.float32)
TOPICS = np.random.default_rng(0).dirichlet(np.full(6, 0.5), 5).T.astype(np.float32)
TOPICS[2, 1] = 0.0  # never drawn


def law_of_a_sweep(counted):
    """The probability of every outcome of a sweep over one document, from `START`."""
    found = {START: 1.0}
    for i, word in enumerate(WORDS):
        before, found = found, Counter()
        for z, p in before.items():
            others = [z[j] for j in range(len(WORDS)) if (j != i if counted else j < i)]
            weights = (ALPHA + np.bincount(others, minlength=5)) * TOPICS[word]
            for k, share in enumerate(weights / weights.sum()):
                found[(*z[:i], k, *z[i + 1 :])] += p * share
    return found


@pytest.mark.parametrize("counted", [True, False], ids=["kept", "first"])
@pytest.mark.parametrize("tokens", [True, False], ids=["by tokens", "by topics"])
@pytest.mark.usefixtures("optimised")
def test_a_sweep_has_the_law_of_enumeration(tokens, counted, monkeypatch):
    monkeypatch.setattr(_sweeps_in_pallas, "by_tokens", lambda *_: tokens)
    shape = DOCUMENTS, 16
    words, start = np.zeros(shape, np.int32), np.full(shape, UNTOUCHED, np.int32)
    words[:, :3], start[:, :3] = WORDS, START
    uniforms = jax.random.uniform(jax.random.key(4), (*shape, 2), jnp.float32)
    given = words, np.full(DOCUMENTS, 3, np.int32), start, pad_topics(TOPICS), pad_topics(ALPHA), uniforms
    found = np.asarray(sweep_documents(*map(jnp.asarray, given), counted, interpret=True))
    assert (found[:, 3:] == UNTOUCHED).all()
    expected, seen = law_of_a_sweep(counted), Counter(map(tuple, found[:, :3].tolist()))
    assert all(expected[z] > 0 for z in seen)
    often = [z for z, p in expected.items() if p * DOCUMENTS > 5]
    counts = np.array([[seen[z], expected[z] * DOCUMENTS] for z in often])
    rest = DOCUMENTS - counts.sum(axis=0)
    counts = np.vstack([counts, rest])
    statistic = ((counts[:, 0] - counts[:, 1]) ** 2 / counts[:, 1]).sum()
    assert chi2.sf(statistic, len(often)) > 1e-4


@pytest.mark.parametrize("first", [True, False])
def test_by_topics_draws_are_those_of_jax(first, monkeypatch):
    """Of 100 topics, in groups with padding, and documents of all lengths, one without a token."""
    monkeypatch.setattr(_sweeps_in_pallas, "by_tokens", lambda *_: False)
    rng, number, length = np.random.default_rng(1), 6, 16
    topics = pad_topics(rng.gamma(0.3, size=(50, 100)).astype(np.float32))
    alpha = pad_topics(np.full(100, 0.1, np.float32))
    words = rng.integers(50, size=(number, length), dtype=np.int32)
    lengths = np.array([0, 1, 5, 9, 15, 16], np.int32)
    start = rng.integers(100, size=(number, length), dtype=np.int32)
    key, documents = jax.random.key(1), np.arange(number, dtype=np.int32)
    expected = redrawn(
        key, jnp.asarray(documents), *map(jnp.asarray, (words, lengths, start, topics, alpha)), 1, first
    )
    uniforms = jnp.stack(
        [jax.vmap(lambda i, d=d: _uniforms(key, d, i))(jnp.arange(length)) for d in documents]
    )
    given = map(jnp.asarray, (words, lengths, start, topics, alpha))
    found = sweep_documents(*given, uniforms, not first, interpret=True)
    np.testing.assert_array_equal(found, expected)


def _uniforms(key, document, token):
    """Of a token in the first sweep."""
    of_sweep = jax.random.fold_in(jax.random.fold_in(key, document), 0)
    return jax.random.uniform(jax.random.fold_in(of_sweep, token), (2,), jnp.float32)


def test_short_documents_of_many_topics_go_by_tokens():
    assert by_tokens(64, 1024)
    assert not by_tokens(64, 20)


@pytest.mark.parametrize(("num_topics", "length"), [(32, 16), (1024, 64), (10_112, 64), (1024, 4096)])
def test_they_compile_to_triton(num_topics, length):
    numbers = (8, length), (8,), (8, length), (50, num_topics), (num_topics,), (8, length, 2)
    types = [jnp.int32] * 3 + [jnp.float32] * 3
    given = [jax.ShapeDtypeStruct(shape, kind) for shape, kind in zip(numbers, types, strict=True)]
    for counted in (True, False):
        assert_compiles_to_triton(lambda *x, counted=counted: sweep_documents(*x, counted), *given)
