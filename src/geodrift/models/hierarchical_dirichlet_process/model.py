"""The specification of hierarchical Dirichlet processes."""

from geodrift.models.hierarchical_dirichlet_process._settings import Settings
from geodrift.models.kit._model import Model
from geodrift.models.topics._command import COMPONENT, SIZES_OF_TOKENS, SUMMARY, TRANSFORM_HELP

MODEL = Model(
    name="hdp",
    title="the hierarchical Dirichlet process",
    settings_type=Settings,
    answers_class="geodrift.models.hierarchical_dirichlet_process._answers:HierarchicalAnswers",
    summary=SUMMARY,
    component=COMPONENT,
    sizes_of=SIZES_OF_TOKENS,
    transform_help=f"{TRANSFORM_HELP}; the last column, others, is that of all topics which are not told of",
    evaluation_help="perplexity of a tenth of each document's words given the others, under 10 draws unless"
    " told otherwise, and all topics; coherence, exclusivity and diversity of the topics told of",
    export_help="topics [draw, topic, word], topic_weights and topic_sizes [draw, topic], expected_topics"
    " [topic, word] (their mean over the draws of the chains that have found each), found [chain, topic],"
    " shared [topic], vocabulary, hyperparameters (JSON): of topics that are told of",
    # Counts and assignments are changed in place; a checkpoint holds a copy.
    memory_of_a_step=2.0,
)
