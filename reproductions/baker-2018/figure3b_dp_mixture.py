"""Baker et al. (2018), section 4.2 and figure 3(b): the Dirichlet-process mixture on MSWeb.

    python reproductions/baker-2018/figure3b_dp_mixture.py --data FOLDER

FOLDER holds train-counts.npz and test-counts.npz, users x pages: 29,439 and 3,271 users of 285 pages. SCIR
and SGRLD from minibatches of 1,000 users, five seeds, one prior (a0 = 0.5), one step size: 1,000 steps from
users thrown into 50 clusters at random, and 3,000 from the start that the library makes. Beside them the
exact sampler. Scores are minus the mean log density of a test user in nats, of single draws.
"""

import argparse
import pathlib

import numpy as np
import scipy.sparse as sp
from common import write

from geodrift.models.dirichlet_process_mixture import Chain, Settings, log_predictive
from geodrift.models.dirichlet_process_mixture.scaled_counts import _sampler as scaled
from geodrift.models.kit._facade import MatrixCorpus

SEEDS, PRIOR, STEPS, LONG = range(5), 0.5, 1000, 3000


def run(training: MatrixCorpus, test: sp.csr_matrix, method: str, seed: int, steps: int, every: int) -> dict:
    """Scores and numbers of clusters of one chain, every so many steps."""
    chain = Chain(training, Settings(method=method, cluster_word_prior=PRIOR), seed=seed)
    scores, clusters = [], []
    for step in range(1, steps + 1):
        chain.step()
        if step % every == 0:
            draw = chain.draw()
            parts = draw["clusters"], draw["cluster_weights"], float(draw["new_weight"])
            scores.append(-float(log_predictive(test, *parts, PRIOR).mean()))
            clusters.append(chain.move.number_of_clusters())
    return {"scores": scores, "clusters": clusters}


def told(runs: list[dict], last: int) -> dict:
    """The mean and the spread over seeds of the last scores, and the mean number of clusters."""
    ends = np.array([np.mean(each["scores"][-last:]) for each in runs])
    return {
        "nats": float(ends.mean()),
        "standard_deviation_of_seeds": float(ends.std(ddof=1)),
        "clusters": float(np.mean([each["clusters"][-last:] for each in runs])),
        "change_in_the_second_half": float(
            np.mean(
                [np.subtract(*[np.mean(h) for h in np.array_split(each["scores"], 2)][::-1]) for each in runs]
            )
        ),
        "curve": np.mean([each["scores"] for each in runs], axis=0),
    }


def one_cluster(training: sp.csr_matrix, test: sp.csr_matrix) -> float:
    """The score of all users in one cluster."""
    counts = np.asarray(training.sum(axis=0)).ravel() + PRIOR
    return -float((test @ np.log(counts / counts.sum())).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    data = parser.parse_args().data
    training, test = (sp.load_npz(data / f"{part}-counts.npz").tocsr() for part in ("train", "test"))
    corpus, measured = MatrixCorpus(training), {"one_cluster": one_cluster(training, test)}
    measured["exact"] = told([run(corpus, test, "gibbs", seed, 200, 5) for seed in SEEDS], 20)
    passes = scaled.START_PASSES
    for start, number, steps, every, last in (
        ("random", 0, STEPS, 50, 4),
        ("library", passes, LONG, 100, 10),
    ):
        scaled.START_PASSES = number
        for method in ("scir", "sgrld"):
            runs = [run(corpus, test, method, seed, steps, every) for seed in SEEDS]
            measured.setdefault(start, {})[method] = told(runs, last)
        both = measured[start]
        both["scir_minus_sgrld"] = both["scir"]["nats"] - both["sgrld"]["nats"]
        both["sgrld_clusters_over_scir"] = both["sgrld"]["clusters"] / both["scir"]["clusters"]
        both["sgrld_spread_over_scir"] = (
            both["sgrld"]["standard_deviation_of_seeds"] / both["scir"]["standard_deviation_of_seeds"]
        )
        both["scir_minus_exact"] = both["scir"]["nats"] - measured["exact"]["nats"]
    settings = {"seeds": list(SEEDS), "prior": PRIOR, "batch_size": scaled.BATCH, "step": scaled.STEP}
    write("figure3b_dp_mixture", settings, measured)


if __name__ == "__main__":
    main()
