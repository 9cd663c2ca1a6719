"""Base class of the four parameterisations of the simplex; Patterson & Teh (2013), Table 1."""

import abc

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from geodrift._types import Scalar
from geodrift.metrics._base import Metric


class SimplexMetric(Metric):
    r"""A chart of the probability vectors :math:`\pi` of K entries, batched over the axes in front.

    The prior of each chart is the one that makes :math:`\pi` Dirichlet.
    """

    @abc.abstractmethod
    def to_simplex(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch k"]:
        """The probability vector of a position."""

    @abc.abstractmethod
    def from_simplex(self, pi: Float[Array, "*batch k"]) -> Float[Array, "*batch d"]:
        """A position of this probability vector."""

    @abc.abstractmethod
    def log_prior(self, x: Float[Array, "*batch d"], alpha: Float[ArrayLike, "..."]) -> Scalar:
        r"""Log density in x, up to a constant, of the law under which :math:`\pi` is Dirichlet(alpha).

        Args:
            x: Position.
            alpha: Positive; broadcasts to ``[*batch, K]``.
        """

    @abc.abstractmethod
    def log_simplex(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch k"]:
        r""":math:`\log \pi`."""

    def log_posterior(
        self, x: Float[Array, "*batch d"], alpha: Float[ArrayLike, "..."], counts: Float[ArrayLike, "..."]
    ) -> Scalar:
        r"""``log_prior`` plus :math:`\sum_k n_k \log \pi_k`: the posterior is Dirichlet(alpha + counts).

        Args:
            x: Position.
            alpha: Positive; broadcasts to ``[*batch, K]``.
            counts: :math:`n_k`; broadcasts to ``[*batch, K]``.
        """
        return self.log_prior(x, alpha) + jnp.sum(counts * self.log_simplex(x))
