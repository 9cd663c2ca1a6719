"""Steps of the SAM in JAX: steps a second, the bytes that a step moves, and the time that they would take.

    python benchmarks/sam/device.py [--bandwidth GIGABYTES_A_SECOND] [--json result.json]

Steps are timed after `EARLY_STEPS`, in which the step size is chosen anew each time: passes over the corpus
with their shear moves, then steps without these. The floor is the time of what a step must read and write in
the device's memory if each array that does not stay in its cache went there once: topics, velocities and
sums, the minibatch's dense rows and its mixtures; the shear moves are left out.
On a CPU, which otherwise takes compiled code, the same program runs at a tiny size, to see that it does; its
time means nothing.
"""

import argparse
import json
import pathlib
import time

import jax
import numpy as np
from corpus_size import synthetic

from geodrift.kernels import _device
from geodrift.models.kit._facade import MatrixCorpus
from geodrift.models.spherical_admixture import Chain, Settings
from geodrift.models.spherical_admixture.documents._padded_rows import BLOCK_BYTES
from geodrift.models.spherical_admixture.sampler._stochastic_move import EARLY_STEPS

TINY = {"documents": 300, "topics": 5, "batch": 50}
SIZE = {"documents": 100_000, "topics": 100, "batch": 10_000}


def bytes_of_a_step(batch: int, longest: int, words: int, topics: int) -> dict[str, int]:
    """Least traffic of a step, the shear moves left out; 4 bytes a number."""
    blocks = -(-batch // max(8, BLOCK_BYTES // (4 * words)))
    return {
        "from the host": 16 * batch,
        "rows gathered": 16 * batch * longest,
        "topics' move: 3 arrays read, 2 written": 5 * 4 * words * topics,
        "projections: rows of the words": 4 * batch * longest * topics,
        "weighted documents: dense rows written and read": 8 * batch * words,
        "weighted documents: sums read and written": 8 * blocks * words * topics,
        "mixtures read and written": 8 * batch * topics,
    }


def timed(chain: Chain, steps: int) -> float:
    """Seconds a step."""
    begun = time.perf_counter()
    for _ in range(steps):
        chain.step()
    jax.block_until_ready(chain.topic_state.position)
    return (time.perf_counter() - begun) / steps


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    size = TINY if jax.default_backend() == "cpu" else SIZE
    for name, value in size.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--bandwidth", type=float, help="of the device's memory, in gigabytes a second")
    parser.add_argument("--json")
    told = parser.parse_args()
    _device.in_jax = lambda: True
    settings = Settings(n_topics=told.topics, batch_size=told.batch)
    chain = Chain(MatrixCorpus(synthetic(told.documents)), settings)
    chain.compile()
    compiling = timed(chain, 2)
    while chain.count < EARLY_STEPS:
        chain.step()
    of_pass = chain.move.shear_interval
    with_passes = [timed(chain, of_pass) for _ in range(3)]
    chain.move.shear_interval = 10**9  # none, from here
    seconds = [timed(chain, 10) for _ in range(9)]
    longest = chain.move.rows.padded(chain._batch(), chain.move.documents_per_step).words.shape[1]
    parts = bytes_of_a_step(chain.move.documents_per_step, longest, chain.source.num_words, told.topics)
    median, moved = float(np.median(seconds)), sum(parts.values()) - parts["from the host"]
    result = {
        "device": str(jax.devices()[0].device_kind),
        "devices": jax.device_count(),
        "jax": jax.__version__,
        "settings": vars(told) | {"words": chain.source.num_words, "longest": longest},
        "seconds a step, shear moves of a pass included": with_passes,
        "seconds a step without shear moves": seconds,
        "steps a second": 1 / median,
        "seconds of each of the first two steps, compilation included": compiling,
        "bytes a step": parts,
    }
    if told.bandwidth:
        floor = moved / (1e9 * told.bandwidth)
        result |= {"floor in seconds": floor, "time over floor": median / floor}
    print(json.dumps(result, indent=2))
    if told.json:
        pathlib.Path(told.json).write_text(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
