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

    Ding et al. (2014); C is their A. With ``thermostat="coordinate"`` (mSGNHT) each coordinate has its own,
    :math:`d\xi_i = (r_i^2 - 1)\,dt`, which settles at :math:`C + h V_{ii} / 2` and so corrects noise that
    differs from coordinate to coordinate; one for all corrects noise that is the same in every direction. It
    is `GSGNHT` on flat space.

    Args:
        estimator: Gradient of the log density of all the data. A noise variance that it states is subtracted
            from the injected noise; the thermostat deals with the rest.
        manifold: Euclidean.
        step_size: h, the time of an inner step; a number or a `Schedule` of the count.
        friction: C, 1/time; a number. The thermostat starts there.
        num_steps: L, inner steps in one draw.
        thermostat: ``"global"``: one for the whole position; ``"leaf"``: one for each leaf;
            ``"coordinate"``: one for each coordinate.
        composition: ``"BAOAB"``, ``"ABOBA"``, ``"OBABO"``, ``"liu"``, or ``"chen"``, which is the paper's
            Euler scheme with the new position in the momentum's step.
        reuse_batch: Hold one batch over the L inner steps, at the price of a biased law.

    Raises:
        ValueError: An argument is outside its range.

    Invariant law: exact as h -> 0.
    """
