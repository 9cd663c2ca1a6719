"""Stochastic gradient Riemannian Langevin dynamics; Patterson & Teh (2013), eq. 9."""

from geodrift.samplers._sgld import SGLD


class SGRLD(SGLD):
    r"""`SGLD` on a metric, with proposals mirrored into its chart.

    Patterson & Teh's epsilon is 2h in the paper, and h in their released code, whose settings are the ones
    published. On :class:`~geodrift.metrics.ExpandedMean` it is their sampler for probability vectors:

    .. math:: \theta \leftarrow |\theta + h (\hat n + \alpha - \theta - \hat n_\cdot \pi) +
        \sqrt{2 h \theta}\, z|

    with gammas on the prior, where h times the sum of the counts over the sum of :math:`\theta` must stay
    below 1; the mean of that sum is the sum of alpha, whatever it starts at. With gammas on the posterior
    the drift is :math:`\alpha + \hat n - \theta` and there is no such bound: the first form's log density is
    ``metric.log_posterior``, the second's ``metric.log_prior`` with ``alpha + counts``.

    Note:
        An Euler step is not of first order where a density is infinite at the boundary: for Gamma(0.1) the
        mean is 0.28 too high at epsilon = 0.1 and still 0.09 at 0.001.

    Args:
        estimator: Gradient of the log density of all the data, in the metric's coordinates.
        manifold: Euclidean.
        step_size: h, the time of an inner step; a number or a `Schedule` of the count.
        metric: G.
        num_steps: L, inner steps in one draw.
        reuse_batch: Hold one batch over the L inner steps; biased.

    Raises:
        ValueError: An argument is outside its range.

    Invariant law: exact as h -> 0.
    """

    def __check_init__(self) -> None:
        if self.metric is None:
            raise ValueError("metric = None: SGRLD needs a metric, such as metrics.ExpandedMean()")
