"""Shear moves for devices other than CPUs; `_shear` has the equations, `_shear_kernel` the compiled form.

Moves follow one another, and each is made for all documents at once: it reads the mixtures' rows of two
topics and the totals, 12 D bytes, and writes as many. The arithmetic is float32, so differences are computed
as such and not by subtraction: of norms, of mixtures' volumes, and of log c_V, as the integral of its
derivative.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._streams import SAM_SHEAR_MOVES
from geodrift.models.spherical_admixture.documents._document_states import DocumentStates
from geodrift.models.spherical_admixture.documents._mixtures_in_jax import (
    document_keys,
    document_words,
    product,
)
from geodrift.models.spherical_admixture.documents._shear import GAIN, ShearPrior
from geodrift.models.spherical_admixture.documents._shear_kernel import (
    TARGET_ACCEPTANCE,
    ShearConstants,
    ShearState,
)


class Pair(NamedTuple):
    """A proposal: topic j turned towards topic k by epsilon."""

    j: Int[Array, ""]
    k: Int[Array, ""]
    epsilon: Float[Array, ""]
    log_norm: Float[Array, ""]  # log |beta_j + epsilon beta_k|


def shear(
    states: DocumentStates,
    topics: Float[Array, "K V"],
    velocities: Float[Array, "K V"],
    prior: ShearPrior,
    constants: ShearConstants,
    streams: Family,
    num_moves: int,
    adapting: bool,
) -> tuple[DocumentStates, Float[Array, "K V"], Float[Array, "K V"]]:
    """As `_shear.shear`, but nothing is changed in place; the buffers of ``states`` are taken over.

    Args:
        states: As for what follows, see there.
        topics: beta.
        velocities: Tangent at the topics.
        prior: The model's constants.
        constants: The same for the moves.
        streams: Random streams of the moves.
        num_moves: Pairs to try.
        adapting: Whether to adapt the scale of epsilon.

    Returns:
        The states, whose sums are out of date, the topics and the velocities.
    """
    key = document_keys(streams.key, document_words(np.array([SAM_SHEAR_MOVES.items[0]])))[0]
    mean = prior.mean_direction.astype(np.float32)
    gain = np.float32(GAIN if adapting else 0.0)
    return _moved(states, topics, velocities, mean, constants, key, num_moves, gain)


@partial(jax.jit, donate_argnums=0, static_argnames="num_moves")
def _moved(
    states: DocumentStates,
    topics: Float[Array, "K V"],
    velocities: Float[Array, "K V"],
    mean_direction: Float[Array, " V"],
    constants: ShearConstants,
    key: Key[Array, ""],
    num_moves: int,
    gain: Float[Array, ""],
) -> tuple[DocumentStates, Float[Array, "K V"], Float[Array, "K V"]]:
    num_topics = len(topics)
    start = ShearState(
        unnormalised=states.mixtures.T,
        totals=states.mixtures.sum(axis=1),
        gram=product(topics, topics.T),
        mean_products=product(topics, mean_direction),
        velocity_products=product(velocities, topics.T),
        topic_map=jnp.eye(num_topics, dtype=jnp.float32),
        velocity_map=jnp.zeros((num_topics, num_topics), jnp.float32),
    )

    # Made of all moves at once: a device takes as long for those of one.
    numbers = jax.vmap(partial(_random_numbers, key, num_topics))(jnp.arange(num_moves, dtype=jnp.int32))

    def move(carried: tuple, numbers: RandomNumbers) -> tuple:
        state, scale = carried
        return _move(state, scale, numbers, constants, gain), None

    end, scale = jax.lax.scan(move, (start, states.shear_scale), numbers)[0]
    growth = end.totals / start.totals
    states = states._replace(
        mixtures=(end.unnormalised / end.totals).T,
        inverse_norms=states.inverse_norms * growth,
        curvature_weights=states.curvature_weights * growth**2,
        shear_scale=scale,
    )
    return states, product(end.topic_map, topics), velocities + product(end.velocity_map, topics)


class RandomNumbers(NamedTuple):
    """Of a move: two different topics, a standard normal number and a uniform one."""

    j: Int[Array, ""]
    k: Int[Array, ""]
    normal: Float[Array, ""]
    uniform: Float[Array, ""]


def _random_numbers(key: Key[Array, ""], num_topics: int, move: Int[Array, ""]) -> RandomNumbers:
    key_pair, key_epsilon, key_test = jax.random.split(jax.random.fold_in(key, move), 3)
    key_j, key_k = jax.random.split(key_pair)
    j = jax.random.randint(key_j, (), 0, num_topics, jnp.int32)
    k = jax.random.randint(key_k, (), 0, num_topics - 1, jnp.int32)
    normal = jax.random.normal(key_epsilon, (), jnp.float32)
    return RandomNumbers(j, k + (k >= j), normal, jax.random.uniform(key_test, (), jnp.float32))


def _move(
    state: ShearState,
    scale: Float[Array, ""],
    numbers: RandomNumbers,
    constants: ShearConstants,
    gain: Float[Array, ""],
) -> tuple[ShearState, Float[Array, ""]]:
    """Propose a move of a random pair; the state and the scale of epsilon after the Metropolis test."""
    pair = _proposal(numbers, state.gram, scale)
    backwards = pair.epsilon**2 * -jnp.expm1(-2.0 * pair.log_norm) / (2.0 * scale**2)
    log_ratio = (
        _mixtures_log_ratio(state, pair, constants.doc_topic_prior)
        - (constants.num_words + 1.0) * pair.log_norm
        + _normalisers_log_ratio(state, pair, constants)
        + backwards
    )
    probability = jnp.exp(jnp.minimum(log_ratio, 0.0))
    accepted = numbers.uniform < probability
    # What is not accepted is a turn by 0, which changes nothing.
    none = jnp.float32(0.0)
    pair = pair._replace(
        epsilon=jnp.where(accepted, pair.epsilon, none), log_norm=jnp.where(accepted, pair.log_norm, none)
    )
    return _turned(state, pair), scale * jnp.exp(gain * (probability - TARGET_ACCEPTANCE))


def _proposal(numbers: RandomNumbers, gram: Float[Array, "K K"], scale: Float[Array, ""]) -> Pair:
    """The pair, turned by an angle of this scale."""
    j, k, epsilon = numbers.j, numbers.k, scale * numbers.normal
    return Pair(j, k, epsilon, 0.5 * jnp.log1p(epsilon * (2.0 * gram[j, k] + epsilon)))


def _mixtures_log_ratio(state: ShearState, pair: Pair, alpha: float) -> Float[Array, ""]:
    """The sum over documents in the log ratio; -inf where a component would not be positive."""
    mixtures_j, mixtures_k = state.unnormalised[pair.j], state.unnormalised[pair.k]
    volumes = pair.log_norm - len(state.gram) * jnp.log1p(_turn(pair) * mixtures_j / state.totals)
    taken = pair.epsilon * mixtures_j / mixtures_k
    terms = alpha * volumes + (alpha - 1.0) * jnp.log1p(-taken)
    return jnp.where((taken < 1.0).all(), terms.sum(), -jnp.inf)


def _turn(pair: Pair) -> Float[Array, ""]:
    """What component j adds to the sum of a mixture, as a share of it: n - 1 - epsilon."""
    return jnp.expm1(pair.log_norm) - pair.epsilon


def _normalisers_log_ratio(state: ShearState, pair: Pair, constants: ShearConstants) -> Float[Array, ""]:
    """Log c_V of the resultant's length, before the move less after it: the integral of A_V by Simpson."""
    kappa, sigma = constants.mean_concentration, constants.topic_concentration
    growth, norm = jnp.expm1(pair.log_norm), jnp.exp(pair.log_norm)
    row = state.gram[pair.j].sum() - 1.0
    other = state.gram[pair.k].sum() - state.gram[pair.k, pair.j]
    more_gram = 2.0 * (pair.epsilon * other - growth * row) / norm
    mean = state.mean_products
    more_mean = (pair.epsilon * mean[pair.k] - growth * mean[pair.j]) / norm
    squared = kappa**2 + 2.0 * kappa * sigma * mean.sum() + sigma**2 * state.gram.sum()
    more = 2.0 * kappa * sigma * more_mean + sigma**2 * more_gram
    before, after = jnp.sqrt(jnp.maximum(squared, 0.0)), jnp.sqrt(jnp.maximum(squared + more, 0.0))
    longer = more / jnp.maximum(before + after, jnp.finfo(jnp.float32).tiny)
    places = jnp.stack([before, 0.5 * (before + after), after])
    weights = jnp.array([1.0, 4.0, 1.0], jnp.float32) / 6.0
    return longer * (weights * _mean_resultant_length(places, constants)).sum()


