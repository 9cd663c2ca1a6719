"""What the scikit-learn estimators of all models share."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from geodrift._whole import shown_above, whole
from geodrift.data import csr_or_dense
from geodrift.data._limits import default_words
from geodrift.driver import Chain, compile_steps, sampled
from geodrift.models.kit._agreement import Agreement, aligned
from geodrift.models.kit._alignment import Directions
from geodrift.models.kit._by_processes import sampled_by_processes
from geodrift.models.kit._chain import ModelChain
from geodrift.models.kit._model import Model
from geodrift.models.kit._settings import ModelSettings, settings_of

C = TypeVar("C", bound=ModelChain)


class MatrixCorpus:
    """A matrix in memory as a corpus.

    Args:
        matrix: Counts or vectors, [D, V].
    """

    def __init__(self, matrix: sp.csr_matrix) -> None:
        self.matrix = matrix
        self.num_documents, self.num_words = matrix.shape
        self.document_frequencies = np.bincount(matrix.indices, minlength=self.num_words)

    def rows(self, documents: np.ndarray) -> sp.csr_matrix:
        """The rows of the given documents."""
        return self.matrix[documents]


class Facade(TransformerMixin, BaseEstimator):
    """A model under scikit-learn's contract; a subclass has `fit` and `transform_with_intervals`.

    Every setting of ``settings_type`` is a parameter of the subclass's constructor, under the setting's name
    for parameters and with its default; ``n_chains`` and ``random_state`` are parameters too.

    Attributes:
        settings_type: The class of the model's settings.

    Raises:
        TypeError: At the definition of a subclass: a setting is no parameter, or has another default there.
    """

    settings_type: ClassVar[type[ModelSettings]]
    model: ClassVar[Model]  # of estimators with ``processes``
    n_chains: Any
    random_state: Any
    verbose: Any = 0  # of `fit`: above 0, progress goes to stderr
    processes: Any = None  # that take the steps of `fit`; None: this one

    def __init_subclass__(cls, **named: Any) -> None:
        """Compare the constructor's parameters with the settings."""
        super().__init_subclass__(**named)
        parameters = inspect.signature(cls.__init__).parameters
        for told in cls.settings_type.settings() if hasattr(cls, "settings_type") else ():
            if told.parameter not in parameters:
                raise TypeError(f"{cls.__name__} lacks the parameter {told.parameter} of setting {told.name}")
            if parameters[told.parameter].default != told.default:
                raise TypeError(f"{cls.__name__}: the default of {told.parameter} is not {told.default!r}")

    def transform_with_intervals(self, X: Any) -> dict[str, Float[np.ndarray, "D K"]]:
        """Weights of the components in each document: ``{"mean", "low", "high"}``, the ends of 90% intervals.

        Args:
            X: As for `fit`.
        """
        raise NotImplementedError

    def transform(self, X: Any) -> Float[np.ndarray, "D K"]:
        """Posterior means of the weights of the components in each document."""
        return self.transform_with_intervals(X)["mean"]

    def _numbers(self) -> dict[str, Float[np.ndarray, "C N"]]:
        """Numbers of a draw that no order of the components changes, of a model that has them."""
        return {}

    def _told_numbers(self) -> list[dict[str, Any]]:
        """What is told of such numbers: see `Report.numbers`."""
        return []

    def _words(self, vocabulary: Sequence[str] | None) -> list[str]:
        """The words given; else the names of the columns that `fit` saw; else word0, word1, ..."""
        if vocabulary is None:
            vocabulary = getattr(self, "feature_names_in_", None)
        if vocabulary is None:
            return default_words(self.n_features_in_)
        if len(vocabulary) != self.n_features_in_:
            raise ValueError(f"vocabulary must be {self.n_features_in_} words, got {len(vocabulary)}")
        return [str(word) for word in vocabulary]

    def _chains(
        self,
        chain_type: Callable[..., C],
        corpus: MatrixCorpus,
        settings: ModelSettings,
        start: Float[np.ndarray, "C J V"] | None = None,
    ) -> list[C]:
        """The chains of `fit` at their start; see `make_chains`."""
        seed, number = self._seed(), whole("n_chains", self.n_chains)
        chains = [chain_type(corpus, settings, seed=seed, chain=chain) for chain in range(number)]
        for number, chain in enumerate(chains if start is not None else ()):
            chain.start_from(start[number % len(start)])
        compile_steps(chains)
        return chains

    def _sampled(
        self,
        chains: Sequence[ModelChain],
        corpus: MatrixCorpus,
        num_steps: int,
        start: Float[np.ndarray, "C J V"] | None = None,
    ) -> dict[str, np.ndarray]:
        """The draws of so many steps of each chain, [chain, draw, ...] of each variable.

        Args:
            chains: At their start.
            corpus: Their documents.
            num_steps: Of each chain.
            start: As for `_chains`.
        """
        verbose = self._shows_progress()
        if self.processes is None:
            return sampled(chains, num_steps, verbose=verbose)
        of_steps = corpus.matrix, num_steps, self.processes
        return sampled_by_processes(self.model, chains, *of_steps, start=start, verbose=verbose)

    def _settings(self, **changes: Any) -> Any:
        """The settings that the parameters say, some of them changed; checked, as ``verbose`` is."""
        self._shows_progress()
        settings = settings_of(self, self.settings_type, **changes)
        if self.processes is None:
            return settings
        return self.settings_type.from_dict(self.model.to_share(settings.to_dict()))

    def _shows_progress(self) -> bool:
        return shown_above("verbose", self.verbose)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))

    def _may_be_negative(self) -> bool:
        return False

    def _where_negative_is_allowed(self) -> str:
        return ""

    def _validated(self, X: Any, *, reset: bool, least_documents: int = 1) -> sp.csr_matrix:
        """X as canonical rows, float64.

        Args:
            X: What the user gave.
            reset: Whether the number of columns is this estimator's from now on.
            least_documents: Rows that X has to have.
        """
        if _holds_text(X):
            raise ValueError(
                f"{type(self).__name__} takes counts of words, [documents, words], and got texts: count their"
                " words first, with sklearn.feature_extraction.text.CountVectorizer().fit_transform(texts)"
            )
        X = validate_data(
            self,
            csr_or_dense(X, "X"),  # scikit-learn's checks follow index arrays, and forget masks
            accept_sparse="csr",
            dtype=np.float64,
            reset=reset,
            ensure_min_samples=least_documents,
            ensure_min_features=2 if reset else 1,
        )
        matrix = sp.csr_matrix(X, copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        if not self._may_be_negative() and matrix.nnz and matrix.data.min() < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: counts cannot be"
                + self._where_negative_is_allowed()
            )
        return matrix

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = not self._may_be_negative()
        tags.transformer_tags.preserves_dtype = []  # what is made of draws is float32, as the draws are
        return tags


