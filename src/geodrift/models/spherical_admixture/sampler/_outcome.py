"""Result of one step of a chain of topics."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from geodrift.models.spherical_admixture.documents._document_states import DocumentStates
from geodrift.models.spherical_admixture.documents._statistics import SufficientStatistics


class Outcome(NamedTuple):
    """Diagnostics of one step."""

    result: int  # code of `geodrift.Result`
    kinetic_temperature: float
    acceptance: float  # of the topics' proposals; NaN without a Metropolis test
    mixture_acceptance: float  # mean over the mixtures that were drawn


class Step(NamedTuple):
    """What one step comes to. Arrays are of the host or of another device, as the move keeps them."""

    latents: DocumentStates
    topic_state: Any  # of the sampler of the topics
    topics: Float[np.ndarray, "K V"]  # where the statistics were computed
    statistics: SufficientStatistics
    outcome: Outcome
