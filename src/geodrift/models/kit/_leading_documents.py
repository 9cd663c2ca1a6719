"""The documents in which each component has most weight."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from geodrift.data import Corpus, VectorSource
from geodrift.driver import Run
from geodrift.models.kit._document_weights import Weights, weight_blocks
from geodrift.models.kit._documents_looked_at import documents_looked_at
from geodrift.models.kit._model import Model

WORDS = 6  # of a component that are told

# Numbers of documents and their weights, of as many documents as there happen to be.
_Numbered = tuple[Int[np.ndarray, " _"], dict[str, Float[np.ndarray, "_ K"]]]


def leading_documents(
    run: Run,
    model: Model,
    corpus: Corpus | VectorSource,
    top: int,
    *,
    title: str = "title",
    most: int = 20_000,
    seed: int = 0,
    progress: Callable[[int, int, str], object] = lambda done, total, what: None,
) -> list[dict[str, Any]]:
    """For each component its words, and the documents with most of it by posterior mean, in order.

    Documents without a word, whose weights are those of the prior, are left out.

    Args:
        run: The run.
        model: Its model.
        corpus: The run's corpus, those documents included that were set aside.
        top: Documents of each component.
        title: The field that is their title.
        most: Documents that are looked at; of a larger corpus so many at random.
        seed: Of the choice, and of the draws of weights.
        progress: Told how many documents are done, and of how many.

    Returns:
        For JSON; ``low`` and ``high``, the ends of 90% intervals, are None where the chains do not share the
        component.
    """
    numbers = documents_looked_at(corpus.num_documents, most, seed)
    progress(0, len(numbers), "reading the draws")
    parts = model.answers().summarise(run, WORDS).parts
    kept: _Numbered | None = None
    done = 0
    for some, weights in weight_blocks(run, model, corpus, numbers, seed=seed, fitted=True):
        done += len(some)
        if isinstance(corpus, Corpus):
            told = np.diff(corpus.rows(some).indptr) > 0
            some, weights = some[told], {name: values[told] for name, values in weights.items()}
        kept = _leading(kept, (some, weights), top)
        progress(done, len(numbers), "weighing documents")
    return [] if kept is None else [_told(part, *kept, corpus, top, title, model) for part in parts]


def _leading(before: _Numbered | None, new: _Numbered, top: int) -> _Numbered:
    """Those of two sets of documents that lead in any component."""
    if before is not None:
        new = (
            np.concatenate([before[0], new[0]]),
            {name: np.concatenate([before[1][name], new[1][name]]) for name in new[1]},
        )
    leading = np.unique(np.argsort(-new[1]["mean"], axis=0, kind="stable")[:top])
    return new[0][leading], {name: values[leading] for name, values in new[1].items()}


def _told(
    part: dict[str, Any],
    numbers: Int[np.ndarray, " M"],
    weights: Weights,
    corpus: Corpus | VectorSource,
    top: int,
    title: str,
    model: Model,
) -> dict[str, Any]:
    place = part[model.component]
    order = np.argsort(-weights["mean"][:, place], kind="stable")[:top]
    found = []
    for at, document in zip(order, corpus.identities(numbers[order]), strict=True):
        ends = {name: float(weights[name][at, place]) for name in ("low", "high")}
        found.append(
            {"number": int(numbers[at]), "id": document.id, "title": document.fields.get(title)}
            | {"mean": float(weights["mean"][at, place])}
            | {name: None if np.isnan(value) else value for name, value in ends.items()}
        )
    words = [entry["word"] for entry in part.get("words", [])]
    told = {key: part[key] for key in ("name", "size") if key in part}
    return {model.component: place} | told | {"words": words, "documents": found}
