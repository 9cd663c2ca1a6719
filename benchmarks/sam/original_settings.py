"""Processor seconds of one outer iteration of SAM at the settings of the original program.

S = 50 documents, 40 + 20 mixture draws of 10 leapfrog steps, one batch for L = 10 topic steps, no noise
subtracted; V = 5,000 words, K = 20 topics. A throughput figure: at these settings the chain does not sample
the posterior.

    python benchmarks/sam/original_settings.py --counts TRAIN.npz --out result.json
"""

import argparse
import json
import time

import numpy as np
import scipy.sparse as sp

from geodrift.data import Corpus
from geodrift.models.spherical_admixture import Chain, Settings

GAMMA = 1e-2  # gamma, the per-batch learning rate; the step is sqrt(gamma / D)
RHO = 1e-2  # C h


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--counts", required=True, help="documents x words, scipy .npz")
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    counts = sp.load_npz(arguments.counts).tocsr()
    corpus = Corpus.from_matrix(counts, [str(i) for i in range(counts.shape[1])])
    step = float(np.sqrt(GAMMA / counts.shape[0]))
    settings = Settings(
        n_topics=20,
        corpus_mean_concentration=1e4,
        topic_concentration=1e4,
        document_concentration=3e4,
        doc_topic_prior=10.0,
        batch_size=50,
        latents="fresh",
        subtract_noise=False,
        mixture_burn_in=40,
        mixture_draws=20,
        num_steps=10,
        step_size=step,
        friction=RHO / step,
    )
    chain = Chain(corpus, settings, seed=0)
    chain.compile()
    chain.begin(chain.shares.plan(arguments.iterations * 10))
    for _ in range(20):
        chain.step()
    cpu, wall = [], []
    for _ in range(arguments.iterations):
        started, started_cpu = time.perf_counter(), time.process_time()
        chain.step()
        wall.append(time.perf_counter() - started)
        cpu.append(time.process_time() - started_cpu)
    result = {
        "documents": counts.shape[0],
        "words": counts.shape[1],
        "iterations": arguments.iterations,
        "cpu_seconds_per_iteration": {
            "median": float(np.median(cpu)),
            "mean": float(np.mean(cpu)),
            "least": min(cpu),
        },
        "wall_seconds_per_iteration": {"median": float(np.median(wall)), "least": min(wall)},
    }
    print(json.dumps(result, indent=2))
    if arguments.out:
        with open(arguments.out, "w") as file:
            json.dump(result, file, indent=2)


if __name__ == "__main__":
    main()
