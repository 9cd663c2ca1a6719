"""What speaks against a run: `geodrift.sample` ends with it."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PyTree

from geodrift._convergence import ess, rhat
from geodrift.driver._gradient_check import GradientCheck
from geodrift.manifolds import Manifold, SphericalSimplex, leaf_manifolds
from geodrift.samplers import StepInfo

LEAST_DRAWS = 100  # of all chains: fewer say nothing
LEAST_OF_CHAIN = 8
MOST_NUMBERS = 64  # of a position that are looked at one by one; of more, as many sums with various signs
MOST_RHAT, LEAST_ESS = 1.02, 200.0  # of such a sample R-hat is about 1 + 4 / ESS where chains have met
LEAST_ACCEPTANCE = 0.4
SURELY_REJECTED, MOST_REJECTED = 1e-3, 0.1  # an acceptance, and the share of steps that may have less
MOST_HEATING = 0.05  # of the kinetic temperature, beyond its Monte Carlo error
# Of that error as it counts: where velocities have their law it is smaller, and where they have tails that no
# such law has, it grows with them.
MOST_TEMPERATURE_ERROR = 0.3
HOT = 3.0  # a kinetic temperature far beyond what a longer run or a little noise explains


class RunReport(NamedTuple):
    """How a run went; ``str`` of it is one line.

    Attributes:
        rhat: The largest of any number of the position.
        ess: The least, of bulk and tails.
        acceptance: Mean probability of the Metropolis test; NaN where there is none.
        rejected: Share of the steps whose probability was next to 0; NaN where there is no test.
        temperature: Mean kinetic temperature; 1 where velocities have their law, NaN where there are none.
        temperature_error: Its Monte Carlo standard error.
        worst: Which number of the position has the largest R-hat.
        gradients: The draws against the gradients of their target; None where a Metropolis test makes that
            needless, or the gradients are not to be had.
        of_sampler: What speaks against the run that the sampler alone knows.
    """

    rhat: float
    ess: float
    acceptance: float
    rejected: float
    temperature: float
    temperature_error: float
    worst: str
    gradients: GradientCheck | None = None
    of_sampler: tuple[str, ...] = ()

    @property
    def warnings(self) -> list[str]:
        """What speaks against the draws, and what to do; empty where nothing does."""
        told = [*self.of_sampler]
        if np.isnan(self.rhat):
            told.append("the chains have not moved: no draw differs from another; take a smaller step_size")
        elif self.rhat > MOST_RHAT:
            told.append(
                f"R-hat is {self.rhat:.5g} ({self.worst}), above {MOST_RHAT}: the chains have not met, or not"
                " come to rest; take more warm-up and more draws, other starts, or step_size=None"
                " where a step was given"
            )
        if self.ess < LEAST_ESS:
            told.append(
                f"the draws are worth {self.ess:.0f} independent draws, fewer than {LEAST_ESS:.0f}: take more"
                " draws, or more steps between them"
            )
        if self.acceptance < LEAST_ACCEPTANCE:
            told.append(
                f"{self.acceptance:.0%} of the proposals were accepted: take a smaller step_size, or"
                " step_size=None where a step was given"
            )
        elif self.rejected > MOST_REJECTED:
            told.append(
                f"{self.rejected:.1%} of the proposals had no chance to be accepted: the chains may not reach"
                " where the density is narrow; take a smaller step_size, or another parametrisation"
            )
        if self.gradients is not None:
            told += self.gradients.warnings
        # Velocities may be off by the step size where positions are not: gradients that are sure know better.
        known = self.gradients is not None and self.gradients.variance_error < MOST_HEATING
        error = min(self.temperature_error, MOST_TEMPERATURE_ERROR)
        if not known and self.temperature > HOT:
            told.append(
                f"the kinetic temperature is {self.temperature:.3g}, not 1: the steps are not stable, or"
                " gradient noise that is not accounted for heats them, and the draws are not of the target;"
                " take a smaller step_size, a larger batch, or a noise_variance; where the gradient grows"
                " without bound towards an edge of the manifold no step is small enough: take GMC, or other"
                " coordinates"
            )
        elif not known and abs(self.temperature - 1) > MOST_HEATING + 3 * error:
            told.append(
                f"the kinetic temperature is {self.temperature:.3g}, not 1: gradient noise that is not"
                " accounted for heats, a step_size that is too large may cool; take a smaller step_size, more"
                " friction, a larger batch, or a noise_variance"
            )
        return told

    def __str__(self) -> str:
        of_test = "" if np.isnan(self.acceptance) else f", acceptance {self.acceptance:.2f}"
        if self.gradients is not None:
            of_test += f", {self.gradients}"
        elif not of_test:
            of_test = ", not held against the gradients of the target"
        of_velocities = "" if np.isnan(self.temperature) else f", kinetic temperature {self.temperature:.2f}"
        return (
            f"R-hat {self.rhat:.3f} ({self.worst}), at least {self.ess:.0f} effective draws{of_test}"
            f"{of_velocities}"
        )


def run_report(manifold: Manifold, position: PyTree, info: StepInfo) -> RunReport | None:
    """The report of draws.

    Args:
        manifold: Of the draws.
        position: Leading axes [chain, draw].
        info: Of their steps.

    Returns:
        None where there are too few draws to tell.
    """
    chains, draws = np.shape(info.result)
    if draws < LEAST_OF_CHAIN or chains * draws < LEAST_DRAWS:
        return None
    values, names = _numbers(_without_signs(manifold, position))
    with np.errstate(all="ignore"):
        # Of one chain, its halves: arviz-stats takes no single one.
        halves = values if chains > 1 else values[:, : draws // 2 * 2].reshape(2, draws // 2, -1)
        r = np.asarray(rhat(halves)).reshape(-1)
        sizes = np.minimum(ess(values, "bulk"), ess(values, "tail")).reshape(-1)
        moving = values.reshape(chains * draws, -1).std(axis=0) > 0
        temperature = np.asarray(info.kinetic_temperature, np.float64)
        known = np.isfinite(temperature).all() and temperature.std() > 0
        error = temperature.std() / np.sqrt(float(ess(temperature, "mean"))) if known else 0.0
    # A number that never changed is a constant of the position, unless none did.
    r, sizes, names = (
        (r[moving], sizes[moving], names[moving]) if moving.any() else (r, sizes * np.nan, names)
    )
    worst = int(np.argmax(np.nan_to_num(r, nan=np.inf)))
    acceptance = np.asarray(info.acceptance, np.float64)
    tested = np.isfinite(acceptance).all()
    return RunReport(
        float(r[worst]),
        float(np.min(sizes)),
        float(acceptance.mean()) if tested else np.nan,
        float((acceptance < SURELY_REJECTED).mean()) if tested else np.nan,
        float(temperature.mean()) if np.isfinite(temperature).all() else np.nan,
        float(error),
        str(names[worst]),
    )


def _without_signs(manifold: Manifold, position: PyTree) -> PyTree:
    """The draws, of a lifted simplex the probabilities: the signs of its points mean nothing."""
    first = jax.tree.map(lambda x: x[0, 0], position)
    leaves, structure = jax.tree.flatten(position)
    told = zip(leaf_manifolds(manifold, first), leaves, strict=True)
    return jax.tree.unflatten(
        structure, [m.to_simplex(x) if isinstance(m, SphericalSimplex) else x for m, x in told]
    )


def _numbers(position: PyTree) -> tuple[Float[np.ndarray, "chain draw n"], np.ndarray]:
    """Numbers of the position, or sums of them with various signs, and their names."""
    pieces, names = [], []
    for path, leaf in jax.tree_util.tree_leaves_with_path(position):
        flat = np.asarray(leaf).reshape(*leaf.shape[:2], -1)
        name = jax.tree_util.keystr(path) or "position"
        pieces.append(flat)
        names += [name if flat.shape[2] == 1 else f"{name}[{i}]" for i in range(flat.shape[2])]
    if len(names) <= MOST_NUMBERS:
        return np.concatenate(pieces, axis=2, dtype=np.float64), np.array(names)
    sums, seen = np.zeros((*pieces[0].shape[:2], MOST_NUMBERS)), 0
    for flat in pieces:
        seen += flat.shape[2]
        places = np.arange(seen - flat.shape[2], seen)
        signs = np.sign(np.sin(1.0 + np.outer(places, np.sqrt(2.0 + np.arange(MOST_NUMBERS)))))
        mean, least = flat.mean(axis=(0, 1), dtype=np.float64), 1e-300
        # Chain by chain: a float64 copy of all draws may not fit.
        squares = sum(((chain - mean) ** 2).sum(axis=0) for chain in flat)
        weights = signs / np.sqrt(np.maximum(squares, least))[:, None]
        for number, chain in enumerate(flat):
            sums[number] += (chain - mean) @ weights
    return sums, np.array([f"sum {i} of all with various signs" for i in range(MOST_NUMBERS)])
