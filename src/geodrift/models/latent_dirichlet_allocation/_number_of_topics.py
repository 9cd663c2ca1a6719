"""How many topics, in one call."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from geodrift._terminal import progress_console, say, silent_console
from geodrift._whole import shown_above
from geodrift.data import Corpus, as_csr
from geodrift.models.latent_dirichlet_allocation.model import MODEL
from geodrift.models.topics._ladder import Ladder, climb


def choose_number_of_topics(
    documents: Any,
    numbers: Sequence[int] = (5, 10, 20, 40),
    *,
    directory: str | PathLike,
    vocabulary: Sequence[str] | None = None,
    seconds: float | None = None,
    steps: int | None = None,
    chains: int = 4,
    held_out: int | None = None,
    seed: int = 0,
    verbose: int = 0,
    **settings: Any,
) -> Ladder:
    """Fit LDA with several numbers of topics, and say which cannot be told from the best.

    What `geodrift choose-k` does: the same documents are set aside from all runs, and a number is told from
    the best where its held-out score is worse by more than two standard errors of the paired difference, over
    documents and over chains.

    Args:
        documents: Counts [D, V], sparse or dense, or a `geodrift.data.Corpus`.
        numbers: Of topics, two or more.
        directory: Where the runs are written, or stand: those that are done are not fitted again. Each is a
            run directory as `geodrift fit` writes it; ``geodrift.load`` opens it. Those of other numbers that
            stand there are compared too, where they can be; ``notes`` of the ladder name them.
        vocabulary: V words, of counts.
        seconds: Time for the steps of all runs together; 300 where no steps are told either.
        steps: Steps of each chain, instead of a time.
        chains: Of each run.
        held_out: Documents set aside; None: a tenth, at most 1,000, of small corpora 200 or a quarter.
        seed: Of runs, of the documents set aside, and of scores.
        verbose: Above 0, progress goes to stderr.
        settings: Of all runs, by the names of `Settings`; unless told otherwise alpha and eta are learnt, so
            that each number is at its best.

    Raises:
        ValueError: Numbers that cannot be compared, or settings outside what is allowed.
        InputError: Another run stands where one is to be written, or something else where the answer is to
            be (``choice.html``, ``choice.svg``, ``choice.json``).
        StoppedError: Ctrl-C; the same call goes on with what the directory holds.

    Example:
        >>> ladder = choose_number_of_topics(counts, (5, 10, 20, 40), directory="articles-k", seconds=600)
        >>> ladder.chosen, ladder.frame()
    """
    told = shown_above("verbose", verbose)
    if isinstance(documents, Corpus):
        corpus = documents
    else:
        corpus = Corpus.from_matrix(as_csr(documents, "documents"), vocabulary)
    shown = (progress_console(), say) if told else (silent_console(), lambda line: None)
    asked: dict[str, Any] = {"settings": settings, "chains": chains, "held_out": held_out, "seed": seed}
    length: dict[str, Any] = {"seconds": seconds, "steps": steps, "console": shown[0], "say": shown[1]}
    ladder = climb(MODEL, corpus, numbers, Path(directory), **asked, **length)
    ladder.save(Path(directory))
    return ladder
