"""What two runs have in common: components, their words with intervals, and held-out scores."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from geodrift.models.kit._component_size import component_size
from geodrift.models.kit._matched_runs import Lonely, Side, lonely_of, matched_pairs
from geodrift.models.kit._next_draw import weight_intervals

LEADING = 30  # words of a component, of which it is counted how many lie in the other's intervals


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Two runs side by side.

    Attributes:
        runs: Where they are.
        component: What a component is called.
        numbers: Of components of each run.
        common_words: Words that both vocabularies have, and ``words`` of each.
        threshold: The cosine above which components of the two are the same.
        matched: Of components that both have ``{"first", "second", "cosine", "words", "size",
            "second_inside_first", "first_inside_second"}``. A word has ``first``, ``second`` and the
            ``difference``, second less first, with the ends ``low`` and ``high`` of its 90% interval: of the
            next draw of the next chain of either run; None where one of the two is not shared by its
            chains. So ``size``, where the runs have sizes. The last two are the shares of the leading
            words' weights, in the draws of the one, that lie in the intervals of the other: 0.9 where both
            runs have the same posterior.
        only_first: Components that the second run does not have; see `Lonely`.
        only_second: The other way round.
        scores: Held-out scores of the same documents, with the standard error of the difference; None where
            there are none.
        why_no_scores: Why.
        fitted_documents: How many of the documents that were given to score have the words of one that a run
            was fitted to: they are not scored. None where the documents of a run are gone, so that nobody can
            say.
    """

    runs: tuple[str, str]
    component: str
    numbers: tuple[int, int]
    common_words: int
    words: tuple[int, int]
    threshold: float
    matched: list[dict[str, Any]]
    only_first: list[Lonely]
    only_second: list[Lonely]
    scores: dict[str, Any] | None
    why_no_scores: str
    fitted_documents: int | None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        lonely = {name: [each._asdict() for each in getattr(self, name)] for name in _LONELY}
        return dataclasses.asdict(self) | lonely

    def rows(self) -> list[dict[str, Any]]:
        """One row a word of a pair, and one for each component that the other run does not have."""
        found = []
        for pair in self.matched:
            told = {name: pair[name] for name in ("first", "second", "cosine")}
            for entry in pair["words"]:
                weights = {f"weight_{name}": entry[name] for name in ("first", "second")}
                rest = {name: entry[name] for name in ("difference", "low", "high")}
                found.append(told | {"word": entry["word"]} | weights | rest)
        for name, place in zip(_LONELY, ("first", "second"), strict=True):
            found += [{place: each.place, "cosine": each.cosine} for each in getattr(self, name)]
        return found

    def __str__(self) -> str:
        from geodrift.models.kit._comparison_text import comparison_text

        return comparison_text(self)


_LONELY = ("only_first", "only_second")


def comparison(
    first: Side,
    second: Side,
    words: list[str],
    top: int,
    scored: tuple[dict[str, Any] | None, str, int | None],
) -> Comparison:
    """Two runs of which the common words are known.

    Args:
        first: The one.
        second: The other.
        words: That both have.
        top: Words of a pair that are told.
        scored: Scores, or why there are none, and how many documents were not scored since a run has them.
    """
    pairs, threshold = matched_pairs(first, second)
    matched = [_matched(first, second, pair, words, top) for pair in pairs]
    matched.sort(key=lambda pair: -(pair["size"]["first"] if pair["size"] else pair["cosine"]))
    return Comparison(
        (str(first.run.path), str(second.run.path)),
        first.answers.model.component,
        (len(first.means), len(second.means)),
        len(words),
        (first.words, second.words),
        threshold,
        matched,
        lonely_of(first, second, {b: a for a, b, _ in pairs}, threshold),
        lonely_of(second, first, {a: b for a, b, _ in pairs}, threshold),
        *scored,
    )


