"""The estimator, manifold and data that a NumPyro model makes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Int

from geodrift._types import LogDensity, LogLikelihood, NoiseVariance, Position, RandomKey
from geodrift.estimators import Estimator, Minibatch
from geodrift.manifolds import Manifold, Product
from geodrift.numpyro._program import Program


class Target(NamedTuple):
    """A target density made of a model. The position is a dictionary, one array for each latent site."""

    estimator: Estimator
    """`Minibatch` on the plate; a `ControlVariate` can be made of the functions below."""
    manifold: Manifold
    """A `Product` with the manifold of each site."""
    data: Int[Array, " data"]
    """What `geodrift.sample` takes as ``data``: the indices of the plate. The model looks its rows up."""
    initial: Callable[[RandomKey], Position]
    """A draw of the prior, for ``geodrift.sample(initial=...)``."""
    constrain: Callable[[Position], dict[str, Array]]
    """The sites' values, from positions with any axes in front, such as ``draws.position``."""
    log_likelihood: LogLikelihood
    """``log_likelihood(position, indices) -> [batch]``."""
    log_prior: LogDensity
    """``log_prior(position)``, with respect to the manifold's own measure."""


def from_numpyro(
    model: Callable[..., Any],
    *args: Any,
    noise_variance: str | NoiseVariance = None,
    replacement: bool = True,
    **kwargs: Any,
) -> Target:
    """Make a target of a NumPyro model.

    Args:
        model: A NumPyro model with one plate over the data. Rows are looked up by the plate's indices, or by
            ``numpyro.subsample``; its ``subsample_size`` does not matter here.
        args: The model's arguments, with all the data.
        noise_variance: As for `Minibatch`.
        replacement: Whether batches are drawn with replacement.
        kwargs: The model's keyword arguments.

    Returns:
        The target.

    Raises:
        ImportError: NumPyro is not installed.
        ValueError: The model has no plate over the data or several, latent variables inside the plate, a
            discrete latent variable, a support that depends on other sites, a site outside the plate that
            sees its rows, or data that are not looked up by the plate's indices; says what to do.

    Example:
        >>> target = from_numpyro(model, x, y, noise_variance="diagonal-fisher")
        >>> sampler = SGGMC(target.estimator, target.manifold, step_size=None)
        >>> draws = sample(key, sampler, target.data, batch_size=100, num_draws=1000, initial=target.initial)
        >>> target.constrain(draws.position)["weights"]
    """
    program = Program(model, args, kwargs)
    estimator = Minibatch(
        program.log_likelihood, program.log_prior, program.size, noise_variance, replacement=replacement
    )
    return Target(
        estimator,
        Product({name: site.manifold for name, site in program.sites.items()}),
        jnp.arange(program.size),
        program.initial,
        program.constrain,
        program.log_likelihood,
        program.log_prior,
    )
