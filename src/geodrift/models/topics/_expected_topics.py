"""One estimate of the topics: their posterior mean."""

import numpy as np
from jaxtyping import Float

from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._component_names import means_of


def expected_topics(
    draws: Float[np.ndarray, "C N K V"], agreed: Agreement, signed: bool
) -> Float[np.ndarray, "K V"]:
    """Each topic's mean over the draws of the chains that have found it.

    In another chain its place has another topic, and the mean of the two would be neither.

    Args:
        draws: Aligned.
        agreed: How far the chains agree.
        signed: Whether topics are unit vectors; the mean is then scaled to be one.
    """
    means = means_of(draws, agreed)
    return means / np.linalg.norm(means, axis=1, keepdims=True) if signed else means
