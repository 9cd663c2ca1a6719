"""Chains of a sampler of the core, all of them in one compiled program."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from geodrift._errors import Result, SamplingError
from geodrift.driver import _compiled_steps
from geodrift.driver._chain import Chain, Chunk, Variable
from geodrift.driver._feed import Feed
from geodrift.driver._named_draws import info_of, named_draws
from geodrift.driver._plan import Plan, Room
from geodrift.driver._pytrees import flatten_arrays, unflatten_arrays
from geodrift.driver._source import Source
from geodrift.samplers import Sampler

# Draws of one chunk stay on the device within this many bytes, and within this number.
_CHUNK_BYTES = 64 * 2**20
_CHUNK_DRAWS = 1024


class CompiledChain(Chain):
    """Chains of one sampler that move together.

    Args:
        sampler: The kernel.
        source: Where the minibatches come from.
        keys: Of the chains' steps, [chain].
        state: The chains' states, leading axis [chain].
    """

    def __init__(self, sampler: Sampler, source: Source, keys: Key[Array, " chain"], state: Any) -> None:
        self.placement = source.batching.placement
        if self.placement is not None:
            keys, state = self.placement.put((keys, state))
        self.sampler, self.source, self.keys, self.sampler_state = sampler, source, keys, state
        self.num_chains, self.count, self.first = keys.shape[0], 0, int(state.count)
        size = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(state.position))
        # Not a function of the plan: runs of any length share one compilation, and the bits of one.
        self.capacity = max(1, min(_CHUNK_DRAWS, _CHUNK_BYTES // max(size, 1)))
        self.room = Room(draws=self.capacity)
        self.feed: Feed | None = None
        self._variables: dict[str, Variable] = {}

    @property
    def variables(self) -> dict[str, Variable]:
        """Leaves of the position and what each step reports; known after the first chunk."""
        return self._variables

    def begin(self, plan: Plan) -> None:
        """Start to read the batches of the plan's steps, where they come from the host."""
        self.close()
        left = plan.total - self.count
        if left > 0:
            self.feed = self.source.feed(self.keys, self.first + self.count, self.count, left)
        if self.feed is not None:
            self.room = Room(self.feed.capacity, self.capacity)

    def advance(self, gaps: Int[np.ndarray, " draw"], store: bool) -> Chunk:
        """Take steps; ``detail`` is the `StepInfo` of the chunk's stored draws, or None."""
        first, steps = self.first + self.count, int(np.sum(gaps))
        padded = np.zeros(self.capacity, np.int32)
        padded[: len(gaps)] = gaps
        num_draws, gaps_on_device = self._placed(np.int32(len(gaps)), padded)
        done = _compiled_steps.advance(
            self.sampler,
            self.source.data if self.feed is None else self.feed.take(steps),
            jax.random.clone(self.keys),  # each step folds its count in: no chunk uses them as another does
            self.sampler_state,
            num_draws,
            gaps_on_device,
            self.source.compiled,
        )
        failure = _failure(done)
        good = len(gaps) if failure is None else _draws_within(gaps, failure.step - first)
        draws: dict[str, np.ndarray] = {}
        if store and good:
            # Copies: a view would keep the room of a whole chunk.
            pieces = jax.tree.map(lambda x: np.asarray(x)[:good].copy(), (done.position, done.info))
            draws = named_draws(*pieces)
            self._variables = {name: _variable(name, values) for name, values in draws.items()}
        if failure is None:
            self.sampler_state = done.state
            self.count += steps
        return Chunk(draws, {}, failure, info_of(draws) if draws else None)

    def _placed(self, *arrays: Any) -> tuple[Any, ...]:
        return tuple(map(jnp.asarray, arrays)) if self.placement is None else self.placement.put(arrays)

    def state(self) -> dict[str, np.ndarray]:
        """The leaves of the sampler's state."""
        return flatten_arrays("state", self.sampler_state)

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state returned by `state`.

        Raises:
            ValueError: It is of another sampler.
        """
        restored = unflatten_arrays("state", arrays, self.sampler_state)
        self.sampler_state = jax.tree.map(lambda x: self._placed(x)[0], restored)
        self.count = int(self.sampler_state.count) - self.first

    def agreed(self, steps: int) -> int:
        """A number of steps for all processes that have a part of the data."""
        return steps if self.placement is None else self.placement.from_first(steps)

    def close(self) -> None:
        """End the reading of batches."""
        if self.feed is not None:
            self.feed.close()
            self.feed = None


def _variable(name: str, values: np.ndarray) -> Variable:
    dims = tuple(f"{name.rpartition('/')[2]}_dim_{axis}" for axis in range(values.ndim - 2))
    return Variable(dims, values.shape[2:], str(values.dtype))


def _draws_within(gaps: Int[np.ndarray, " draw"], steps: int) -> int:
    """How many of the draws at the ends of the gaps fall within that many steps."""
    return int(np.searchsorted(np.cumsum(gaps), steps, side="right"))


def _failure(chunk: _compiled_steps.Chunk) -> SamplingError | None:
    """The first failure of any chain."""
    codes = np.asarray(chunk.result)
    if np.all(codes == Result.OK):
        return None
    steps = np.asarray(chunk.failed_at)
    chain = int(min(np.flatnonzero(codes != Result.OK), key=lambda c: steps[c]))
    return SamplingError(Result(int(codes[chain])), int(steps[chain]), chain)
