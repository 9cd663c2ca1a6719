"""Between run directories and models: engines from a run's config, and the model's answers from its draws."""

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from geodrift.data import Corpus, CorpusView, InputError
from geodrift.runs._fit import Engine
from geodrift.runs._lda import LatentDirichletModel
from geodrift.runs._model import Model
from geodrift.runs._run import Run
from geodrift.runs._sam import SphericalAdmixtureModel

_ALL: tuple[Model, ...] = (SphericalAdmixtureModel(), LatentDirichletModel())
MODELS = {model.name: model for model in _ALL}


def model_named(name: str) -> Model:
    """The model of that name.

    Raises:
        InputError: There is none.
    """
    if name not in MODELS:
        raise InputError(f"there is no model {name!r}; the models are: {', '.join(MODELS)}")
    return MODELS[name]


def make_engines(config: dict[str, Any], corpus: Corpus) -> list[Engine]:
    """The engines of a run, one a chain, as at its start: a function of the config and the corpus.

    Args:
        config: `model`, `settings`, `seed`, `chains` and `held_out`, the number of documents set aside for
            scoring.
        corpus: All documents, those set aside included.

    Raises:
        ValueError: Settings outside what is allowed, or a corpus that the model cannot take.
    """
    training: Corpus | CorpusView = corpus
    aside: sp.csr_matrix | None = None
    if config["held_out"]:
        training, aside = corpus.split(config["held_out"], config["seed"])
    return model_named(config["model"]).engines(
        training, config["settings"], seed=config["seed"], chains=config["chains"], held_out=aside
    )


def create_run(path: Any, config: dict[str, Any], corpus: Corpus, engines: list[Engine]) -> Run:
    """A run directory for engines from `make_engines`; a corpus in memory is saved inside it."""
    training = corpus.split(config["held_out"], config["seed"])[0] if config["held_out"] else corpus
    config = config | {
        "settings": engines[0].config["settings"],
        "documents": training.num_documents,
        "words": corpus.num_words,
        "text_options": corpus.manifest["made"].get("options"),
    }
    if corpus.path is None:
        return Run.create(path, config, corpus.vocabulary, training.document_frequencies, corpus)
    config["corpus"] = {"path": str(corpus.path.resolve()), "checksum": corpus.checksum}
    return Run.create(path, config, corpus.vocabulary, training.document_frequencies)


def memory_needed(config: dict[str, Any], engines: list[Engine]) -> tuple[int, int]:
    """Bytes of memory that the chains take while they move, and bytes of disk that draws may take."""
    states = [engine.state() for engine in engines]
    state = sum(np.asarray(array).nbytes for arrays in states for array in arrays.values())
    settings = engines[0].config["settings"]
    draw = settings["n_topics"] * engines[0].config["words"] * 4
    memory = int(model_named(config["model"]).memory_of_a_step * state)
    return memory, settings["num_draws"] * draw * len(engines) + state


def document_rows(run: Run, counts: sp.csr_matrix) -> sp.csr_matrix:
    """Counts of new documents in the form that the run's model takes.

    Raises:
        InputError: They have not the run's number of words.
    """
    if counts.shape[1] != len(run.vocabulary):
        raise InputError(
            f"the input has {counts.shape[1]:,} words but run {run.path} has {len(run.vocabulary):,}"
        )
    return _model_of(run).rows(run, counts)


def aligned_draws(run: Run) -> dict[str, np.ndarray]:
    """Draws of all chains, one after the other, with every variable that has topics in one order of them."""
    posterior = run.draws["posterior"].to_dataset()
    draws = {
        str(name): array.values.reshape(-1, *array.shape[2:])
        for name, array in posterior.data_vars.items()
        if array.dims[2:3] == ("topic",)
    }
    order = _model_of(run).common_order(draws["topics"])
    if (order == np.arange(order.shape[1])).all():
        return draws
    return {
        name: np.take_along_axis(values, order.reshape(*order.shape, *(1,) * (values.ndim - 2)), axis=1)
        for name, values in draws.items()
    }


def aligned_topics(run: Run) -> np.ndarray:
    """Topic draws of all chains in one order of topics, [draw, topic, word]."""
    return aligned_draws(run)["topics"]


def expected_topics(run: Run, topics: np.ndarray) -> np.ndarray:
    """One estimate of the topics, [topic, word], in the order of the aligned draws ``topics``.

    For the Spherical Admixture Model the draws' mean direction; for latent Dirichlet allocation the mean
    given the assignments (or counts) of the first chain's last state.
    """
    return _model_of(run).expected_topics(run, topics)


def summarise(run: Run, top: int) -> list[dict[str, Any]]:
    """Each topic's words with intervals."""
    return _model_of(run).summarise(aligned_topics(run), run.vocabulary, top)


def evaluate(
    run: Run, rows: sp.csr_matrix, *, topic_draws: int | None = None, seed: int = 0, **options: Any
) -> dict[str, Any]:
    """The model's held-out scores of documents, with what they are measured on.

    Args:
        run: The run.
        rows: From `document_rows`.
        topic_draws: N: the last ceil(N / chains) draws of each chain are used; None: all, or the
            model's `evaluation_draws`.
        seed: Of what the score draws.
        options: Of the model: ``theta_draws``, mixtures drawn from their prior, for the Spherical Admixture
            Model.

    Raises:
        InputError: There are not so many draws, or an option is another model's.
    """
    model = _model_of(run)
    for name in options:
        if name not in model.evaluation_options:
            raise InputError(refusal(model, name))
    posterior = run.draws["posterior"].to_dataset()
    chains, length = posterior["topics"].shape[:2]
    if topic_draws is None:
        topic_draws = min(model.evaluation_draws or chains * length, chains * length)
    if not 1 <= topic_draws <= chains * length:
        raise InputError(f"the run has {chains * length} draws, {topic_draws} were asked for")
    length = math.ceil(topic_draws / chains)
    draws = {
        str(name): array[:, -length:].values.reshape(-1, *array.shape[2:])
        for name, array in posterior.data_vars.items()
    }
    scores = model.evaluate(run, rows, draws, seed=seed, **options)
    return scores | {
        "topic_draws": chains * length,
        "chains": chains,
        "topic_draws_per_chain": length,
    }


def transform(run: Run, rows: sp.csr_matrix, seed: int = 0) -> dict[str, np.ndarray]:
    """Mixtures of documents: mean and 90% interval, each [document, topic].

    Random streams are named by a document's content: its mixture does not depend on the documents beside it.
    """
    return _model_of(run).transform(run, rows, aligned_draws(run), seed=seed)


def refusal(model: Model, option: str, shown: str | None = None) -> str:
    """Why a model does not take an option, and what to do.

    Args:
        model: The model.
        option: A setting or an option of `evaluate`, of another model.
        shown: The option as it was typed.
    """
    others = [
        other.name for other in _ALL if option in other.setting_names() or option in other.evaluation_options
    ]
    whose = f"it is one of {', '.join(others)}; leave it out" if others else "no model has it"
    return f"{shown or option} is not an option of {model.name}: {whose}"


def _model_of(run: Run) -> Model:
    return model_named(run.config["model"])
