"""The driver: chains, warm-up, thinning, callbacks, and checkpoints that a run continues from bit for bit."""

import time
from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PyTree

from geodrift._errors import Result, SamplingError
from geodrift._tree import shared_by_chains
from geodrift._types import Position, RandomKey
from geodrift.driver._automatic import is_automatic, pilot_data, settled
from geodrift.driver._compiled_steps import Chunk, advance, init_chains
from geodrift.driver._plan import Plan, draws_within, plan_steps
from geodrift.driver._progress import Bar, Pace
from geodrift.driver._source import Source, source_of
from geodrift.driver._store import DrawStore, settings_of
from geodrift.manifolds import Manifold
from geodrift.samplers import Sampler, StepInfo
from geodrift.tuning import Tuned

if TYPE_CHECKING:
    import xarray

# Draws of one chunk stay on the device within this many bytes, and within this number.
_CHUNK_BYTES = 64 * 2**20
_CHUNK_DRAWS = 1024
_CHUNK_SECONDS = 0.5
_CHECKPOINT_SECONDS = 5.0


class PerChain(NamedTuple):
    """Starting positions, one for each chain: a pytree whose leaves have a leading axis [chain]."""

    position: PyTree


class RunProgress(NamedTuple):
    """What a callback gets after every chunk."""

    steps: int  # steps taken, warm-up included
    total: int
    draws: int  # draws stored, of each chain
    state: Any  # the chains' states, leading axis [chain]
    info: StepInfo | None  # of this chunk's draws, leading axes [chain, draw]; None in warm-up


class Draws(NamedTuple):
    """The result of `sample`. All but the state are NumPy arrays."""

    position: PyTree  # leading axes [chain, draw]
    info: StepInfo  # of the last step of each draw; leading axes [chain, draw]
    state: Any  # the chains' last states; give it as `initial` to go on
    tuned: Tuned | None = None  # what a pilot chose for ``step_size=None``

    def to_datatree(self) -> "xarray.DataTree":
        """The draws as an xarray DataTree with the groups ``posterior`` and ``sample_stats``.

        A position that is one array is called ``position``; the leaves of a pytree have their path, joined
        by points.
        """
        # Imported here: arviz-base takes a second to load.
        from arviz_base import from_dict

        leaves = jax.tree_util.tree_leaves_with_path(self.position)
        posterior = {_name(path): leaf for path, leaf in leaves}
        names = {"acceptance": "acceptance_rate"}
        stats = {names.get(k, k): v for k, v in self.info._asdict().items() if not np.all(np.isnan(v))}
        return from_dict({"posterior": posterior, "sample_stats": stats})


