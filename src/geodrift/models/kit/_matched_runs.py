"""Components of two runs brought together: which of the one are found in the other.

They are matched as the chains of one run are (see `_agreement`): by the cosine between mean directions, and
called the same above the higher of the two runs' thresholds.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import linear_sum_assignment

from geodrift._errors import InputError
from geodrift.driver import Run
from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._alignment import directions_of
from geodrift.models.kit._component_answers import ComponentAnswers
from geodrift.models.kit._relations import best_pair


class Side(NamedTuple):
    """A run's components in the words that both runs have.

    Attributes:
        run: The run.
        answers: Of its model.
        draws: Aligned weights of these words, [chain, draw, component, word]; of unit length or of sum 1.
        sizes: Aligned sizes, [chain, draw, component], or None.
        agreed: How far the chains agree.
        means: Mean direction of each component over the chains that have found it, of unit length.
        words: Number of all words of the run.
    """

    run: Run
    answers: ComponentAnswers
    draws: Float[np.ndarray, "C N K V"]
    sizes: Float[np.ndarray, "C N K"] | None
    agreed: Agreement
    means: Float[np.ndarray, "K V"]
    words: int

    def found(self, place: int) -> Float[np.ndarray, "C N V"]:
        """A component in the draws of the chains that have found it."""
        return self.draws[self.agreed.found[:, place], :, place]

    def has_interval(self, place: int) -> bool:
        """Whether enough chains have found a component; of one chain always."""
        return len(self.draws) == 1 or bool(self.agreed.shared[place])


class Lonely(NamedTuple):
    """A component that the other run does not have.

    Attributes:
        place: Its number.
        nearest: The component of the other run that resembles it most.
        cosine: How much.
        kind: "split" if the other run has it in two components, "merged" if it is a part of ``nearest``, or
            one of two that both are like it, else None.
        beside: The other half: of the other run where it is split, of the same run where it is merged.
    """

    place: int
    nearest: int
    cosine: float
    kind: str | None
    beside: int | None


def common_words(first: list[str], second: list[str]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The words that two vocabularies share, and where they are in each."""
    places = {word: place for place, word in enumerate(second)}
    pairs = [(here, places[word]) for here, word in enumerate(first) if word in places]
    ours, theirs = np.array(pairs, int).reshape(-1, 2).T
    return [first[place] for place in ours], ours, theirs


def side_of(run: Run, answers: ComponentAnswers, words: np.ndarray) -> Side:
    """A run's components in some of its words.

    Raises:
        InputError: A component has no weight in these words.
    """
    draws, agreed = answers.aligned(run)
    values = draws[answers.variable]
    number = values.shape[3]
    if len(words) < number:
        values = values[..., words].astype(np.float64)
        lengths = np.linalg.norm(values, axis=3) if answers.signed else values.sum(axis=3)
        if not (lengths > 0).all():
            raise InputError(f"a {answers.model.component} of run {run.path} has none of the common words")
        values = (values / lengths[..., None]).astype(np.float32)
    elif (words != np.arange(number)).any():
        values = values[..., words]
    directions, means = directions_of(answers.signed), []
    for place in range(values.shape[2]):
        own = values[agreed.found[:, place], :, place]
        total = directions(own.reshape(-1, own.shape[2])).mean(axis=0, dtype=np.float64)
        means.append(total / np.linalg.norm(total))
    sizes = draws.get(answers.sizes)
    return Side(run, answers, values, sizes, agreed, np.stack(means), number)


def matched_pairs(first: Side, second: Side) -> tuple[list[tuple[int, int, float]], float]:
    """Pairs of components that are the same, with their cosines, and the threshold above which they are."""
    cosines = first.means @ second.means.T
    threshold = max(first.agreed.threshold, second.agreed.threshold)
    pairs = zip(*linear_sum_assignment(-cosines), strict=True)
    found = [(int(a), int(b), float(cosines[a, b])) for a, b in pairs if cosines[a, b] > threshold]
    return found, threshold


def lonely_of(one: Side, other: Side, taken: dict[int, int], threshold: float) -> list[Lonely]:
    """Components of one run that the other does not have, and what they are there.

    Args:
        one: The one.
        other: The other.
        taken: Components of the one, by those of the other that are the same.
        threshold: The cosine above which they are.
    """
    directions, cosines, found = directions_of(one.answers.signed), one.means @ other.means.T, []
    for place in sorted(set(range(len(one.means))) - set(taken.values())):
        nearest = int(cosines[place].argmax())
        of_one, of_other = one.means[place], other.means[nearest]
        split, second = best_pair(of_one, other.means, cosines[place], nearest, threshold, directions)
        merged, partner = best_pair(of_other, one.means, cosines[:, nearest], place, threshold, directions)
        kind = beside = None
        # What is as much like one component as two of them are is not two.
        if max(split, merged) > threshold > cosines[place, nearest]:
            kind, beside = ("split", second) if split >= merged else ("merged", partner)
        elif cosines[place, nearest] > threshold and nearest in taken:
            # Of two that are one theme the pair took the other.
            kind, beside = "merged", taken[nearest]
        found.append(Lonely(place, nearest, float(cosines[place, nearest]), kind, beside))
    return found
