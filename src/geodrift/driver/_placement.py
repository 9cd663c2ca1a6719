"""Data that lie on several devices, of one process or of many, and what of a step lies where.

The rows of the data are shared out to the devices of a mesh; so are the rows of a minibatch, whichever device
has them. Everything else (states, keys, draws) is on every device. A gradient is then a sum over the devices,
which adds in another order than one device does.
"""

from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from geodrift._types import Batch


class Placement(NamedTuple):
    """Where data lie; hashable, a constant of the compiled step.

    Attributes:
        mesh: The devices.
        axes: Of the mesh, over which rows are shared out.
    """

    mesh: Mesh
    axes: tuple[str, ...]

    @classmethod
    def of(cls, data: PyTree) -> "Placement | None":
        """That of the arrays of some data; None where they are not shared out.

        Raises:
            ValueError: They are shared out in different ways, or along another axis than that of the rows.
        """
        found = {_of_array(leaf) for leaf in jax.tree.leaves(data)}
        if len(found) > 1:
            raise ValueError(
                "data: some arrays are shared out to devices and others not, or in other ways: give all the"
                " same NamedSharding"
            )
        return found.pop() if found else None

    @property
    def num_devices(self) -> int:
        """Devices that have different rows."""
        return int(np.prod([self.mesh.shape[axis] for axis in self.axes]))

    @property
    def of_processes(self) -> bool:
        """Whether some devices belong to other processes."""
        return self.mesh.is_multi_process

    def taken(self, data: PyTree) -> PyTree:
        """The data where they are, as arrays of a mesh whose axes XLA is free to use.

        `jax.make_mesh` makes axes of which every operation has to say what becomes of them.
        """
        sharding = NamedSharding(self.mesh, PartitionSpec(self.axes))

        def one(array: jax.Array) -> jax.Array:
            pieces = [shard.data for shard in array.addressable_shards]
            return jax.make_array_from_single_device_arrays(array.shape, sharding, pieces)

        return jax.tree.map(one, data)

    def spread(self, batch: Batch, before: int) -> Batch:
        """A batch, inside jit, with its rows shared out; ``before`` axes stand in front of them."""
        sharding = NamedSharding(self.mesh, PartitionSpec(*[None] * before, self.axes))
        return jax.tree.map(lambda x: jax.lax.with_sharding_constraint(x, sharding), batch)

    def everywhere(self, tree: PyTree) -> PyTree:
        """Arrays, inside jit, on every device."""
        return jax.tree.map(lambda x: jax.lax.with_sharding_constraint(x, self._whole), tree)

    def put(self, tree: PyTree) -> PyTree:
        """Arrays that all processes have alike, put on every device."""

        def one(x: Any) -> jax.Array:
            if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
                data = jax.device_put(np.asarray(jax.random.key_data(x)), self._whole)
                return jax.random.wrap_key_data(data, impl=jax.random.key_impl(x))
            return jax.device_put(np.asarray(x), self._whole)

        return jax.tree.map(one, tree)

    def from_first(self, number: int) -> int:
        """A number of process 0, at all processes."""
        if not self.of_processes:
            return number
        from jax.experimental import multihost_utils

        return int(multihost_utils.broadcast_one_to_all(np.int32(number)))

    @property
    def _whole(self) -> NamedSharding:
        return NamedSharding(self.mesh, PartitionSpec())


def _of_array(array: Any) -> Placement | None:
    sharding = getattr(array, "sharding", None)
    if not isinstance(sharding, NamedSharding) or sharding.is_fully_replicated:
        return None
    first, *others = [*sharding.spec, None]
    if first is None or any(axis is not None for axis in others):
        raise ValueError(
            f"data: an array is shared out to devices by {sharding.spec}: share out its rows, the first axis,"
            " and no other"
        )
    mesh = Mesh(sharding.mesh.devices, sharding.mesh.axis_names)
    return Placement(mesh, first if isinstance(first, tuple) else (first,))
