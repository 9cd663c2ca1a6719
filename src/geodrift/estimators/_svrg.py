"""Stochastic variance-reduced gradients: a control variate whose centre follows the chain."""

from typing import Any

from jaxtyping import PyTree

from geodrift._types import LogDensity, LogLikelihood
from geodrift.estimators._control_variate import ControlVariate


def SVRG(
    log_likelihood: LogLikelihood,
    log_prior: LogDensity,
    data: PyTree,
    refresh_every: int,
    **options: Any,
) -> ControlVariate:
    r"""`ControlVariate` whose centre, the anchor, is refreshed every m batches.

    .. math:: \nabla \log p_0(x) + \sum_n g_n(\tilde x) + \frac{N}{B} \sum_b [g_b(x) - g_b(\tilde x)]

    Dubey et al. (2016), Algorithm 2 (SVRG-LD), with the anchor :math:`\tilde x` at the chain's position
    itself. A batch costs 2B gradients of one datum, and a refreshment N, which is N/m for each batch. The
    noise grows with the distance that the chain moves in m batches; once that is the width of the posterior,
    a fixed centre at the mode is as good.

    Args:
        log_likelihood: ``log_likelihood(position, batch) -> [batch]``, one value for each datum.
        log_prior: ``log_prior(position) -> scalar``.
        data: All the data, a pytree of arrays with leading axis N.
        refresh_every: m, batches between two refreshments. With m = N/B the passes over the data cost half
            as much as the batches.
        **options: ``noise_variance``, ``replacement`` and ``chunk_size``, as for `ControlVariate`.

    Raises:
        ValueError: An argument is outside its range.
    """
    return ControlVariate(log_likelihood, log_prior, data, None, refresh_every, **options)
