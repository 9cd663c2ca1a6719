"""The specification of latent Dirichlet allocation."""

from collections.abc import Mapping
from typing import Any

from geodrift.models.kit._model import Model
from geodrift.models.latent_dirichlet_allocation._settings import MOST_PROCESSES, Settings
from geodrift.models.topics._command import COMPONENT, EXPORT_HELP, SIZES_OF_TOKENS, SUMMARY, TRANSFORM_HELP


def _cannot_share(settings: Mapping[str, Any], number: int) -> str | None:
    method = settings["method"]
    if method != "gibbs":
        return f"method {method!r} is of one process; method 'gibbs' of several"
    return None if number <= MOST_PROCESSES else f"its steps have work for {MOST_PROCESSES} at most"


MODEL = Model(
    name="lda",
    title="latent Dirichlet allocation",
    settings_type=Settings,
    answers_class="geodrift.models.latent_dirichlet_allocation._answers:LatentDirichletAnswers",
    summary=SUMMARY,
    component=COMPONENT,
    sizes_of=SIZES_OF_TOKENS,
    takes_start=True,
    transform_help=TRANSFORM_HELP,
    evaluation_help="perplexity of a tenth of each document's words given the others, under 10 draws unless"
    " told otherwise; coherence, exclusivity and diversity of the topics",
    export_help=f"{EXPORT_HELP};"
    " doc_topic_prior [draw, topic] and topic_word_prior [draw] where they were learnt",
    ladder_setting="n_topics",
    # Each number at its best: a fixed alpha of each topic is a sum that grows with their number.
    ladder_defaults={"learn_doc_topic_prior": "symmetric", "learn_topic_word_prior": "symmetric"},
    cannot_share=_cannot_share,
    # Counts and assignments are changed in place; a checkpoint holds a copy.
    memory_of_a_step=2.0,
)
