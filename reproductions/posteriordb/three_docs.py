"""The posterior of three_docs1200 exactly, and what chains without replica exchange make of it.

python reproductions/posteriordb/three_docs.py --data FOLDER
"""

import json
from pathlib import Path

import numpy as np
from common import CHAINS, HERE, Plan, compared, load, over_quantities, read_arguments, run, summary, write
from exact import FourCells, means
from quantities import Quantities
from samplers import Collapsed, Exchange, Uncollapsed

NAME, SEED = "three_docs1200-ldaK2", 5
ALONE = Plan(np.ones(1), sweeps=20, warm_up=200, draws=500)


def grouping(chain: Exchange) -> int:
    """Of `FourCells.sums`, with its complement as one: the labels do not matter."""
    in_documents = chain.cold.in_documents
    code = int(((2 * in_documents[:, 0] > in_documents.sum(axis=1)) << np.arange(3)).sum())
    return min(code, 7 - code)


def alone(problem, quantities: Quantities, likeliest: int) -> dict[str, dict[str, float]]:
    """Chains without exchange: whether they agree, and how many end where the posterior is."""
    found = {}
    for kernel in (Collapsed, Uncollapsed):
        draws, chains = run(problem, kernel, ALONE, SEED, quantities)
        right = [grouping(chain) == likeliest for chain in chains]
        found[kernel.__name__.lower()] = over_quantities(summary(draws, quantities.names)) | {
            "chains": CHAINS,
            "chains_in_the_likeliest_grouping": sum(right),
            "log_joint_of_the_chains": np.sort(draws[:, :, 0].mean(axis=1)),
        }
    return found


def main(folder: Path) -> None:
    problem = load(folder, NAME)
    quantities, cells = Quantities(problem), FourCells(problem)
    states, log_weights, shares = cells.sums()
    exact = means(
        quantities, ((w, cells.counts(state)) for w, state in zip(log_weights, states, strict=True))
    )
    pairs = shares + shares[::-1]
    measured = {
        "log10_share_of_a_grouping": dict(
            zip(("123", "1|23", "2|13", "3|12"), np.log10(pairs[:4]), strict=True)
        ),
        "log10_share_of_the_second_grouping": float(np.sort(np.log10(pairs[:4]))[-2]),
        "alone": alone(problem, quantities, int(pairs[:4].argmax())),
        "exact": exact,
    }
    for name, file, key in (("collapsed", NAME, ""), ("uncollapsed", f"{NAME}.agreement", "uncollapsed")):
        stored = json.loads((HERE / "results" / f"{file}.json").read_text(encoding="utf-8"))["measured"]
        table = (stored[key] if key else stored)["quantities"]
        measured[f"{name}_against_exact"] = compared(table, exact)
    settings = {"chains": CHAINS, "seed": SEED, **ALONE._asdict(), "states_summed": len(states)}
    write("three_docs_exact", settings, measured)


if __name__ == "__main__":
    arguments = read_arguments(__doc__)
    main(arguments.data)
