"""Do chains from uniform assignments confirm the intervals of runs, whose chains start from factorisations?

    python benchmarks/calibration/uniform_starts.py OUT.json COUNTS.npz RUN... [--chains 8] [--passes 300]

Collapsed Gibbs chains of the first run's settings start from uniform assignments, with the model's priors
from the first sweep on and without powers; the best of them is that of the highest log joint at its end.
``inside`` is the share of its last draws that lie within a run's 90% intervals, over the ten leading words of
each topic that the run calls shared and the chain has. Of a run's chains the log joint is told as the mean
over all draws and over the last fifth of them.
"""

import argparse
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import scipy.sparse as sp
from fits import SAME, Found, keep
from scipy.optimize import linear_sum_assignment

from geodrift.data import Corpus
from geodrift.driver import Run
from geodrift.models.latent_dirichlet_allocation import Chain, Settings
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs import _sampler
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._annealing import Annealing

DRAWS = 25


def flat(counts, num_topics, seed, given=None):
    """Topics that say nothing: assignments given them are uniform."""
    return np.full((counts.shape[1], num_topics), 1.0, np.float32)


def chain_from_uniform(corpus, settings, number, passes):
    """Its last draws and their log joints."""
    with mock.patch.object(_sampler, "first_topics", flat):
        chain = Chain(corpus, settings, seed=1_000, chain=number)
        chain.move.annealing = Annealing()
        steps = -(-corpus.num_documents // chain.move.batch_size)
        chain.begin(chain.shares.plan(passes * steps))
        draws, joints = [], []
        while chain.count < passes * steps:
            chain.step()
            if chain.count % steps == 0 and passes * steps - chain.count < 2 * DRAWS * steps:
                draws.append(chain.topics())
                joints.append(chain.move.log_joint())
    return np.array(draws[::2]), float(np.mean(joints))


def inside(found, draws):
    """Share of the draws inside the run's intervals, and how many of its shared topics the chain has."""
    directions = np.sqrt(draws)
    means = directions.mean(axis=0)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    cosines = found.means @ means.T
    shares = []
    for topic, other in zip(*linear_sum_assignment(-cosines), strict=True):
        if found.agreed.shared[topic] and cosines[topic, other] > SAME:
            words = np.argsort(-found.of(topic).mean(axis=(0, 1)))[:10]
            low, high = found.interval(topic, words)
            values = directions[:, other][:, words]
            shares.append(((values >= low) & (values <= high)).mean())
    return {"inside": float(np.mean(shares)) if shares else None, "shared_that_it_has": len(shares)}


def told_of(path, found):
    """A run's log joints, chain by chain, and how many topics it calls shared."""
    joints = Run.open(path).draws["posterior"].to_dataset()["log_joint"].values
    last = joints[:, -(joints.shape[1] // 5) :]
    return {
        "log_joint": joints.mean(axis=1).round().tolist(),
        "log_joint_of_the_last": last.mean(axis=1).round().tolist(),
        "shared": int(found.agreed.shared.sum()),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("counts", type=Path)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--chains", type=int, default=8)
    parser.add_argument("--passes", type=int, default=300)
    options = parser.parse_args()
    run = Run.open(options.runs[0])
    corpus = Corpus.from_matrix(sp.load_npz(options.counts).tocsr(), run.labels["word"])
    settings = Settings.from_dict(run.config["settings"])
    runs, rows = {str(path): Found(path) for path in options.runs}, []
    for number in range(options.chains):
        draws, joint = chain_from_uniform(corpus, settings, number, options.passes)
        rows.append({"log_joint": joint} | {path: inside(found, draws) for path, found in runs.items()})
        print(rows[-1], file=sys.stderr)
    told = {path: told_of(path, found) for path, found in runs.items()}
    keep(options.out, {"runs": told, "best": max(rows, key=lambda row: row["log_joint"]), "all": rows})
    print(told)


if __name__ == "__main__":
    main()
