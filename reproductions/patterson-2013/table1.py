"""Table 1: the two curvature rows of each chart, against derivatives of its metric.

The rows are, for each j, the sum over k of (G^-1 dG/dtheta_k G^-1)_jk and of (G^-1)_jk tr(G^-1 dG/dtheta_k).
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from common import write
from jaxtyping import Array

from geodrift.metrics import ExpandedMean, ExpandedNatural, Metric, ReducedMean, ReducedNatural

TOTAL = 7.0
PI = jnp.array([0.4, 0.3, 0.05, 0.15, 0.1])
K = len(PI)
POINTS = {
    "reduced_mean": PI[:-1],
    "reduced_natural": jnp.log(PI[:-1] / PI[-1]),
    "expanded_mean": 3 * PI,
    "expanded_natural": jnp.log(3 * PI),
}
METRICS: dict[str, Metric] = {
    "reduced_mean": ReducedMean(TOTAL),
    "reduced_natural": ReducedNatural(TOTAL),
    "expanded_mean": ExpandedMean(),
    "expanded_natural": ExpandedNatural(),
}
# As printed, both rows alike; the charts whose rows are right are right in both.
PRINTED: dict[str, Callable[[Array], Array]] = {
    "reduced_mean": lambda x: (K * x - 1) / TOTAL,
    "reduced_natural": lambda _: (1 / PI[:-1] ** 2 - (K - 1) / PI[-1] ** 2) / TOTAL,
    "expanded_mean": lambda x: -jnp.ones(K),
    "expanded_natural": lambda x: jnp.exp(-x),
}


def rows(metric: Metric, x: Array) -> dict[str, np.ndarray]:
    """Both rows, by derivatives of the dense matrix."""

    def matrix(x: Array) -> Array:
        return jax.vmap(lambda u: metric.apply(x, u))(jnp.eye(len(x))).T

    inverse, slopes = jnp.linalg.inv(matrix(x)), jax.jacfwd(matrix)(x)  # [i, j, k]
    return {
        "first": np.asarray(jnp.einsum("ja,abk,bk->j", inverse, slopes, inverse)),
        "second": np.asarray(jnp.einsum("jk,ab,bak->j", inverse, inverse, slopes)),
    }


def error(claimed: Array, exact: np.ndarray) -> float:
    """Largest deviation relative to the largest entry."""
    return float(np.max(np.abs(np.asarray(claimed) - exact)) / np.max(np.abs(exact)))


def main() -> None:
    """Check all, write JSON."""
    measured: dict[str, Any] = {}
    for name, metric in METRICS.items():
        x = POINTS[name]
        exact = rows(metric, x)
        ours = -metric.divergence_inverse(x)
        measured[name] = {
            row: {"printed": error(PRINTED[name](x), value), "ours": error(ours, value)}
            for row, value in exact.items()
        }
    write("table1", {"total": TOTAL, "pi": [float(p) for p in PI]}, measured)


if __name__ == "__main__":
    main()
