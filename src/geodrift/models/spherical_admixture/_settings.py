"""Hyperparameters of the spherical admixture model and of its samplers."""

import dataclasses
from typing import Any

from geodrift.models.kit._allowed import Between, OneOf, Whole, YesNo
from geodrift.models.kit._settings import ModelSettings, setting

WEIGHTINGS = ("tfidf", "tf", "none")
METHODS = ("sggmc", "gsgnht", "gmc-gibbs", "gmc-approximate")
LATENTS = ("kept", "fresh")
MAX_TOPICS = 2**16
MAX_REPEATS = 10_000
CONCENTRATION = Between(1e-6, 1e12)


def filled(value: float | None) -> float:
    """A concentration of settings that `Settings.resolve` returned, hence a number.

    Raises:
        ValueError: The settings were not resolved.
    """
    if value is None:
        raise ValueError("a concentration is None; take the settings that Settings.resolve returns")
    return value


@dataclasses.dataclass(frozen=True)
class Settings(ModelSettings):
    """What is fixed while the topics are sampled.

    The model is Eq. (9) of Liu et al. 2016. Times are those of dx = v dt, dv = grad log p dt - C v dt +
    sqrt(2C) dW at unit mass and temperature.
    """

    n_topics: int = setting(20, Whole(2, MAX_TOPICS), "K, the number of topics.", option="topics")
    corpus_mean_concentration: float | None = setting(
        None,
        CONCENTRATION,
        "kappa_0, of the corpus mean around the documents' mean direction. Default: 2 x words.",
    )
    topic_concentration: float | None = setting(
        None, CONCENTRATION, "sigma, of each topic around the corpus mean. Default: 2 x words."
    )
    document_concentration: float | None = setting(
        None, CONCENTRATION, "kappa, of each document around its mixture of topics. Default: 6 x words."
    )
    doc_topic_prior: float = setting(
        1.0, Between(0.01, 1e6), "alpha, the Dirichlet parameter of each topic in a document (not their sum)."
    )
    weighting: str = setting(
        "tfidf",
        OneOf(WEIGHTINGS),
        "How counts become unit vectors: tfidf is tf log(D / (1 + df)), tf the counts; none leaves values"
        " as they are (dense or signed data). Rows are scaled to unit length in each case.",
    )
    method: str = setting(
        "sggmc",
        OneOf(METHODS),
        "Sampler of the topics: sggmc or gsgnht from minibatches; gmc-gibbs (exact) or gmc-approximate"
        " (GMC-apprMH) from all documents.",
    )
    batch_size: int = setting(
        50,
        Whole(1, 2**31 - 1),
        "S, documents whose mixtures are renewed at each step; more than the corpus means all.",
    )
    latents: str = setting(
        "kept",
        OneOf(LATENTS),
        "kept: each document's mixture is part of the chain's state, and the gradient sums over all of"
        " them, so that a minibatch brings no gradient noise. fresh: the unbiased estimate of Eq. (10) of"
        " Liu et al. 2016 from the minibatch alone, scaled by D / S.",
    )
    subtract_noise: bool = setting(
        True,
        YesNo(),
        "Subtract the noise variance of the fresh estimate from the injected noise; no is the published"
        " choice V = 0. A batch held over L > 1 steps counts as white noise of variance L V, an"
        " approximation.",
    )
    mixture_burn_in: int = setting(
        0, Whole(0, MAX_REPEATS), "Transitions of a document's mixture before the first that counts."
    )
    mixture_draws: int = setting(
        8, Whole(1, MAX_REPEATS), "N, mixtures averaged in the gradient (fresh) or transitions made (kept)."
    )
    mixture_leapfrog_steps: int = setting(
        10, Whole(1, MAX_REPEATS), "Leapfrog steps of one mixture transition."
    )
    num_steps: int = setting(1, Whole(1, MAX_REPEATS), "L, topic steps after each renewal of mixtures.")
    step_size: float | None = setting(
        None, Between(1e-12, 1e6), "h, a time. By default tuned on the curvature during warm-up, then fixed."
    )
    friction: float | None = setting(
        None, Between(1e-12, 1e12), "C, 1/time. By default tuned with the step size."
    )

    def resolve(self, num_words: int) -> "Settings":
        """The same settings with every concentration a number, for a vocabulary of ``num_words``."""
        defaults = {
            "corpus_mean_concentration": 2.0,
            "topic_concentration": 2.0,
            "document_concentration": 6.0,
        }
        chosen: dict[str, Any] = {
            name: factor * num_words for name, factor in defaults.items() if getattr(self, name) is None
        }
        return dataclasses.replace(self, **chosen)
