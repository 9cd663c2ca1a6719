r"""Mixtures given the topics, by the Markov kernel of `_mixture_kernel`, for devices other than CPUs.

All documents of a minibatch move side by side. The sum over topics in a leapfrog step is one product
[S, K] x [K, K] of all documents with the Gram matrix; everything else is element by element. Documents meet
different numbers of faces of the simplex in one drift, and all wait for the one that meets the most.

A transition of a document costs ``num_leapfrog`` 2 K^2 operations in products and about 15 K for each drift
and reflection. Nothing but arrays [S, K] is read or written: about 12 of them in a leapfrog step, 48 S K
bytes, which stay in the device's cache up to some ten thousand documents.

The arithmetic is float32. Rounding changes the log density, of the size kappa, by kappa 1e-7 as a function of
the position, and never differently on the way there and back: the Metropolis test is exact for what is
computed. Products ask for all 24 bits, since some devices would take 11, which is far too few here.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, UInt32

from geodrift.models.spherical_admixture.documents._mixture_kernel import STEP_JITTER, TARGET_ACCEPTANCE

# A drift that meets more faces, for each topic, is rejected: such comes of a force next to a face, which
# no step size follows, and all documents would wait for it. Back again it would meet as many, so the law is
# the same.
MOST_REFLECTIONS = 16


class Target(NamedTuple):
    """What the mixtures' density is made of; see `_mixture_kernel` for the equation."""

    projections: Float[Any, "S K"]  # c = beta v of each document
    gram: Any  # G = beta beta', [K, K], or what multiplies mixtures by it
    concentration: Float[Any, ""]  # kappa
    prior: Float[Any, " K"]  # alpha


class Walk(NamedTuple):
    """Where the documents are, and what their transitions have come to so far."""

    mixtures: Float[Array, "S K"]
    force: Float[Array, "S K"]
    log_density: Float[Array, " S"]
    step_sizes: Float[Array, " S"]
    acceptance: Float[Array, " S"]  # sum of the acceptance probabilities


def product(left: Float[Array, "*A N"], right: Float[Array, "N M"]) -> Float[Array, "*A M"]:
    """A matrix product in full float32."""
    return jnp.matmul(left, right, precision=jax.lax.Precision.HIGHEST)


def walk(
    keys: Key[Array, " S"],
    mixtures: Float[Array, "S K"],
    step_sizes: Float[Array, " S"],
    target: Target,
    adaptation: Float[Array, ""],
    num_leapfrog: int,
    burn_in: int,
    num_draws: int,
) -> tuple[Walk, Float[Array, "N S K"]]:
    """``burn_in`` + ``num_draws`` transitions of each document; see `MixtureSampler.draw`.

    Args:
        keys: Of the documents, so that what is drawn for one does not depend on the others.
        mixtures: Where they start.
        step_sizes: Leapfrog step of each.
        target: The density.
        adaptation: Gain of the adaptation of the step sizes.
        num_leapfrog: Leapfrog steps of a transition.
        burn_in: Transitions before the first draw.
        num_draws: Draws.

    Returns:
        The end, with mixtures that sum to 1 and acceptance rates, and the draws.
    """
    here = start_of_walk(mixtures, step_sizes, target, mixtures.shape[1])

    def transition(here: Walk, n: Int[Array, ""]) -> tuple[Walk, Float[Array, "S K"]]:
        velocity, jitter, test = random_numbers(keys, n, mixtures.shape[1])
        moved = transition_of_walk(
            here, velocity, (jitter, test), target, adaptation, num_leapfrog, mixtures.shape[1]
        )
        return moved, moved.mixtures

    here = jax.lax.fori_loop(0, burn_in, lambda n, here: transition(here, n)[0], here)
    here, draws = jax.lax.scan(transition, here, burn_in + jnp.arange(num_draws))
    return end_of_walk(here, burn_in + num_draws), draws


def start_of_walk(
    mixtures: Float[Array, "S Kp"], step_sizes: Float[Array, " S"], target: Target, num_topics: int
) -> Walk:
    """Documents before their first transition; of topics that are padding, mixtures are 0 and alpha is 1."""
    force, cosines = _force(mixtures, target, num_topics)
    density = _log_density(mixtures, cosines, target, num_topics)
    return Walk(mixtures, force, density, step_sizes, jnp.zeros_like(step_sizes))


