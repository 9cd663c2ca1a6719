"""The scores of one run of a ladder: held-out documents, stability over chains, coherence."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from geodrift.data import CorpusView
from geodrift.driver import Run
from geodrift.kernels._streams import LADDER_REFERENCE
from geodrift.models.kit._model import Model
from geodrift.models.topics._expected_topics import expected_topics
from geodrift.models.topics._topic_scores import topic_scores

REFERENCE = 20_000  # documents in which coherence looks words up, at most
TOP = 10


class Scored(NamedTuple):
    """Scores of a run.

    Attributes:
        told: For a reader, see `Ladder.rows`.
        by_chain: Log likelihood of each document's held-out tokens under each chain's draws.
        tokens: Held-out tokens of each document.
    """

    told: dict[str, Any]
    by_chain: Float[np.ndarray, "C D"]
    tokens: Int[np.ndarray, " D"]


def scored(model: Model, run: Run, rows: sp.csr_matrix, training: CorpusView, seed: int) -> Scored:
    """The scores of a run.

    Args:
        model: Of the run.
        run: With draws.
        rows: Counts of the documents set aside.
        training: The documents that were fitted, in which coherence looks words up.
        seed: Of what the scores draw.
    """
    answers: Any = model.answers()
    found = answers.completion_by_chain(run, rows, seed=seed)
    draws, agreed = answers.aligned(run)
    means = expected_topics(draws[answers.variable], agreed, answers.signed).astype(np.float64)
    coherence = topic_scores(
        means / means.sum(axis=1, keepdims=True), _reference(training, seed), top=min(TOP, means.shape[1])
    )
    together = found.together
    told = {
        "perplexity": together.perplexity,
        "log_likelihood_per_token": together.log_likelihood_per_token,
        "standard_error": together.standard_error,
        "shared": int(agreed.shared.sum()) if len(agreed.cosines) > 1 else None,
        "npmi": coherence["npmi"]["value"],
        "diversity": coherence["diversity"]["value"],
        "steps": int(min(run.state["counts"])),
        "seconds": float(run.state["seconds"]),
    }
    return Scored(told, found.by_chain, together.document_held_out_tokens)


def _reference(training: CorpusView, seed: int) -> sp.csr_matrix:
    number = training.num_documents
    if number <= REFERENCE:
        return training.matrix()
    chosen = LADDER_REFERENCE.generator(seed).choice(number, REFERENCE, replace=False)
    return training.rows(np.sort(chosen))
