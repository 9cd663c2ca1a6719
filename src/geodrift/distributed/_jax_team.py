"""A team whose bytes JAX's collectives carry: gloo between processors, over TCP."""

from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from geodrift.distributed._progress import ProgressFile, Signs
from geodrift.distributed._team import LostProcess, Team

AXIS = "process"


class JaxTeam(Team):
    """The processes that `join` has brought together.

    One device of each process is used, and one compiled program for each size of buffer. Sizes are rounded up
    so that there are few.
    """

    def __init__(self) -> None:
        self.rank, self.size = jax.process_index(), jax.process_count()
        first = {device.process_index: device for device in reversed(jax.devices("cpu"))}
        self._device = first[self.rank]
        mesh = Mesh(np.array([first[rank] for rank in range(self.size)]), (AXIS,))
        self._split = NamedSharding(mesh, PartitionSpec(AXIS))
        self._signs, self._file = Signs(0, 0), ProgressFile.of_environment()
        self._copy: Any = jax.jit(lambda x: x, out_shardings=NamedSharding(mesh, PartitionSpec()))

    def _gather(self, own: np.ndarray, size: int) -> list[np.ndarray]:
        padded = np.zeros((1, rounded(size)), np.uint8)
        padded[0, : len(own)] = own
        shape = (self.size, padded.shape[1])
        try:
            rows = jax.make_array_from_single_device_arrays(
                shape, self._split, [jax.device_put(padded, self._device)]
            )
            found = np.asarray(self._copy(rows).addressable_data(0))
        except (ValueError, RuntimeError) as error:  # what jaxlib makes of an error of gloo
            if "Gloo" not in str(error) and "coordination" not in str(error).lower():
                raise
            raise LostProcess(
                f"process {self.rank} of {self.size} no longer hears from another one: {_first_line(error)}"
            ) from None
        self._signs = self._signs._replace(exchanges=self._signs.exchanges + 1)
        self._file.write(self._signs)
        return list(found)

    def stepped(self, steps: int) -> None:
        """Show that steps were taken."""
        self._signs = self._signs._replace(steps=self._signs.steps + steps)
        self._file.write(self._signs)


def rounded(size: int) -> int:
    """The next of 64, 80, 96, 112, 128, 160, ...: at most a quarter more."""
    unit = max(16, 1 << max(0, int(size - 1).bit_length() - 3)) if size > 1 else 16
    return max(64, -(-size // unit) * unit)


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0][:200]
