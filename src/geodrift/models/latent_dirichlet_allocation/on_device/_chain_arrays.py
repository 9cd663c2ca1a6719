"""The arrays of a chain on the devices, and what is done with them there."""

import jax
import numpy as np
from jaxtyping import Array, Float, Int, UInt

from geodrift._jax_release import double_precision
from geodrift._types import RandomKey
from geodrift.models.latent_dirichlet_allocation.documents._draw_in_jax import padded_topics
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import TokenSource
from geodrift.models.latent_dirichlet_allocation.on_device._blocks import Block, Blocks
from geodrift.models.latent_dirichlet_allocation.on_device._devices import mesh_of_devices, on_all, shared_out
from geodrift.models.latent_dirichlet_allocation.on_device._redraw import redraw
from geodrift.models.latent_dirichlet_allocation.on_device._shares import Shares, words_of_tokens
from geodrift.models.latent_dirichlet_allocation.on_device._topics import (
    draw_topics,
    log_of_words,
    mean_topics,
    padded_words,
    totals,
)


class ChainArrays:
    """Tokens, their assignments and the counts, which stay on the devices between steps.

    No document has assignments at first. Vp and Kp are V and K, padded.

    Args:
        source: The corpus.
        num_topics: K.
        dtype: Of the assignments.
        batch_size: Documents of a step.

    Attributes:
        words: Of the tokens of each device, [N, n] int32.
        assignments: Of the tokens of each device, [N, n].
        counts: N_kw of the documents of each device, [N, Vp, Kp] int32; only their sum over devices is read.
    """

    def __init__(self, source: TokenSource, num_topics: int, dtype: type, batch_size: int) -> None:
        self.num_words, self.num_topics = source.num_words, num_topics
        self.mesh = mesh_of_devices()
        self.shares = Shares.of(source, self.mesh.size)
        self.blocks = Blocks(self.shares, padded_topics(num_topics), batch_size)
        self.words: Array = shared_out(self.mesh, self.shares.cut(words_of_tokens(source)))
        self.put_assignments(np.zeros(source.num_tokens, dtype))
        self.put_table(np.zeros((source.num_words, num_topics), np.int32))

    def put_assignments(self, assignments: UInt[np.ndarray, " n"]) -> None:
        """Take the assignments of all tokens; the counts stay as they are."""
        self.assignments: Array = shared_out(self.mesh, self.shares.cut(assignments))

    def put_table(self, table: Int[np.ndarray, "V K"]) -> None:
        """Take the counts N_kw of all documents, as if they were of the first device."""
        others = np.zeros((self.mesh.size - 1, *self._padded_shape), np.int32)
        self.counts: Array = shared_out(self.mesh, np.concatenate([self._padded(table)[None], others]))

    def host_assignments(self) -> UInt[np.ndarray, " n"]:
        """The assignments of all tokens."""
        return self.shares.joined(np.asarray(self.assignments))

    def host_table(self) -> Int[np.ndarray, "V K"]:
        """The counts N_kw of all documents, int32."""
        whole = np.asarray(self.counts).sum(axis=0, dtype=np.int32)
        return np.ascontiguousarray(self.host_topics(whole))

    def host_topics(self, topics: Array | np.ndarray) -> np.ndarray:
        """What is told of words and topics, without the padding, [V, K]."""
        return np.asarray(topics)[: self.num_words, : self.num_topics]

    def draw_topics(self, key: RandomKey, prior: float) -> Float[Array, "Vp Kp"]:
        """The topics given all assignments, on every device."""
        return draw_topics(self.mesh, self.num_words, self.num_topics, key, self.counts, np.float32(prior))

    def mean_topics(self, prior: float) -> Float[Array, "Vp Kp"]:
        """Their mean given all assignments, on every device."""
        return mean_topics(self.mesh, self.num_words, self.num_topics, self.counts, np.float32(prior))

    def totals(self) -> Float[np.ndarray, " K"]:
        """N_k, the sums of N_kw over words."""
        return np.asarray(totals(self.counts), np.float64)[: self.num_topics]

    def log_of_words(self, prior: float) -> float:
        """See `collapsed_gibbs._log_joint.log_of_words`; in double precision."""
        with double_precision():
            return float(log_of_words(self.counts, np.float64(prior)))

    def put_topics(self, topics: Float[np.ndarray, "V K"]) -> Float[Array, "Vp Kp"]:
        """These topics on every device."""
        return on_all(self.mesh, self._padded(topics.astype(np.float32)))

    def redraw(
        self,
        documents: Int[np.ndarray, " S"],
        topics: Float[Array, "Vp Kp"],
        alpha: Float[np.ndarray, " K"],
        key: RandomKey,
        *,
        sweeps: int,
        first: bool,
    ) -> None:
        """Sweep over documents given the topics; see `redraw`. Returns when the devices are done."""
        prior = on_all(self.mesh, np.pad(alpha.astype(np.float32), (0, topics.shape[1] - len(alpha))))
        for length, block in self.blocks.of(documents):
            self._redraw(length, block, topics, prior, key, sweeps, first)
        jax.block_until_ready(self.counts)

    def compile(self, alpha: Float[np.ndarray, " K"], sweeps: int, first_sweeps: int) -> None:
        """Go through steps of no documents, with every program that later ones need."""
        topics, key = self.draw_topics(jax.random.key(0), 1.0), jax.random.key(0)
        self.mean_topics(1.0)
        self.totals(), self.log_of_words(1.0)
        prior = on_all(self.mesh, np.pad(alpha.astype(np.float32), (0, topics.shape[1] - len(alpha))))
        for length in self.blocks.rows:
            for number, first in ((first_sweeps, True), (sweeps, False)):
                self._redraw(length, self.blocks.empty(length), topics, prior, key, number, first)

    def _redraw(
        self, length: int, block: Block, topics: Array, prior: Array, key: RandomKey, sweeps: int, first: bool
    ) -> None:
        place = Block(*(shared_out(self.mesh, rows) for rows in block))
        held = self.words, self.assignments, self.counts
        self.assignments, self.counts = redraw(
            self.mesh, length, sweeps, first, key, topics, prior, *held, place
        )

    @property
    def _padded_shape(self) -> tuple[int, int]:
        topics = padded_topics(self.num_topics)
        return padded_words(self.num_words, topics)[1], topics

    def _padded(self, array: np.ndarray) -> np.ndarray:
        """Numbers of words and topics followed by zeros, [Vp, Kp]."""
        padded = np.zeros(self._padded_shape, array.dtype)
        padded[: array.shape[0], : array.shape[1]] = array
        return padded
