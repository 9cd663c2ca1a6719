"""The hierarchical Dirichlet process beside tomotopy's, in the same processor time of one thread.

    python benchmarks/hdp/peers.py benchmarks/results/hdp-20news.json COUNTS [--marks 10,20,40] [--seeds 2]

COUNTS is a folder with train-counts.npz and test-counts.npz, [documents, words]. Both programs have eta 0.01,
one thread, and what they have by default besides; tomotopy begins with 2 topics by default, geodrift with
`FIRST`; each also begins with as many as the other. The clock is that of the processor, so that a busy
machine hardly counts. It begins after the documents are in memory (and geodrift's code is compiled) and
before anything is learnt from them: geodrift's factorisation is included. At each mark the present state, one
draw, is scored by completion of test documents: geodrift's with alpha_0 beta as the document prior;
tomotopy's with its own alpha shared out as its topics' tokens are, and with the best of `SCALES` in the place
of its alpha, chosen on the test documents. The file is written after every state, and a later call goes on
with the seeds that it lacks.
"""

import argparse
import json
import os
import time
from pathlib import Path

import numba
import numpy as np
import scipy.sparse as sp

from geodrift.models.hierarchical_dirichlet_process import Chain, Settings
from geodrift.models.hierarchical_dirichlet_process._all_topics import as_lda
from geodrift.models.kit._facade import MatrixCorpus
from geodrift.models.latent_dirichlet_allocation import completion_perplexity

ETA, FIRST = 0.01, 50
SCALES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
ABOVE = 0.01  # share of the tokens of a topic that is counted


def perplexity(test, topics, prior):
    return completion_perplexity(test, topics, prior, sweeps=30, burn_in=15).perplexity


def compile_kernels(train):
    """Have everything compiled, or loaded from the disk, that a chain needs: it does so as it comes to it."""
    chain = Chain(MatrixCorpus(train[:200]), Settings(topic_word_prior=ETA), seed=0)
    chain.compile()
    for _ in range(20):
        chain.step()


def geodrift(train, test, seed, marks, first=None):
    compile_kernels(train)
    chain = Chain(MatrixCorpus(train), Settings(topic_word_prior=ETA, first_topics=first), seed=seed)
    chain.compile()
    spent, steps = 0.0, 0
    for mark in marks:
        while spent < mark:
            began = time.process_time()
            chain.step()  # the first one begins with the factorisation
            spent, steps = spent + time.process_time() - began, steps + 1
        draw = {name: values[None] for name, values in chain.draw().items()}
        sizes = draw["topic_sizes"][0]
        yield {
            "mark": mark,
            "processor_seconds": spent,
            "passes": chain.documents_seen / train.shape[0],
            "tokens_a_second": chain.move.token_draws / spent,
            "topics": len(sizes),
            "topics_above": int((sizes > ABOVE).sum()),
            "perplexity": perplexity(test, *as_lda(draw)),
        }


def tomotopy(train, test, seed, marks, first=2):
    import tomotopy

    model = tomotopy.HDPModel(initial_k=first, eta=ETA, seed=seed)
    for start, end in zip(train.indptr[:-1], train.indptr[1:], strict=True):
        model.add_doc(np.repeat(train.indices[start:end], train.data[start:end].astype(int)).astype(str))
    model.train(0, workers=1)
    words = np.array([int(word) for word in model.used_vocabs])
    spent, passes = 0.0, 0
    for mark in marks:
        while spent < mark:
            began = time.process_time()
            model.train(1, workers=1)
            spent, passes = spent + time.process_time() - began, passes + 1
        live = [k for k in range(model.k) if model.is_live_topic(k)]
        topics = np.full((len(live), train.shape[1]), 1e-12, np.float32)
        for row, k in zip(topics, live, strict=True):
            row[words] = model.get_topic_word_dist(k)
        topics /= topics.sum(axis=1, keepdims=True)
        sizes = np.array(model.get_count_by_topics(), float)[live]
        shares = np.maximum(sizes, 1e-3) / np.maximum(sizes, 1e-3).sum()
        scored = {scale: perplexity(test, topics, scale * shares) for scale in SCALES}
        yield {
            "mark": mark,
            "processor_seconds": spent,
            "passes": passes,
            "tokens_a_second": passes * float(train.sum()) / spent,
            "topics": len(live),
            "topics_above": int((shares > ABOVE).sum()),
            "alpha": float(model.alpha),
            "perplexity_at_its_alpha": perplexity(test, topics, model.alpha * shares),
            "perplexity": min(scored.values()),
            "best_scale": min(scored, key=lambda scale: scored[scale]),
        }


PROGRAMS = {
    "geodrift": geodrift,
    "tomotopy": tomotopy,
    f"tomotopy, {FIRST} first topics": lambda *told: tomotopy(*told, first=FIRST),
    "geodrift, 2 first topics": lambda *told: geodrift(*told, first=2),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("counts", type=Path)
    parser.add_argument("--marks", default="10,20,40", help="seconds of the processor, separated by commas")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--every", type=int, default=4, help="score every so-manieth test document")
    told = parser.parse_args()
    marks = [float(mark) for mark in told.marks.split(",")]
    train, test = (sp.load_npz(told.counts / f"{part}-counts.npz").tocsr() for part in ("train", "test"))
    train, test = train.astype(np.float64), test.astype(np.float64)[:: told.every]
    arguments = {"counts": told.counts.name, "marks": marks, "every": told.every, "eta": ETA}
    kept = json.loads(told.out.read_text()) if told.out.exists() else {"arguments": arguments, "states": []}
    if kept["arguments"] != arguments:
        parser.error(f"{told.out} was made with {kept['arguments']}")
    numba.set_num_threads(1)
    told.out.parent.mkdir(parents=True, exist_ok=True)
    for seed in range(told.seeds):
        for name, program in PROGRAMS.items():
            of = [state for state in kept["states"] if (state["program"], state["seed"]) == (name, seed)]
            if len(of) == len(marks):
                continue
            kept["states"] = [state for state in kept["states"] if state not in of]
            for state in program(train, test, seed, marks):
                kept["states"].append({"program": name, "seed": seed} | state)
                part = told.out.with_suffix(".part")
                part.write_text(json.dumps(kept, indent=1))
                os.replace(part, told.out)
                print(json.dumps(kept["states"][-1]), flush=True)


if __name__ == "__main__":
    main()
