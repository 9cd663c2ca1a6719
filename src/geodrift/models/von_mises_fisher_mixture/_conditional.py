"""What the conditional law of an assignment is made of, as compiled code takes it."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

BACKGROUND = -1  # the assignment of a row that belongs to no cluster
STAYED = -2
KEPT = 4  # numbers that are kept of a cluster


class Sums(NamedTuple):
    """What the conditional law of assignments reads of the clusters, [M] each; without rows n = 0.

    Attributes:
        counts: n.
        squares: |R|^2.
        along: R'r_0.
        kappa: Concentrations.
        log_c_kappa: log c(kappa).
        kept: What `refresh` computes, [M, 4].
        background: n_0, [1].
    """

    counts: Int[np.ndarray, " M"]
    squares: Float[np.ndarray, " M"]
    along: Float[np.ndarray, " M"]
    kappa: Float[np.ndarray, " M"]
    log_c_kappa: Float[np.ndarray, " M"]
    kept: Float[np.ndarray, "M 4"]
    background: Int[np.ndarray, "1"]


class Law(NamedTuple):
    """What does not change within a step.

    Attributes:
        g: Dirichlet parameter of a cluster; 0 for a Dirichlet process.
        new_first: New clusters have the weight new_first + new_each t where t clusters have rows.
        new_each: See there.
        a0: Dirichlet parameter of the background; 0 where there is none.
        r0_square: |r_0|^2.
        shared: Whether all clusters have one concentration.
        top, steps, u, w: The `DebyeTable`.
    """

    g: float
    new_first: float
    new_each: float
    a0: float
    r0_square: float
    shared: bool
    top: float
    steps: int
    u: Float[np.ndarray, "terms terms"]
    w: Float[np.ndarray, "terms terms"]


class Block(NamedTuple):
    """Products of the rows of a block.

    Attributes:
        dots: x_i'R_k with all rows in their clusters, [B, M], 0 for clusters without rows; changed.
        gram: x_i'x_j, [B, B].
        along: x_i'r_0, [B].
        fresh: Concentrations drawn from the prior, [B].
    """

    dots: Float[np.ndarray, "B M"]
    gram: Float[np.ndarray, "B B"]
    along: Float[np.ndarray, " B"]
    fresh: Float[np.ndarray, " B"]
