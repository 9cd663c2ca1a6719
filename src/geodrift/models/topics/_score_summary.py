"""What is told of a score of topics: its value under their mean, and its law over draws."""

import numpy as np
from jaxtyping import Float

from geodrift.models.kit._next_draw import INTERVAL
from geodrift.models.topics._json_numbers import json_number


def defined_mean(values: Float[np.ndarray, " n"]) -> float:
    """Mean of the values that are not NaN; NaN without any."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else np.nan


def summary_of(values: Float[np.ndarray, " n"]) -> dict[str, float | None]:
    """What is told of a score: of the expected topics first, then of the draws."""
    drawn = values[1:][~np.isnan(values[1:])]
    low, high = np.quantile(drawn, INTERVAL) if len(drawn) else (np.nan, np.nan)
    middle = np.median(drawn) if len(drawn) else np.nan
    numbers = {"value": values[0], "mean": defined_mean(drawn), "median": middle}
    numbers |= {"low": low, "high": high}
    return {name: json_number(number) for name, number in numbers.items()}
