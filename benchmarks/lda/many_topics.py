"""What a token costs as the number of topics grows, and perplexity by processor seconds, beside tomotopy.

    python benchmarks/lda/many_topics.py --data FOLDER --json benchmarks/results/lda-many-topics.json

FOLDER has train-counts.npz and test-counts.npz. All run on one thread with alpha = 50 / K, eta = .01, and the
same documents, ``--documents`` of them at random. ``table`` and ``lists`` are the two forms of our counts
(`_counts.py`), of which a chain takes one by its number of topics. Seconds are the process's own, so that
another program on the machine counts for less; ours include the start. Tokens a second are of the passes
between the last two marks. Rows that are in the JSON file are not run again.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

from geodrift.models.latent_dirichlet_allocation import (  # noqa: E402
    Chain,
    Settings,
    completion_perplexity,
)
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs import _counts  # noqa: E402

ETA = 0.01


def ours(train, num_topics, form):
    """A function that takes a step, and one that tells passes and topics."""
    from geodrift.data import Corpus

    _counts.LISTS_FROM = 0 if form == "lists" else 2**17
    settings = Settings(n_topics=num_topics, doc_topic_prior=50 / num_topics, topic_word_prior=ETA)
    chain = Chain(Corpus.from_matrix(train), settings, seed=0)
    chain.compile()
    chain.begin(chain.shares.plan(10**6))

    def tell():
        known = {"log_joint": chain.move.log_joint()} if chain.move.seen.all() else {}
        return chain.documents_seen / train.shape[0], chain.expected_topics(), known

    return chain.step, tell


def tomotopy(train, num_topics, form):
    """Its model on one worker; log joint as it tells it."""
    import tomotopy

    del form
    warnings.filterwarnings("ignore", message="The training result may differ")
    model = tomotopy.LDAModel(k=num_topics, alpha=50 / num_topics, eta=ETA, seed=0)
    model.optim_interval = 0
    names = np.array([str(word) for word in range(train.shape[1])])
    for first, last in zip(train.indptr[:-1], train.indptr[1:], strict=True):
        if last > first:
            model.add_doc(names[np.repeat(train.indices[first:last], train.data[first:last])].tolist())
    model.train(0, workers=1)
    words, passes = np.array(model.used_vocabs, int), [0]

    def step():
        model.train(1, workers=1)
        passes[0] += 1

    def tell():
        topics = np.zeros((num_topics, train.shape[1]))
        for topic in range(num_topics):
            topics[topic, words] = model.get_topic_word_dist(topic)
        topics += 1e-9
        topics /= topics.sum(axis=1, keepdims=True)
        return passes[0], topics.astype(np.float32), {}

    return step, tell


def run(data, contestant, num_topics, documents, marks):
    """Passes, log joint and perplexity at marks of processor seconds."""
    train, test = (sp.load_npz(data / f"{part}-counts.npz").tocsr() for part in ("train", "test"))
    train = train[np.sort(np.random.default_rng(0).permutation(train.shape[0])[:documents])]
    test = test[: min(300, test.shape[0])]
    step, tell = (tomotopy if contestant == "tomotopy" else ours)(train, num_topics, contestant)
    spent, before, rows = 0.0, (0.0, 0.0), []
    for mark in marks:
        while spent < mark:
            begun = time.process_time()
            step()
            spent += time.process_time() - begun
        passes, topics, known = tell()
        score = completion_perplexity(test, topics, 50 / num_topics, sweeps=20, burn_in=10).perplexity
        speed = (passes - before[1]) * train.sum() / (spent - before[0])
        before = spent, passes
        rows.append({"mark": mark, "seconds": spent, "passes": passes, "tokens_a_second": speed} | known)
        rows[-1]["perplexity"] = score
        print(contestant, num_topics, {name: round(value, 1) for name, value in rows[-1].items()}, flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--topics", type=int, nargs="+", default=[100, 300, 1000, 5000, 10_000])
    parser.add_argument("--contestants", nargs="+", default=["table", "lists", "tomotopy"])
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--marks", type=float, nargs="+", default=[10.0, 20.0, 40.0])
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        contestant, topics = options.child
        rows = run(options.data, contestant, int(topics), options.documents, options.marks)
        options.json.write_text(json.dumps(rows))
        return
    result = json.loads(options.json.read_text()) if options.json.exists() else {"runs": []}
    for topics in options.topics:
        for contestant in options.contestants:
            key = {"contestant": contestant, "topics": topics, "documents": options.documents}
            key["marks"] = options.marks
            if any(key.items() <= one.items() for one in result["runs"]):
                continue
            answer = options.json.with_suffix(".child")
            common = [sys.executable, __file__, "--data", options.data, "--json", answer]
            more = ["--documents", options.documents, "--child", contestant, topics]
            marks = ["--marks", *options.marks]
            subprocess.run([str(word) for word in (*common, *more, *marks)], check=True)
            result["runs"].append(key | {"states": json.loads(answer.read_text())})
            answer.unlink()
            options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
