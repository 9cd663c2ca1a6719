"""What draws of alpha and eta say: one number each with its interval, and alpha of each topic."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._component_size import component_size
from geodrift.models.kit._number_interval import number_interval

_OF = {
    "doc_topic_prior": "alpha of each topic",
    "doc_topic_prior_sum": "sum of alpha over topics",
    "topic_word_prior": "eta of each word",
}


def prior_numbers(draws: Mapping[str, np.ndarray], symmetric: bool) -> dict[str, Float[np.ndarray, "C N"]]:
    """Numbers of the priors that no order of the topics changes: alpha, or its sum where topics differ; eta.

    Args:
        draws: By name, [chain, draw, ...], those of ``doc_topic_prior`` and ``topic_word_prior`` that there
            are.
        symmetric: Whether all topics have one alpha.
    """
    found = {}
    if "doc_topic_prior" in draws:
        alpha = draws["doc_topic_prior"].astype(np.float64)
        found |= {"doc_topic_prior": alpha[:, :, 0]} if symmetric else {"doc_topic_prior_sum": alpha.sum(2)}
    if "topic_word_prior" in draws:
        found["topic_word_prior"] = draws["topic_word_prior"]
    return found


def told_priors(numbers: Mapping[str, Float[np.ndarray, "C N"]]) -> list[dict[str, Any]]:
    """``{"name", "of", "mean", "low", "high"}`` of each number of `prior_numbers`, for JSON."""
    return [
        {"name": name, "of": _OF[name], **number_interval(draws)}
        for name, draws in numbers.items()
        if name in _OF
    ]


def prior_lines(told: Sequence[Mapping[str, Any]]) -> list[str]:
    """The same in a line; none where nothing was learnt."""
    numbers = [
        f"{each['name']} ({each['of']}) {each['mean']:.3g} [{each['low']:.3g}, {each['high']:.3g}]"
        for each in told
    ]
    return [f"Learnt priors, mean [90% interval]: {'; '.join(numbers)}."] if numbers else []


def with_alpha(
    parts: list[dict[str, Any]], alpha: Float[np.ndarray, "C N K"], agreed: Agreement
) -> list[dict[str, Any]]:
    """Topics with ``doc_topic_prior`` and the ends of its interval, None where a topic is not shared.

    Args:
        parts: From `component_words`.
        alpha: In aligned draws.
        agreed: How far the chains agree.
    """
    out = []
    for place, part in enumerate(parts):
        intervals = part["shared"] or part["chains"] == 1
        size = component_size(alpha, agreed, place, intervals, largest=np.inf)
        renamed = {name.replace("size", "doc_topic_prior"): value for name, value in size.items()}
        out.append({name: value for name, value in part.items() if name != "words"} | renamed)
        out[-1]["words"] = part["words"]
    return out
