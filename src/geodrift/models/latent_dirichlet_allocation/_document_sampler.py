"""Exact draws of topic assignments, by the compiled kernel on CPUs and in JAX on other devices."""

from geodrift.models.latent_dirichlet_allocation._assignment_kernel import redraw as redraw
