"""The compiled part of the driver: many steps of many chains in one call."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key, PyTree

from geodrift._errors import Result
from geodrift._tree import shared_by_chains
from geodrift._types import Batch, Position
from geodrift.driver._batches import Batching, draw_batch, epoch_blocks
from geodrift.samplers import Sampler, StepInfo


class Chunk(NamedTuple):
    """What one call returns."""

    state: Any  # leading axis [chain], except for what all chains share
    position: Position  # leading axes [capacity, chain]
    info: StepInfo  # leading axes [capacity, chain]
    result: Int[Array, " chain"]  # first code that is not OK
    failed_at: Int[Array, " chain"]  # count of the step that gave it


def init_chains(sampler: Sampler, keys: Key[Array, " chain"], positions: Position) -> Any:
    """The chains' states, from positions with a leading axis [chain].

    Raises:
        ValueError: The sampler's state does not mark its count as shared.
    """
    states = _init(sampler, keys, positions)
    shared = shared_by_chains(states)
    if not shared.count:
        raise ValueError(
            f"sampler = {type(sampler).__name__}: all chains share the count of steps: in"
            f" {type(states).__name__}, annotate the field count with geodrift.samplers.Shared[...]"
        )
    return jax.tree.map(lambda x, is_shared: x[0] if is_shared else x, states, shared)


@eqx.filter_jit
def _init(sampler: Sampler, keys: Key[Array, " chain"], positions: Position) -> Any:
    return jax.vmap(sampler.init)(keys, positions)


@eqx.filter_jit
def advance(
    sampler: Sampler,
    data: PyTree,
    keys: Key[Array, " chain"],
    state: Any,
    num_draws: Int[Array, ""],
    gaps: Int[Array, " capacity"],
    batching: Batching,
) -> Chunk:
    """``num_draws`` draws of every chain, ``gaps[i]`` steps before draw number i.

    The numbers of draws and steps are traced and the step is compiled once, so that any cut into chunks
    gives the same bits.

    Args:
        sampler: The kernel.
        data: From `lay_out`; or with the scheme ``"fed"`` the batches, ``[step, chain, ...]``.
        keys: Of the chains' steps.
        state: The chains' states.
        num_draws: At most ``capacity``, the rows of the result.
        gaps: Steps from one draw to the next.
        batching: How batches are drawn.
    """
    walkers, step = _chain_step(sampler, data, keys, state, batching)
    everywhere = (lambda x: x) if batching.placement is None else batching.placement.everywhere
    info_like = jax.eval_shape(step, walkers)[1]
    no_info = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), info_like)

    def steps(number: Int[Array, ""], carry: tuple) -> tuple:
        def one(_: Int[Array, ""], carry: tuple) -> tuple:
            walkers, _info, result, failed_at = carry
            count = walkers.leaves.count
            walkers, info = everywhere(step(walkers))
            fails_now = (result == Result.OK) & (info.result != Result.OK)
            return (
                walkers,
                info,
                jnp.where(fails_now, info.result, result),
                jnp.where(fails_now, count, failed_at),
            )

        return jax.lax.fori_loop(0, number, one, carry)

    def draw(i: Int[Array, ""], carry: tuple) -> tuple:
        chains, buffers = carry
        chains = steps(gaps[i], chains)
        row = (chains[0].leaves.state.position, chains[1])
        return chains, jax.tree.map(lambda buffer, x: buffer.at[i].set(x), buffers, row)

    row_like = (state.position, info_like)
    buffers = jax.tree.map(lambda x: jnp.zeros((gaps.size, *x.shape), x.dtype), row_like)
    fine = jnp.zeros(keys.shape, jnp.int32)
    start = ((walkers, no_info, fine, fine), buffers)
    (walkers, _, result, failed_at), (position, info) = jax.lax.fori_loop(0, num_draws, draw, start)
    return Chunk(walkers.leaves.state, position, info, result, failed_at)


class _Leaves(eqx.Module):
    """A state's leaves, those of each chain apart from those that all chains share."""

    own: list[Array]
    shared: list[Array]
    structure: Any = eqx.field(static=True)
    is_shared: tuple[bool, ...] = eqx.field(static=True)

    @property
    def state(self) -> Any:
        """The state with these leaves."""
        own, shared = iter(self.own), iter(self.shared)
        ordered = [next(shared) if flag else next(own) for flag in self.is_shared]
        return jax.tree.unflatten(self.structure, ordered)

    @property
    def count(self) -> Int[Array, ""]:
        """The sampler's count."""
        return self.state.count

    def split(self, state: Any) -> "_Leaves":
        """The leaves of another state of the same structure."""
        flags = zip(jax.tree.leaves(state), self.is_shared, strict=True)
        own, shared = [], []
        for leaf, flag in flags:
            (shared if flag else own).append(leaf)
        return _Leaves(own, shared, self.structure, self.is_shared)


