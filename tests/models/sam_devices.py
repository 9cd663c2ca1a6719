"""Some steps of a spherical admixture model in JAX on several devices: a program for a process of its own.

    python sam_devices.py OUT DEVICES

OUT gets the chain's state. The minibatch's 18 documents are no multiple of 4 devices.
"""

import os
import sys
from pathlib import Path

STEPS = 6


def main(out, devices):
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={devices}"
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import jax
    import numpy as np

    from geodrift.kernels import _device
    from geodrift.models.spherical_admixture import Chain, Settings
    from models.sam_problem import SETTINGS, planted

    _device.in_jax = lambda: True
    few = {"batch_size": 18, "mixture_draws": 2, "mixture_leapfrog_steps": 4}
    chain = Chain(planted()[0], Settings(**SETTINGS, **few), seed=2)
    for _ in range(STEPS):
        chain.step()
    assert len(chain.latents.mixtures.devices()) == len(jax.devices()) == devices
    np.savez(out, **chain.state())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