def end_of_walk(here: Walk, number: int) -> Walk:
    """Documents after so many transitions: mixtures that sum to 1, and acceptance rates."""
    totals = here.mixtures.sum(axis=1, keepdims=True)
    return here._replace(mixtures=here.mixtures / totals, acceptance=here.acceptance / number)


def document_keys(key: Key[Array, ""], documents: UInt32[Any, "S 2"]) -> Key[Array, " S"]:
    """A key for each document, whose number is given by its lower and its upper 32 bits."""

    def of_one(words: UInt32[Array, "2"]) -> Key[Array, ""]:
        return jax.random.fold_in(jax.random.fold_in(key, words[1]), words[0])

    return jax.vmap(of_one)(documents)


def document_words(documents: Int[np.ndarray, " S"]) -> UInt32[np.ndarray, "S 2"]:
    """Numbers of documents, which may be hashes of 64 bits, as `document_keys` takes them."""
    return np.ascontiguousarray(documents, np.int64).view(np.uint32).reshape(-1, 2)


def transition_of_walk(
    here: Walk,
    velocity: Float[Array, "S Kp"],
    uniforms: tuple[Float[Array, " S"], Float[Array, " S"]],
    target: Target,
    adaptation: Float[Array, ""],
    num_leapfrog: int,
    num_topics: int,
) -> Walk:
    """A trajectory from a new velocity, and its Metropolis test."""
    lengths = here.step_sizes * (1.0 + STEP_JITTER * (2.0 * uniforms[0] - 1.0))
    there, new_velocity, force, cosines = _trajectory(
        here, velocity, lengths, target, num_leapfrog, num_topics
    )
    density = _log_density(there, cosines, target, num_topics)
    kinetic, new_kinetic = (0.5 * (v * v).sum(axis=1) for v in (velocity, new_velocity))
    log_ratio = density - new_kinetic - here.log_density + kinetic
    probability = jnp.where(jnp.isnan(log_ratio), 0.0, jnp.exp(jnp.minimum(log_ratio, 0.0)))
    accepted = uniforms[1] < probability
    return Walk(
        jnp.where(accepted[:, None], there, here.mixtures),
        jnp.where(accepted[:, None], force, here.force),
        jnp.where(accepted, density, here.log_density),
        here.step_sizes * jnp.exp(adaptation * (probability - TARGET_ACCEPTANCE)),
        here.acceptance + probability,
    )


def random_numbers(
    keys: Key[Array, " S"], n: Int[Array, ""], num_topics: int
) -> tuple[Float[Array, "S K"], Float[Array, " S"], Float[Array, " S"]]:
    """Of transition ``n``: velocities from N(0, I) on the plane of sum 0, and two uniform numbers."""

    def of_one(key: Key[Array, ""]) -> tuple[Float[Array, " K"], Float[Array, "2"]]:
        key_velocity, key_uniforms = jax.random.split(jax.random.fold_in(key, n))
        normals = jax.random.normal(key_velocity, (num_topics,), jnp.float32)
        return normals, jax.random.uniform(key_uniforms, (2,), jnp.float32)

    normals, uniforms = jax.vmap(of_one)(keys)
    return normals - normals.mean(axis=1, keepdims=True), uniforms[:, 0], uniforms[:, 1]


def _force(
    mixtures: Float[Array, "S Kp"], target: Target, num_topics: int
) -> tuple[Float[Array, "S Kp"], Float[Array, " S"]]:
    """Gradient of the log density projected on the plane of sum 0, and v'beta theta / |beta theta|."""
    gram = target.gram
    from_gram = gram(mixtures) if callable(gram) else product(mixtures, gram)
    squared = (from_gram * mixtures).sum(axis=1)
    dot, norm = (target.projections * mixtures).sum(axis=1), jnp.sqrt(squared)
    pull = target.projections - (dot / squared)[:, None] * from_gram
    force = (target.concentration / norm)[:, None] * pull
    excess = target.prior - 1.0
    force += jnp.where(excess == 0.0, 0.0, excess / mixtures)
    mean = force.sum(axis=1, keepdims=True) / num_topics
    return jnp.where(_is_topic(mixtures, num_topics), force - mean, 0.0), dot / norm


