"""How long a von Mises-Fisher mixture takes to its resting score: 100,000 vectors, 80 clusters.

    python benchmarks/vmf/speed.py OUT.json [--vectors VECTORS.npy] [--passes 20] [--kappa 60]

With --labels LABELS.npy, whole numbers, NMI with them, and beside it that of spherical k-means from one start
(`peers.py`), scikit-learn's KMeans and, with diagonal covariances, its GaussianMixture and
BayesianGaussianMixture, with their seconds. (With full covariances each of their rounds is 2.6e11
multiplications; HDBSCAN compares 1e10 pairs of rows.) Without a file of unit vectors, vectors of 128 numbers
are simulated: directions uniform, weights Dirichlet(5), one kappa. One chain, one thread. Kernels are
compiled before the clock starts. The score is the log joint density of rows, assignments and concentrations,
after the start and after every pass; it rests where it first comes within the standard deviation of its last
half of that half's mean.
"""

import argparse
import json
import os
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
from sklearn.cluster import KMeans  # noqa: E402
from sklearn.metrics import normalized_mutual_info_score  # noqa: E402
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture  # noqa: E402

from geodrift.distributions._host_sample import host_sample  # noqa: E402
from geodrift.models.von_mises_fisher_mixture import Settings  # noqa: E402
from geodrift.models.von_mises_fisher_mixture._chain import Chain  # noqa: E402
from geodrift.models.von_mises_fisher_mixture._rows_of import rows_of  # noqa: E402


def simulated(number, dim, clusters, kappa):
    rng = np.random.default_rng(0)
    z = rng.choice(clusters, size=number, p=rng.dirichlet(np.full(clusters, 5.0)))
    resultants = kappa * host_sample(rng, np.zeros((clusters, dim)))
    return host_sample(rng, resultants[z]).astype(np.float32), z


def curve(x, truth, settings, passes, seed):
    """Seconds, score, clusters and NMI after the start and after each pass."""
    began, scored, told = time.perf_counter(), 0.0, []
    chain = Chain(rows_of(x, normalise=True), settings, seed=seed)
    chain.prepare()
    steps = -(-len(x) // settings.batch_size)
    for number in range(passes + 1):
        now = time.perf_counter()
        nmi = None if truth is None else float(normalized_mutual_info_score(truth, chain.gibbs.z))
        told.append(
            {
                "seconds": now - began - scored,
                "score": chain.gibbs.log_joint(),
                "clusters": len(chain.gibbs.occupied),
                "nmi": nmi,
                "splits and merges": [chain.split_merge.accepted, chain.split_merge.proposed],
            }
        )
        scored += time.perf_counter() - now
        if number < passes:
            for _ in range(steps):
                chain.step()
    return told


def peers(x, truth, clusters, seed):
    """NMI and seconds of other programs."""
    import peers as beside

    beside.K = clusters
    methods = {
        "spherical k-means": lambda: beside.spherical_k_means(x, seed, starts=1),
        "KMeans": lambda: KMeans(clusters, random_state=seed).fit_predict(x),
        "GaussianMixture, diagonal": lambda: GaussianMixture(
            clusters, covariance_type="diag", random_state=seed
        ).fit_predict(x),
        "BayesianGaussianMixture, diagonal": lambda: BayesianGaussianMixture(
            n_components=clusters, covariance_type="diag", random_state=seed
        ).fit_predict(x),
    }
    told = {}
    for name, fit in methods.items():
        began = time.perf_counter()
        z = fit()
        told[name] = {
            "nmi": float(normalized_mutual_info_score(truth, z)),
            "seconds": time.perf_counter() - began,
        }
    return told


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--clusters", default="80")
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--kappa", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    told = parser.parse_args()
    x, truth = (
        (np.load(told.vectors, mmap_mode="r"), None if told.labels is None else np.load(told.labels))
        if told.vectors
        else simulated(100_000, 128, 80, told.kappa)
    )
    clusters = told.clusters if told.clusters == "auto" else int(told.clusters)
    settings = Settings(n_clusters=clusters)
    curve(np.asarray(x[:3_000]), None, Settings(n_clusters=3), 1, 0)  # compiles
    found = curve(x, truth, settings, told.passes, told.seed)
    scores = np.array([point["score"] for point in found])
    last = scores[len(scores) // 2 :]
    rests = int(np.flatnonzero(scores >= last.mean() - last.std())[0])
    summary = {
        "seconds to rest": found[rests]["seconds"],
        "passes to rest": rests,
        "start": found[0]["seconds"],
    }
    if told.labels is not None:
        summary["peers"] = peers(np.asarray(x, float), truth, clusters, told.seed)
    told.out.write_text(
        json.dumps(
            {
                "summary": summary,
                "arguments": vars(told)
                | {"out": str(told.out), "vectors": str(told.vectors), "labels": str(told.labels)},
                "curve": found,
            },
            indent=1,
        )
    )
    print(json.dumps(summary | {"last": found[-1]}, indent=2))


if __name__ == "__main__":
    main()
