"""Two runs side by side, as text for a person."""

from typing import TYPE_CHECKING, Any

from geodrift._terminal import terminal_width, visible
from geodrift.models.kit._matched_runs import Lonely
from geodrift.models.kit._tables import hanging, paragraphs

if TYPE_CHECKING:
    from geodrift.models.kit._comparison import Comparison

WORDS = 4  # of a pair that are told
MOST_DIGITS = 6  # of a cosine


def comparison_text(told: "Comparison") -> str:
    """Which components both have, what differs in them, which one alone has, and the scores."""
    name = told.component
    first, second = (visible(path) for path in told.runs)
    lines = [f"first: {first}, {told.numbers[0]} {name}s", f"second: {second}, {told.numbers[1]} {name}s"]
    if len({told.common_words, *told.words}) > 1:
        lines.append(
            f"{told.common_words:,} words of the first's {told.words[0]:,} and the second's"
            f" {told.words[1]:,} are in both, and are what is compared"
        )
    lines.append(
        f"{len(told.matched)} {name}s are in both (a cosine above {told.threshold:.{_digits(told)}f})."
    )
    inside = [pair[key] for pair in told.matched for key in ("second_inside_first", "first_inside_second")]
    known = [share for share in inside if share is not None]
    if known:
        share = sum(known) / len(known)
        lines.append(f"Of their leading words' weights {share:.0%} lie in the other run's 90% intervals.")
    text = [paragraphs("\n".join(lines)), "", *_pairs(told), *_lonely(told)]
    return "\n".join([*text, paragraphs(_scores(told))])


def _digits(told: "Comparison") -> int:
    """Digits with which no cosine seems to be on the other side of the threshold."""
    alone = [each.cosine for each in (*told.only_first, *told.only_second)]
    for digits in range(2, MOST_DIGITS):
        shown = round(told.threshold, digits)
        cosines = [*alone, *(pair["cosine"] for pair in told.matched)]
        if all((round(each, digits) > shown) == (each > told.threshold) for each in cosines):
            return digits
    return MOST_DIGITS


def _pairs(told: "Comparison") -> list[str]:
    if not told.matched:
        return []
    width, about = terminal_width(), f"{told.component}s: words that differ beyond their intervals"
    digits = max(3, _digits(told))
    room = max(len("cosine"), digits + 2)
    lines = [hanging(about, f"first  second  {'cosine':>{room}}  inside  ", width)]
    for pair in told.matched:
        shares = [pair["second_inside_first"], pair["first_inside_second"]]
        known = [share for share in shares if share is not None]
        inside = f"{sum(known) / len(known):.0%}" if known else "-"
        head = f"{pair['first']:>5}  {pair['second']:>6}  {pair['cosine']:>{room}.{digits}f}  {inside:>6}  "
        lines.append(hanging(_words(pair), head, width))
    return [*lines, ""]


def _words(pair: dict[str, Any]) -> str:
    if pair["words"] and pair["words"][0]["low"] is None:
        return "no intervals"
    beyond = [entry for entry in pair["words"] if entry["low"] > 0 or entry["high"] < 0]
    shown = ", ".join(f"{visible(entry['word'])}\xa0{entry['difference']:+.3f}" for entry in beyond[:WORDS])
    more = f" and {len(beyond) - WORDS} more" if len(beyond) > WORDS else ""
    return (shown or "none") + more


def _lonely(told: "Comparison") -> list[str]:
    lines = []
    for side, other, found in (
        ("first", "second", told.only_first),
        ("second", "first", told.only_second),
    ):
        if found:
            lines.append(f"In the {side} run alone:")
            digits = _digits(told)
            lines += [paragraphs(f"  {_sentence(each, told.component, other, digits)}") for each in found]
            lines.append("")
    return lines


def _sentence(each: Lonely, name: str, other: str, digits: int) -> str:
    if each.kind == "split":
        return f"{name} {each.place}: {name}s {each.nearest} and {each.beside} of the {other} together"
    if each.kind == "merged":
        return f"{name} {each.place}: with {each.beside} it is {name} {each.nearest} of the {other}"
    return f"{name} {each.place}: nearest is {each.nearest} of the {other} (cosine {each.cosine:.{digits}f})"


def _scores(told: "Comparison") -> str:
    if told.scores is None:
        return f"No held-out scores: {told.why_no_scores}."
    s = told.scores
    sure = abs(s["difference"]) > 2 * s["standard_error"]
    better = "second" if s["difference"] > 0 else "first"
    verdict = f"the {better} is better" if sure else "too little to tell them apart"
    if sure and 1 in s["chains"]:
        verdict += ", as far as one chain tells: the error does not hold what another would score"
    if sure and not s["decides"]:
        verdict = "of this model that is no verdict: runs of the same topics may differ by more than that"
    return (
        f"Held-out log score, the larger the better: first {s['first']:.4f}, second {s['second']:.4f};"
        f" second less first {s['difference']:+.4f}, standard error {s['standard_error']:.4f} over the same"
        f" {s['documents']:,} documents: {verdict}.{_left_out(told.fitted_documents)}"
    )


def _left_out(fitted: int | None) -> str:
    """What is to be said of documents that a run was fitted to."""
    if fitted is None:
        return " Whether a run was fitted to some of them nobody can say: its own documents are gone."
    if not fitted:
        return ""
    if fitted == 1:
        return " One more has the words of one that a run was fitted to, and is left out."
    return f" {fitted:,} more have the words of documents that a run was fitted to, and are left out."
