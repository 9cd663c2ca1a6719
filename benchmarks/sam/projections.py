"""Posterior standard deviations of 20 fixed projections of the topics, from one state at rest.

Minibatches against all documents at each step.

python benchmarks/sam/projections.py --train TRAIN.npz --out result.json
"""

import argparse
import dataclasses
import json
import pathlib

import numpy as np
import scipy.sparse as sp

import geodrift as gd
from geodrift.data import Corpus
from geodrift.models.spherical_admixture import Engine, Settings

NUM_PROJECTIONS = 20


def projected(engine: Engine, steps: int, thin: int, projections: np.ndarray) -> np.ndarray:
    """Projections along the next steps, [draw, projection]."""
    values = []
    for _ in range(steps // thin):
        for _ in range(thin):
            engine._step()
        values.append(np.einsum("pkv,kv->p", projections, engine.topics()))
    return np.array(values)


def continued(corpus: Corpus, settings: Settings, state: dict[str, np.ndarray]) -> Engine:
    """An engine that takes up a state, perhaps with another batch size."""
    engine = Engine(corpus, settings, seed=1)
    engine.restore(state)
    return engine


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", required=True)
    parser.add_argument("--warm-up", type=int, default=12_000)
    parser.add_argument("--steps", type=int, default=12_000, help="of the minibatch chain")
    parser.add_argument("--full-steps", type=int, default=3000, help="of the chain on all documents")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    train = sp.load_npz(arguments.train).tocsr()
    corpus = Corpus.from_matrix(train, [str(i) for i in range(train.shape[1])])
    settings = Settings(
        n_topics=20,
        corpus_mean_concentration=1e4,
        topic_concentration=1e4,
        document_concentration=3e4,
        doc_topic_prior=10.0,
    )
    first = Engine(corpus, settings, seed=0)
    first.plan(steps=2 * arguments.warm_up)
    for _ in range(arguments.warm_up):
        first._step()
    projections = np.random.default_rng(0).normal(size=(NUM_PROJECTIONS, 20, corpus.num_words))
    projections /= np.linalg.norm(projections, axis=(1, 2), keepdims=True)
    state = first.state()
    runs = {
        "minibatch": (settings, arguments.steps, 10),
        "full": (dataclasses.replace(settings, batch_size=corpus.num_documents), arguments.full_steps, 5),
    }
    values, temperature = {}, {}
    for name, (changed, steps, thin) in runs.items():
        engine = continued(corpus, changed, state)
        values[name] = projected(engine, steps, thin, projections)
        temperature[name] = engine.temperature.value()
    ess = {n: [float(gd.diagnostics.ess(x[None])) for x in v.T] for n, v in values.items()}
    ratio = values["minibatch"].std(axis=0) / values["full"].std(axis=0)
    result = {
        "ratio": ratio.tolist(),
        "largest_deviation": float(np.abs(ratio - 1).max()),
        "least_effective_sample_size": {n: min(e) for n, e in ess.items()},
        "configurational_temperature": temperature,
        "settings": settings.to_dict(),
        "steps": {n: s for n, (_, s, _) in runs.items()},
    }
    print(json.dumps({k: v for k, v in result.items() if k != "settings"}, indent=2))
    if arguments.out:
        pathlib.Path(arguments.out).write_text(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
