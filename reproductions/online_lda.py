"""Three papers' figures of latent Dirichlet allocation from a stream, as one experiment under one prior.

Fig. 2(b) of Patterson and Teh (2013), Fig. 3 of Ma, Chen and Fox (2015) and Fig. 3(a) of Baker et al. (2018)
show perplexity against documents seen, in minibatches of 50 over about 8,000 words. Their methods run under
priors that differ; here all have one, each at the best of a grid of schedules on validation documents. Their
samples of Wikipedia are not to be had: give a folder with
`train-counts.npz`, `valid-counts.npz` and `test-counts.npz`, scipy sparse counts of a large corpus.

    python reproductions/online_lda.py --data FOLDER [--keep RUNS]

Results and pictures are written into the three papers' folders.
"""

import argparse
import itertools
import json
import sys
import time
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
import record
import scipy.sparse as sp
from online_lda_methods import ALPHA, BATCH, ETA, NAMES, SWEEPS, TOPICS, Schedule, learner, schedules

from geodrift.models.latent_dirichlet_allocation import completion_perplexity

HERE = Path(__file__).resolve().parent
CHECKPOINTS = (1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 40_000)  # documents
TUNING = 20_000  # documents of a run that chooses the schedule
EVERY, DRAWS = 1_000, 10  # documents between draws, and how many of the last half are averaged
SEEDS = (1, 2, 3)
UNTIMED = ("SGRHMC_published", "SCIR_warmed_up")  # one by NumPy; of one the first minibatches make no moves
ROUNDS = 60  # minibatches of which costs are the second half's
FIGURES = {
    "patterson-2013": ("figure2b_lda", ("SGRLD", "HSVG", "OVB")),
    "ma-2015": (
        "figure3_lda",
        ("SGRHMC", "SGRLD", "SGRLD_posterior", "SGHMC", "SGLD", "SGRHMC_prior", "SGRHMC_published"),
    ),
    "baker-2018": ("figure3a_lda", ("SCIR", "SGRLD", "SGRLD_posterior", "SCIR_warmed_up")),
}
LABELS = {
    "OVB": "online VB",
    "SGRLD_posterior": "SGRLD on the posterior's gammas",
    "SGRHMC": "SGRHMC on the posterior's gammas",
    "SGRHMC_prior": "SGRHMC, ABOBA",
    "SGRHMC_published": "SGRHMC, Algorithm 1",
    "SCIR_warmed_up": "SCIR after the library's warm-up",
}