def sample(
    key: RandomKey,
    sampler: Sampler,
    data: Any = None,
    *,
    batch_size: int | None = None,
    batches: str = "rows",
    num_draws: int,
    num_warmup: int = 0,
    num_chains: int = 1,
    thin: int = 1,
    initial: Position | PerChain | Callable[[RandomKey], Position] | Any = None,
    callback: Callable[[RunProgress], None] | None = None,
    progress: bool = False,
    checkpoint: str | PathLike | None = None,
) -> Draws:
    """Run chains of a sampler.

    Chain c is the chain that ``fold_in(key, c)`` gives, whatever the number of chains. Each step draws its
    minibatch with its own key, at a cost that does not depend on the data's size.

    Args:
        key: Random key, from `jax.random.key`.
        sampler: The Markov kernel. With ``step_size=None`` a pilot chooses its step size and friction
            (`geodrift.tuning.tune`), a function of the key and the arguments, and says so on stderr; a run
            that goes on from a checkpoint has the numbers that are kept there.
        data: A pytree of arrays with leading axis N; or `HostData`, arrays that stay on the host, such as
            memory-mapped files; or an iterator of batches, of which each step takes one for each chain and
            inner step; or None when the estimator needs none.
        batch_size: B; None gives every step all of the data, or the iterator's batches as they are.
        batches: ``"rows"``: independent random rows, with or without replacement as the estimator says.
            ``"blocks"``: B neighbouring rows from a random place of the data, shuffled once: cheaper, and
            independent from step to step. ``"epochs"``: every row once before any comes again, in blocks that
            are cut and ordered anew for each epoch: the noise of an epoch adds up to 0, so V says too much.
        num_draws: Draws stored, of each chain.
        num_warmup: Steps taken before the first draw is counted.
        num_chains: Chains, run together.
        thin: Steps from one stored draw to the next; where a schedule such as `Cyclical` has stages, those
            in which draws may be stored are counted alone.
        initial: Where the chains start. A position, shared by all chains; or ``PerChain(positions)``; or a
            function of a random key that returns a position; or the ``state`` of earlier draws, to go on
            from there (with the same key the draws are those of one longer run). None takes a random point
            of the manifold, without batch axes. An Equinox model goes in as the array part of
            ``equinox.partition``.
        callback: Called with a `RunProgress` after every chunk of about half a second.
        progress: Show a progress bar on stderr when the run takes more than two seconds.
        checkpoint: A directory. The run is kept there, at every moment in a state from which the same call
            goes on to the very same draws; ``num_draws`` may be larger then. An iterator is to be given from
            its beginning: the batches that were used are read and dropped.

    Returns:
        The draws.

    Raises:
        ValueError: An argument is outside its range, or the sampler runs on the host, or the checkpoint is of
            a run with other settings, or its directory holds other files.
        SamplingError: A step failed; says which and in which chain, and has the draws before it.
    """
    _check_counts(num_draws=num_draws, num_chains=num_chains, thin=thin)
    if not isinstance(num_warmup, int) or num_warmup < 0:
        raise ValueError(f"num_warmup = {num_warmup!r}: must be a whole number, 0 or more")
    if sampler.runs_on_host:
        raise ValueError(
            f"sampler = {type(sampler).__name__}: its steps run on the host and cannot be compiled: call"
            " sampler.init and sampler.step in a loop of your own, or give the compiled sampler (SCIR)"
        )
    sampler, source = source_of(key, sampler, data, batch_size, batches)
    tuned = None
    if is_automatic(sampler):
        start = _first_position(key, sampler, initial)
        sampler, tuned = settled(key, sampler, pilot_data(source), start, num_warmup, checkpoint)
    state, keys = _start(key, sampler, initial, num_chains)
    plan = plan_steps(sampler, int(state.count), num_warmup, num_draws, thin)
    store = None
    if checkpoint is not None:
        # A function cannot be compared, the positions that it gives can.
        start = state.position if _is_function(initial) else initial
        counts = {"num_warmup": num_warmup, "num_chains": num_chains, "thin": thin}
        settings = settings_of(key, sampler, source.sketch, source.batching, initial=start, **counts)
        store = DrawStore(checkpoint, settings if tuned is None else settings | {"tuned": tuned.as_dict()})
    run = _Run(sampler, source, keys, state, plan, store)
    bar = Bar(plan.total, progress)
    try:
        while not run.done:
            info = run.advance()
            bar.update(run.steps, run.steps < num_warmup)
            if callback is not None:
                callback(RunProgress(run.steps, plan.total, run.draws, run.state, info))
    except SamplingError as error:
        error.draws = run.result() if run.pieces else None
        raise
    finally:
        bar.close()
        run.close()
    return run.result()._replace(tuned=tuned)


class _Run:
    """A run under way: the chains' state, the draws so far, and where they are kept."""

    def __init__(
        self,
        sampler: Sampler,
        source: Source,
        keys: Key[Array, " chain"],
        state: Any,
        plan: Plan,
        store: DrawStore | None,
    ) -> None:
        self.sampler, self.source, self.keys, self.state = sampler, source, keys, state
        self.plan, self.store = plan, store
        self.steps, self.pieces = 0, []
        if store is not None and store.exists:
            self.steps, self.state, self.pieces = store.load(state, len(plan.gaps))
        self.pace = Pace(_CHUNK_SECONDS if store is None else _CHECKPOINT_SECONDS)
        size = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(state.position))
        # Not a function of num_draws: runs of any length share one compilation, and the bits of one.
        self.capacity = max(1, min(_CHUNK_DRAWS, _CHUNK_BYTES // max(size, 1)))
        left = plan.total - self.steps
        self.feed = source.feed(keys, int(self.state.count), self.steps, left) if left > 0 else None

    @property
    def draws(self) -> int:
        return sum(jax.tree.leaves(piece)[0].shape[0] for piece in self.pieces)

    @property
    def done(self) -> bool:
        return self.steps >= self.plan.total

    def close(self) -> None:
        """End the reading of batches."""
        if self.feed is not None:
            self.feed.close()

    def advance(self) -> StepInfo | None:
        """One chunk, of warm-up or of draws; the information of the draws."""
        begun, first = time.monotonic(), int(self.state.count)
        room = self.plan.total if self.feed is None else self.feed.capacity
        gaps, keeps = self.plan.chunk(self.steps, self.draws, self.pace.steps, room, self.capacity)
        steps = int(gaps.sum())
        padded = np.zeros(self.capacity, np.int32)
        padded[: len(gaps)] = gaps
        chunk = advance(
            self.sampler,
            self.source.data if self.feed is None else self.feed.take(steps),
            self.keys,
            self.state,
            jnp.asarray(len(gaps), jnp.int32),
            jnp.asarray(padded),
            self.source.compiled,
        )
        failure = _failure(chunk)
        good = len(gaps) if failure is None else draws_within(gaps, failure.step - first)
        piece = None
        if keeps and good:
            # Copies: a view would keep the room of a whole chunk.
            piece = jax.tree.map(lambda x: np.asarray(x)[:good].copy(), (chunk.position, chunk.info))
            self.pieces.append(piece)
        if failure is not None:
            raise failure
        self.state = chunk.state
        self.steps += steps
        if self.store is not None:
            self.store.save(self.steps, self.state, piece)
        self.pace.learn(steps, time.monotonic() - begun)
        return None if piece is None else jax.tree.map(lambda x: np.swapaxes(x, 0, 1), piece[1])

    def result(self) -> Draws:
        """All draws, with the chains in front."""
        position, info = jax.tree.map(
            lambda *parts: np.ascontiguousarray(np.swapaxes(np.concatenate(parts), 0, 1)), *self.pieces
        )
        return Draws(position, info, self.state)


def _check_counts(**counts: int) -> None:
    for name, value in counts.items():
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} = {value!r}: must be a whole number, 1 or more")


def _start(
    key: RandomKey, sampler: Sampler, initial: Any, num_chains: int
) -> tuple[Any, Key[Array, " chain"]]:
    """The chains' states and the keys of their steps."""
    key_start, key_init, key_steps = _chain_keys(key, num_chains)
    if _is_state(initial):
        return _check_state(initial, num_chains), key_steps
    if isinstance(initial, PerChain):
        positions = jax.tree.map(jnp.asarray, initial.position)
        if any(x.shape[:1] != (num_chains,) for x in jax.tree.leaves(positions)):
            raise ValueError(f"initial: every leaf of PerChain needs a leading axis of length {num_chains}")
    else:
        positions = _positions(key_start, sampler.manifold, initial)
    sampler.check_start(positions)
    return init_chains(sampler, key_init, positions), key_steps


def _chain_keys(key: RandomKey, num_chains: int) -> Key[Array, "3 chain"]:
    """Each chain's keys of the starting position, of the state, and of the steps."""
    chain_keys = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(num_chains))
    return jax.vmap(lambda k: jax.random.split(k, 3))(chain_keys).T


