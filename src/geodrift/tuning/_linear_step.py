r"""A step of a recipe near a point, where it is linear, and the law at which such steps come to rest.

With a normal law of curvature M in the place of the posterior, and D and Q as they are at the point, a step
is :math:`z' = J z + \epsilon`, and the law at which steps come to rest has the covariance S of

.. math:: S = J S J^T + N, \quad J = I - h (D + Q) M, \quad N = 2 h D + h^2 (D + Q) V (D + Q)^T

with V the gradient noise that is not subtracted. Where a step moves one part of z after the other, J and N
are made part by part.
"""

import math

import numpy as np
from jaxtyping import Float
from scipy.linalg import solve_discrete_lyapunov

from geodrift.recipe._frozen import Frozen

_HALVINGS = 24
_STABLE = 1 - 1e-9  # at most, of the eigenvalues of J
_ADDED = 1e-9  # over the largest of 2D: where it is less a direction gets no noise


class LinearStep:
    """A step near a point.

    Args:
        at: D, Q and the auxiliary variables' curvature there.
        covariance: Of the posterior's position, [d, d].
        unsubtracted: V of the gradient noise that is not subtracted, [d, d].
        subtracted: V of that which is, [d, d].

    Raises:
        ValueError: A variable acts on the others to second order alone.
    """

    def __init__(
        self,
        at: Frozen,
        covariance: Float[np.ndarray, "d d"],
        unsubtracted: Float[np.ndarray, "d d"],
        subtracted: Float[np.ndarray, "d d"],
    ) -> None:
        self.at, curvature = at, np.array(at.curvature)
        curvature[np.ix_(at.position, at.position)] += np.linalg.inv(covariance)
        self._check_coupled(curvature)
        self.pull = (at.diffusion + at.curl) @ curvature
        # The position's variances, in which auxiliary variables may have a say.
        of_position = np.linalg.inv(curvature)[np.ix_(at.position, at.position)]
        self.root = np.linalg.cholesky((of_position + of_position.T) / 2)
        to_rows = (at.diffusion + at.curl)[:, at.position]
        self.heat, self.taken = (to_rows @ v @ to_rows.T for v in (unsubtracted, subtracted))

    def _check_coupled(self, curvature: Float[np.ndarray, "n n"]) -> None:
        """Raise ValueError where a number of z has to do with none of the position's, to first order."""
        linked = (self.at.diffusion != 0) | (self.at.curl != 0) | (curvature != 0)
        linked |= linked.T
        reached = np.isin(np.arange(len(linked)), self.at.position)
        for _ in linked:
            reached |= linked[reached].any(axis=0)
        if not reached.all():
            raise ValueError(
                "step_size = None: there is no rule for a Recipe with a variable that acts on the others to"
                " second order alone, as a thermostat does; give a step size, or take SGNHT"
            )

    def law(self, h: float) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, "n n"]]:
        """J and N at a step size."""
        number = len(self.pull)
        matrix, noise = np.eye(number), np.zeros((number, number))
        for row in self.at.rows:
            moved = np.eye(number)
            moved[row] -= h * self.pull[row]
            inside = np.ix_(row, row)
            noise = moved @ noise @ moved.T
            noise[inside] += 2 * h * self.at.diffusion[inside] + h**2 * self.heat[inside]
            matrix = moved @ matrix
        return matrix, noise

    def bias(self, h: float) -> float:
        """The largest relative error of a variance of the position; infinite where steps come to no rest."""
        matrix, noise = self.law(h)
        if not np.abs(np.linalg.eigvals(matrix)).max() < _STABLE:
            return math.inf
        at_rest = solve_discrete_lyapunov(matrix, noise)[np.ix_(self.at.position, self.at.position)]
        half = np.linalg.solve(self.root, at_rest)
        variances = np.linalg.eigvalsh(np.linalg.solve(self.root, half.T))
        return float(np.abs(variances - 1).max())

    def largest(self, most_bias: float, most_subtracted: float) -> float:
        """The largest step size at which no variance is off by more.

        Args:
            most_bias: Relative, of a variance.
            most_subtracted: Of the injected noise.

        Returns:
            h, time; 0 where there is none.
        """
        high = min(2 / np.abs(np.linalg.eigvals(self.pull)).max(), self._subtracted(most_subtracted))
        if self.bias(high) <= most_bias:
            return float(high)
        low = high
        for _ in range(_HALVINGS):  # far below J is 1 up to rounding
            low /= 2
            if self.bias(low) <= most_bias:
                break
        else:
            return 0.0
        high = 2 * low
        for _ in range(_HALVINGS // 4):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.bias(middle) <= most_bias else (low, middle)
        return float(low)

    def relaxation(self, h: float) -> float:
        """Steps in which the slowest direction forgets all but a part e^-1."""
        return float(-1 / np.log(np.abs(np.linalg.eigvals(self.law(h)[0])).max()))

    def _subtracted(self, most: float) -> float:
        """The largest step size at which what is subtracted, h^2 B, is at most a part of 2 h D."""
        if not self.taken.any():
            return math.inf
        sizes, axes = np.linalg.eigh(2 * self.at.diffusion)
        added = sizes > _ADDED * sizes.max()
        across = axes.T @ self.taken @ axes
        if across[~added][:, ~added].any() and np.abs(across[~added]).max() > _ADDED * np.abs(across).max():
            return 0.0
        scale = 1 / np.sqrt(sizes[added])
        return float(most / np.linalg.eigvalsh(scale[:, None] * across[np.ix_(added, added)] * scale).max())
