"""What `geodrift.sample` does for ``step_size=None``: the numbers kept by the run, or a pilot's."""

import dataclasses
import math
from os import PathLike
from typing import Any

import jax
import jax.numpy as jnp

from geodrift._terminal import say
from geodrift._types import Position, RandomKey
from geodrift.driver._host_data import HostData
from geodrift.driver._kept_run import kept_settings
from geodrift.driver._source import Source
from geodrift.driver._start import PerChain, first_positions
from geodrift.estimators._affine import Layout
from geodrift.estimators._likelihood import LikelihoodEstimator
from geodrift.kernels._streams import PILOT
from geodrift.samplers import Sampler
from geodrift.schedules import Automatic
from geodrift.tuning._adaptation import adapt, adapts
from geodrift.tuning._adapted import Adapted
from geodrift.tuning._pilot_data import PilotData
from geodrift.tuning._scales import CLIMBS
from geodrift.tuning._tune import Tuned, tune_on


def is_automatic(sampler: Sampler) -> bool:
    """Whether the step size is still to be chosen."""
    return isinstance(getattr(sampler, "step_size", None), Automatic)


def pilot_data(source: Source) -> PilotData:
    """Random rows of a run's data.

    Raises:
        ValueError: The run reads its batches from an iterator.
    """
    batching, data = source.batching, source.data
    if isinstance(source.host, HostData):
        data = source.host.arrays
    elif source.host is not None:
        raise ValueError(
            "step_size = None: a pilot needs random rows, and an iterator gives batches in its own order;"
            " give a step size"
        )
    return PilotData(data, batching.batch_size, batching.replacement, source.smaller)


def settled(
    key: RandomKey,
    sampler: Sampler,
    source: Source,
    initial: Any,
    num_warmup: int,
    num_chains: int,
    checkpoint: str | PathLike | None,
) -> tuple[Sampler, Tuned | Adapted, Any]:
    """The sampler with numbers, the record of them, and where the run's chains start, as ``initial``.

    Args:
        key: The run's.
        sampler: With ``step_size=None``.
        source: Where the pilot's rows come from.
        initial: As `geodrift.sample` takes it.
        num_warmup: Steps of warm-up.
        num_chains: Of the run.
        checkpoint: The run's directory. Numbers kept there are taken: another machine could round a pilot
            differently, and the run would not go on to the same bits.
    """
    sampler = without_variance(sampler) if of_epochs(source) else sampler
    kept = {} if checkpoint is None else kept_settings(checkpoint)
    rows = pilot_data(source) if source.host is None else None
    starts = float_positions(first_positions(key, sampler, initial, CLIMBS))
    layout = Layout.of(jax.tree.map(lambda x: x[0], starts))
    found: Tuned | Adapted
    if adapts(sampler, rows, starts):
        if "tuned" in kept:
            found = Adapted.from_dict(kept["tuned"], layout)
        else:
            found = within_epoch(adapt(PILOT.fold(key), sampler, rows, starts), source)
            say(f"geodrift: chosen in a warm-up for {found}")
    elif "tuned" in kept:
        found = Tuned.from_dict(kept["tuned"])
    else:
        found = tune_on(PILOT.fold(key), sampler, pilot_data(source), starts, num_warmup)
        say(f"geodrift: chosen by a pilot for {found}")
    if found.starts is not None:
        initial = PerChain(layout.positions(found.starts, num_chains))
    return found.apply(sampler), found, initial


def of_epochs(source: Source) -> bool:
    """Whether a run's batches are those of epochs."""
    return source.batching.scheme == "epochs" and source.batching.batch_size is not None


def without_variance(sampler: Any) -> Any:
    """The sampler with an estimator that states no noise variance, so that none is subtracted.

    The noise of an epoch adds up to 0. How much of V a chain feels is between none of it and all, by how many
    epochs it remembers, so numbers are chosen with which either is within what a run may be off by.
    """
    estimator = sampler.estimator
    if not isinstance(estimator, LikelihoodEstimator) or estimator.variance is None:
        return sampler
    return dataclasses.replace(sampler, estimator=estimator._replace(variance=None))


def within_epoch(found: Adapted, source: Source) -> Adapted:
    """With no more inner steps than an epoch has batches, where a run's batches are those of epochs."""
    batching = source.batching
    if not of_epochs(source):
        return found
    most = max(batching.data_size // (found.batch_size or batching.batch_size), 1)
    if found.num_steps <= most:
        return found
    warm_up = math.ceil(found.warm_up * found.num_steps / most)
    return dataclasses.replace(found, num_steps=most, warm_up=warm_up)


def float_positions(positions: Position) -> Position:
    """The same as arrays of floating-point numbers."""
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.result_type(x, float)), positions)
