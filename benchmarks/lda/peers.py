"""Held-out perplexity by seconds of training of geodrift, tomotopy, scikit-learn and gensim, on two cores.

    python benchmarks/lda/peers.py --data FOLDER --json benchmarks/results/lda-peers.json

FOLDER holds a folder for each corpus, with train-counts.npz and test-counts.npz (scipy, documents x words).
An hour of two idle cores: each run is a process of its own, one at a time, seeds outermost; all have the
prior alpha = 0.1, eta = 0.01 and the same two cores. The clock is of training alone (`contestants.py` says
what that is) and all states are scored after it by `completion_perplexity`, on the same held-out tenth of
each test document's tokens.

The runs that are in the JSON file already are not run again, so that a comparison can be made in pieces:
`--corpora`, `--contestants` and `--seeds` choose some. Beside the file a picture of the same name is drawn. A
program that is not installed is named under "missing", in the picture too. Contestants named geodrift-METHOD
are our other methods.
"""

import argparse
import importlib.metadata
import itertools
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

CORES = 2
# Before numpy and numba are imported, here and in the processes that are started.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = str(CORES)
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from bars import PRIOR, RUNS  # noqa: E402
from contestants import CONTESTANTS, ONLINE, OTHER_METHODS  # noqa: E402

from geodrift.models.latent_dirichlet_allocation import completion_perplexity  # noqa: E402

MARKS = (1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0)
ALL = CONTESTANTS | OTHER_METHODS
CORPORA = {name: (topics, float(seconds)) for name, topics, seconds, *_ in RUNS}
PACKAGES = {"geodrift": "geodrift", "tomotopy": "tomotopy", "sklearn": "scikit-learn", "gensim": "gensim"}
SETTINGS = {
    "prior": PRIOR,
    "cores": CORES,
    "topics": {name: topics for name, (topics, _) in CORPORA.items()},
    "geodrift": "gibbs, the defaults, planned for the last mark",
    "tomotopy": "LDAModel, one sweep a step, no optimisation of the prior",
    "online variational Bayes: minibatch, decay, offset": ONLINE,
}


def run(folder: Path, contestant: str, topics: int, seed: int, marks: list[float]) -> dict:
    """One contestant's states and their scores."""
    train, test = (sp.load_npz(folder / f"{part}-counts.npz").tocsr() for part in ("train", "test"))
    load = os.getloadavg()[0]
    start_up, states = ALL[contestant](train, topics, seed, marks)
    rows = []
    for at, state, draws, passes in states:
        score = None
        if state is not None:
            score = completion_perplexity(test, state, PRIOR["doc_topic_prior"]).perplexity
        rows.append({"seconds": at, "draws": draws, "passes": passes, "perplexity": score})
    return {"start_up_seconds": start_up, "load_before": load, "states": rows}


def in_a_process(folder: Path, *task: Any) -> dict:
    """What `run` finds, in a process of its own: a plain one, since gensim and joblib start processes too.

    Raises:
        CalledProcessError: The process has failed.
    """
    with tempfile.TemporaryDirectory() as place:
        answer = Path(place) / "answer.json"
        command = [sys.executable, __file__, "--child", json.dumps([str(folder), *task, str(answer)])]
        subprocess.run(command, check=True, stdout=sys.stderr)
        return json.loads(answer.read_text())


def child(task: str) -> None:
    """One run, its result in the file that the task names."""
    folder, *values, answer = json.loads(task)
    Path(answer).write_text(json.dumps(run(Path(folder), *values)))
    os._exit(0)  # some programs' workers would keep the process


def version(contestant: str) -> str | None:
    """Of the installed program, None where it is not installed."""
    try:
        return importlib.metadata.version(PACKAGES[contestant.partition("-")[0]])
    except importlib.metadata.PackageNotFoundError:
        return None


def machine() -> dict:
    """What the runs that follow are made on."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    packages = {name: version(name) for name in PACKAGES}
    return {"machine": platform.machine(), "python": platform.python_version(), "commit": commit} | packages


def write(path: Path, result: dict) -> None:
    """The file as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(result, indent=1) + "\n")
    part.replace(path)


def medians(runs: list[dict], draws_of_one: bool) -> dict[float, list[float]]:
    """Perplexities of all seeds by seconds, of one state or of an average of draws."""
    found: dict[float, list[float]] = {}
    for state in itertools.chain.from_iterable(one["states"] for one in runs):
        if (state["draws"] == 1) == draws_of_one and state["perplexity"] is not None:
            found.setdefault(state["seconds"], []).append(state["perplexity"])
    return dict(sorted(found.items()))


