"""What a checkpoint knows of the draws on disk: their zarr metadata, and the checksum of every file."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from jaxtyping import Int

METADATA = "zarr.json"
NO_FILE = -1  # of a chunk into which no draw was ever written
SUM_BYTES = 4  # at the end of a chunk's file: the CRC-32C of the bytes before, by zarr's own codec
_SUMS, _TAILS, _COUNTS = "sums/", "tails/", "counts"


class KnownDraws(NamedTuple):
    """The draws that count, as `draws.zarr` held them at a checkpoint.

    A chunk that is full is never written again. The last chunk of a chain may be: its file then holds more
    draws than the checkpoint counts, and those that count are known by a checksum of their values.

    Attributes:
        nodes: The contents of every `zarr.json` by its folder, ``""`` for the root; arrays without shape.
        shapes: Of every array, [chain, draw, ...].
        counts: Draws that count of each row of the chain axis, [chain].
        sums: The checksum at the end of each chunk's file, or `NO_FILE`; by array, [chain, chunk, ...].
        tails: CRC-32 of the values that count in the last chunk of each row; by array, [chain].
    """

    nodes: dict[str, Any]
    shapes: dict[str, list[int]]
    counts: Int[np.ndarray, " chain"]
    sums: dict[str, Int[np.ndarray, "chain chunk ..."]]
    tails: dict[str, Int[np.ndarray, " chain"]]

    def chunk_shape(self, name: str) -> list[int]:
        """Of an array, [1, draw, ...]."""
        return self.nodes[name]["chunk_grid"]["configuration"]["chunk_shape"]

    def draws_a_chunk(self, name: str) -> int:
        """Draws in a chunk of an array."""
        return self.chunk_shape(name)[1]

    def files(self, name: str) -> Iterator[tuple[str, tuple[int, ...], int]]:
        """Each file that holds draws that count: its path in the store, its place, its checksum."""
        for place in np.ndindex(self.sums[name].shape):
            if (known := int(self.sums[name][place])) != NO_FILE:
                yield chunk_key(name, place), place, known

    def is_last(self, name: str, place: tuple[int, ...]) -> bool:
        """Whether a chunk is the last of its row, with room for more draws."""
        full, rest = divmod(int(self.counts[place[0]]), self.draws_a_chunk(name))
        return bool(rest) and place[1] == full

    def metadata(self, folder: str) -> dict[str, Any]:
        """The contents of the `zarr.json` of a group or an array, with the shape at the checkpoint."""
        node = self.nodes[folder]
        return node | {"shape": self.shapes[folder]} if folder in self.shapes else node

    def cut(self, number: int, names: set[str]) -> Self:
        """The first draws of each row, of some of the arrays."""
        counts = np.minimum(self.counts, number)
        longest = int(counts.max(initial=0))
        sums = {
            name: self.sums[name][:, : math.ceil(longest / self.draws_a_chunk(name))].copy() for name in names
        }
        for name, places in sums.items():
            for row, count in enumerate(counts):
                places[row, math.ceil(count / self.draws_a_chunk(name)) :] = NO_FILE
        return self._replace(
            nodes={folder: node for folder, node in self.nodes.items() if folder in names or is_group(node)},
            shapes={name: [self.shapes[name][0], longest, *self.shapes[name][2:]] for name in sums},
            counts=counts,
            sums=sums,
            tails={name: self.tails[name] for name in names},
        )

    def as_info(self) -> dict[str, Any]:
        """The part that is JSON."""
        return {"nodes": self.nodes, "shapes": self.shapes}

    def as_arrays(self) -> dict[str, np.ndarray]:
        """The part that is arrays, by names of its own."""
        return {
            _COUNTS: self.counts,
            **{_SUMS + name: values for name, values in self.sums.items()},
            **{_TAILS + name: values for name, values in self.tails.items()},
        }

    @classmethod
    def of(cls, info: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """The inverse of `as_info` and `as_arrays`."""

        def named(start: str) -> dict[str, np.ndarray]:
            return {key.removeprefix(start): a for key, a in arrays.items() if key.startswith(start)}

        return cls(info["nodes"], info["shapes"], arrays[_COUNTS], named(_SUMS), named(_TAILS))


def nothing_known(rows: int) -> KnownDraws:
    """Before the first draw."""
    return KnownDraws({}, {}, np.zeros(rows, np.int64), {}, {})


def is_group(node: dict[str, Any]) -> bool:
    """Whether zarr's metadata are those of a group, not of an array."""
    return node.get("node_type") == "group"


def nodes_on_disk(folder: Path) -> dict[str, Any]:
    """Every `zarr.json` under a folder by the path of its folder, whole."""
    found = {}
    for file in sorted(folder.rglob(METADATA)):
        place = file.parent.relative_to(folder).as_posix()
        found["" if place == "." else place] = json.loads(file.read_text(encoding="utf-8"))
    return found


def without_shape(node: dict[str, Any]) -> dict[str, Any]:
    """What of an array's or a group's metadata never changes."""
    return {name: value for name, value in node.items() if name != "shape"}


def chunk_key(name: str, place: tuple[int, ...]) -> str:
    """The path in the store of a chunk's file."""
    return "/".join([name, "c", *map(str, place)])


def sum_of_file(path: Path) -> int:
    """The checksum at the end of a chunk's file; `NO_FILE` where there is none."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, 2) - SUM_BYTES))
            return int.from_bytes(stream.read(), "little")
    except FileNotFoundError:
        return NO_FILE
