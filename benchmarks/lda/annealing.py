"""What larger priors and powers in a warm-up are worth: runs with them and without, of the same length.

    python benchmarks/lda/annealing.py OUT.json FOLDER --topics K [--passes 20 60 200] [--seeds 0 1]
           [--kinds plain priors both]

FOLDER has train-counts.npz and test-counts.npz. One chain on one thread, planned for so many passes over the
documents. What is scored is the mean of ten draws of the second half, by document completion over five tenths
of the tokens; ``log_joint`` is that of the last state, in nats.
"""

import argparse
import json
from pathlib import Path

import numba
import numpy as np
import scipy.sparse as sp
from bars import PRIOR

from geodrift.models.kit._facade import MatrixCorpus
from geodrift.models.latent_dirichlet_allocation import Chain, Settings, completion_perplexity
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._annealing import POWER, Annealing

DRAWS, TENTHS = 10, 5
KINDS = {
    "plain": lambda _: Annealing(),
    "priors": lambda annealing: annealing._replace(power=1.0),
    "both": lambda annealing: annealing._replace(power=POWER),
}


def perplexity(test, topics):
    """Over the tokens of all tenths."""
    scores = [
        completion_perplexity(test, topics, PRIOR["doc_topic_prior"], seed=tenth) for tenth in range(TENTHS)
    ]
    likelihood = sum(score.document_log_likelihood.sum() for score in scores)
    return float(np.exp(-likelihood / sum(score.held_out_tokens for score in scores)))


def run(train, test, topics, passes, seed, kind):
    """One chain of so many passes."""
    chain = Chain(MatrixCorpus(train), Settings(n_topics=topics, **PRIOR), seed=seed)
    of_pass = -(-train.shape[0] // chain.move.batch_size)
    chain.begin(chain.shares.plan(passes * of_pass))
    chain.move.annealing = KINDS[kind](chain.move.annealing)
    warm_up, draws = chain.plan.warm_up, []
    ends = np.linspace(warm_up, chain.plan.total, DRAWS + 1).astype(int)
    for end in ends:
        while chain.count < end:
            chain.step()
        if end > warm_up:
            draws.append(chain.topics())
    return {
        "passes": passes,
        "seed": seed,
        "kind": kind,
        "factors": [float(factor) for factor in chain.move.annealing],
        "log_joint": chain.move.log_joint(),
        "perplexity": perplexity(test, np.mean(draws, axis=0, dtype=np.float64).astype(np.float32)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--topics", type=int, required=True)
    parser.add_argument("--passes", type=int, nargs="+", default=[20, 60, 200])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    options = parser.parse_args()
    numba.set_num_threads(1)
    train, test = (sp.load_npz(options.folder / f"{name}-counts.npz").tocsr() for name in ("train", "test"))
    rows = []
    for passes in options.passes:
        for seed in options.seeds:
            for kind in options.kinds:
                rows.append(run(train, test, options.topics, passes, seed, kind))
                print(rows[-1], flush=True)
                options.out.write_text(json.dumps({"topics": options.topics, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
