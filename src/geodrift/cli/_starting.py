"""Options of `fit` that say at which topics a run begins."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from geodrift._terminal import say
from geodrift.cli import UsageError

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float

    from geodrift.data import Corpus
    from geodrift.models.kit import Model

_PANEL = "Start"

StartFrom = Annotated[
    Path | None,
    typer.Option(
        "--start-from",
        help="Begin at the topics of another run, of geodrift export, of MALLET's state (--output-state) or of"
        " a folder that BERTopic saved as safetensors. A start is no prior: warm-up follows, and the draws are"
        " those of the posterior.",
        rich_help_panel=_PANEL,
    ),
]
SeedWords = Annotated[
    Path | None,
    typer.Option(
        "--seed-words",
        help="Begin at topics of these words: a line a topic, such as 'sports: goal match team'. They are a"
        " start and no prior: a topic may leave them.",
        rich_help_panel=_PANEL,
    ),
]


def check_start(model: "Model", start_from: Path | None, seed_words: Path | None) -> None:
    """Refuse what does not go together, before anything is read."""
    if start_from is not None and seed_words is not None:
        raise UsageError("give --start-from or --seed-words, not both")
    if (start_from is not None or seed_words is not None) and not model.takes_start:
        raise UsageError(
            f"{model.title} takes no topics to start from: leave --start-from and --seed-words out"
        )


def topics_to_begin_at(
    corpus: "Corpus", start_from: Path | None, seed_words: Path | None
) -> "tuple[Float[np.ndarray, 'C J V'] | None, str | None]":
    """Topics in the corpus's words, and what they are of; None where nothing was asked for."""
    if start_from is not None:
        from geodrift.models.topics.starts._sources import starting_topics

        topics, told = starting_topics(start_from, corpus.vocabulary)
    elif seed_words is not None:
        from geodrift.models.topics.starts._seed_words import read_seed_words, topics_of_words

        topics = topics_of_words(read_seed_words(seed_words), corpus.vocabulary, corpus)[None]
        told = f"the words of {seed_words}"
    else:
        return None, None
    say(f"start: {topics.shape[1]} topics of {told}; a start is no prior, and warm-up follows")
    return topics, told
