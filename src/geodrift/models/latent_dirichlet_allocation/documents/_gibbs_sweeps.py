"""Gibbs sweeps over documents given the topics: on CPUs by the compiled kernel, on other devices in JAX.

Both have the same law; their random numbers differ.
"""

from typing import Any

from geodrift.kernels import _device
from geodrift.models.latent_dirichlet_allocation.documents import _assignment_kernel, _assignments_in_jax


def gibbs_sweeps(*arguments: Any, **named: Any) -> None:
    """Sweep over the tokens of a minibatch; the arguments are those of `_assignment_kernel.gibbs_sweeps`."""
    (_assignments_in_jax if _device.in_jax() else _assignment_kernel).gibbs_sweeps(*arguments, **named)