def run(
    name: str, schedule: Schedule, data: dict[str, sp.csr_matrix], part: str, seed: int
) -> dict[str, Any]:
    """One run: perplexities of ``part`` at the checkpoints, or of "valid" after `TUNING` documents."""
    train, variational = data["train"], name in ("HSVG", "OVB")
    learns = learner(name, schedule, train, seed)
    checkpoints = CHECKPOINTS if part == "test" else (TUNING,)
    order = np.random.default_rng(seed).permutation(train.shape[0])
    draws: list[np.ndarray] = []
    found: dict[str, Any] = {"averaged": [], "one": []}
    for number in range(BATCH, checkpoints[-1] + 1, BATCH):
        learns.feed(train[order[number - BATCH : number]])
        if number % EVERY == 0:
            draws.append(learns.topics())
        if number in checkpoints:
            half = draws[len(draws) // 2 :]
            places = np.linspace(0, len(half) - 1, min(DRAWS, len(half))).astype(int)
            found["one"].append(score(draws[-1], data[part]))
            found["averaged"].append(
                found["one"][-1]
                if variational
                else score(np.stack([half[place] for place in places]), data[part])
            )
    return found


def score(topics: np.ndarray, counts: sp.csr_matrix) -> float:
    """Document completion, 90/10; that of knowing nothing where the topics are no numbers."""
    if not np.isfinite(topics).all():
        return float(counts.shape[1])
    return completion_perplexity(counts, topics, ALPHA, sweeps=20, burn_in=10).perplexity


class Runs:
    """Runs that are made once, and kept if there is a folder: each is a file, so that two calls may share it.

    Args:
        data: Counts of the three parts.
        folder: Of the files.
    """

    def __init__(self, data: dict[str, sp.csr_matrix], folder: Path | None) -> None:
        self.data, self.folder = data, folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def get(self, name: str, schedule: Schedule, part: str, seed: int) -> dict[str, Any]:
        key = "-".join(str(value) for value in (name, *schedule, part, seed))
        path = None if self.folder is None else self.folder / f"{key}.json"
        if path is not None and path.exists():
            return json.loads(path.read_text())
        found = run(name, schedule, self.data, part, seed)
        print(key, found, file=sys.stderr, flush=True)
        if path is not None:
            whole = path.with_suffix(".part")
            whole.write_text(json.dumps(found))
            whole.replace(path)
        return found


def measure(name: str, runs: Runs) -> dict[str, Any]:
    """The best schedule on validation documents (without warm-up), then all seeds at it on test documents."""
    tuned = name.removesuffix("_warmed_up")
    tried = {plan: runs.get(tuned, plan, "valid", 0)["averaged"][-1] for plan in schedules(tuned)}
    best = min(tried, key=lambda plan: tried[plan])
    found = [runs.get(name, best, "test", seed) for seed in SEEDS]
    return {
        "schedule": best,
        "validation": {named(plan): value for plan, value in tried.items()},
        "perplexity": [one["averaged"] for one in found],
        "of_one_draw": [one["one"] for one in found],
        "median": np.median([one["averaged"] for one in found], axis=0),
        "final": float(np.median([one["averaged"][-1] for one in found])),
        "final_of_one_draw": float(np.median([one["one"][-1] for one in found])),
    }


def named(schedule: Schedule) -> str:
    """A key without a dot."""
    h, b, c = schedule
    return f"h {1000 * h:g} thousandths, b {b:g}, c {100 * c:g} hundredths"


def ratios(values: dict[str, float]) -> dict[str, float]:
    """Of each pair."""
    return {f"{one}_over_{two}": values[one] / values[two] for one, two in itertools.permutations(values, 2)}


def costs(names: list[str], train: sp.csr_matrix) -> dict[str, float]:
    """Processor seconds of 100 documents, all methods taking turns: each one's median minibatch."""
    learners = {name: learner(name, schedules(name)[-1], train, 0) for name in names}
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for number in range(ROUNDS):
        rows = train[number * BATCH : (number + 1) * BATCH]
        for name, learns in learners.items():
            begun = time.process_time()
            learns.feed(rows)
            seconds[name].append(time.process_time() - begun)
    return {name: 100 / BATCH * float(np.median(found[ROUNDS // 2 :])) for name, found in seconds.items()}


def picture(methods: dict[str, Any], path: Path) -> None:
    """Perplexity against documents, every seed a line."""
    figure, axis = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
    for number, (name, found) in enumerate(methods.items()):
        for seed, curve in enumerate(found["perplexity"]):
            label = None if seed else LABELS.get(name, name)
            axis.plot(CHECKPOINTS, curve, f"C{number}.-", lw=1, ms=4, label=label)
    axis.set(xscale="log", yscale="log", xlabel="documents", ylabel="perplexity of held-out tokens")
    for formatter in (axis.yaxis.set_major_formatter, axis.yaxis.set_minor_formatter):
        formatter(matplotlib.ticker.ScalarFormatter())
    values = np.concatenate([np.ravel(found["perplexity"]) for found in methods.values()])
    axis.set_ylim(0.97 * values.min(), min(1.03 * values.max(), 5_000))  # what has gone wrong is above
    axis.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Measure every method, write each figure's."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--keep", type=Path, help="folder of finished runs, from which an interrupted call goes on"
    )
    parser.add_argument("--only", nargs="+", choices=NAMES, help="run these, for --keep, and write nothing")
    arguments = parser.parse_args()
    data = {p: sp.load_npz(arguments.data / f"{p}-counts.npz").tocsr() for p in ("train", "valid", "test")}
    runs = Runs(data, arguments.keep)
    methods = {name: measure(name, runs) for name in arguments.only or NAMES}
    if arguments.only:
        return
    settings = {
        "topics": TOPICS,
        "batch": BATCH,
        "alpha": ALPHA,
        "eta": ETA,
        "sweeps": SWEEPS,
        "documents": data["train"].shape[0],
        "words": data["train"].shape[1],
        "checkpoints": CHECKPOINTS,
        "tuned_at": TUNING,
        "seeds": SEEDS,
    }
    for paper, (figure, names) in FIGURES.items():
        own = {name: methods[name] for name in names}
        seconds = costs([name for name in names if name not in UNTIMED], data["train"])
        four = [seconds[name] for name in ("SGRLD", "SGRHMC", "SGLD", "SGHMC") if name in seconds]
        measured = {
            "methods": own,
            "ratios": ratios({name: one["final"] for name, one in own.items()}),
            "ratios_of_one_draw": ratios({name: one["final_of_one_draw"] for name, one in own.items()}),
            "ratios_at_5000": ratios({n: one["median"][CHECKPOINTS.index(5_000)] for n, one in own.items()}),
            "processor_seconds_per_100_documents": seconds,
            "four_slowest_over_fastest": max(four) / min(four) if len(four) == 4 else None,
        }
        record.write(HERE / paper, figure, settings, measured)
        picture(own, HERE / paper / f"{figure}.png")


if __name__ == "__main__":
    main()
