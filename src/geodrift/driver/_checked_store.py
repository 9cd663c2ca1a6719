"""The draws on disk as a zarr store that gives nothing but what a checkpoint knows."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
from jaxtyping import UInt8
from numcodecs.zstd import Zstd
from zarr.abc.store import Store

from geodrift.driver._damage import CHANGED, MISSING, damaged, keeps_any
from geodrift.driver._known_draws import METADATA, SUM_BYTES, KnownDraws
from geodrift.files import Damage

# What the store does itself, in the thread that reads the file: a chunk's bytes take one turn, not three.
_CODECS_DONE = ("zstd", "crc32c")
_ZSTD = Zstd()


class CheckedStore(Store):
    """Read access to `draws.zarr` of a run.

    Zarr gives the fill value for a chunk whose file is missing, reads metadata whatever they say, and names
    no file when a checksum is wrong. Here the metadata are those of the checkpoint, and the file of a chunk
    has to be there, to agree with the checksum at its end, and to be the file that the checkpoint knows.

    Args:
        run: The run directory, for messages.
        folder: `draws.zarr`.
        known: Of the checkpoint.
    """

    supports_writes = supports_deletes = False
    supports_listing = True

    def __init__(self, run: Path, folder: Path, known: KnownDraws) -> None:
        super().__init__(read_only=True)
        self.run, self.folder, self.known = run, folder, known
        self._metadata = {
            f"{node}/{METADATA}".lstrip("/"): json.dumps(_unsealed(known.metadata(node))).encode()
            for node in known.nodes
        }
        # None for the last chunk of a row: it may be written again while it is read. What is in it was
        # compared when the store was opened, see `_draws_check.open_checked`.
        self._sums = {
            key: None if known.is_last(name, place) else value
            for name in known.shapes
            for key, place, value in known.files(name)
        }

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        """A chunk's values, or metadata; None for a chunk that has no draw.

        Raises:
            InputError: The file of the chunk is missing or damaged.
        """
        if byte_range is not None:
            raise NotImplementedError("chunks are read whole")
        if key in self._metadata:
            return prototype.buffer.from_bytes(self._metadata[key])
        if key not in self._sums:
            return None
        return prototype.buffer.from_array_like(await asyncio.to_thread(self._chunk, key))

    def _chunk(self, key: str) -> UInt8[np.ndarray, " bytes"]:
        content, what = whole_chunk(self.folder / key, self._sums[key])
        if content is None:
            raise damaged(self.run, Damage(self.folder / key, what), kept=keeps_any(key))
        return np.frombuffer(_ZSTD.decode(content), np.uint8)

    async def get_partial_values(self, prototype: Any, key_ranges: Iterable[tuple[str, Any]]) -> list[Any]:
        """See `zarr.abc.store.Store`."""
        return [await self.get(key, prototype, byte_range) for key, byte_range in key_ranges]

    async def exists(self, key: str) -> bool:
        """See `zarr.abc.store.Store`."""
        return key in self._metadata or key in self._sums

    async def list(self) -> AsyncIterator[str]:
        """See `zarr.abc.store.Store`."""
        for key in (*self._metadata, *self._sums):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """See `zarr.abc.store.Store`."""
        async for key in self.list():
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """See `zarr.abc.store.Store`."""
        start = f"{prefix.rstrip('/')}/" if prefix.strip("/") else ""
        # Of an array's chunks nobody asks for a list.
        inside = [key.removeprefix(start) for key in self._metadata if key.startswith(start)]
        for name in dict.fromkeys(key.partition("/")[0] for key in inside):
            yield name

    async def set(self, key: str, value: Any) -> None:
        """Refused: the store is for reading."""
        self._check_writable()

    async def delete(self, key: str) -> None:
        """Refused: the store is for reading."""
        self._check_writable()

    def __eq__(self, value: object) -> bool:
        return isinstance(value, type(self)) and value.folder == self.folder and value.known is self.known


def _unsealed(node: dict[str, Any]) -> dict[str, Any]:
    """An array's metadata without the codecs whose work the store does."""
    if "codecs" not in node:
        return node
    return node | {"codecs": [codec for codec in node["codecs"] if codec["name"] not in _CODECS_DONE]}


def whole_chunk(path: Path, known: int | None) -> tuple[UInt8[np.ndarray, " bytes"] | None, str]:
    """The file of a chunk without its checksum.

    Args:
        path: The file.
        known: The checksum that it should have; None: its own.

    Returns:
        The contents and "", or None and what is wrong.
    """
    try:
        content = np.frombuffer(path.read_bytes(), np.uint8)
    except FileNotFoundError:
        return None, MISSING
    except OSError as error:
        return None, f"cannot be read ({error.strerror})"
    content, end = content[:-SUM_BYTES], int.from_bytes(content[-SUM_BYTES:].tobytes(), "little")
    if (known is not None and end != known) or google_crc32c.value(content) != end:
        return None, CHANGED
    return content, ""
