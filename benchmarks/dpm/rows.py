"""Time of a step and kept bytes of a row by the number of rows, on simulated users.

    python benchmarks/dpm/rows.py --json benchmarks/results/dpm-rows.json

Users of three visits among 300 pages, from 20 clusters; steps of 1,000 users by the default method after all
users have a cluster. The clock is that of the step; reading the minibatch's rows is part of it.
"""

import argparse
import json
import os
import pathlib
import platform
import resource
import time

import numpy as np
import scipy.sparse as sp

from geodrift.models.dirichlet_process_mixture import Chain, Settings
from geodrift.models.kit._facade import MatrixCorpus

PAGES, CLUSTERS, VISITS = 300, 20, 3


def users(number: int, seed: int) -> sp.csr_matrix:
    """Counts [number, PAGES]."""
    rng = np.random.default_rng(seed)
    upto = np.cumsum(rng.dirichlet(np.full(PAGES, 0.1), CLUSTERS), axis=1)
    cluster = rng.integers(CLUSTERS, size=number)
    pages = np.empty((number, VISITS), np.int32)
    for k in range(CLUSTERS):
        mine = np.flatnonzero(cluster == k)
        drawn = np.searchsorted(upto[k], rng.random((len(mine), VISITS)))
        pages[mine] = np.minimum(drawn, PAGES - 1)
    pages.sort(axis=1)
    indptr = np.arange(0, VISITS * number + 1, VISITS)
    return sp.csr_matrix((np.ones(pages.size, np.int32), pages.ravel(), indptr), shape=(number, PAGES))


def measure(number: int, steps: int) -> dict:
    corpus = MatrixCorpus(users(number, 0))
    chain = Chain(corpus, Settings(batch_size=1000), seed=0)
    chain.compile()
    for _ in range(12 * -(-chain.move.start_size // 1000)):
        chain.step()
    begun = time.perf_counter()
    unseen = chain.move.unseen()
    for start in range(0, len(unseen), 2**17):
        chain.move.join(chain.source.rows(unseen[start : start + 2**17]), chain.count)
    joined = time.perf_counter() - begun
    times = []
    for _ in range(steps):
        begun = time.perf_counter()
        chain.step()
        times.append(time.perf_counter() - begun)
    state = {name: value.nbytes for name, value in chain.state().items()}
    return {
        "rows": number,
        "clusters": chain.move.number_of_clusters(),
        "seconds_of_joining": joined,
        "rows_joined": len(unseen),
        "milliseconds_of_a_step": {q: 1e3 * float(np.quantile(times, q)) for q in (0.1, 0.5, 0.9)},
        "kept_bytes_a_row": state["move.assignments"] / number,
        "other_bytes_of_the_state": sum(state.values()) - state["move.assignments"],
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[30_000, 1_000_000, 5_000_000])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--json", type=pathlib.Path)
    told = parser.parse_args()
    result = {"machine": platform.machine(), "load_before": os.getloadavg(), "runs": []}
    for number in told.rows:
        result["runs"].append(measure(number, told.steps))
        print(json.dumps(result["runs"][-1]), flush=True)
    result["load_after"] = os.getloadavg()
    if told.json:
        told.json.parent.mkdir(parents=True, exist_ok=True)
        told.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
