"""Runs of `geodrift.sample` whose laws are known: some are right, some cannot be."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import geodrift as gd
from geodrift import manifolds, samplers
from geodrift.estimators import ControlVariate, Full, Minibatch

KEY = jax.random.key(7)


class Law(NamedTuple):
    """A target, and the mean and the standard deviation of each number of its position."""

    manifold: Any
    log_density: Callable | None
    mean: np.ndarray
    deviation: np.ndarray
    data: Any = None
    log_likelihood: Callable | None = None
    log_prior: Callable | None = None

    def estimator(self, kind=None, **settings):
        """Of minibatches where a kind is given."""
        if kind is None:
            return Full(self.log_density)
        if kind is ControlVariate:
            return kind(self.log_likelihood, self.log_prior, self.data, **settings)
        size = len(jax.tree.leaves(self.data)[0])
        return kind(self.log_likelihood, self.log_prior, size, **settings)


class ToldRun(NamedTuple):
    """A call of `geodrift.sample`."""

    name: str
    law: Law
    sampler: Callable[[], Any]
    options: dict

    def draws(self):
        """What it returns."""
        options = {"num_draws": 2000, "num_chains": 4, "num_warmup": 200} | self.options
        data = self.law.data if "batch_size" in options else None
        return gd.sample(KEY, self.sampler(), data, **options)

    def error(self, draws):
        """The largest error of a mean (over .1 standard deviations) or a deviation (over 7%), beyond three
        Monte Carlo errors: above 1 is outside the limits."""
        flat = np.concatenate(
            [np.asarray(x, float).reshape(*x.shape[:2], -1) for x in jax.tree.leaves(draws.position)], axis=2
        )
        effective = np.maximum(np.nan_to_num(gd.diagnostics.ess(flat)), 4.0)
        mean, deviation = flat.mean(axis=(0, 1)), flat.std(axis=(0, 1))
        off = np.abs(mean - self.law.mean) / self.law.deviation - 3 / np.sqrt(effective)
        spread = np.abs(deviation / self.law.deviation - 1) - 3 / np.sqrt(2 * effective)
        return float(max(np.max(off) / 0.1, np.max(spread) / 0.07))


def normal(deviations, rotated=False):
    deviations = np.asarray(deviations, float)
    n = len(deviations)
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))[0] if rotated else np.eye(n)
    factor = jnp.asarray((axes / deviations).T, jnp.float32)
    covariance = axes * deviations**2 @ axes.T
    return Law(
        manifolds.Euclidean(n),
        lambda x: -0.5 * jnp.sum((factor @ x) ** 2),
        np.zeros(n),
        np.sqrt(np.diag(covariance)),
    )


def student(degrees=6.0):
    """Two independent Student's t."""
    return Law(
        manifolds.Euclidean(2),
        lambda x: -0.5 * (degrees + 1) * jnp.sum(jnp.log1p(x**2 / degrees)),
        np.zeros(2),
        np.full(2, np.sqrt(degrees / (degrees - 2))),
    )


def banana(bend=0.5):
    """x normal, y given x normal about bend x^2."""
    return Law(
        manifolds.Euclidean(2),
        lambda z: -0.5 * z[0] ** 2 - 0.5 * (z[1] - bend * z[0] ** 2) ** 2,
        np.array([0.0, bend]),
        np.array([1.0, np.sqrt(1 + 2 * bend**2)]),
    )


def two_modes(apart=8.0):
    return Law(
        manifolds.Euclidean(1),
        lambda x: jnp.logaddexp(-0.5 * (x[0] - apart) ** 2, -0.5 * (x[0] + apart) ** 2),
        np.zeros(1),
        np.array([np.sqrt(1 + apart**2)]),
    )


def funnel(spread=3.0):
    """Neal's, in two dimensions."""
    return Law(
        manifolds.Euclidean(2),
        lambda z: -0.5 * (z[0] / spread) ** 2 - 0.5 * z[1] ** 2 * jnp.exp(-z[0]) - 0.5 * z[0],
        np.zeros(2),
        np.array([spread, np.exp(spread**2 / 4)]),
    )


