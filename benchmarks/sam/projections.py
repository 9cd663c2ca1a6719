"""Posterior standard deviations of 20 fixed projections of the topics: minibatches against all documents.

The subspace of the topics turns slowly (hundreds of passes), so each chain is a process of its own that may
run for hours, writes what it has every few minutes, and can be stopped at any time.

    python benchmarks/sam/projections.py start --train TRAIN.npz --state s.npz
    python benchmarks/sam/projections.py chain --train TRAIN.npz --state s.npz --batch-size 50 --out a.npz
    python benchmarks/sam/projections.py chain --train TRAIN.npz --state s.npz --batch-size 1670 --out b.npz
    python benchmarks/sam/projections.py compare a.npz b.npz --out result.json
"""

import argparse
import json
import pathlib
import time

import numpy as np
import scipy.sparse as sp

import geodrift as gd
from geodrift.data import Corpus
from geodrift.models.spherical_admixture import Chain, Settings

NUM_PROJECTIONS = 20
NUM_TOPICS = 20
SAVE_SECONDS = 120.0


def corpus_of(path: str) -> Corpus:
    train = sp.load_npz(path).tocsr()
    return Corpus.from_matrix(train, [str(i) for i in range(train.shape[1])])


def settings(batch_size: int = 50, mixture_draws: int = 8) -> Settings:
    return Settings(
        n_topics=NUM_TOPICS,
        corpus_mean_concentration=1e4,
        topic_concentration=1e4,
        document_concentration=3e4,
        doc_topic_prior=10.0,
        batch_size=batch_size,
        mixture_draws=mixture_draws,
    )


def start(arguments: argparse.Namespace) -> None:
    """One chain to rest; both chains of the comparison begin at its end."""
    chain = Chain(corpus_of(arguments.train), settings(), seed=0)
    chain.compile()
    chain.begin(chain.shares.plan(2 * arguments.steps))
    for _ in range(arguments.steps):
        chain.step()
    np.savez(arguments.state, **chain.state())


def chain(arguments: argparse.Namespace) -> None:
    """Projections along a chain, [draw, projection]."""
    corpus = corpus_of(arguments.train)
    chosen = settings(arguments.batch_size, arguments.mixture_draws)
    chain = Chain(corpus, chosen, seed=1)
    chain.compile()
    chain.restore(dict(np.load(arguments.state)))
    # The state is that of the end of the warm-up.
    chain.begin(chain.shares.plan(2 * chain.count))
    projections = np.random.default_rng(0).normal(size=(NUM_PROJECTIONS, NUM_TOPICS * corpus.num_words))
    projections /= np.linalg.norm(projections, axis=1, keepdims=True)
    values, saved = [], time.monotonic()
    for step in range(1, arguments.steps + 1):
        chain.step()
        if step % arguments.thin == 0:
            values.append(projections @ chain.topics().ravel().astype(np.float64))
        if time.monotonic() - saved > SAVE_SECONDS or step == arguments.steps:
            saved = time.monotonic()
            np.savez(
                arguments.out,
                values=np.array(values),
                steps=step,
                batch_size=arguments.batch_size,
                processor_seconds=time.process_time(),
                temperature=chain.temperature.value(),
            )


def compare(arguments: argparse.Namespace) -> None:
    runs = [dict(np.load(path)) for path in arguments.runs]
    deviations = [run["values"].std(axis=0) for run in runs]
    sizes = [np.array([float(gd.diagnostics.ess(x[None])) for x in run["values"].T]) for run in runs]
    ratio = deviations[0] / deviations[1]
    # A standard deviation from n independent draws of a normal law has the relative error 1/sqrt(2n).
    error = np.sqrt(sum(1.0 / (2.0 * size) for size in sizes))
    result = {
        "ratio": ratio.round(3).tolist(),
        "relative_error": error.round(3).tolist(),
        "largest_deviation": float(np.abs(ratio - 1).max()),
        "effective_sample_size": [size.round(1).tolist() for size in sizes],
        "runs": [
            {key: float(run[key]) for key in ("batch_size", "steps", "processor_seconds", "temperature")}
            for run in runs
        ],
    }
    print(json.dumps(result, indent=2))
    if arguments.out:
        pathlib.Path(arguments.out).write_text(json.dumps(result, indent=2))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    for function, steps in ((start, 6000), (chain, 1_000_000)):
        command = commands.add_parser(function.__name__)
        command.set_defaults(function=function)
        command.add_argument("--train", required=True)
        command.add_argument("--state", required=True)
        command.add_argument("--steps", type=int, default=steps)
    command.add_argument("--batch-size", type=int, required=True)
    command.add_argument("--mixture-draws", type=int, default=8)
    command.add_argument("--thin", type=int, default=10)
    command.add_argument("--out", required=True)
    command = commands.add_parser("compare")
    command.set_defaults(function=compare)
    command.add_argument("runs", nargs=2)
    command.add_argument("--out")
    arguments = parser.parse_args()
    arguments.function(arguments)


if __name__ == "__main__":
    main()
