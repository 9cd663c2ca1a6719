"""Twelve posteriors of posteriordb as densities on R^n.

Each function takes the data of ``data.json`` and returns a `Posterior`: the log density of unconstrained
numbers (with the Jacobian of the map to the parameters), that map, and, where the data are independent, the
log likelihood of each and the log prior.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jax.scipy.stats import beta, cauchy, gamma, norm, t


class Posterior(NamedTuple):
    dim: int
    log_density: Callable
    parameters: Callable  # unconstrained numbers to a dict of arrays, named as in reference.json
    data: Any = None  # pytree of rows, where they are independent
    log_likelihood: Callable | None = None
    log_prior: Callable | None = None


def independent(dim, data, log_likelihood, log_prior, parameters):
    data = jax.tree.map(jnp.asarray, data)
    return Posterior(
        dim,
        lambda x: log_prior(x) + jnp.sum(log_likelihood(x, data)),
        parameters,
        data,
        log_likelihood,
        log_prior,
    )


def regression(design, response, log_prior):
    """Normal errors; the parameters are the coefficients and the logarithm of sigma."""
    design, response = np.asarray(design, float), np.asarray(response, float)
    dim = design.shape[1] + 1
    return independent(
        dim,
        {"x": design, "y": response},
        lambda p, rows: norm.logpdf(rows["y"], rows["x"] @ p[:-1], jnp.exp(p[-1])),
        lambda p: log_prior(p[:-1], jnp.exp(p[-1])) + p[-1],
        lambda p: {"beta": p[:-1], "sigma": jnp.exp(p[-1])},
    )


def ark(data):
    y, order = np.asarray(data["y"]), data["K"]
    design = [[1.0, *y[at - order : at][::-1]] for at in range(order, len(y))]
    found = regression(
        design,
        y[order:],
        lambda b, sigma: norm.logpdf(b, 0, 10).sum() + cauchy.logpdf(sigma, 0, 2.5),
    )
    return found._replace(parameters=lambda p: {"alpha": p[0], "beta": p[1:-1], "sigma": jnp.exp(p[-1])})


def diamonds(data):
    design = np.asarray(data["X"])[:, 1:]
    means = design.mean(axis=0)
    found = regression(
        np.hstack([design - means, np.ones((len(design), 1))]),
        data["Y"],
        lambda b, sigma: norm.logpdf(b[:-1]).sum() + t.logpdf(b[-1], 3, 8, 10) + t.logpdf(sigma, 3, 0, 10),
    )
    return found._replace(
        parameters=lambda p: {
            "b": p[:-2],
            "Intercept": p[-2],
            "sigma": jnp.exp(p[-1]),
            "b_Intercept": p[-2] - jnp.dot(means, p[:-2]),
        }
    )


def logearn_height(data):
    design = np.stack([np.ones(data["N"]), data["height"]], axis=1)
    return regression(design, np.log(data["earn"]), lambda b, sigma: 0.0)


def kidscore_interaction(data):
    hs, iq = np.asarray(data["mom_hs"]), np.asarray(data["mom_iq"])
    design = np.stack([np.ones(len(hs)), hs, iq, hs * iq], axis=1)
    return regression(design, data["kid_score"], lambda b, sigma: cauchy.logpdf(sigma, 0, 2.5))


def nes(data):
    age = np.asarray(data["age_discrete"])
    columns = [np.ones(len(age)), data["real_ideo"], data["race_adj"], age == 2, age == 3, age == 4]
    columns += [data["educ1"], data["gender"], data["income"]]
    return regression(np.stack(columns, axis=1), data["partyid7"], lambda b, sigma: 0.0)


def blr(data):
    return regression(
        data["X"], data["y"], lambda b, sigma: norm.logpdf(b, 0, 10).sum() + norm.logpdf(sigma, 0, 10)
    )


def eight_schools_noncentered(data):
    y, errors = jnp.asarray(data["y"], float), jnp.asarray(data["sigma"], float)

    def parameters(p):
        return {"theta": p[:8] * jnp.exp(p[9]) + p[8], "mu": p[8], "tau": jnp.exp(p[9])}

    def log_density(p):
        told = parameters(p)
        prior = norm.logpdf(p[:8]).sum() + norm.logpdf(told["mu"], 0, 5) + cauchy.logpdf(told["tau"], 0, 5)
        return prior + p[9] + norm.logpdf(y, told["theta"], errors).sum()

    return Posterior(10, log_density, parameters)


def low_dim_gauss_mix(data):
    def parameters(p):
        ordered = jnp.stack([p[0], p[0] + jnp.exp(p[1])])
        return {"mu": ordered, "sigma": jnp.exp(p[2:4]), "theta": jax.nn.sigmoid(p[4])}

    def log_prior(p):
        told = parameters(p)
        jacobian = p[1] + p[2] + p[3] + jax.nn.log_sigmoid(p[4]) + jax.nn.log_sigmoid(-p[4])
        parts = norm.logpdf(told["sigma"], 0, 2).sum() + norm.logpdf(told["mu"], 0, 2).sum()
        return parts + beta.logpdf(told["theta"], 5, 5) + jacobian

    def log_likelihood(p, rows):
        told = parameters(p)
        logs = norm.logpdf(rows[:, None], told["mu"], told["sigma"])
        weights = jnp.stack([jax.nn.log_sigmoid(p[4]), jax.nn.log_sigmoid(-p[4])])
        return logsumexp(logs + weights, axis=1)

    return independent(5, np.asarray(data["y"], float), log_likelihood, log_prior, parameters)


def garch11(data):
    y = jnp.asarray(data["y"], float)

    def parameters(p):
        alpha1 = jax.nn.sigmoid(p[2])
        beta1 = (1 - alpha1) * jax.nn.sigmoid(p[3])
        return {"mu": p[0], "alpha0": jnp.exp(p[1]), "alpha1": alpha1, "beta1": beta1}

    def log_density(p):
        told = parameters(p)

        def step(variance, before):
            new = told["alpha0"] + told["alpha1"] * (before - told["mu"]) ** 2 + told["beta1"] * variance
            return new, new

        first = jnp.asarray(data["sigma1"], p.dtype) ** 2
        _, later = jax.lax.scan(step, first, y[:-1])
        deviations = jnp.sqrt(jnp.concatenate([first[None], later]))
        jacobian = p[1] + sum(jax.nn.log_sigmoid(sign * p[i]) for i in (2, 3) for sign in (1, -1))
        return norm.logpdf(y, told["mu"], deviations).sum() + jacobian + jnp.log1p(-told["alpha1"])

    return Posterior(4, log_density, parameters)


def gp_regr(data):
    x, y = jnp.asarray(data["x"], float), jnp.asarray(data["y"], float)

    def log_density(p):
        rho, alpha, sigma = jnp.exp(p)
        covariance = alpha**2 * jnp.exp(-((x[:, None] - x) ** 2) / (2 * rho**2)) + sigma * jnp.eye(len(x))
        lower = jnp.linalg.cholesky(covariance)
        scaled = jax.scipy.linalg.solve_triangular(lower, y, lower=True)
        likelihood = -scaled @ scaled / 2 - jnp.log(jnp.diagonal(lower)).sum()
        prior = gamma.logpdf(rho, 25, scale=1 / 4) + norm.logpdf(alpha, 0, 2) + norm.logpdf(sigma, 0, 1)
        return likelihood + prior + p.sum()

    return Posterior(3, log_density, lambda p: dict(zip(("rho", "alpha", "sigma"), jnp.exp(p), strict=True)))


def hmm_example(data):
    y = jnp.asarray(data["y"], float)

    def parameters(p):
        rows = jax.nn.sigmoid(p[:2])
        mu = jnp.exp(p[2]), jnp.exp(p[2]) + jnp.exp(p[3])
        return {
            "theta1": jnp.stack([rows[0], 1 - rows[0]]),
            "theta2": jnp.stack([rows[1], 1 - rows[1]]),
            "mu": jnp.stack(mu),
        }

    def log_density(p):
        told = parameters(p)
        moves = jnp.log(jnp.stack([told["theta1"], told["theta2"]]))
        emissions = norm.logpdf(y[:, None], told["mu"], 1)

        def step(logs, emission):
            return logsumexp(logs[:, None] + moves, axis=0) + emission, None

        last, _ = jax.lax.scan(step, emissions[0], emissions[1:])
        prior = norm.logpdf(told["mu"], jnp.array([3.0, 10.0]), 1).sum()
        jacobian = p[2] + p[3] + sum(jax.nn.log_sigmoid(s * p[i]) for i in (0, 1) for s in (1, -1))
        return logsumexp(last) + prior + jacobian

    return Posterior(4, log_density, parameters)


def lotka_volterra(data):
    observed = jnp.log(jnp.asarray(data["y"], float))
    first = jnp.log(jnp.asarray(data["y_init"], float))
    times = np.concatenate([[0.0], data["ts"]])
    steps = 20  # of the fourth-order Runge-Kutta method, between two observations

    def parameters(p):
        told = jnp.exp(p)
        return {"theta": told[:4], "z_init": told[4:6], "sigma": told[6:]}

    def log_density(p):
        told = parameters(p)
        alpha, beta_, gamma_, delta = told["theta"]

        def field(log_z):
            u, v = jnp.exp(log_z)
            return jnp.stack([alpha - beta_ * v, -gamma_ + delta * u])

        def between(log_z, span):
            h = span / steps

            def rk4(_, z):
                a = field(z)
                b = field(z + h / 2 * a)
                c = field(z + h / 2 * b)
                d = field(z + h * c)
                return z + h / 6 * (a + 2 * b + 2 * c + d)

            log_z = jax.lax.fori_loop(0, steps, rk4, log_z)
            return log_z, log_z

        _, path = jax.lax.scan(between, p[4:6], jnp.asarray(np.diff(times)))
        sigma = told["sigma"]
        likelihood = norm.logpdf(first, p[4:6], sigma).sum() + norm.logpdf(observed, path, sigma).sum()
        prior = norm.logpdf(told["theta"], jnp.array([1, 0.05, 1, 0.05]), jnp.array([0.5, 0.05, 0.5, 0.05]))
        logs = norm.logpdf(p[6:], -1, 1).sum() + norm.logpdf(p[4:6], jnp.log(10.0), 1).sum()
        return likelihood + prior.sum() + p[:4].sum() + logs

    return Posterior(8, log_density, parameters)


POSTERIORS = {
    "arK-arK": ark,
    "diamonds-diamonds": diamonds,
    "earnings-logearn_height": logearn_height,
    "eight_schools-eight_schools_noncentered": eight_schools_noncentered,
    "garch-garch11": garch11,
    "gp_pois_regr-gp_regr": gp_regr,
    "hmm_example-hmm_example": hmm_example,
    "hudson_lynx_hare-lotka_volterra": lotka_volterra,
    "kidiq-kidscore_interaction": kidscore_interaction,
    "low_dim_gauss_mix-low_dim_gauss_mix": low_dim_gauss_mix,
    "nes2000-nes": nes,
    "sblrc-blr": blr,
}