def _mean_resultant_length(lengths: Float[Array, "3"], constants: ShearConstants) -> Float[Array, "3"]:
    """A_V, minus the derivative of the table's cubics of log c_V."""
    last = constants.coefficients.shape[1] - 1
    knots = jnp.clip((lengths / constants.spacing).astype(jnp.int32), 0, last)
    x, c = lengths - knots * constants.spacing, constants.coefficients[:, knots]
    return -((3.0 * c[0] * x + 2.0 * c[1]) * x + c[2])


def _turned(state: ShearState, pair: Pair) -> ShearState:
    """The state after the move; see `_shear_kernel._accept`."""
    j, k, epsilon, _ = pair
    norm, gram, products = jnp.exp(pair.log_norm), state.gram, state.velocity_products
    old = state.unnormalised[j]
    mixtures = state.unnormalised.at[k].add(-epsilon * old).at[j].set(norm * old)
    # A velocity goes along by parallel transport: v - (v'new) / (1 + old'new) (old + new).
    cosine = (1.0 + epsilon * gram[j, k]) / norm
    share = epsilon * products[j, k] / norm / (1.0 + cosine)
    old_map, new_row = state.topic_map[j], (gram[j] + epsilon * gram[k]) / norm
    new_map = (old_map + epsilon * state.topic_map[k]) / norm
    products = products.at[j].add(-share * (gram[j] + new_row))
    products = products.at[:, j].set((products[:, j] + epsilon * products[:, k]) / norm)
    mean = state.mean_products
    return ShearState(
        unnormalised=mixtures,
        totals=state.totals + _turn(pair) * old,
        gram=gram.at[j].set(new_row).at[:, j].set(new_row).at[j, j].set(1.0),
        mean_products=mean.at[j].set((mean[j] + epsilon * mean[k]) / norm),
        velocity_products=products,
        topic_map=state.topic_map.at[j].set(new_map),
        velocity_map=state.velocity_map.at[j].add(-share * (old_map + new_map)),
    )
