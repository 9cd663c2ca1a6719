"""What the scikit-learn estimator tells of priors that are learnt."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from geodrift.models.latent_dirichlet_allocation._learnt_priors import prior_numbers, told_priors, with_alpha
from geodrift.models.latent_dirichlet_allocation._settings import Settings
from geodrift.models.topics._facade import TopicModelFacade, spaced


class LearntPriors(TopicModelFacade):
    """The part of `LatentDirichletAllocation` that is of alpha and eta."""

    settings_: Settings
    doc_topic_prior_draws_: Float[np.ndarray, "N K"] | None
    topic_word_prior_draws_: Float[np.ndarray, " N"] | None

    @property
    def learnt_priors_(self) -> list[dict[str, Any]]:
        """See the class."""
        check_is_fitted(self)
        return told_priors(self._prior_numbers())

    def top_words(self, vocabulary: Sequence[str] | None = None, *, top: int = 10) -> list[dict[str, Any]]:
        """As for all topic models, and each topic's alpha where these are learnt: ``doc_topic_prior``."""
        found = super().top_words(vocabulary, top=top)
        if self.doc_topic_prior_draws_ is None or self._symmetric():
            return found
        return with_alpha(found, self._of_chains(self.doc_topic_prior_draws_), self._agreed())

    def _prior(self, most: int) -> Any:
        """The document prior: of each of at most so many spaced draws where topics differ in it."""
        learnt, given = self.doc_topic_prior_draws_, np.asarray(self.settings_.doc_topic_prior)
        if learnt is None and given.ndim == 0:
            return self.settings_.doc_topic_prior
        # Given or learnt, alpha goes with its topic, which another chain has in another place.
        orders = self._agreed().orders
        return spaced(given[orders].reshape(-1, orders.shape[2]) if learnt is None else learnt, most)

    def _prior_numbers(self) -> dict[str, Float[np.ndarray, "C N"]]:
        draws = {name: self._of_chains(values) for name, (values, _) in self._prior_draws().items()}
        return prior_numbers(draws, self._symmetric())

    def _prior_draws(self) -> dict[str, tuple[np.ndarray, tuple[str, ...]]]:
        found = {
            "doc_topic_prior": (self.doc_topic_prior_draws_, ("topic",)),
            "topic_word_prior": (self.topic_word_prior_draws_, ()),
        }
        return {name: (values, dims) for name, (values, dims) in found.items() if values is not None}

    def _other_draws(self) -> dict[str, tuple[np.ndarray, tuple[str, ...]]]:
        return super()._other_draws() | self._prior_draws()

    def _numbers(self) -> dict[str, Float[np.ndarray, "C N"]]:
        return super()._numbers() | self._prior_numbers()

    def _told_numbers(self) -> list[dict[str, Any]]:
        return self.learnt_priors_

    def _symmetric(self) -> bool:
        return self.settings_.learn_doc_topic_prior == "symmetric"

    def _of_chains(self, draws: Float[np.ndarray, "N ..."]) -> Float[np.ndarray, "C n ..."]:
        return draws.reshape(len(self._agreed().cosines), -1, *draws.shape[1:])


def refuse_learnt_priors(estimator: Any) -> None:
    """Raise ValueError where a stream, of which no assignment is kept, is to learn a prior."""
    for name in ("learn_doc_topic_prior", "learn_topic_word_prior"):
        if getattr(estimator, name) != "no":
            raise ValueError(
                f"{name} is {getattr(estimator, name)!r}, but partial_fit keeps no assignments to learn from:"
                " use fit, or 'no'"
            )