def von_mises_fisher(concentration, n=3):
    mu = np.zeros(n)
    mu[0] = 1.0
    if concentration == 0:
        return Law(manifolds.Sphere(n), lambda x: 0.0 * jnp.sum(x), 0 * mu, np.full(n, n**-0.5))
    a = 1 / np.tanh(concentration) - 1 / concentration  # n = 3
    across = a / concentration
    variance = np.array([1 - a**2 - 2 * across, across, across])
    return Law(manifolds.Sphere(3), lambda x: concentration * x[0], a * mu, np.sqrt(variance))


def sphere_and_line():
    """A von Mises-Fisher vector and a normal number, independent."""
    sphere = von_mises_fisher(5.0)
    return Law(
        manifolds.Product({"a": manifolds.Sphere(3), "b": manifolds.Euclidean()}),
        lambda p: 5.0 * p["a"][0] - 0.5 * p["b"] ** 2,
        np.append(sphere.mean, 0.0),
        np.append(sphere.deviation, 1.0),
    )


def regression(scales=(1.0, 1.0, 1.0), rows=2000):
    """Normal errors of sd 1: the posterior is normal."""
    rng = np.random.default_rng(3)
    x = (rng.normal(size=(rows, len(scales))) * np.asarray(scales)).astype(np.float32)
    y = (x @ np.ones(len(scales)) + rng.normal(size=rows)).astype(np.float32)
    covariance = np.linalg.inv(x.T.astype(float) @ x + np.eye(len(scales)) / 100)
    data = {"x": jnp.asarray(x), "y": jnp.asarray(y)}

    def log_likelihood(b, batch):
        return -0.5 * (batch["y"] - batch["x"] @ b) ** 2

    def log_prior(b):
        return -0.5 * jnp.sum(b**2) / 100

    return Law(
        manifolds.Euclidean(len(scales)),
        lambda b: log_prior(b) + jnp.sum(log_likelihood(b, data)),
        covariance @ x.T @ y,
        np.sqrt(np.diag(covariance)),
        data,
        log_likelihood,
        log_prior,
    )


