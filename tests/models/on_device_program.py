"""Prints digests of a chain's state and topics on 1, 2 and 4 simulated devices, and for other blocks.

A process of its own (`test_lda_on_device.py`): the number of devices is fixed when JAX begins.
"""

import hashlib

import jax
import numpy as np
import scipy.sparse as sp

from geodrift.data import Corpus
from geodrift.kernels import _device
from geodrift.models.latent_dirichlet_allocation import Chain, Settings
from geodrift.models.latent_dirichlet_allocation.on_device import _blocks, _devices

_device.in_jax = lambda: True


def digest(number, most_numbers, steps=12):
    devices = jax.devices()[:number]
    assert len(devices) == number
    _devices.devices = lambda: devices
    _blocks.MOST_NUMBERS = most_numbers
    # Lengths from 0 to beyond 64 tokens.
    means = np.random.default_rng(1).gamma(0.7, 0.6, 120)
    counts = sp.csr_matrix(np.random.default_rng(4).poisson(means[:, None], (120, 40)))
    settings = Settings(n_topics=5, batch_size=50, learn_doc_topic_prior="asymmetric")
    chain = Chain(Corpus.from_matrix(counts), settings, seed=3)
    chain.begin(chain.shares.plan(steps))
    for _ in range(steps):
        chain.step()
    assert chain.move.seen.all()
    assert len(chain.move.held.counts.sharding.device_set) == number
    found = hashlib.sha256()
    for value in (*chain.state().values(), chain.topics(), chain.expected_topics()):
        found.update(np.ascontiguousarray(value).tobytes())
    return found.hexdigest()


if __name__ == "__main__":
    for number, most_numbers in ((1, 2**26), (2, 2**26), (4, 2**26), (1, 24), (2, 96)):
        print(digest(number, most_numbers))
