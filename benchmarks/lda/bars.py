"""Held-out perplexity by seconds of training, token draws a second, and the cost of a small minibatch.

Each row of the table is one bar: what must hold, the goal, and the median of the seeds. Perplexity is of
document completion, 10% of each test document's tokens held out; the one-state rows score the topics' mean
given the assignments, the others ten stored draws. The clock is training alone: it stands still while a state
is scored, and start-up and compilation are before it.

    python benchmarks/lda/bars.py --data FOLDER --json benchmarks/results/lda-bars.json

FOLDER holds a folder for each corpus, with train-counts.npz and test-counts.npz (scipy, documents x words).
With `--clock processor` the bars' seconds are processor seconds over the number of threads, which another
program that runs at the same time slows less; the run itself is planned by the wall's.
"""

import argparse
import importlib
import json
import os
import pathlib
import sys
import time
from collections.abc import Callable

import numba
import numpy as np
import scipy.sparse as sp

from geodrift.data import Corpus
from geodrift.driver import Length, chunks, plan_of
from geodrift.kernels._vector_draw import padded
from geodrift.models.latent_dirichlet_allocation import Chain, Settings, completion_perplexity

PRIOR = {"doc_topic_prior": 0.1, "topic_word_prior": 0.01}
# Corpus, topics, seconds of one run, and (seconds, must, goal) of one state; last the average of ten draws.
RUNS = [
    (
        "abstracts",
        100,
        120,
        [(5, 1720, 1640), (10, 1620, 1550), (20, 1500, 1380), (60, 1340, 1260)],
        (1248, 1215),
    ),
    ("20news", 50, 60, [(5, 2600, 2400), (10, 2400, 2280), (20, 2280, 2200)], (2196, 2136)),
]
DRAWS = 10


def clock_of(kind: str) -> Callable[[], float]:
    if kind == "wall":
        return time.perf_counter
    return lambda: time.process_time() / numba.get_num_threads()


def scorer_of(path: str | None) -> Callable:
    """Perplexity of topics [K, V] or [N, K, V]: geodrift's own, or `perplexity` of a file."""
    if path is None:
        return lambda counts, topics: (
            completion_perplexity(counts, topics, PRIOR["doc_topic_prior"]).perplexity
        )
    file = pathlib.Path(path)
    sys.path.insert(0, str(file.parent))
    module = importlib.import_module(file.stem)

    def score(counts: sp.csr_matrix, topics: np.ndarray) -> float:
        threads = numba.get_num_threads()
        try:
            return module.perplexity(counts, topics, PRIOR["doc_topic_prior"])["perplexity"]
        finally:
            numba.set_num_threads(threads)  # which a scorer that uses numba may have set to one

    return score


class Watched(Chain):
    """Keeps the mean topics at each mark of its clock, from the first step of its plan on."""

    def watch(self, marks: list[float], clock: Callable[[], float]) -> None:
        self.clock, self.marks, self.kept, self.last, self.rates = clock, list(marks), [], 0.0, []
        self.begun = clock()

    def step(self) -> int:
        started = self.clock()
        if self.marks and started + self.last > self.begun + self.marks[0]:
            self.kept.append((self.marks.pop(0), self.expected_topics(), 1, self.documents_seen))
        drawn = super().step()
        self.last = self.clock() - started
        self.rates.append(drawn / self.last)
        return drawn


def states(chain: Watched, seconds: float) -> list[tuple]:
    """(seconds, topics, number of draws, documents seen) at each mark, and of the stored draws at the end."""
    plan = plan_of([chain], Length(seconds=seconds))
    draws = np.concatenate([chunk.draws["topics"][:, 0] for chunk in chunks(chain, plan) if chunk.draws])
    spent = chain.clock() - chain.begun
    late = [(mark, chain.expected_topics(), 1, chain.documents_seen) for mark in chain.marks]
    return [*chain.kept, *late, (round(spent, 1), draws[-DRAWS:], DRAWS, chain.documents_seen)]


def run(
    corpus: Corpus, test: sp.csr_matrix, case: tuple, seed: int, clock: Callable, score: Callable
) -> list[dict]:
    name, topics, seconds, marks, averaged = case
    chain = Watched(corpus, Settings(n_topics=topics, num_draws=DRAWS, **PRIOR), seed=seed)
    chain.watch([mark for mark, *_ in marks], clock)
    rows = []
    for at, state, draws, seen in states(chain, seconds):
        must, goal = averaged if draws > 1 else next(bars for mark, *bars in marks if mark == at)
        row = {"corpus": name, "topics": topics, "seconds": at, "draws": draws, "seed": seed}
        row |= {"perplexity": round(score(test, state), 1), "passes": round(seen / corpus.num_documents, 1)}
        row |= {"must": must, "goal": goal, "token_draws_a_second": float(np.median(chain.rates))}
        print(json.dumps(row), flush=True)
        rows.append(row)
    return rows


