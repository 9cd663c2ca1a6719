"""What the Dirichlet-process mixture answers."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from geodrift.driver import Run
from geodrift.models.clusters._command import other_columns
from geodrift.models.clusters._law_of_number import law_of_number, numbers_text
from geodrift.models.dirichlet_process_mixture._chain import Chain
from geodrift.models.dirichlet_process_mixture._settings import Settings
from geodrift.models.dirichlet_process_mixture.evaluation._log_predictive import averaged, under_draws
from geodrift.models.dirichlet_process_mixture.evaluation._membership import membership
from geodrift.models.kit import _places
from geodrift.models.kit._agreement import Agreement, with_intervals_of_shared
from geodrift.models.kit._answers import Findings
from geodrift.models.kit._component_answers import ComponentAnswers
from geodrift.models.kit._component_scores import Draws
from geodrift.models.kit._tables import paragraphs
from geodrift.models.kit._verdict import Verdict

TRANSFORM_DRAWS = 50  # that `transform` averages over, at most


class DirichletProcessAnswers(ComponentAnswers):
    """See `Answers`; which clusters are told of is said in `_places`."""

    chain_type = Chain
    variable = "clusters"
    sizes = "cluster_sizes"

    def _aligned(self, run: Run) -> tuple[dict[str, np.ndarray], Agreement]:
        posterior = run.draws["posterior"].to_dataset()
        draws = {name: posterior[name].values for name in _places.variables(self.model.component)}
        return _places.told(draws, _given(run))

    def summarise(self, run: Run, top: int) -> Findings:
        """Each cluster's words and share of the rows, and how many clusters there are."""
        found = super().summarise(run, top)
        posterior = run.draws["posterior"].to_dataset()
        above = _places.numbers_above(posterior[self.sizes].values)
        numbers = [
            law_of_number(posterior["number_of_clusters"].values, "number_of_clusters"),
            law_of_number(above, "number_of_clusters_above", _places.LEAST_SHARE),
        ]
        return found._replace(numbers=numbers)

    def verdict(self, run: Run) -> Verdict:
        """How far the chains agree on the clusters that are told of, and on every number that is stored."""
        return self._verdict(run, self.aligned(run)[1])

    def summary_text(self, found: Findings) -> str:
        """How many clusters there are, the verdict, and one table a cluster."""
        number = paragraphs(numbers_text(found.numbers, self.model.component, found.verdict))
        return f"{number}\n\n{super().summary_text(found)}"

    def summary_lines(self, found: Findings, width: int) -> str:
        """How many clusters there are, and a few lines each."""
        number = paragraphs(numbers_text(found.numbers, self.model.component, found.verdict), width)
        return f"{number}\n\n{super().summary_lines(found, width)}"

    def score(
        self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Minus the mean log density of a row, of the draws' average and of a single draw."""
        del seed, options
        logs = under_draws(rows, draws, float(run.config["settings"]["cluster_word_prior"]))
        return {
            "nats": -float(averaged(logs).mean()),
            "nats_of_one_draw": -float(logs.mean()),
            "documents": rows.shape[0],
        }

    def scores_of_documents(
        self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int
    ) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, " D"]]:
        """Log density of each row, of the draws' average."""
        del seed
        logs = under_draws(rows, draws, float(run.config["settings"]["cluster_word_prior"]))
        return averaged(logs), np.ones(rows.shape[0])

    def sentence(self, scores: Mapping[str, Any]) -> str:
        """One line."""
        return (
            f"{scores['nats']:.4f} nats a row, averaged over {scores['cluster_draws']} draws;"
            f" {scores['nats_of_one_draw']:.4f} under one of them ({scores['documents']:,} rows)"
        )

    def transform(self, run: Run, rows: sp.csr_matrix, *, seed: int) -> dict[str, Float[np.ndarray, "D K"]]:
        """Probabilities of the clusters that are told of; of the rest too where their number is free."""
        del seed
        agreed, given = self.aligned(run)[1], _given(run)
        posterior = run.draws["posterior"].to_dataset()
        orders = agreed.orders.reshape(-1, agreed.orders.shape[2])
        chosen = _places.spaced(len(orders), TRANSFORM_DRAWS)
        flat = {
            name: posterior[name].values.reshape(-1, *posterior[name].shape[2:])[chosen]
            for name in ("clusters", "cluster_weights", "new_weight")
        }
        prior = float(run.config["settings"]["cluster_word_prior"])
        draws = flat["clusters"], flat["cluster_weights"], flat["new_weight"]
        weights = membership(rows, draws, prior, places=orders[chosen], others=not given)
        return with_intervals_of_shared(weights, agreed if given else _places.with_rest(agreed))

    def other_columns(self, run: Run) -> list[str]:
        """Clusters that are not told of, unless their number is given."""
        return other_columns(not _given(run), False)

    def mixtures(
        self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int
    ) -> dict[str, Float[np.ndarray, "D K"]]:
        """The clusters that are told of are not all that there are: see `transform`."""
        raise NotImplementedError

    def to_datatree(self, run: Run) -> Any:
        """The clusters that are told of, in one order, beside all numbers of the draws."""
        return _places.datatree_of_told(run, *self.aligned(run), self.model.component)


def _given(run: Run) -> bool:
    return Settings.from_dict(run.config["settings"]).given is not None
