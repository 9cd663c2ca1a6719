"""Topics of a stream of documents, none of which is kept."""

import itertools
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from geodrift.data import as_csr
from geodrift.models.latent_dirichlet_allocation._settings import METHODS, Settings
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import as_minibatch, whole_counts
from geodrift.models.latent_dirichlet_allocation.scaled_counts._sampler import ScaledCounts

# The default. A step moves all topics whatever its batch; small batches learn faster from the first 50,000
# documents, and worse and more slowly from more.
BATCH_SIZE = 8192
WARM_UP = 140, 2**16  # minibatches, documents: warm-up ends when as many of either have gone by


class StreamChain:
    """Samples topics from a stream of documents; cost and memory do not depend on how many have gone by.

    The target is the posterior of all documents of the stream, each minibatch standing for all of them by its
    scaled counts. Their number is ``total_documents``, or that of the documents that have gone by.

    Args:
        num_words: V.
        settings: See `Settings`; ``method`` is not "gibbs", which keeps assignments.
        total_documents: D, where it is known.
        seed: Whole number; the same seed and documents give the same draws on the same machine.
        chain: Number of the chain: chains of one seed are independent.

    Raises:
        ValueError: The method is "gibbs", or a number is not positive.

    Example:
        >>> engine = StreamChain(num_words=5000, settings=Settings(n_topics=50, method="scir"))
        >>> for rows in documents:  # sparse matrices of counts, of any number of rows
        ...     engine.feed(rows)
        >>> engine.topics()
    """

    def __init__(
        self,
        num_words: int,
        settings: Settings,
        *,
        total_documents: int | None = None,
        seed: int = 0,
        chain: int = 0,
    ) -> None:
        if settings.method == "gibbs":
            raise ValueError(
                "method is 'gibbs', which keeps the assignments of a corpus: a stream needs one of "
                + ", ".join(METHODS[1:])
            )
        for name, value in (("num_words", num_words), ("total_documents", total_documents)):
            number = isinstance(value, Real) and not isinstance(value, bool)
            if value is not None and not (number and float(value).is_integer() and value > 0):
                raise ValueError(f"{name} must be a positive whole number, got {value!r}")
        self.num_words, self.settings, self.total_documents = num_words, settings, total_documents
        self.seed, self.chain, self.count = seed, chain, 0
        self.move: ScaledCounts | None = None  # made when the first documents tell how long documents are
        self.first_sizes = (0, 0)  # documents and tokens it was made with
        self._place = np.full(num_words, -1, np.int32)

    @property
    def config(self) -> dict:
        """Settings, seed and sizes, for JSON."""
        return {
            "model": "lda",
            "settings": self.settings.to_dict(),
            "seed": self.seed,
            "chain": self.chain,
            "words": self.num_words,
            "total_documents": self.total_documents,
        }

    @property
    def documents_seen(self) -> int:
        """Number of documents that have gone by."""
        return self.move.documents_seen if self.move is not None else 0

    def feed(self, rows: Any) -> int:
        """Learn from the next documents, in steps of about equal size and at most ``batch_size`` documents.

        Args:
            rows: Counts, [documents, V], sparse or dense. They are not kept.

        Returns:
            The number of token draws.

        Raises:
            ValueError: The rows do not have V columns, or a count is negative or not whole. Nothing has
                changed then.
        """
        rows = as_csr(rows, "rows")
        if rows.shape[1] != self.num_words:
            raise ValueError(f"rows have {rows.shape[1]} columns but the stream has {self.num_words} words")
        if rows.nnz and rows.data.min() < 0:
            raise ValueError(f"counts must not be negative, got {rows.data.min()}")
        tokens = whole_counts(rows)
        parts = -(-rows.shape[0] // (self.settings.batch_size or BATCH_SIZE))
        bounds = np.linspace(0, rows.shape[0], parts + 1).astype(int)
        return sum(
            self._step(rows[first:last], int(tokens[first:last].sum()))
            for first, last in itertools.pairwise(bounds)
        )

    def topics(self) -> Float[np.ndarray, "K V"]:
        """The present topics, [K, V] float32 rows that sum to 1; after `WARM_UP` they are a draw.

        Raises:
            ValueError: No document has been fed.
        """
        return self._started().topics(self.count)

    def expected_topics(self) -> Float[np.ndarray, "K V"]:
        """The topics' mean given recent counts; see `ScaledCounts.expected_topics`.

        Raises:
            ValueError: No document has been fed.
        """
        return self._started().expected_topics()

    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to go on, bit for bit."""
        moved = self.move.state() if self.move is not None else {}
        return {f"move.{name}": value for name, value in moved.items()} | {
            "first_sizes": np.array(self.first_sizes),
            "count": np.array(self.count),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take up what `state` put down."""
        documents, tokens = (int(x) for x in arrays["first_sizes"])
        self.count, self.move = int(arrays["count"]), None
        if documents:
            self._start(documents, tokens)
            moved = {n.removeprefix("move."): v for n, v in arrays.items() if n.startswith("move.")}
            self._started().restore(moved)

    @property
    def warming_up(self) -> bool:
        """Whether `topics` are means, and not draws yet."""
        return self.count < WARM_UP[0] and self.documents_seen < WARM_UP[1]

    def _started(self) -> ScaledCounts:
        if self.move is None:
            raise ValueError("no documents have been fed: call feed first")
        return self.move

    def _start(self, documents: int, tokens: int) -> None:
        self.first_sizes = (documents, tokens)
        total = self.total_documents or documents
        in_total = -(-tokens * total // documents)
        self.move = ScaledCounts(total, self.num_words, in_total, self.settings, self.seed, self.chain, None)

    def _step(self, rows: sp.csr_matrix, tokens: int) -> int:
        size = rows.shape[0]
        if self.move is None:
            self._start(size, tokens)
        move = self._started()
        move.num_documents = self.total_documents or move.documents_seen + size
        numbers = move.documents_seen + np.arange(size)
        draws = move.step(as_minibatch(rows, numbers, self._place), self.count, self.warming_up)
        self.count += 1
        return draws
