"""Hyperparameters of the spherical admixture model and of its samplers."""

import dataclasses
import math
from typing import Any

WEIGHTINGS = ("tfidf", "tf", "none")
METHODS = ("sggmc", "gsgnht", "gmc-gibbs", "gmc-approximate")
LATENTS = ("kept", "fresh")


def filled(value: float | None) -> float:
    """A concentration of settings that `Settings.resolve` returned, hence a number.

    Raises:
        ValueError: The settings were not resolved.
    """
    if value is None:
        raise ValueError("a concentration is None; take the settings that Settings.resolve returns")
    return value


def _check(condition: bool, name: str, value: object, allowed: str) -> None:
    if not condition:
        raise ValueError(f"{name} must be {allowed}, got {value!r}")


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is fixed while the topics are sampled.

    The model is Eq. (9) of Liu et al. 2016. Times are those of dx = v dt, dv = grad log p dt - C v dt +
    sqrt(2C) dW at unit mass and temperature.

    Attributes:
        n_topics: K, at least 2.
        corpus_mean_concentration: kappa_0 of the corpus mean around the documents' mean direction; None:
            2 V (V words).
        topic_concentration: sigma of each topic around the corpus mean; None: 2 V.
        document_concentration: kappa of each document around its mixture of topics; None: 6 V.
        doc_topic_prior: alpha, each component's Dirichlet parameter (not their sum).
        weighting: How counts become unit vectors: "tfidf" is tf log(D / (1 + df)), "tf" the counts,
            "none" leaves values as they are (dense or signed data); rows are scaled to unit length in each
            case.
        method: "sggmc", "gsgnht", "gmc-gibbs" (full data, exact), "gmc-approximate" (full data, GMC-apprMH).
        batch_size: S, documents whose mixtures are renewed at each step; more than the corpus means all.
        latents: "kept": each document's mixture is part of the chain's state, and the gradient sums over
            all of them, so that a minibatch brings no gradient noise. "fresh": the unbiased estimate of
            Eq. (10) from the minibatch alone, scaled by D / S.
        subtract_noise: Subtract the noise variance of the "fresh" estimate from the injected noise; False
            is the published choice V = 0. A batch held over L > 1 steps counts as white noise of variance
            L V, which is an approximation.
        mixture_burn_in: Transitions of a document's mixture before the first that counts.
        mixture_draws: N, mixtures averaged in the gradient ("fresh") or transitions made ("kept").
        mixture_leapfrog_steps: Leapfrog steps of one mixture transition.
        num_steps: L, topic steps after each renewal of mixtures.
        step_size: h in units of time; None: tuned on the curvature during warm-up, then fixed.
        friction: C, 1/time; None: tuned with the step size.
        num_draws: Posterior draws stored by one plan.
        warm_up_fraction: Part of a plan's steps that is warm-up; at least 140 steps are, or half of a
            shorter plan.

    Raises:
        ValueError: A value is outside what its line allows.
    """

    n_topics: int = 20
    corpus_mean_concentration: float | None = None
    topic_concentration: float | None = None
    document_concentration: float | None = None
    doc_topic_prior: float = 1.0
    weighting: str = "tfidf"
    method: str = "sggmc"
    batch_size: int = 50
    latents: str = "kept"
    subtract_noise: bool = True
    mixture_burn_in: int = 0
    mixture_draws: int = 8
    mixture_leapfrog_steps: int = 10
    num_steps: int = 1
    step_size: float | None = None
    friction: float | None = None
    num_draws: int = 100
    warm_up_fraction: float = 0.5

    def __post_init__(self) -> None:
        """Check every value."""
        for name in (
            "n_topics",
            "batch_size",
            "mixture_draws",
            "mixture_leapfrog_steps",
            "num_steps",
            "num_draws",
        ):
            value, least = getattr(self, name), 2 if name == "n_topics" else 1
            _check(_is_whole(value) and value >= least, name, value, f"a whole number of at least {least}")
        _check(
            _is_whole(self.mixture_burn_in) and self.mixture_burn_in >= 0,
            "mixture_burn_in",
            self.mixture_burn_in,
            "a whole number of at least 0",
        )
        for name in (
            "corpus_mean_concentration",
            "topic_concentration",
            "document_concentration",
            "step_size",
            "friction",
        ):
            value = getattr(self, name)
            _check(value is None or _is_positive(value), name, value, "a positive finite number or None")
        _check(
            _is_positive(self.doc_topic_prior),
            "doc_topic_prior",
            self.doc_topic_prior,
            "a positive finite number",
        )
        _check(self.weighting in WEIGHTINGS, "weighting", self.weighting, f"one of {', '.join(WEIGHTINGS)}")
        _check(self.method in METHODS, "method", self.method, f"one of {', '.join(METHODS)}")
        _check(self.latents in LATENTS, "latents", self.latents, f"one of {', '.join(LATENTS)}")
        _check(
            0.0 <= self.warm_up_fraction < 1.0,
            "warm_up_fraction",
            self.warm_up_fraction,
            "at least 0 and below 1",
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

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict) -> "Settings":
        """The settings that `to_dict` wrote.

        Raises:
            ValueError: A name is not a setting.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ValueError(f"unknown settings {unknown}; known are {sorted(known)}")
        return cls(**values)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_positive(value: object) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
    )
