"""The posterior of a matrix of low rank on a product of Stiefel manifolds against a Gibbs sampler."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from core.low_rank_gibbs import gibbs
from law_checks import z_bound

NOISE, RANK = 0.4, 2
HIDDEN = np.zeros((4, 3), bool)
HIDDEN[[0, 2, 3], [1, 2, 0]] = True
VALUES = np.array([[1.2, 0.3, -0.4], [0.1, -0.9, 0.2], [-0.5, 0.4, 0.6], [0.8, 0.2, -0.1]])
ROW, COLUMN = np.nonzero(~HIDDEN)
SPACE = gd.manifolds.Product(
    {
        "left": gd.manifolds.Stiefel(4, RANK),
        "scale": gd.manifolds.Euclidean(),
        "right": gd.manifolds.Stiefel(3, RANK),
    }
)
DATA = {"row": ROW, "column": COLUMN, "value": VALUES[ROW, COLUMN]}


def log_likelihood(position, batch):
    left, right = position["left"][batch["row"]], position["right"][batch["column"]]
    mean = (left * position["scale"] * right).sum(axis=-1)
    return -0.5 * (batch["value"] - mean) ** 2 / NOISE**2


def log_prior(position):
    return -0.5 * (position["scale"] ** 2).sum()


def start(key):
    keys = jax.random.split(key, 3)
    left, right = (SPACE.tree[name].random_point(k) for name, k in zip(("left", "right"), keys, strict=False))
    return {"left": left, "scale": jax.random.normal(keys[2], (RANK,)), "right": right}


def invariants(matrix):
    """Numbers that do not depend on the signs and the order of the columns: [..., 14]."""
    flat = matrix.reshape(*matrix.shape[:-2], -1)
    return np.concatenate([flat, (flat**2).sum(axis=-1, keepdims=True), flat[..., :1] * flat[..., 1:2]], -1)


@pytest.fixture(scope="module")
def exact():
    """Means of the invariants by Gibbs sampling, [14], and their standard errors."""
    drawn = gibbs(VALUES, HIDDEN, NOISE, 400, 400, np.random.default_rng(0))[:, 50:]
    means = invariants(drawn).mean(axis=1)
    return means.mean(axis=0), means.std(axis=0, ddof=1) / np.sqrt(len(means))


def assert_law(draws, exact, slack=0.0):
    position = draws.position
    matrix = np.einsum("cdir,cdr,cdjr->cdij", position["left"], position["scale"], position["right"])
    means = invariants(matrix).mean(axis=1)
    error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
    off = np.maximum(np.abs(means.mean(axis=0) - exact[0]) - slack, 0) / np.hypot(error, exact[1])
    assert off.max() < z_bound(off.size, len(means) - 1), off.round(1)


@pytest.mark.slow
def test_exact_gradients_have_the_law(exact):
    full = gd.estimators.Full(lambda p: log_prior(p) + log_likelihood(p, DATA).sum())
    sampler = gd.samplers.GMC(full, SPACE, step_size=0.25, num_steps=6)
    draws = gd.sample(jax.random.key(1), sampler, num_draws=400, num_warmup=100, num_chains=32, initial=start)
    assert_law(draws, exact)


@pytest.mark.slow  # `test_rotations_from_minibatches` has frames in CI
def test_minibatches_have_the_law(exact):
    estimator = gd.estimators.Minibatch(log_likelihood, log_prior, len(ROW), noise_variance="diagonal-fisher")
    sampler = gd.samplers.SGGMC(estimator, SPACE, step_size=0.01, friction=20.0, num_steps=20)
    draws = gd.sample(
        jax.random.key(2),
        sampler,
        jax.tree.map(jnp.asarray, DATA),
        batch_size=6,
        num_draws=300,
        num_warmup=100,
        num_chains=16,
        initial=start,
    )
    # The batch's own Fisher estimate is noisy, and V is not diagonal: a hundredth of the matrix's size.
    assert_law(draws, exact, slack=0.01)
