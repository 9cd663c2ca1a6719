"""The compiled moves of LDA's topics: the library's samplers given their noise, and the right law."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln

from geodrift.estimators import Full
from geodrift.kernels._normal_exponential import normal
from geodrift.kernels._random_streams import open_member
from geodrift.kernels._stream_kinds import Family
from geodrift.manifolds import Euclidean
from geodrift.metrics import ExpandedMean, ExpandedNatural
from geodrift.models.latent_dirichlet_allocation._topics import draw_sums
from geodrift.models.latent_dirichlet_allocation.scaled_counts import _cir_topics, _langevin_topics
from geodrift.models.latent_dirichlet_allocation.scaled_counts._unnormalised_topics import (
    WITH_MOMENTA,
    UnnormalisedTopics,
)
from geodrift.samplers import SGHMC, SGLD, SGRHMC, SGRLD
from law_checks import assert_means

PRIOR, STEP, FRICTION = 0.3, 0.05, 1.3
COUNTS = np.array([0.0, 7.0, 2.0, 0.0, 31.0])
THETA = np.array([0.02, 6.0, 2.7, 0.9, 28.0])


def log_density(gammas_on, chart):
    if gammas_on == "posterior":
        return lambda x: chart.log_prior(x, PRIOR + COUNTS)
    return lambda x: chart.log_prior(x, jnp.asarray(PRIOR)) + jnp.sum(COUNTS * chart.log_simplex(x))


def library_step(method, gammas_on, x, r):
    """A step of the library's sampler from (x, r)."""
    natural = method in ("sgld", "sghmc")
    estimator = Full(log_density(gammas_on, ExpandedNatural() if natural else ExpandedMean()))
    key, space = jax.random.key(3), Euclidean()
    if method == "sgld":
        sampler = SGLD(estimator, space, STEP)
    elif method == "sgrld":
        sampler = SGRLD(estimator, space, STEP, metric=ExpandedMean())
    elif method == "sgrhmc":
        sampler = SGRHMC(estimator, space, STEP, metric=ExpandedMean(), friction=FRICTION)
    else:
        sampler = SGHMC(estimator, space, STEP, friction=FRICTION, composition="ABOBA")
    state = sampler.init(key, jnp.asarray(x))
    if method == "sgrhmc":
        state = state._replace(momentum=jnp.asarray(r))
    elif method == "sghmc":
        state = state._replace(velocity=jnp.asarray(r))
    return sampler.step(key, state)[0]


def shapes_at(gammas_on, theta):
    if gammas_on == "posterior":
        return PRIOR + COUNTS
    return PRIOR + COUNTS - COUNTS.sum() * theta / theta.sum()


@pytest.mark.parametrize("gammas_on", ["posterior", "prior"])
@pytest.mark.parametrize("method", list(_langevin_topics.KINDS))
def test_an_entry_takes_the_step_of_the_library_sampler(method, gammas_on, monkeypatch):
    noise = np.array([0.3, -0.9, 1.6, -2.1, 0.7], np.float32)
    monkeypatch.setattr(jax.random, "normal", lambda *arguments, **named: jnp.asarray(noise))
    natural, h, friction = method in ("sgld", "sghmc"), STEP, FRICTION
    kind, has_momenta = _langevin_topics.KINDS[method], method in WITH_MOMENTA
    start = np.log(THETA) if natural else THETA
    momenta = np.array([0.4, -1.1, 0.8, 0.1, -0.3])
    moved = library_step(method, gammas_on, start.astype(np.float32), momenta.astype(np.float32))

    # Ours begins at the kick, the library's half a drift before it.
    pairs = list(zip(start, momenta, strict=True))
    if has_momenta:
        pairs = [_langevin_topics.drift(kind, *pair, h / 2) for pair in pairs]
    theta = np.array([pair[0] for pair in pairs])
    theta = np.exp(theta) if natural else theta
    shapes = PRIOR + COUNTS - (COUNTS.sum() * theta / theta.sum() if gammas_on == "prior" else 0.0)
    pairs = [
        _langevin_topics.kick(kind, *pair, shape, h, friction, z)
        for pair, shape, z in zip(pairs, shapes, noise, strict=True)
    ]
    if has_momenta:
        pairs = [_langevin_topics.drift(kind, *pair, h / 2) for pair in pairs]
    np.testing.assert_allclose([pair[0] for pair in pairs], np.asarray(moved.position), rtol=3e-5)
    if has_momenta:
        theirs = moved.momentum if method == "sgrhmc" else moved.velocity
        np.testing.assert_allclose([pair[1] for pair in pairs], np.asarray(theirs), rtol=2e-4, atol=1e-5)


def gammas(method, gammas_on, theta, seed=0):
    return UnnormalisedTopics(method, gammas_on, theta.astype(float), PRIOR, seed, 0)


