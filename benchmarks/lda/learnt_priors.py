"""Held-out perplexity of LDA with learnt priors beside fixed ones, at the same processor time.

    python benchmarks/lda/learnt_priors.py --data FOLDER --json OUT.json [--seconds 40] [--seeds 2]

FOLDER holds a folder for each corpus, with train-counts.npz and test-counts.npz (scipy, documents x words).
A run is planned by steps: those that ``--seconds`` of processor time are with fixed priors, by a timing of
the first. Every run is told with the processor seconds that it took. ``state`` scores the topics' mean given
the last assignments under the last alpha, ``draws`` ten stored draws, each under its own alpha. The runs that
are in the file are not run again.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from geodrift.data import Corpus
from geodrift.driver import chunks
from geodrift.models.latent_dirichlet_allocation import Chain, Settings, completion_perplexity

TOPICS = {"20news": 50, "abstracts": 100}
LEARN = {
    "fixed": {},
    "alpha and eta": {"learn_doc_topic_prior": "symmetric", "learn_topic_word_prior": "symmetric"},
    "alpha": {"learn_doc_topic_prior": "symmetric"},
    "alpha of each topic": {"learn_doc_topic_prior": "asymmetric"},
    "alpha of each topic and eta": {
        "learn_doc_topic_prior": "asymmetric",
        "learn_topic_word_prior": "symmetric",
    },
}
DRAWS = 10


def steps_of(corpus, topics, seconds):
    """How many steps take so many processor seconds with fixed priors, the first ones left out."""
    chain = Chain(corpus, Settings(n_topics=topics, num_draws=DRAWS))
    chain.compile()
    chain.prepare()
    chain.begin(chain.shares.plan(10**6))
    for _ in range(3):
        chain.step()
    began, work = time.process_time(), chain.work()
    while time.process_time() - began < 4.0:
        chain.step()
    pace = (time.process_time() - began) / (chain.work() - work)
    return max(
        200, int(seconds / pace / corpus.num_tokens * -(-corpus.num_documents // chain.move.batch_size))
    )


def run(corpus, test, topics, steps, learn, seed):
    settings = Settings(n_topics=topics, num_draws=DRAWS, **learn)
    chain = Chain(corpus, settings, seed=seed)
    chain.compile()
    began = time.process_time()
    kept = [chunk.draws for chunk in chunks(chain, chain.shares.plan(steps)) if chunk.draws]
    spent = time.process_time() - began
    topic_draws = np.concatenate([draws["topics"][:, 0] for draws in kept])[-DRAWS:]
    alpha = settings.document_prior
    if "doc_topic_prior" in kept[0]:
        alpha = np.concatenate([draws["doc_topic_prior"][:, 0] for draws in kept])[-DRAWS:]
    last = chain.move.document_prior
    return {
        "processor_seconds": round(spent, 1),
        "state": completion_perplexity(test, chain.expected_topics(), last).perplexity,
        "draws": completion_perplexity(test, topic_draws, alpha).perplexity,
        "alpha": [float(last.min()), float(np.median(last)), float(last.max())],
        "eta": float(chain.move.topic_word_prior),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--corpora", nargs="*", default=list(TOPICS))
    parser.add_argument("--learn", nargs="*", default=list(LEARN))
    options = parser.parse_args()
    stored = json.loads(options.json.read_text()) if options.json.exists() else {"steps": {}, "rows": []}
    done = {(row["corpus"], row["learn"], row["seed"]) for row in stored["rows"]}
    for name in options.corpora:
        train, test = (sp.load_npz(options.data / name / f"{part}-counts.npz") for part in ("train", "test"))
        corpus = Corpus.from_matrix(train)
        corpus.num_tokens = int(train.sum())
        if name not in stored["steps"]:
            stored["steps"][name] = steps_of(corpus, TOPICS[name], options.seconds)
        for seed in range(options.seeds):
            for learn in options.learn:
                if (name, learn, seed) in done:
                    continue
                row = {"corpus": name, "learn": learn, "seed": seed}
                row |= run(corpus, test, TOPICS[name], stored["steps"][name], LEARN[learn], seed)
                stored["rows"].append(row)
                options.json.write_text(json.dumps(stored, indent=1) + "\n")
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
