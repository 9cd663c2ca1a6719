r"""Shear moves for devices other than CPUs, many pairs of topics at once; `_shear` has the move.

What ties pairs of topics together is the sum of a mixture and the prior's normaliser. Both go when a variable
is drawn for them at the start of a sequence. Given a mixture, draw its total from Gamma(K alpha): the K
unnormalised components are then independent draws of Gamma(alpha). Given the topics, draw the corpus mean
:math:`\mu`: the topics are then independent, with density :math:`\exp(\sigma\mu'\beta_k)`. A round pairs all
topics at random, and each pair has a Metropolis test of its own, of log ratio

.. math:: \sum_d \Big[ \alpha\log n + (\alpha - 1) \log\Big(1 - \epsilon\frac{g_{dj}}{g_{dk}}\Big)
    - (n - 1 - \epsilon) g_{dj} \Big]
    - (V + 1) \log n + \sigma\mu'(\beta_j' - \beta_j) + \log\frac{q(\epsilon')}{q(\epsilon)}

with :math:`g_d` the unnormalised mixture of a document. A round reads 8 K D bytes and writes 4 K D. The
arithmetic is float32, so differences are computed as such and not by subtraction.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float, Int, Key

from geodrift.distributions import sample
from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._streams import SAM_SHEAR_MOVES
from geodrift.models.spherical_admixture.documents._document_states import DocumentStates
from geodrift.models.spherical_admixture.documents._kept_mixtures_in_jax import on_device
from geodrift.models.spherical_admixture.documents._mixtures_in_jax import (
    document_keys,
    document_words,
    product,
)
from geodrift.models.spherical_admixture.documents._shear import GAIN, ShearPrior
from geodrift.models.spherical_admixture.documents._shear_kernel import TARGET_ACCEPTANCE


class DeviceShearPrior(NamedTuple):
    """`ShearPrior` on a device, without the table."""

    mean_direction: Float[Any, " V"]  # m
    mean_concentration: Float[Any, ""]  # kappa_0
    topic_concentration: Float[Any, ""]  # sigma
    doc_topic_prior: Float[Any, ""]  # alpha, each component's

    @classmethod
    def of(cls, prior: ShearPrior, mesh: Mesh | None) -> "DeviceShearPrior":
        """These constants, on every device."""
        return on_device(cls(*prior[: len(cls._fields)]), mesh)


class Pairs(NamedTuple):
    """Disjoint pairs of topics; random numbers of those that stay are not used."""

    partner: Int[Array, " K"]
    turned: Bool[Array, " K"]
    normal: Float[Array, " K"]
    uniform: Float[Array, " K"]


class RoundState(NamedTuple):
    """Variables of a sequence of rounds: mixtures, and inner products of the topics beta."""

    unnormalised: Float[Array, "K D"]  # g
    gram: Float[Array, "K K"]  # beta beta'
    mean_products: Float[Array, " K"]  # beta mu
    velocity_products: Float[Array, "K K"]  # of velocity i with topic k
    topic_map: Float[Array, "K K"]  # topics are topic_map times the topics at the start
    velocity_map: Float[Array, "K K"]  # velocities have gained it times those topics


def shear(
    states: DocumentStates,
    topics: Float[Array, "K V"],
    velocities: Float[Array, "K V"],
    prior: DeviceShearPrior,
    streams: Family,
    num_moves: int,
    adapting: bool,
) -> tuple[DocumentStates, Float[Array, "K V"], Float[Array, "K V"]]:
    """As `_shear.shear`, but nothing is changed in place; the buffers of ``states`` are taken over.

    Args:
        states: As for what follows but ``prior``, see there.
        topics: beta.
        velocities: Tangent at the topics.
        prior: The constants.
        streams: Random streams of the moves.
        num_moves: Pairs to try, at least: as many rounds of K // 2 as that takes.
        adapting: Whether to adapt the scale of epsilon.

    Returns:
        The states, whose sums are out of date, the topics and the velocities.
    """
    key = document_keys(streams.key, document_words(np.array([SAM_SHEAR_MOVES.items[0]])))[0]
    num_rounds = -(-num_moves // (len(topics) // 2))
    return sheared(states, topics, velocities, prior, key, num_rounds, np.float32(GAIN if adapting else 0.0))


@partial(jax.jit, donate_argnums=0, static_argnames="num_rounds")
def sheared(
    states: DocumentStates,
    topics: Float[Array, "K V"],
    velocities: Float[Array, "K V"],
    prior: DeviceShearPrior,
    key: Key[Array, ""],
    num_rounds: int,
    gain: Float[Array, ""],
) -> tuple[DocumentStates, Float[Array, "K V"], Float[Array, "K V"]]:
    """What `shear` returns, after ``num_rounds`` rounds."""
    num_topics = len(topics)
    key_totals, key_mean, key_rounds = jax.random.split(key, 3)
    alphas = jnp.float32(num_topics) * prior.doc_topic_prior
    totals = jax.random.gamma(key_totals, alphas, (len(states.mixtures),), jnp.float32)
    start = RoundState(
        unnormalised=(states.mixtures * totals[:, None]).T,
        gram=product(topics, topics.T),
        mean_products=product(topics, _corpus_mean(key_mean, topics, prior)),
        velocity_products=product(velocities, topics.T),
        topic_map=jnp.eye(num_topics, dtype=jnp.float32),
        velocity_map=jnp.zeros((num_topics, num_topics), jnp.float32),
    )
    # Made of all rounds at once: a device takes as long for those of one.
    pairs = jax.vmap(partial(_random_pairs, num_topics))(jax.random.split(key_rounds, num_rounds))

    def one_round(carried: tuple[RoundState, Float[Array, ""]], pairs: Pairs) -> tuple:
        return _after_round(carried[0], carried[1], pairs, prior, topics.shape[1], gain), None

    # Two at a time: the mixtures need not be copied between rounds.
    end, scale = jax.lax.scan(one_round, (start, states.shear_scale), pairs, unroll=2)[0]
    totals_after = end.unnormalised.sum(axis=0)
    growth = totals_after / start.unnormalised.sum(axis=0)
    states = states._replace(
        mixtures=(end.unnormalised / totals_after).T,
        inverse_norms=states.inverse_norms * growth,
        curvature_weights=states.curvature_weights * growth**2,
        shear_scale=scale,
    )
    return states, product(end.topic_map, topics), velocities + product(end.velocity_map, topics)


def _corpus_mean(
    key: Key[Array, ""], topics: Float[Array, "K V"], prior: DeviceShearPrior
) -> Float[Array, " V"]:
    """A draw of mu given the topics."""
    resultant = prior.mean_concentration * prior.mean_direction + prior.topic_concentration * topics.sum(
        axis=0
    )
    length = jnp.linalg.norm(resultant)
    return sample(key, resultant / length, length)


def _random_pairs(num_topics: int, key: Key[Array, ""]) -> Pairs:
    """Of all topics; where their number is odd, one has no partner but itself."""
    key_order, key_epsilon, key_test = jax.random.split(key, 3)
    order = jax.random.permutation(key_order, jnp.arange(num_topics, dtype=jnp.int32))
    half = num_topics // 2
    j, k = order[:half], order[half : 2 * half]
    return Pairs(
        partner=jnp.arange(num_topics, dtype=jnp.int32).at[j].set(k).at[k].set(j),
        turned=jnp.zeros(num_topics, bool).at[j].set(True),
        normal=jax.random.normal(key_epsilon, (num_topics,), jnp.float32),
        uniform=jax.random.uniform(key_test, (num_topics,), jnp.float32),
    )


def _after_round(
    state: RoundState,
    scale: Float[Array, ""],
    pairs: Pairs,
    prior: DeviceShearPrior,
    num_words: int,
    gain: Float[Array, ""],
) -> tuple[RoundState, Float[Array, ""]]:
    """Propose one move of each pair; the state and the scale of epsilon after the Metropolis tests."""
    zero = jnp.float32(0.0)
    epsilon = jnp.where(pairs.turned, scale * pairs.normal, zero)
    of_partner = jnp.take_along_axis(state.gram, pairs.partner[:, None], axis=1)[:, 0]
    log_norm = 0.5 * jnp.log1p(epsilon * (2.0 * of_partner + epsilon))
    turn = jnp.expm1(log_norm) - epsilon  # n - 1 - epsilon
    mean = state.mean_products
    more_mean = (epsilon * mean[pairs.partner] - jnp.expm1(log_norm) * mean) / jnp.exp(log_norm)
    backwards = epsilon**2 * -jnp.expm1(-2.0 * log_norm) / (2.0 * scale**2)
    log_ratio = (
        _mixtures_log_ratio(state.unnormalised, pairs, epsilon, log_norm, turn, prior.doc_topic_prior)
        - (num_words + 1.0) * log_norm
        + prior.topic_concentration * more_mean
        + backwards
    )
    possible = pairs.turned & ~jnp.isnan(log_ratio)
    probability = jnp.where(possible, jnp.exp(jnp.minimum(log_ratio, 0.0)), zero)
    accepted = pairs.uniform < probability
    # What is not accepted is a turn by 0, which changes nothing.
    moved = _turned(
        state, pairs.partner, jnp.where(accepted, epsilon, zero), jnp.where(accepted, log_norm, zero)
    )
    mean_probability = probability.sum() / pairs.turned.sum()
    return moved, scale * jnp.exp(gain * (mean_probability - TARGET_ACCEPTANCE))


def _mixtures_log_ratio(
    unnormalised: Float[Array, "K D"],
    pairs: Pairs,
    epsilon: Float[Array, " K"],
    log_norm: Float[Array, " K"],
    turn: Float[Array, " K"],
    alpha: Float[Array, ""],
) -> Float[Array, " K"]:
    """The sums over documents in the log ratios; -inf where a component would not be positive."""
    taken = epsilon[:, None] * unnormalised / unnormalised[pairs.partner]
    terms = (alpha - 1.0) * jnp.log1p(-taken) - turn[:, None] * unnormalised
    sums = terms.sum(axis=1) + unnormalised.shape[1] * alpha * log_norm
    return jnp.where((taken < 1.0).all(axis=1), sums, -jnp.inf)


def _turned(
    state: RoundState,
    partner: Int[Array, " K"],
    epsilon: Float[Array, " K"],
    log_norm: Float[Array, " K"],
) -> RoundState:
    """The state after the moves; see `_shear_kernel._accept`. Topics with an epsilon of 0 stay."""
    norm, gram = jnp.exp(log_norm), state.gram

    def rows(matrix: Float[Array, "K ..."]) -> Float[Array, "K ..."]:
        """Rows of the topics, before the move, as those of the turned topics."""
        shape = (-1,) + (1,) * (matrix.ndim - 1)
        return (matrix + epsilon.reshape(shape) * matrix[partner]) / norm.reshape(shape)

    # A velocity goes along by parallel transport: v - (v'new) / (1 + old'new) (old + new).
    of_partner = partial(jnp.take_along_axis, indices=partner[:, None], axis=1)
    cosine = (1.0 + epsilon * of_partner(gram)[:, 0]) / norm
    share = epsilon * of_partner(state.velocity_products)[:, 0] / norm / (1.0 + cosine)
    turned, new_map = rows(gram), rows(state.topic_map)
    products = state.velocity_products - share[:, None] * (gram + turned)
    new_gram = rows(turned.T)
    diagonal = jnp.arange(len(gram))
    return RoundState(
        unnormalised=norm[:, None] * state.unnormalised
        - epsilon[partner][:, None] * state.unnormalised[partner],
        gram=(0.5 * (new_gram + new_gram.T)).at[diagonal, diagonal].set(1.0),
        mean_products=rows(state.mean_products),
        velocity_products=rows(products.T).T,
        topic_map=new_map,
        velocity_map=state.velocity_map - share[:, None] * (state.topic_map + new_map),
    )
