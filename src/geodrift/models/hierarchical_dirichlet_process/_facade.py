"""The hierarchical Dirichlet process as a scikit-learn estimator."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from geodrift._whole import whole
from geodrift.driver import sampled
from geodrift.models.clusters._law_of_number import law_of_number
from geodrift.models.hierarchical_dirichlet_process._all_topics import as_lda, some_of, told_first, with_means
from geodrift.models.hierarchical_dirichlet_process._answers import HierarchicalAnswers
from geodrift.models.hierarchical_dirichlet_process._chain import STORED_SHARE, Chain
from geodrift.models.hierarchical_dirichlet_process._open_completion import open_completion
from geodrift.models.hierarchical_dirichlet_process._open_mixtures import open_mixtures
from geodrift.models.hierarchical_dirichlet_process._settings import Settings
from geodrift.models.kit import _places
from geodrift.models.kit._allowed import Share
from geodrift.models.kit._chain import warn_of_doubts
from geodrift.models.kit._component_answers import flat
from geodrift.models.kit._facade import MatrixCorpus
from geodrift.models.kit._fitted_rows import by_fitted, hashes_of
from geodrift.models.kit._found_draws import draws_found
from geodrift.models.latent_dirichlet_allocation.evaluation._completion import CompletionScore
from geodrift.models.topics._answers import TRANSFORM_DRAWS
from geodrift.models.topics._command import SIZES_OF_TOKENS
from geodrift.models.topics._facade import TopicModelFacade

PERPLEXITY_DRAWS = 10
LEAST_STEPS, PASSES = 1000, 400  # of `fit`: topics that are too many take hundreds of passes to go


class HierarchicalDirichletProcess(TopicModelFacade):
    """Topics of documents, as many as these ask for, with a posterior: Teh, Jordan, Beal and Blei (2006).

    D documents, V words. What each setting is and may be stands on the page of settings. Topics that have
    less than 1% of the tokens are sampled like the others and not told of one by one.

    Args:
        first_topics: Topics that a chain starts with; None: 50, or as many as there are documents.
        topic_word_prior: eta, each word's Dirichlet parameter in a topic.
        mixture_concentration: alpha_0; None: drawn with the topics.
        weight_concentration: gamma; None: drawn with the topics.
        batch_size: S, documents of a step; None: as many as hold 2^19 tokens.
        warm_up_fraction: Part of the steps that is warm-up.
        n_steps: Steps of each chain, warm-up included; None: those of 400 passes over the documents, and at
            least 1,000.
        n_draws: Stored draws of each chain, evenly spaced: of few steps fewer, and some more where they do
            not divide the steps.
        n_chains: Chains, which take steps side by side where there are cores for it.
        random_state: Seed, or a `numpy.random.RandomState`.
        verbose: Above 0, `fit` shows its progress on stderr.

    Attributes:
        topic_draws_: Posterior draws of the topics that are told of, of all chains, aligned,
            [draw, topic, word] float32; rows sum to 1. The largest is first.
        topic_weight_draws_: Their weights beta, [draw, topic]; with those of all others they sum to 1. 0: the
            draw lacks the topic, and has the words of another draw of its chain in its place.
        topic_size_draws_: The share of the tokens that each has, [draw, topic].
        number_draws_: Numbers of each draw, [draw] each: ``number_of_topics`` that have tokens,
            ``mixture_concentration`` (alpha_0), ``weight_concentration`` (gamma), ``log_joint`` and
            ``other_weight``, that of the topics which are not stored one by one.
        topics_: The posterior mean of each topic that is told of, over the draws of the chains that have
            found it, [topic, word].
        components_: The same under the name that scikit-learn's LDA has for it.
        agreement_: How far the chains agree on each topic.
        settings_: The settings.
        n_features_in_: V.

    Example:
        >>> model = HierarchicalDirichletProcess(random_state=0).fit(counts)
        >>> model.number_of_topics()["low"], model.number_of_topics()["high"]
    """

    settings_type = Settings
    sizes_of = SIZES_OF_TOKENS

    def __init__(
        self,
        first_topics: int | None = None,
        *,
        topic_word_prior: float = 0.01,
        mixture_concentration: float | None = None,
        weight_concentration: float | None = None,
        batch_size: int | None = None,
        warm_up_fraction: float = 0.5,
        n_steps: int | None = None,
        n_draws: int = 25,
        n_chains: int = 4,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.first_topics = first_topics
        self.topic_word_prior = topic_word_prior
        self.mixture_concentration = mixture_concentration
        self.weight_concentration = weight_concentration
        self.batch_size = batch_size
        self.warm_up_fraction = warm_up_fraction
        self.n_steps = n_steps
        self.n_draws = n_draws
        self.n_chains = n_chains
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: None = None) -> Self:
        """Sample the posterior of the topics; what was fitted before is forgotten.

        Args:
            X: Counts [D, V], sparse or dense, whole numbers; rows without a word are kept and say nothing.
            y: Ignored.

        Raises:
            ValueError: A setting is out of range, or X has NaN, a negative value or a fraction.
            RunWarning: (a warning) Draws are of some of the documents: too few steps for all to join.
        """
        settings = self._settings()
        corpus = MatrixCorpus(self._validated(X, reset=True))
        chains = self._chains(Chain, corpus, settings)
        passes = -(-PASSES * corpus.num_documents // chains[0].move.batch_size)
        steps = max(LEAST_STEPS, passes) if self.n_steps is None else whole("n_steps", self.n_steps)
        draws = sampled(chains, steps, verbose=self._shows_progress())
        warn_of_doubts(chains)
        found, self.agreement_ = _places.told(draws, False, component="topic")
        of_topics = flat(found)
        self.topic_draws_, self.topic_weight_draws_ = of_topics["topics"], of_topics["topic_weights"]
        self.settings_, self._draws = settings, flat(draws)
        self._fitted = hashes_of(corpus.matrix)
        self._keep_numbers(self._draws | of_topics)
        return self

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns of `transform`: topic0, topic1, ..., and others.

        Args:
            input_features: Ignored.
        """
        return np.append(super().get_feature_names_out(input_features), "others")

    def transform_with_intervals(self, X: Any) -> dict[str, Float[np.ndarray, "D K"]]:
        """Each document's mixture, over topics and mixtures: means, and the ends of 90% intervals.

        The last column is that of all topics which are not told of. The ends are NaN for a topic that the
        chains of `fit` do not share.
        """
        check_is_fitted(self)
        rows = self._validated(X, reset=False)
        orders = self.agreement_.orders.reshape(-1, self.topic_draws_.shape[1])
        some, chosen = some_of(self._draws, TRANSFORM_DRAWS)
        topics, alpha = told_first(some, orders[chosen])
        told = self._of_chains(self.topic_draws_), self._of_chains(self.topic_weight_draws_)
        found = draws_found(self.agreement_, chosen, 1)
        eta = self.settings_.topic_word_prior

        def weigh(rows: sp.csr_matrix, fitted: bool) -> dict[str, Float[np.ndarray, "D K"]]:
            under = topics if fitted else with_means(topics, *told, chosen)
            return open_mixtures(rows, under, alpha, eta, told=orders.shape[1], found=found)

        weights = by_fitted(rows, self._fitted, weigh)
        return _places.with_intervals(weights, self.agreement_)

    def number_of_topics(self, least: float = _places.LEAST_SHARE) -> dict[str, Any]:
        """The posterior of how many topics have more than the share ``least`` of the tokens, 0.001 or more.

        ``{"name", "of", "mean", "low", "high", "probabilities"}``, with the ends of the 90% interval.
        ``number_draws_["number_of_topics"]`` is that of all topics.
        """
        check_is_fitted(self)
        if not (Share().holds(least) and least >= STORED_SHARE):
            raise ValueError(f"least must be at least {STORED_SHARE} and below 1, got {least!r}")
        numbers = _places.numbers_above(self._of_chains(self._draws["topic_sizes"]), least)
        return law_of_number(numbers, "number_of_topics_above", least, HierarchicalAnswers.counted_data)

    def _told_numbers(self) -> list[dict[str, Any]]:
        drawn = self._of_chains(self.number_draws_["number_of_topics"])
        data = HierarchicalAnswers.counted_data
        return [law_of_number(drawn, "number_of_topics", data=data), self.number_of_topics()]

    def perplexity(self, X: Any, *, seed: int = 0) -> float:
        """Perplexity of a tenth of each document's words given the others; lower is better.

        Under at most `PERPLEXITY_DRAWS` of the draws, all topics of them; see `completion_perplexity`.
        """
        return self._completion(X, seed).perplexity

    def score(self, X: Any, y: None = None) -> float:
        """Mean log-likelihood of a held-out word, minus the logarithm of `perplexity`: larger is better."""
        return self._completion(X, 0).log_likelihood_per_token

    def _other_draws(self) -> dict[str, tuple[np.ndarray, tuple[str, ...]]]:
        return super()._other_draws() | {"topic_weights": (self.topic_weight_draws_, ("topic",))}

    def _completion(self, X: Any, seed: int) -> CompletionScore:
        check_is_fitted(self)
        rows = self._validated(X, reset=False)
        some, eta = some_of(self._draws, PERPLEXITY_DRAWS)[0], self.settings_.topic_word_prior
        return open_completion(rows, *as_lda(some), eta, seed=seed)