def _is_state(initial: Any) -> bool:
    """Whether ``initial`` is a sampler's state: a position has no field that chains share."""
    return any(jax.tree.leaves(shared_by_chains(initial)))


def _positions(keys: Key[Array, " chain"], manifold: Manifold, initial: Any) -> Position:
    """A position for each key, leading axis [chain]."""
    initial = manifold.random_point if initial is None else initial
    if _is_function(initial):
        return jax.vmap(initial)(keys)
    _check_arrays(initial)
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (len(keys), *jnp.shape(x))), initial)


def _first_position(key: RandomKey, sampler: Sampler, initial: Any) -> Position:
    """Where chain 0 starts, for the pilot."""
    if _is_state(initial):
        raise ValueError(
            "step_size = None with a state as initial: its step size was chosen before; give the sampler"
            " draws.tuned.apply(sampler)"
        )
    if isinstance(initial, PerChain):
        return jax.tree.map(lambda x: x[0], initial.position)
    return jax.tree.map(lambda x: x[0], _positions(_chain_keys(key, 1)[0], sampler.manifold, initial))


def _check_state(state: Any, num_chains: int) -> Any:
    leaves = zip(jax.tree.leaves(state), jax.tree.leaves(shared_by_chains(state)), strict=True)
    if any(jnp.shape(x)[:1] != (num_chains,) for x, is_shared in leaves if not is_shared):
        raise ValueError(
            f"initial: a state needs a leading axis of length {num_chains}, the number of chains"
        )
    return jax.tree.map(jnp.asarray, state)


def _is_function(initial: Any) -> bool:
    """Whether ``initial`` is a function of a key, and not a model that can be called and holds its arrays."""
    if hasattr(initial, "__func__"):
        return True  # a method, of a manifold for instance, which may hold arrays too
    return callable(initial) and not any(eqx.is_array(leaf) for leaf in jax.tree.leaves(initial))


def _check_arrays(position: PyTree) -> None:
    for path, leaf in jax.tree_util.tree_leaves_with_path(position):
        if callable(leaf):
            raise ValueError(
                f"initial: {jax.tree_util.keystr(path)} is a function, not an array: give the array part of"
                " equinox.partition(model, equinox.is_inexact_array) and combine it with the rest in the"
                " log likelihood"
            )


def _failure(chunk: Chunk) -> SamplingError | None:
    codes = np.asarray(chunk.result)
    if np.all(codes == Result.OK):
        return None
    steps = np.asarray(chunk.failed_at)
    chain = int(min(np.flatnonzero(codes != Result.OK), key=lambda c: steps[c]))
    return SamplingError(Result(int(codes[chain])), int(steps[chain]), chain)


def _name(path: tuple) -> str:
    parts = (getattr(k, "name", getattr(k, "key", getattr(k, "idx", None))) for k in path)
    return ".".join(str(part) for part in parts) or "position"
