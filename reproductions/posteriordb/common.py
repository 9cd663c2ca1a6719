"""What is read, run and summarised for every posterior."""

import argparse
import functools
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from samplers import Exchange, Problem
from scipy import stats

import geodrift as gd

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

import record  # noqa: E402

# Eight digits: a log joint of -243,000 is known to a few units.
write = functools.partial(record.write, HERE, digits=8)

CHAINS = 10
FAMILY_ERROR = 0.01  # of all comparisons of one file together


class Plan(NamedTuple):
    """How long, and by which powers, a posterior is sampled."""

    ladder: np.ndarray  # powers of replica exchange, the last one 1
    sweeps: int  # between draws
    warm_up: int  # draws that are left out
    draws: int  # of each chain


THREE_DOCS = Plan(np.geomspace(0.01, 1, 20), 5, 300, 1000)
THREE_MEN = Plan(np.geomspace(0.005, 1, 32), 3, 200, 1000)
CHAPTERS = Plan(np.ones(1), 40, 150, 1000)
PARAGRAPHS = Plan(np.ones(1), 80, 150, 1000)
PLANS = {
    "three_docs1200-ldaK2": THREE_DOCS,
    "three_men1-ldaK2": THREE_MEN,
    "three_men2-ldaK2": THREE_MEN,
    "three_men3-ldaK2": THREE_MEN,
    "prideprejudice_chapter-ldaK5": CHAPTERS,
    "prideprejudice_paragraph-ldaK5": PARAGRAPHS,
}


def load(folder: Path, name: str) -> Problem:
    """A posterior from a folder with its ``NAME.json`` and the ``DATA.json.zip`` which that one names.

    The model of five topics takes its priors from the data, that of two has ones.
    """
    about = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    with zipfile.ZipFile(folder / f"{about['data_name']}.json.zip") as archive:
        data = json.loads(archive.read(f"{about['data_name']}.json"))
    num_topics = int(about["model_name"].removeprefix("ldaK"))
    alpha, beta = (set(data.get(key, [1.0])) for key in ("alpha", "beta"))
    if len(alpha) > 1 or len(beta) > 1:
        raise ValueError(f"{name}: a prior that is not symmetric is not sampled here")
    words, documents = (np.array(data[key]) - 1 for key in ("w", "doc"))
    return Problem(words, documents, data["V"], data["M"], num_topics, alpha.pop(), beta.pop())


def run(
    problem: Problem,
    kernel: type,
    plan: Plan,
    seed: int,
    quantities: Callable[[Exchange], np.ndarray],
    chains: int = CHAINS,
) -> tuple[np.ndarray, list[Exchange]]:
    """Draws ``[chain, draw, quantity]`` from uniform starts, and the chains."""
    found, made = [], []
    for number in range(chains):
        chain, rows = Exchange(problem, kernel, plan.ladder, seed, number), []
        for draw in range(plan.warm_up + plan.draws):
            chain.advance(plan.sweeps)
            if draw >= plan.warm_up:
                rows.append(quantities(chain))
        found.append(rows)
        made.append(chain)
    return np.array(found), made


def summary(draws: np.ndarray, names: list[str]) -> dict[str, dict[str, float]]:
    """Mean, standard deviation, its Monte Carlo standard error, R-hat and effective draws by quantity."""
    columns = {
        "mean": draws.mean(axis=(0, 1)),
        "sd": draws.std(axis=(0, 1), ddof=1),
        "mcse": gd.diagnostics.mcse(draws),
        "rhat": gd.diagnostics.rhat(draws),
        "ess": gd.diagnostics.ess(draws, method="mean"),
    }
    return {name: {key: float(value[i]) for key, value in columns.items()} for i, name in enumerate(names)}


def over_quantities(table: dict[str, dict[str, float]]) -> dict[str, float]:
    """The worst of a summary."""
    return {
        "largest_rhat": max(row["rhat"] for row in table.values()),
        "smallest_ess": min(row["ess"] for row in table.values()),
    }


def exchanges(chains: list[Exchange]) -> dict[str, float]:
    """How often replicas were exchanged; nothing where there is one power."""
    if len(chains[0].kernels) == 1:
        return {}
    rates = sum(chain.taken for chain in chains) / sum(chain.tried for chain in chains)
    trips = [chain.trips for chain in chains]
    return {
        "lowest_exchange_rate": float(rates.min()),
        "trips": sum(trips),
        "fewest_trips_of_a_chain": min(trips),
        "topics_swapped": sum(chain.relabelled for chain in chains),
    }


def compared(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """Differences of means in combined standard errors, over the quantities that both have."""
    names = [name for name in ours if name in theirs]
    z = {
        name: (ours[name]["mean"] - theirs[name]["mean"])
        / np.hypot(ours[name]["mcse"], theirs[name].get("mcse", 0.0))
        for name in names
    }
    worst = max(z, key=lambda name: abs(z[name]))
    return {
        "compared": len(names),
        "largest_z": abs(z[worst]),
        "of": worst,
        "bar": float(stats.norm.isf(FAMILY_ERROR / (2 * len(names)))),
        "root_mean_square_z": float(np.sqrt(np.mean(np.square(list(z.values()))))),
        "z": z,
    }


def read_arguments(about: str) -> argparse.Namespace:
    """Where the data are, and which posteriors are wanted."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--data", type=Path, required=True, help="folder of the posteriors' JSON files")
    parser.add_argument("--only", nargs="*", choices=list(PLANS), default=list(PLANS))
    return parser.parse_args()
