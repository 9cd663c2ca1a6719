"""LDA's two kernels for GPUs by the number of topics and the length of documents: tokens a second of each.

    python benchmarks/lda/device_kernels.py OUT.json

One sweep over simulated documents, words' frequencies falling as 1 / rank, six topics in a document; medians
of five. `used` is the form that the library takes. It needs a GPU.
"""

import argparse
import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from geodrift.kernels import _device
from geodrift.models.latent_dirichlet_allocation.documents import _sweeps_in_pallas
from geodrift.models.latent_dirichlet_allocation.documents._draw_in_jax import padded_topics

WORDS, OF_DOCUMENT, TOKENS = 50_000, 6, 4_000_000
SIZES = [(20, 64), (128, 64), (256, 64), (1024, 64), (1024, 256), (1024, 1024), (1024, 4096), (10_000, 64),
         (10_000, 1024), (10_000, 8192)]  # fmt: skip


def arguments(topics, length):
    """Of `sweep_documents`."""
    rng, padded = np.random.default_rng(0), padded_topics(topics)
    number = TOKENS // length // (4 if topics > 1024 else 1)
    upto = np.cumsum(1.0 / np.arange(1, WORDS + 1))
    words = np.searchsorted(upto / upto[-1], rng.random((number, length))).astype(np.int32)
    own = rng.integers(topics, size=(number, OF_DOCUMENT))
    z = np.take_along_axis(own, rng.integers(OF_DOCUMENT, size=(number, length)), axis=1).astype(np.int32)
    lengths = np.full(number, length - 4, np.int32)
    real = jnp.arange(padded) < topics
    phi = jnp.where(real, jax.random.exponential(jax.random.key(1), (WORDS, padded)), 0.0)
    alpha = jnp.where(real, 50 / topics, 0.0).astype(jnp.float32)
    uniforms = jax.random.uniform(jax.random.key(2), (number, length, 2), jnp.float32)
    return *map(jnp.asarray, (words, lengths, z)), phi, alpha, uniforms


def tokens_a_second(given, form):
    _sweeps_in_pallas.by_tokens = lambda *_: form == "by tokens"
    sweep = jax.jit(lambda *x: _sweeps_in_pallas.sweep_documents(*x, True))
    jax.block_until_ready(sweep(*given))
    seconds = []
    for _ in range(5):
        begun = time.perf_counter()
        jax.block_until_ready(sweep(*given))
        seconds.append(time.perf_counter() - begun)
    return float(given[1].sum()) / float(np.median(seconds))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    if not _device.in_triton():
        raise SystemExit("this needs a GPU")
    by_tokens, rows = _sweeps_in_pallas.by_tokens, []
    for topics, length in SIZES:
        given = arguments(topics, length)
        found = {form: tokens_a_second(given, form) for form in ("by topics", "by tokens")}
        used = "by tokens" if by_tokens(length, padded_topics(topics)) else "by topics"
        device = jax.devices()[0].device_kind
        rows.append({"device": device, "topics": topics, "length": length, "used": used} | found)
        options.out.write_text(json.dumps(rows, indent=1) + "\n")
        print(json.dumps(rows[-1]), flush=True)


if __name__ == "__main__":
    main()
