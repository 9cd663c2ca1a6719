"""Von Mises-Fisher mixtures as a scikit-learn estimator."""

from typing import Any, ClassVar, Self

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from geodrift._whole import whole
from geodrift.data import csr_or_dense
from geodrift.driver import sampled
from geodrift.kernels._streams import VMF_PREDICTIVE
from geodrift.models.clusters import ClusterCount, cluster_count, coclustering
from geodrift.models.clusters._labels import AUTO
from geodrift.models.kit._kept_columns import columns_kept
from geodrift.models.kit._settings import settings_of
from geodrift.models.von_mises_fisher_mixture._chain import Chain
from geodrift.models.von_mises_fisher_mixture._known_rows import KnownRows
from geodrift.models.von_mises_fisher_mixture._partition import partition_of
from geodrift.models.von_mises_fisher_mixture._partition_membership import Posterior, membership
from geodrift.models.von_mises_fisher_mixture._predict import Draw, score_samples
from geodrift.models.von_mises_fisher_mixture._reports import ClusterReports
from geodrift.models.von_mises_fisher_mixture._rows import Rows
from geodrift.models.von_mises_fisher_mixture._rows_of import check_differ, checked_width, joined, rows_of
from geodrift.models.von_mises_fisher_mixture._sampled_rows import sampled_rows
from geodrift.models.von_mises_fisher_mixture._settings import Settings

LEAST_PASSES, MOST_PASSES, ROWS_REDRAWN = 100, 1_000, 500_000  # of `fit`


