r"""Stochastic gradient Nosé-Hoover thermostats; Ding et al. (2014).

In the recipe of Ma, Chen & Fox (2015), with :math:`z = (\theta, r, \xi)` and d coordinates:

.. math:: H = -\log p(\theta) + r'r/2 + \tfrac{d}{2} (\xi - C)^2, \quad D = \mathrm{diag}(0, C I, 0), \quad
    Q = \begin{pmatrix} 0 & -I & 0 \\ I & 0 & r/d \\ 0 & -r'/d & 0 \end{pmatrix}, \quad \Gamma = (0, 0, -1)

With a thermostat for each coordinate, the same with d = 1 coordinate by coordinate. (The paper of the recipe
prints :math:`(\xi - C)^2 / (2d)`, which is right for d = 1 only.)
"""

from geodrift.samplers._gsgnht import GSGNHT


class SGNHT(GSGNHT):
    r"""Langevin dynamics on :math:`R^n` whose damping adapts to gradient noise of unknown variance.

    .. math:: d\theta = r\,dt, \quad dr = \nabla \log p\,dt - \xi r\,dt + \sqrt{2C}\,dW,
        \quad d\xi = (r'r / d - 1)\,dt

    Ding et al. (2014); C is their A. With ``thermostat="coordinate"`` (mSGNHT) each coordinate
    has a thermostat of its own, :math:`d\xi_i = (r_i^2 - 1)\,dt`, which settles at :math:`C + h V_{ii} / 2`
    and so corrects noise that differs from coordinate to coordinate; one thermostat for all corrects noise
    that is the same in every direction. It is `GSGNHT` on flat space.

    Args:
        estimator: Gradient of the log density of all the data. The noise variance that it states is
            subtracted from the injected noise; the thermostat corrects for the rest.
        manifold: Euclidean.
        step_size: h, the time of an inner step in the equation above; in the position's unit, as momenta
            have variance 1. A number or a `Schedule` of the count.
        friction: C, 1/time; a number. The thermostat :math:`\xi` starts at C.
        num_steps: L, inner steps in one draw.
        thermostat: ``"global"``: one for the whole position; ``"leaf"``: one for each leaf;
            ``"coordinate"``: one for each coordinate.
        composition: ``"BAOAB"``, ``"ABOBA"``, ``"OBABO"``, ``"liu"``, or ``"chen"``, which is the paper's
            Euler scheme with the new position in the momentum's step.
        reuse_batch: Use one batch for all L inner steps; the law is then biased, as for `SGGMC`.

    Raises:
        ValueError: An argument is outside its range.

    Invariant law: the target as h -> 0, if the noise that is not subtracted is of a kind that the
    thermostat corrects.
    """
