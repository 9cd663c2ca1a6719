"""The devices of a chain: those of this process, along one axis. Each has a share of the documents."""

from functools import cache
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array

AXIS = "documents"
SHARED_OUT, WHOLE = PartitionSpec(AXIS), PartitionSpec()


def devices() -> list[jax.Device]:
    """The devices of this process of JAX's default kind."""
    return jax.local_devices()


def mesh_of_devices() -> Mesh:
    """The devices along one axis."""
    return _mesh(tuple(devices()))


@cache
def _mesh(found: tuple[jax.Device, ...]) -> Mesh:
    return Mesh(np.array(found), (AXIS,))


def shared_out(mesh: Mesh, array: np.ndarray) -> Array:
    """An array whose rows, one for each device, lie on the devices."""
    return jax.device_put(array, NamedSharding(mesh, SHARED_OUT))


def on_all(mesh: Mesh, array: np.ndarray) -> Array:
    """An array that lies on every device."""
    return jax.device_put(array, NamedSharding(mesh, WHOLE))


def on_each(function: Any, mesh: Mesh, inputs: tuple, outputs: Any) -> Any:
    """The function as what every device does with its rows of arrays that are `SHARED_OUT`."""
    return jax.shard_map(function, mesh=mesh, in_specs=inputs, out_specs=outputs, check_vma=False)
