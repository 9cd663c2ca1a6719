"""A step size that follows the acceptance of a Metropolis test; Hoffman & Gelman (2014), section 3.2."""

from typing import NamedTuple

import jax.numpy as jnp

from geodrift._types import Scalar

ACCEPTANCE = 0.8
_GAMMA, _T0, _KAPPA = 0.05, 10.0, 0.75


class DualAveraging(NamedTuple):
    """The state of the rule.

    Attributes:
        log_step: The logarithm of the step size to try next.
        mean_log_step: That of the step size to go on with in the end.
        error: Mean of the wished acceptance less the seen one.
        middle: What ``log_step`` is drawn to.
    """

    log_step: Scalar
    mean_log_step: Scalar
    error: Scalar
    middle: Scalar

    @classmethod
    def start(cls, log_step: Scalar) -> "DualAveraging":
        """From a first guess; larger ones are tried first."""
        middle = jnp.log(10.0).astype(log_step.dtype) + log_step
        return cls(log_step, log_step, jnp.zeros_like(log_step), middle)

    def after(self, draws: Scalar, acceptance: Scalar) -> "DualAveraging":
        """The state after a draw.

        Args:
            draws: How many there were, with this one.
            acceptance: Its probability, or the mean of several chains'.
        """
        error = self.error + (ACCEPTANCE - acceptance - self.error) / (draws + _T0)
        log_step = self.middle - jnp.sqrt(draws) / _GAMMA * error
        weight = draws**-_KAPPA
        return DualAveraging(
            log_step, weight * log_step + (1 - weight) * self.mean_log_step, error, self.middle
        )