class _Walkers(NamedTuple):
    """What goes from one step of all chains to the next."""

    leaves: _Leaves
    blocks: Int[Array, "chain blocks"] | None  # of the epoch under way; None without epochs


def _chain_step(
    sampler: Sampler, data: PyTree, keys: Key[Array, " chain"], state: Any, batching: Batching
) -> tuple[_Walkers, Callable[[_Walkers], tuple[_Walkers, StepInfo]]]:
    """Where the chains are, and one step of all of them."""
    flags = tuple(jax.tree.leaves(shared_by_chains(state)))
    template = _Leaves([], [], jax.tree.structure(state), flags)
    first = state.count
    fed = batching.scheme == "fed"
    # Deriving a key takes as long as an inner step on a small batch: the two streams, of batches and of
    # steps, are split here, and one vectorised fold_in gives both keys of a step.
    streams = jax.vmap(jax.random.split)(keys)

    def epoch(count: Int[Array, ""]) -> Int[Array, "chain blocks"] | None:
        return jax.vmap(lambda key: epoch_blocks(key, count, batching))(streams[:, 0])

    def one(
        pair: Key[Array, " 2"], own: list[Array], shared: list[Array], source: Batch, blocks: Array | None
    ) -> tuple:
        state = _Leaves(own, shared, template.structure, template.is_shared).state
        key_batch, key_step = jax.vmap(jax.random.fold_in, (0, None))(pair, state.count)
        batch = source if fed else draw_batch(key_batch, state.count, source, batching, blocks)
        state, info = sampler.step(key_step, state, batch)
        leaves = template.split(state)
        return leaves.own, leaves.shared, info

    def step(walkers: _Walkers) -> tuple[_Walkers, StepInfo]:
        leaves, blocks = walkers
        count, source = leaves.count, data
        if fed:
            source = jax.tree.map(lambda a: a[count - first], data)
        if blocks is not None:
            # Once an epoch: its cost is spread over the epoch's steps.
            begins = count % batching.steps_in_epoch == 0
            blocks = jax.lax.cond(begins, lambda: epoch(count), lambda: blocks)
        axes = (0, 0, None, 0 if fed else None, 0)
        own, shared, info = _over_chains(one, axes, (0, None, 0))(
            streams, leaves.own, leaves.shared, source, blocks
        )
        return _Walkers(_Leaves(own, shared, template.structure, template.is_shared), blocks), info

    return _Walkers(template.split(state), epoch(first)), step


def _over_chains(function: Callable, in_axes: tuple, out_axes: tuple) -> Callable:
    """`jax.vmap`, but for a single chain the function itself.

    Under a vmap of one a product of a matrix and a vector becomes one of two matrices, which the CPU
    computes more slowly.
    """

    def call(*arguments: PyTree) -> tuple:
        if jax.tree.leaves(arguments[0])[0].shape[0] > 1:
            return jax.vmap(function, in_axes=in_axes, out_axes=out_axes)(*arguments)
        pairs = zip(arguments, in_axes, strict=True)
        alone = [x if axis is None else jax.tree.map(lambda a: a[0], x) for x, axis in pairs]
        pairs = zip(function(*alone), out_axes, strict=True)
        return tuple(x if axis is None else jax.tree.map(lambda a: a[None], x) for x, axis in pairs)

    return call
