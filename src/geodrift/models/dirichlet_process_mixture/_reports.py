"""The report of the estimator."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from geodrift.models.clusters._command import COMPONENT, other_columns
from geodrift.models.clusters._law_of_number import law_of_number
from geodrift.models.kit._report_facade import report_of_estimator
from geodrift.report import Report


class ClusterReports:
    """`report`, for an estimator with the attributes of `DirichletProcessMixture`."""

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
        more = {"others": other_columns(not given, False)}
        parts = self.top_words(words, top=top)
        return report_of_estimator(
            self, draws, agreed, parts, words, documents, names, title, component=COMPONENT, more=more
        )

    def _numbers(self: Any) -> dict[str, Float[np.ndarray, "C N"]]:
        """Numbers of each draw that no order of the clusters changes."""
        names = ("number_of_clusters", "concentration")
        return {name: self._of_chains(getattr(self, f"{name}_draws_")) for name in names}

    def _told_numbers(self: Any) -> list[dict[str, Any]]:
        """How many clusters there are, and how many above `LEAST_SHARE`."""
        numbers = law_of_number(np.asarray(self.number_of_clusters_draws_), "number_of_clusters")
        return [numbers, self.number_of_clusters()]

    def _checks(self, X: Any, vocabulary: Sequence[str]) -> None:
        """The model has no posterior predictive check of its clusters."""
        del X, vocabulary
