"""Section 5.3, Fig. 5(b): the Spherical Admixture Model on a large corpus, by SGGMC, gSGNHT and StoVI.

The paper's 150,000 articles of Wikipedia are not to be had. Any large corpus stands in, cut as theirs is:
words that 0.44% to 5.99% of the documents have, documents of more than 20 of them, the supplement's
hyperparameters. Once with the published settings, once with the documents' mixtures kept; StoVI by natural
gradients. Give a folder with `train-counts.npz` and `test-counts.npz`, scipy sparse counts. Each path is a
file in RUNS, so that several calls can share the work.

    python reproductions/liu-2016/figure5b_large.py --data FOLDER --keep RUNS
"""

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from common import HERE, timed_rows, write
from sam_race import Scorer, chain, follow, variational

from geodrift.data import Corpus
from geodrift.models.spherical_admixture import Settings, annealed_log_perplexity, weight_rows
from geodrift.models.spherical_admixture.variational._stochastic import fit_stochastic_variational

SHARE_OF_DOCUMENTS, MORE_THAN = (0.0044, 0.0599), 20
GAMMA, RHO, BATCH = 1e-1, 5e-1, 100  # step size sqrt(gamma / D), friction rho / step size
MODEL = {
    "n_topics": 50,
    "corpus_mean_concentration": 6e3,
    "topic_concentration": 6e3,
    "document_concentration": 2e4,
    "doc_topic_prior": 10.0,
}
ANNEALED_EVERY = 10  # test documents
COLOURS = {
    "StoVI": "#7f7f7f",
    "SGGMC": "#1f77b4",
    "gSGNHT": "#d62728",
    "SGGMC, kept mixtures": "#2ca02c",
    "gSGNHT, kept mixtures": "#98df8a",
}


def settings_of(documents: int) -> dict[str, Settings]:
    """As published, with a fixed step and no noise subtracted; and tuned, with the mixtures kept."""
    step = float(np.sqrt(GAMMA / documents))
    fresh = {"latents": "fresh", "subtract_noise": False, "step_size": step, "friction": RHO / step}
    published = MODEL | fresh | {"mixture_burn_in": 40, "mixture_draws": 20, "num_steps": 10}
    return {
        "SGGMC": Settings(**published, batch_size=BATCH),
        "gSGNHT": Settings(**published, batch_size=BATCH, method="gsgnht"),
        "SGGMC, kept mixtures": Settings(**MODEL, batch_size=BATCH),
        "gSGNHT, kept mixtures": Settings(**MODEL, batch_size=BATCH, method="gsgnht"),
    }


def read(folder: Path) -> tuple[Corpus, sp.csr_matrix]:
    """The training corpus and the test documents' unit vectors, of the words that are kept."""
    train, test = (sp.load_npz(folder / f"{part}-counts.npz").tocsr() for part in ("train", "test"))
    low, high = SHARE_OF_DOCUMENTS
    share = np.bincount(train.indices, minlength=train.shape[1]) / train.shape[0]
    words = np.flatnonzero((share >= low) & (share <= high))
    train, test = (part[:, words] for part in (train, test))
    train, test = (part[np.asarray(part.sum(axis=1)).ravel() > MORE_THAN] for part in (train, test))
    corpus = Corpus.from_matrix(train, [str(word) for word in words])
    return corpus, weight_rows(test, "tfidf", corpus.document_frequencies, corpus.num_documents)


def run(name: str, corpus: Corpus, rows: sp.csr_matrix, seconds: float) -> dict[str, Any]:
    """One method's scores against processor seconds, and the annealed score of its last topics."""
    if name == "StoVI":
        vectors = weight_rows(
            corpus.rows(np.arange(corpus.num_documents)),
            "tfidf",
            corpus.document_frequencies,
            corpus.num_documents,
        )
        path, topics = variational(
            fit_stochastic_variational, vectors, rows, MODEL, seconds, form="tied", batch_size=BATCH
        )
    else:
        settings = settings_of(corpus.num_documents)[name]
        stride = 20 if settings.latents == "kept" else 1
        path, topics = follow(chain(corpus, settings), Scorer(rows, MODEL), seconds, stride)
    annealed = annealed_log_perplexity(
        rows[::ANNEALED_EVERY],
        topics,
        MODEL["document_concentration"],
        MODEL["doc_topic_prior"],
        num_replicates=1,
    )
    return {"path": path, "annealed": float(annealed.mean())}


def score_of_mean(corpus: Corpus, rows: sp.csr_matrix) -> float:
    """The score where every topic is the mean direction of the documents: what knowing no topic gives."""
    everything = corpus.rows(np.arange(corpus.num_documents))
    vectors = weight_rows(everything, "tfidf", corpus.document_frequencies, corpus.num_documents)
    mean = np.asarray(vectors.sum(axis=0)).ravel()
    scorer = Scorer(rows, MODEL)
    scorer.add(np.tile(mean / np.linalg.norm(mean), (MODEL["n_topics"], 1)))
    return scorer.scores()["last"]


def draw(runs: dict[str, dict[str, Any]], mean: float) -> None:
    """The figure as published, and at equal numbers of draws."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True)
    titles = {"all": "all draws so far (as published)", "last_ten": "last ten draws"}
    for axis, (key, title) in zip(axes, titles.items(), strict=True):
        for name, found in runs.items():
            seconds = [p["seconds"] for p in found["path"]]
            axis.plot(seconds, [p[key] for p in found["path"]], color=COLOURS[name], label=name)
        axis.set(xscale="log", xlabel="processor seconds", title=title)
        axis.axhline(mean, color="black", linewidth=0.6, linestyle=":")
    axes[0].set_ylabel("held-out log-perplexity, J = 200")
    axes[1].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(HERE / "figure5b_large.png", dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--keep", type=Path, required=True, help="folder of the finished methods")
    parser.add_argument("--only", nargs="*", choices=COLOURS, help="run these methods")
    parser.add_argument("--seconds", type=float, default=120.0, help="processor seconds of each method")
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    corpus, rows = read(arguments.data)
    files = {name: arguments.keep / f"{name.replace(', ', '-').replace(' ', '-')}.json" for name in COLOURS}
    wanted = arguments.only or COLOURS
    jobs = {
        name: lambda n=name: run(n, corpus, rows, arguments.seconds)
        for name in wanted
        if not files[name].exists()
    }
    for name, job in jobs.items():
        files[name].write_text(json.dumps(timed_rows({name: job})[name]), encoding="utf-8")
    if not all(file.exists() for file in files.values()):
        return
    runs = {name: json.loads(file.read_text(encoding="utf-8")) for name, file in files.items()}
    mean = score_of_mean(corpus, rows)
    draw(runs, mean)
    size = {"documents": corpus.num_documents, "words": corpus.num_words, "test_documents": rows.shape[0]}
    passes = {
        name: found["path"][-1]["iteration"] * BATCH / corpus.num_documents for name, found in runs.items()
    }
    ends = {name: found["path"][-1] for name, found in runs.items()}
    write(
        "figure5b_large",
        {"seconds": arguments.seconds, "gamma": GAMMA, "rho": RHO, "batch": BATCH} | size,
        {
            "end": ends,
            "annealed": {name: found["annealed"] for name, found in runs.items()},
            "passes": passes,
            "mean_direction": mean,
            "sggmc_over_stovi": ends["SGGMC"]["all"] - ends["StoVI"]["all"],
            "gsgnht_over_sggmc": ends["gSGNHT"]["all"] - ends["SGGMC"]["all"],
        },
    )


if __name__ == "__main__":
    main()