def _is_topic(mixtures: Float[Array, "S Kp"], num_topics: int) -> Array:
    """Which numbers are not of padding."""
    return jax.lax.broadcasted_iota(jnp.int32, mixtures.shape, 1) < num_topics


def _log_density(
    mixtures: Float[Array, "S Kp"], cosines: Float[Array, " S"], target: Target, num_topics: int
) -> Float[Array, " S"]:
    """The log density; minus infinity on a face, where it has no volume, and where a mixture is NaN."""
    excess = target.prior - 1.0
    of_prior = jnp.where(excess == 0.0, 0.0, excess * jnp.log(mixtures)).sum(axis=1)
    inside = jnp.where(_is_topic(mixtures, num_topics), mixtures, 1.0).min(axis=1) > 0.0
    return jnp.where(inside, target.concentration * cosines + of_prior, -jnp.inf)


def _trajectory(
    here: Walk,
    velocity: Float[Array, "S K"],
    lengths: Float[Array, " S"],
    target: Target,
    num_leapfrog: int,
    num_topics: int,
) -> tuple[Float[Array, "S K"], Float[Array, "S K"], Float[Array, "S K"], Float[Array, " S"]]:
    """Leapfrog steps of one length for each document.

    Returns:
        Mixtures, velocities, forces and cosines at the end.
    """
    velocity = velocity + 0.5 * lengths[:, None] * here.force

    def leapfrog(n: Int[Array, ""], state: tuple) -> tuple:
        mixtures, velocity, _, _ = state
        mixtures, velocity = _drift(mixtures, velocity, lengths, num_topics)
        force, cosines = _force(mixtures, target, num_topics)
        kick = jnp.where(n < num_leapfrog - 1, lengths, 0.5 * lengths)
        return mixtures, velocity + kick[:, None] * force, force, cosines

    return jax.lax.fori_loop(
        0, num_leapfrog, leapfrog, (here.mixtures, velocity, here.force, jnp.zeros_like(lengths))
    )


def _drift(
    mixtures: Float[Array, "S Kp"], velocity: Float[Array, "S Kp"], times: Float[Array, " S"], num_topics: int
) -> tuple[Float[Array, "S Kp"], Float[Array, "S Kp"]]:
    """Straight lines for the times, reflected at each face; NaN where there are more than may be."""

    def on_the_way(state: tuple) -> Array:
        return (state[2].max() > 0.0) & (state[3] < MOST_REFLECTIONS * num_topics)

    def to_next_face(state: tuple) -> tuple:
        mixtures, velocity, left, n = state
        times_to_faces = jnp.where(velocity < 0.0, mixtures / -velocity, jnp.inf)
        face, first = jax.lax.argmin(times_to_faces, 1, jnp.int32), times_to_faces.min(axis=1)
        hits = (first < left)[:, None]
        mixtures = mixtures + jnp.where(hits, first[:, None], left[:, None]) * velocity
        at_face = hits & (jax.lax.broadcasted_iota(jnp.int32, mixtures.shape, 1) == face[:, None])
        mixtures = jnp.where(at_face, 0.0, mixtures)
        # The face's inward normal within the plane sum = 0 is e_j - 1/K: v_j changes sign, the others share
        # 2 v_j.
        outward = jnp.where(at_face, velocity, 0.0).sum(axis=1, keepdims=True)
        others = jnp.where(_is_topic(mixtures, num_topics), velocity + 2.0 * outward / (num_topics - 1), 0.0)
        reflected = jnp.where(at_face, -velocity, others)
        return mixtures, jnp.where(hits, reflected, velocity), jnp.where(hits[:, 0], left - first, 0.0), n + 1

    mixtures, velocity, left, _ = jax.lax.while_loop(
        on_the_way, to_next_face, (mixtures, velocity, times, jnp.int32(0))
    )
    return jnp.where((left > 0.0)[:, None], jnp.nan, mixtures), velocity
