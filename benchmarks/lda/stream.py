"""LDA on a stream of synthetic documents: documents a second at its start, middle and end, and memory.

    python benchmarks/lda/stream.py --documents 10000000 --json result.json

Documents have 60 words from three of 100 topics. They are made in pieces, used once, and dropped; seconds are
those of `StreamChain.feed` alone, and processor seconds are given beside them for machines that are shared.
"""

import argparse
import json
import pathlib
import platform
import time
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

import geodrift
from geodrift.models.latent_dirichlet_allocation import Settings, StreamChain

TOPICS, WORDS, WORDS_PER_DOCUMENT, TOPICS_PER_DOCUMENT = 100, 8000, 60, 3
PIECE = 8192  # documents
TABLE = 2**14


def tables(rng: np.random.Generator) -> np.ndarray:
    """For each topic, words in proportion to their probabilities: Zipf's law in an order of its own."""
    shares = 1.0 / np.arange(1, WORDS + 1)
    places = np.searchsorted(np.cumsum(shares) / shares.sum(), (np.arange(TABLE) + 0.5) / TABLE)
    return np.stack([rng.permutation(WORDS)[places] for _ in range(TOPICS)]).astype(np.int32)


def documents(number: int, seed: int) -> Iterator[sp.csr_matrix]:
    """Pieces of a stream."""
    rng = np.random.default_rng(seed)
    words_of = tables(rng)
    for first in range(0, number, PIECE):
        size = min(PIECE, number - first)
        chosen = rng.integers(TOPICS, size=(size, TOPICS_PER_DOCUMENT))
        which = rng.integers(TOPICS_PER_DOCUMENT, size=(size, WORDS_PER_DOCUMENT))
        topics = np.take_along_axis(chosen, which, axis=1)
        words = words_of[topics, rng.integers(TABLE, size=topics.shape)]
        words.sort(axis=1)
        starts = np.arange(size + 1) * WORDS_PER_DOCUMENT
        rows = sp.csr_matrix((np.ones(words.size, np.int32), words.ravel(), starts), shape=(size, WORDS))
        rows.sum_duplicates()
        yield rows


def anonymous_megabytes() -> float:
    """Memory of this process that no file backs."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("this system does not report RssAnon")


def paces(chain: StreamChain, number: int, window: int, seed: int) -> dict:
    """Documents a second, by the clock and by two processors' time, in three windows; and the most memory."""
    times = [(0, 0.0, 0.0)]
    memory = 0.0
    for rows in documents(number, seed):
        clock, processor = time.perf_counter(), time.process_time()
        chain.feed(rows)
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        times.append((times[-1][0] + rows.shape[0], times[-1][1] + clock, times[-1][2] + processor))
        memory = max(memory, anonymous_megabytes())
    seen, clock, processor = (np.array(column) for column in zip(*times, strict=True))
    result = {"anonymous_megabytes": memory, "seconds": clock[-1], "processor_seconds": processor[-1]}
    for name, start in (("first", 0), ("middle", (number - window) // 2), ("last", number - window)):
        ends = [start, start + window]
        for unit, total in (("second", clock), ("processor_second", processor)):
            spent = np.diff(np.interp(ends, seen, total))[0]
            result[f"{name}_documents_a_{unit}"] = window / spent
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=10_000_000)
    parser.add_argument("--window", type=int, default=100_000, help="documents of each measurement")
    parser.add_argument("--method", default="scir")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", help="also write the result here")
    arguments = parser.parse_args()
    settings = Settings(n_topics=TOPICS, method=arguments.method)
    # Compiled beforehand.
    paces(StreamChain(WORDS, settings, seed=1), PIECE, PIECE, 1)
    chain = StreamChain(WORDS, settings, seed=arguments.seed)
    result = {
        "machine": platform.processor() or platform.machine(),
        "version": geodrift.__version__,
        "documents": arguments.documents,
        "window": arguments.window,
        "method": arguments.method,
        **paces(chain, arguments.documents, min(arguments.window, arguments.documents), arguments.seed),
    }
    print(json.dumps(result, indent=1))
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
