"""What the scikit-learn estimator does with documents that come as a stream."""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from jaxtyping import Float
from sklearn.exceptions import NotFittedError

from geodrift._errors import RunWarning
from geodrift._whole import whole
from geodrift.models.kit._agreement import Agreement, aligned
from geodrift.models.kit._alignment import directions_of
from geodrift.models.kit._kept_columns import columns_kept
from geodrift.models.kit._settings import refuse_change, refuse_changes
from geodrift.models.latent_dirichlet_allocation._facade_priors import refuse_learnt_priors
from geodrift.models.latent_dirichlet_allocation._settings import Settings
from geodrift.models.latent_dirichlet_allocation.scaled_counts._stream import WARM_UP, StreamChain
from geodrift.models.latent_dirichlet_allocation.scaled_counts._stream_draws import StreamDraws
from geodrift.models.topics._facade import TopicModelFacade

STREAM_METHOD = "scir"  # of `partial_fit` where ``method`` keeps assignments


class StreamedDocuments(TopicModelFacade):
    """`partial_fit` of `LatentDirichletAllocation`, and the draws of `fit` or of the stream.

    Each document is seen once, so a chain settles in topics that its first documents and its random numbers
    suggest, and its draws do not tell by how much these are off. Several chains over the same documents do.
    """

    settings_: Settings
    doc_topic_prior_draws_: Float[np.ndarray, "N K"] | None
    topic_word_prior_draws_: Float[np.ndarray, " N"] | None
    _draws: Float[np.ndarray, "N K V"] | None  # None: those of the stream are not in one order yet
    _agreement: Agreement
    _stream: list[StreamChain]
    _stream_draws: list[StreamDraws]

    def partial_fit(self, X: Any, y: None = None) -> Self:
        """Take the next documents of a stream; after `fit` a new stream begins.

        Each of ``n_chains`` chains learns from them, one after the other.

        Args:
            X: Counts [documents, V], as for `fit`.
            y: Ignored.

        Raises:
            ValueError: As `fit`, or X has another number of words than the documents before, or a setting is
                not that of the stream; nothing has changed then.
            RunWarning: (a warning) More documents have come than ``total_documents``.
        """
        before: list[StreamChain] | None = getattr(self, "_stream", None)
        refuse_learnt_priors(self)
        settings = self._settings(method=STREAM_METHOD if self.method == "gibbs" else self.method)
        number = whole("n_chains", self.n_chains)
        if before is not None:
            refuse_changes(self.settings_, settings)
            refuse_change("total_documents", before[0].total_documents, self.total_documents)
            refuse_change("n_chains", len(before), number)
        with columns_kept(self):
            rows = self._validated(X, reset=before is None)
            chains = self._stream_chains(rows.shape[1], settings, number) if before is None else before
            seen = chains[0].documents_seen
            for chain in chains:  # the first refuses what any would
                chain.feed(rows)
        if before is None:
            self._forget()
            self.settings_, self._stream = settings, chains
            self._stream_draws = [StreamDraws(self.n_draws) for _ in chains]
        for kept, chain in zip(self._stream_draws, chains, strict=True):
            kept.offer(chain.count, chain.topics)
        self._draws = None
        self._keep_numbers({})
        self.doc_topic_prior_draws_ = self.topic_word_prior_draws_ = None
        _warn_of_more(chains[0], seen)
        return self

    def top_words(self, vocabulary: Sequence[str] | None = None, *, top: int = 10) -> list[dict[str, Any]]:
        """See `TopicModelFacade.top_words`; RunWarning (a warning): a stream still warms up."""
        chain = next(iter(getattr(self, "_stream", [])), None)
        if chain is not None and chain.warming_up:
            warnings.warn(
                f"the stream still warms up, until {WARM_UP[0]} minibatches or {WARM_UP[1]:,} documents have"
                f" gone by ({chain.count} and {chain.documents_seen:,} so far): intervals of words are too"
                " narrow until then",
                RunWarning,
                stacklevel=2,
            )
        return super().top_words(vocabulary, top=top)

    @property
    def topic_draws_(self) -> Float[np.ndarray, "N K V"]:
        """See the class."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not fitted: call fit or partial_fit first")
        if self._draws is None:
            # Not in `partial_fit`: this takes longer than a few documents do.
            of_chains = np.stack([kept.values() for kept in self._stream_draws])
            ordered, self._agreement = aligned({"topics": of_chains}, "topics", directions_of(self.signed))
            self._draws = ordered["topics"].reshape(-1, *of_chains.shape[2:])
        return self._draws

    @property
    def agreement_(self) -> Agreement:
        """See the class."""
        if self.__sklearn_is_fitted__() and self._draws is None:
            _ = self.topic_draws_
        return self._agreement

    @agreement_.setter
    def agreement_(self, agreed: Agreement) -> None:
        self._agreement = agreed

    def _stream_chains(self, num_words: int, settings: Settings, number: int) -> list[StreamChain]:
        seed, total = self._seed(), self.total_documents
        return [
            StreamChain(num_words, settings, total_documents=total, seed=seed, chain=chain)
            for chain in range(number)
        ]

    def _forget(self) -> None:
        for name in ("_stream", "_stream_draws", "_fitted"):
            self.__dict__.pop(name, None)


def _warn_of_more(chain: StreamChain, before: int) -> None:
    """Say so in the call in which more documents have come than there were to be."""
    total, seen = chain.total_documents, chain.documents_seen
    if total is not None and before <= total < seen:
        warnings.warn(
            f"total_documents = {total:,}, and {seen:,} documents have come: intervals are those of a"
            f" posterior of {total:,}, as is right where documents came again; otherwise begin a stream with"
            " the number of all that will come, or None for those that have",
            RunWarning,
            stacklevel=3,
        )
