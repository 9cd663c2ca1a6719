"""What the reproductions here share: quadrature on circles, chains against it, results as JSON."""

import functools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))

import record  # noqa: E402

write = functools.partial(record.write, HERE)

GRID = 2000  # points on a circle: the integrands are smooth and periodic, so the error is rounding


def grid(size: int = GRID) -> np.ndarray:
    """Angles at the midpoints of equal cells of (-pi, pi]."""
    return -np.pi + (np.arange(size) + 0.5) * 2 * np.pi / size


def bin_edges(bins: int) -> np.ndarray:
    """Edges of equal bins of the circle."""
    return np.linspace(-np.pi, np.pi, bins + 1)


def binned(probabilities: np.ndarray, bins: int) -> np.ndarray:
    """Bin probabilities from the probabilities of equal cells, which are spread evenly within each cell."""
    cumulative = np.concatenate([[0.0], np.cumsum(probabilities)])
    return np.diff(np.interp(bin_edges(bins), bin_edges(len(probabilities)), cumulative))


def angle(x: np.ndarray) -> np.ndarray:
    """The angle of points of the circle."""
    return np.arctan2(x[..., 1], x[..., 0])


def point(angles: np.ndarray) -> np.ndarray:
    """The points of the circle at these angles."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def total_variation(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Half the sum of absolute differences, over the last axis."""
    return 0.5 * np.sum(np.abs(p - q), axis=-1)


class Histogram(NamedTuple):
    """Chains of angles against bin probabilities."""

    pooled: np.ndarray  # [bin], all chains
    single: np.ndarray  # [chain, bin]
    summary: dict[str, float]


def compare(angles: np.ndarray, truth: np.ndarray) -> Histogram:
    """Histograms of chains and their distances to the truth.

    The error of the pooled histogram is read off the spread over chains, each of which is one independent
    number a bin, so autocorrelation within a chain needs no model. ``noise`` is the total variation that this
    error alone gives on average, ``independent`` the one of as many independent draws as one chain has,
    ``one_run_close`` the share of the chains that are within 0.05 of the truth by themselves.

    Args:
        angles: ``[chain, draw]``.
        truth: Probabilities ``[bin]``.
    """
    edges = bin_edges(len(truth))
    single = np.stack([np.histogram(row, edges)[0] / len(row) for row in angles])
    pooled = single.mean(axis=0)
    error = single.std(axis=0, ddof=1) / np.sqrt(len(single))
    half_normal = np.sqrt(2 / np.pi)
    runs = total_variation(single, truth)
    summary = {
        "law": total_variation(pooled, truth),
        "noise": 0.5 * half_normal * error.sum(),
        "one_run_close": np.mean(runs < 0.05),
        "one_run_median": np.median(runs),
        "one_run_5": np.quantile(runs, 0.05),
        "one_run_95": np.quantile(runs, 0.95),
        "independent": 0.5 * half_normal * np.sqrt(truth * (1 - truth) / angles.shape[1]).sum(),
    }
    return Histogram(pooled, single, {name: float(value) for name, value in summary.items()})


def over_chains(values: np.ndarray, truth: float) -> dict[str, float]:
    """Mean of one number a chain, its standard error, its spread, and the exact value."""
    return {
        "mean": float(np.mean(values)),
        "standard_error": float(np.std(values, ddof=1) / np.sqrt(len(values))),
        "one_run_sd": float(np.std(values, ddof=1)),
        "exact": float(truth),
    }


def timed_rows(rows: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """Run each row, saying which on stderr."""
    done = {}
    for name, run in rows.items():
        begun = time.monotonic()
        done[name] = run()
        print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return done
