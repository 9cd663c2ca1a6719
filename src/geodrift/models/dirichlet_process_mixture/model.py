"""The specification of the Dirichlet-process mixture of multinomials."""

from collections.abc import Mapping
from typing import Any

from geodrift.models.clusters._command import COMPONENT, SUMMARY, cannot_share, to_share
from geodrift.models.dirichlet_process_mixture._settings import Settings
from geodrift.models.kit._model import Model


def _cannot_share(settings: Mapping[str, Any], number: int) -> str | None:
    method = settings["method"]
    if method != "gibbs":
        return f"method {method!r} is of one process; method 'gibbs' of several"
    return cannot_share(settings, number)


def _to_share(settings: Mapping[str, Any]) -> dict[str, Any]:
    return to_share(settings) if settings.get("method", "gibbs") == "gibbs" else dict(settings)


MODEL = Model(
    name="dpm",
    title="the Dirichlet-process mixture of multinomials",
    settings_type=Settings,
    answers_class="geodrift.models.dirichlet_process_mixture._answers:DirichletProcessAnswers",
    summary=SUMMARY,
    component=COMPONENT,
    sizes_of="rows",
    transform_help="The probability of each cluster for each row; where their number is not given, the last"
    " column, others, is that of all clusters which are not told of; an interval only for clusters"
    " that the chains share",
    evaluation_help="minus the mean log density of a row in nats, without multinomial coefficients: of the"
    " draws' average, and of a single draw",
    export_help="clusters [draw, cluster, word], cluster_weights and cluster_sizes [draw, cluster], found"
    " [chain, cluster], shared [cluster], vocabulary, hyperparameters (JSON): the clusters that are told of",
    cannot_share=_cannot_share,
    to_share=_to_share,
    # Counts and assignments are changed in place; a checkpoint holds a copy.
    memory_of_a_step=2.0,
)
