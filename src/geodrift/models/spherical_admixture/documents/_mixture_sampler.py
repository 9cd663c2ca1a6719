"""Draws of documents' mixtures given the topics: on CPUs by compiled kernels, elsewhere in JAX."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from geodrift.distributed import Alone, Team
from geodrift.kernels import _device
from geodrift.kernels._stream_kinds import KernelStreams
from geodrift.models.spherical_admixture.documents import _host_mixtures_in_jax
from geodrift.models.spherical_admixture.documents._host_mixtures_in_jax import Lengths
from geodrift.models.spherical_admixture.documents._mixture_kernel import draw_mixtures
from geodrift.models.spherical_admixture.documents._mixtures_in_jax import Target
from geodrift.models.spherical_admixture.documents._share_kernel import draw_mixtures_by_shares


class MixtureSampler(NamedTuple):
    """Geodesic Monte Carlo of mixtures on the simplex; the target density is in `_mixture_kernel`.

    Where alpha is below 1, moves of shares on the host, whatever the device; see `_share_kernel`.
    """

    concentration: float  # kappa
    prior: Float[np.ndarray, " K"]  # alpha
    num_leapfrog: int  # leapfrog steps of one transition; moves of a topic's shares
    burn_in: int  # transitions before the first kept draw
    num_draws: int  # N, kept draws
    use: KernelStreams  # what the draws are for, in the registry of random streams
    seed: int  # (seed, chain, step, document) keys each document's random stream
    chain: int
    team: Team = Alone()  # processes that draw the mixtures of some documents each, and tell all

    def draw(
        self,
        mixtures: Float[np.ndarray, "S K"],
        step_sizes: Float[np.ndarray, " S"],
        projections: Float[np.ndarray, "S K"],
        gram: Float[np.ndarray, "K K"],
        documents: Int[np.ndarray, " S"],
        step: int,
        adaptation: float,
    ) -> tuple[Float[np.ndarray, "S N K"], Float[np.ndarray, " S"]]:
        """Draw N mixtures of each of S documents.

        Args:
            mixtures: Start of each chain, overwritten by its last state.
            step_sizes: Leapfrog step of each document, in the time of dx = v dt, dv = grad log p dt;
                overwritten while adapting.
            projections: beta v of each document.
            gram: beta beta'.
            documents: Document numbers.
            step: Step index of the chain.
            adaptation: Gain of the Robbins-Monro update of log step size; 0 keeps the step sizes.

        Returns:
            The draws, and each document's acceptance rate.
        """
        num_documents, num_topics = mixtures.shape
        draws = np.empty((num_documents, self.num_draws, num_topics))
        acceptance = np.empty(num_documents)
        ends = [rank * num_documents // self.team.size for rank in range(self.team.size + 1)]
        own = slice(ends[self.team.rank], ends[self.team.rank + 1])
        target = Target(projections[own], gram, self.concentration, self.prior)
        lengths = Lengths(self.num_leapfrog, self.burn_in, self.num_draws)
        family, of_documents = self.use.family(self.seed, self.chain, step), (documents[own], draws[own])
        steps = (own.stop - own.start) * num_topics * self.num_leapfrog * (self.burn_in + self.num_draws)
        if by_shares(float(self.prior.min())):
            arguments = mixtures[own], *target, *lengths
            found = draw_mixtures_by_shares(steps, *arguments, family.word, *of_documents)
        elif _device.in_jax():
            given = mixtures[own], target, step_sizes[own], lengths, adaptation
            found = _host_mixtures_in_jax.draw_mixtures(*given, family, *of_documents)
        else:
            arguments = mixtures[own], *target, step_sizes[own], *lengths, adaptation
            found = draw_mixtures(num_topics * steps, *arguments, family.word, *of_documents)
        acceptance[own] = found
        if self.team.size > 1:
            self._exchange(ends, [draws, mixtures, step_sizes, acceptance])
        return draws, acceptance

    def _exchange(self, ends: list[int], arrays: list[np.ndarray]) -> None:
        """Tell the other processes what was drawn for the own documents, and take over theirs.

        Args:
            ends: Documents at which those of each process begin, and S.
            arrays: [S, ...] each.
        """
        flat = [array.reshape(ends[-1], -1) for array in arrays]
        own = slice(ends[self.team.rank], ends[self.team.rank + 1])
        rows = np.concatenate([array[own] for array in flat], axis=1)
        parts = self.team.gather(rows.ravel(), [n * rows.shape[1] for n in np.diff(ends).tolist()])
        whole = np.concatenate(parts).reshape(ends[-1], -1)
        columns = np.cumsum([array.shape[1] for array in flat])[:-1]
        for array, part in zip(arrays, np.split(whole, columns, axis=1), strict=True):
            array[...] = part.reshape(array.shape)


def by_shares(doc_topic_prior: float) -> bool:
    """Whether mixtures are drawn by moves of shares: no trajectory follows a density infinite at faces."""
    return doc_topic_prior < 1.0


def initial_step_size(concentration: float, doc_topic_prior: float, num_topics: int) -> float:
    """Leapfrog step from which adaptation starts: a third of the scale of a mixture's posterior.

    The scale is that of orthogonal topics and documents whose cosine to their mean is about 0.3.

    Args:
        concentration: kappa.
        doc_topic_prior: alpha, each component's.
        num_topics: K.
    """
    return 0.3 / float(np.sqrt(0.3 * concentration * num_topics + doc_topic_prior * num_topics**2))
