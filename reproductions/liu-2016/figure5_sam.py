"""Section 5.3, Fig. 5(a): the Spherical Admixture Model by all eight methods on one time axis.

The published settings, once scored as published (all draws so far, the start included) and once at
equal numbers of draws; then our default sampler until it is at rest. The corpus is not part of this
repository: give a folder with `train-counts.npz` and `test-counts.npz`, scipy sparse counts of the 1,670
and 1,110 documents of 20News-different over 5,000 words.

    python reproductions/liu-2016/figure5_sam.py --data FOLDER
"""

import argparse
import time
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from common import HERE, timed_rows, write
from published_variational import fit_stochastic_variational_as_published, fit_variational_as_published
from sam_race import THETA_DRAWS, Scorer, chain, follow, variational
from sam_race import Path as ScoredPath

from geodrift.data import Corpus
from geodrift.models.spherical_admixture import (
    Chain,
    Settings,
    annealed_log_perplexity,
    weight_rows,
)

TOPICS, ALPHA, KAPPA, SIGMA = 20, 10.0, 3e4, 1e4
GAMMA, RHO = 1e-2, 1e-2  # step size sqrt(gamma / D), friction rho / step size
MODEL = {
    "n_topics": TOPICS,
    "corpus_mean_concentration": SIGMA,
    "topic_concentration": SIGMA,
    "document_concentration": KAPPA,
    "doc_topic_prior": ALPHA,
}
COLOURS = dict(
    zip(
        (
            "VI",
            "StoVI",
            "GMC-apprMH",
            "GMC-bGibbs",
            "SGGMC-batch",
            "SGGMC-full",
            "gSGNHT-batch",
            "gSGNHT-full",
            "ours",
        ),
        ("#7f7f7f", "#c7c7c7", "#8c564b", "#bcbd22", "#1f77b4", "#aec7e8", "#d62728", "#ff9896", "#2ca02c"),
        strict=True,
    )
)


def published(documents: int, **changes: object) -> Settings:
    """The paper's settings: no noise subtracted, fixed step and friction."""
    step = float(np.sqrt(GAMMA / documents))
    stochastic = {"latents": "fresh", "subtract_noise": False, "step_size": step, "friction": RHO / step}
    return Settings(**MODEL | stochastic | {"mixture_burn_in": 40, "mixture_draws": 20} | changes)


def at_rest(corpus: Corpus, rows: sp.csr_matrix, seconds: float) -> dict[str, list[float]]:
    """Our default sampler on the way to equilibrium.

    Its score by 200 prior mixtures and by annealing, and the spread of the mixtures over their prior's.
    """
    chain = Chain(corpus, Settings(**MODEL), seed=0)
    chain.compile()
    chain.begin(chain.shares.plan(10**6))
    few, prior = rows[::5], float(np.sqrt((TOPICS - 1) / (TOPICS**2 * (ALPHA * TOPICS + 1))))
    out: dict[str, list[float]] = {"passes": [], "prior_mixtures": [], "annealed": [], "spread_ratio": []}
    started, spent = time.process_time(), 0.0
    for count in np.unique(np.geomspace(40, 40_000, 14).astype(int)):
        while chain.count < count:
            chain.step()
        spent = time.process_time() - started
        scorer = Scorer(few, MODEL)
        scorer.add(chain.topics())
        out["passes"].append(float(count * 50 / corpus.num_documents))
        out["prior_mixtures"].append(scorer.scores()["last"])
        out["annealed"].append(
            float(annealed_log_perplexity(few, chain.topics(), KAPPA, ALPHA, num_replicates=1).mean())
        )
        out["spread_ratio"].append(float(chain.latents.mixtures.std(axis=0).mean()) / prior)
        if spent > seconds:
            break
    return out


def draw_methods(paths: dict[str, ScoredPath]) -> None:
    """The figure as published, and at equal numbers of draws."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True)
    for axis, key, title in zip(
        axes, ("all", "last_ten"), ("all draws so far (as published)", "last ten draws"), strict=True
    ):
        for name, path in paths.items():
            axis.plot([p["seconds"] for p in path], [p[key] for p in path], color=COLOURS[name], label=name)
        axis.set(xscale="log", xlabel="processor seconds", title=title)
        axis.axhline(5008, color="black", linewidth=0.6, linestyle=":")
    axes[0].set_ylabel("held-out log-perplexity, J = 200")
    axes[1].legend(fontsize=8, ncols=2)
    figure.tight_layout()
    figure.savefig(HERE / "figure5_sam.png", dpi=130)


def draw_rest(rest: dict[str, list[float]]) -> None:
    """Two scores and the spread, against passes over the corpus."""
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6))
    rows = (
        ("prior_mixtures", "log-perplexity, 200 prior mixtures"),
        ("annealed", "log-perplexity, annealed"),
        ("spread_ratio", "spread of mixtures / prior's"),
    )
    for axis, (key, label) in zip(axes, rows, strict=True):
        axis.plot(rest["passes"], rest[key], color=COLOURS["ours"], marker=".")
        axis.set(xscale="log", xlabel="passes over the corpus", ylabel=label)
    axes[2].axhline(1.0, color="black", linewidth=0.6, linestyle=":")
    figure.tight_layout()
    figure.savefig(HERE / "figure5_rest.png", dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=60.0, help="processor seconds of each method")
    arguments = parser.parse_args()
    train = sp.load_npz(arguments.data / "train-counts.npz").tocsr()
    corpus = Corpus.from_matrix(train, [str(i) for i in range(train.shape[1])])
    test = sp.load_npz(arguments.data / "test-counts.npz").tocsr()
    rows = weight_rows(test, "tfidf", corpus.document_frequencies, corpus.num_documents)
    size, seconds = corpus.num_documents, arguments.seconds
    vectors = weight_rows(train, "tfidf", corpus.document_frequencies, size)
    chains = {
        "GMC-apprMH": published(
            size, method="gmc-approximate", step_size=1e-4, mixture_burn_in=15, mixture_draws=10
        ),
        "GMC-bGibbs": published(
            size, method="gmc-gibbs", step_size=2e-5, num_steps=5, mixture_burn_in=15, mixture_draws=1
        ),
        "SGGMC-batch": published(size, num_steps=10),
        "SGGMC-full": published(size, batch_size=size),
        "gSGNHT-batch": published(size, method="gsgnht", num_steps=10),
        "gSGNHT-full": published(size, method="gsgnht", batch_size=size),
        "ours": Settings(**MODEL),
    }
    jobs = {
        name: lambda f=fit: variational(f, vectors, rows, MODEL, seconds)[0]
        for name, fit in (
            ("VI", fit_variational_as_published),
            ("StoVI", fit_stochastic_variational_as_published),
        )
    } | {
        name: lambda s=settings: follow(
            chain(corpus, s), Scorer(rows, MODEL), seconds, stride=20 if s.latents == "kept" else 1
        )[0]
        for name, settings in chains.items()
    }
    paths = timed_rows(jobs)
    rest = at_rest(corpus, rows, seconds)
    draw_methods(paths)
    draw_rest(rest)
    write(
        "figure5_sam",
        {"seconds": seconds, "gamma": GAMMA, "rho": RHO, "documents": size, "theta_draws": THETA_DRAWS},
        {
            "end": {name: path[-1] for name, path in paths.items()},
            "start": {name: path[0] for name, path in paths.items()},
            "rest": rest,
        },
    )


if __name__ == "__main__":
    main()
