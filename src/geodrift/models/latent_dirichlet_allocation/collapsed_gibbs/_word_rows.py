"""Counts N_kw of words and topics as a list for each word: the topics that the word has, and how often.

A word of n tokens has at most n topics, and mostly far fewer, so lists of many topics take less memory than a
table of all, and less time to read. The order of a list is that in which topics came and went: it is part of
a chain's state, since draws go through the list.
"""

from typing import NamedTuple

import numba
import numpy as np
from jaxtyping import Float, Int, UInt


class WordRows(NamedTuple):
    """The lists of all words, one after the other, with room for as many topics as a word can have.

    Attributes:
        begins: The place of each word's list, and the end of the last, [V + 1].
        topics: uint16, [n].
        counts: Tokens of the word and topic, above 0 in the lists and 0 elsewhere, int32, [n].
        sizes: Topics that each word has, int32, [V].
    """

    begins: np.ndarray
    topics: np.ndarray
    counts: np.ndarray
    sizes: np.ndarray

    @classmethod
    def empty(cls, frequencies: Int[np.ndarray, " V"], num_topics: int) -> "WordRows":
        """Lists without a topic, of words that have so many tokens in all."""
        begins = np.concatenate([[0], np.cumsum(np.minimum(frequencies, num_topics))]).astype(np.int64)
        room = int(begins[-1])
        sizes = np.zeros(len(frequencies), np.int32)
        return cls(begins, np.zeros(room, np.uint16), np.zeros(room, np.int32), sizes)

    def table(self, words: Int[np.ndarray, " W"], num_topics: int) -> Int[np.ndarray, "W K"]:
        """N_kw of some words as a table, int32."""
        table = np.zeros((len(words), num_topics), np.int32)
        _fill_table(*self, words, table)
        return table

    def add(
        self,
        words: Int[np.ndarray, " m"],
        counts: Int[np.ndarray, " m"],
        assignments: UInt[np.ndarray, " n"],
        in_parts: Float[np.ndarray, "P K"],
        bounds: Int[np.ndarray, " bound"],
    ) -> None:
        """Add tokens to the lists, and to N_kb, the sums over each part of the words.

        Args:
            words: Of each entry of a minibatch.
            counts: Tokens of each entry.
            assignments: Topics of all tokens, in the order of the entries.
            in_parts: N_kb.
            bounds: Words at which the parts begin, and V.
        """
        tokens = np.repeat(words, counts)
        order = np.argsort(tokens, kind="stable")
        _add(*self, tokens[order], assignments[order], in_parts, bounds)


@numba.njit(cache=True)
def _fill_table(
    begins: np.ndarray,
    topics: np.ndarray,
    counts: np.ndarray,
    sizes: np.ndarray,
    words: np.ndarray,
    table: np.ndarray,
) -> None:
    for row in range(words.shape[0]):
        begin = begins[words[row]]
        for entry in range(begin, begin + sizes[words[row]]):
            table[row, topics[entry]] = counts[entry]


@numba.njit(cache=True)
def _add(
    begins: np.ndarray,
    topics: np.ndarray,
    counts: np.ndarray,
    sizes: np.ndarray,
    words: np.ndarray,
    assignments: np.ndarray,
    in_parts: np.ndarray,
    bounds: np.ndarray,
) -> None:
    """Add tokens in the order of their words; topics that a word lacks go to the end of its list."""
    part, last, place = 0, -1, np.zeros(in_parts.shape[1], np.int64)
    for token in range(words.shape[0]):
        word, topic = words[token], assignments[token]
        begin = begins[word]
        if word != last:
            for entry in range(begin, begin + sizes[word]):
                place[topics[entry]] = entry
            while word >= bounds[part + 1]:
                part += 1
            last = word
        entry = place[topic]
        # What stands there may be of another word.
        if not (begin <= entry < begin + sizes[word] and topics[entry] == topic):
            entry = begin + sizes[word]
            place[topic], topics[entry], counts[entry] = entry, topic, 0
            sizes[word] += 1
        counts[entry] += 1
        in_parts[part, topic] += 1.0


@numba.njit(cache=True)
def prune(
    begin: int, size: int, entry: int, topics: np.ndarray, counts: np.ndarray, place: np.ndarray
) -> int:
    """Remove an entry without a token from a list; returns the list's size after it."""
    last = begin + size - 1
    topics[entry], counts[entry] = topics[last], counts[last]
    place[topics[entry]] = entry
    counts[last] = 0
    return size - 1
