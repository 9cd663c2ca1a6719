"""The running experiment of Baker et al. (2018): its data, samplers, score and output."""

import functools
import sys
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special, stats

import geodrift as gd

jax.config.update("jax_enable_x64", True)

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

import record  # noqa: E402

write = functools.partial(record.write, HERE)

ALPHA, DATA_SIZE, STEPS, BURN_IN = 0.1, 1000, 1000, 1000


class Problem(NamedTuple):
    """Categorical data under a Dirichlet prior."""

    counts: np.ndarray  # [d], sum N
    start: str  # "uniform": multinomial(N, 1/d) + alpha; "truth": the posterior's shapes

    @property
    def shapes(self) -> np.ndarray:
        """The posterior is Dirichlet of these."""
        return self.counts + ALPHA

    def starts(self, rng: np.random.Generator, rows: int) -> np.ndarray:
        """theta_0, ``[row, d]``."""
        if self.start == "truth":
            return np.tile(self.shapes, (rows, 1))
        d = len(self.counts)
        return rng.multinomial(DATA_SIZE, np.full(d, 1 / d), rows) + ALPHA


SPARSE = Problem(np.array([800, 100, 100, 0, 0, 0, 0, 0, 0, 0]), "uniform")
DENSE = Problem(np.full(10, 100), "truth")


def minibatch_counts(rng: np.random.Generator, problem: Problem, batch_sizes: np.ndarray) -> np.ndarray:
    """``(N/n) sum z`` of a minibatch with replacement for each row."""
    counts = rng.multinomial(batch_sizes, problem.counts / DATA_SIZE)
    return DATA_SIZE / batch_sizes[:, None] * counts


def exact(rng: np.random.Generator, problem: Problem, rows: int) -> np.ndarray:
    """Independent draws of log omega ``[row, draw, d]``, made of Gammas from the library's own kernel."""
    key = jax.random.key(int(rng.integers(2**31)))
    start = np.full((rows, STEPS, len(problem.counts)), -np.inf)
    shapes = np.broadcast_to(problem.shapes, start.shape)
    # From theta = 0 and over a long time a move is a Gamma draw.
    return normalised(gd.processes.host_cox_ingersoll_ross(key, start, shapes, 50.0))


def scir(rng: np.random.Generator, problem: Problem, batch_sizes: np.ndarray, step_size: float) -> np.ndarray:
    """SCIR, Algorithm 1: log omega ``[row, draw, d]`` after burn-in, a chain for each batch size."""
    key = jax.random.key(int(rng.integers(2**31)))
    log_theta, draws = np.log(problem.starts(rng, len(batch_sizes))), []
    for key_step in jax.random.split(key, BURN_IN + STEPS):
        a_hat = ALPHA + minibatch_counts(rng, problem, batch_sizes)
        log_theta = gd.processes.host_cox_ingersoll_ross(key_step, log_theta, a_hat, step_size)
        draws.append(log_theta)
    return normalised(np.stack(draws[BURN_IN:], axis=1))


def sgrld(
    rng: np.random.Generator, problem: Problem, batch_sizes: np.ndarray, step_size: float, form: str
) -> np.ndarray:
    """SGRLD in the expanded mean: drift h/2, noise variance h theta, mirrored at 0.

    Args:
        form: ``"released"``, the authors' code, which multiplies the natural gradient by theta once more;
            ``"corrected"``, what the paper describes; ``"posterior"``, the same step for the target of
            SCIR: gammas on the posterior, so that only the discretisation differs.
    """
    theta, draws = problem.starts(rng, len(batch_sizes)).astype(float), []
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for _ in range(BURN_IN + STEPS):
            counts = minibatch_counts(rng, problem, batch_sizes)
            omega = theta / theta.sum(axis=1, keepdims=True)
            natural = ALPHA + counts - theta - omega * counts.sum(axis=1, keepdims=True)
            drift = {
                "released": lambda natural=natural, theta=theta: theta * natural + 1,
                "corrected": lambda natural=natural: natural,
                "posterior": lambda theta=theta, counts=counts: ALPHA + counts - theta,
            }[form]()
            noise = np.sqrt(step_size * theta) * rng.standard_normal(theta.shape)
            theta = np.abs(theta + 0.5 * step_size * drift + noise)
            draws.append(theta)
        return normalised(np.log(np.stack(draws[BURN_IN:], axis=1)))


def sgrld_of_the_library(
    rng: np.random.Generator, problem: Problem, batch_size: int, rows: int, step_size: float
) -> np.ndarray:
    """The corrected form by `geodrift.samplers.SGRLD`, whose h is half of this one."""
    metric, d = gd.metrics.ExpandedMean(), len(problem.counts)
    estimator = gd.estimators.Minibatch(
        lambda theta, z: metric.log_simplex(theta)[z], lambda theta: metric.log_prior(theta, ALPHA), DATA_SIZE
    )
    draws = gd.sample(
        jax.random.key(int(rng.integers(2**31))),
        gd.samplers.SGRLD(estimator, gd.manifolds.Euclidean(), step_size / 2, metric),
        jnp.asarray(np.repeat(np.arange(d), problem.counts)),
        batch_size=batch_size,
        num_draws=STEPS,
        num_warmup=BURN_IN,
        num_chains=rows,
        initial=gd.PerChain(jnp.asarray(problem.starts(rng, rows))),
    )
    return normalised(np.log(draws.position))


def normalised(log_theta: np.ndarray) -> np.ndarray:
    """Log omega."""
    return log_theta - special.logsumexp(log_theta, axis=-1, keepdims=True)


def rosenblatt(log_omega: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """Uniforms ``[..., d - 1]``, where ``omega`` is Dirichlet: the law of each component given those before.

    ``omega_j / sum of omega_k over k >= j`` is Beta(a_j, sum of a_k over k > j). By sums of the tail, in
    logs: ``1 - sum of what is before`` cancels, and small components underflow.
    """
    tail = np.flip(np.logaddexp.accumulate(np.flip(log_omega, -1), axis=-1), -1)
    log_v, log_rest = log_omega[..., :-1] - tail[..., :-1], tail[..., 1:] - tail[..., :-1]
    a, b = shapes[:-1], np.flip(np.cumsum(np.flip(shapes)))[1:]
    with np.errstate(under="ignore"):
        series = np.exp(a * log_v - np.log(a) - special.betaln(a, b))
        lower = np.where(log_v < -40, series, special.betainc(a, b, np.exp(log_v)))
        return np.where(log_rest < -1, 1 - special.betainc(b, a, np.exp(log_rest)), lower)


def distance(log_omega: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """d_KS of each row: the mean over components of the Kolmogorov-Smirnov distance to uniform.

    1 where a chain is not finite.
    """
    u = np.sort(rosenblatt(log_omega, shapes), axis=-2)
    size = u.shape[-2]
    grid = np.arange(size)[:, None] / size
    by_component = np.maximum(np.abs(u - grid), np.abs(u - grid - 1 / size)).max(axis=-2)
    return np.where(np.isnan(by_component), 1.0, by_component).mean(axis=-1)


def summary(values: np.ndarray) -> dict[str, float]:
    """Mean over seeds, its standard error and the range."""
    return {
        "mean": float(np.mean(values)),
        "standard_error": float(stats.sem(values)),
        "lowest": float(np.min(values)),
        "highest": float(np.max(values)),
    }
