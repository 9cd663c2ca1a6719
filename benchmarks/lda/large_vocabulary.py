"""SCIR's topics with a large vocabulary: every word moved at each step, and words moved when they are needed.

    python benchmarks/lda/large_vocabulary.py --json result.json

Both ways take the same minibatches of synthetic documents, of 60 words from three of 100 topics, one after
the other in one process. A topic orders the words by their rank in the language times a log-normal one, with
Zipf's law in its order. Beside the seconds of a step stands how far the sums that the second way uses are
from the sums of the words, moved to date: root mean square and largest of the topics' relative errors.
"""

import argparse
import json
import pathlib
import platform
import time

import numpy as np
import scipy.sparse as sp

import geodrift
from geodrift.models.latent_dirichlet_allocation import Settings
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch, as_minibatch
from geodrift.models.latent_dirichlet_allocation.scaled_counts import _deferred_topics
from geodrift.models.latent_dirichlet_allocation.scaled_counts._sampler import ScaledCounts

TOPICS, WORDS_PER_DOCUMENT, TOPICS_PER_DOCUMENT = 100, 60, 3
DOCUMENTS = 1_000_000  # that the minibatches stand for
SPREAD = 1.0  # of the logarithms of ranks


def minibatches(number: int, size: int, num_words: int, seed: int) -> list[Minibatch]:
    """Minibatches of new documents."""
    rng = np.random.default_rng(seed)
    shares = np.cumsum(1.0 / np.arange(1, num_words + 1))
    ranks = np.log(np.arange(1, num_words + 1))
    orders = [np.argsort(ranks + SPREAD * rng.standard_normal(num_words)) for _ in range(TOPICS)]
    made, unused = [], np.full(num_words, -1, np.int32)
    for first in range(0, number * size, size):
        chosen = rng.integers(TOPICS, size=(size, TOPICS_PER_DOCUMENT))
        which = rng.integers(TOPICS_PER_DOCUMENT, size=(size, WORDS_PER_DOCUMENT))
        topics = np.take_along_axis(chosen, which, axis=1)
        places = np.searchsorted(shares, shares[-1] * rng.random(topics.shape))
        words = np.stack(orders)[topics, places]
        words.sort(axis=1)
        starts = np.arange(size + 1) * WORDS_PER_DOCUMENT
        counts = np.ones(words.size, np.int32)
        rows = sp.csr_matrix((counts, words.ravel(), starts), shape=(size, num_words))
        rows.sum_duplicates()
        made.append(as_minibatch(rows, first + np.arange(size), unused))
    return made


def seconds_of_a_step(batches: list[Minibatch], num_words: int, deferred: bool, warm_up: int) -> dict:
    """Mean seconds of a step after warm-up, and the sums' errors."""
    tokens = DOCUMENTS * WORDS_PER_DOCUMENT
    move = ScaledCounts(DOCUMENTS, num_words, tokens, Settings(TOPICS, method="scir"), 0, 0, None)
    for count, batch in enumerate(batches[:warm_up]):
        move.step(batch, count, True)
    move.start_moves(warm_up, deferred=deferred)
    seconds, processor, errors = [], [], []
    for count, batch in enumerate(batches[warm_up:], warm_up):
        start, processor_start = time.perf_counter(), time.process_time()
        move.step(batch, count, False)
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - processor_start)
        at_the_end = count + 1 == len(batches)
        if deferred and (at_the_end or move.gammas.moves == _deferred_topics.WINDOW - 1):
            present = np.exp(move.gammas._present(), dtype=np.float64).sum(axis=0)
            errors.append(move.gammas.sums / present - 1.0)
    # The first steps compile.
    result = {"seconds": np.mean(seconds[2:]), "processor_seconds": np.mean(processor[2:])}
    if deferred:
        result["sums_error_rms"] = np.sqrt(np.mean(np.square(errors)))
        result["sums_error_largest"] = np.max(np.abs(errors))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--words", type=int, nargs="+", default=[50_000, 200_000])
    parser.add_argument("--documents", type=int, default=500, help="of a minibatch")
    parser.add_argument("--steps", type=int, default=66)
    parser.add_argument("--warm-up", type=int, default=140)
    parser.add_argument("--json", help="also write the result here")
    arguments = parser.parse_args()
    result = {"machine": platform.processor() or platform.machine(), "version": geodrift.__version__}
    for num_words in arguments.words:
        steps = arguments.warm_up + arguments.steps
        batches = minibatches(steps, arguments.documents, num_words, 0)
        visited = np.mean([len(batch.vocabulary) for batch in batches])
        case = {"words_of_a_minibatch": visited}
        for name, deferred in (("every_word", False), ("when_needed", True)):
            case[name] = seconds_of_a_step(batches, num_words, deferred, arguments.warm_up)
        for unit in ("seconds", "processor_seconds"):
            case[f"ratio_of_{unit}"] = case["every_word"][unit] / case["when_needed"][unit]
        result[f"{num_words} words"] = case
        print(num_words, json.dumps(case, indent=1), flush=True)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
