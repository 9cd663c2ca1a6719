"""What the estimator tells of its clusters: findings, a report, xarray, and memberships with intervals."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from geodrift.models.clusters._command import COMPONENT, other_columns
from geodrift.models.clusters._law_of_number import law_of_number
from geodrift.models.kit._answers import Findings
from geodrift.models.kit._datatree import component_datatree
from geodrift.models.kit._found_draws import with_intervals_of_shared
from geodrift.models.kit._report_facade import report_of_estimator
from geodrift.models.von_mises_fisher_mixture._cluster_parts import (
    cluster_parts,
    mean_directions,
    nearest_rows,
)
from geodrift.models.von_mises_fisher_mixture._place_membership import (
    place_membership,
    places_of,
    with_other_places,
)
from geodrift.models.von_mises_fisher_mixture._places import LEAST_WEIGHT, TOLD, told, with_every_draw
from geodrift.models.von_mises_fisher_mixture._shared_clusters import NUMBERS, shared_clusters
from geodrift.models.von_mises_fisher_mixture.model import MODEL
from geodrift.report import Report

if TYPE_CHECKING:
    import xarray as xr


class ClusterReports:
    """For an estimator with ``draws_``, ``labels_``, ``cluster_count_`` and ``settings_``."""

    signed: ClassVar[bool] = True

    def findings(self: Any) -> Findings:
        """The clusters of all chains by decreasing weight, and what may be believed of them.

        Of each cluster that has 1% of the weight, or of all where their number is given: its ``label`` in
        ``labels_``, by how many of the ``chains`` it was ``found``, whether it is ``shared``, its ``size``
        (the weight) and ``concentration``, with the ends of 90% intervals where it is shared or there is one
        chain, else None: they hold for the next draw of another chain.
        ``print(model.findings().verdict)``.
        """
        check_is_fitted(self)
        return shared_clusters(self.draws_, self.labels_, not self.settings_.inferred)

    def transform_with_intervals(self: Any, X: Any) -> dict[str, Float[np.ndarray, "N C"]]:
        """Probabilities of the clusters of `findings`, ``{"mean", "low", "high"}`` with 90% intervals.

        Columns beyond them are other clusters, unless the number is given, and no cluster where there is a
        background; the ends are NaN for a cluster that the chains do not share. `predict_proba` is of the
        clusters of ``labels_``.
        """
        check_is_fitted(self)
        ordered, agreed = told(self.draws_, not self.settings_.inferred)
        places = places_of(self.draws_, ordered, agreed, self.settings_, self._known, self._prior)
        found = place_membership(self._rows(X, reset=False), places)
        return with_intervals_of_shared(found, with_other_places(agreed, places))

    def to_datatree(self: Any, vocabulary: Sequence[str] | None = None) -> "xr.DataTree":
        """Draws of the clusters of `findings`, [chain, draw, cluster, ...], and which chains found them.

        Args:
            vocabulary: Names of the coordinates; None: numbers.
        """
        # Imported here: xarray takes half a second.
        import xarray as xr

        check_is_fitted(self)
        ordered, agreed = told(self.draws_, not self.settings_.inferred)
        dims = ("chain", "draw", "cluster")
        draws = {name: ((*dims, "coordinate")[: ordered[name].ndim], ordered[name]) for name in TOLD} | {
            name: (dims[:2], self.draws_[name]) for name in NUMBERS
        }
        posterior = xr.Dataset(draws | {"assignments": ((*dims[:2], "row"), self.draws_["assignments"])})
        places = {str(dim): np.arange(size) for dim, size in posterior.sizes.items()}
        names = {} if vocabulary is None else {"coordinate": list(vocabulary)}
        return component_datatree(posterior.assign_coords(places | names), agreed, "cluster")

    def report(
        self: Any,
        vocabulary: Sequence[str] | None = None,
        *,
        documents: Any = None,
        names: Sequence[str] | None = None,
        top: int = 15,
        title: str | None = None,
    ) -> Report:
        """What was fitted, for readers: ``model.report(documents=x).save("clusters.html")``.

        Args:
            vocabulary: Names of the coordinates, such as words of tf-idf; None: they have none.
            documents: Rows whose clusters are told, as for `predict_proba`, and of which the nearest to each
                cluster are; None: none.
            names: What each of them is called; None: its number.
            top: Words, or nearest rows, of a cluster.
            title: Of the page; None: the model's name.

        Raises:
            ValueError: The vocabulary has another length, or there is not a name for each row.
        """
        check_is_fitted(self)
        ordered, agreed = told(self.draws_, not self.settings_.inferred)
        parts = cluster_parts(ordered, agreed, vocabulary, top)
        if documents is not None:
            means = mean_directions(ordered, agreed)
            near = nearest_rows(self._rows(documents, reset=False), means, top)
            for part, rows in zip(parts, near, strict=True):
                part["nearest"] = rows
        more = {
            "document": "row",
            "sizes_of": MODEL.sizes_of,
            "others": other_columns(self.settings_.inferred, bool(self.settings_.background)),
        }
        draws = with_every_draw(ordered["directions"])
        return report_of_estimator(
            self, draws, agreed, parts, vocabulary, documents, names, title, component=COMPONENT, more=more
        )

    def _numbers(self: Any) -> dict[str, Float[np.ndarray, "C N"]]:
        """Numbers of each draw that no order of the clusters changes."""
        return {name: self.draws_[name] for name in NUMBERS}

    def _told_numbers(self: Any) -> list[dict[str, Any]]:
        """How many clusters there are, and how many have more than `LEAST_WEIGHT` of the rows."""
        numbers = self.draws_["number_of_clusters"]
        above = self.cluster_count_.draws.reshape(numbers.shape)
        return [
            law_of_number(numbers, "number_of_clusters"),
            law_of_number(above, "number_of_clusters_above", LEAST_WEIGHT),
        ]

    def _checks(self, X: Any, vocabulary: Sequence[str] | None) -> None:
        """The model has no posterior predictive check of its clusters."""
        del X, vocabulary
