"""LDA in NumPyro, by NUTS over topics and all mixtures, beside ours on corpora small enough for it.

    python benchmarks/calibration/numpyro_nuts.py OUT.json [--corpora 20]     # half a minute a corpus

Three topics, 60 documents of 50 words, a vocabulary of 40. One chain of 500 draws after 500 of warm-up; its
draws are brought in one order of the topics as ours are. Tallies as in `calibration.py`, of words alone.
"""

import argparse
import sys
import time
from pathlib import Path

import corpora
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from calibration import Fitted
from fits import SAME, keep, kept
from others import LEAST
from ranks import EDGES, add, coverage, tally
from scipy.optimize import linear_sum_assignment

from geodrift.models.kit._alignment import common_order, directions_of

SHAPES = ((3, 60, 40, 50, 0.3, 0.1),)
WARM_UP, DRAWS = 500, 500


def lda(counts, num_topics, alpha, eta):
    documents, words = counts.shape
    with numpyro.plate("topic", num_topics):
        topics = numpyro.sample("topics", dist.Dirichlet(jnp.full(words, eta)))
    with numpyro.plate("document", documents):
        mixtures = numpyro.sample("mixtures", dist.Dirichlet(jnp.full(num_topics, alpha)))
    # Words of tiny probability underflow in float32; every count lies where the sum does not.
    numpyro.factor("words", jnp.sum(jnp.where(counts > 0, counts * jnp.log(mixtures @ topics + 1e-30), 0.0)))


def nuts(truth, model):
    """A tally of the true topics' words among NUTS's draws, and its seconds."""
    began, num_topics = time.monotonic(), len(truth.topics)
    sampler = numpyro.infer.MCMC(
        numpyro.infer.NUTS(lda), num_warmup=WARM_UP, num_samples=DRAWS, progress_bar=False
    )
    sampler.run(
        jax.random.key(model.random_state),
        truth.counts.toarray(),
        num_topics,
        model.doc_topic_prior,
        model.topic_word_prior,
    )
    draws = np.asarray(sampler.get_samples()["topics"])
    seconds = time.monotonic() - began
    order = common_order(draws, directions_of(False))
    draws = np.take_along_axis(draws, order[:, :, None], axis=1)
    means = draws.mean(axis=0)
    cosines = np.sqrt(truth.topics) @ (np.sqrt(means) / np.linalg.norm(np.sqrt(means), axis=1)[:, None]).T
    counts = tally()
    for true, topic in zip(*linear_sum_assignment(-cosines), strict=True):
        words = np.flatnonzero(means[topic] > LEAST)
        if cosines[true, topic] > SAME:
            add(counts, truth.topics[true, words], np.quantile(draws[:, topic][:, words], EDGES, axis=0))
        else:
            counts[-1] += len(words)
    return counts, seconds


def ours(truth, model):
    began, counts = time.monotonic(), tally()
    fitted = Fitted(truth, model.fit(truth.counts))
    seconds = time.monotonic() - began
    for true, found in enumerate(fitted.found):
        values, quantiles = fitted.words(true)
        if found:
            add(counts, values, quantiles)
        else:
            counts[-1] += len(values)
    return counts, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--corpora", type=int, default=20)
    options = parser.parse_args()
    rows = kept(options.out)
    for seed in range(len(rows), options.corpora):
        truth, model = corpora.lda(seed, SHAPES)
        row = {}
        for name, program in (("numpyro", nuts), ("geodrift", ours)):
            counts, seconds = program(truth, model)
            row[name] = {"words": counts.tolist(), "seconds": seconds}
        rows.append(row)
        keep(options.out, rows)
        print(seed, {name: round(told["seconds"], 1) for name, told in row.items()}, file=sys.stderr)
    for name in ("numpyro", "geodrift"):
        print(name, coverage(np.array([row[name]["words"] for row in rows])))
        print("seconds", np.median([row[name]["seconds"] for row in rows]))


if __name__ == "__main__":
    main()
