"""Hyperparameters of latent Dirichlet allocation and of its sampler."""

import dataclasses
import math
from typing import Any

import numpy as np
from jaxtyping import ArrayLike, Float

MAX_TOPICS = 2**16
LEARNT = ("no", "symmetric", "asymmetric")
METHODS = ("gibbs", "scir", "sgrld", "sgrhmc", "sgld", "sghmc")


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is fixed while the topics are sampled.

    Attributes:
        n_topics: K, from 2 to 65,536.
        doc_topic_prior: alpha, each component's Dirichlet parameter (not their sum), or K of them.
        learn_doc_topic_prior: "no": alpha stays as given. "symmetric" or "asymmetric": it starts there, and
            one value of all topics or one of each is drawn with the assignments once a pass, under the prior
            Gamma(1, 1) of each value; with method "gibbs".
        topic_word_prior: eta, each word's Dirichlet parameter.
        method: "gibbs": every token's assignment is kept, and topics are drawn given all of them. The others
            move the topics by minibatches' counts scaled to the corpus: "scir" by exact moves, "sgrld",
            "sgrhmc", "sgld" and "sghmc" by discretised ones.
        step_size: (a, b, c) of the schedule h = a (b + t)^-c of all methods but "gibbs", t the number of
            steps taken; None for the method's own.
        gammas_on: What those methods' unnormalised topics are, given the topics: "posterior", gammas of the
            prior's shapes and the counts; or "prior", of the prior's shapes alone, which "scir" cannot be.
        batch_size: S, documents whose assignments are redrawn at each step; more than the corpus means all.
            None: about as many as hold 2^19 tokens with method "gibbs", whose steps draw no topics; K V / 4
            tokens (V words) with the others, which move K V numbers a step; and 8,192 in a stream.
        early_sweeps: Sweeps over each document when it is first seen; None: 2 with method "gibbs", 8 with the
            others.
        sweeps: Sweeps over each document of a minibatch after that.
        num_draws: Posterior draws stored by one plan.
        warm_up_fraction: Part of a plan's steps that is warm-up; at least 140 steps are, or half of a
            shorter plan.

    Raises:
        ValueError: A value is outside what its line allows.
    """

    n_topics: int = 20
    doc_topic_prior: float | tuple[float, ...] = 0.1
    learn_doc_topic_prior: str = "no"
    topic_word_prior: float = 0.01
    method: str = "gibbs"
    batch_size: int | None = None
    early_sweeps: int | None = None
    sweeps: int = 1
    step_size: tuple[float, float, float] | None = None
    gammas_on: str = "posterior"
    num_draws: int = 100
    warm_up_fraction: float = 0.5

    def __post_init__(self) -> None:
        """Check every value."""
        _check_whole("n_topics", self.n_topics, 2, MAX_TOPICS)
        for name in ("batch_size", "early_sweeps", "sweeps", "num_draws"):
            if not (name in ("batch_size", "early_sweeps") and getattr(self, name) is None):
                _check_whole(name, getattr(self, name), 1)
        prior = self.doc_topic_prior
        if isinstance(prior, tuple | list | np.ndarray):
            object.__setattr__(self, "doc_topic_prior", tuple(float(value) for value in prior))
            if len(prior) != self.n_topics:
                raise ValueError(
                    f"doc_topic_prior has {len(prior)} values: must be one number or one for each of the "
                    f"{self.n_topics} topics"
                )
        for value in np.atleast_1d(np.asarray(self.doc_topic_prior)):
            _check_positive("doc_topic_prior", value)
        _check_positive("topic_word_prior", self.topic_word_prior)
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {self.method!r}")
        self._check_learning()
        self._check_topic_steps()
        if not 0.0 <= self.warm_up_fraction < 1.0:
            raise ValueError(
                f"warm_up_fraction must be at least 0 and below 1, got {self.warm_up_fraction!r}"
            )

    def _check_learning(self) -> None:
        learn = self.learn_doc_topic_prior
        if learn not in LEARNT:
            raise ValueError(f"learn_doc_topic_prior must be one of {', '.join(LEARNT)}, got {learn!r}")
        if learn != "no" and self.method != "gibbs":
            raise ValueError(
                f"learn_doc_topic_prior is {learn!r} but method is {self.method!r}, which does not learn it: "
                "use method 'gibbs', or 'no'"
            )
        if learn == "symmetric" and len(set(self.document_prior)) > 1:
            raise ValueError(
                f"learn_doc_topic_prior is 'symmetric' but doc_topic_prior is {self.doc_topic_prior!r}: "
                "give one number, or learn it 'asymmetric'"
            )

    def _check_topic_steps(self) -> None:
        if self.gammas_on not in ("posterior", "prior"):
            raise ValueError(f"gammas_on must be posterior or prior, got {self.gammas_on!r}")
        if self.gammas_on == "prior" and self.method == "scir":
            raise ValueError("gammas_on is 'prior' but method is 'scir', which moves gammas on the posterior")
        if self.step_size is None:
            return
        try:
            a, b, c = (float(value) for value in self.step_size)
        except (TypeError, ValueError):
            raise ValueError(f"step_size must be three numbers (a, b, c), got {self.step_size!r}") from None
        if not (0 < a < math.inf and 0 < b < math.inf and 0 <= c < math.inf):
            raise ValueError(
                f"step_size must have a and b positive and c not negative, got {self.step_size!r}"
            )
        object.__setattr__(self, "step_size", (a, b, c))

    @property
    def first_sweeps(self) -> int:
        """Sweeps over a document that is first seen."""
        return self.early_sweeps or (2 if self.method == "gibbs" else 8)

    @property
    def document_prior(self) -> Float[np.ndarray, " K"]:
        """Alpha, [K] float32."""
        return np.broadcast_to(np.asarray(self.doc_topic_prior, np.float32), self.n_topics).copy()

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


def _check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    allowed = isinstance(value, int) and not isinstance(value, bool) and value >= least
    if not allowed or (most is not None and value > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be a whole number {bounds}, got {value!r}")


def _check_positive(name: str, value: ArrayLike) -> None:
    if not (isinstance(value, int | float | np.number) and math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a positive finite number, got {value!r}")
