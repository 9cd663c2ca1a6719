"""What is fixed of a mixture, and a draw of what the sampler integrates out."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from geodrift.models.von_mises_fisher_mixture._concentrations import ConcentrationPrior


class Prior(NamedTuple):
    """What is fixed.

    Attributes:
        concentration: Of kappa.
        shared: Whether all clusters have one kappa.
        a0: Dirichlet parameter of the background; 0: there is none.
        r0: kappa_0 m_0 of the directions' von Mises-Fisher prior, [d]; zeros: they are uniform.
    """

    concentration: ConcentrationPrior
    shared: bool
    a0: float
    r0: Float[np.ndarray, " d"]


class Parameters(NamedTuple):
    """A draw of what was integrated out, of clusters that have rows, or of all K.

    Attributes:
        labels: Their numbers in the assignments, [K].
        weights: [K].
        directions: Unit vectors, [K, d].
        resultants: kappa_k R_k + r_0, whose von Mises-Fisher law the directions have, [K, d].
        concentrations: [K].
        background: Weight of the background; 0 where there is none.
        others: Weight of the clusters that no row has joined yet; 0 where all K are listed.
    """

    labels: Int[np.ndarray, " K"]
    weights: Float[np.ndarray, " K"]
    directions: Float[np.ndarray, "K d"]
    resultants: Float[np.ndarray, "K d"]
    concentrations: Float[np.ndarray, " K"]
    background: float
    others: float