def token_draws(corpus: Corpus, num_topics: int, clock: Callable, warm_steps: int, timed: int) -> dict:
    """Draws a second of whole steps, the reading of the minibatch's rows included, from fitted topics."""
    chain = Chain(corpus, Settings(n_topics=num_topics, **PRIOR))
    chain.compile()
    chain.begin(chain.shares.plan(warm_steps + timed))
    for _ in range(warm_steps):
        chain.step()
    rates = []
    for _ in range(timed):
        started = clock()
        rates.append(chain.step() / (clock() - started))
    size = padded(num_topics)
    # 4 bytes an entry; of the lanes' sums only one lane is read again.
    traffic = {
        "bytes_of_the_word's_row": 4 * size,
        "bytes_of_the_document's_row": 4 * size,
        "bytes_of_sums": 4 * size,
    }
    return {"token_draws_a_second": float(np.median(rates)), "must": 12e6, "bytes_a_draw": traffic}


def small_minibatches(corpus: Corpus, clock: Callable, steps: int) -> dict:
    """Seconds of 100 documents: minibatches of 50, K = 50, 50 sweeps."""
    seconds = {}
    for method in ("scir", "sgrld", "sgrhmc"):
        settings = Settings(n_topics=50, method=method, batch_size=50, early_sweeps=50, sweeps=50, **PRIOR)
        chain = Chain(corpus, settings)
        chain.compile()
        chain.begin(chain.shares.plan(10 * steps))
        for _ in range(20):
            chain.step()
        times = []
        for _ in range(steps):
            started = clock()
            chain.step()
            times.append(clock() - started)
        seconds[method] = 2 * float(np.median(times))
    return {"seconds_of_100_documents": seconds, "must": 0.03}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--only", nargs="+", choices=["abstracts", "20news", "draws", "small"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument(
        "--share", type=float, default=1.0, help="of each run's seconds; marks beyond are left out"
    )
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall")
    parser.add_argument("--scorer", help="a Python file with perplexity(counts, topics, alpha)")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    clock, score = clock_of(arguments.clock), scorer_of(arguments.scorer)
    wanted = arguments.only or ["abstracts", "20news", "draws", "small"]
    result = {
        "clock": arguments.clock,
        "threads": numba.get_num_threads(),
        "load_before": os.getloadavg(),
        "rows": [],
    }

    def counts(name: str, part: str) -> sp.csr_matrix:
        return sp.load_npz(arguments.data / name / f"{part}-counts.npz").tocsr()

    for name, topics, seconds, marks, averaged in RUNS:
        if name in wanted:
            corpus, test, seconds = (
                Corpus.from_matrix(counts(name, "train")),
                counts(name, "test"),
                seconds * arguments.share,
            )
            case = (name, topics, seconds, [mark for mark in marks if mark[0] <= seconds], averaged)
            for seed in arguments.seeds:
                result["rows"] += run(corpus, test, case, seed, clock, score)
    if {"draws", "small"} & set(wanted):
        corpus = Corpus.from_matrix(counts("abstracts", "train"))
        if "draws" in wanted:
            result["draws"] = token_draws(corpus, 100, clock, warm_steps=300, timed=100)
        if "small" in wanted:
            result["small"] = small_minibatches(corpus, clock, steps=100)
    result["load_after"] = os.getloadavg()
    print(table(result))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=1))


def table(result: dict) -> str:
    lines = [f"clock: {result['clock']}, load {result['load_before']} -> {result['load_after']}"]
    for key in dict.fromkeys((r["corpus"], r["draws"], r["must"], r["goal"]) for r in result["rows"]):
        rows = [r for r in result["rows"] if (r["corpus"], r["draws"], r["must"], r["goal"]) == key]
        values = [r["perplexity"] for r in rows]
        corpus, draws, must, goal = key
        verdict = "goal" if np.median(values) <= goal else "must" if np.median(values) <= must else "MISSED"
        lines.append(
            f"{corpus:10} {rows[0]['seconds']:6} s  N={draws:<3} median {np.median(values):7.1f}  {values}  "
            f"must {must} goal {goal}: {verdict} ({rows[0]['passes']} passes)"
        )
    lines += [f"{name}: {json.dumps(result[name])}" for name in ("draws", "small") if name in result]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