def directions(rows=2000, concentration=5.0):
    """The mean direction of von Mises-Fisher data, whose posterior is von Mises-Fisher."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(rows, 3)) * 0.5 + np.array([1.0, 0.0, 0.0])
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    total = concentration / 100 * x.sum(axis=0)
    kappa, mu = np.linalg.norm(total), total / np.linalg.norm(total)
    a = 1 / np.tanh(kappa) - 1 / kappa
    across = a / kappa
    covariance = across * (np.eye(3) - np.outer(mu, mu)) + (1 - a**2 - 2 * across) * np.outer(mu, mu)
    data = jnp.asarray(x, jnp.float32)

    def log_likelihood(m, batch):
        return concentration / 100 * batch @ m

    return Law(
        manifolds.Sphere(3),
        lambda m: jnp.sum(log_likelihood(m, data)),
        a * mu,
        np.sqrt(np.diag(covariance)),
        data,
        log_likelihood,
        lambda m: 0.0,
    )


def spread(width):
    """Starts from a normal."""

    def start(key):
        return width * jax.random.normal(key, (2,))

    return start


def exact(kind, law, *numbers, **settings):
    """A sampler by exact gradients, made when it is asked for."""
    return lambda: kind(law.estimator(), law.manifold, *numbers, **settings)


def noisy(kind, law, *numbers, of=Minibatch, noise_variance=None, **settings):
    """A sampler by minibatches."""
    return lambda: kind(law.estimator(of, noise_variance=noise_variance), law.manifold, *numbers, **settings)


def _wrong():
    unit, odd, wide = normal([1.0, 1.0]), normal([1.0, 0.1], rotated=True), normal([1.0, 150.0])
    ten_wide = normal(np.linspace(1.0, 3.0, 10))
    t, bent, modes, neal = student(), banana(), two_modes(), funnel()
    north, strong, both = von_mises_fisher(5.0), von_mises_fisher(50.0), sphere_and_line()
    rows, scaled, pointing = regression(), regression((1.0, 10.0, 0.1)), directions()
    zero = {"initial": jnp.zeros(2)}
    apart = {"initial": gd.driver.PerChain(jnp.array([[-8.0], [8.0], [8.0], [-8.0]]))}
    ten = {"batch_size": 20}
    b0 = {"initial": jnp.asarray(rows.mean, jnp.float32)}
    s0 = {"initial": jnp.asarray(scaled.mean, jnp.float32)}
    hmc, sgld, sghmc, sgnht = samplers.HMC, samplers.SGLD, samplers.SGHMC, samplers.SGNHT
    gmc, sggmc, gsgnht = samplers.GMC, samplers.SGGMC, samplers.GSGNHT
    return [
        ("SGLD, step too large", unit, exact(sgld, unit, 0.6, num_steps=5), zero),
        ("SGLD, step too large for one direction", odd, exact(sgld, odd, 0.012, num_steps=50), zero),
        ("SGLD, step too large for the narrowest of ten", ten_wide, exact(sgld, ten_wide, 0.6, num_steps=20),
         {"initial": jnp.zeros(10)}),
        ("SGLD, step too large, Student's t", t, exact(sgld, t, 0.8, num_steps=5), zero),
        ("SGLD, step too large, sphere", north, exact(sgld, north, 0.15, num_steps=5), {}),
        ("SGLD, step too large, strong sphere", strong, exact(sgld, strong, 0.015, num_steps=5), {}),
        ("SGLD, step too large, product", both, exact(sgld, both, 0.15, num_steps=5),
         {"initial": {"a": jnp.array([1.0, 0, 0]), "b": jnp.zeros(())}}),
        ("SGLD, step too small", wide, exact(sgld, wide, 0.05, num_steps=5), zero),
        ("SGLD, one mode each", modes, exact(sgld, modes, 0.02, num_steps=10), apart),
        ("SGLD, funnel", neal, exact(sgld, neal, 0.02, num_steps=10), zero),
        ("SGLD, noise unaccounted", rows, noisy(sgld, rows, 5e-5, num_steps=10), ten | b0),
        ("SGLD, noise unaccounted, small batch", rows, noisy(sgld, rows, 5e-5, num_steps=10),
         {"batch_size": 5} | b0),
        ("SGLD, noise unaccounted, scales", scaled, noisy(sgld, scaled, 1e-6, num_steps=50), ten | s0),
        ("SGLD, noise unaccounted, sphere", pointing, noisy(sgld, pointing, 0.02, num_steps=5),
         {"batch_size": 5}),
        ("SGHMC, noise unaccounted", rows, noisy(sghmc, rows, 0.005, friction=20.0, num_steps=20),
         {"batch_size": 10} | b0),
        ("SGHMC, noise unaccounted, small batch", rows,
         noisy(sghmc, rows, 0.002, friction=20.0, num_steps=30),
         {"batch_size": 5} | b0),
        ("SGHMC, variance stated too large", rows,
         noisy(sghmc, rows, 0.003, friction=30.0, num_steps=20, noise_variance=18000.0),
         {"batch_size": 1000} | b0),
        ("SGHMC, variance stated too small", rows,
         noisy(sghmc, rows, 0.003, friction=30.0, num_steps=20, noise_variance=10.0),
         {"batch_size": 10} | b0),
        ("SGHMC, step too large, Student's t", t, exact(sghmc, t, 2.2, friction=1.0, num_steps=5), zero),
        ("SGHMC, step too small", wide, exact(sghmc, wide, 0.02, friction=1.0, num_steps=5), zero),
        ("SGHMC, one mode each", modes, exact(sghmc, modes, 0.1, friction=1.0, num_steps=10), apart),
        ("SGGMC, noise unaccounted, sphere", pointing,
         noisy(sggmc, pointing, 0.1, friction=0.5, num_steps=10), {"batch_size": 2}),
        ("SGNHT, no time for its thermostat", rows, noisy(sgnht, rows, 0.004, friction=1.0, num_steps=1),
         {"batch_size": 5, "num_draws": 300, "num_warmup": 0} | b0),
        ("SGNHT, noise of several scales", scaled, noisy(sgnht, scaled, 0.001, friction=5.0, num_steps=50),
         {"batch_size": 5} | s0),
        ("SGNHT, step too small", wide, exact(sgnht, wide, 0.02, friction=1.0, num_steps=5), zero),
        ("HMC, step too large", unit, exact(hmc, unit, 1.99, num_steps=5), {"initial": spread(3.0)}),
        ("HMC, step too large for one direction", odd, exact(hmc, odd, 0.21, num_steps=10),
         {"initial": spread(1.0)}),
        ("HMC, step too large, banana", bent, exact(hmc, bent, 1.6, num_steps=10), {"initial": spread(3.0)}),
        ("HMC, trajectory too short", wide, exact(hmc, wide, 0.3, num_steps=3), {"initial": spread(200.0)}),
        ("HMC, trajectory too short, from zeros", wide, exact(hmc, wide, 0.3, num_steps=2), zero),
        ("HMC, one mode each", modes, exact(hmc, modes, 0.3, num_steps=5), apart),
        ("HMC, funnel", neal, exact(hmc, neal, 0.5, num_steps=5), {"initial": spread(1.0)}),
        ("HMC, far start without warm-up", unit, exact(hmc, unit, 0.02, num_steps=3),
         {"initial": spread(100.0), "num_warmup": 0, "num_draws": 400}),
        ("HMC, five half periods", odd, exact(hmc, odd, 0.1, num_steps=15), {"initial": spread(1.0)}),
        ("GMC, step too large", strong, exact(gmc, strong, 0.5, num_steps=5), {}),
        ("GMC, step too small", north, exact(gmc, north, 0.002, num_steps=2), {"num_draws": 500}),
        ("GSGNHT, step too small", north, exact(gsgnht, north, 0.001, friction=1.0, num_steps=2),
         {"num_draws": 500}),
        ("SGGMC, step too small", north, exact(sggmc, north, 0.001, friction=1.0, num_steps=2),
         {"num_draws": 500}),
        ("SGGMC, noise unaccounted, sphere, larger batch", pointing,
         noisy(sggmc, pointing, 0.1, friction=0.5, num_steps=10), {"batch_size": 20}),
        ("SGLD, few draws of a slow chain", unit, exact(sgld, unit, 0.001),
         {"num_draws": 300, "initial": spread(1.0)}),
    ]  # fmt: skip


def wrong_runs():
    """Forty that cannot be right."""
    return [ToldRun(*run) for run in _wrong()]


def _right():
    unit, odd, wide = normal([1.0, 1.0]), normal([1.0, 0.1], rotated=True), normal([1.0, 150.0])
    twenty = normal(np.geomspace(1.0, 20.0, 20), rotated=True)
    t, bent = student(), banana()
    flat, north, strong, both = (
        von_mises_fisher(0.0),
        von_mises_fisher(5.0),
        von_mises_fisher(50.0),
        sphere_and_line(),
    )
    rows, scaled, pointing = regression(), regression((1.0, 10.0, 0.1)), directions()
    zero, scattered = {"initial": jnp.zeros(2)}, {"initial": spread(1.0)}
    pole = {"initial": {"a": jnp.array([1.0, 0, 0]), "b": jnp.zeros(())}}
    b0, ten = {"initial": jnp.asarray(rows.mean, jnp.float32)}, {"batch_size": 200}
    hmc, sgld, sghmc, sgnht = samplers.HMC, samplers.SGLD, samplers.SGHMC, samplers.SGNHT
    gmc, sggmc, gsgnht = samplers.GMC, samplers.SGGMC, samplers.GSGNHT
    fisher = {"noise_variance": "scalar-fisher"}
    return [
        ("SGLD", unit, exact(sgld, unit, 0.03, num_steps=40), zero),
        ("SGLD, two scales", odd, exact(sgld, odd, 5e-4, num_steps=2000), zero | {"num_draws": 1000}),
        ("SGLD, banana", bent, exact(sgld, bent, 0.01, num_steps=200), zero),
        ("SGLD, Student's t", t, exact(sgld, t, 0.05, num_steps=50), zero),
        ("SGLD, uniform on the sphere", flat, exact(sgld, flat, 0.05, num_steps=20), {}),
        ("SGLD, sphere", north, exact(sgld, north, 0.01, num_steps=40), {}),
        ("SGLD, strong sphere", strong, exact(sgld, strong, 0.001, num_steps=40), {}),
        ("SGLD, product", both, exact(sgld, both, 0.01, num_steps=200), pole),
        ("SGLD, noise small", rows, noisy(sgld, rows, 1e-5, num_steps=100), ten | b0),
        ("SGLD, control variate", rows, noisy(sgld, rows, 2e-5, of=ControlVariate, num_steps=50), ten | b0),
        ("SGLD, noise subtracted", rows, noisy(sgld, rows, 2e-5, num_steps=50, **fisher), ten | b0),
        ("SGLD, noise small, sphere", pointing, noisy(sgld, pointing, 5e-4, num_steps=40), ten),
        ("SGLD, no settings", wide, exact(sgld, wide, None), zero),
        ("SGLD, no settings, minibatches", scaled, noisy(sgld, scaled, None, of=ControlVariate), ten),
        ("SGHMC", unit, exact(sghmc, unit, 0.2, friction=1.0, num_steps=10), zero),
        ("SGHMC, a long step, whose positions are right", unit,
         exact(sghmc, unit, 0.9, friction=1.0, num_steps=5), zero),
        ("SGHMC, banana", bent, exact(sghmc, bent, 0.1, friction=1.0, num_steps=40), zero),
        ("SGHMC, noise subtracted", rows, noisy(sghmc, rows, 0.002, friction=60.0, num_steps=60, **fisher),
         ten | b0),
        ("SGHMC, control variate", rows,
         noisy(sghmc, rows, 0.003, of=ControlVariate, friction=30.0, num_steps=30), ten | b0),
        ("SGHMC, no settings", wide, exact(sghmc, wide, None), zero),
        ("SGHMC, no settings, minibatches", scaled,
         noisy(sghmc, scaled, None, of=ControlVariate, **fisher), ten),
        ("SGHMC, no settings, noisy minibatches", rows, noisy(sghmc, rows, None, **fisher), ten),
        ("SGGMC, sphere", north, exact(sggmc, north, 0.1, friction=1.0, num_steps=20), {}),
        ("SGGMC, minibatches on the sphere", pointing,
         noisy(sggmc, pointing, 0.02, friction=5.0, num_steps=40), ten),
        ("SGGMC, product", both, exact(sggmc, both, 0.1, friction=1.0, num_steps=30), pole),
        ("SGNHT", unit, exact(sgnht, unit, 0.2, friction=1.0, num_steps=20), zero),
        ("SGNHT, noise", rows, noisy(sgnht, rows, 0.003, friction=30.0, num_steps=60),
         ten | b0 | {"num_warmup": 500}),
        ("SGNHT, no settings", wide, exact(sgnht, wide, None), zero),
        ("SGNHT, no settings, minibatches", scaled,
         noisy(sgnht, scaled, None, of=ControlVariate, **fisher), ten),
        ("GSGNHT, sphere", north, exact(gsgnht, north, 0.1, friction=1.0, num_steps=20), {}),
        ("HMC", unit, exact(hmc, unit, 0.5, num_steps=3), scattered),
        ("HMC, two scales", odd, exact(hmc, odd, 0.08, num_steps=20), scattered),
        ("HMC, no settings", wide, exact(hmc, wide, None), scattered),
        ("HMC, no settings, twenty scales", twenty, exact(hmc, twenty, None), {}),
        ("HMC, no settings, banana", bent, exact(hmc, bent, None), scattered),
        ("HMC, no settings, Student's t", t, exact(hmc, t, None), scattered),
        ("HMC, exact gradients of data", rows, exact(hmc, rows, 0.015, num_steps=2), b0),
        ("GMC", north, exact(gmc, north, 0.2, num_steps=5), {}),
        ("GMC, no settings", strong, exact(gmc, strong, None), {}),
        ("GMC, no settings, uniform", flat, exact(gmc, flat, None), {}),
    ]  # fmt: skip


def right_runs():
    """Forty that are right."""
    return [ToldRun(*run) for run in _right()]