def picture(result: dict, path: Path) -> None:
    """A panel for each corpus: the median of the seeds, with a band over all of them."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    corpora = list(dict.fromkeys(one["corpus"] for one in result["runs"]))
    figure, panels = plt.subplots(
        1, len(corpora), figsize=(6 * len(corpora), 4.5), layout="constrained", squeeze=False
    )
    for panel, corpus in zip(panels[0], corpora, strict=True):
        for number, contestant in enumerate(ALL):
            runs = [r for r in result["runs"] if (r["corpus"], r["contestant"]) == (corpus, contestant)]
            if not runs and contestant not in result["missing"]:
                continue
            curve = medians(runs, True)
            label = PACKAGES.get(contestant, contestant) + (": not installed" if not runs else "")
            middle = [np.median(values) for values in curve.values()]
            panel.plot(list(curve), middle, f"C{number}.-", label=label)
            low, high = ([f(values) for values in curve.values()] for f in (min, max))
            panel.fill_between(list(curve), low, high, color=f"C{number}", alpha=0.2, lw=0)
            if averaged := medians(runs, False):
                seconds, values = zip(*((at, v) for at, vs in averaged.items() for v in vs), strict=True)
                panel.plot(
                    np.median(seconds), np.median(values), f"C{number}*", ms=10, label="average of ten draws"
                )
        panel.set(
            xscale="log",
            xlabel="seconds of training, two cores",
            title=f"{corpus}, K = {CORPORA[corpus][0]}",
        )
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter(matplotlib.ticker.ScalarFormatter())
        panel.yaxis.set_minor_formatter(matplotlib.ticker.ScalarFormatter())
        panel.legend()
    panels[0][0].set_ylabel("perplexity of held-out tokens")
    figure.savefig(path, dpi=110)


def table(result: dict) -> str:
    """A line for each corpus and contestant: medians at the marks."""
    lines = []
    for corpus, contestant in itertools.product(CORPORA, ALL):
        runs = [r for r in result["runs"] if (r["corpus"], r["contestant"]) == (corpus, contestant)]
        values = [f"{at:g} s {np.median(found):.0f}" for at, found in medians(runs, True).items()]
        # Their seconds differ from seed to seed: those of the last stored draw.
        if averaged := list(itertools.chain.from_iterable(medians(runs, False).values())):
            values.append(f"ten draws {np.median(averaged):.0f}")
        if runs:
            lines.append(f"{corpus:10} {contestant:15} {len(runs)} seeds: {', '.join(values)}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--json", required=True, type=Path)
    parser.add_argument("--corpora", nargs="+", choices=list(CORPORA), default=list(CORPORA))
    parser.add_argument("--contestants", nargs="+", choices=list(ALL), default=list(CONTESTANTS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--seconds", type=float, help="of each run, where not those of the corpus")
    arguments = parser.parse_args()
    result = {"settings": SETTINGS, "missing": [], "runs": []}
    if arguments.json.exists():
        result = json.loads(arguments.json.read_text())
    result["missing"] = [name for name in CONTESTANTS if version(name) is None]
    for seed, corpus, contestant in itertools.product(
        arguments.seeds, arguments.corpora, arguments.contestants
    ):
        topics, seconds = CORPORA[corpus]
        seconds = arguments.seconds or seconds
        key = {"corpus": corpus, "contestant": contestant, "seed": seed, "budget": seconds}
        if contestant in result["missing"] or any(key.items() <= one.items() for one in result["runs"]):
            continue
        marks = sorted({mark for mark in MARKS if mark < seconds} | {seconds})
        begun = time.perf_counter()
        found = in_a_process(arguments.data / corpus, contestant, topics, seed, marks)
        result["runs"].append(key | found | {"all_seconds": time.perf_counter() - begun} | machine())
        write(arguments.json, result)
        print(json.dumps(key | {"states": found["states"]}), file=sys.stderr, flush=True)
    write(arguments.json, result)
    picture(result, arguments.json.with_suffix(".png"))
    print(table(result), file=sys.stderr)
    print(json.dumps(result))


if __name__ == "__main__":
    child(sys.argv[2]) if sys.argv[1:2] == ["--child"] else main()
