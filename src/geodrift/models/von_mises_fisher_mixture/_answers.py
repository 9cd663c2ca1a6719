"""What von Mises-Fisher mixtures answer of a run."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from geodrift._errors import InputError
from geodrift.data import VectorRows, VectorSource, VectorView
from geodrift.driver import Run
from geodrift.models.clusters._command import other_columns
from geodrift.models.clusters._law_of_number import law_of_number
from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._answers import Findings
from geodrift.models.kit._component_answers import ComponentAnswers
from geodrift.models.kit._component_names import named
from geodrift.models.kit._component_scores import Draws
from geodrift.models.kit._datatree import component_datatree
from geodrift.models.kit._found_draws import with_intervals_of_shared
from geodrift.models.kit._runs import corpus_of
from geodrift.models.kit._verdict import Verdict
from geodrift.models.von_mises_fisher_mixture._chain import Chain
from geodrift.models.von_mises_fisher_mixture._cluster_parts import (
    cluster_parts,
    mean_directions,
    nearest_rows,
)
from geodrift.models.von_mises_fisher_mixture._known_rows import KnownRows
from geodrift.models.von_mises_fisher_mixture._place_membership import (
    place_membership,
    places_of,
    with_other_places,
)
from geodrift.models.von_mises_fisher_mixture._places import LEAST_WEIGHT, TOLD, told, with_every_draw
from geodrift.models.von_mises_fisher_mixture._predict import Draw, score_samples
from geodrift.models.von_mises_fisher_mixture._rows import Rows
from geodrift.models.von_mises_fisher_mixture._rows_of import checked_rows, rows_of
from geodrift.models.von_mises_fisher_mixture._settings import Settings
from geodrift.models.von_mises_fisher_mixture._tables import findings_lines, findings_text

PARAMETERS = (*TOLD, "resultants", "background_weight", "other_weight", "number_parameter")


class VonMisesFisherAnswers(ComponentAnswers):
    """See `Answers`; which clusters are told of is said in `_places`."""

    chain_type = Chain
    variable = "directions"
    sizes = "weights"
    signed = True

    _rows_of: tuple[Any, Rows] | None = None

    def chain(
        self,
        training: VectorSource | VectorView,
        settings: Settings,
        *,
        seed: int,
        chain: int,
        held_out: VectorRows | None,
        **shared: Any,
    ) -> Chain:
        """A chain at its start; rows are checked once for all chains."""
        if self._rows_of is None or self._rows_of[0] is not training:
            self._rows_of = training, checked_rows(training, settings.normalise)
        aside = None if held_out is None else rows_of(held_out, settings.normalise)
        return Chain(self._rows_of[1], settings, seed=seed, chain=chain, held_out=aside, **shared)

    def vocabulary(self, run: Run) -> list[str] | None:
        """Names of the coordinates; None where nobody has said."""
        return run.labels.get("coordinate")

    def summarise(self, run: Run, top: int) -> Findings:
        """Each cluster's numbers, words and nearest rows, and how many clusters there are."""
        ordered, agreed = self.aligned(run)
        parts, notes = cluster_parts(ordered, agreed, self.vocabulary(run), top), []
        try:
            rows = rows_of(corpus_of(run).matrix, _settings(run).normalise)
        except InputError as error:
            notes.append(f"the rows nearest to each cluster are not told: {error}")
        else:
            for part, near in zip(
                parts, nearest_rows(rows, mean_directions(ordered, agreed), top), strict=True
            ):
                part["nearest"] = near
        named_parts = named(parts, self.names(run), self.model.component)
        return Findings(named_parts, self._verdict(run, agreed), self._numbers(run), notes)

    def verdict(self, run: Run) -> Verdict:
        """How far the chains agree on the clusters that are told of, and on every number that is stored."""
        return self._verdict(run, self.aligned(run)[1])

    def summary_text(self, found: Findings) -> str:
        """How many clusters there are, the verdict, and a table a cluster."""
        return findings_text(found, self.model)

    def summary_lines(self, found: Findings, width: int) -> str:
        """One line a cluster."""
        return findings_lines(found, self.model, width)

    def score(
        self, run: Run, rows: VectorRows, draws: Draws, *, seed: int, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Minus the mean log density of a row, of the draws' average and of a single draw."""
        del seed, options
        given = rows_of(rows, _settings(run).normalise)
        of_draws = [Draw.of(draws, (number,)) for number in range(len(draws["weights"]))]
        one = np.mean([score_samples(given, [draw]).mean() for draw in of_draws])
        nats = -float(score_samples(given, of_draws).mean())
        return {"nats": nats, "nats_of_one_draw": -float(one), "rows": given.number}

    def sentence(self, scores: Mapping[str, Any]) -> str:
        """One line."""
        return (
            f"{scores['nats']:.4f} nats a row, averaged over {scores['cluster_draws']} draws;"
            f" {scores['nats_of_one_draw']:.4f} under one of them ({scores['rows']:,} rows)"
        )

    def transform(
        self, run: Run, rows: VectorRows, *, seed: int, fitted: bool = False
    ) -> dict[str, Float[np.ndarray, "D K"]]:
        """Probabilities of the clusters that are told of, of all others, and of no cluster."""
        return self.transformer(run, seed=seed, fitted=fitted)(rows)

    def transformer(
        self, run: Run, *, seed: int, intervals: bool = True, fitted: bool = False
    ) -> Callable[[VectorRows], dict[str, Float[np.ndarray, "D K"]]]:
        """The draws are read and aligned once for all rows; those that were fitted are recognised."""
        del seed, intervals, fitted
        (ordered, agreed), settings = self.aligned(run), _settings(run)
        posterior = run.draws["posterior"].to_dataset()
        stored: dict[str, Any] = {name: posterior[name].values for name in PARAMETERS}
        stored["assignments"] = posterior["assignments"]  # read draw by draw
        places = places_of(stored, ordered, agreed, settings, _fitted(run))
        columns = with_other_places(agreed, places)
        return lambda rows: with_intervals_of_shared(
            place_membership(rows_of(rows, settings.normalise), places), columns
        )

    def other_columns(self, run: Run) -> list[str]:
        """Clusters that are not told of, unless their number is given, and the background."""
        settings = _settings(run)
        return other_columns(settings.inferred, bool(settings.background))

    def map_draws(self, draws: Draws) -> dict[str, np.ndarray]:
        """Directions of draws that lack a cluster are those of others of the chain."""
        return {"directions": with_every_draw(draws["directions"])}

    def to_datatree(self, run: Run) -> Any:
        """The clusters that are told of, in one order, beside all numbers of the draws."""
        posterior, (draws, agreed) = run.draws["posterior"].to_dataset().load(), self.aligned(run)
        ordered = {name: draws[name] for name in TOLD}
        dims = {name: posterior[name].dims for name in ordered}
        kept = posterior.drop_vars(list(ordered)).drop_dims("cluster", errors="ignore")
        places = {"cluster": np.arange(draws["weights"].shape[2])}
        if "coordinate" in posterior.coords:
            places["coordinate"] = posterior["coordinate"].values
        tree = kept.assign({name: (dims[name], values) for name, values in ordered.items()})
        return component_datatree(tree.assign_coords(places), agreed, "cluster")

    def _aligned(self, run: Run) -> tuple[dict[str, np.ndarray], Agreement]:
        posterior = run.draws["posterior"].to_dataset()
        draws = {name: posterior[name].values for name in TOLD}
        return told(draws, _given(_settings(run)))

    def _numbers(self, run: Run) -> list[dict[str, Any]]:
        """The posterior of the number of clusters, as `cluster_count` counts them."""
        posterior = run.draws["posterior"].to_dataset()
        numbers, above = posterior["number_of_clusters"].values, []
        for of_chain in posterior["assignments"]:  # one chain is held at a time
            for draw in of_chain.values:
                sizes = np.bincount(draw[draw >= 0]) if (draw >= 0).any() else np.zeros(1)
                above.append(int((sizes > LEAST_WEIGHT * len(draw)).sum()))
        return [
            law_of_number(numbers, "number_of_clusters"),
            law_of_number(np.array(above).reshape(numbers.shape), "number_of_clusters_above", LEAST_WEIGHT),
        ]


def _settings(run: Run) -> Settings:
    return Settings.from_dict(run.config["settings"])


def _fitted(run: Run) -> KnownRows | None:
    """The rows of a run; None where they are gone."""
    try:
        source = corpus_of(run)
    except InputError:
        return None
    training: Any = source
    if run.config["held_out"]:
        training = source.split(run.config["held_out"], run.config["seed"])[0]
    return KnownRows.of(rows_of(training.matrix, _settings(run).normalise))


def _given(settings: Settings) -> bool:
    return not settings.inferred
