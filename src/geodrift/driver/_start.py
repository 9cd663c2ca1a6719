"""Where the chains of `geodrift.sample` start: their states and keys, from its argument ``initial``."""

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key, PyTree

from geodrift._tree import LOOKED_INTO, shared_by_chains
from geodrift._types import Position, RandomKey
from geodrift.driver._compiled_steps import init_chains
from geodrift.driver._draws import Draws
from geodrift.manifolds import Manifold
from geodrift.samplers import Sampler


class PerChain(NamedTuple):
    """Starting positions, one for each chain: a pytree whose leaves have a leading axis [chain]."""

    position: PyTree


def start_chains(
    key: RandomKey, sampler: Sampler, initial: Any, num_chains: int
) -> tuple[Any, Key[Array, " chain"]]:
    """The chains' states and the keys of their steps."""
    key_start, key_init, key_steps = _chain_keys(key, num_chains)
    if is_state(initial):
        return _check_state(sampler, key_init, initial, num_chains), key_steps
    if isinstance(initial, PerChain):
        positions = jax.tree.map(jnp.asarray, _of_arrays(initial.position))
        if any(x.shape[:1] != (num_chains,) for x in jax.tree.leaves(positions)):
            raise ValueError(f"initial: every leaf of PerChain needs a leading axis of length {num_chains}")
    else:
        positions = _positions(key_start, sampler.manifold, initial)
    try:
        sampler.check_start(positions)
    except ValueError as error:
        raise error if initial is None else ValueError(f"initial: {error}") from error
    return init_chains(sampler, key_init, positions), key_steps


@functools.partial(jax.jit, static_argnums=1)
def _chain_keys(key: RandomKey, num_chains: int) -> Key[Array, "3 chain"]:
    """Each chain's keys of the starting position, of the state, and of the steps."""
    chain_keys = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(num_chains))
    return jax.vmap(lambda k: jax.random.split(k, 3))(chain_keys).T


def is_state(initial: Any) -> bool:
    """Whether ``initial`` is a sampler's state: a position has no field that chains share.

    Raises:
        ValueError: It is the draws of a run, which have a state.
    """
    if isinstance(initial, Draws):
        raise ValueError(
            "initial: is the Draws of an earlier run: give draws.state to go on from there, or PerChain of a"
            " position for each chain to start anew"
        )
    return any(jax.tree.leaves(shared_by_chains(initial)))


def _positions(keys: Key[Array, " chain"], manifold: Manifold, initial: Any) -> Position:
    """A position for each key, leading axis [chain]."""
    initial = manifold.random_point if initial is None else initial
    if is_function(initial):
        return jax.vmap(lambda key: _of_arrays(initial(key)))(keys)
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (len(keys), *jnp.shape(x))), _of_arrays(initial))


def first_positions(key: RandomKey, sampler: Sampler, initial: Any, number: int) -> Position:
    """Where the first chains start, whether the run has so many or not; leading axis [chain]."""
    if is_state(initial):
        raise ValueError(
            "step_size = None with a state as initial: its step size was chosen before; give the sampler"
            " draws.tuned.apply(sampler)"
        )
    if isinstance(initial, PerChain):
        given = _of_arrays(initial.position)
        return jax.tree.map(lambda x: jnp.asarray(x)[jnp.arange(number) % len(x)], given)
    return _positions(_chain_keys(key, number)[0], sampler.manifold, initial)


def _check_state(sampler: Sampler, keys: Key[Array, " chain"], state: Any, num_chains: int) -> Any:
    leaves = zip(jax.tree.leaves(state), jax.tree.leaves(shared_by_chains(state)), strict=True)
    if any(jnp.shape(x)[:1] != (num_chains,) for x, is_shared in leaves if not is_shared):
        raise ValueError(
            f"initial: a state needs a leading axis of length {num_chains}, the number of chains: give the"
            " num_chains of the run that it ends"
        )
    if hasattr(state, "position"):
        own = eqx.filter_eval_shape(init_chains, sampler, keys, state.position)
        if _form(own) != _form(state):
            raise ValueError(
                f"initial: is a {type(state).__name__} of another sampler or estimator, from which"
                f" {type(sampler).__name__} cannot go on: give PerChain(state.position) to start anew there"
            )
    return jax.tree.map(jnp.asarray, state)


def _form(state: Any) -> tuple[Any, list[tuple[int, ...]]]:
    """What states that a sampler can go on from have in common: the structure, and the shapes."""
    leaves, structure = jax.tree.flatten(state)
    return structure, [jnp.shape(leaf) for leaf in leaves]


def is_function(initial: Any) -> bool:
    """Whether ``initial`` is a function of a key, and not a model that can be called and holds its arrays."""
    if hasattr(initial, "__func__"):
        return True  # a method, of a manifold for instance, which may hold arrays too
    return callable(initial) and not any(eqx.is_array(leaf) for leaf in jax.tree.leaves(initial))


def _of_arrays(position: PyTree) -> PyTree:
    """The position itself, all of whose leaves are arrays or numbers."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(position):
        if isinstance(leaf, str):
            raise ValueError(f"initial = {leaf!r}: give a position, PerChain, a function of a key, or None")
        if callable(leaf):
            raise ValueError(
                f"initial: {jax.tree_util.keystr(path)} is a function, not an array: give the array part of"
                " equinox.partition(model, equinox.is_inexact_array) and combine it with the rest in the"
                " log likelihood"
            )
        if not eqx.is_array_like(leaf):
            where = jax.tree_util.keystr(path) or "the position"
            raise ValueError(f"initial: {where} is a {type(leaf).__name__}: {LOOKED_INTO}")
    return position
