"""What a token costs by the number of topics and the size of the vocabulary, beside tomotopy.

    python benchmarks/lda/cost_of_a_token.py OUT.json [--topics 100 1000 10000] [--words 10000 100000 1000000]

Simulated documents of 60 words: each has three topics, and half of its words are of all topics; ranks have
Zipf's law, and a topic has an order of the words of its own. Both programs have one thread, alpha = 50 / K,
eta = .01, and start as they do by default. After `PASSES` passes over all documents the time of the process
is measured over at least `SECONDS` of passes. A pair (topics, words) whose counts of words and topics take
more than `MOST_BYTES` is left out: neither program holds it here. The file is written after every row, and a
later call goes on with the rows that it lacks.
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

ETA, LENGTH, OF_DOCUMENT, COMMON = 0.01, 60, 3, 0.5
PASSES, SECONDS, MOST_BYTES = 10, 10.0, 5e9


def simulated(documents, topics, words, seed=0):
    """Counts [documents, words]: rank r of a topic's words has probability proportional to 1 / (r + 1)."""
    rng = np.random.default_rng(seed)
    upto = np.cumsum(1.0 / np.arange(1, words + 1))
    ranks = np.searchsorted(upto / upto[-1], rng.random((documents, LENGTH))).clip(max=words - 1)
    own = rng.integers(topics, size=(documents, OF_DOCUMENT))
    of_tokens = np.take_along_axis(own, rng.integers(OF_DOCUMENT, size=(documents, LENGTH)), axis=1)
    # An order of its own: ranks times a number without a factor in common with the number of words, moved.
    factors = 2 * rng.integers(words // 4, size=topics) + 1
    factors += 2 * (factors % 5 == 0)
    moved = (ranks * factors[of_tokens] + rng.integers(words, size=topics)[of_tokens]) % words
    chosen = np.where(rng.random(ranks.shape) < COMMON, ranks, moved)
    rows = np.repeat(np.arange(documents), LENGTH)
    counts = sp.coo_matrix((np.ones(rows.size, np.int32), (rows, chosen.ravel())), (documents, words))
    return counts.tocsr()


def geodrift(counts, topics):
    from geodrift.data import Corpus
    from geodrift.models.latent_dirichlet_allocation import Chain, Settings

    settings = Settings(n_topics=topics, doc_topic_prior=50 / topics, topic_word_prior=ETA)
    chain = Chain(Corpus.from_matrix(counts), settings, seed=0)
    chain.compile()
    chain.begin(chain.shares.plan(10**6))

    def a_pass():
        ends = chain.documents_seen + counts.shape[0]
        while chain.move.complete_at < 0 or chain.documents_seen < ends:
            chain.step()

    return a_pass


def tomotopy(counts, topics):
    import tomotopy

    warnings.filterwarnings("ignore", message="The training result may differ")
    model = tomotopy.LDAModel(k=topics, alpha=50 / topics, eta=ETA, seed=0)
    model.optim_interval = 0
    for first, last in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        model.add_doc(np.repeat(counts.indices[first:last], counts.data[first:last]).astype(str).tolist())
    model.train(0, workers=1)
    return lambda: model.train(1, workers=1)


PROGRAMS = {"geodrift": geodrift, "tomotopy": tomotopy}


def measured(program, topics, words, documents):
    """Tokens a processor second."""
    counts = simulated(documents, topics, words)
    a_pass = PROGRAMS[program](counts, topics)
    for _ in range(PASSES):
        a_pass()
    begun, passes = time.process_time(), 0
    while (spent := time.process_time() - begun) < SECONDS:
        a_pass()
        passes += 1
    return {"passes": passes, "seconds": spent, "tokens_a_second": passes * float(counts.sum()) / spent}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--topics", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--words", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        program, topics, words = options.child
        print(json.dumps(measured(program, int(topics), int(words), options.documents)))
        return
    options.out.parent.mkdir(parents=True, exist_ok=True)
    rows = json.loads(options.out.read_text()) if options.out.exists() else []
    for words in options.words:
        for topics in options.topics:
            if 4.0 * words * topics > MOST_BYTES:
                continue
            for program in PROGRAMS:
                key = {"program": program, "topics": topics, "words": words, "documents": options.documents}
                if any(key.items() <= row.items() for row in rows):
                    continue
                told = [sys.executable, __file__, options.out, "--documents", options.documents, "--child"]
                typed = [str(word) for word in (*told, program, topics, words)]
                done = subprocess.run(typed, check=True, text=True, stdout=subprocess.PIPE)
                rows.append(key | json.loads(done.stdout.splitlines()[-1]))
                options.out.write_text(json.dumps(rows, indent=1) + "\n")
                print(json.dumps(rows[-1]), flush=True)


if __name__ == "__main__":
    main()
