r"""Stochastic gradient Hamiltonian Monte Carlo; Chen, Fox & Guestrin (2014).

In the recipe of Ma, Chen & Fox (2015), with :math:`z = (\theta, r)`:

.. math:: H = -\log p(\theta) + r'r/2, \quad D = \begin{pmatrix} 0 & 0 \\ 0 & C \end{pmatrix}, \quad
    Q = \begin{pmatrix} 0 & -I \\ I & 0 \end{pmatrix}, \quad \Gamma = 0
"""

import equinox as eqx
import jax

from geodrift._types import Batch, RandomKey
from geodrift.samplers._base import StepInfo
from geodrift.samplers._sggmc import SGGMC, SGGMCState


class SGHMC(SGGMC):
    r"""Langevin dynamics with friction on :math:`R^n`, from noisy gradients; Chen et al. (2014).

    .. math:: d\theta = r\,dt, \quad dr = \nabla \log p\,dt - C r\,dt + \sqrt{2C}\,dW

    The gradient noise V that the estimator states is subtracted from the injected noise (the paper's
    :math:`\hat B = h V / 2`). The momentum persists from call to call. It is `SGGMC` on flat space.

    Args:
        estimator: Gradient of the log density of all the data.
        manifold: Euclidean.
        step_size: h, the time of an inner step; a number or a `Schedule` of the count.
        friction: C, 1/time: a number, a symmetric positive definite matrix ``[n, n]``, or a prefix of the
            position's tree of such.
        num_steps: L, inner steps in one draw.
        composition: ``"BAOAB"``, whose bias is the least of all on a double well, with and without gradient
            noise, and of third order for a Gaussian; ``"ABOBA"``, exact for a Gaussian at any step size, V
            subtracted or not; ``"OBABO"``; ``"liu"``; or ``"chen"``, the paper's eq. 13 with the new position
            in the momentum's step, whose noise is :math:`N(0, 2 C h - h^2 V)`.
        reuse_batch: Hold one batch over the L inner steps, at the price of a biased law.
        refresh_every: Calls of `step` after which the momentum is drawn afresh at temperature 1; 1 is the
            paper's Algorithm 2. None keeps it for ever. ``"BAOAB"`` and ``"OBABO"`` end a call half a kick
            ahead of the velocity whose law is normal, so they take no refresh; ``"chen"`` does too, and is
            biased at first order by one, as published.

    Raises:
        ValueError: An argument is outside its range.

    Invariant law: exact as h -> 0.

    Example:
        >>> sampler = SGHMC(Full(log_density), Euclidean(3), step_size=0.1, friction=1.0, num_steps=10)
        >>> state = sampler.init(key, position)
        >>> state, info = sampler.step(key, state)
    """

    composition: str = eqx.field(static=True, default="BAOAB")
    refresh_every: int | None = eqx.field(static=True, default=None)

    def __check_init__(self) -> None:
        every = self.refresh_every
        if every is not None and self.composition in ("BAOAB", "OBABO"):
            raise ValueError(
                f"refresh_every = {every!r} with composition {self.composition}: its calls end half a kick"
                " from where the momentum is normal, so a refresh is biased; give composition = 'ABOBA'"
            )
        if every is not None and (not isinstance(every, int) or every < 1):
            raise ValueError(
                f"refresh_every = {every!r}: must be a whole number of calls, 1 or more, or None"
            )

    def step(self, key: RandomKey, state: SGGMCState, batch: Batch = None) -> tuple[SGGMCState, StepInfo]:
        """L inner steps of the composition, after a new momentum where one is due."""
        if self.refresh_every is not None:
            key_velocity, key = jax.random.split(key)
            velocity = jax.lax.cond(
                state.count % self.refresh_every == 0,
                lambda: self.manifold.random_tangent(key_velocity, state.position),
                lambda: state.velocity,
            )
            state = state._replace(velocity=velocity)
        return super().step(key, state, batch)
