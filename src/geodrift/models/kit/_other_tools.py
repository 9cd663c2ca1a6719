"""What a run has found, in the form that other tools read: pyLDAvis' arrays, BERTopic's table of topics."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from geodrift._errors import InputError
from geodrift.data import Corpus, VectorSource
from geodrift.driver import Run
from geodrift.models.kit._component_answers import ComponentAnswers
from geodrift.models.kit._component_names import means_of
from geodrift.models.kit._document_weights import weight_blocks
from geodrift.models.kit._documents_looked_at import documents_looked_at

Progress = Callable[[int, int, str], object]
Source = Corpus | VectorSource
WORDS = 10  # of a topic in the table
NAME_WORDS = 4  # of these in its name


def pyldavis_arrays(
    run: Run,
    answers: ComponentAnswers,
    corpus: Corpus | VectorSource,
    *,
    most: int,
    seed: int,
    progress: Progress,
) -> dict[str, np.ndarray]:
    """The arguments of ``pyLDAvis.prepare``, by their names.

    Args:
        run: The run.
        answers: Of its model.
        corpus: The run's corpus.
        most: Documents, at most; of a larger corpus so many at random. Those without a word are left out.
        seed: Of the choice and of the documents' weights.
        progress: Told how many documents are done.

    Raises:
        InputError: The components are not probabilities of words, or documents are not made of them alone.
    """
    if answers.signed:
        raise InputError(
            f"run {run.path} is of {answers.model.title}: pyLDAvis draws topics that are probabilities"
        )
    others = answers.other_columns(run)
    if others:
        raise InputError(
            f"run {run.path} is of {answers.model.title}: pyLDAvis draws all {answers.model.component}s that"
            f" documents are made of, and these are made of {' and '.join(others)} too"
        )
    draws, agreed = answers.aligned(run)
    topics = means_of(draws[answers.variable].astype(np.float64), agreed)
    topics /= topics.sum(axis=1, keepdims=True)
    weights, lengths, frequencies = [], [], np.zeros(corpus.num_words)
    for numbers, mean in _weighed(run, answers, corpus, most, seed, progress):
        counts = corpus.rows(numbers)
        told = np.asarray(counts.sum(axis=1)).ravel()
        weights.append(mean[told > 0])
        lengths.append(told[told > 0])
        frequencies += np.asarray(counts.sum(axis=0)).ravel()
    shares = np.concatenate(weights).astype(np.float64)
    return {
        "topic_term_dists": topics,
        "doc_topic_dists": shares / shares.sum(axis=1, keepdims=True),
        "doc_lengths": np.concatenate(lengths).astype(np.int64),
        "vocab": np.array(run.labels["word"], dtype=np.str_),
        "term_frequency": frequencies.astype(np.int64),
    }


def topic_table(
    run: Run,
    answers: ComponentAnswers,
    corpus: Corpus | VectorSource,
    *,
    most: int,
    seed: int,
    progress: Progress,
) -> list[dict[str, Any]]:
    """Rows with the columns ``Topic``, ``Count``, ``Name`` and ``Representation`` of BERTopic's table.

    ``Count`` is the number of documents that have most of the topic. Those that have most of none, but of
    what else documents are made of, are counted under ``Topic`` -1, as BERTopic counts its outliers; those
    without a word, which have the weights of the prior, are counted nowhere. Arguments are those of
    `pyldavis_arrays`.
    """
    parts, component = answers.summarise(run, WORDS).parts, answers.model.component
    others = answers.other_columns(run)
    counts = np.zeros(len(parts) + len(others), np.int64)
    for numbers, mean in _weighed(run, answers, corpus, most, seed, progress):
        if isinstance(corpus, Corpus):
            mean = mean[np.diff(corpus.rows(numbers).indptr) > 0]
        counts += np.bincount(mean.argmax(axis=1), minlength=len(counts))
    rows: list[dict[str, Any]] = []
    if others:
        outliers = {"Topic": -1, "Count": int(counts[len(parts) :].sum())}
        rows.append(outliers | {"Name": "_".join(["-1", *others]), "Representation": []})
    for part in parts:
        place, words = part[component], [entry["word"] for entry in part.get("words", ())]
        name = part.get("name") or "_".join(words[:NAME_WORDS]) or component
        told = {"Topic": place, "Count": int(counts[place]), "Name": f"{place}_{name}"}
        rows.append(told | {"Representation": words})
    return rows


def _weighed(
    run: Run,
    answers: ComponentAnswers,
    corpus: Corpus | VectorSource,
    most: int,
    seed: int,
    progress: Progress,
) -> Iterator[tuple[Int[np.ndarray, " B"], Float[np.ndarray, "B K"]]]:
    numbers, done = documents_looked_at(corpus.num_documents, most, seed), 0
    progress(0, len(numbers), "weighing documents")
    for some, weights in weight_blocks(run, answers.model, corpus, numbers, seed=seed, fitted=True):
        done += len(some)
        yield some, weights["mean"]
        progress(done, len(numbers), "weighing documents")