def _matched(
    first: Side, second: Side, pair: tuple[int, int, float], words: list[str], top: int
) -> dict[str, Any]:
    one, other, cosine = pair
    sides = ((first, one), (second, other))
    leading = [_leading(side, place, max(top, LEADING)) for side, place in sides]
    told = np.unique(np.concatenate([places[:top] for places in leading]))
    sure = all(side.has_interval(place) for side, place in sides)
    means = [side.found(place).mean(axis=(0, 1), dtype=np.float64) for side, place in sides]
    change = means[1] - means[0]
    low = high = np.full(len(told), np.nan)
    if sure:
        ends = [_ends(side, place, told) for side, place in sides]
        low, high = difference_ends(means[0][told], ends[0], means[1][told], ends[1])
    entries = [
        {
            "word": words[word],
            "first": float(means[0][word]),
            "second": float(means[1][word]),
            "difference": float(change[word]),
            "low": float(below) if sure else None,
            "high": float(above) if sure else None,
        }
        for word, below, above in zip(told, low, high, strict=True)
    ]
    return {
        "first": one,
        "second": other,
        "cosine": cosine,
        "words": sorted(entries, key=lambda entry: -abs(entry["difference"])),
        "size": _sizes(first, second, one, other, sure),
        "second_inside_first": _inside(first, one, second, other, leading[0][:LEADING]),
        "first_inside_second": _inside(second, other, first, one, leading[1][:LEADING]),
    }


def difference_ends(
    first: Float[np.ndarray, " W"],
    first_ends: tuple[Float[np.ndarray, " W"], Float[np.ndarray, " W"]],
    second: Float[np.ndarray, " W"],
    second_ends: tuple[Float[np.ndarray, " W"], Float[np.ndarray, " W"]],
) -> tuple[Float[np.ndarray, " W"], Float[np.ndarray, " W"]]:
    """Ends of the interval of second less first, from the intervals of the two, which are independent.

    The distances of their ends from the estimates are added as standard deviations are (Zou and Donner,
    2008): each end of the difference has the ends that it is made of.
    """
    low = second - first - np.hypot(second - second_ends[0], first_ends[1] - first)
    high = second - first + np.hypot(second_ends[1] - second, first - first_ends[0])
    return low, high


def _leading(side: Side, place: int, number: int) -> np.ndarray:
    mean = np.abs(side.found(place).mean(axis=(0, 1)))
    return np.argsort(-mean, kind="stable")[:number]


def _ends(
    side: Side, place: int, words: np.ndarray
) -> tuple[Float[np.ndarray, " W"], Float[np.ndarray, " W"]]:
    """Of the next draw of the next chain; see `leading_words`."""
    return weight_intervals(side.found(place), words, signed=side.answers.signed)


def _inside(side: Side, place: int, other: Side, theirs: int, words: np.ndarray) -> float | None:
    """The share of the other run's weights of some words, in its draws, that lie in this run's intervals."""
    if not side.has_interval(place):
        return None
    low, high = _ends(side, place, words)
    values = other.found(theirs)[:, :, words]
    return float(((values >= low) & (values <= high)).mean())


def _sizes(first: Side, second: Side, one: int, other: int, sure: bool) -> dict[str, float | None] | None:
    """Sizes, and their difference."""
    if first.sizes is None or second.sizes is None:
        return None
    a = component_size(first.sizes, first.agreed, one, sure)
    b = component_size(second.sizes, second.agreed, other, sure)
    told: dict[str, float | None] = {"first": a["size"], "second": b["size"]}
    told |= {"difference": b["size"] - a["size"], "low": None, "high": None}
    if sure:
        names = ("size", "size_low", "size_high")
        (a_mean, *a_ends), (b_mean, *b_ends) = ([np.array([each[n]]) for n in names] for each in (a, b))
        low, high = difference_ends(a_mean, (a_ends[0], a_ends[1]), b_mean, (b_ends[0], b_ends[1]))
        told |= {"low": float(low[0]), "high": float(high[0])}
    return told
