r"""Documents under the topics of draws and one more, whose words are not known: those of all other topics.

A word that a document repeats, and that no stored topic has, is a topic of its own to the model. So all that
a draw does not store is one topic, Dirichlet(c m) in each document, of mean words m and c = V eta. That is
exact of topics without a token where a document has one; two of them, and small ones, are taken for one.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float

from geodrift.kernels._streams import LDA_TRANSFORM_ASSIGNMENTS
from geodrift.models.hierarchical_dirichlet_process._open_sampler import OpenSampler
from geodrift.models.kit._content_hashes import content_hashes
from geodrift.models.kit._counts import checked_counts
from geodrift.models.latent_dirichlet_allocation.documents._mixtures import Mixtures


class OpenMixtures(Mixtures):
    """`Mixtures` under topics of which the last is Dirichlet(c m), with m in its place.

    Args:
        spread: c = V eta.
        given: As for `Mixtures`.
    """

    def __init__(self, spread: float, *given: Any) -> None:
        super().__init__(*given)
        self.spread = spread

    def _sampler(self, counts: sp.csr_matrix) -> OpenSampler:
        names, num_topics = content_hashes(counts), self._prior.shape[1]
        of_documents = counts, num_topics, names, LDA_TRANSFORM_ASSIGNMENTS, self._seed
        return OpenSampler(self.spread, *of_documents)


def open_mixtures(
    counts: sp.csr_matrix,
    topics: Float[np.ndarray, "N K V"],
    prior: Float[np.ndarray, "N K"],
    eta: float,
    *,
    seed: int = 0,
    told: int,
    found: Bool[np.ndarray, "N columns"],
) -> dict[str, Float[np.ndarray, "D columns"]]:
    """`document_mixtures` of LDA, where the last topic is m, the mean words of all that are not in a draw."""
    mixtures = OpenMixtures(eta * topics.shape[2], list(topics), prior, seed, told, found)
    return mixtures.of(checked_counts(counts), intervals=True)
