"""The spherical admixture model as a scikit-learn estimator."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from geodrift.models.spherical_admixture._chain import Engine
from geodrift.models.spherical_admixture._settings import Settings, filled
from geodrift.models.spherical_admixture.documents._weighting import weight_rows
from geodrift.models.spherical_admixture.evaluation._log_perplexity import log_perplexity
from geodrift.models.spherical_admixture.evaluation._summaries import (
    document_mixtures,
    expected_topics,
    summarise_topics,
)
from geodrift.models.topics._alignment import align
from geodrift.models.topics._facade import MatrixCorpus, TopicModelFacade, sampled_topics, spaced


class SphericalAdmixture(TopicModelFacade):
    """Topics of documents as unit vectors, with a posterior.

    The model is that of Reisinger et al. 2010 with the corpus mean integrated out, Eq. (9) of Liu et al.
    2016. D documents, V words, K topics. Every argument but the last four is described in `Settings`;
    values are checked by `fit`, which raises ValueError.

    Args:
        n_topics: K.
        corpus_mean_concentration: kappa_0; None: 2 V.
        topic_concentration: sigma; None: 2 V.
        document_concentration: kappa; None: 6 V.
        doc_topic_prior: alpha, each component's.
        weighting: "tfidf" or "tf" for counts, "none" for vectors such as embeddings, which may be dense
            and negative.
        method: Sampler of the topics.
        batch_size: S.
        n_steps: Steps of each chain, warm-up included.
        n_draws: Stored draws of each chain.
        n_chains: Chains, run one after the other.
        random_state: Seed, or a `numpy.random.RandomState`.

    Attributes:
        topic_draws_: Posterior draws of all chains, aligned, [draw, topic, word] float32.
        topics_: Their mean directions, [topic, word] float32.
        settings_: The settings with every default resolved.
        temperature_: Configurational temperature of each chain, [chain]; 1 for the posterior.
        n_features_in_: V.

    Example:
        >>> model = SphericalAdmixture(n_topics=20, random_state=0).fit(counts)
        >>> mixtures = model.transform(new_counts)
    """

    def __init__(
        self,
        n_topics: int = 20,
        *,
        corpus_mean_concentration: float | None = None,
        topic_concentration: float | None = None,
        document_concentration: float | None = None,
        doc_topic_prior: float = 1.0,
        weighting: str = "tfidf",
        method: str = "sggmc",
        batch_size: int = 50,
        n_steps: int = 4000,
        n_draws: int = 100,
        n_chains: int = 1,
        random_state: Any = None,
    ) -> None:
        self.n_topics = n_topics
        self.corpus_mean_concentration = corpus_mean_concentration
        self.topic_concentration = topic_concentration
        self.document_concentration = document_concentration
        self.doc_topic_prior = doc_topic_prior
        self.weighting = weighting
        self.method = method
        self.batch_size = batch_size
        self.n_steps = n_steps
        self.n_draws = n_draws
        self.n_chains = n_chains
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Sample the posterior of the topics.

        Args:
            X: Counts or vectors [D, V], sparse or dense; rows without an entry are kept and say nothing.
            y: Ignored.

        Raises:
            ValueError: A setting is out of range, X has NaN, or counts are negative.
        """
        settings = self._settings()
        corpus = MatrixCorpus(self._validated(X, reset=True, least_documents=2))
        self._document_frequencies, self._num_documents = corpus.document_frequencies, corpus.num_documents
        seed = self._seed()
        engines = [Engine(corpus, settings, seed=seed, chain=chain) for chain in range(self.n_chains)]
        draws = [sampled_topics(engine, self.n_steps) for engine in engines]
        self.settings_ = engines[0].settings
        self.temperature_ = np.array([engine.temperature.value() for engine in engines])
        self.topic_draws_ = align(np.concatenate(draws))
        self.topics_ = expected_topics(self.topic_draws_)
        return self

    def transform(self, X: Any) -> Float[np.ndarray, "D K"]:
        """Posterior mean of each document's mixture, over topics and mixtures both."""
        return self.transform_with_intervals(X)["mean"]

    def transform_with_intervals(self, X: Any) -> dict[str, Float[np.ndarray, "D K"]]:
        """Each document's mixture: ``{"mean", "low", "high"}``, with the ends of 90% intervals."""
        return document_mixtures(self._unit_rows(X), spaced(self.topic_draws_), self.settings_)

    def log_perplexity(self, X: Any, *, num_draws: int = 1, theta_draws: int = 200, seed: int = 0) -> float:
        """Held-out log-perplexity with N = ``num_draws`` (the last) and J = ``theta_draws``.

        See `geodrift.models.spherical_admixture.log_perplexity`.
        """
        rows = self._unit_rows(X)
        s = self.settings_
        topics = self.topic_draws_[-num_draws:]
        return log_perplexity(
            rows,
            topics,
            filled(s.document_concentration),
            s.doc_topic_prior,
            theta_draws=theta_draws,
            seed=seed,
        )

    def score(self, X: Any, y: None = None) -> float:
        """Minus `log_perplexity` at N = 1: larger is better."""
        return -self.log_perplexity(X)

    def top_words(self, vocabulary: list[str], *, top: int = 10) -> list[dict]:
        """Each topic's words at both ends with intervals; see `summarise_topics`."""
        check_is_fitted(self)
        return summarise_topics(self.topic_draws_, vocabulary, top=top)

    def _settings(self) -> Settings:
        return Settings(
            n_topics=self.n_topics,
            corpus_mean_concentration=self.corpus_mean_concentration,
            topic_concentration=self.topic_concentration,
            document_concentration=self.document_concentration,
            doc_topic_prior=self.doc_topic_prior,
            weighting=self.weighting,
            method=self.method,
            batch_size=self.batch_size,
            num_draws=self.n_draws,
        )

    def _may_be_negative(self) -> bool:
        return self.weighting == "none"

    def _where_negative_is_allowed(self) -> str:
        return '; for vectors take weighting="none"'

    def _unit_rows(self, X: Any) -> sp.csr_matrix:
        check_is_fitted(self)
        return weight_rows(
            self._validated(X, reset=False), self.weighting, self._document_frequencies, self._num_documents
        )
