"""A minibatch's documents in blocks that run side by side: those of about one length, on each device its own.

Lengths are rounded up to powers of two. All blocks of one length have one number of rows, about as many as a
minibatch has documents of it, so that one program is compiled for each length, and most minibatches are one
call of each. A document of any length has a block: it is the number of rows that becomes smaller.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from geodrift.models.latent_dirichlet_allocation.documents._assignments_in_jax import (
    MOST_NUMBERS,
    powers_of_two,
)
from geodrift.models.latent_dirichlet_allocation.on_device._shares import Shares

MOST_TOKENS = 2**24  # of a block, with what they are padded to
SPARE = 4.0  # standard deviations of the number of documents of a length in a minibatch


class Block(NamedTuple):
    """Documents that run side by side, B on each of N devices; those of length 0 fill up.

    Attributes:
        documents: Numbers of the documents, [N, B] int32.
        begins: The place of each document's first token in the share of its device, [N, B] int32.
        lengths: Tokens of each, [N, B] int32.
    """

    documents: Any
    begins: Any
    lengths: Any


class Blocks:
    """How minibatches of a corpus are cut into blocks.

    Args:
        shares: Of the documents.
        num_topics: K, padded.
        batch_size: Documents of a step.

    Attributes:
        rows: Rows of the blocks of each length that the corpus has, by the length.
    """

    def __init__(self, shares: Shares, num_topics: int, batch_size: int) -> None:
        self.shares, self.lengths = shares, np.diff(shares.starts)
        self.rows: dict[int, int] = {}
        padded, part = powers_of_two(self.lengths), batch_size / len(self.lengths)
        where = shares.of_documents(np.arange(len(self.lengths)))
        for length in np.unique(padded[self.lengths > 0]).tolist():
            found = (padded == length) & (self.lengths > 0)
            there = int(np.bincount(where[found]).max())  # on the device that has most
            usual = part * there + SPARE * np.sqrt(part * (1.0 - part) * there)
            most = min(MOST_NUMBERS // num_topics, MOST_TOKENS // length)
            self.rows[length] = max(1, min(there, int(np.ceil(usual)), most))

    def of(self, documents: Int[np.ndarray, " S"]) -> Iterator[tuple[int, Block]]:
        """The blocks of some documents, each with its length; documents without a token are in none."""
        lengths = self.lengths[documents]
        # Of one length in a block, as far as may be: a block takes as long as its longest document. Small
        # numbers are sorted in a pass or two.
        order = np.argsort(lengths.astype(np.min_scalar_type(lengths.max(initial=0))), kind="stable")
        documents, lengths = documents[order], lengths[order]
        first = np.searchsorted(lengths, 1)
        for length, rows in self.rows.items():
            last = np.searchsorted(lengths, length, side="right")
            groups = self._of_shares(documents[first:last])
            for begin in range(0, max(len(group) for group in groups), rows):
                yield length, self._block([group[begin : begin + rows] for group in groups], rows)
            first = last

    def _of_shares(self, documents: Int[np.ndarray, " S"]) -> list[Int[np.ndarray, " S"]]:
        """The documents of each device."""
        number = len(self.shares.cuts) - 1
        if number == 1:
            return [documents]
        where = self.shares.of_documents(documents)
        return [documents[where == share] for share in range(number)]

    def empty(self, length: int) -> Block:
        """A block of this length without a document."""
        nothing = np.zeros(0, np.int64)
        return self._block([nothing] * (len(self.shares.cuts) - 1), self.rows[length])

    def _block(self, groups: list[Int[np.ndarray, " S"]], rows: int) -> Block:
        block = Block(*(np.zeros((len(groups), rows), np.int32) for _ in Block._fields))
        for share, group in enumerate(groups):
            begins = self.shares.starts[group]
            block.documents[share, : len(group)] = group
            block.begins[share, : len(group)] = begins - self.shares.bounds[share]
            block.lengths[share, : len(group)] = self.shares.starts[group + 1] - begins
        return block
