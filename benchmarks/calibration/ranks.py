"""Where true values lie in the laws that were told of them, counted in bins of equal probability.

Of a right law every bin has the same share. A tally is the count of each bin and, last, of values of which
nothing was told: those of a true topic that was not found.
"""

import numpy as np

BINS = 40
EDGES = np.arange(1, BINS) / BINS
LEVELS = (0.5, 0.8, 0.9, 0.95)


def tally():
    return np.zeros(BINS + 1, int)


def add(counts, values, quantiles):
    """Count values among the quantiles of their laws at `EDGES`, [edge, value]."""
    counts[:BINS] += np.bincount((np.asarray(values) > quantiles).sum(axis=0), minlength=BINS)


def add_probabilities(counts, probabilities):
    """Count values by the probability that their laws give to less than them."""
    places = np.minimum((np.asarray(probabilities) * BINS).astype(int), BINS - 1)
    counts[:BINS] += np.bincount(places, minlength=BINS)


def inside(counts):
    """Of every level, how many values lie in the interval with equal tails; [..., level]."""
    tails = [round((1 - level) / 2 * BINS) for level in LEVELS]
    return np.stack([counts[..., tail : BINS - tail].sum(axis=-1) for tail in tails], axis=-1)


def coverage(counts):
    """Of each level the share inside, and its standard error over corpora; ``counts`` is [corpus, bin]."""
    hits, number = inside(counts), counts.sum(axis=1, keepdims=True)
    share = hits.sum(axis=0) / number.sum()
    error = np.sqrt(((hits - share * number) ** 2).sum(axis=0)) / number.sum()
    return {str(level): [float(s), float(e)] for level, s, e in zip(LEVELS, share, error, strict=True)}
