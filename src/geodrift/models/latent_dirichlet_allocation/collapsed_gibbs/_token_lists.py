"""A minibatch's tokens in the order of their words, and each document's topics as a short list.

An entry of a document's list is a topic and its tokens n_dk; a token is kept as the entry that holds its
topic. The lists are laid out at the beginning of a step and are no part of a chain's state.
"""

from typing import NamedTuple

import numba
import numpy as np
from jaxtyping import Int

from geodrift.kernels._vector_draw import LANES


class TokenLists(NamedTuple):
    """Tokens of a minibatch, group after group of documents, and of each group word after word.

    Attributes:
        offsets: Place of the first token of each group and word of the minibatch's vocabulary, and the end of
            the last, [P, W + 1].
        rows: Each token's document, as a row of the minibatch, [n] int32.
        entries: The entry of ``topics`` that holds each token's topic, [n].
        places: Each token's place in the assignments of the corpus, [n].
        begins: First entry of each document's list, [S + 1]; a multiple of `LANES`.
        blocks: Length of each document's list in whole vectors, [S].
        topics: Topic of each entry, int32.
        numbers: n_dk of each entry, float32; 0 where there is none.
    """

    offsets: np.ndarray
    rows: np.ndarray
    entries: np.ndarray
    places: np.ndarray
    begins: np.ndarray
    blocks: np.ndarray
    topics: np.ndarray
    numbers: np.ndarray


def empty_lists(
    lengths: Int[np.ndarray, " S"], num_topics: int, num_groups: int, num_words: int
) -> TokenLists:
    """Lists to be filled in, with room for all topics that documents of these lengths can have."""
    num_tokens = int(lengths.sum())
    room = -(-np.minimum(lengths, num_topics) // LANES) * LANES
    begins = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
    return TokenLists(
        np.empty((num_groups, num_words + 1), np.int64),
        np.empty(num_tokens, np.int32),
        np.empty(num_tokens, np.int64),
        np.empty(num_tokens, np.int64),
        begins,
        np.zeros(len(lengths), np.int64),
        np.zeros(begins[-1], np.int32),
        np.zeros(begins[-1], np.float32),
    )


@numba.njit(cache=True)
def _count_words(
    first_row: int, last_row: int, indptr: np.ndarray, words: np.ndarray, counts: np.ndarray, ends: np.ndarray
) -> None:
    """Where the tokens of each word of a group begin, if those of the group begin at 0."""
    ends[:] = 0
    for entry in range(indptr[first_row], indptr[last_row]):
        ends[words[entry] + 1] += counts[entry]
    for word in range(1, ends.shape[0]):
        ends[word] += ends[word - 1]


@numba.njit(cache=True)
def place_tokens(
    first_row: int,
    last_row: int,
    first_token: int,
    indptr: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    starts: np.ndarray,
    offsets: np.ndarray,
    rows: np.ndarray,
    places: np.ndarray,
) -> None:
    """Fill in where the tokens of one group are, and of which documents: for who does not draw their topics.

    The documents are read by who draws the group before it, and looks ahead.
    """
    _count_words(first_row, last_row, indptr, words, counts, offsets)
    offsets += first_token
    following = offsets.copy()
    for row in range(first_row, last_row):
        place = starts[row]
        for item in range(indptr[row], indptr[row + 1]):
            for _ in range(counts[item]):
                token = following[words[item]]
                rows[token], places[token] = row, place
                following[words[item]] += 1
                place += 1


@numba.njit(cache=True)
def lay_out_group(
    first_row: int,
    last_row: int,
    first_token: int,
    indptr: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    starts: np.ndarray,
    assignments: np.ndarray,
    num_topics: int,
    offsets: np.ndarray,
    rows: np.ndarray,
    entries: np.ndarray,
    places: np.ndarray,
    begins: np.ndarray,
    blocks: np.ndarray,
    topics: np.ndarray,
    numbers: np.ndarray,
) -> None:
    """Fill in the lists of one group of documents, whose tokens are those from ``first_token`` on."""
    _count_words(first_row, last_row, indptr, words, counts, offsets)
    offsets += first_token
    following, held = offsets.copy(), np.full(num_topics, -1, np.int64)
    for row in range(first_row, last_row):
        place, end = starts[row], begins[row]
        for item in range(indptr[row], indptr[row + 1]):
            for _ in range(counts[item]):
                topic = np.int64(assignments[place])
                if held[topic] < 0:
                    held[topic], topics[end] = end, topic
                    end += 1
                numbers[held[topic]] += np.float32(1.0)
                token = following[words[item]]
                following[words[item]] += 1
                rows[token], entries[token], places[token] = row, held[topic], place
                place += 1
        blocks[row] = (end - begins[row] + LANES - 1) // LANES
        for entry in range(begins[row], end):
            held[topics[entry]] = -1
