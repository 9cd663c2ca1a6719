"""Settings of every test."""

import jax

jax.config.update("jax_enable_x64", True)
