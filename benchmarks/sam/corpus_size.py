"""Cost of one SAM step, and memory, as the corpus grows from 1,000 to 1,000,000 documents.

The documents are synthetic, on disk, read by memory map.

    python benchmarks/sam/corpus_size.py --folder SCRATCH --out result.json
"""

import argparse
import json
import pathlib
import time

import numpy as np
import scipy.sparse as sp

from geodrift.data import Corpus
from geodrift.models.spherical_admixture import Chain, Settings

WORDS = 5000
WORDS_PER_DOCUMENT = 60


def synthetic(num_documents: int) -> sp.csr_matrix:
    """Documents of about 60 different words, the words' frequencies falling as 1/rank."""
    rng = np.random.default_rng(num_documents)
    cumulative = np.cumsum(1.0 / np.arange(1, WORDS + 1))
    words = np.searchsorted(
        cumulative, rng.random((num_documents, WORDS_PER_DOCUMENT)) * cumulative[-1]
    ).astype(np.int32)
    words.sort(axis=1)
    indptr = np.arange(num_documents + 1, dtype=np.int64) * WORDS_PER_DOCUMENT
    matrix = sp.csr_matrix(
        (np.ones(words.size, dtype=np.int32), words.ravel(), indptr), shape=(num_documents, WORDS)
    )
    matrix.sum_duplicates()
    return matrix


def anonymous_megabytes() -> float:
    """Memory of this process that no file backs."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("this system does not report RssAnon")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", required=True, help="where the corpora are written (about 500 MB)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=100, help="steps of one round")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    chains, memory = {}, {}
    for size in arguments.sizes:
        path = pathlib.Path(arguments.folder) / f"corpus-{size}"
        if not path.exists():
            Corpus.from_matrix(synthetic(size), [f"w{i}" for i in range(WORDS)], path)
        before = anonymous_megabytes()
        chain = Chain(Corpus.open(path), Settings(n_topics=20), seed=0)
        chain.compile()
        chain.begin(chain.shares.plan(10**6))
        for _ in range(300):
            chain.step()
        chains[size], memory[size] = chain, anonymous_megabytes() - before
    seconds = {size: [] for size in arguments.sizes}
    for _ in range(arguments.rounds):
        for size, chain in chains.items():
            started = time.perf_counter()
            for _ in range(arguments.steps):
                chain.step()
            seconds[size].append((time.perf_counter() - started) / arguments.steps)
    medians = {size: float(np.median(values)) for size, values in seconds.items()}
    first = medians[arguments.sizes[0]]
    result = {
        "milliseconds_per_step": {str(size): 1e3 * value for size, value in medians.items()},
        "ratio_to_smallest": {str(size): value / first for size, value in medians.items()},
        "anonymous_megabytes": {str(size): value for size, value in memory.items()},
    }
    print(json.dumps(result, indent=2))
    if arguments.out:
        pathlib.Path(arguments.out).write_text(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
