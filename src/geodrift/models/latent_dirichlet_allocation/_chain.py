"""One chain of latent Dirichlet allocation: what it draws, by which move."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from geodrift.distributed import Team
from geodrift.driver import Variable
from geodrift.kernels import _device
from geodrift.models.latent_dirichlet_allocation._minibatch_chain import MinibatchChain
from geodrift.models.latent_dirichlet_allocation._settings import Settings
from geodrift.models.latent_dirichlet_allocation._topic_move import TopicMove
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sampler import CollapsedGibbs
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed._sampler import (
    DistributedCollapsedGibbs,
)
from geodrift.models.latent_dirichlet_allocation.on_device._sampler import GibbsOnDevice
from geodrift.models.latent_dirichlet_allocation.scaled_counts._sampler import ScaledCounts
from geodrift.models.topics._given_topics import as_probabilities, check_given


class Chain(MinibatchChain):
    """See `MinibatchChain`.

    Args:
        corpus: As there.
        settings: See `Settings`.
        seed: As there.
        chain: As there.
        held_out: As there.
        team: Processes that take the chain's steps together, or None.

    Raises:
        ValueError: As there, or the corpus has fewer documents than topics.
    """

    def __init__(
        self,
        corpus: Any,
        settings: Settings,
        *,
        seed: int = 0,
        chain: int = 0,
        held_out: sp.csr_matrix | None = None,
        team: Team | None = None,
    ) -> None:
        if settings.n_topics > corpus.num_documents:
            raise ValueError(
                f"n_topics is {settings.n_topics} but the corpus has {corpus.num_documents} documents; "
                "ask for fewer topics"
            )
        self.team = team
        super().__init__(corpus, settings, seed=seed, chain=chain, held_out=held_out)

    @property
    def variables(self) -> dict[str, Variable]:
        """Topics, the priors where they are learnt, and what only assignments that are kept tell.

        That is the share of the words that each topic has, and the log joint.
        """
        num_topics, num_words = self.settings.n_topics, self.source.num_words
        found = {"topics": Variable(("topic", "word"), (num_topics, num_words), "float32")}
        if self.settings.learn_doc_topic_prior != "no":
            found["doc_topic_prior"] = Variable(("topic",), (num_topics,), "float32")
        if self.settings.learn_topic_word_prior != "no":
            found["topic_word_prior"] = Variable((), (), "float64")
        if isinstance(self.move, CollapsedGibbs):
            found["topic_sizes"] = Variable(("topic",), (num_topics,), "float32")
            found["log_joint"] = Variable((), (), "float64")
        return found

    def prepare(self) -> None:
        """Find topics to start from."""
        if isinstance(self.move, CollapsedGibbs):
            self.move.prepare(self._order(0, self.source.num_documents))

    def start_from(self, topics: Float[np.ndarray, "J V"]) -> None:
        """See `ModelChain.start_from`; only a chain that keeps assignments starts from topics."""
        check_given(topics, self.settings.n_topics)
        if not isinstance(self.move, CollapsedGibbs):
            raise ValueError(f"method {self.settings.method!r} takes no topics to start from: use 'gibbs'")
        self.move.given = as_probabilities(topics)

    def draw(self) -> dict[str, np.ndarray]:
        """The present value of each variable."""
        draw = {"topics": self.topics()}
        if self.settings.learn_doc_topic_prior != "no":
            draw["doc_topic_prior"] = self.move.document_prior
        if self.settings.learn_topic_word_prior != "no":
            draw["topic_word_prior"] = np.array(self.move.topic_word_prior)
        if isinstance(self.move, CollapsedGibbs):
            draw["topic_sizes"] = self.move.topic_sizes()
            draw["log_joint"] = np.array(self.move.log_joint())
        return draw

    def _move(self) -> TopicMove:
        source, settings = self.source, self.settings
        if self.team is not None:
            return DistributedCollapsedGibbs(source, settings, self.seed, self.chain, self.team)
        if settings.method == "gibbs":
            kind = GibbsOnDevice if _device.in_jax() else CollapsedGibbs
            return kind(source, settings, self.seed, self.chain)
        sizes = source.num_documents, source.num_words, source.num_tokens
        return ScaledCounts(*sizes, settings, self.seed, self.chain, source.starts)
