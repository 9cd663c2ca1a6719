"""The mixture with the assignments summed out, as a target for samplers of the core.

What is sampled lives on a product of spheres and R^n, in coordinates in which its law has no edge:

    directions      mu_k on the sphere, [K, d]
    log_kappa       log kappa_k, [K]
    log_gammas      l_k with weights softmax(l): exp(l_k) ~ Gamma(a, 1) makes them Dirichlet(a), [K]

The law is that of the collapsed Gibbs sampler, but for the cuts of kappa, which leave out a thousandth of its
prior.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from geodrift.distributions import log_normaliser
from geodrift.estimators import Minibatch
from geodrift.manifolds import Euclidean, Product, Sphere
from geodrift.models.von_mises_fisher_mixture._parameters import Prior

Position = dict[str, Array]


def marginal_manifold(clusters: int, dim: int) -> Product:
    """Where positions live: K spheres of R^d, and two vectors of K numbers."""
    return Product(
        {"directions": Sphere(dim), "log_kappa": Euclidean(clusters), "log_gammas": Euclidean(clusters)}
    )


def log_likelihood(position: Position, rows: Float[Array, "B d"]) -> Float[Array, " B"]:
    """Log density of each row under the mixture."""
    kappa, dim = jnp.exp(position["log_kappa"]), rows.shape[-1]
    heights = jax.nn.log_softmax(position["log_gammas"]) + log_normaliser(dim, kappa)
    return jax.nn.logsumexp(heights + kappa * (rows @ position["directions"].T), axis=-1)


def marginal_estimator(
    prior: Prior, weight_prior: float, data_size: int, noise_variance: str | None = "scalar-fisher"
) -> Minibatch:
    """The gradient of the log posterior from minibatches, for `geodrift.samplers` on `marginal_manifold`.

    Args:
        prior: Of concentrations, one each, and directions; without a background.
        weight_prior: a.
        data_size: N.
        noise_variance: See `geodrift.estimators.Minibatch`.

    Raises:
        ValueError: The prior has a background or one concentration for all.
    """
    if prior.a0 or prior.shared:
        raise ValueError("prior must have no background and a concentration for each cluster")
    shape, median, r0 = prior.concentration.shape, prior.concentration.median, np.asarray(prior.r0)

    def log_prior(position: Position) -> Float[Array, ""]:
        v, gammas = position["log_kappa"], position["log_gammas"]
        # log (kappa + m) without overflow
        of_kappa = shape * jnp.sum(v - 2 * jnp.logaddexp(v, jnp.log(median)))
        of_directions = jnp.sum(position["directions"] @ r0)
        return of_kappa + of_directions + jnp.sum(weight_prior * gammas - jnp.exp(gammas))

    return Minibatch(log_likelihood, log_prior, data_size, noise_variance)
