"""The specification of the Spherical Admixture Model."""

from geodrift.models.kit._allowed import Whole
from geodrift.models.kit._model import Model
from geodrift.models.kit._settings import Setting
from geodrift.models.spherical_admixture._settings import Settings
from geodrift.models.topics._command import COMPONENT, EXPORT_HELP, SUMMARY, TRANSFORM_HELP

THETA_DRAWS = Setting(
    "theta_draws",
    200,
    Whole(1, 1_000_000),
    "J, mixtures drawn from their prior.",
    "theta-draws",
    "theta_draws",
)

MODEL = Model(
    name="sam",
    title="the Spherical Admixture Model",
    settings_type=Settings,
    answers_class="geodrift.models.spherical_admixture._answers:SphericalAdmixtureAnswers",
    summary=SUMMARY,
    component=COMPONENT,
    takes_start=True,
    transform_help=TRANSFORM_HELP,
    evaluation_help="log-perplexity, under all draws unless told otherwise; compare only at equal N and J",
    evaluation_options=(THETA_DRAWS,),
    export_help=EXPORT_HELP,
    demo_settings=("n_topics",),
    # Vectors may be negative, counts not.
    may_be_negative=lambda settings: settings.get("weighting") == "none",
    cannot_share=lambda settings, number: None,
    # A step holds the old state, the new one, the gradient and the noise.
    memory_of_a_step=4.0,
    memory_of_compiling=160_000_000,  # XLA, besides LLVM
)
