"""Steps of a mixture on so many devices, in the precision of a user's program.

python vmf_device_program.py OUT DEVICES
"""

import os
import sys

import numpy as np


def rows_around(rng, dim, clusters, kappa, z):
    """Rows of clusters of one concentration."""
    from geodrift.distributions._host_sample import host_sample

    return host_sample(rng, kappa * host_sample(rng, np.zeros((clusters, dim)))[z])


def main(out, devices):
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    from geodrift.kernels import _device
    from geodrift.models.von_mises_fisher_mixture import Settings, _chain
    from geodrift.models.von_mises_fisher_mixture._rows_of import rows_of

    assert jax.local_device_count() == devices
    _device.in_jax = lambda: True
    rng = np.random.default_rng(3)
    rows = rows_of(rows_around(rng, 12, 5, 20.0, rng.integers(5, size=900)))
    chain = _chain.Chain(rows, Settings(batch_size=300), seed=2)
    for _ in range(12):
        chain.step()
    np.savez(out, lanes=chain.device.mesh.size, **chain.state())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
