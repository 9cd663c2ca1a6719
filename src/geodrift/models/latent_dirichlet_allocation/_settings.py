"""Hyperparameters of latent Dirichlet allocation and of its samplers."""

import dataclasses

import numpy as np
from jaxtyping import Float

from geodrift.models.kit._allowed import Between, Numbers, OneOf, Whole
from geodrift.models.kit._settings import ModelSettings, setting

MAX_TOPICS = 2**16
LISTS_FROM = 600  # topics: counts are then kept as lists (`benchmarks/lda/many_topics.py`)
MOST_PROCESSES = 4  # that have work in a step of collapsed Gibbs: pairs of groups of documents
MAX_SWEEPS = 1000
MAX_BATCH = 2**31 - 1
PRIOR = Between(1e-6, 1e4)
# Of the step size's schedule h = a (b + t)^-c.
SCHEDULE = (Between(1e-12, 1e6), Between(1e-6, 1e12), Between(0, 10))
LEARNT = ("no", "symmetric", "asymmetric")
METHODS = ("gibbs", "scir", "sgrld", "sgrhmc", "sgld", "sghmc")


@dataclasses.dataclass(frozen=True)
class Settings(ModelSettings):
    """What is fixed while the topics are sampled."""

    n_topics: int = setting(20, Whole(2, MAX_TOPICS), "K, the number of topics.", option="topics")
    doc_topic_prior: float | tuple[float, ...] = setting(
        0.1,
        Numbers(f"{PRIOR.text}, or one for each topic"),
        "alpha, the Dirichlet parameter of each topic in a document (not their sum), or K of them.",
    )
    learn_doc_topic_prior: str = setting(
        "no",
        OneOf(LEARNT),
        "no: alpha stays as given. symmetric or asymmetric: it starts there, and one value of all topics or"
        " one of each is drawn with the assignments once a pass, under the prior Gamma(1, 1) of each value;"
        " with method gibbs.",
    )
    topic_word_prior: float = setting(0.01, PRIOR, "eta, the Dirichlet parameter of each word in a topic.")
    learn_topic_word_prior: str = setting(
        "no",
        OneOf(LEARNT[:2]),
        "no: eta stays as given. symmetric: it starts there, and one value of all words is drawn with the"
        " assignments once a pass, under the prior Gamma(1, 1); with method gibbs.",
    )
    method: str = setting(
        "gibbs",
        OneOf(METHODS),
        "gibbs keeps every token's assignment and is exact. The others move the topics by minibatches' counts"
        " scaled to the corpus: scir by exact moves, sgrld, sgrhmc, sgld and sghmc by discretised ones.",
    )
    batch_size: int | None = setting(
        None,
        Whole(1, MAX_BATCH),
        "S, documents whose assignments are redrawn at each step; more than the corpus means all. By"
        " default about as many as hold 2^19 tokens with method gibbs (on a GPU 2^22 or K V / 6); K V / 4"
        " tokens (V words) with the others; 8,192 in a stream.",
    )
    early_sweeps: int | None = setting(
        None,
        Whole(1, MAX_SWEEPS),
        "Sweeps over each document when it is first seen; by default 2 with method gibbs, 8 with the others.",
    )
    sweeps: int = setting(1, Whole(1, MAX_SWEEPS), "Sweeps over each document of a minibatch after that.")
    step_size: tuple[float, float, float] | None = setting(
        None,
        Numbers("three numbers (a, b, c)"),
        "(a, b, c) of the schedule h = a (b + t)^-c, a time, of all methods but gibbs; t is the number of"
        " steps taken. By default the method's own.",
    )
    gammas_on: str = setting(
        "posterior",
        OneOf(("posterior", "prior")),
        "What the unnormalised topics of the methods other than gibbs are, given the topics: gammas of the"
        " prior's shapes and the counts (posterior), or of the prior's shapes alone (prior; not with scir).",
    )

    def check_together(self) -> None:
        """Raise ValueError where values do not go together."""
        self._check_document_prior()
        self._check_learning()
        self._check_topic_steps()

    @property
    def first_sweeps(self) -> int:
        """Sweeps over a document that is first seen."""
        return self.early_sweeps or (2 if self.method == "gibbs" else 8)

    @property
    def document_prior(self) -> Float[np.ndarray, " K"]:
        """Alpha, [K] float32."""
        return np.broadcast_to(np.asarray(self.doc_topic_prior, np.float32), self.n_topics).copy()

    def _check_document_prior(self) -> None:
        prior = self.doc_topic_prior
        if isinstance(prior, tuple | list | np.ndarray):
            object.__setattr__(self, "doc_topic_prior", tuple(float(value) for value in prior))
            if len(prior) != self.n_topics:
                raise ValueError(
                    f"doc_topic_prior has {len(prior)} values: must be one number or one for each of the "
                    f"{self.n_topics} topics"
                )
        for value in np.atleast_1d(np.asarray(self.doc_topic_prior)).tolist():
            if not PRIOR.holds(value):
                raise ValueError(f"doc_topic_prior must be {PRIOR.text}, got {value!r}")

    @property
    def learns_priors(self) -> bool:
        """Whether alpha or eta is drawn."""
        return (self.learn_doc_topic_prior, self.learn_topic_word_prior) != ("no", "no")

    def _check_learning(self) -> None:
        for name in ("learn_doc_topic_prior", "learn_topic_word_prior"):
            learn = getattr(self, name)
            if learn != "no" and self.method != "gibbs":
                raise ValueError(
                    f"{name} is {learn!r} but method is {self.method!r}, which does not learn it: "
                    "use method 'gibbs', or 'no'"
                )
        learn = self.learn_doc_topic_prior
        if learn == "symmetric" and len(set(self.document_prior)) > 1:
            raise ValueError(
                f"learn_doc_topic_prior is 'symmetric' but doc_topic_prior is {self.doc_topic_prior!r}: "
                "give one number, or learn it 'asymmetric'"
            )

    def _check_topic_steps(self) -> None:
        if self.gammas_on == "prior" and self.method == "scir":
            raise ValueError("gammas_on is 'prior' but method is 'scir', which moves gammas on the posterior")
        if self.step_size is None:
            return
        try:
            a, b, c = (float(value) for value in self.step_size)
        except (TypeError, ValueError):
            raise ValueError(f"step_size must be three numbers (a, b, c), got {self.step_size!r}") from None
        for name, value, allowed in zip("abc", (a, b, c), SCHEDULE, strict=True):
            if not allowed.holds(value):
                raise ValueError(f"step_size must have {name} {allowed.text}, got {self.step_size!r}")
        object.__setattr__(self, "step_size", (a, b, c))
