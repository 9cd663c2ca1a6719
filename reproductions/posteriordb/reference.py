"""Reference draws of functions that do not depend on the labels of topics, by collapsed Gibbs sampling.

    python reproductions/posteriordb/reference.py --data FOLDER [--only NAME ...]

writes ``results/NAME.json`` (summaries) and ``results/NAME.draws.json.zip`` (every tenth draw, a list
with one dictionary a chain, as posteriordb has it).
"""

import json
import time
import zipfile
from pathlib import Path

import numpy as np
from common import (
    CHAINS,
    HERE,
    PLANS,
    Plan,
    exchanges,
    load,
    over_quantities,
    read_arguments,
    run,
    summary,
    write,
)
from quantities import Quantities
from samplers import Collapsed, Problem

SEED = 1
EVERY, DIGITS = 10, 6  # of the draws that are stored


def settings_of(problem: Problem, plan: Plan, seed: int) -> dict[str, object]:
    """What was run."""
    return {
        "topics": problem.num_topics,
        "documents": problem.num_documents,
        "words": problem.num_words,
        "tokens": len(problem.words),
        "alpha": problem.alpha,
        "beta": problem.beta,
        "chains": CHAINS,
        "warm_up_draws": plan.warm_up,
        "draws_of_a_chain": plan.draws,
        "sweeps_between_draws": plan.sweeps,
        "replicas": len(plan.ladder),
        "lowest_power": plan.ladder[0],
        "seed": seed,
    }


def store_draws(name: str, draws: np.ndarray, names: list[str]) -> None:
    """Every tenth draw, in an archive that is the same for the same draws."""
    chains = [
        {
            key: [float(f"{value:.{DIGITS + 2 * key.startswith('log')}g}") for value in chain[::EVERY, i]]
            for i, key in enumerate(names)
        }
        for chain in draws
    ]
    with zipfile.ZipFile(HERE / "results" / f"{name}.draws.json.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        entry = zipfile.ZipInfo(f"{name}.json", (1980, 1, 1, 0, 0, 0))
        entry.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(entry, json.dumps(chains, separators=(",", ":")))


def make(folder: Path, name: str) -> None:
    """One posterior."""
    problem, plan, start = load(folder, name), PLANS[name], time.monotonic()
    quantities = Quantities(problem)
    draws, chains = run(problem, Collapsed, plan, SEED, quantities)
    table = summary(draws, quantities.names)
    found = over_quantities(table) | exchanges(chains) | {"seconds": round(time.monotonic() - start)}
    store_draws(name, draws, quantities.names)
    write(name, settings_of(problem, plan, SEED), found | {"quantities": table})


def main() -> None:
    arguments = read_arguments(__doc__)
    for name in arguments.only:
        make(arguments.data, name)


if __name__ == "__main__":
    main()
