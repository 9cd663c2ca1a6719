"""Steps of both mixtures on so many devices, in the precision of a user's program.

python mixture_device_program.py OUT DEVICES
"""

import os
import sys

import numpy as np


def rows_around(rng, dim, clusters, kappa, z):
    """Rows of clusters of one concentration."""
    from geodrift.distributions._host_sample import host_sample

    return host_sample(rng, kappa * host_sample(rng, np.zeros((clusters, dim)))[z])


def chain_of_vectors():
    from geodrift.models.von_mises_fisher_mixture import Settings, _chain
    from geodrift.models.von_mises_fisher_mixture._rows_of import rows_of

    rng = np.random.default_rng(3)
    rows = rows_of(rows_around(rng, 12, 5, 20.0, rng.integers(5, size=900)))
    return _chain.Chain(rows, Settings(batch_size=300), seed=2)


def chain_of_counts():
    import scipy.sparse as sp

    from geodrift.models.dirichlet_process_mixture import Chain, Settings
    from geodrift.models.dirichlet_process_mixture.collapsed_gibbs import _sampler
    from geodrift.models.kit._facade import MatrixCorpus

    _sampler.ONE_BY_ONE = 0  # every row of every step is drawn on the devices
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.full(40, 0.1), 5)
    rows = np.stack([rng.multinomial(20, p[k]) for k in rng.integers(5, size=600)])
    return Chain(MatrixCorpus(sp.csr_matrix(rows)), Settings(batch_size=200), seed=2)


def main(out, devices):
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    from geodrift.kernels import _device

    assert jax.local_device_count() == devices
    _device.in_jax = lambda: True
    found = {}
    for name, chain in (("vectors", chain_of_vectors()), ("counts", chain_of_counts())):
        for _ in range(36):
            chain.step()
        device = chain.device if name == "vectors" else chain.move.device
        state = chain.state() | {"lanes": device.mesh.size}
        found |= {f"{name}.{key}": value for key, value in state.items()}
    np.savez(out, **found)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
