"""Latent Dirichlet allocation as a scikit-learn estimator."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from geodrift._whole import whole
from geodrift.models.kit import _places
from geodrift.models.kit._chain import warn_of_doubts
from geodrift.models.kit._facade import MatrixCorpus
from geodrift.models.kit._fitted_rows import by_fitted, hashes_of
from geodrift.models.latent_dirichlet_allocation._chain import Chain
from geodrift.models.latent_dirichlet_allocation._facade_priors import LearntPriors
from geodrift.models.latent_dirichlet_allocation._facade_stream import StreamedDocuments
from geodrift.models.latent_dirichlet_allocation._settings import Settings
from geodrift.models.latent_dirichlet_allocation.documents._chain_means import chain_means
from geodrift.models.latent_dirichlet_allocation.documents._mixtures import document_mixtures
from geodrift.models.latent_dirichlet_allocation.evaluation._completion import (
    CompletionScore,
    completion_perplexity,
)
from geodrift.models.latent_dirichlet_allocation.evaluation._topic_checks import topic_checks
from geodrift.models.latent_dirichlet_allocation.model import MODEL
from geodrift.models.topics._answers import TRANSFORM_DRAWS
from geodrift.models.topics._facade import spaced

PERPLEXITY_DRAWS = 10
LEAST_STEPS, PASSES = 400, 200  # of `fit`


class LatentDirichletAllocation(StreamedDocuments, LearntPriors):
    """Topics of documents as probabilities of words, with a posterior: Blei, Ng and Jordan (2003).

    D documents, V words, K topics. `fit` samples the posterior of a corpus in memory; `partial_fit` takes
    documents as they come, keeps none of them, and needs the same memory however many have come. Its
    intervals are too narrow while it warms up, for 140 pieces or 65,536 documents. Values are checked by
    `fit`, which raises ValueError. What each setting is and may be stands on the page of settings.

    Args:
        n_topics: K.
        doc_topic_prior: alpha, each component's Dirichlet parameter, or K of them.
        learn_doc_topic_prior: "no", "symmetric" or "asymmetric": whether alpha is drawn too.
        topic_word_prior: eta, each word's.
        learn_topic_word_prior: "no" or "symmetric": whether eta is drawn too.
        method: "gibbs" keeps every token's assignment and is exact; "scir", "sgrld", "sgrhmc", "sgld" and
            "sghmc" use counts of minibatches scaled to the corpus. `partial_fit`, which keeps nothing, takes
            "scir" where this is "gibbs".
        batch_size: S, documents of one step.
        early_sweeps: Sweeps over each document when it is first seen.
        sweeps: Sweeps over each document of a minibatch after that.
        step_size: (a, b, c) of the schedule a (b + t)^-c, a time, of all methods but "gibbs".
        gammas_on: "posterior" or "prior": what the unnormalised topics of the methods other than gibbs are.
        warm_up_fraction: Part of the steps that is warm-up.
        n_steps: Steps of each chain in `fit`, warm-up included; None: those of 200 passes over the documents,
            and at least 400.
        n_draws: Stored draws of each chain, at most.
        n_chains: Chains; of `fit` they take steps side by side where there are cores for it, of
            `partial_fit` each learns from all documents.
        total_documents: For `partial_fit`: documents that the stream will have, where that is known; without
            it the posterior is that of the documents which have come.
        random_state: Seed, or a `numpy.random.RandomState`.
        verbose: Above 0, `fit` shows its progress on stderr.
        processes: How many processes of this machine take the steps of `fit`; None: this one.

    Attributes:
        topic_draws_: Posterior draws of all chains, aligned, [draw, topic, word] float32; rows sum to 1.
            After `partial_fit`: evenly spaced ones of the latter half of the stream, of each chain.
        doc_topic_prior_draws_: alpha in each draw, [draw, topic], where it is learnt; else None.
        topic_word_prior_draws_: eta in each draw, [draw], where it is learnt; else None.
        learnt_priors_: Mean and 90% interval of eta, of alpha or, where topics differ, of its sum, those that
            are learnt: ``{"name", "of", "mean", "low", "high"}`` each.
        topics_: The posterior mean of each topic, over the draws of the chains that have found it,
            [topic, word] float32; rows sum to 1.
        components_: The same under the name that scikit-learn's LDA has for it.
        settings_: The settings.
        n_features_in_: V.

    Example:
        >>> model = LatentDirichletAllocation(n_topics=20, random_state=0).fit(counts)
        >>> mixtures = model.transform(new_counts)
    """

    settings_type, model = Settings, MODEL
    sizes_of = MODEL.sizes_of

    def __init__(
        self,
        n_topics: int = 20,
        *,
        doc_topic_prior: float | Sequence[float] = 0.1,
        learn_doc_topic_prior: str = "no",
        topic_word_prior: float = 0.01,
        learn_topic_word_prior: str = "no",
        method: str = "gibbs",
        batch_size: int | None = None,
        early_sweeps: int | None = None,
        sweeps: int = 1,
        step_size: tuple[float, float, float] | None = None,
        gammas_on: str = "posterior",
        warm_up_fraction: float = 0.5,
        n_steps: int | None = None,
        n_draws: int = 25,
        n_chains: int = 4,
        total_documents: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        processes: int | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.doc_topic_prior = doc_topic_prior
        self.learn_doc_topic_prior = learn_doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.learn_topic_word_prior = learn_topic_word_prior
        self.method = method
        self.batch_size = batch_size
        self.early_sweeps = early_sweeps
        self.sweeps = sweeps
        self.step_size = step_size
        self.gammas_on = gammas_on
        self.warm_up_fraction = warm_up_fraction
        self.n_steps = n_steps
        self.n_draws = n_draws
        self.n_chains = n_chains
        self.total_documents = total_documents
        self.random_state = random_state
        self.verbose = verbose
        self.processes = processes

    def fit(self, X: Any, y: None = None, *, start_from: Any = None) -> "LatentDirichletAllocation":
        """Sample the posterior of the topics; what was fitted before is forgotten.

        Args:
            X: Counts [D, V], sparse or dense, whole numbers; rows without a word are kept and say nothing.
            y: Ignored.
            start_from: Topics to begin at, [topic, word] in X's columns, one set or one a chain; or a
                fitted estimator, a model of gensim, tomotopy, BERTopic or scikit-learn, or the path of a run.
                Words are matched by the names of X's columns. A start is no prior: the draws are those of the
                posterior.

        Raises:
            ValueError: A setting is out of range, or X has NaN, a negative value or a fraction.
            RuntimeError: Processes have failed.
            RunWarning: (a warning) Draws are of some of the documents: too few steps for all to join.
        """
        settings = self._settings()
        corpus = MatrixCorpus(self._validated(X, reset=True, least_documents=2))
        chains = self._chains(Chain, corpus, settings, start := self._start(start_from))
        steps = _default_steps(chains[0]) if self.n_steps is None else whole("n_steps", self.n_steps)
        draws = self._draws_of(chains, self._sampled(chains, corpus, steps, start))
        warn_of_doubts(chains)
        self._forget()
        self.settings_, self._draws = settings, draws["topics"]
        self._fitted = hashes_of(corpus.matrix)
        self.doc_topic_prior_draws_ = draws.get("doc_topic_prior")
        self.topic_word_prior_draws_ = draws.get("topic_word_prior")
        return self

    def transform_with_intervals(self, X: Any) -> dict[str, Float[np.ndarray, "D K"]]:
        """Mixtures: means, and ends of 90% intervals, NaN for a topic that the chains do not share."""
        return self._of_shared(self._mixtures(X, intervals=True))

    def transform(self, X: Any) -> Float[np.ndarray, "D K"]:
        """The means of `transform_with_intervals`, in a tenth of the time."""
        return self._of_shared(self._mixtures(X, intervals=False))["mean"]

    def _mixtures(self, X: Any, *, intervals: bool) -> dict[str, Float[np.ndarray, "D K"]]:
        check_is_fitted(self)
        rows, prior = self._validated(X, reset=False), self._prior(TRANSFORM_DRAWS)
        chosen = _places.spaced(len(self.topic_draws_), TRANSFORM_DRAWS)
        new, own = chain_means(self._of_chains(self.topic_draws_), chosen), self.topic_draws_[chosen]
        how: dict[str, Any] = {"found": self._found(TRANSFORM_DRAWS), "intervals": intervals}

        def weigh(some: Any, old: bool) -> dict[str, Float[np.ndarray, "D K"]]:
            return document_mixtures(some, own if old else new, prior, **how)

        return by_fitted(rows, getattr(self, "_fitted", None), weigh)

    def perplexity(self, X: Any, *, seed: int = 0) -> float:
        """Of a tenth of each document's words given the others; lower is better: `completion_perplexity`."""
        return self._completion(X, seed).perplexity

    def score(self, X: Any, y: None = None) -> float:
        """Mean log-likelihood of a held-out word, minus the logarithm of `perplexity`: larger is better."""
        return self._completion(X, 0).log_likelihood_per_token

    def _completion(self, X: Any, seed: int) -> CompletionScore:
        check_is_fitted(self)
        draws, rows = spaced(self.topic_draws_, PERPLEXITY_DRAWS), self._validated(X, reset=False)
        return completion_perplexity(rows, draws, self._prior(PERPLEXITY_DRAWS), seed=seed)

    def _checks(self, X: Any, vocabulary: Sequence[str]) -> list[dict[str, Any]]:
        rows, draws = self._validated(X, reset=False), spaced(self.topic_draws_)
        found = self._found(TRANSFORM_DRAWS)
        return topic_checks(rows, draws, self._prior(len(draws)), vocabulary, found=found)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "settings_")


def _default_steps(chain: Chain) -> int:
    return max(LEAST_STEPS, -(-PASSES * chain.source.num_documents // chain.move.batch_size))
