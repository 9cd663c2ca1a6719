r"""Sweeps over the tokens of documents given the topics, as a JAX function: documents side by side.

With the topics phi given and a document's mixture integrated out, token i of word w has

.. math:: p(z_i = k \mid z_{-i}) \propto (\alpha_k + n_{dk}^{-i})\, \phi_{kw}

(Patterson and Teh 2013, eq. 11). B documents of about one length go on by one token each at a time. A random
number is a function of the key, the document, the sweep and the token's place in the document, so a draw
depends neither on which documents run side by side nor on what they are padded to.

**What a token costs**, of K topics padded to G S (see `_draw_in_jax`): 3 K operations, for the weights
(alpha_k + n_dk) phi_kw and the sums of groups, and of memory 4 K bytes of phi's row and 4 K bytes of n_dk's.
All else, two rows of S numbers, the cumulative sums of G and of S, the token's word and two assignments and
one change of n_dk each way, is some hundreds of bytes. That is 3 operations for 8 bytes: memory decides. Of K
= 1,024 a token reads 8.2 KB, and a chip that reads 3.35 TB/s (an H100) cannot draw more than 410 million
tokens a second; of K = 10,000 not more than 42 million. Rows of phi that stay in a cache, common words' above
all, make that bound no bound. Alpha's row is the same for all documents. Not counted are the topics, of which
`on_device._topics` draws V K for each minibatch.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from geodrift._types import RandomKey
from geodrift.kernels import _device
from geodrift.models.latent_dirichlet_allocation.documents._draw_in_jax import draw_topic, group_size


def redrawn(
    key: RandomKey,
    documents: Int[Array, " B"],
    words: Int[Array, "B L"],
    lengths: Int[Array, " B"],
    assignments: Int[Array, "B L"],
    topics: Float[Array, "W Kp"],
    alpha: Float[Array, " Kp"],
    sweeps: int,
    first: bool,
) -> Int[Array, "B L"]:
    """New assignments of documents; places beyond a document's end keep what they hold.

    Args:
        key: Of the step.
        documents: Their numbers, which name their random numbers.
        words: Of the tokens, as rows of ``topics``.
        lengths: Tokens of each document, the first ones of its row.
        assignments: z; of ``first``, anything.
        topics: phi, float32, padded to whole groups by topics of weight 0 (`_draw_in_jax.padded_topics`).
        alpha: The document prior, float32, padded likewise.
        sweeps: Over each document.
        first: Whether the documents have no assignments yet: a token is then drawn given those before it.
    """
    keys = jax.vmap(lambda document: jax.random.fold_in(key, document))(documents)
    given, in_triton = (topics, alpha), _device.in_triton()

    def sweep(number: Int[Array, ""], assignments: Int[Array, "B L"], counted: bool = True) -> Array:
        of_sweep = jax.vmap(lambda key: jax.random.fold_in(key, number))(keys)
        if not in_triton:
            return _sweep(of_sweep, words, lengths, assignments, *given, counted)
        # Imported here: it takes Pallas a second.
        from geodrift.models.latent_dirichlet_allocation.documents._sweeps_in_pallas import sweep_documents

        tokens = jnp.arange(words.shape[1], dtype=jnp.int32)
        uniforms = jax.vmap(lambda token: _uniforms(of_sweep, token), out_axes=1)(tokens)
        return sweep_documents(words, lengths, assignments, *given, uniforms, counted)

    if first and sweeps:
        assignments = sweep(jnp.int32(0), assignments, counted=False)
    return jax.lax.fori_loop(int(first), sweeps, sweep, assignments)


def _sweep(
    keys: Key[Array, " B"],
    words: Int[Array, "B L"],
    lengths: Int[Array, " B"],
    assignments: Int[Array, "B L"],
    topics: Float[Array, "W Kp"],
    alpha: Float[Array, " Kp"],
    counted: bool,
) -> Int[Array, "B L"]:
    """One sweep by programs of XLA; the arguments are those of `_sweeps_in_pallas.sweep_documents`."""
    rows, size = jnp.arange(len(words), dtype=jnp.int32), group_size(topics.shape[1])
    inside = jnp.arange(words.shape[1], dtype=jnp.int32) < lengths[:, None]
    numbers = jnp.zeros((len(words), topics.shape[1]), topics.dtype)
    if counted:
        numbers = numbers.at[rows[:, None], assignments].add(inside.astype(topics.dtype))
    words, in_groups = words.T, (topics.reshape(len(topics), -1, size), alpha.reshape(-1, size))

    def token(i: Int[Array, ""], state: tuple) -> tuple:
        numbers, assignments = state
        here, old = i < lengths, assignments[i]
        if counted:
            numbers = numbers.at[rows, old].add(-here.astype(numbers.dtype))
        grouped = numbers.reshape(len(numbers), -1, size)
        drawn = draw_topic(in_groups[0], words[i], in_groups[1], grouped, _uniforms(keys, i))
        new = jnp.where(here, drawn, old)
        numbers = numbers.at[rows, new].add(here.astype(numbers.dtype))
        return numbers, assignments.at[i].set(new)

    return jax.lax.fori_loop(0, lengths.max(), token, (numbers, assignments.T))[1].T


def _uniforms(keys: Key[Array, " B"], token: Int[Array, ""]) -> Float[Array, "B 2"]:
    """Two random numbers of a token of each document."""
    return jax.vmap(lambda key: jax.random.uniform(jax.random.fold_in(key, token), (2,), jnp.float32))(keys)
