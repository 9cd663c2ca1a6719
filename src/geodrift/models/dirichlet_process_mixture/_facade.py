"""The Dirichlet-process mixture of multinomials as a scikit-learn estimator."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from geodrift._whole import whole
from geodrift.kernels._streams import DPM_SAMPLE
from geodrift.models.clusters._law_of_number import law_of_number
from geodrift.models.dirichlet_process_mixture._chain import Chain
from geodrift.models.dirichlet_process_mixture._growing import GrowingRows
from geodrift.models.dirichlet_process_mixture._reports import ClusterReports
from geodrift.models.dirichlet_process_mixture._settings import Settings
from geodrift.models.dirichlet_process_mixture._stored_assignments import StoredAssignments
from geodrift.models.dirichlet_process_mixture.evaluation._log_predictive import Drawn, averaged, under_draws
from geodrift.models.dirichlet_process_mixture.evaluation._lone_rows import times_among
from geodrift.models.dirichlet_process_mixture.evaluation._membership import lone_of_told, told_membership
from geodrift.models.dirichlet_process_mixture.evaluation._sampled_rows import sampled_rows
from geodrift.models.dirichlet_process_mixture.model import MODEL
from geodrift.models.kit import _places
from geodrift.models.kit._allowed import Share
from geodrift.models.kit._content_hashes import content_hashes
from geodrift.models.kit._facade import MatrixCorpus
from geodrift.models.kit._fitted_rows import by_fitted

PASSES, LEAST_STEPS = 200, 400  # over the rows, and steps, of a fit that is not told how many


class DirichletProcessMixture(StoredAssignments, ClusterReports, GrowingRows):
    """Clusters of rows of counts, as many as the rows ask for, with a posterior.

    D rows, V words. What each setting is and may be stands on the page of settings. Clusters that have less
    than 1% of the rows are not told of one by one, unless the number of clusters is given.

    Args:
        n_clusters: K; None or "auto": a Dirichlet process, whose number of clusters is sampled.
        cluster_word_prior: a0, each word's Dirichlet parameter in a cluster.
        concentration: alpha; None: drawn with the clusters.
        method: "gibbs", exact; "scir" or "sgrld", the papers' minibatch methods.
        batch_size: S, rows of a step; None: the method's own.
        step_size: h of the papers' methods; None: their own.
        store_assignments: Whether draws hold the cluster of every row.
        cluster_groups: G, groups of clusters in which rows are redrawn; None: 1, or 8 with ``processes``.
        warm_up_fraction: Part of the steps that is warm-up.
        n_steps: Steps of each chain, warm-up included; None: those of 200 passes over the rows, and at
            least 400.
        n_draws: Stored draws of each chain, evenly spaced: of few steps fewer, and some more where they do
            not divide the steps.
        n_chains: Chains, which take steps side by side where there are cores for it.
        random_state: Seed, or a `numpy.random.RandomState`.
        processes: How many processes of this machine take the steps of `fit`, with the same draws for any
            number of them at one ``cluster_groups``; None: this one.

    Attributes:
        cluster_draws_: Posterior draws of the clusters that are told of, of all chains, aligned,
            [draw, cluster, word] float32; rows sum to 1. The largest is first.
        cluster_weight_draws_: Their weights, [draw, cluster]; with those of all others they sum to 1. 0: the
            draw lacks the cluster, and has the words of another draw of its chain in its place.
        cluster_size_draws_: The share of the rows that each has, [draw, cluster].
        number_of_clusters_draws_: Clusters that have rows, [draw].
        concentration_draws_: alpha, [draw].
        assignment_draws_: The cluster of each row, by its place in that draw, [draw, row]; None unless they
            are stored. Two rows are together in a draw where they agree.
        agreement_: How far the chains agree on each cluster.
        labels_: The most probable cluster of each row of `fit`, or of all calls of `partial_fit`; -1: none of
            those that are told of.
        settings_: The settings.

    Example:
        >>> model = DirichletProcessMixture(random_state=0).fit(counts)
        >>> probabilities = model.predict_proba(new_counts)
    """

    settings_type, model = Settings, MODEL

    def __init__(
        self,
        n_clusters: int | str | None = None,
        *,
        cluster_word_prior: float = 0.5,
        concentration: float | None = None,
        method: str = "gibbs",
        batch_size: int | None = None,
        step_size: float | None = None,
        store_assignments: bool = False,
        cluster_groups: int | None = None,
        warm_up_fraction: float = 0.5,
        n_steps: int | None = None,
        n_draws: int = 25,
        n_chains: int = 4,
        random_state: Any = None,
        processes: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.cluster_word_prior = cluster_word_prior
        self.concentration = concentration
        self.method = method
        self.batch_size = batch_size
        self.step_size = step_size
        self.store_assignments = store_assignments
        self.cluster_groups = cluster_groups
        self.warm_up_fraction = warm_up_fraction
        self.n_steps = n_steps
        self.n_draws = n_draws
        self.n_chains = n_chains
        self.random_state = random_state
        self.processes = processes

    def fit(self, X: Any, y: None = None) -> Self:
        """Sample the posterior of the clusters; what was fitted before is forgotten.

        Args:
            X: Counts [D, V], sparse or dense, whole numbers; rows without a word are kept and say nothing.
            y: Ignored.

        Raises:
            ValueError: A setting is out of range, or X has NaN, a negative value or a fraction.
            RuntimeError: The processes have failed.
        """
        settings = self._settings()
        corpus = MatrixCorpus(self._validated(X, reset=True))
        if not corpus.matrix.nnz:
            raise ValueError("X has no count above 0: there is nothing to fit")
        self.__dict__.pop("_seen", None)
        self._fit_chains(self._chains(Chain, corpus, settings), corpus, settings, corpus.num_documents)
        return self

    def _fit_chains(
        self, chains: list[Chain], corpus: MatrixCorpus, settings: Settings, new_rows: int
    ) -> None:
        """Sample, and keep what was found.

        Args:
            chains: At their start, or where they were with fewer rows.
            corpus: All rows.
            settings: Of the estimator.
            new_rows: Those that the chains have not seen.
        """
        batch = chains[0].move.batch_size
        passes = max(-(-PASSES * new_rows // batch), -(-corpus.num_documents // batch))
        steps = max(LEAST_STEPS, passes) if self.n_steps is None else whole("n_steps", self.n_steps)
        draws = self._sampled(chains, corpus, steps)
        told, self.agreement_ = _places.told(draws, settings.given is not None)
        flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in told.items()}
        self.settings_ = settings
        self.cluster_draws_, self.cluster_weight_draws_ = flat["clusters"], flat["cluster_weights"]
        self.cluster_size_draws_ = flat["cluster_sizes"]
        self._draws = {name: values.reshape(-1, *values.shape[2:]) for name, values in draws.items()}
        self.number_of_clusters_draws_ = self._draws["number_of_clusters"]
        self.concentration_draws_ = self._draws["concentration"]
        self.assignment_draws_ = self._draws.get("assignments")
        self._lengths = np.asarray(corpus.matrix.sum(axis=1)).ravel().astype(np.int64)
        self._fitted = content_hashes(corpus.matrix)
        self.labels_ = self._labels(self._membership(corpus.matrix)["mean"])

    def fit_predict(self, X: Any, y: None = None) -> Int[np.ndarray, " D"]:
        """Fit, and the labels of the rows."""
        return self.fit(X).labels_

    def predict(self, X: Any) -> Int[np.ndarray, " D"]:
        """The most probable cluster of each row; -1: none of those that are told of."""
        return self._labels(self.predict_proba(X))

    def predict_proba(self, X: Any) -> Float[np.ndarray, "D K"]:
        """The probability of each cluster for each row; rows sum to 1.

        The last column is that of all clusters which are not told of, unless their number was given.
        """
        return self.transform_with_intervals(X)["mean"]

    def transform_with_intervals(self, X: Any) -> dict[str, Float[np.ndarray, "D K"]]:
        """`predict_proba` with 90% intervals; NaN for a cluster that the chains of `fit` do not share."""
        check_is_fitted(self)
        return self._membership(self._validated(X, reset=False))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns of `transform`, also after `set_output`: cluster0, ..., others."""
        del input_features
        check_is_fitted(self)
        names = [f"cluster{k}" for k in range(self.cluster_draws_.shape[1])]
        return np.array(names if self._given else [*names, "others"], dtype=object)

    def score_samples(self, X: Any) -> Float[np.ndarray, " D"]:
        """Log density of each row, averaged over the draws; multinomial coefficients are left out."""
        check_is_fitted(self)
        rows = self._validated(X, reset=False)
        return averaged(under_draws(rows, Drawn.of(self._draws), self.settings_.cluster_word_prior))

    def score(self, X: Any, y: None = None) -> float:
        """Mean of `score_samples`: larger is better."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1, *, seed: int = 0) -> tuple[sp.csr_matrix, Int[np.ndarray, " D"]]:
        """Rows from the posterior predictive law, each from a draw and of the length of a row of `fit`.

        Returns:
            Counts [n_samples, V], and the clusters of the rows; -1: none of those that are told of.
        """
        check_is_fitted(self)
        n_samples = whole("n_samples", n_samples)
        rng, prior = DPM_SAMPLE.generator(seed), self.settings_.cluster_word_prior
        return sampled_rows(n_samples, self._draws, self._orders(), self._lengths, prior, rng)

    def number_of_clusters(self, least: float = _places.LEAST_SHARE) -> dict[str, Any]:
        """The posterior of how many clusters have more than the share ``least`` of the rows, 0 or more.

        ``{"name", "of", "mean", "low", "high", "probabilities"}``, with the ends of the 90% interval.
        """
        check_is_fitted(self)
        if not Share().holds(least):
            raise ValueError(f"least = {least!r}: a share of the rows must be {Share.text}")
        numbers = _places.numbers_above(self._of_chains(self._draws["cluster_sizes"]), least)
        return law_of_number(numbers, "number_of_clusters_above", least)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # scikit-learn's checks ask every estimator with `predict_proba` whether it knows only two classes.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    @property
    def _given(self) -> bool:
        return self.settings_.given is not None

    def _orders(self) -> Int[np.ndarray, "N K"]:
        """For each draw and each place, the number of the draw's cluster."""
        orders = self.agreement_.orders
        return orders.reshape(-1, orders.shape[2])

    def _of_chains(self, draws: np.ndarray) -> np.ndarray:
        return draws.reshape(len(self.agreement_.cosines), -1, *draws.shape[1:])

    def _membership(self, rows: sp.csr_matrix) -> dict[str, Float[np.ndarray, "D K"]]:
        given: Any = self._draws, self.agreement_, self.settings_.cluster_word_prior
        known = len(self._fitted), times_among(self._fitted)
        lone = None if self._given else lone_of_told(self._draws, self.agreement_, *known)

        def weigh(some: sp.csr_matrix, fitted: bool) -> dict[str, Float[np.ndarray, "D K"]]:
            return told_membership(some, *given, others=not self._given, fitted=fitted, lone=lone)

        return by_fitted(rows, self._fitted, weigh)

    def _labels(self, probabilities: Float[np.ndarray, "D K"]) -> Int[np.ndarray, " D"]:
        labels = probabilities.argmax(axis=1)
        return np.where(labels < self.cluster_draws_.shape[1], labels, -1)