@pytest.mark.parametrize("gammas_on", ["posterior", "prior"])
@pytest.mark.parametrize("method", list(_langevin_topics.KINDS))
def test_topics_take_the_entries_steps(method, gammas_on, monkeypatch):
    """A move of all topics is that of its entries: words with counts, the factors, the norm's pull."""
    topics = 3
    theta = THETA[:, None] * np.array([1.0, 2.0, 0.5])
    moved = gammas(method, gammas_on, theta)
    words, counts = np.array([1, 3]), np.array([[3.0, 0.0, 2.0], [1.0, 5.0, 0.5]], np.float32)
    before, momenta, sums = moved.x.astype(float), moved.momenta.astype(float), moved.sums.copy()
    shapes = np.array([9.0, 20.0, 4.0])
    moved.move(words, counts, shapes, STEP, FRICTION, count=7)
    factors, pulls = np.ones(topics), counts.sum(axis=0) / sums
    if gammas_on == "posterior":
        factors, pulls = draw_sums(shapes, Family(0, 0, 15).word) / sums, 0 * pulls
    every = np.zeros((5, topics))
    every[words] = counts
    natural, kind = moved.in_logs, _langevin_topics.KINDS[method]
    at = before + np.log(factors) if natural else before * factors
    shape = PRIOR + every - pulls * (np.exp(at) if natural else at)
    expected = np.empty((5, topics))
    for i in np.ndindex(5, topics):
        word, topic = i
        z = normals_of(word, topics, seed=0, step=15)[topic]
        r = momenta[i] if method in WITH_MOMENTA else 0.0
        pair = _langevin_topics.kick(kind, at[i], r, shape[i], STEP, FRICTION, z)
        for _ in range(2 if method in WITH_MOMENTA else 0):
            pair = _langevin_topics.drift(kind, *pair, STEP / 2)
        expected[i] = pair[0]
    np.testing.assert_allclose(moved.x, expected, rtol=2e-5, atol=1e-6)
    theta = np.exp(moved.x.astype(float)) if natural else moved.x
    np.testing.assert_allclose(moved.sums, theta.sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(moved.all_words(), (theta / theta.sum(axis=0)).T, rtol=1e-5)
    assert (moved.place == -1).all()


def normals_of(word, size, *, seed, step):
    stream, draws = open_member(Family(seed, 0, step).word, word), []
    for _ in range(size):
        z, stream = normal(np.uint64(stream))
        draws.append(z)
    return draws


def test_a_cir_move_of_all_topics_has_the_law_of_the_process():
    """Means and variances of `processes.cox_ingersoll_ross` for words with and without counts."""
    h, copies = 0.4, 40_000
    theta = np.array([[0.05], [3.0], [20.0], [1.0]])
    log_theta = np.tile(np.log(theta), copies).astype(np.float32)
    counts = np.tile(np.array([[4.0], [11.0]], np.float32), copies)
    place = np.array([-1, 0, 1, -1], np.int32)
    factor = 1.7
    sums = _cir_topics.move_topics(
        log_theta, place, counts, PRIOR, np.full(copies, np.log(factor)), h, Family(1, 2, 3)
    )
    shapes, start, decay = PRIOR + np.array([0, 4.0, 11.0, 0]), factor * theta[:, 0], np.exp(-h)
    mean = start * decay + shapes * (1 - decay)
    variance = 2 * start * (decay - decay**2) + shapes * (1 - decay) ** 2
    draws = np.exp(log_theta.T.astype(float))[:, None]
    assert_means(draws, mean, comparisons=8)
    assert_means((draws - mean) ** 2, variance, comparisons=8)
    np.testing.assert_allclose(sums, draws.sum(axis=(1, 2)), rtol=1e-6)


def test_scir_keeps_entries_that_no_count_visits_exact():
    """Whatever the step is: log pi of a word without counts is that of a Beta, ten decades lower."""
    prior, copies, steps = 0.02, 4000, 6
    theta = np.full((3, copies), 1.0)
    shapes = prior * np.ones((3, 1)) + np.array([[30.0], [0.0], [0.0]])
    moved = UnnormalisedTopics("scir", "posterior", theta, prior, 5, 0)
    counts = np.full((1, copies), 30.0, np.float32)
    for count in range(steps):
        moved.move(np.array([0]), counts, np.full(copies, shapes.sum()), 2.0, 0.0, count)
    lows = moved.x[1] - np.log(moved.sums)
    law = stats.beta(prior, shapes.sum() - prior)
    for quantile in (0.05, 0.25, 0.5, 0.75, 0.95):
        at = np.log(law.ppf(quantile)) if quantile > 0.25 else log_quantile(prior, shapes.sum(), quantile)
        below = (lows < at).mean()
        assert abs(below - quantile) < 4 * np.sqrt(quantile * (1 - quantile) / copies)


def log_quantile(shape, total, quantile):
    """Of a Beta(shape, total - shape) far below 1, where its distribution function is a power."""
    return (np.log(quantile * shape) + betaln(shape, total - shape)) / shape
