"""What documents are made of, block by block, in the memory of a block and of the draws of the components."""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int

from geodrift.data import Corpus, VectorRows, VectorSource
from geodrift.driver import Run
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
        fitted: Whether the documents are the run's own: see `Answers.transform`.

    Yields:
        The numbers of some documents, and their weights.
    """
    if isinstance(documents, Corpus | VectorSource):
        total, fetched = documents.num_documents, documents.rows
    else:
        total, fetched = documents.shape[0], documents.__getitem__
    if numbers is None:
        numbers = np.arange(total)
    answers = model.answers()
    weigh = answers.transformer(run, seed=seed, intervals=intervals, fitted=fitted)
    block = answers.documents_a_block(run)
    for start in range(0, len(numbers), block):
        some = numbers[start : start + block]
        yield some, weigh(document_rows(run, model, fetched(some)))
        if isinstance(documents, Corpus):
            documents.let_go()
