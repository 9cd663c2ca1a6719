"""Mean topics of chains, under which new documents are weighed: see `spaced_draws`."""

import numpy as np
from jaxtyping import Bool, Float, Int


def chain_means(
    draws: Float[np.ndarray, "C N K V"],
    chosen: Int[np.ndarray, " M"],
    present: Bool[np.ndarray, "C N K"] | None = None,
) -> Float[np.ndarray, "M K V"]:
    """For each of some draws the mean topics of its chain.

    Args:
        draws: Aligned topics.
        chosen: Numbers of draws, chain after chain.
        present: Which topics a draw has; None: all. Of a topic that no draw of a chain has the mean is over
            all.
    """
    means = np.empty((len(draws), *draws.shape[2:]), np.float32)
    for chain, topics in enumerate(draws):
        means[chain] = topics.mean(axis=0, dtype=np.float64)
        if present is not None:
            for topic in np.flatnonzero(present[chain].any(axis=0) & ~present[chain].all(axis=0)):
                some = topics[present[chain][:, topic], topic]
                means[chain, topic] = some.mean(axis=0, dtype=np.float64)
    return means[chosen // draws.shape[1]]
