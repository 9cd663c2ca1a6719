r"""The word prior eta given all assignments, drawn exactly by slice sampling.

With the topics integrated out, V words and K topics,

.. math:: p(\eta \mid z, w) \propto p(\eta) \prod_k
    \frac{\Gamma(V \eta)}{\Gamma(V \eta + N_k)} \prod_w \frac{\Gamma(\eta + N_{kw})}{\Gamma(\eta)}

(Griffiths and Steyvers 2004, eq. 2, as a function of eta). The product over words and topics is one over the
distinct counts, each as often as it occurs: after the histogram an evaluation takes as many terms as there
are distinct N_kw and topics. The prior is Gamma(a, b), cut where the model cannot be computed.

Auxiliary variables, as for alpha, would be one Binomial for each i up to the largest N_kw, and would couple
successive draws; here the assignments alone do.
"""

import math

import numba
import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln

from geodrift.models.kit._slice_sampling import slice_transition
from geodrift.models.latent_dirichlet_allocation._settings import PRIOR

SHAPE, RATE = 1.0, 1.0  # a and b
_WIDTH = 1.0  # of the slice sampler's first interval, in log eta
_SMALL = 2**12  # counts below it have a place in a table


@numba.njit(cache=True)
def _histogram(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How often each small count occurs, [`_SMALL`], and all others one by one."""
    small, large = np.zeros(_SMALL, np.int64), [np.int64(0)]
    for value in values:
        count = np.int64(value)
        if count < _SMALL:
            small[count] += 1
        else:
            large.append(count)
    return small, np.array(large)[1:]


def distinct_counts(
    values: Int[np.ndarray, " count"],
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """The distinct N_kw above 0, increasing, and how often each occurs."""
    small, large = _histogram(values)
    low = np.flatnonzero(small[1:]) + 1
    high, times = np.unique(large, return_counts=True)
    return np.concatenate([low, high]), np.concatenate([small[low], times])


def log_density(
    log_eta: float,
    counts: Int[np.ndarray, " n"],
    times: Int[np.ndarray, " n"],
    in_topics: Float[np.ndarray, " K"],
    num_words: int,
) -> float:
    """Of log eta given all assignments, up to a constant.

    Args:
        log_eta: Where.
        counts: The distinct N_kw above 0.
        times: How often each occurs.
        in_topics: N_k.
        num_words: V.
    """
    eta = math.exp(log_eta)
    if not PRIOR.holds(eta):
        return -math.inf
    whole = num_words * eta
    of_words = times @ (gammaln(eta + counts) - gammaln(eta))
    of_topics = len(in_topics) * gammaln(whole) - gammaln(whole + in_topics).sum()
    return float(of_words + of_topics + SHAPE * log_eta - RATE * eta)


def draw_word_prior(
    prior: float,
    values: Int[np.ndarray, " count"],
    in_topics: Float[np.ndarray, " K"],
    num_words: int,
    rng: np.random.Generator,
) -> float:
    """A move of eta given all assignments.

    Args:
        prior: Its present value.
        values: Every N_kw above 0, in any order.
        in_topics: N_k.
        num_words: V.
        rng: Of the random numbers.
    """
    counts, times = distinct_counts(values)
    rest = counts, times, in_topics, num_words
    # Rounding must not leave the edge.
    start = min(max(prior, PRIOR.least * (1 + 1e-12)), PRIOR.most * (1 - 1e-12))
    return math.exp(slice_transition(math.log(start), lambda x: log_density(x, *rest), rng, _WIDTH))
