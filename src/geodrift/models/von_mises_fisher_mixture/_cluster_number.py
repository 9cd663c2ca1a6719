"""The prior of weights and of the number of clusters, as the assignments feel it.

With A the sum of the Dirichlet parameters of all clusters, n_0 rows of the background, N rows in all and t
clusters with rows, the law of the assignments is

    p(z) = Gamma(a_0 + A) / Gamma(a_0 + A + N) Gamma(n_0 + a_0) / Gamma(a_0) f(t) prod_k Gamma(n_k + g) /
    Gamma(g)

without the terms of a_0 where there is no background. K components: A = K g, f = K! / (K - t)!. A Dirichlet
process: A = alpha, g = 0, and f(t) prod .. is alpha^t prod_k Gamma(n_k).
"""

import abc
import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln

MEAN_ALPHA = 4.0  # of the exponential prior of alpha
_WIDTH = 2.0  # of a slice's first interval, in log alpha


class ClusterNumber(abc.ABC):
    """How likely a new cluster is.

    Attributes:
        g: Dirichlet parameter of each cluster; 0 for a Dirichlet process.
        value: What is drawn beside the assignments: K, or alpha.
    """

    g: float
    value: float

    @property
    @abc.abstractmethod
    def total(self) -> float:
        """A, the sum of the parameters of all clusters."""

    @property
    @abc.abstractmethod
    def new(self) -> tuple[float, float]:
        """The weight of new clusters where t have rows: first + each t."""

    def update(self, rng: np.random.Generator, occupied: int, number: int, a0: float) -> None:
        """Draw ``value`` given that ``occupied`` clusters and the background hold ``number`` rows."""
        del rng, occupied, number, a0

    def expected_others(self, occupied: int, number: int, a0: float) -> float:
        """Mean weight of all clusters without rows, given the same."""
        first, each = self.new
        return (first + each * occupied) / (a0 + self.total + number)


class Components(ClusterNumber):
    """K components.

    Args:
        number: K.
        g: Dirichlet parameter of each.
    """

    def __init__(self, number: int, g: float) -> None:
        self.value, self.g = float(number), g

    @property
    def total(self) -> float:
        """K g."""
        return self.value * self.g

    @property
    def new(self) -> tuple[float, float]:
        """(K - t) g."""
        return self.value * self.g, -self.g


class FiniteMixtures(Components):
    """A mixture of finite mixtures (Miller and Harrison 2018): the number K of components has a prior.

    K - 1 has the beta-negative-binomial law BNB(1, 4, 3) that Fruehwirth-Schnatter, Malsiner-Walli and Gruen
    (2021) recommend, cut at ``most``. Given the assignments K is drawn exactly, from all of its values.

    Args:
        most: The largest K.
        g: Dirichlet parameter of each component.
        start: The first K.
    """

    def __init__(self, most: int, g: float, start: int = 10) -> None:
        super().__init__(min(start, most), g)
        self.most = most

    def update(self, rng: np.random.Generator, occupied: int, number: int, a0: float) -> None:
        """Draw K."""
        values, p = self._law(occupied, number, a0)
        self.value = float(values[np.searchsorted(np.cumsum(p), rng.random() * p.sum())])

    def expected_others(self, occupied: int, number: int, a0: float) -> float:
        """Mean over K too, which in most draws is the number of clusters with rows: 0, and seldom much."""
        values, p = self._law(occupied, number, a0)
        return float(p @ (self.g * (values - occupied) / (a0 + self.g * values + number)) / p.sum())

    def _law(
        self, occupied: int, number: int, a0: float
    ) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """The values that K may have, and their probabilities up to a factor."""
        values = np.arange(max(occupied, 1), self.most + 1)
        log_p = log_components_prior(values) + gammaln(values + 1) - gammaln(values - occupied + 1)
        log_p += gammaln(a0 + self.g * values) - gammaln(a0 + self.g * values + number)
        return values, np.exp(log_p - log_p.max())


def log_components_prior(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Log probability of K components under BNB(1, 4, 3) of K - 1."""
    shape, first, second = 1.0, 4.0, 3.0

    def log_beta(a: np.ndarray | float, b: np.ndarray | float) -> np.ndarray:
        return gammaln(a) + gammaln(b) - gammaln(np.add(a, b))

    counted = np.asarray(values, float) - 1
    choose = gammaln(shape + counted) - gammaln(shape) - gammaln(counted + 1)
    return choose + log_beta(shape + first, counted + second) - log_beta(first, second)


class DirichletProcess(ClusterNumber):
    """A Dirichlet process of concentration alpha.

    Args:
        alpha: Its value; None: drawn, with an exponential prior of mean `MEAN_ALPHA`.
    """

    g = 0.0

    def __init__(self, alpha: float | None) -> None:
        self.value, self.drawn = (1.0, True) if alpha is None else (alpha, False)

    @property
    def total(self) -> float:
        """Alpha."""
        return self.value

    @property
    def new(self) -> tuple[float, float]:
        """Alpha."""
        return self.value, 0.0

    def update(self, rng: np.random.Generator, occupied: int, number: int, a0: float) -> None:
        """Draw alpha by a slice sampler, where it is drawn."""

        def log_target(v: float) -> float:
            alpha = math.exp(v)
            gammas = math.lgamma(a0 + alpha) - math.lgamma(a0 + alpha + number)
            return (occupied + 1) * v + gammas - alpha / MEAN_ALPHA

        if self.drawn:
            self.value = math.exp(slice_transition(log_target, math.log(self.value), _WIDTH, rng))


def slice_transition(
    log_target: Callable[[float], float], v: float, width: float, rng: np.random.Generator
) -> float:
    """One transition of a slice sampler with stepping out (Neal 2003)."""
    level = log_target(v) + math.log(1.0 - rng.random())
    low = v - width * rng.random()
    high = low + width
    while log_target(low) > level:
        low -= width
    while log_target(high) > level:
        high += width
    while True:
        proposed = low + (high - low) * rng.random()
        if log_target(proposed) > level or high - low < 1e-14:
            return proposed
        low, high = (proposed, high) if proposed < v else (low, proposed)
