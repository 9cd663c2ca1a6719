"""What the Dirichlet-process mixture answers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from geodrift.driver import Run
from geodrift.models.clusters._cluster_count import law_of_count
from geodrift.models.dirichlet_process_mixture import _places
from geodrift.models.dirichlet_process_mixture._chain import Chain
from geodrift.models.dirichlet_process_mixture._settings import Settings
from geodrift.models.dirichlet_process_mixture.evaluation._log_predictive import averaged, under_draws
from geodrift.models.dirichlet_process_mixture.evaluation._membership import membership
from geodrift.models.kit._agreement import Agreement, with_intervals_of_shared
from geodrift.models.kit._answers import Findings
from geodrift.models.kit._component_answers import ComponentAnswers
from geodrift.models.kit._component_scores import Draws
from geodrift.models.kit._verdict import Verdict

TRANSFORM_DRAWS = 50  # that `transform` averages over, at most


def law_of_number(numbers: np.ndarray, name: str, share: float = 0.0) -> dict[str, Any]:
    """The posterior of a number of clusters, for JSON.

    Args:
        numbers: Of all draws.
        name: Of the number.
        share: Of the rows, above which a cluster counts.
    """
    law = law_of_count(numbers.ravel(), share)
    return {
        "name": name,
        "of": f"more than {100 * share:g}% of the rows" if share else "any row",
        "mean": float(law.draws.mean()),
        "low": law.low,
        "high": law.high,
        "probabilities": {int(n): float(p) for n, p in zip(law.values, law.probabilities, strict=True)},
    }


class DirichletProcessAnswers(ComponentAnswers):
    """See `Answers`; which clusters are told of is said in `_places`."""

    chain_type = Chain
    variable = "clusters"
    sizes = "cluster_sizes"

    def aligned(self, run: Run) -> tuple[dict[str, np.ndarray], Agreement]:
        """The clusters that are told of, [chain, draw, cluster, ...], and how far the chains agree."""
        posterior = run.draws["posterior"].to_dataset()
        draws = {name: posterior[name].values for name in _places.VARIABLES}
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
        return f"{_numbers_text(found.numbers)}\n\n{super().summary_text(found)}"

    def summary_lines(self, found: Findings, width: int) -> str:
        """How many clusters there are, and a few lines each."""
        return f"{_numbers_text(found.numbers)}\n\n{super().summary_lines(found, width)}"

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
        return with_intervals_of_shared(weights, agreed if given else with_rest(agreed))

    def mixtures(
        self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int
    ) -> dict[str, Float[np.ndarray, "D K"]]:
        """The clusters that are told of are not all that there are: see `transform`."""
        raise NotImplementedError

    def to_datatree(self, run: Run) -> Any:
        """The clusters that are told of, in one order, beside all numbers of the draws."""
        from geodrift.models.kit._datatree import component_datatree

        posterior, (draws, agreed) = run.draws["posterior"].to_dataset().load(), self.aligned(run)
        dims = {name: posterior[name].dims for name in draws}
        kept = posterior.drop_vars(list(draws)).drop_dims("cluster", errors="ignore")
        ordered = kept.assign({name: (dims[name], values) for name, values in draws.items()})
        size = draws["cluster_sizes"].shape[2]
        places = {"cluster": np.arange(size), "word": posterior["word"].values}
        return component_datatree(ordered.assign_coords(places), agreed, "cluster")


def _given(run: Run) -> bool:
    return Settings.from_dict(run.config["settings"]).given is not None


def with_rest(agreed: Agreement) -> Agreement:
    """The agreement with a last place for all other clusters, on which all chains agree."""
    cosines = np.concatenate([agreed.cosines, np.full((len(agreed.cosines), 1), np.inf)], axis=1)
    return agreed._replace(cosines=cosines)


def _numbers_text(numbers: Sequence[dict[str, Any]]) -> str:
    told = [f"{each['low']} to {each['high']} with {each['of']}" for each in numbers]
    return f"Number of clusters, 90%: {', '.join(told)}."
