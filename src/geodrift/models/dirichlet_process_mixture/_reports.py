"""The report of the estimator, its words, and its draws as a tree."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from geodrift.models.clusters._command import COMPONENT, other_columns
from geodrift.models.clusters._law_of_number import law_of_number
from geodrift.models.kit._datatree import component_datatree
from geodrift.models.kit._report_facade import report_of_estimator
from geodrift.models.kit._word_intervals import component_words
from geodrift.report import Report

if TYPE_CHECKING:
    import xarray as xr


class ClusterReports:
    """`report`, `top_words`, `to_datatree`: of an estimator with `DirichletProcessMixture`'s attributes."""

    signed: ClassVar[bool] = False
    agreement_: Any
    settings_: Any
    number_of_clusters_draws_: Any

    def report(
        self: Any,
        vocabulary: Sequence[str] | None = None,
        *,
        documents: Any = None,
        names: Sequence[str] | None = None,
        top: int = 15,
        title: str | None = None,
    ) -> Report:
        """What was fitted, for readers: ``model.report(words, documents=counts).save("clusters.html")``.

        Args:
            vocabulary: V words; None: the names of the columns that `fit` saw, or word0, ...
            documents: Rows whose clusters are told, as for `predict_proba`; None: none.
            names: What each of them is called; None: its number.
            top: Words of a cluster.
            title: Of the page; None: the model's name.

        Raises:
            ValueError: The vocabulary does not have V words, or there is not a name for each row.
        """
        check_is_fitted(self)
        words, given = self._words(vocabulary), self.settings_.given is not None
        draws, agreed = self._of_chains(self.cluster_draws_), self.agreement_
        more = {"others": other_columns(not given, False), "sizes_of": self.model.sizes_of}
        parts = self.top_words(words, top=top)
        return report_of_estimator(
            self, draws, agreed, parts, words, documents, names, title, component=COMPONENT, more=more
        )

    def _numbers(self: Any) -> dict[str, Float[np.ndarray, "C N"]]:
        """Numbers of each draw that no order of the clusters changes."""
        return {name: self._of_chains(values) for name, values in self._draws.items() if values.ndim == 1}

    def _told_numbers(self: Any) -> list[dict[str, Any]]:
        """How many clusters there are, and how many above `LEAST_SHARE`."""
        numbers = law_of_number(self._of_chains(self.number_of_clusters_draws_), "number_of_clusters")
        return [numbers, self.number_of_clusters()]

    def _checks(self, X: Any, vocabulary: Sequence[str]) -> None:
        """The model has no posterior predictive check of its clusters."""
        del X, vocabulary

    def top_words(
        self: Any, vocabulary: Sequence[str] | None = None, *, top: int = 10
    ) -> list[dict[str, Any]]:
        """Each cluster's words and share of the rows, and by how many chains it was found.

        ``vocabulary`` has V words, of which ``top`` are told of each cluster; None: as for `report`.
        """
        check_is_fitted(self)
        draws, sizes = self._of_chains(self.cluster_draws_), self._of_chains(self.cluster_size_draws_)
        words = self._words(vocabulary)
        return component_words(draws, words, top, "cluster", agreed=self.agreement_, sizes=sizes)

    def to_datatree(self: Any, vocabulary: Sequence[str] | None = None) -> "xr.DataTree":
        """Draws of the clusters that are told of, [chain, draw, cluster, ...], and which chains found them.

        Words are those of ``vocabulary``, else the columns that `fit` saw, else numbers.
        """
        # Imported here: xarray takes half a second.
        import xarray as xr

        check_is_fitted(self)
        dims = ("chain", "draw")
        told = {
            "clusters": ((*dims, "cluster", "word"), self._of_chains(self.cluster_draws_)),
            "cluster_weights": ((*dims, "cluster"), self._of_chains(self.cluster_weight_draws_)),
            "cluster_sizes": ((*dims, "cluster"), self._of_chains(self.cluster_size_draws_)),
        } | {name: (dims, values) for name, values in self._numbers().items()}
        posterior = xr.Dataset(told)
        words = getattr(self, "feature_names_in_", None) if vocabulary is None else list(vocabulary)
        places = {str(dim): np.arange(size) for dim, size in posterior.sizes.items()}
        posterior = posterior.assign_coords(places if words is None else places | {"word": words})
        return component_datatree(posterior, self.agreement_, "cluster")
