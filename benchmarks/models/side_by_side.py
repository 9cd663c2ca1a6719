"""What chains do that take their steps side by side, against the same chains in turn with all threads each.

    python benchmarks/models/side_by_side.py OUT.json MODEL INPUT [--components K] [--chains 2]
        [--documents N] [--first 200] [--steps 60] [--pairs 12]

INPUT is counts in .npz or, for vmf, vectors in .npy. After the first steps (of LDA also until all documents
have joined) each pair is the same number of steps in turn and side by side. ``ratio`` is the median of the
pairs' ratios of work a second: tokens of LDA, steps of other models. Machines that others use vary: take many
pairs.
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

from geodrift.data import Corpus, VectorSource
from geodrift.driver._side_by_side import SideBySide
from geodrift.models._registry import model_named

PLAN = 10**5  # steps: more than are taken
NAMES = {"lda": "n_topics", "sam": "n_topics", "vmf": "n_clusters", "dpm": "n_clusters"}


def read(path, documents):
    """The input, or some of its rows drawn at random."""
    counts = path.suffix == ".npz"
    rows = sp.load_npz(path).tocsr() if counts else np.load(path)
    if documents:
        rows = rows[np.random.default_rng(0).permutation(rows.shape[0])[:documents]]
    return Corpus.from_matrix(rows) if counts else VectorSource(rows)


def begun(model, source, settings, number, first):
    """A chain that has taken its first steps, and whose documents have all joined."""
    chain = model.answers().chain(source, settings, seed=1, chain=number, held_out=None)
    chain.prepare()
    chain.begin(chain.shares.plan(PLAN))
    while chain.count < first or getattr(getattr(chain, "move", None), "complete_at", 0) < 0:
        chain.step()
    return chain


def work_a_second(chains, steps, each):
    before, began = sum(chain.work() for chain in chains), time.perf_counter()
    each(lambda chain: chain.advance(np.array([steps]), store=False), chains)
    return (sum(chain.work() for chain in chains) - before) / (time.perf_counter() - began)


def in_turn(call, chains):
    for chain in chains:
        call(chain)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("model", choices=["lda", "hdp", "dpm", "sam", "vmf"])
    parser.add_argument("input", type=Path)
    parser.add_argument("--components", type=int, help="topics or clusters; else the model's default")
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--documents", type=int, help="drawn from all of them")
    parser.add_argument("--first", type=int, default=200)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=12)
    told = parser.parse_args()
    model, source = model_named(told.model), read(told.input, told.documents)
    settings = model.settings_type(**({NAMES[told.model]: told.components} if told.components else {}))
    chains = [begun(model, source, settings, number, told.first) for number in range(told.chains)]
    pairs = []
    with SideBySide(chains) as beside:
        measured = functools.partial(work_a_second, chains, told.steps)
        for _ in range(told.pairs):
            pairs.append({"in_turn": measured(in_turn), "side_by_side": measured(beside.each)})
            print(json.dumps(pairs[-1]), flush=True)
    found = {
        "model": told.model,
        "components": told.components,
        "chains": told.chains,
        "at_a_time": beside.number,
        "threads": numba.get_num_threads(),
        "documents": source.num_documents,
        "pairs": pairs,
        "ratio": statistics.median(pair["side_by_side"] / pair["in_turn"] for pair in pairs),
    }
    told.out.write_text(json.dumps(found, indent=1))
    print(found["ratio"])


if __name__ == "__main__":
    main()
