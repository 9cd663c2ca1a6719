r"""Stochastic gradient Hamiltonian Monte Carlo; Chen, Fox & Guestrin (2014).

In the recipe of Ma, Chen & Fox (2015), with :math:`z = (\theta, r)`:

.. math:: H = -\log p(\theta) + r'r/2, \quad D = \begin{pmatrix} 0 & 0 \\ 0 & C \end{pmatrix}, \quad
    Q = \begin{pmatrix} 0 & -I \\ I & 0 \end{pmatrix}, \quad \Gamma = 0
"""

import equinox as eqx
import jax

from geodrift._types import Batch, RandomKey
from geodrift._whole import as_whole, is_whole
from geodrift.samplers._base import StepInfo
from geodrift.samplers._sggmc import SGGMC, SGGMCState


class SGHMC(SGGMC):
    r"""Langevin dynamics with friction on :math:`R^n`, from noisy gradients.

    .. math:: d\theta = r\,dt, \quad dr = \nabla \log p\,dt - C r\,dt + \sqrt{2C}\,dW

    Chen, Fox & Guestrin (2014), eq. 13 and Algorithm 2. The gradient noise V that the estimator states is
    subtracted from the injected noise (the paper's :math:`\hat B = h V / 2`). The momentum persists from step
    to step. It is `SGGMC` on flat space.

    Args:
        estimator: Gradient of the log density of all the data.
        manifold: Euclidean.
        step_size: h (the paper's epsilon), the time of an inner step in the equation above; in the
            position's unit, as momenta have variance 1. A number or a `Schedule` of the count.
        friction: C, 1/time: a number, a symmetric positive definite matrix ``[n, n]``, or a prefix of the
            position's tree of such.
        num_steps: L, inner steps in one draw.
        composition: The order of the flows of one inner step: ``"BAOAB"``, whose bias is the least of all on
            a double well, with and without gradient noise, and of third order for a Gaussian; ``"ABOBA"``,
            exact for a Gaussian at any step size, V subtracted or not; ``"OBABO"``; ``"liu"``; or ``"chen"``,
            the paper's eq. 13 with the new position in the momentum's step, whose noise is
            :math:`N(0, 2 C h - h^2 V)`.
        reuse_batch: Use one batch for all L inner steps; the law is then biased, as for `SGGMC`.
        refresh_every: Calls of `step` after which a new momentum is drawn at temperature 1; 1 is the paper's
            Algorithm 2. None never draws one. Not with ``"BAOAB"`` and ``"OBABO"``: their steps end half a
            kick after the point at which the momentum's law is normal, so that a new momentum there biases
            the chain. The steps of ``"chen"`` end there too; it accepts ``refresh_every`` because the
            published algorithm has it, and a new momentum biases it at first order.

    Raises:
        ValueError: An argument is outside its range.

    Invariant law: the target as h -> 0.

    Example:
        >>> sampler = SGHMC(Full(log_density), Euclidean(3), step_size=0.1, friction=1.0, num_steps=10)
        >>> state = sampler.init(key, position)
        >>> state, info = sampler.step(key, state)
    """

    composition: str = eqx.field(static=True, default="BAOAB")
    refresh_every: int | None = eqx.field(static=True, default=None, converter=as_whole)

    def __check_init__(self) -> None:
        every = self.refresh_every
        if every is not None and self.composition in ("BAOAB", "OBABO"):
            raise ValueError(
                f"refresh_every = {every!r} with composition {self.composition}: its calls end half a kick"
                " from where the momentum is normal, so a refresh is biased; give composition = 'ABOBA'"
            )
        if every is not None and not is_whole(every, 1):
            raise ValueError(
                f"refresh_every = {every!r}: must be a whole number of calls, 1 or more, or None"
            )

    def step(self, key: RandomKey, state: SGGMCState, batch: Batch = None) -> tuple[SGGMCState, StepInfo]:
        """L inner steps of the composition, with a new momentum before them where one is due."""
        if self.refresh_every is not None:
            key_velocity, key = jax.random.split(key)
            velocity = jax.lax.cond(
                state.count % self.refresh_every == 0,
                lambda: self.manifold.random_tangent(key_velocity, state.position),
                lambda: state.velocity,
            )
            state = state._replace(velocity=velocity)
        return super().step(key, state, batch)
