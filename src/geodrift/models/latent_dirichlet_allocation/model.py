"""The specification of latent Dirichlet allocation."""

from geodrift.models.kit._model import Model
from geodrift.models.latent_dirichlet_allocation._settings import Settings
from geodrift.models.topics._command import COMPONENT, EXPORT_HELP, SUMMARY, TRANSFORM_HELP

MODEL = Model(
    name="lda",
    title="latent Dirichlet allocation",
    settings_type=Settings,
    answers_class="geodrift.models.latent_dirichlet_allocation._answers:LatentDirichletAnswers",
    summary=SUMMARY,
    component=COMPONENT,
    takes_start=True,
    transform_help=TRANSFORM_HELP,
    evaluation_help="perplexity of a tenth of each document's words given the others, under 10 draws unless"
    " told otherwise; coherence, exclusivity and diversity of the topics",
    export_help=f"{EXPORT_HELP}: the mean given the assignments of the first chain's last state;"
    " doc_topic_prior [draw, topic] where it was learnt",
    # Counts and assignments are changed in place; a checkpoint holds a copy.
    memory_of_a_step=2.0,
)
