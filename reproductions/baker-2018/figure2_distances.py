"""Figure 2: Kolmogorov-Smirnov distance from a sparse and a dense Dirichlet posterior, by minibatch size.

As in the paper each method has, for each minibatch size, the step size with the smallest mean distance over
the seeds that are shown: it is tuned on the score itself. The paper shows five seeds, here there are 20. The
start of the sparse experiment is the release's, near (100, ..., 100): a small step has not left it after 1000
steps.
"""

import sys
import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from common import (
    BURN_IN,
    DATA_SIZE,
    DENSE,
    HERE,
    SPARSE,
    STEPS,
    Problem,
    distance,
    exact,
    scir,
    sgrld,
    sgrld_of_the_library,
    summary,
    write,
)

BATCHES, SEEDS = (1, 10, 50, 100, 500), 20
SCIR_STEPS = (1.0, 0.5, 0.1, 0.05, 0.01, 0.005, 0.001)
SGRLD_STEPS = (1.0, 0.5, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 1e-4, 1e-5)
FORMS = ("corrected", "posterior", "released")
RELEASED_STEPS = (1e-3, 5e-4, 1e-4, 5e-5, 1e-5, 5e-6, 1e-6)


def best(distances: dict[float, np.ndarray]) -> dict[str, dict]:
    """For each minibatch size the step size of the smallest mean, and its distances ``[batch, seed]``."""
    rows = {}
    for i, n in enumerate(BATCHES):
        step = min(distances, key=lambda h: distances[h][i].mean())
        rows[str(n)] = {"step_size": step, **summary(distances[step][i]), "all": distances[step][i].tolist()}
    return rows


def measure(problem: Problem, rng: np.random.Generator) -> dict[str, dict]:
    """All methods on one target."""
    sizes = np.repeat(BATCHES, SEEDS)

    def score(draws: np.ndarray) -> np.ndarray:
        return distance(draws, problem.shapes).reshape(len(BATCHES), SEEDS)

    found = {"exact": summary(distance(exact(rng, problem, SEEDS), problem.shapes))}
    found["scir"] = best({h: score(scir(rng, problem, sizes, h)) for h in SCIR_STEPS})
    for form in FORMS:
        grid = sorted({*SGRLD_STEPS, *RELEASED_STEPS}) if form == "released" else SGRLD_STEPS
        begun = time.monotonic()
        found[f"sgrld_{form}"] = best({h: score(sgrld(rng, problem, sizes, h, form)) for h in grid})
        if form == "corrected":
            at = found["sgrld_corrected"]["10"]["step_size"]
            library = sgrld_of_the_library(rng, problem, 10, SEEDS, at)
            found["sgrld_of_the_library"] = {
                "10": {"step_size": at, **summary(distance(library, problem.shapes))}
            }
        print(f"{form}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return found


def picture(measured: dict[str, dict]) -> None:
    """Two panels, every seed a point."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
    labels = {
        "scir": "SCIR",
        "sgrld_corrected": "SGRLD, corrected",
        "sgrld_posterior": "SGRLD on the posterior's gammas",
        "sgrld_released": "SGRLD, as released",
    }
    for axis, (name, found) in zip(axes, measured.items(), strict=True):
        axis.axhline(found["exact"]["mean"], color="k", lw=1, ls=":", label="exact")
        for i, (method, label) in enumerate(labels.items()):
            means = [found[method][str(n)]["mean"] for n in BATCHES]
            axis.plot(np.array(BATCHES) / DATA_SIZE, means, f"C{i}-", lw=1, label=label)
            for n in BATCHES:
                points = found[method][str(n)]["all"]
                axis.plot(np.full(len(points), n / DATA_SIZE), points, f"C{i}.", ms=3, alpha=0.5)
        axis.set(xscale="log", xlabel="share of the data in a minibatch", title=name)
    axes[0].set_ylabel("d_KS, best step size")
    axes[1].legend()
    figure.savefig(HERE / "figure2_distances.png", dpi=110)


def main() -> None:
    """Run all, write JSON and PNG."""
    rng = np.random.default_rng(2018)
    measured = {name: measure(problem, rng) for name, problem in (("sparse", SPARSE), ("dense", DENSE))}
    picture(measured)
    settings = {
        "seeds": SEEDS,
        "draws": STEPS,
        "burn_in": BURN_IN,
        "data": DATA_SIZE,
        "scir_steps": list(SCIR_STEPS),
        "sgrld_steps": list(SGRLD_STEPS),
        "released_steps": list(RELEASED_STEPS),
    }
    for found in measured.values():
        for rows in found.values():
            for row in rows.values():
                if isinstance(row, dict):
                    row.pop("all", None)
        ours = found["scir"]["10"]["mean"]
        found["scir_over_sgrld_corrected_at_10"] = ours / found["sgrld_corrected"]["10"]["mean"]
        found["scir_over_sgrld_corrected_at_500"] = (
            found["scir"]["500"]["mean"] / found["sgrld_corrected"]["500"]["mean"]
        )
        found["scir_over_sgrld_posterior_at_10"] = ours / found["sgrld_posterior"]["10"]["mean"]
    write("figure2_distances", settings, measured)


if __name__ == "__main__":
    main()
