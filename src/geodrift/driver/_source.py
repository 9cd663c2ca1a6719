"""What `geodrift.sample` takes as data, and how its batches are drawn."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PyTree

from geodrift._masked import unmasked
from geodrift._tree import LOOKED_INTO
from geodrift._types import RandomKey
from geodrift._whole import as_whole, is_whole
from geodrift.driver._batches import SCHEMES, Batching, lay_out
from geodrift.driver._feed import Feed
from geodrift.driver._host_data import HIDDEN_ADVICE, HostData, is_stream, stream_batches
from geodrift.driver._placement import Placement
from geodrift.estimators import Rows
from geodrift.estimators._batch_rows import batch_length
from geodrift.samplers import Sampler

AUTO = "auto"
LARGEST_SHARE = 0.1  # of the data, in a batch whose size is chosen


class Source(NamedTuple):
    """Where batches come from."""

    batching: Batching
    data: PyTree  # on the device, as `draw_batch` reads them; None where batches come from the host
    host: HostData | Iterable | None
    sketch: Any  # arrays that tell other data from these
    smaller: bool = False  # whether the batch size is to be chosen, up to that of ``batching``

    @property
    def of_processes(self) -> bool:
        """Whether other processes have parts of the data."""
        placement = self.batching.placement
        return placement is not None and placement.of_processes

    @property
    def compiled(self) -> Batching:
        """What the compiled step is to know."""
        return self.batching if self.host is None else self.batching._replace(scheme="fed")

    def feed(self, keys: Key[Array, " chain"], first: int, skipped: int, total: int) -> Feed | None:
        """The batches of the steps from ``first`` on, where they come from the host.

        Args:
            keys: Of the chains.
            first: Count of the next step.
            skipped: Steps of this run that were taken before, in another process.
            total: Steps to take.
        """
        if self.host is None:
            return None
        if isinstance(self.host, HostData):
            return Feed(self.host.batches(keys, first, self.batching), total)
        return Feed(stream_batches(self.host, skipped, len(keys), self.batching.axes), total)


def source_of(
    key: RandomKey, sampler: Sampler, data: Any, batch_size: int | str | None, batches: str
) -> tuple[Sampler, Source]:
    """The sampler to run, and the source of its batches.

    Raises:
        ValueError: An argument is outside its range, or the data do not fit the estimator.
    """
    if batches not in SCHEMES:
        raise ValueError(f"batches = {batches!r}: must be one of {', '.join(SCHEMES)}")
    if data is None:
        if batch_size is not None:
            raise ValueError(f"batch_size = {batch_size}: there is no data to draw a batch from; give data")
        return sampler, Source(Batching(0, None, True), None, None, None)
    estimator = getattr(sampler, "estimator", None)
    if not getattr(estimator, "takes_data", True):
        raise ValueError(
            f"data: {type(estimator).__name__} takes none, since its density is the whole target; leave data"
            " out, or give an estimator of minibatches, such as Minibatch"
        )
    if isinstance(data, str | Path):
        raise ValueError(f"data = {str(data)!r}: give arrays, not a path, such as numpy.load(path)")
    if is_stream(data):
        return sampler, _stream(sampler, data, batch_size, batches)
    host = data if isinstance(data, HostData) else None
    tree = jax.tree.map(_numbers, data) if host is None else host.arrays
    size = batch_length(tree)
    expected = getattr(estimator, "data_size", size)
    if expected != size:
        raise ValueError(f"data has {size} rows: the estimator's data_size is {expected}; make them agree")
    placement = Placement.of(tree) if host is None else None
    tree = tree if placement is None else placement.taken(tree)
    if getattr(estimator, "takes_rows", False):
        tree = Rows(jnp.arange(size), tree)
    smaller = batch_size == AUTO
    rows: Any = max(int(LARGEST_SHARE * size), 1) if smaller else as_whole(batch_size)
    if rows is None:
        if host is not None:
            raise ValueError("batch_size = None: data that stay on the host need a batch_size")
        batching = Batching(size, None, True, placement=placement)
        return sampler.on_all_data(), Source(batching, tree, None, tree)
    replacement = getattr(estimator, "replacement", True)
    batching = Batching(size, rows, replacement, batches, sampler.batch_axes, placement)
    _check(batching, hasattr(estimator, "replacement"))
    if host is not None:
        return sampler, Source(batching, None, HostData(tree), host.sketch(), smaller)
    return sampler, Source(batching, lay_out(key, tree, batching), None, tree, smaller)


def _numbers(values: Any) -> Array:
    if hasattr(values, "tocsr"):
        raise ValueError(
            "data: a SciPy sparse matrix cannot be cut into batches here: give an array (its toarray()), or"
            " an iterator of batches that are arrays"
        )
    if dataclasses.is_dataclass(values):
        raise ValueError(f"data: is a {type(values).__name__}: {LOOKED_INTO}")
    values = unmasked("data", values, HIDDEN_ADVICE)
    try:
        return jnp.asarray(values)
    except (TypeError, ValueError) as error:
        held = np.asarray(values).dtype
        raise ValueError(
            f"data: an array of {held} cannot be used in a log likelihood: give arrays of numbers; make codes"
            " of labels, as pandas.factorize does, and leave text out"
        ) from error


def _stream(sampler: Sampler, data: Iterable, batch_size: int | str | None, batches: str) -> Source:
    if batch_size is not None:
        raise ValueError(
            f"batch_size = {batch_size!r}: an iterator's batches have their own size; leave it out"
        )
    if batches != SCHEMES[0]:
        raise ValueError(f"batches = {batches!r}: an iterator has its own order of batches; leave it out")
    size = getattr(getattr(sampler, "estimator", None), "data_size", 0)
    return Source(Batching(size, None, True, axes=sampler.batch_axes), None, data, None)


def _check(batching: Batching, says_replacement: bool) -> None:
    size, largest = batching.batch_size, batching.data_size
    if not is_whole(size, 1) or size > largest:
        raise ValueError(
            f"batch_size = {size!r}: must be a whole number from 1 to {largest}, the number of data;"
            " None takes all of them at every step, 'auto' chooses it with step_size=None"
        )
    devices = 1 if batching.placement is None else batching.placement.num_devices
    if size % devices:
        raise ValueError(
            f"batch_size = {size}: the data are on {devices} devices, which share each batch: give a multiple"
        )
    if batching.scheme == "rows":
        return
    if devices > 1:
        raise ValueError(
            f"batches = {batching.scheme!r}: the data are on {devices} devices, and neighbouring rows would"
            " all be on one: use batches = 'rows'"
        )
    if says_replacement and batching.replacement:
        raise ValueError(
            f"batches = {batching.scheme!r}: such a batch holds no datum twice: give the estimator"
            " replacement=False, so that its noise variance is right"
        )
    if batching.scheme == "epochs" and batching.steps_in_epoch < 1:
        raise ValueError(
            f"batches = 'epochs': a step of {batching.num_batches} batches of {size} is more than an epoch of"
            f" {largest} data: take a smaller batch_size, or batches = 'rows'"
        )
