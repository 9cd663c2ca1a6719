"""Tokens a second of LDA's default method on a device, and what share of its memory's speed that is.

    python benchmarks/lda/device.py OUT.json [--topics 256 1024 10000] [--bandwidth 3.35e12]

The form of the sampler for devices is run whatever the device is: on a CPU, with sizes such as `--topics 16
--words 200 --documents 2000`, the figures say nothing but that the program runs. The documents are those of
`cost_of_a_token.py`, alpha = 50 / K, eta = .01; 5,000 of them, at most a tenth, are held out. After `PASSES`
passes over all documents, steps are timed for at least `SECONDS`, the draws of the topics with them, and
these alone beside them. The held-out perplexity after that says that what was timed has learnt something: a
start from the same documents without a step stands next to it.

`bytes_a_token` is what the sweep of a token must read, each number once (`documents/_sweeps_in_pallas.py` and
`_sweeps_in_jax.py`): by tokens 4 (L - 1) of topics and 4 G of groups, by topics 4 K, in XLA's programs 8 K.
`share_of_bandwidth` is tokens a second, without the topics' draws, times that, over the bandwidth of all
devices together; null where no bandwidth is given. Memory is read 32 bytes at a time, and rows that lie in a
cache are not read from it: the share says how much room is left, and no more.
"""

import argparse
import json
import time
from pathlib import Path

import jax
from cost_of_a_token import ETA, LENGTH, simulated

from geodrift.data import Corpus
from geodrift.kernels import _device
from geodrift.models.latent_dirichlet_allocation import Chain, Settings
from geodrift.models.latent_dirichlet_allocation.documents._draw_in_jax import group_size
from geodrift.models.latent_dirichlet_allocation.evaluation._completion import completion_perplexity

PASSES, SECONDS, HELD_OUT = 10, 10.0, 5_000


def perplexity(chain, held_out):
    return completion_perplexity(held_out, chain.expected_topics(), chain.topic_prior(), seed=0).perplexity


def seconds_of_topics(chain):
    """Of one draw of all topics, which each step begins with."""
    begun, times = time.perf_counter(), 10
    for _ in range(times):
        jax.block_until_ready(chain.move.held.draw_topics(jax.random.key(0), ETA))
    return (time.perf_counter() - begun) / times


def bytes_a_token(topics):
    """Of the documents of these simulations, of about `LENGTH` tokens."""
    if not _device.in_triton():
        return 8 * topics
    return 4 * (LENGTH - 1 + group_size(topics)) if topics >= LENGTH else 4 * topics


def measured(topics, options):
    counts = simulated(options.documents, topics, options.words)
    number = min(HELD_OUT, options.documents // 10)
    held_out, counts = counts[:number], counts[number:]
    settings = Settings(
        n_topics=topics, doc_topic_prior=50 / topics, topic_word_prior=ETA, batch_size=options.batch_size
    )
    begun = time.perf_counter()
    chain = Chain(Corpus.from_matrix(counts), settings, seed=0)
    chain.compile()
    chain.begin(chain.shares.plan(10**6))
    chain.step()
    start, at_start = time.perf_counter() - begun, perplexity(chain, held_out)
    while chain.move.complete_at < 0 or chain.documents_seen < PASSES * counts.shape[0]:
        chain.step()
    of_topics = seconds_of_topics(chain)
    begun, tokens, steps = time.perf_counter(), 0, 0
    while (spent := time.perf_counter() - begun) < options.seconds:
        tokens += chain.step()
        steps += 1
    of_sweeps, bytes_of_token = spent - steps * of_topics, bytes_a_token(topics)
    bandwidth = options.bandwidth and options.bandwidth * chain.move.held.mesh.size
    return {
        "seconds_of_start": start,
        "perplexity_of_start": at_start,
        "steps": steps,
        "seconds": spent,
        "tokens_of_a_step": tokens / steps,
        "tokens_a_second": tokens / spent,
        "seconds_of_a_topics_draw": of_topics,
        "tokens_a_second_without_topics": tokens / of_sweeps,
        "bytes_a_token": bytes_of_token,
        "share_of_bandwidth": bandwidth and tokens / of_sweeps * bytes_of_token / bandwidth,
        "held_out_perplexity": perplexity(chain, held_out),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--topics", type=int, nargs="+", default=[256, 1024, 10_000])
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--documents", type=int, default=500_000)
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--bandwidth", type=float, help="bytes a second of the memory of one device")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    options = parser.parse_args()
    _device.in_jax = lambda: True
    device = jax.devices()[0]
    ran_on = {"device": device.device_kind, "devices": jax.local_device_count(), "jax": jax.__version__}
    print(json.dumps(ran_on), flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    rows = []
    for topics in options.topics:
        sizes = {"topics": topics, "words": options.words, "documents": options.documents}
        rows.append(ran_on | sizes | measured(topics, options))
        options.out.write_text(json.dumps(rows, indent=1) + "\n")
        print(json.dumps(rows[-1]), flush=True)


if __name__ == "__main__":
    main()
