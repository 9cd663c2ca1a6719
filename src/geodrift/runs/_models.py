"""Between run directories and models: engines from a run's config, and the model's answers from its draws."""

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from geodrift.data import Corpus, CorpusView, InputError
from geodrift.runs._fit import Engine
from geodrift.runs._run import Run

MODELS = ("sam",)
# Mixture draws of so many documents are held at once.
_DOCUMENTS_A_BLOCK = 500


def make_engines(config: dict[str, Any], corpus: Corpus) -> list[Engine]:
    """The engines of a run, one a chain, as at its start: a function of the config and the corpus.

    Args:
        config: `settings`, `seed`, `chains` and `held_out`, the number of documents set aside for scoring.
        corpus: All documents, those set aside included.

    Raises:
        ValueError: Settings outside what is allowed, or a corpus that the model cannot take.
    """
    from geodrift.models.spherical_admixture import Engine as SphericalAdmixtureEngine
    from geodrift.models.spherical_admixture import Settings, weight_rows

    settings = Settings.from_dict(config["settings"])
    training: Corpus | CorpusView = corpus
    aside: sp.csr_matrix | None = None
    if config["held_out"]:
        training, counts = corpus.split(config["held_out"], config["seed"])
        aside = weight_rows(counts, settings.weighting, training.document_frequencies, training.num_documents)
    return [
        SphericalAdmixtureEngine(training, settings, seed=config["seed"], chain=chain, held_out=aside)
        for chain in range(config["chains"])
    ]


def create_run(path: Any, config: dict[str, Any], corpus: Corpus, engines: list[Engine]) -> Run:
    """A run directory for engines from `make_engines`; a corpus in memory is saved inside it."""
    training = corpus.split(config["held_out"], config["seed"])[0] if config["held_out"] else corpus
    config = config | {
        "model": "sam",
        "settings": engines[0].config["settings"],
        "documents": training.num_documents,
        "words": corpus.num_words,
        "text_options": corpus.manifest["made"].get("options"),
    }
    if corpus.path is None:
        return Run.create(path, config, corpus.vocabulary, training.document_frequencies, corpus)
    config["corpus"] = {"path": str(corpus.path.resolve()), "checksum": corpus.checksum}
    return Run.create(path, config, corpus.vocabulary, training.document_frequencies)


def memory_needed(engines: list[Engine]) -> tuple[int, int]:
    """Bytes of memory that the chains' states take while they move, and bytes of disk that draws may take."""
    states = [engine.state() for engine in engines]
    state = sum(np.asarray(array).nbytes for arrays in states for array in arrays.values())
    settings = engines[0].config["settings"]
    draw = settings["n_topics"] * engines[0].config["words"] * 4
    # A step holds the old state, the new one, the gradient and the noise.
    return 4 * state, settings["num_draws"] * draw * len(engines) + state


def weighted(run: Run, counts: sp.csr_matrix) -> sp.csr_matrix:
    """Counts of new documents as the unit rows of the run's weighting."""
    from geodrift.models.spherical_admixture import weight_rows

    if counts.shape[1] != len(run.vocabulary):
        raise InputError(
            f"the input has {counts.shape[1]:,} words but run {run.path} has {len(run.vocabulary):,}"
        )
    weighting = run.config["settings"]["weighting"]
    return weight_rows(counts, weighting, run.document_frequencies, run.config["documents"])


def aligned_topics(run: Run) -> np.ndarray:
    """Topic draws of all chains in one order of topics."""
    from geodrift.models.spherical_admixture import align

    return align(run.topics)


def summarise(run: Run, top: int) -> list[dict[str, Any]]:
    """Each topic's words at both ends with intervals."""
    from geodrift.models.spherical_admixture import summarise_topics

    return summarise_topics(aligned_topics(run), run.vocabulary, top=top)


def evaluate(
    run: Run, rows: sp.csr_matrix, *, topic_draws: int | None, theta_draws: int, seed: int
) -> dict[str, Any]:
    """Held-out log-perplexity, with what it is measured on.

    Under the last ceil(`topic_draws` / chains) draws of each chain; None: all.
    """
    from geodrift.models.spherical_admixture import log_perplexity

    stored = run.draws["posterior"].to_dataset()["topics"]
    chains, length = stored.shape[:2]
    if topic_draws is not None:
        if not 1 <= topic_draws <= chains * length:
            raise InputError(f"the run has {chains * length} draws, {topic_draws} were asked for")
        length = math.ceil(topic_draws / chains)
    topics = stored[:, -length:].values.reshape(-1, *stored.shape[2:])
    settings = run.config["settings"]
    value = log_perplexity(
        rows,
        topics,
        settings["document_concentration"],
        settings["doc_topic_prior"],
        theta_draws=theta_draws,
        seed=seed,
    )
    empty = int((np.diff(rows.indptr) == 0).sum())
    return {
        "log_perplexity": value,
        "topic_draws": len(topics),
        "chains": chains,
        "topic_draws_per_chain": length,
        "theta_draws": theta_draws,
        "documents": rows.shape[0] - empty,
        "empty_documents": empty,
    }


def transform(run: Run, rows: sp.csr_matrix, seed: int) -> dict[str, np.ndarray]:
    """Mixtures of documents: mean and 90% interval, each [document, topic].

    One seed for all blocks: random streams are named by a document's content, so its place does not matter.
    """
    from geodrift.models.spherical_admixture import Settings, document_mixtures

    topics, settings = aligned_topics(run), Settings.from_dict(run.config["settings"])
    blocks = [
        document_mixtures(rows[start : start + _DOCUMENTS_A_BLOCK], topics, settings, seed=seed)
        for start in range(0, rows.shape[0], _DOCUMENTS_A_BLOCK)
    ]
    return {name: np.concatenate([block[name] for block in blocks]) for name in ("mean", "low", "high")}


def expected(topics: np.ndarray) -> np.ndarray:
    """Mean direction of each aligned topic."""
    from geodrift.models.spherical_admixture import expected_topics

    return expected_topics(topics)
