"""Options of `fit` that say at which topics a run begins."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from geodrift._terminal import say
from geodrift.cli import UsageError

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float

    from geodrift.data import Corpus, VectorSource
    from geodrift.models.kit import Model

_PANEL = "Start"
CHAINS = 4  # unless told otherwise
MOST_SHOWN = 20  # words

StartFrom = Annotated[
    Path | None,
    typer.Option(
        "--start-from",
        help="Begin at the topics of another run, of geodrift export, of MALLET's state (--output-state), or"
        " of what BERTopic saved as safetensors. A start is no prior: warm-up follows, and the draws are"
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
Chains = Annotated[
    int,
    typer.Option(
        min=1,
        max=1000,
        help="Independent chains, which share the time; what several have found holds for another run.",
    ),
]


class Start(NamedTuple):
    """How many chains there are, and at which topics they begin."""

    chains: Chains = CHAINS
    start_from: StartFrom = None
    seed_words: SeedWords = None


def check_start(model: "Model", start: Start) -> None:
    """Refuse what does not go together, before anything is read."""
    given = [path for path in (start.start_from, start.seed_words) if path is not None]
    if len(given) > 1:
        raise UsageError("give --start-from or --seed-words, not both")
    if given and not model.takes_start:
        raise UsageError(
            f"{model.title} takes no topics to start from: leave --start-from and --seed-words out"
        )


def topics_to_begin_at(
    corpus: "Corpus | VectorSource", start: Start
) -> "tuple[Float[np.ndarray, 'C J V'] | None, str | None]":
    """Topics in the corpus's words, and what they are of; None where nothing was asked for.

    Args:
        corpus: Documents, of a model that `check_start` has let pass.
        start: The options.
    """
    if start.start_from is not None:
        from geodrift.models.topics.starts._sources import starting_topics

        topics, told = starting_topics(start.start_from, corpus.vocabulary)
    elif start.seed_words is not None:
        from geodrift.models.topics.starts._seed_words import read_seed_words, topics_of_words

        seeds = read_seed_words(start.seed_words)
        topics = topics_of_words(seeds, corpus.vocabulary, corpus)[None]
        _say_unknown(seeds, corpus.vocabulary)
        told = f"the words of {start.seed_words}"
    else:
        return None, None
    say(f"start: {topics.shape[1]} topics of {told}; a start is no prior, and warm-up follows")
    return topics, told


def _say_unknown(seeds: Mapping[str, Sequence[str]], vocabulary: Sequence[str]) -> None:
    """Say which of the words given are not those of the corpus."""
    from geodrift.models.topics.starts._seed_words import columns_by_word

    given = dict.fromkeys(word for words in seeds.values() for word in words)
    column_of = columns_by_word(vocabulary)
    unknown = [word for word in given if column_of(word) is None]
    if unknown:
        shown = ", ".join(unknown[:MOST_SHOWN]) + (", ..." if len(unknown) > MOST_SHOWN else "")
        say(
            f"note: the vocabulary lacks {len(unknown):,} of the {len(given):,} seed words, which start"
            f" nothing: {shown}"
        )
