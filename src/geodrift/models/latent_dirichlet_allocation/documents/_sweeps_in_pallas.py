r"""Sweeps over the tokens of documents given the topics, as kernels for GPUs.

The law is that of `_sweeps_in_jax`. One program of the GPU goes through one document, token after token, with
what it needs of it in registers. There are two forms, of the same conditional law

.. math:: p(z_i = k \mid z_{-i}) \propto (\alpha_k + n_{dk}^{-i})\, \phi_{kw}
    = \alpha_k \phi_{kw} + \sum_{j \ne i} 1[z_j = k]\, \phi_{kw} .

**By topics** (`_of_topics`): a token reads phi's row of its word, 4 K bytes, and adds up all K weights.

**By tokens** (`_of_tokens`): the last sum is over the document's other tokens j, each of weight phi of w and
z_j. So a token reads L numbers phi, one for each token of its document, and the G sums of alpha_k phi_kw over
groups of topics, which are made once for all; where the draw falls on such a group, also its S topics. That
is 32 L + 4 G + 8 S bytes at most, since memory is read 32 bytes at a time: at K = 1,024, of a document of 64
tokens, 2.4 KB and some hundred numbers to add instead of 4.1 KB and 1,024 numbers; at K = 10,000, 3.5 KB
instead of 40 KB.

On an H200 (millions of tokens a second, 50,000 words; `benchmarks/lda/device_kernels.py`):

====== ===== ========= =========
K      L     by topics by tokens
====== ===== ========= =========
20     64    4,077     3,799
128    64    2,520     3,427
1,024  64    622       2,832
1,024  1,024 562       626
10,000 64    30        773
10,000 8,192 28        40
====== ===== ========= =========

The random numbers are those of `_sweeps_in_jax`. By topics, both draw the same topics but where sums that
were made in another order differ by their rounding.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, Float, Int

from geodrift.models.latent_dirichlet_allocation.documents._draw_in_jax import group_size

OF_A_WARP = 1024  # topics or tokens


def sweep_documents(
    words: Int[Array, "B L"],
    lengths: Int[Array, " B"],
    assignments: Int[Array, "B L"],
    topics: Float[Array, "W Kp"],
    alpha: Float[Array, " Kp"],
    uniforms: Float[Array, "B L 2"],
    counted: bool,
    *,
    interpret: bool = False,
) -> Int[Array, "B L"]:
    """New assignments after one sweep; places beyond a document's end keep what they hold.

    Args:
        words: Of the tokens, as rows of ``topics``.
        lengths: Tokens of each document, the first ones of its row; L is a power of two.
        assignments: z; where they are not ``counted``, anything.
        topics: phi, float32, padded to whole groups by topics of weight 0 (`_draw_in_jax.padded_topics`).
        alpha: The document prior, float32, padded likewise.
        uniforms: From 0 and below 1, two for each token.
        counted: Whether the documents have assignments: otherwise a token is drawn given those before it.
        interpret: Whether to run the kernel step by step as it stands, on any device.
    """
    length, num_topics = words.shape[1], topics.shape[1]
    size = group_size(num_topics)
    groups = 1 << (num_topics // size - 1).bit_length()
    given: tuple[Array, ...] = words, lengths, assignments, topics, alpha, uniforms
    if by_tokens(length, num_topics):
        kernel, numbers = partial(_of_tokens, groups, size, counted), length
        given = (*given, (topics * alpha).reshape(len(topics), -1, size).sum(axis=2))
    else:
        kernel, numbers = partial(_of_topics, groups, size, counted), groups * size
    return pl.pallas_call(
        kernel,
        grid=(len(words),),
        out_shape=jax.ShapeDtypeStruct(assignments.shape, assignments.dtype),
        input_output_aliases={2: 0},
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=min(32, max(1, numbers // OF_A_WARP)), num_stages=1),
    )(*given)


def by_tokens(length: int, num_topics: int) -> bool:
    """Whether documents of this padded length are drawn by tokens."""
    return length <= num_topics


def _of_topics(
    groups: int,
    size: int,
    counted: bool,
    words: Any,
    lengths: Any,
    old: Any,
    topics: Any,
    alpha: Any,
    uniforms: Any,
    new: Any,
) -> None:
    """One document by topics: its numbers n_dk and alpha are in registers, as groups of topics [G, S].

    The row of the next token's word is read while this one's topic is drawn.
    """
    document = pl.program_id(0)
    length = lengths[document]
    topic = jax.lax.broadcasted_iota(jnp.int32, (groups, size), 0) * size
    topic += jax.lax.broadcasted_iota(jnp.int32, (groups, size), 1)
    inside = topic < topics.shape[1]

    def row_of(i: Int[Array, ""]) -> Float[Array, "G S"]:
        word = words[document, jnp.clip(i, 0, jnp.maximum(length - 1, 0))]
        return triton.load(topics.at[word, topic], mask=inside, other=0.0)

    def count(i: Int[Array, ""], numbers: Float[Array, "G S"]) -> Float[Array, "G S"]:
        return numbers + (topic == old[document, i]).astype(numbers.dtype)

    prior = triton.load(alpha.at[topic], mask=inside, other=0.0)
    numbers = jnp.zeros((groups, size), jnp.float32)
    if counted:
        numbers = jax.lax.fori_loop(0, length, count, numbers)

    def token(i: Int[Array, ""], state: tuple) -> tuple:
        numbers, row = state
        next_row = row_of(i + 1)
        if counted:
            numbers = numbers - (topic == old[document, i]).astype(numbers.dtype)
        weights = (prior + numbers) * row
        in_groups = weights.sum(axis=1)
        group = _first_above(in_groups, uniforms[document, i, 0] * in_groups.sum())
        of_group = jnp.where(topic // size == group, weights, 0.0).sum(axis=0)
        drawn = group * size + _first_above(of_group, uniforms[document, i, 1] * of_group.sum())
        new[document, i] = drawn
        return numbers + (topic == drawn).astype(numbers.dtype), next_row

    jax.lax.fori_loop(0, length, token, (numbers, row_of(jnp.int32(0))))


def _of_tokens(
    groups: int,
    size: int,
    counted: bool,
    words: Any,
    lengths: Any,
    old: Any,
    topics: Any,
    alpha: Any,
    uniforms: Any,
    of_prior: Any,
    new: Any,
) -> None:
    """One document by tokens: its assignments [L] are in registers."""
    document = pl.program_id(0)
    length, places = lengths[document], jnp.arange(words.shape[1], dtype=jnp.int32)
    group, of_group = jnp.arange(groups, dtype=jnp.int32), jnp.arange(size, dtype=jnp.int32)
    in_document, is_group = places < length, group < of_prior.shape[1]

    def of_topic(word: Int[Array, ""], chosen: Int[Array, ""], uniform: Float[Array, ""]) -> Int[Array, ""]:
        topic = chosen * size + of_group
        weights = topics[word, topic] * alpha[topic]
        return chosen * size + _first_above(weights, uniform * weights.sum())

    def token(i: Int[Array, ""], z: Int[Array, " L"]) -> Int[Array, " L"]:
        word = words[document, i]
        others = in_document & (places != i) if counted else places < i
        of_others = triton.load(topics.at[word, z], mask=others, other=0.0)
        in_groups = triton.load(of_prior.at[word, group], mask=is_group, other=0.0)
        total = of_others.sum()
        place = uniforms[document, i, 0] * (total + in_groups.sum())
        j = _first_above(of_others, place)
        like_j = jnp.where(places == j, z, 0).sum(dtype=jnp.int32)
        of_groups = _first_above(in_groups, place - total)
        drawn = jax.lax.cond(
            place < total,
            lambda: like_j,
            lambda: of_topic(word, of_groups, uniforms[document, i, 1]),
        )
        return jnp.where(places == i, drawn, z)

    z = triton.load(old.at[document, places], mask=in_document, other=0)
    z = jax.lax.fori_loop(0, length, token, z)
    triton.store(new.at[document, places], z, mask=in_document)


def _first_above(weights: Float[Array, " n"], place: Float[Array, ""]) -> Int[Array, ""]:
    """The first weight above 0 up to which the sum is above ``place``; if none is, the last above 0.

    Parallel sums may be out of order by their rounding, so a sum alone does not tell that a weight is not 0.
    """
    number, places = len(weights), jnp.arange(len(weights), dtype=jnp.int32)
    found = (jnp.cumsum(weights) > place) & (weights > 0)
    # One pass for both: those that are found, in order, before the others that may be, from the last one.
    rank = jnp.min(jnp.where(found, places, jnp.where(weights > 0, 2 * number - places, 3 * number)))
    return jnp.where(rank < number, rank, jnp.maximum(2 * number - rank, 0))
