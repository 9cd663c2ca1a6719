"""Exact draws of topic assignments: on CPUs by the compiled kernel, on other devices in JAX.

Who calls does not know which ran: the law is one, the random numbers are two.
"""

from typing import Any

import jax

from geodrift.models.latent_dirichlet_allocation.documents import _assignment_kernel, _assignments_in_jax


def redraw(*arguments: Any, **named: Any) -> None:
    """Sweeps over the tokens of a minibatch, in place: `_assignment_kernel.redraw` and its arguments."""
    on_cpu = jax.default_backend() == "cpu"
    (_assignment_kernel if on_cpu else _assignments_in_jax).redraw(*arguments, **named)