def _holds_text(X: Any) -> bool:
    """Whether what should be a matrix is a list, or a column, of texts."""
    if isinstance(X, str):
        return True
    if sp.issparse(X) or hasattr(X, "dtypes") or not hasattr(X, "__len__") or not len(X):
        return False
    first = X[0] if isinstance(X, list | tuple) or getattr(X, "ndim", 0) == 1 else None
    return isinstance(first, str)


def component_draws(
    chains: Sequence[Chain], found: dict[str, np.ndarray], variable: str, directions: Directions
) -> tuple[dict[str, np.ndarray], Agreement]:
    """Draws of all chains: every variable of components, in one order of them, and how far the chains agree.

    Args:
        chains: They know the variables.
        found: The draws, [chain, draw, ...] of each variable.
        variable: By which components are told apart; its first dimension is that of the components.
        directions: See `agreement`.

    Returns:
        The variables by name, [chain, draw, component, ...] each; numbers of a draw, which no order changes,
        are [chain, draw].
    """
    variables = chains[0].variables
    draws = {
        name: values
        for name, values in found.items()
        if variables[name].dims[:1] == variables[variable].dims[:1]
    }
    ordered, agreed = aligned(draws, variable, directions)
    return ordered | {name: found[name] for name in found if not variables[name].dims}, agreed
