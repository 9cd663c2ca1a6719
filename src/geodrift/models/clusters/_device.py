"""How the rows of a step of a mixture lie on devices.

Rows go to devices in `LANES` fixed parts, so that what
is added up, and in which order, does not depend on how many devices there are.
"""

from typing import NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Int, PyTree, Shaped

LANES = 8  # parts of the rows of a step: so many devices share them at most
BLOCK = 1024  # rows of a part that are drawn at once
_SHORTEST = 8  # rows of a part
_LEAST_COLUMNS = 16


def devices_of_rows() -> Mesh:
    """The devices of this process that share the rows of a step: as many as divide the lanes."""
    devices = jax.local_devices()
    number = max(size for size in (1, 2, 4, 8) if size <= len(devices))
    return Mesh(np.array(devices[:number]), ("lane",))


def room_for(columns: int) -> int:
    """A power of two that is larger, so that few programs are compiled."""
    return max(_LEAST_COLUMNS, 1 << columns.bit_length())


class Layout(NamedTuple):
    """How the rows of a step lie on the devices: [lane, block, row], shared out by lanes.

    Attributes:
        mesh: The devices.
        number: Rows.
        blocks: In each lane.
        rows: In each block.
    """

    mesh: Mesh
    number: int
    blocks: int
    rows: int

    @classmethod
    def of(cls, number: int, mesh: Mesh) -> "Layout":
        """A layout for so many rows: a power of two in each lane, so that few programs are compiled."""
        lane = _SHORTEST
        while LANES * lane < number:
            lane *= 2
        rows = min(lane, BLOCK)
        return cls(mesh, number, lane // rows, rows)

    def put(
        self, values: tuple[Shaped[np.ndarray, " S"], ...], fills: tuple[float, ...]
    ) -> tuple[Shaped[Array, "L T B"], ...]:
        """Numbers for each row, and of each the ``fill`` where there is none."""
        every = []
        for each, fill in zip(values, fills, strict=True):
            padded = np.full(LANES * self.blocks * self.rows, fill, each.dtype)
            padded[: self.number] = each
            every.append(padded.reshape(LANES, self.blocks, self.rows))
        return jax.device_put(tuple(every), NamedSharding(self.mesh, PartitionSpec("lane")))

    def taken(self, values: Int[Array, "L T B"]) -> Int[np.ndarray, " S"]:
        """The numbers of the rows, on the host."""
        return np.asarray(values).reshape(-1)[: self.number]


def on_all(values: PyTree, mesh: Mesh) -> PyTree:
    """What every device has all of."""
    return jax.device_put(values, NamedSharding(mesh, PartitionSpec()))


def fits(num_bytes: int, mesh: Mesh) -> bool:
    """Whether so much may stay on each device: half of what it has, all of it where nobody says."""
    told = [device.memory_stats() or {} for device in mesh.devices.flat]
    return all(num_bytes <= stats["bytes_limit"] / 2 for stats in told if "bytes_limit" in stats)
