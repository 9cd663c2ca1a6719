"""Topics with the words of their columns, brought to the vocabulary of a corpus."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from geodrift._errors import InputError
from geodrift.models.topics._given_topics import are_probabilities

MOST_TOPICS = 2**16
LARGEST = 1e12  # weight of a word


class NamedTopics(NamedTuple):
    """Topics of some source.

    Attributes:
        sets: One set of topics, or one for each chain of the source: probabilities or unit vectors.
        words: Of the columns; None: those of the corpus, in its order.
        told: What they are of, for a reader.
    """

    sets: Float[np.ndarray, "C J V"]
    words: Sequence[str] | None
    told: str


def matched(named: NamedTopics, vocabulary: Sequence[str]) -> Float[np.ndarray, "C J W"]:
    """The topics in the words of a vocabulary; words that it does not have are left out.

    Topics that were probabilities are probabilities again. A topic that is left without a word begins with
    all words alike.

    Raises:
        InputError: No word is known, shapes disagree, or a weight is not finite.
    """
    sets, words = named.sets, named.words
    if sets.ndim != 3 or not sets.size or sets.shape[1] > MOST_TOPICS:
        raise InputError(f"{named.told}: topics must be [topic, word], got shape {sets.shape[1:]}")
    if not (np.abs(sets) <= LARGEST).all():
        raise InputError(f"{named.told}: a weight of a word is not finite, or above {LARGEST:g}")
    if sets.shape[2] != (len(vocabulary) if words is None else len(words)):
        told = f"the corpus has {len(vocabulary):,}" if words is None else f"{len(words):,} are named"
        raise InputError(f"{named.told}: topics have {sets.shape[2]:,} words and {told}")
    probabilities = all(are_probabilities(topics) for topics in sets)
    if words is not None:
        place = {word: column for column, word in enumerate(vocabulary)}
        known = [(column, place[word]) for column, word in enumerate(words) if word in place]
        if not known:
            raise InputError(f"{named.told} and the corpus have no word in common")
        theirs, ours = np.array(known).T
        moved = np.zeros((*sets.shape[:2], len(vocabulary)), np.float32)
        moved[:, :, ours] = sets[:, :, theirs]
        sets = moved
    lengths = sets.sum(axis=2) if probabilities else np.linalg.norm(sets, axis=2)
    sets = np.where(lengths[:, :, None] > 0, sets, np.float32(1.0))
    lengths = sets.sum(axis=2) if probabilities else np.linalg.norm(sets, axis=2)
    return np.ascontiguousarray(sets / lengths[:, :, None], dtype=np.float32)
