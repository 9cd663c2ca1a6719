"""Hyperparameters of the hierarchical Dirichlet process."""

import dataclasses

from geodrift.models.kit._allowed import Between, Whole
from geodrift.models.kit._settings import ModelSettings, setting

MAX_BATCH = 2**31 - 1
MAX_FIRST_TOPICS = 1000
CONCENTRATION = Between(1e-6, 1e4)


@dataclasses.dataclass(frozen=True)
class Settings(ModelSettings):
    """What is fixed while topics, their number and their weights are sampled."""

    first_topics: int | None = setting(
        None,
        Whole(1, MAX_FIRST_TOPICS),
        "Topics that a chain starts with; how many there are afterwards is sampled. By default 50, or as many"
        " as there are documents.",
    )
    topic_word_prior: float = setting(
        0.01, Between(1e-6, 1e4), "eta, the Dirichlet parameter of each word in a topic."
    )
    mixture_concentration: float | None = setting(
        None,
        CONCENTRATION,
        "alpha_0, how near the mixtures of the documents are to the topics' weights; by default it is drawn"
        " with the topics, under the prior Gamma(1, 1).",
    )
    weight_concentration: float | None = setting(
        None,
        CONCENTRATION,
        "gamma, the concentration of the topics' weights: large values ask for many topics; by default it is"
        " drawn with the topics, under the prior Gamma(1, 0.1).",
    )
    batch_size: int | None = setting(
        None,
        Whole(1, MAX_BATCH),
        "S, documents whose assignments are redrawn at each step; more than the corpus means all. By"
        " default about as many as hold 2^19 tokens.",
    )

    @property
    def sweeps(self) -> int:
        """Sweeps over each document of a minibatch."""
        return 1

    @property
    def first_sweeps(self) -> int:
        """Sweeps over a document that is first seen."""
        return 2
