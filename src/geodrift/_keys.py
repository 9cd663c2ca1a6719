"""The random key that a user gives."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, UInt32

from geodrift._types import RandomKey


def checked_key(key: RandomKey | UInt32[Array, "2"]) -> RandomKey:
    """The key, of the kind that `jax.random.key` makes; one of `jax.random.PRNGKey` is turned into it.

    Raises:
        ValueError: It is something else, or it is traced: the caller runs on the host.
    """
    if isinstance(key, jax.core.Tracer):
        raise ValueError(
            "key: geodrift.sample runs on the host, and cannot be called within jax.jit or jax.vmap; give"
            " num_chains for many chains, or call sampler.init and sampler.step within jax.lax.scan"
        )
    if isinstance(key, jax.Array):
        if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) and key.shape == ():
            return key
        if key.dtype == jnp.uint32 and key.shape == (2,):
            return jax.random.wrap_key_data(key, impl="threefry2x32")
    raise ValueError(f"key = {key!r}: must be one random key, such as jax.random.key(0)")
