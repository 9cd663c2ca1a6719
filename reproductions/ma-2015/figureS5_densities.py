"""Supplement, Figure S.5: the densities of the draws of Figure 2 left, from its stored result."""

import json
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from common import EDGES, HERE, METHODS, law, one_peak, step_key, two_peaks, write

STEP, NOISE = 0.03, "noise 0"
LABELS = {name: method.label for name, method in METHODS.items()}
LABELS |= {f"{name}_as_printed": f"{LABELS[name]}, C = 0.5 as printed" for name in ("naive", "gsgrhmc")}


def main() -> None:
    """Write JSON and PNG."""
    stored = json.loads((HERE / "results" / "figure2_left.json").read_text(encoding="utf-8"))["measured"]
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    measured: dict[str, Any] = {}
    width, centre = np.diff(EDGES), (EDGES[:-1] + EDGES[1:]) / 2
    near = np.abs(centre) < 0.5
    for axis, (target, energy) in zip(axes, (("one_peak", one_peak), ("two_peaks", two_peaks)), strict=True):
        exact = law(energy).bins
        axis.plot(centre, exact / width, "k", lw=2.5, alpha=0.5, label="exact")
        measured[target] = {}
        for name, by_step in stored[target].items():
            bins = np.array(by_step[step_key(STEP)][NOISE]["bins"])
            axis.plot(centre, bins / width, lw=1, label=LABELS[name])
            measured[target][name] = {
                "within_a_half_of_0": float(bins[near].sum()),
                "exact": float(exact[near].sum()),
                "total_variation": float(0.5 * np.abs(bins - exact).sum()),
            }
        axis.set(xlabel="x", title=target.replace("_", " "))
        axis.legend(fontsize=7, loc="upper center", ncols=2)
        axis.set_ylim(0, 1.4 * axis.get_ylim()[1])
    axes[0].set_ylabel("density")
    figure.savefig(HERE / "figureS5_densities.png", dpi=110)
    write("figureS5_densities", {"step_size": STEP, "gradient_noise": 0.0}, measured)
    print(json.dumps(measured, indent=1))


if __name__ == "__main__":
    main()
