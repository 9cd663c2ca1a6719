"""The compiled part of the driver: many steps of many chains in one call."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key, PyTree

from geodrift._batches import batch_indices
from geodrift._errors import Result
from geodrift._types import Position
from geodrift.samplers import Sampler, StepInfo


class Chunk(NamedTuple):
    """What one call returns."""

    state: Any  # leading axis [chain], but for the counts
    position: Position  # leading axes [capacity, chain]
    info: StepInfo  # leading axes [capacity, chain]
    result: Int[Array, " chain"]  # first code that is not OK
    failed_at: Int[Array, " chain"]  # count of the step that gave it


class Batching(NamedTuple):
    """How batches are drawn."""

    batch_size: int | None  # None: all of the data
    replacement: bool


def is_shared(path: tuple, leaf: Any) -> bool:
    """Whether a leaf is an attribute ``count`` of whole numbers, hence one for all chains.

    A position may have a part of that name; it is no whole number.
    """
    named = bool(path) and isinstance(path[-1], jax.tree_util.GetAttrKey) and path[-1].name == "count"
    return named and jnp.issubdtype(jnp.result_type(leaf), jnp.integer)


def init_chains(sampler: Sampler, keys: Key[Array, " chain"], positions: Position) -> Any:
    """The chains' states, from positions with a leading axis [chain]."""
    states = _init(sampler, keys, positions)
    return jax.tree_util.tree_map_with_path(lambda path, x: x[0] if is_shared(path, x) else x, states)


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
    thin: Int[Array, ""],
    capacity: int,
    batching: Batching,
) -> Chunk:
    """``num_draws`` draws of ``thin`` steps each, from every chain.

    The numbers of draws and steps are traced and the step is compiled once, so that any cut into chunks
    gives the same bits.
    """
    leaves, step = _chain_step(sampler, data, keys, state, batching)
    info_like = jax.eval_shape(step, leaves)[1]
    no_info = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), info_like)

    def steps(carry: tuple) -> tuple:
        def one(_: Int[Array, ""], carry: tuple) -> tuple:
            leaves, _info, result, failed_at = carry
            count = leaves.count
            leaves, info = step(leaves)
            fails_now = (result == Result.OK) & (info.result != Result.OK)
            return (
                leaves,
                info,
                jnp.where(fails_now, info.result, result),
                jnp.where(fails_now, count, failed_at),
            )

        return jax.lax.fori_loop(0, thin, one, carry)

    def draw(i: Int[Array, ""], carry: tuple) -> tuple:
        chains, buffers = carry
        chains = steps(chains)
        row = (leaves.rebuild(chains[0]).position, chains[1])
        return chains, jax.tree.map(lambda buffer, x: buffer.at[i].set(x), buffers, row)

    row_like = (state.position, info_like)
    buffers = jax.tree.map(lambda x: jnp.zeros((capacity, *x.shape), x.dtype), row_like)
    fine = jnp.zeros(keys.shape, jnp.int32)
    start = ((leaves, no_info, fine, fine), buffers)
    (leaves_end, _, result, failed_at), (position, info) = jax.lax.fori_loop(0, num_draws, draw, start)
    return Chunk(leaves.rebuild(leaves_end), position, info, result, failed_at)


class _Leaves(eqx.Module):
    """A state's leaves, those of each chain apart from those that all chains share."""

    own: list[Array]
    shared: list[Array]
    structure: Any = eqx.field(static=True)
    is_shared: tuple[bool, ...] = eqx.field(static=True)

    @property
    def count(self) -> Int[Array, ""]:
        """The sampler's count."""
        return self.rebuild(self).count

    def rebuild(self, leaves: "_Leaves") -> Any:
        """The state with these leaves."""
        own, shared = iter(leaves.own), iter(leaves.shared)
        ordered = [next(shared) if flag else next(own) for flag in self.is_shared]
        return jax.tree.unflatten(self.structure, ordered)

    def split(self, state: Any) -> "_Leaves":
        """The leaves of another state of the same structure."""
        flags = zip(jax.tree.leaves(state), self.is_shared, strict=True)
        own, shared = [], []
        for leaf, flag in flags:
            (shared if flag else own).append(leaf)
        return _Leaves(own, shared, self.structure, self.is_shared)


def _chain_step(
    sampler: Sampler, data: PyTree, keys: Key[Array, " chain"], state: Any, batching: Batching
) -> tuple[_Leaves, Callable[[_Leaves], tuple[_Leaves, StepInfo]]]:
    """The leaves of the state, and one step of all chains on them."""
    flags = tuple(is_shared(path, x) for path, x in jax.tree_util.tree_leaves_with_path(state))
    template = _Leaves([], [], jax.tree.structure(state), flags)
    data_size = jax.tree.leaves(data)[0].shape[0] if jax.tree.leaves(data) else 0

    def one(key: Key[Array, ""], own: list[Array], shared: list[Array]) -> tuple:
        state = template.rebuild(_Leaves(own, shared, template.structure, template.is_shared))
        key_batch, key_step = jax.random.split(jax.random.fold_in(key, state.count))
        batch = data
        if batching.batch_size is not None:
            rows = batch_indices(key_batch, data_size, sampler.batch_axes, *batching)
            batch = jax.tree.map(lambda a: a[rows], data)
        state, info = sampler.step(key_step, state, batch)
        leaves = template.split(state)
        return leaves.own, leaves.shared, info

    def step(leaves: _Leaves) -> tuple[_Leaves, StepInfo]:
        own, shared, info = jax.vmap(one, in_axes=(0, 0, None), out_axes=(0, None, 0))(
            keys, leaves.own, leaves.shared
        )
        return _Leaves(own, shared, template.structure, template.is_shared), info

    return template.split(state), step
