r"""Shear moves: Metropolis moves of a pair of topics and all mixtures that change no document's direction.

The likelihood depends on the directions :math:`\beta\theta_d / |\beta\theta_d|` alone. Turning topic j
towards topic k, :math:`\beta_j' = (\beta_j + \epsilon\beta_k)/n` with :math:`n = |\beta_j +
\epsilon\beta_k|`, and shearing every mixture against it, :math:`\theta_d' = L\theta_d / s_d` with
:math:`(L\theta)_j = n\theta_j`, :math:`(L\theta)_k = \theta_k - \epsilon\theta_j` and :math:`s_d = 1 + (n - 1
- \epsilon)\theta_{dj}`, leaves all of these directions as they are. Only priors and volumes change, so moves
can be long. Sampling mixtures given topics and topics given mixtures in turn moves slowly in these
directions, because both conditionals are narrow there.

The map with :math:`\epsilon' = -\epsilon/n` is the inverse; the volume of (topic j, epsilon) changes by
:math:`n^{-(V+1)}` and that of each mixture by :math:`n / s_d^K`. With epsilon from a normal law q around 0,
the log of the Metropolis ratio is thus

.. math:: \sum_d \Big[ \alpha \log n + (\alpha - 1) \log\Big(1 - \epsilon\frac{\theta_{dj}}{\theta_{dk}}\Big)
    - \alpha K \log s_d \Big]
    - (V + 1) \log n + \log\frac{\pi(\beta')}{\pi(\beta)} + \log\frac{q(\epsilon')}{q(\epsilon)}

A move needs no vector of the vocabulary's length: lengths and angles of the moved topics follow from inner
products. So a sequence of moves is made on those and on the mixtures, at a cost of O(D + K) each, and topics
and velocities are moved once at its end, by one matrix.

The sums over documents would follow as P' = P L', M' = L M L', but rounding errors in them would be sheared
again and again. They are computed from the documents instead.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.interpolate import CubicHermiteSpline

from geodrift.distributions import host_log_normaliser, host_mean_resultant_length
from geodrift.kernels._random_streams import open_member
from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._streams import SAM_SHEAR_MOVES
from geodrift.models.spherical_admixture.documents._document_states import DocumentStates
from geodrift.models.spherical_admixture.documents._shear_kernel import (
    ShearConstants,
    ShearState,
    make_moves,
)

GAIN = 0.05  # of the Robbins-Monro adaptation of the scale of epsilon
NUM_KNOTS = 8192


class ShearPrior(NamedTuple):
    """The model's constants in the Metropolis ratio of a shear move."""

    mean_direction: Float[np.ndarray, " V"]  # m
    mean_concentration: float  # kappa_0
    topic_concentration: float  # sigma
    doc_topic_prior: float  # alpha, each component's
    log_normaliser: CubicHermiteSpline  # log c_V on [0, kappa_0 + K sigma], to 1e-6

    def constants(self, num_words: int) -> ShearConstants:
        """The prior as the moves take it."""
        table = self.log_normaliser
        return ShearConstants(
            num_words=num_words,
            mean_concentration=self.mean_concentration,
            topic_concentration=self.topic_concentration,
            doc_topic_prior=self.doc_topic_prior,
            spacing=float(table.x[1] - table.x[0]),
            coefficients=table.c,
        )


def shear_prior(
    mean_direction: Float[np.ndarray, " V"],
    mean_concentration: float,
    topic_concentration: float,
    doc_topic_prior: float,
    num_topics: int,
) -> ShearPrior:
    """The constants, with a table of log c_V; see `ShearPrior` for the arguments.

    One value of the function itself costs more than the rest of a move. Hermite interpolation with the exact
    slopes -A_V has an error of h^4/384 times the fourth derivative, h the spacing of the knots.
    """
    num_words = len(mean_direction)
    lengths = np.linspace(0.0, mean_concentration + num_topics * topic_concentration, NUM_KNOTS)
    table = CubicHermiteSpline(
        lengths, host_log_normaliser(num_words, lengths), -host_mean_resultant_length(num_words, lengths)
    )
    return ShearPrior(mean_direction, mean_concentration, topic_concentration, doc_topic_prior, table)


def shear(
    states: DocumentStates,
    topics: Float[np.ndarray, "K V"],
    velocities: Float[np.ndarray, "K V"],
    prior: ShearPrior,
    streams: Family,
    num_moves: int,
    adapting: bool,
) -> float:
    """Make moves of random pairs of topics in place; cost O(D + K) a move and O(V K^2) a call.

    The sums in ``states`` are out of date afterwards; see `recompute_sums`. A velocity is carried along by
    parallel transport, which keeps its Gaussian law.

    Args:
        states: Mixtures with their weights, and the scale of epsilon; changed in place.
        topics: beta, changed in place.
        velocities: Tangent at the topics, changed in place.
        prior: The model's constants.
        streams: Random streams of the moves.
        num_moves: Pairs to try.
        adapting: Whether to adapt the scale of epsilon.

    Returns:
        The share of the moves that were accepted.
    """
    beta, num_topics = topics.astype(np.float64), topics.shape[0]
    unnormalised = np.ascontiguousarray(states.mixtures.T, dtype=np.float64)
    state = ShearState(
        unnormalised=unnormalised,
        totals=unnormalised.sum(axis=0),
        gram=beta @ beta.T,
        mean_products=beta @ prior.mean_direction,
        velocity_products=velocities.astype(np.float64) @ beta.T,
        topic_map=np.eye(num_topics),
        velocity_map=np.zeros((num_topics, num_topics)),
    )
    totals_before, scale = state.totals.copy(), states.shear_scale.reshape(1).copy()
    random_stream = np.uint64(open_member(streams.word, SAM_SHEAR_MOVES.items[0]))
    constants, gain = prior.constants(topics.shape[1]), GAIN if adapting else 0.0
    accepted = make_moves(state, constants, scale, random_stream, num_moves, gain)
    states.shear_scale[...] = scale[0]
    topics[...] = state.topic_map @ beta
    velocities[...] = velocities + state.velocity_map @ beta
    states.mixtures[...] = (state.unnormalised / state.totals).T
    scales = state.totals / totals_before
    states.inverse_norms[...] *= scales
    states.curvature_weights[...] *= scales**2
    return accepted / num_moves