class VonMisesFisherMixture(ClusterReports, ClusterMixin, DensityMixin, BaseEstimator):
    """Clusters of unit vectors with a posterior.

    N rows, d numbers each, K clusters: x_i | z_i = k ~ vMF(mu_k, kappa_k), weights ~ Dirichlet, directions
    uniform on the sphere or with a von Mises-Fisher prior, concentrations with a prior of their own. Values
    are checked by `fit`, which raises ValueError. What each setting is and may be
    `geodrift.models.von_mises_fisher_mixture.Settings` says.

    Args:
        n_clusters: K, or "auto": the number is inferred, with a posterior.
        number_prior: Of an inferred number: "finite mixtures" or "Dirichlet process".
        most_clusters: Largest K of finite mixtures.
        weight_prior: Dirichlet parameter of a cluster's weight, or alpha; None: 1, or alpha is drawn.
        concentration_median: Prior median of kappa; None: d.
        concentration_shape: p of kappa / (kappa + median) ~ Beta(p, p).
        shared_concentration: One kappa for all clusters, or each its own; None: one where K is given.
        background: Dirichlet parameter of a uniform component for rows of no cluster; 0: there is none.
        normalise: Scale rows to norm 1, which are refused otherwise.
        batch_size: S, rows of one step.
        cluster_groups: G, groups of clusters in which rows are redrawn; None: 1.
        direction_prior: kappa_0 m_0 of the directions' prior, [d]; None: uniform.
        warm_up_fraction: Part of the steps that is warm-up.
        n_passes: Passes over the rows of each chain, warm-up included; None: 100, and of few rows as many as
            redraw half a million, at most 1,000.
        n_draws: Stored draws of each chain, evenly spaced: of few steps fewer, and some more where they do
            not divide the steps.
        n_chains: Chains, each from a start of its own.
        random_state: Seed, or a `numpy.random.RandomState`.

    Attributes:
        labels_: The partition of least expected variation of information under the draws, of at most K
            clusters where K is given, the largest cluster 0, [row]; with a background, -1 for rows of no
            cluster.
        assignments_: Draws of the assignments, [chain, draw, row]; -1 is the background.
        draws_: All stored variables by name, [chain, draw, ...]; clusters of a draw in the order of its
            labels.
        cluster_count_: Posterior of the number of clusters above 1% of the rows.
        n_features_in_: d.

    Example:
        >>> model = VonMisesFisherMixture("auto", random_state=0).fit(embeddings)
        >>> model.cluster_count_.low, model.cluster_count_.high
    """

    settings_type: ClassVar[type[Settings]] = Settings

    def __init__(
        self,
        n_clusters: int | str = AUTO,
        *,
        number_prior: str = "finite mixtures",
        most_clusters: int = 1_000,
        weight_prior: float | None = None,
        concentration_median: float | None = None,
        concentration_shape: float = 1.0,
        shared_concentration: bool | None = None,
        background: float = 0.0,
        normalise: bool = False,
        batch_size: int = 2_048,
        cluster_groups: int | None = None,
        direction_prior: Any = None,
        warm_up_fraction: float = 0.5,
        n_passes: int | None = None,
        n_draws: int = 25,
        n_chains: int = 4,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.number_prior = number_prior
        self.most_clusters = most_clusters
        self.weight_prior = weight_prior
        self.concentration_median = concentration_median
        self.concentration_shape = concentration_shape
        self.shared_concentration = shared_concentration
        self.background = background
        self.normalise = normalise
        self.batch_size = batch_size
        self.cluster_groups = cluster_groups
        self.direction_prior = direction_prior
        self.warm_up_fraction = warm_up_fraction
        self.n_passes = n_passes
        self.n_draws = n_draws
        self.n_chains = n_chains
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Sample the posterior.

        Args:
            X: Unit vectors [N, d]: an array, a memory map of half, single or double precision, or a sparse
                matrix.
            y: Ignored.

        Raises:
            ValueError: A setting is out of range, a value is not finite, a row is zero or not of norm 1,
                there are fewer rows than clusters, fewer than 2, or all are equal.
        """
        self._fit(settings_of(self, Settings), self._rows(X, reset=True))
        self.__dict__.pop("_seen", None)
        return self

    def partial_fit(self, X: Any, y: None = None) -> Self:
        """Add rows: what `fit` finds in all rows so far; after `fit` it begins anew.

        The rows are kept and gone over again, as the clusters of early rows depend on later ones.

        Args:
            X: As for `fit`; all calls dense, or all sparse.
            y: Ignored.

        Raises:
            ValueError: As `fit`, X has another d than the rows before, or is of the other kind, sparse or
                dense; nothing has changed then.
        """
        settings, before = settings_of(self, Settings), getattr(self, "_seen", None)
        with columns_kept(self):
            new = self._rows(X, reset=before is None)
            rows = new if before is None else joined(before, new)
            self._fit(settings, rows)
        self._seen = rows
        return self

    def _fit(self, settings: Settings, rows: Rows) -> None:
        check_differ(rows)
        seed = int(check_random_state(self.random_state).randint(2**31))
        chains = [
            Chain(rows, settings, seed=seed, chain=chain, direction_prior=self.direction_prior)
            for chain in range(whole("n_chains", self.n_chains))
        ]
        passes = _default_passes(rows.number) if self.n_passes is None else whole("n_passes", self.n_passes)
        steps = passes * -(-rows.number // min(settings.batch_size, rows.number))
        known = KnownRows.of(rows)
        self.draws_ = sampled(chains, steps)
        self._prior, self._known = chains[0].prior, known
        self.settings_ = settings
        self.assignments_: Int[np.ndarray, "C N row"] = self.draws_["assignments"]
        flat = self._flat_assignments()
        self.cluster_count_: ClusterCount = cluster_count(self.assignments_)
        most = None if settings.inferred else int(settings.n_clusters)
        self.labels_ = partition_of(flat, bool(settings.background), most)

    def predict(self, X: Any) -> Int[np.ndarray, " N"]:
        """The most probable cluster of each row; -1 is the background."""
        p = self.predict_proba(X)
        best = np.argmax(p, axis=1)
        return np.where(best == self._clusters(), -1, best)

    def predict_proba(self, X: Any) -> Float[np.ndarray, "N K"]:
        """Posterior probability that each row belongs to each cluster of ``labels_``; rows sum to 1.

        Rows that were fitted are known by their numbers, and have the probabilities given all others; of a
        new row a draw counts as much as it expects the row. The last column is the background's where there
        is one. A draw's cluster stands for cluster k of ``labels_`` as far as its rows lie there; of clusters
        without rows tells `transform_with_intervals`.
        """
        check_is_fitted(self)
        posterior = Posterior.of(self.draws_, self.settings_, self._known, self._prior)
        rows, outside = self._rows(X, reset=False), bool(self.settings_.background)
        return membership(rows, posterior, self.labels_, outside)

    def score_samples(self, X: Any) -> Float[np.ndarray, " N"]:
        """Log of the posterior predictive density of each row, with respect to the sphere's area."""
        check_is_fitted(self)
        return score_samples(self._rows(X, reset=False), self._draws())

    def score(self, X: Any, y: None = None) -> float:
        """Mean of `score_samples`."""
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples: int = 1, *, seed: int = 0) -> Float[np.ndarray, "n d"]:
        """Draws from the posterior predictive law, unit vectors; others with another seed."""
        check_is_fitted(self)
        return sampled_rows(whole("n_samples", n_samples), self._draws(), VMF_PREDICTIVE.generator(seed))

    def coclustering(self, pairs: Any) -> Float[np.ndarray, " pair"]:
        """Posterior probability that the two rows of each pair, [pair, 2], are in one cluster."""
        check_is_fitted(self)
        return coclustering(self._flat_assignments(), pairs)

    def _rows(self, X: Any, *, reset: bool) -> Rows:
        X = csr_or_dense(X, "X")
        kinds = [np.float64, np.float32, np.float16]
        # Half precision has no check of its own in scikit-learn, and a memory map must not be copied.
        if isinstance(X, np.ndarray) and X.dtype == np.float16 and X.ndim == 2:
            if reset:
                self.n_features_in_ = checked_width(X)
            elif X.shape[1] != self.n_features_in_:
                raise ValueError(f"X has {X.shape[1]} features, but {self.n_features_in_} were fitted")
        else:
            X = validate_data(
                self,
                X,
                accept_sparse="csr",
                dtype=kinds[:2],
                reset=reset,
                ensure_min_samples=2 if reset else 1,
                ensure_min_features=2 if reset else 1,
            )
        return rows_of(X, bool(self.normalise))

    def _flat_assignments(self) -> Int[np.ndarray, "N row"]:
        return self.assignments_.reshape(-1, self.assignments_.shape[-1])

    def _draws(self) -> list[Draw]:
        return [Draw.of(self.draws_, index, self._prior) for index in np.ndindex(self.assignments_.shape[:2])]

    def _clusters(self) -> int:
        return int(self.labels_.max()) + 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _default_passes(rows: int) -> int:
    """The number of clusters takes some hundred passes to be forgotten, which few rows have the time for."""
    return min(MOST_PASSES, max(LEAST_PASSES, -(-ROWS_REDRAWN // rows)))
