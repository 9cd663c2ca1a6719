"""What documents are made of, block by block, in the memory of a block and of the draws of the components."""

import functools
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from geodrift.data import Corpus, VectorRows, VectorSource
from geodrift.driver import Run
from geodrift.models.kit._fitted_rows import each_in_its_way
from geodrift.models.kit._model import Model
from geodrift.models.kit._runs import document_rows

Weights: TypeAlias = dict[str, Float[np.ndarray, "D K"]]


def weight_blocks(
    run: Run,
    model: Model,
    documents: Corpus | VectorSource | VectorRows,
    numbers: Int[np.ndarray, " D"] | None = None,
    *,
    seed: int = 0,
    intervals: bool = True,
    fitted: bool = False,
) -> Iterator[tuple[Int[np.ndarray, " B"], Weights]]:
    """Weights of the components in documents, fitted or not; see `Answers.transform`.

    A document's numbers do not depend on the blocks.

    Args:
        run: The run.
        model: Its model.
        documents: A corpus, or counts, of the run's words; or vectors.
        numbers: Which documents; None: all.
        seed: Of the draws of weights.
        intervals: See `Answers.transformer`.
        fitted: Whether the documents are the run's own: see `Answers.transform`. Those of its corpus that
            were set aside are weighed as new ones.

    Yields:
        The numbers of some documents, and their weights.
    """
    if isinstance(documents, Corpus | VectorSource):
        total, fetched = documents.num_documents, documents.rows
    else:
        total, fetched = documents.shape[0], documents.__getitem__
    if numbers is None:
        numbers = np.arange(total)
    answers, aside = model.answers(), _set_aside(run, documents) if fitted else None

    @functools.cache
    def weigher(fitted: bool) -> Callable[[VectorRows], Weights]:
        return answers.transformer(run, seed=seed, intervals=intervals, fitted=fitted)

    def weigh(rows: VectorRows, fitted: bool) -> Weights:
        return weigher(fitted)(rows)

    block = answers.documents_a_block(run)
    for start in range(0, len(numbers), block):
        some = numbers[start : start + block]
        own = np.full(len(some), fitted) if aside is None else ~aside[some]
        yield some, each_in_its_way(document_rows(run, model, fetched(some)), own, weigh)
        if isinstance(documents, Corpus):
            documents.let_go()


def _set_aside(run: Run, documents: Corpus | VectorSource | VectorRows) -> Bool[np.ndarray, " D"] | None:
    """Which documents of a run's own corpus were not fitted; None where all were, or of another corpus."""
    told, held_out = run.config["corpus"], run.config["held_out"]
    if not (held_out and isinstance(documents, Corpus) and documents.checksum == told["checksum"]):
        return None
    aside = np.ones(documents.num_documents, bool)
    aside[documents.split(held_out, run.config["seed"])[0].documents] = False
    return aside
