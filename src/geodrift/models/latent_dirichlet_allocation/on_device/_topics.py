"""The topics given all assignments, as programs on every device: a draw of them, and their mean.

A draw takes V K gammas. They are drawn as logs and divided by each topic's largest, so that the law of a
topic without a token is right for any prior: then a single word has nearly all of it. Of a word whose
probability is below `LEAST` a topic has none at all, which no sum of single precision could tell.

Every device draws all topics, from one key: the same bits, and nothing to send. The vocabulary is gone
through in parts whose size does not depend on the devices, since a draw in JAX needs several arrays as large
as its result.

A draw reads V K counts and writes V K topics, 4 bytes each, three times in all (logs, their largest and sums,
quotients), beside what the gammas need: some ten numbers each that may go through memory. Tokens of a
minibatch share it, so a minibatch should have more tokens than the vocabulary has words, many times.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int

from geodrift._types import RandomKey
from geodrift.kernels import _device
from geodrift.models.latent_dirichlet_allocation.on_device._devices import AXIS, SHARED_OUT, WHOLE, on_each
from geodrift.processes._gamma import log_gamma

PART = 2**24  # gammas that are drawn at once
LEAST = 1e-25  # times any prior it is still a number of single precision


def padded_words(num_words: int, num_topics: int) -> tuple[int, int]:
    """The number of words of a part, and V padded to whole parts, for K padded topics."""
    of_part = max(1, min(num_words, PART // num_topics))
    return of_part, -(-num_words // of_part) * of_part


@partial(jax.jit, static_argnames=("mesh", "num_words", "num_topics"))
def draw_topics(
    mesh: Mesh,
    num_words: int,
    num_topics: int,
    key: RandomKey,
    counts: Int[Array, "N Vp Kp"],
    prior: Float[Array, ""],
) -> Float[Array, "Vp Kp"]:
    """phi_k ~ Dirichlet(eta + N_k.), on every device; 0 of words and topics that are padding.

    Args:
        mesh: The devices.
        num_words: V.
        num_topics: K.
        key: Of the draw.
        counts: N_kw of the documents of each device.
        prior: eta, float32.
    """

    def draw(key: RandomKey, counts: Int[Array, "1 Vp Kp"], prior: Float[Array, ""]) -> Float[Array, "Vp Kp"]:
        shapes = prior + jax.lax.psum(counts[0], AXIS).astype(jnp.float32)
        logs = jnp.where(
            _is_real(shapes, num_words, num_topics), _log_gammas(key, shapes, num_words), -jnp.inf
        )
        largest = logs.max(axis=0)
        gammas = jnp.exp(logs - jnp.where(jnp.isfinite(largest), largest, 0.0))
        topics = gammas / jnp.maximum(gammas.sum(axis=0), 1.0)
        return jnp.where(topics < LEAST, 0.0, topics)

    return on_each(draw, mesh, (WHOLE, SHARED_OUT, WHOLE), WHOLE)(key, counts, prior)


@partial(jax.jit, static_argnames=("mesh", "num_words", "num_topics"))
def mean_topics(
    mesh: Mesh, num_words: int, num_topics: int, counts: Int[Array, "N Vp Kp"], prior: Float[Array, ""]
) -> Float[Array, "Vp Kp"]:
    """The topics' mean, (eta + N_kw) / (V eta + N_k), on every device; arguments as for `draw_topics`."""

    def mean(counts: Int[Array, "1 Vp Kp"], prior: Float[Array, ""]) -> Float[Array, "Vp Kp"]:
        whole = jax.lax.psum(counts[0], AXIS)
        totals = whole.sum(axis=0, dtype=jnp.int32).astype(jnp.float32)
        topics = (prior + whole.astype(jnp.float32)) / (num_words * prior + totals)
        return jnp.where(_is_real(topics, num_words, num_topics), topics, 0.0)

    return on_each(mean, mesh, (SHARED_OUT, WHOLE), WHOLE)(counts, prior)


@jax.jit
def totals(counts: Int[Array, "N Vp Kp"]) -> Int[Array, " Kp"]:
    """N_k, whole numbers; a topic has fewer tokens than 2^31."""
    return counts.sum(axis=(0, 1), dtype=jnp.int32)


@jax.jit
def log_of_words(counts: Int[Array, "N Vp Kp"], prior: Float[Array, ""]) -> Float[Array, ""]:
    """Sum over words and topics of log Gamma(eta + N_kw) - log Gamma(eta), in the precision of the prior."""
    whole = counts.sum(axis=0, dtype=jnp.int32)
    terms = gammaln(prior + whole.astype(prior.dtype)) - gammaln(prior)
    return jnp.where(whole > 0, terms, 0.0).sum()


def _log_gammas(key: RandomKey, shapes: Float[Array, "Vp Kp"], num_words: int) -> Float[Array, "Vp Kp"]:
    """Logs of gamma draws, one part of the vocabulary after the other."""
    of_part, _ = padded_words(num_words, shapes.shape[1])
    parts = shapes.reshape(-1, of_part, shapes.shape[1])
    numbers = jnp.arange(len(parts), dtype=jnp.uint32)
    draw = log_gamma
    if _device.in_triton():
        # Imported here: it takes Pallas a second.
        from geodrift.processes._gamma_in_pallas import log_gamma_of_gpu as draw
    drawn = jax.lax.map(lambda part: draw(jax.random.fold_in(key, part[0]), part[1]), (numbers, parts))
    return drawn.reshape(shapes.shape)


def _is_real(array: Float[Array, "Vp Kp"], num_words: int, num_topics: int) -> Array:
    """Which words and topics are no padding."""
    words, topics = (jnp.arange(size, dtype=jnp.int32) for size in array.shape)
    return (words < num_words)[:, None] & (topics < num_topics)
