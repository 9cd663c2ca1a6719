"""Which tokens lie on which device: documents in their order, cut into shares of about as many tokens.

The tokens of a share lie one after the other, document after document, as in the assignments of a host chain;
shares are padded to the length of the longest.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int, UInt

from geodrift.models.latent_dirichlet_allocation.documents._minibatch import BLOCK, TokenSource

MOST_TOKENS = 2**31 - 1  # of a share: places are 32-bit numbers on a device


class Shares(NamedTuple):
    """Shares of the documents.

    Attributes:
        starts: The place of each document's first token among all, and their number, [D + 1].
        cuts: The first document of each share, and D, [N + 1].
    """

    starts: Int[np.ndarray, " bound"]
    cuts: Int[np.ndarray, " cut"]

    @classmethod
    def of(cls, source: TokenSource, number: int) -> "Shares":
        """So many shares.

        Raises:
            ValueError: One of them has more tokens than a device can number.
        """
        ideal = source.num_tokens * np.arange(1, number) / number
        inner = np.searchsorted(source.starts, ideal)
        shares = cls(source.starts, np.concatenate([[0], inner, [source.num_documents]]))
        if shares.most_tokens > MOST_TOKENS:
            raise ValueError(
                f"a device would have {shares.most_tokens:,} tokens and can number {MOST_TOKENS:,}: sample on"
                " more devices, or on processors (environment variable JAX_PLATFORMS=cpu)"
            )
        return shares

    @property
    def bounds(self) -> Int[np.ndarray, " cut"]:
        """The place of each share's first token among all, and their number."""
        return self.starts[self.cuts]

    @property
    def most_tokens(self) -> int:
        """Tokens of the largest share."""
        return int(np.diff(self.bounds).max())

    def cut(self, values: np.ndarray) -> np.ndarray:
        """Values of all tokens as the rows that go to the devices, [N, n]."""
        rows = np.zeros((len(self.cuts) - 1, self.most_tokens), values.dtype)
        for row, begin, end in zip(rows, self.bounds[:-1], self.bounds[1:], strict=True):
            row[: end - begin] = values[begin:end]
        return rows

    def joined(self, rows: UInt[np.ndarray, "N n"]) -> UInt[np.ndarray, " n"]:
        """Values of all tokens from the rows of the devices."""
        return np.concatenate([row[:size] for row, size in zip(rows, np.diff(self.bounds), strict=True)])

    def of_documents(self, documents: Int[np.ndarray, " S"]) -> Int[np.ndarray, " S"]:
        """The share in which each document is."""
        return np.searchsorted(self.cuts, documents, side="right") - 1


def words_of_tokens(source: TokenSource) -> Int[np.ndarray, " n"]:
    """The word of every token of the corpus, in the order of its assignments, int32."""
    words = np.empty(source.num_tokens, np.int32)
    for first in range(0, source.num_documents, BLOCK):
        last = min(first + BLOCK, source.num_documents)
        rows = source.corpus.rows(np.arange(first, last))
        rows.sort_indices()  # assignments are in the order of the entries
        words[source.starts[first] : source.starts[last]] = np.repeat(
            rows.indices, rows.data.astype(np.int64)
        )
    return words
