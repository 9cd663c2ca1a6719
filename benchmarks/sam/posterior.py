"""SAM on a corpus for a given time: held-out score, temperatures, and whether the chain has come to rest.

Fits each seed for --seconds including start-up and compilation and scores the stored draws: the last one (N
= 1) and the last ten (N = 10), J = 200. The same 200 mixtures of the prior meet every document, so the score
of one and the same draw depends on how its topics are numbered: `over_orders` is its mean and standard
deviation over 20 random orders of the topics. `spread_ratio` is the standard deviation of the documents'
mixtures over that of their prior: of the order of 1 once the chain is at rest, and far above while the topics
are still blurred.

    python benchmarks/sam/posterior.py --train TRAIN.npz --test TEST.npz --out result.json \\
        --seconds 60 --seeds 0 1 2
"""

import argparse
import json
import time

STARTED = time.perf_counter()

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

from geodrift.data import Corpus  # noqa: E402
from geodrift.driver import Length, chunks, plan_of  # noqa: E402
from geodrift.models.spherical_admixture import Chain, Settings, log_perplexity, weight_rows  # noqa: E402


def prior_deviation(alpha: float, num_topics: int) -> float:
    """Standard deviation of a component of a symmetric Dirichlet."""
    return float(np.sqrt((num_topics - 1) / (num_topics**2 * (alpha * num_topics + 1))))


def fit(corpus: Corpus, settings: Settings, seed: int, seconds: float) -> dict:
    """One chain; ``seconds`` from now to the last step."""
    started = time.perf_counter()
    chain = Chain(corpus, settings, seed=seed)
    chain.compile()
    plan = plan_of([chain], Length(seconds=seconds - (time.perf_counter() - started)))
    draws, kinetic, spread, path = [], [], [], []
    for chunk in chunks(chain, plan):
        if chunk.failure is not None:
            raise chunk.failure
        if chunk.draws:
            draws.append(chunk.draws["topics"][:, 0])
        deviation = float(chain.latents.mixtures.std(axis=0).mean())
        path.append({"count": chain.count, "spread": deviation, "topics": chain.topics()})
        if plan.phase(chain.count) == "sampling":
            kinetic.append(chunk.metrics["kinetic_temperature"])
            spread.append(deviation)
    return {
        "chain": chain,
        "draws": np.concatenate(draws),
        "kinetic": float(np.mean(kinetic)),
        "spread": float(np.mean(spread)),
        "seconds": time.perf_counter() - started,
        "path": path,
    }


def over_orders(test: sp.csr_matrix, draws: np.ndarray, alpha: float, orders: int = 20) -> dict:
    """The score of draws [N, K, V] whose topics are numbered anew at random, all draws alike."""
    scores = []
    for order in range(orders):
        numbers = np.random.default_rng(order).permutation(draws.shape[1])
        scores.append(log_perplexity(test, draws[:, numbers], 3e4, alpha, seed=0))
    return {"mean": float(np.mean(scores)), "standard_deviation": float(np.std(scores, ddof=1))}


def judged(run: dict, test: sp.csr_matrix, arguments: argparse.Namespace, start_up: float) -> dict:
    """Scores, temperatures and spread of one run of `fit`, and its path at some forty places."""
    alpha, prior = arguments.alpha, prior_deviation(arguments.alpha, arguments.topics)
    last, last_ten = run["draws"][-1:], run["draws"][-10:]
    return {
        "steps": run["chain"].count,
        "stored_draws": len(run["draws"]),
        "seconds": run["seconds"] + start_up,
        "log_perplexity_last_draw": log_perplexity(test, last, 3e4, alpha, seed=0),
        "log_perplexity_last_ten": log_perplexity(test, last_ten, 3e4, alpha, seed=0),
        "over_orders_last_draw": over_orders(test, last, alpha),
        "over_orders_last_ten": over_orders(test, last_ten, alpha),
        "configurational_temperature": run["chain"].temperature.value(),
        "kinetic_temperature": run["kinetic"],
        "spread_ratio": run["spread"] / prior,
        "along_the_way": [
            {
                "count": place["count"],
                "spread_ratio": place["spread"] / prior,
                "log_perplexity": log_perplexity(test, place["topics"][None], 3e4, alpha, seed=0),
            }
            for place in run["path"][:: max(1, len(run["path"]) // 40)]
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", required=True)
    parser.add_argument("--test", required=True)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--alpha", type=float, default=10.0)
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    train = sp.load_npz(arguments.train).tocsr()
    corpus = Corpus.from_matrix(train, [str(i) for i in range(train.shape[1])])
    test = weight_rows(
        sp.load_npz(arguments.test).tocsr(), "tfidf", corpus.document_frequencies, corpus.num_documents
    )
    settings = Settings(
        n_topics=arguments.topics,
        corpus_mean_concentration=1e4,
        topic_concentration=1e4,
        document_concentration=3e4,
        doc_topic_prior=arguments.alpha,
        batch_size=arguments.batch_size,
    )
    rows, start_up = [], time.perf_counter() - STARTED
    for seed in arguments.seeds:
        run = fit(corpus, settings, seed, arguments.seconds - start_up)
        rows.append({"seed": seed, **judged(run, test, arguments, start_up)})
        print({key: value for key, value in rows[-1].items() if key != "along_the_way"}, flush=True)
    names = (
        "log_perplexity_last_draw",
        "log_perplexity_last_ten",
        "configurational_temperature",
        "spread_ratio",
    )
    result = {
        "settings": settings.to_dict(),
        "seeds": rows,
        "median": {n: float(np.median([r[n] for r in rows])) for n in names},
    }
    print(json.dumps(result["median"], indent=2))
    if arguments.out:
        with open(arguments.out, "w") as file:
            json.dump(result, file, indent=2)


if __name__ == "__main__":
    main()
