"""The specification of the von Mises-Fisher mixture."""

from geodrift.models.clusters._command import COMPONENT, SUMMARY, cannot_share, to_share
from geodrift.models.kit._model import Model
from geodrift.models.von_mises_fisher_mixture._settings import Settings

MODEL = Model(
    name="vmf",
    title="the mixture of von Mises-Fisher laws, of unit vectors (.npy, or sparse .npz)",
    settings_type=Settings,
    answers_class="geodrift.models.von_mises_fisher_mixture._answers:VonMisesFisherAnswers",
    summary=SUMMARY,
    component=COMPONENT,
    sizes_of="rows",
    reads="vectors",
    document="row",
    transform_help="The probability of each cluster for each row; where their number is not given, a column"
    " more, others, is that of all clusters which are not told of; with a background the last, no_cluster, is"
    " that of no cluster;"
    " an interval only for clusters that the chains share",
    evaluation_help="minus the mean log density of a row in nats, with respect to the sphere's area: of the"
    " draws' average, and of a single draw",
    export_help="directions [draw, cluster, coordinate], weights and concentrations [draw, cluster], labels"
    " (of the cluster in the draw's assignments) and numbers (its place among the draw's clusters) [draw,"
    " cluster], found [chain, cluster], shared [cluster], hyperparameters (JSON): the clusters that are told"
    " of",
    cannot_share=cannot_share,
    to_share=to_share,
    # Sums and assignments are changed in place; a checkpoint holds a copy.
    memory_of_a_step=2.0,
)
