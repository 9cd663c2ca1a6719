"""Clusters of documents beside other programs: NMI of K = 20 clusters with the documents' labels.

    python benchmarks/vmf/peers.py OUT.json --data FOLDER [--rows 10000] [--seeds 2] [--only METHOD]

FOLDER holds a folder for each corpus (20news, abstracts) with train-counts.npz, labels.txt (a label a row of
the whole) and split.npz (the training rows' numbers). Rows are drawn at random. tf-idf by scikit-learn's
TfidfTransformer(sublinear_tf=True), rows of norm 1; 100 singular vectors by TruncatedSVD, of norm 1 again.
Every method is given K = 20 and is otherwise as its users get it; HDBSCAN finds its own number, and its
noise counts as one cluster. Two programs for the same model are not among them: spherecluster 0.1.7 installs
but does not import beside scikit-learn 1.9 (`sklearn.cluster.k_means_` is gone), movMF is a package of R,
which was not there. Processor seconds of the fit. The file is written after every fit, and a later call goes
on from it.
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import HDBSCAN
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import normalized_mutual_info_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.preprocessing import normalize

from geodrift.models import VonMisesFisherMixture

K, SINGULAR = 20, 100
CORPORA = ("20news", "abstracts")


def documents(folder, rows):
    """tf-idf rows, their singular vectors, and labels."""
    counts = sp.csr_matrix(sp.load_npz(folder / "train-counts.npz"))
    labels = np.array((folder / "labels.txt").read_text().split("\n")[:-1])[
        np.load(folder / "split.npz")["train"]
    ]
    chosen = np.sort(np.random.default_rng(0).permutation(counts.shape[0])[:rows])
    tfidf = TfidfTransformer(sublinear_tf=True).fit_transform(counts[chosen])
    tfidf = tfidf[:, tfidf.getnnz(axis=0) > 0]
    kept = tfidf.getnnz(axis=1) > 0
    singular = TruncatedSVD(SINGULAR, random_state=0).fit_transform(tfidf[kept])
    return {"tf-idf": tfidf[kept], "singular vectors": normalize(singular)}, labels[chosen][kept]


def spherical_k_means(x, seed, starts=10, rounds=100):
    """The best of ten starts of k-means by the cosine (Dhillon and Modha 2001), seeded by distances."""
    rng, best = np.random.default_rng(seed), (-np.inf, None)
    every = np.arange(x.shape[0])
    for _ in range(starts):
        centres = [int(rng.integers(len(every)))]
        nearest = np.full(len(every), -1.0)
        for _ in range(K - 1):
            last = x[centres[-1:]]
            products = (x @ last.T).toarray() if sp.issparse(x) else x @ last.T
            nearest = np.maximum(nearest, products[:, 0])
            gaps = np.maximum(1 - nearest, 0)
            centres.append(int(rng.choice(every, p=gaps / gaps.sum())))
        means = x[centres].toarray() if sp.issparse(x) else x[centres]
        z = None
        for _ in range(rounds):
            cosines, before = np.asarray(x @ means.T), z
            z = cosines.argmax(axis=1)
            if before is not None and (z == before).all():
                break
            members = sp.csr_matrix((np.ones(len(z)), (z, every)), shape=(K, len(every)))
            sums = members @ x
            sums = sums.toarray() if sp.issparse(sums) else np.asarray(sums)
            means = normalize(sums)
        score = cosines[every, z].sum()
        if score > best[0]:
            best = score, z
    return best[1]


def ours(x, seed, clusters=K, **settings):
    model = VonMisesFisherMixture(clusters, normalise=True, random_state=seed, **settings).fit(x)
    rhat = model.findings().verdict.quantities["log_joint"]["rhat"]
    shared = [part["shared"] for part in model.findings().parts]
    return model.labels_, {"rhat_of_log_joint": rhat, "shared": sum(shared), "told": len(shared)}


METHODS = {
    "geodrift": (ours, ("tf-idf", "singular vectors")),
    "geodrift, a concentration each": (
        lambda x, seed: ours(x, seed, shared_concentration=False),
        ("tf-idf", "singular vectors"),
    ),
    "geodrift, number inferred": (lambda x, seed: ours(x, seed, "auto"), ("tf-idf", "singular vectors")),
    "spherical k-means": (spherical_k_means, ("tf-idf", "singular vectors")),
    "GaussianMixture": (
        lambda x, seed: GaussianMixture(K, random_state=seed).fit_predict(x),
        ("singular vectors",),
    ),
    "BayesianGaussianMixture": (
        lambda x, seed: BayesianGaussianMixture(n_components=K, random_state=seed).fit_predict(x),
        ("singular vectors",),
    ),
    "HDBSCAN": (lambda x, seed: HDBSCAN(min_cluster_size=15).fit_predict(x), ("singular vectors",)),
}


def summary(fits):
    found = {}
    for one in fits:
        key = f"{one['corpus']}, {one['form']}: {one['method']}"
        found.setdefault(key, []).append(one["nmi"])
    return {
        key: {"nmi": float(np.mean(v)), "fits": len(v), "least": min(v), "most": max(v)}
        for key, v in found.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--corpora", nargs="+", default=list(CORPORA), choices=CORPORA)
    told = parser.parse_args()
    arguments = {"rows": told.rows}
    kept = json.loads(told.out.read_text()) if told.out.exists() else {"arguments": arguments, "fits": []}
    if kept["arguments"] != arguments:
        parser.error(f"{told.out} was made with {kept['arguments']}")
    done = {(one["corpus"], one["form"], one["method"], one["seed"]) for one in kept["fits"]}
    warnings.filterwarnings("ignore", category=UserWarning)
    for corpus in told.corpora:
        forms, labels = documents(told.data / corpus, told.rows)
        for method in told.only:
            fit, takes = METHODS[method]
            for form in takes:
                for seed in range(1 if method == "HDBSCAN" else told.seeds):
                    if (corpus, form, method, seed) in done:
                        continue
                    began, more = time.process_time(), {}
                    z = fit(forms[form], seed)
                    if isinstance(z, tuple):
                        z, more = z
                    one = {"corpus": corpus, "form": form, "method": method, "seed": seed}
                    one |= {
                        "nmi": float(normalized_mutual_info_score(labels, z)),
                        "clusters": len(np.unique(z)),
                    }
                    one |= {"processor_seconds": time.process_time() - began, "noise": float((z < 0).mean())}
                    kept["fits"].append(one | more)
                    kept["summary"] = summary(kept["fits"])
                    part = told.out.with_suffix(".part")
                    part.write_text(json.dumps(kept, indent=1))
                    os.replace(part, told.out)
                    print(json.dumps(one | more), flush=True)
    print(json.dumps(kept.get("summary", {}), indent=1))


if __name__ == "__main__":
    main()
