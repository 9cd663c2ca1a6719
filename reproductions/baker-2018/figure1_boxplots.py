"""Figure 1: the fifth component of omega in the running experiment, by 1000 draws of each method.

Minibatches of 10, seed 11 as in the release; 1000 steps of burn-in. Each stochastic method has the step
size that figure2_distances.py found best for it.
"""

import json

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from common import BURN_IN, DATA_SIZE, HERE, SPARSE, STEPS, exact, scir, sgrld, write

BATCH, SEED, COMPONENT = 10, 11, 4
TRUTH = {1: -23.22, 5: -16.23, 25: -9.24, 50: -6.23, 75: -4.45, 95: -3.24}  # log10 quantiles, by the Beta law


def best_steps() -> dict[str, float]:
    """Of the stored Figure 2."""
    stored = json.loads((HERE / "results" / "figure2_distances.json").read_text(encoding="utf-8"))
    return {
        name: row[str(BATCH)]["step_size"]
        for name, row in stored["measured"]["sparse"].items()
        if isinstance(row, dict) and str(BATCH) in row
    }


def main() -> None:
    """Run all, write JSON and PNG."""
    steps, one = best_steps(), np.array([BATCH])
    rng = np.random.default_rng(SEED)
    draws = {"exact": exact(rng, SPARSE, 1)}
    draws["SCIR"] = scir(rng, SPARSE, one, steps["scir"])
    for form in ("corrected", "released"):
        draws[f"SGRLD {form}"] = sgrld(rng, SPARSE, one, steps[f"sgrld_{form}"], form)
    log10 = {name: row[0, :, COMPONENT] / np.log(10) for name, row in draws.items()}
    figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
    axis.boxplot(log10.values(), tick_labels=log10.keys(), flierprops={"ms": 2})
    axis.set(ylabel=r"$\log_{10} \omega_5$", title="1000 draws each, minibatches of 10")
    figure.savefig(HERE / "figure1_boxplots.png", dpi=110)
    measured = {
        name.replace(" ", "_").lower(): {str(q): float(np.percentile(row, q)) for q in TRUTH}
        for name, row in log10.items()
    }
    measured["truth"] = {str(q): value for q, value in TRUTH.items()}
    settings = {"batch_size": BATCH, "seed": SEED, "draws": STEPS, "burn_in": BURN_IN, "data": DATA_SIZE}
    write("figure1_boxplots", settings | {"step_sizes": steps}, measured)


if __name__ == "__main__":
    main()
