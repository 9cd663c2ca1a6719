"""What chains draw that take their steps side by side, against the same chains in turn with all threads each.

    python benchmarks/lda/side_by_side.py OUT.json COUNTS.npz [--topics 20] [--chains 2] [--documents N]
        [--steps 60] [--pairs 12]

After all documents have joined, each pair is the same number of steps in turn and side by side. ``ratio`` is
the median of the pairs' ratios of tokens a second. Machines that others use vary: take many pairs.
"""

import argparse
import functools
import json
import statistics
import time
from pathlib import Path

import numba
import numpy as np
import scipy.sparse as sp

from geodrift.data import Corpus
from geodrift.driver._side_by_side import SideBySide
from geodrift.models.latent_dirichlet_allocation import Chain, Settings

PLAN = 10**5  # steps: more than are taken


def begun(corpus, topics, number):
    """A chain whose documents have all joined."""
    chain = Chain(corpus, Settings(n_topics=topics), seed=1, chain=number)
    chain.prepare()
    chain.begin(chain.shares.plan(PLAN))
    while chain.move.complete_at < 0:
        chain.step()
    return chain


def tokens_a_second(chains, steps, each):
    before, began = sum(chain.work() for chain in chains), time.perf_counter()
    each(lambda chain: chain.advance(np.array([steps]), store=False), chains)
    return (sum(chain.work() for chain in chains) - before) / (time.perf_counter() - began)


def in_turn(call, chains):
    for chain in chains:
        call(chain)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("counts", type=Path)
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--documents", type=int, help="drawn from all of them")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=12)
    told = parser.parse_args()
    counts = sp.load_npz(told.counts).tocsr()
    if told.documents:
        counts = counts[np.random.default_rng(0).permutation(counts.shape[0])[: told.documents]]
    corpus = Corpus.from_matrix(counts)
    chains = [begun(corpus, told.topics, number) for number in range(told.chains)]
    pairs = []
    with SideBySide(chains) as beside:
        measured = functools.partial(tokens_a_second, chains, told.steps)
        for _ in range(told.pairs):
            pairs.append({"in_turn": measured(in_turn), "side_by_side": measured(beside.each)})
            print(json.dumps(pairs[-1]), flush=True)
    found = {
        "topics": told.topics,
        "chains": told.chains,
        "at_a_time": beside.number,
        "threads": numba.get_num_threads(),
        "documents": counts.shape[0],
        "tokens": int(counts.sum()),
        "pairs": pairs,
        "ratio": statistics.median(pair["side_by_side"] / pair["in_turn"] for pair in pairs),
    }
    told.out.write_text(json.dumps(found, indent=1))
    print(found["ratio"])


if __name__ == "__main__":
    main()
