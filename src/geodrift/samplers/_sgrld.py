"""Stochastic gradient Riemannian Langevin dynamics; Patterson & Teh (2013), eqs. 3 to 5."""

from geodrift.samplers._sgld import SGLD


class SGRLD(SGLD):
    r"""`SGLD` with a position-dependent metric, whose proposals are mirrored into the metric's chart.

    Patterson & Teh (2013), eqs. 3 to 5. On :class:`~geodrift.metrics.ExpandedMean` it is their sampler for
    probability vectors:

    .. math:: \theta \leftarrow |\theta + h (\hat n + \alpha - \theta - \hat n_\cdot \pi) +
        \sqrt{2 h \theta}\, z|

    with gammas on the prior, where h times the sum of the counts over the sum of :math:`\theta` must stay
    below 1; the mean of that sum is the sum of alpha, wherever the chain starts. With gammas on the
    posterior the drift is :math:`\alpha + \hat n - \theta` and there is no such bound. The log density of
    the first form is ``metric.log_posterior``, that of the second ``metric.log_prior`` with
    ``alpha + counts``.

    Note:
        An Euler step is not of first order where a density is infinite at the boundary: for Gamma(0.1) the
        mean is 0.28 too high at epsilon = 0.1 and still 0.09 at 0.001.

    Args:
        estimator: Gradient of the log density of all the data, in the metric's coordinates.
        manifold: Euclidean.
        step_size: h, the time of an inner step: :math:`h G^{-1}` is in the position's unit squared.
            Patterson & Teh's epsilon is 2h in the paper, and h in their released code, to which the published
            settings belong. A number or a `Schedule` of the count.
        metric: G.
        num_steps: L, inner steps in one draw.
        reuse_batch: Use one batch for all L inner steps; the law is then biased, as for `SGGMC`.

    Raises:
        ValueError: An argument is outside its range.

    Invariant law: the target as h -> 0.
    """

    def __check_init__(self) -> None:
        if self.metric is None:
            raise ValueError("metric = None: SGRLD needs a metric, such as metrics.ExpandedMean()")
