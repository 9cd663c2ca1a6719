"""Topics to start from, wherever they are: a run, a file of another program, or a model in this process."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from geodrift._errors import InputError
from geodrift.driver import Run
from geodrift.files import read_arrays
from geodrift.models.topics.starts._bertopic import is_bertopic, read_bertopic
from geodrift.models.topics.starts._live_models import topics_of_model
from geodrift.models.topics.starts._mallet import is_mallet, read_mallet
from geodrift.models.topics.starts._named_topics import NamedTopics, matched

# What unpickles runs whatever it holds.
PICKLES = (".pkl", ".pickle", ".joblib", ".bin", ".pt", ".pth", ".model", ".gensim", ".dill")
EXPORT = ("topics", "found", "vocabulary")


def starting_topics(source: Any, vocabulary: Sequence[str]) -> tuple[Float[np.ndarray, "C J V"], str]:
    """Topics for a run to begin at, in the words of its corpus; see `topics_at` and `topics_of_model`.

    Args:
        source: A path, an array or a fitted model.
        vocabulary: V words.

    Returns:
        One set of topics, or one a chain, and what they are of.

    Raises:
        InputError: The source has no topics, or no word in common with the vocabulary.
    """
    named = topics_at(Path(source)) if isinstance(source, str | PathLike) else topics_of_model(source)
    return matched(named, vocabulary), named.told


def topics_at(path: Path) -> NamedTopics:
    """Topics of a run directory, of what `geodrift export` wrote, of MALLET or of BERTopic.

    Raises:
        InputError: It is nothing of these, or damaged.
    """
    if (path / "config.json").is_file() and not is_bertopic(path):
        return _of_run(path)
    if is_bertopic(path):
        return read_bertopic(path)
    if not path.exists():
        raise InputError(f"{path} does not exist: there are no topics to start from")
    if path.suffix.lower() in PICKLES:
        raise InputError(
            f"{path} is read by unpickling, which can run anything, and is refused: load it where you trust"
            " it and give the model to fit(..., start_from=model), or save BERTopic with"
            " serialization='safetensors'"
        )
    if path.suffix == ".npz":
        return _of_export(path)
    if is_mallet(path):
        return read_mallet(path)
    raise InputError(
        f"{path} has no topics to start from: give a run directory, an .npz of geodrift export, the state of"
        " MALLET (--output-state) or a folder that BERTopic saved as safetensors"
    )


def _of_run(path: Path) -> NamedTopics:
    """The last draw of each chain, the largest topics first."""
    run = Run.open(path)
    posterior = run.draws["posterior"].to_dataset()
    if "topics" not in posterior or "word" not in run.labels:
        raise InputError(f"run {path} has no topics to start from")
    last = posterior["topics"][:, -1].values
    if "topic_sizes" in posterior:
        order = np.argsort(-posterior["topic_sizes"][:, -1].values, axis=1, kind="stable")
        last = np.take_along_axis(last, order[:, :, None], axis=1)
    # Where draws differ in their number of topics, those that every chain has: a place without one is NaN.
    last = last[:, : int(np.isfinite(last).all(axis=2).sum(axis=1).min())]
    return NamedTopics(last, run.labels["word"], f"run {path}")


def _of_export(path: Path) -> NamedTopics:
    """The last draw of each chain."""
    arrays = read_arrays(path, "the export", lambda name: name in EXPORT)
    try:
        topics, chains = arrays["topics"], len(arrays["found"])
        words = [str(word) for word in arrays["vocabulary"]]
        last = topics.reshape(chains, -1, *topics.shape[1:])[:, -1]
        if topics.dtype.kind not in "fiu":
            raise TypeError("not numbers")
    except (KeyError, ValueError, TypeError, IndexError, AttributeError, ZeroDivisionError):
        raise InputError(f"{path} is not what geodrift export writes of topics") from None
    return NamedTopics(np.asarray(last, np.float32), words, f"the export {path}")
