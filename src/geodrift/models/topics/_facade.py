"""What the scikit-learn estimators of topic models share."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float
from sklearn.utils.validation import check_is_fitted

from geodrift.driver import Chain
from geodrift.models.kit import _places
from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._alignment import directions_of
from geodrift.models.kit._datatree import component_datatree
from geodrift.models.kit._facade import Facade, component_draws
from geodrift.models.kit._found_draws import draws_found, with_intervals_of_shared
from geodrift.models.kit._report_facade import report_of_estimator
from geodrift.models.kit._word_intervals import component_words
from geodrift.models.topics._answers import TRANSFORM_DRAWS
from geodrift.models.topics._expected_topics import expected_topics
from geodrift.models.topics.starts._sources import starting_topics
from geodrift.report import Report

if TYPE_CHECKING:
    import xarray as xr


class TopicModelFacade(Facade):
    """A topic model under scikit-learn's contract.

    Attributes:
        signed: Whether topics are unit vectors, in which the weights of words have a sign.
        agreement_: How far the chains agree on each topic.
        sizes_of: What topics' sizes are shares of: of words, each token counted once, or of documents, of
            which each counts the same.
        topic_size_draws_: The share that each topic has in each draw, [draw, topic]; None of a method that
            has none, and after `partial_fit`.
        number_draws_: Numbers of each draw that no order of the topics changes, such as ``log_joint``, by
            name, [draw] each; none after `partial_fit`.
        topics_: The posterior mean of each topic, over the draws of the chains that have found it,
            [topic, word].
        components_: The same under the name that scikit-learn's LDA has for it.
    """

    signed: ClassVar[bool] = False
    sizes_of: ClassVar[str] = "documents"
    agreement_: Agreement
    topic_size_draws_: Float[np.ndarray, "N K"] | None
    number_draws_: Mapping[str, Float[np.ndarray, " N"]] = MappingProxyType({})
    topic_draws_: Any

    @property
    def topics_(self) -> Float[np.ndarray, "K V"]:
        """See the class."""
        check_is_fitted(self)
        return expected_topics(self._of_chains(self.topic_draws_), self._agreed(), self.signed)

    @property
    def components_(self) -> Float[np.ndarray, "K V"]:
        """See the class."""
        return self.topics_

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns of `transform`, also after `set_output`: topic0, topic1, ...

        Args:
            input_features: Ignored.
        """
        del input_features
        check_is_fitted(self)
        return np.array([f"topic{k}" for k in range(self.topic_draws_.shape[1])], dtype=object)

    def top_words(self, vocabulary: Sequence[str] | None = None, *, top: int = 10) -> list[dict[str, Any]]:
        """Each topic's words, at both ends where weights have a sign, and by how many chains it was found.

        Args:
            vocabulary: V words; None: the names of the columns of the DataFrame that `fit` saw, or word0, ...
            top: Words at each end.

        Returns:
            See `summarise_topics`.
        """
        check_is_fitted(self)
        of_chains, agreed = self._of_chains(self.topic_draws_), self._agreed()
        sizes = getattr(self, "topic_size_draws_", None)
        if sizes is not None:
            sizes = sizes.reshape(of_chains.shape[:3])
        return component_words(
            of_chains, self._words(vocabulary), top, "topic", agreed=agreed, signed=self.signed, sizes=sizes
        )

    def to_datatree(self, vocabulary: Sequence[str] | None = None) -> "xr.DataTree":
        """Draws of topics and their sizes, [chain, draw, topic, ...], and which chains found which topic.

        Args:
            vocabulary: V words; None: the names of the columns that `fit` saw, or numbers.

        Returns:
            The groups ``posterior`` and ``agreement``; see `Answers.to_datatree`.
        """
        # Imported here: xarray takes half a second.
        import xarray as xr

        check_is_fitted(self)
        agreed = self._agreed()
        draws = {"topics": (self.topic_draws_, ("topic", "word"))} | self._other_draws()
        posterior = xr.Dataset(
            {
                name: (("chain", "draw", *dims), self._of_chains(values))
                for name, (values, dims) in draws.items()
            }
        )
        words = getattr(self, "feature_names_in_", None) if vocabulary is None else list(vocabulary)
        places = {str(dim): np.arange(size) for dim, size in posterior.sizes.items()}
        posterior = posterior.assign_coords(places if words is None else places | {"word": words})
        return component_datatree(posterior, agreed, "topic")

    def report(
        self,
        vocabulary: Sequence[str] | None = None,
        *,
        documents: Any = None,
        names: Sequence[str] | None = None,
        texts: Sequence[str] | None = None,
        top: int = 15,
        title: str | None = None,
    ) -> Report:
        """What was fitted, for readers: ``model.report(words, documents=counts).save("topics.html")``.

        Args:
            vocabulary: V words; None: the names of the columns that `fit` saw, or numbers.
            documents: Documents whose mixtures are told, as for `transform`; None: none.
            names: What each of them is called; None: its name in the index of a data frame, or its number.
            texts: Their texts, of which the beginnings of those that lead a topic are told; None: words.
            top: Words of a topic.
            title: Of the page; None: the model's name.

        Raises:
            ValueError: The vocabulary does not have V words, or there is not a name or a text for each
                document.
        """
        check_is_fitted(self)
        if vocabulary is None:
            vocabulary = getattr(self, "feature_names_in_", [f"word {n}" for n in range(self.n_features_in_)])
        words = [str(word) for word in vocabulary]
        agreed, of_chains = self._agreed(), self._of_chains(self.topic_draws_)
        parts = self.top_words(words, top=top)
        return report_of_estimator(
            self,
            of_chains,
            agreed,
            parts,
            words,
            documents,
            names,
            title,
            texts=texts,
            more={"sizes_of": self.sizes_of},
        )

    def _other_draws(self) -> dict[str, tuple[np.ndarray, tuple[str, ...]]]:
        """Draws of other variables, [draw, ...], with their dimensions after the first."""
        sizes = getattr(self, "topic_size_draws_", None)
        found: dict[str, tuple[np.ndarray, tuple[str, ...]]] = {
            name: (values, ()) for name, values in self.number_draws_.items()
        }
        return found if sizes is None else found | {"topic_sizes": (sizes, ("topic",))}

    def _numbers(self) -> dict[str, Float[np.ndarray, "C N"]]:
        return {name: self._of_chains(values) for name, values in self.number_draws_.items()}

    def _checks(self, X: Any, vocabulary: Sequence[str]) -> list[dict[str, Any]] | None:
        """A posterior predictive check of each topic, of a model that has one: `ComponentAnswers.checks`."""
        del X, vocabulary
        return None

    def _start(self, start_from: Any) -> Float[np.ndarray, "C J V"] | None:
        """Topics for the chains of `fit` to begin at, in the columns' words; None: what the model finds."""
        if start_from is None:
            return None
        named = getattr(self, "feature_names_in_", None)
        words = self._words(None) if named is None else list(map(str, named))
        return starting_topics(start_from, words)[0]

    def _of_chains(self, draws: Float[np.ndarray, "N *rest"]) -> Float[np.ndarray, "C M *rest"]:
        return draws.reshape(len(self._agreed().cosines), -1, *draws.shape[1:])

    def _agreed(self) -> Agreement:
        return self.agreement_

    def _found(self, most: int) -> Bool[np.ndarray, "M K"]:
        """Which of at most so many draws are of a chain that has found each topic."""
        return draws_found(self._agreed(), _places.spaced(len(self.topic_draws_), most))

    def _of_shared(self, weights: dict[str, Float[np.ndarray, "D K"]]) -> dict[str, Float[np.ndarray, "D K"]]:
        """Weights of topics in documents, without the intervals of topics that are not shared."""
        return with_intervals_of_shared(weights, self.agreement_)

    def _draws_of(
        self, chains: Sequence[Chain], found: dict[str, np.ndarray]
    ) -> dict[str, Float[np.ndarray, "N K *rest"]]:
        """The draws of all chains, one after the other, of every variable that has topics, in one order.

        Args:
            chains: They know the variables.
            found: The draws as they were made; see `_sampled`.
        """
        draws, self.agreement_ = component_draws(chains, found, "topics", directions_of(self.signed))
        flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in draws.items()}
        self._keep_numbers(flat)
        return flat

    def _keep_numbers(self, draws: Mapping[str, Float[np.ndarray, "N *rest"]]) -> None:
        """Keep the topics' sizes, and what is one number a draw."""
        self.topic_size_draws_ = draws.get("topic_sizes")
        self.number_draws_ = {name: values for name, values in draws.items() if values.ndim == 1}


def spaced(draws: Float[np.ndarray, "N ..."], most: int = TRANSFORM_DRAWS) -> Float[np.ndarray, "M ..."]:
    """At most so many of the draws, evenly spaced."""
    return draws[_places.spaced(len(draws), most)]
