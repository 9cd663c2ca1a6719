"""The Dirichlet-process mixture on MSWeb: nats a test user, seconds a step, seconds to 11.20 nats.

    python benchmarks/dpm/msweb.py --data FOLDER --json benchmarks/results/dpm-msweb.json

FOLDER holds train-counts.npz and test-counts.npz (scipy, users x pages). Of each method and seed: the score
of single draws and that of the average of all draws after the warm-up (whole users, no multinomial
coefficient, a0 = 0.5), the number of clusters, the time of a step, and the first time at which a draw's score
was 11.20 or better. The clock stands still while a draw is scored; start-up and compilation are before it.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import time

import numba
import numpy as np
import scipy.sparse as sp

import geodrift
from geodrift.data import Corpus
from geodrift.models.dirichlet_process_mixture import Chain, Settings, log_predictive

PRIOR, MARK, DRAWS = 0.5, 11.20, 200
# Name: settings, steps of warm-up, steps from one draw to the next, and from one score to the next before.
METHODS = {
    "gibbs": ({}, 200, 5, 1),
    "gibbs, 1,000 rows a step": ({"batch_size": 1000}, 6000, 150, 30),
    "scir, 1,000 rows a step": ({"method": "scir"}, 1000, 20, 25),
    "sgrld, 1,000 rows a step": ({"method": "sgrld"}, 1000, 20, 25),
}


def log_density(chain: Chain, test: sp.csr_matrix) -> np.ndarray:
    """Of each test user under a draw."""
    draw = chain.draw()
    parts = draw["clusters"], draw["cluster_weights"], float(draw["new_weight"])
    return log_predictive(test, *parts, PRIOR)


def run(training: Corpus, test: sp.csr_matrix, name: str, seed: int, clock: str) -> dict:
    """One chain from a cold start."""
    settings, warm_up, thin, look = METHODS[name]
    now = time.perf_counter if clock == "wall" else time.process_time
    chain = Chain(training, Settings(cluster_word_prior=PRIOR, **settings), seed=seed)
    chain.compile()
    spent, reached, times, logs, numbers = 0.0, None, [], [], []
    for step in range(1, warm_up + thin * DRAWS + 1):
        begun = now()
        chain.step()
        times.append(now() - begun)
        spent += times[-1]
        if step <= warm_up and step % look == 0 and reached is None:
            score = -log_density(chain, test).mean()
            reached = {"seconds": spent, "steps": step} if score <= MARK else None
        if step > warm_up and (step - warm_up) % thin == 0:
            logs.append(log_density(chain, test))
            numbers.append(chain.move.number_of_clusters())
    average = np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))
    return {
        "method": name,
        "seed": seed,
        "nats_of_one_draw": float(-np.mean(logs)),
        "nats_averaged": float(-average.mean()),
        "draws": len(logs),
        "steps": warm_up + thin * DRAWS,
        "clusters": [int(q) for q in np.quantile(numbers, (0.05, 0.5, 0.95))],
        "seconds_of_first_step": times[0],
        "seconds_of_a_step": {q: float(np.quantile(times[warm_up // 2 :], q)) for q in (0.1, 0.5, 0.9)},
        "to_mark": reached,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--only", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall")
    parser.add_argument("--json", type=pathlib.Path)
    told = parser.parse_args()
    training, test = (sp.load_npz(told.data / f"{part}-counts.npz").tocsr() for part in ("train", "test"))
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    result = {
        "mark": MARK,
        "users": training.shape[0],
        "clock": told.clock,
        "threads": numba.get_num_threads(),
        "machine": platform.processor() or platform.machine(),
        "geodrift": geodrift.__version__,
        "commit": commit.stdout.strip(),
        "load_before": os.getloadavg(),
        "runs": [],
    }
    corpus = Corpus.from_matrix(training)
    for name in told.only:
        for seed in told.seeds:
            result["runs"].append(run(corpus, test, name, seed, told.clock))
            print(json.dumps(result["runs"][-1]), flush=True)
    result["load_after"] = os.getloadavg()
    if told.json:
        told.json.parent.mkdir(parents=True, exist_ok=True)
        told.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
