r"""Cox-Ingersoll-Ross moves that words have missed, each word's merged exactly into one.

A move over a time h of an entry that no count visits, begun from a multiple f of the entry, is

.. math:: \theta' = C\, \mathrm{Gamma}(\eta + N), \quad N \sim \mathrm{Poisson}(B \theta / C), \qquad
    B = f e^{-h}, \quad C = 1 - e^{-h},

which has the Laplace transform :math:`(1 + s C)^{-\eta} \exp(-s B \theta / (1 + s C))`. Another one after it,
of B' and C', gives the same form again, with

.. math:: B \leftarrow B' B, \qquad C \leftarrow B' C + C',

so that any number of moves with any factors between them are one draw: multiplying theta changes the scale of
its process and nothing else. B is the share of theta that is left, and the mean after all moves is
:math:`B \theta + C \eta`.
"""

import math

import numba
import numpy as np
from jaxtyping import Float, Int, UInt

from geodrift.kernels._cox_ingersoll_ross import log_move
from geodrift.kernels._random_streams import open_member
from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._two_forms import TwoForms
from geodrift.models.latent_dirichlet_allocation.scaled_counts._cir_topics import NOTHING

BLOCK = 16  # words whose part of the changes of the sums one thread adds up


def _moves(
    log_theta: np.ndarray,
    words: np.ndarray,
    since: np.ndarray,
    log_left: np.ndarray,
    scales: np.ndarray,
    log_scale: np.ndarray,
    counts: np.ndarray,
    prior: float,
    first_item: int,
    family: np.uint64,
    changes: np.ndarray,
) -> None:
    num_topics = log_theta.shape[1]
    for block in numba.prange(changes.shape[0]):
        for i in range(block * BLOCK, min((block + 1) * BLOCK, words.shape[0])):
            word, row = np.int64(words[i]), np.int64(since[i])
            for topic in range(num_topics):
                scale = log_scale[row, topic]
                left = log_theta[word, topic] + log_left[row, topic]
                shape = prior + counts[i, topic] if counts.shape[0] > 0 else prior
                stream = open_member(family, first_item + word * num_topics + topic)
                moved = np.float32(scale + log_move(left - scale, shape, stream))
                log_theta[word, topic] = moved
                changes[block, topic] -= prior * scales[row, topic]
                if left > NOTHING:
                    changes[block, topic] -= math.exp(left)
                if moved > NOTHING:
                    changes[block, topic] += math.exp(moved)


_forms = TwoForms(_moves, worth_threads=4096)


def move_words(
    log_theta: Float[np.ndarray, "V K"],
    words: Int[np.ndarray, " W"],
    since: UInt[np.ndarray, " W"],
    left: Float[np.ndarray, "T K"],
    scale: Float[np.ndarray, "T K"],
    counts: Float[np.ndarray, "W K"] | None,
    prior: float,
    first_item: int,
    streams: Family,
) -> Float[np.ndarray, " K"]:
    """Move every topic's entries of some words once, in place.

    Args:
        log_theta: Float32; minus infinity stands for 0.
        words: Distinct.
        since: The row of ``left`` and ``scale`` that holds each word's move.
        left: Logs of B.
        scale: C, positive in those rows.
        counts: Estimates of N_kw, not negative; None for words that have none.
        prior: eta, each word's Dirichlet parameter.
        first_item: Item of the first entry's random stream; that of entry (w, k) is w K + k more.
        streams: Random streams of the moves.

    Returns:
        For each topic the sum of theta over these words, minus its mean given theta before the moves if none
        of the words had a count.
    """
    num_words, num_topics = len(words), log_theta.shape[1]
    changes = np.zeros((-(-num_words // BLOCK), num_topics))
    counts = np.zeros((0, num_topics), np.float32) if counts is None else counts
    with np.errstate(divide="ignore"):
        log_scale = np.log(scale)
    moves = (since, left, scale, log_scale, counts, prior, first_item, streams.word)
    _forms(num_words * num_topics, log_theta, words, *moves, changes)
    return changes.sum(axis=0)
