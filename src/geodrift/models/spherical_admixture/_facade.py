"""The spherical admixture model as a scikit-learn estimator."""

import math
import warnings
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from geodrift._errors import RunWarning
from geodrift._whole import is_whole, whole
from geodrift.driver import sampled
from geodrift.models.kit._facade import MatrixCorpus
from geodrift.models.kit._spread_draws import spread_draws
from geodrift.models.spherical_admixture._chain import Chain
from geodrift.models.spherical_admixture._settings import Settings, filled
from geodrift.models.spherical_admixture.documents._mixtures import document_mixtures
from geodrift.models.spherical_admixture.documents._weighting import weight_rows
from geodrift.models.spherical_admixture.evaluation._log_perplexity import log_perplexity
from geodrift.models.topics._answers import TRANSFORM_DRAWS
from geodrift.models.topics._facade import TopicModelFacade, spaced

TEMPERATURE_OFF = 0.25  # from 1, beyond what short runs that are right have


class SphericalAdmixture(TopicModelFacade):
    """Topics of documents as unit vectors, with a posterior.

    The model is that of Reisinger et al. 2010 with the corpus mean integrated out, Eq. (9) of Liu et al.
    2016. D documents, V words, K topics. Values are checked by `fit`, which raises ValueError. What each
    setting is and may be stands on the page of settings.

    Args:
        n_topics: K.
        corpus_mean_concentration: kappa_0; None: 2 V.
        topic_concentration: sigma; None: 2 V.
        document_concentration: kappa; None: 6 V.
        doc_topic_prior: alpha, each component's.
        weighting: "tfidf" or "tf" for counts, "none" for vectors such as embeddings, which may be dense
            and negative.
        method: Sampler of the topics.
        batch_size: S, documents of one step.
        latents: "kept" or "fresh": where the gradient's sums over documents come from.
        subtract_noise: Subtract the variance of the "fresh" estimate from the injected noise.
        mixture_burn_in: Transitions of a document's mixture before the first that counts.
        mixture_draws: N, mixtures averaged ("fresh") or transitions made ("kept").
        mixture_leapfrog_steps: Leapfrog steps of one mixture transition.
        num_steps: L, topic steps after each renewal of mixtures.
        step_size: h, a time; None: tuned during warm-up.
        friction: C, 1/time; None: tuned with the step size.
        warm_up_fraction: Part of the steps that is warm-up.
        n_steps: Steps of each chain, warm-up included.
        n_draws: Stored draws of each chain, evenly spaced: of few steps fewer, and some more where they do
            not divide the steps.
        n_chains: Chains, which take steps side by side where there are cores for it.
        random_state: Seed, or a `numpy.random.RandomState`.
        verbose: Above 0, `fit` shows its progress on stderr.

    Attributes:
        topic_draws_: Posterior draws of all chains, aligned, [draw, topic, word] float32.
        topics_: The mean direction of each topic, over the draws of the chains that have found it,
            [topic, word] float32.
        components_: The same under the name that scikit-learn's LDA has for it.
        settings_: The settings with every default resolved.
        temperature_: Configurational temperature of each chain, [chain]; 1 for the posterior.
        n_features_in_: V.

    Example:
        >>> model = SphericalAdmixture(n_topics=20, random_state=0).fit(counts)
        >>> mixtures = model.transform(new_counts)
    """

    settings_type = Settings
    signed = True

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
        latents: str = "kept",
        subtract_noise: bool = True,
        mixture_burn_in: int = 0,
        mixture_draws: int = 8,
        mixture_leapfrog_steps: int = 10,
        num_steps: int = 1,
        step_size: float | None = None,
        friction: float | None = None,
        warm_up_fraction: float = 0.5,
        n_steps: int = 4000,
        n_draws: int = 25,
        n_chains: int = 4,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_topics = n_topics
        self.corpus_mean_concentration = corpus_mean_concentration
        self.topic_concentration = topic_concentration
        self.document_concentration = document_concentration
        self.doc_topic_prior = doc_topic_prior
        self.weighting = weighting
        self.method = method
        self.batch_size = batch_size
        self.latents = latents
        self.subtract_noise = subtract_noise
        self.mixture_burn_in = mixture_burn_in
        self.mixture_draws = mixture_draws
        self.mixture_leapfrog_steps = mixture_leapfrog_steps
        self.num_steps = num_steps
        self.step_size = step_size
        self.friction = friction
        self.warm_up_fraction = warm_up_fraction
        self.n_steps = n_steps
        self.n_draws = n_draws
        self.n_chains = n_chains
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: None = None, *, start_from: Any = None) -> Self:
        """Sample the posterior of the topics.

        Args:
            X: Counts or vectors [D, V], sparse or dense; rows without an entry are kept and say nothing.
            y: Ignored.
            start_from: Topics to begin at, [topic, word] in X's columns, one set or one a chain; or a
                fitted estimator, a model of gensim, tomotopy, BERTopic or scikit-learn, or the path of a run.
                Words are matched by the names of X's columns. A start is no prior: the draws are those of the
                posterior.

        Raises:
            ValueError: A setting is out of range, X has NaN, or counts are negative.
        """
        settings = self._settings()
        corpus = MatrixCorpus(self._validated(X, reset=True, least_documents=2))
        chains = self._chains(Chain, corpus, settings, self._start(start_from))
        found = sampled(chains, whole("n_steps", self.n_steps), verbose=self._shows_progress())
        self.topic_draws_ = self._draws_of(chains, found)["topics"]
        self._document_frequencies, self._num_documents = corpus.document_frequencies, corpus.num_documents
        self.settings_ = chains[0].settings
        self.temperature_ = np.array([chain.temperature.value() for chain in chains])
        self._warn_of_temperatures()
        return self

    def _warn_of_temperatures(self) -> None:
        """Say so where the draws of a chain are not those of the posterior."""
        wrong = np.flatnonzero(np.abs(self.temperature_ - 1.0) > TEMPERATURE_OFF)
        if len(wrong):
            told = ", ".join(f"{self.temperature_[chain]:.2f} of chain {chain}" for chain in wrong)
            warnings.warn(
                f"the configurational temperature is {told}, and should be 1: take more steps (n_steps), so"
                " that the chain comes to rest, or step_size=None where a step was given",
                RunWarning,
                stacklevel=3,
            )

    def transform_with_intervals(self, X: Any) -> dict[str, Float[np.ndarray, "D K"]]:
        """Each document's mixture, over topics and mixtures: means, and the ends of 90% intervals.

        The ends are NaN for a topic that the chains do not share. Of the topics' draws 20 are used, evenly
        spaced; `geodrift transform` takes all, in as much more time.
        """
        topics, found = spaced(self.topic_draws_), self._found(TRANSFORM_DRAWS)
        return self._of_shared(document_mixtures(self._unit_rows(X), topics, self.settings_, found=found))

    def log_perplexity(self, X: Any, *, num_draws: int = 1, theta_draws: int = 200, seed: int = 0) -> float:
        """Held-out log-perplexity with N = ``num_draws`` and J = ``theta_draws``.

        The draws are ceil(N / chains) of each chain, evenly spaced, the last among them; see
        `geodrift.models.spherical_admixture.log_perplexity`.

        Raises:
            ValueError: There are not so many draws, or a number is not whole.
        """
        rows = self._unit_rows(X)
        s = self.settings_
        draws, chains = self.topic_draws_, len(self.agreement_.cosines)
        if not (is_whole(num_draws, 1) and num_draws <= len(draws)):
            raise ValueError(f"num_draws must be from 1 to {len(draws)}, which there are, got {num_draws!r}")
        of_chains = draws.reshape(chains, -1, *draws.shape[1:])
        chosen = spread_draws(of_chains.shape[1], math.ceil(num_draws / chains))
        topics = of_chains[:, chosen].reshape(-1, *draws.shape[1:])
        return log_perplexity(
            rows,
            topics,
            filled(s.document_concentration),
            s.doc_topic_prior,
            theta_draws=whole("theta_draws", theta_draws),
            seed=seed,
        )

    def score(self, X: Any, y: None = None) -> float:
        """Minus `log_perplexity` under the last draw of each chain: larger is better."""
        return -self.log_perplexity(X)

    def _may_be_negative(self) -> bool:
        return self.weighting == "none"

    def _where_negative_is_allowed(self) -> str:
        return '; for vectors take weighting="none"'

    def _unit_rows(self, X: Any) -> sp.csr_matrix:
        check_is_fitted(self)
        return weight_rows(
            self._validated(X, reset=False),
            self.settings_.weighting,
            self._document_frequencies,
            self._num_documents,
        )
