r"""What the topics' gradient needs of the documents, kept up to date at the cost of a minibatch.

Given mixtures theta_d, the gradient of the log joint density with respect to topic k is
(`docs/explanation/spherical-admixture.md`)

.. math:: \kappa \big( \textstyle\sum_d v_d w_{dk} - \sum_j \beta_j M_{jk} \big) + \text{prior}, \quad
    w_d = \frac{\theta_d}{|\beta\theta_d|}, \quad M = \sum_d \frac{v_d'\beta\theta_d}{|\beta\theta_d|^3}
    \theta_d\theta_d'

so two sums are enough: the pull P = sum_d v_d w_d' [V, K] and the coupling M [K, K].
"""

from typing import NamedTuple

import numba
import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from geodrift.kernels._streams import KernelStreams
from geodrift.models.spherical_admixture.documents._documents import DocumentSource
from geodrift.models.spherical_admixture.documents._mixture_kernel import draw_mixtures

NOISE_SMOOTHING = 0.05  # weight of a step's estimate of the gradient noise


class Statistics(NamedTuple):
    """The two sums over documents that the topics' gradient needs."""

    pull: np.ndarray  # P, [V, K]
    coupling: np.ndarray  # M, [K, K]
    noise_variance: np.ndarray  # of one entry of the gradient's tangent part, [K]; 0: all documents count


class Latents(NamedTuple):
    """State kept for every document, and the running sums over all of them."""

    mixtures: np.ndarray  # theta, [D, K] float32
    step_sizes: np.ndarray  # of each document's transition, [D] float32
    pull: np.ndarray  # [V, K] float64
    coupling: np.ndarray  # [K, K] float64
    inverse_norms: np.ndarray  # 1/|beta theta| at the last visit, [D] float32
    slopes: np.ndarray  # v'beta theta / |beta theta|^3 at the last visit, [D] float32
    noise_variance: np.ndarray  # of the "fresh" estimate, smoothed over steps, [K]
    shear_scale: np.ndarray  # standard deviation of the shear moves' epsilon, []


@numba.njit(cache=True)
def affinities(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, topics_by_word: np.ndarray
) -> np.ndarray:
    """Beta v of each row, [S, K]; ``topics_by_word`` is beta' [V, K]."""
    out = np.zeros((indptr.shape[0] - 1, topics_by_word.shape[1]))
    for s in range(out.shape[0]):
        for at in range(indptr[s], indptr[s + 1]):
            out[s] += data[at] * topics_by_word[indices[at]]
    return out


@numba.njit(cache=True)
def add_outer(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, weights: np.ndarray, pull: np.ndarray
) -> None:
    """Add sum_s v_s weights_s' to ``pull`` [V, K]."""
    for s in range(indptr.shape[0] - 1):
        for at in range(indptr[s], indptr[s + 1]):
            pull[indices[at]] += data[at] * weights[s]


def geometry(mixtures: np.ndarray, affinity: np.ndarray, gram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1/|beta theta| and v'beta theta/|beta theta|^3 of mixtures.

    ``mixtures`` and ``affinity`` are [..., K], ``gram`` is [K, K]; both results are [...].
    """
    inverse = 1.0 / np.sqrt(((mixtures @ gram) * mixtures).sum(axis=-1))
    return inverse, (affinity * mixtures).sum(axis=-1) * inverse**3


class MixtureSampler(NamedTuple):
    """How the mixtures of a minibatch are renewed; see `Settings` for the fields."""

    concentration: float
    prior: np.ndarray  # alpha, [K]
    num_leapfrog: int
    burn_in: int
    num_draws: int
    use: KernelStreams  # of the random numbers
    seed: int
    chain: int

    def draw(
        self,
        start: Float[np.ndarray, "S K"],
        step_sizes: Float[np.ndarray, " S"],
        affinity: Float[np.ndarray, "S K"],
        gram: Float[np.ndarray, "K K"],
        documents: Int[np.ndarray, " S"],
        count: int,
        adaptation: float,
    ) -> tuple[Float[np.ndarray, "S N K"], Float[np.ndarray, " S"]]:
        """Renew mixtures ``start`` [S, K] in place (step sizes too, while adapting).

        Returns:
            The draws [S, N, K] and acceptance rates [S].
        """
        draws = np.empty((start.shape[0], self.num_draws, start.shape[1]))
        acceptance = draw_mixtures(
            start,
            affinity,
            gram,
            concentration=self.concentration,
            prior=self.prior,
            step_sizes=step_sizes,
            num_leapfrog=self.num_leapfrog,
            burn_in=self.burn_in,
            num_draws=self.num_draws,
            adaptation=adaptation,
            streams=self.use.family(self.seed, self.chain, count),
            documents=documents,
            draws=draws,
        )
        return draws, acceptance


def initial_step_size(concentration: float, doc_topic_prior: float, num_topics: int) -> float:
    """A third of the scale of a mixture's posterior, were topics orthogonal and cosines about 0.3.

    It is adapted from there.
    """
    return 0.3 / float(np.sqrt(0.3 * concentration * num_topics + doc_topic_prior * num_topics**2))


def initial_latents(
    source: DocumentSource, topics: np.ndarray, concentration: float, doc_topic_prior: float
) -> Latents:
    """Every mixture at the simplex's centre; two passes over the corpus.

    Args:
        source: The documents.
        topics: beta, [K, V].
        concentration: kappa.
        doc_topic_prior: alpha.
    """
    num_topics, num_words = topics.shape
    num_documents = source.num_documents
    step_size = initial_step_size(concentration, doc_topic_prior, num_topics)
    by_word, gram = np.ascontiguousarray(topics.T, dtype=np.float64), topics @ topics.T
    centre = np.full(num_topics, 1.0 / num_topics)
    latents = Latents(
        mixtures=np.full((num_documents, num_topics), 1.0 / num_topics, dtype=np.float32),
        step_sizes=np.full(num_documents, step_size, dtype=np.float32),
        pull=np.zeros((num_words, num_topics)),
        coupling=np.zeros((num_topics, num_topics)),
        inverse_norms=np.zeros(num_documents, dtype=np.float32),
        slopes=np.zeros(num_documents, dtype=np.float32),
        noise_variance=np.zeros(num_topics),
        shear_scale=np.array(1.0 / np.sqrt(num_documents * doc_topic_prior)),
    )
    for documents, rows in source.batches():
        affinity = affinities(rows.indptr, rows.indices, rows.data, by_word)
        inverse, slope = geometry(np.broadcast_to(centre, affinity.shape), affinity, gram)
        latents.inverse_norms[documents], latents.slopes[documents] = inverse, slope
    return latents._replace(**_sums(latents, source))


def _sums(latents: Latents, source: DocumentSource) -> dict[str, np.ndarray]:
    pull, coupling = np.zeros_like(latents.pull), np.zeros_like(latents.coupling)
    for documents, rows in source.batches():
        mixtures = latents.mixtures[documents].astype(np.float64)
        weights = mixtures * latents.inverse_norms[documents, None].astype(np.float64)
        add_outer(rows.indptr, rows.indices, rows.data, weights, pull)
        coupling += (mixtures * latents.slopes[documents, None].astype(np.float64)).T @ mixtures
    return {"pull": pull, "coupling": coupling}


def renew_sums(latents: Latents, source: DocumentSource) -> None:
    """Make the sums anew from the table; one pass over the corpus."""
    sums = _sums(latents, source)
    latents.pull[...], latents.coupling[...] = sums["pull"], sums["coupling"]


def visit(
    latents: Latents,
    sampler: MixtureSampler,
    documents: np.ndarray,
    rows: sp.csr_matrix,
    topics: np.ndarray,
    count: int,
    adaptation: float,
) -> tuple[Statistics, float]:
    """Renew a minibatch's mixtures in place and bring the sums up to date; cost O(nnz K + S N K^2).

    The joint law of topics and mixtures is invariant: mixtures move by a Metropolis-corrected kernel given
    the topics. The norms |beta theta_d| of documents not in the minibatch are those of their last visit.

    Returns:
        The sums over all documents, and the mean acceptance rate.
    """
    by_word, gram = np.ascontiguousarray(topics.T, dtype=np.float64), _gram(topics)
    affinity = affinities(rows.indptr, rows.indices, rows.data, by_word)
    old = latents.mixtures[documents].astype(np.float64)
    old_inverse = latents.inverse_norms[documents].astype(np.float64)
    old_slope = latents.slopes[documents].astype(np.float64)
    new, step_sizes = old.copy(), latents.step_sizes[documents].astype(np.float64)
    _, acceptance = sampler.draw(new, step_sizes, affinity, gram, documents, count, adaptation)
    # What is added must be what is later taken away: round to the table's float32 first.
    new = new.astype(np.float32).astype(np.float64)
    inverse, slope = (x.astype(np.float32).astype(np.float64) for x in geometry(new, affinity, gram))
    latents.mixtures[documents], latents.step_sizes[documents] = new, step_sizes
    latents.inverse_norms[documents], latents.slopes[documents] = inverse, slope
    add_outer(
        rows.indptr,
        rows.indices,
        rows.data,
        new * inverse[:, None] - old * old_inverse[:, None],
        latents.pull,
    )
    latents.coupling[...] += (new * slope[:, None]).T @ new - (old * old_slope[:, None]).T @ old
    return Statistics(latents.pull, latents.coupling, np.zeros(topics.shape[0])), float(acceptance.mean())


def estimate(
    latents: Latents,
    sampler: MixtureSampler,
    documents: np.ndarray,
    rows: sp.csr_matrix,
    topics: np.ndarray,
    count: int,
    adaptation: float,
) -> tuple[Statistics, float]:
    """The unbiased estimate of the sums from a minibatch alone, with its noise variance.

    Eq. (10) of Liu et al. 2016: mean over N draws, times D / S. Mixtures are warm-started from the table,
    which is updated; the running sums are not used.
    """
    num_documents, batch = latents.mixtures.shape[0], documents.shape[0]
    by_word, gram = np.ascontiguousarray(topics.T, dtype=np.float64), _gram(topics)
    affinity = affinities(rows.indptr, rows.indices, rows.data, by_word)
    new, step_sizes = (
        latents.mixtures[documents].astype(np.float64),
        latents.step_sizes[documents].astype(np.float64),
    )
    draws, acceptance = sampler.draw(new, step_sizes, affinity, gram, documents, count, adaptation)
    latents.mixtures[documents], latents.step_sizes[documents] = new, step_sizes
    inverse, slope = geometry(draws, affinity[:, None, :], gram)
    weights = (draws * inverse[:, :, None]).mean(axis=1)
    couplings = np.einsum("sn,snj,snk->sjk", slope, draws, draws, optimize=True) / draws.shape[1]
    scale = num_documents / batch
    pull = np.zeros(topics.shape[::-1])
    add_outer(rows.indptr, rows.indices, rows.data, scale * weights, pull)
    noise = _noise_variance(
        sampler.concentration, weights, couplings, affinity, gram, rows, num_documents, topics.shape[1]
    )
    smoothing = 1.0 if not latents.noise_variance.any() else NOISE_SMOOTHING
    latents.noise_variance[...] += smoothing * (noise - latents.noise_variance)
    return Statistics(pull, scale * couplings.sum(axis=0), latents.noise_variance), float(acceptance.mean())


def _gram(topics: np.ndarray) -> np.ndarray:
    return (topics @ topics.T).astype(np.float64)


def _noise_variance(
    concentration: float,
    weights: np.ndarray,
    couplings: np.ndarray,
    affinity: np.ndarray,
    gram: np.ndarray,
    rows: sp.csr_matrix,
    num_documents: int,
    num_words: int,
) -> np.ndarray:
    """Variance of one tangent entry of each topic's gradient estimate, [K].

    From the spread over the minibatch (sampling without replacement). A document's tangent gradient for
    topic k is kappa (I - beta_k beta_k')(w_k v - sum_j beta_j M_jk); its squared norm and that of the mean
    need only v'v = 1, beta v and the Gram matrix.
    """
    batch, num_topics = weights.shape
    if batch < 2:
        return np.zeros(num_topics)

    def squared_norm(
        weight_squared: np.ndarray, weight_affinity: np.ndarray, coupling: np.ndarray
    ) -> np.ndarray:
        # |sum w v - beta' M_k|^2 less the radial part, per topic k; weight_affinity[j, k] = beta_j' sum w_k v
        from_gram = gram @ coupling
        whole = weight_squared + ((from_gram - 2 * weight_affinity) * coupling).sum(axis=-2)
        radial = np.diagonal(weight_affinity - from_gram, axis1=-2, axis2=-1)
        return whole - radial**2

    products = (rows @ rows.T).toarray()
    pulls = affinity[:, :, None] * weights[:, None, :]
    each = squared_norm(weights**2 * np.diag(products)[:, None], pulls, couplings).sum(axis=0)
    mean = squared_norm(
        ((products @ weights) * weights).sum(axis=0) / batch**2, pulls.mean(axis=0), couplings.mean(axis=0)
    )
    variance = np.maximum(each - batch * mean, 0.0) / (batch - 1) / (num_words - 1)
    return (concentration * num_documents) ** 2 / batch * variance * (1.0 - batch / num_documents)


def draw_all(
    latents: Latents,
    sampler: MixtureSampler,
    source: DocumentSource,
    topics: np.ndarray,
    count: int,
    adaptation: float,
) -> tuple[Statistics, np.ndarray, float]:
    """Renew every document's mixture in place, given the topics.

    Returns:
        The sums over all documents at these mixtures, the draws [D, N, K], and the mean acceptance rate.
    """
    everything = np.empty((source.num_documents, sampler.num_draws, topics.shape[0]))
    by_word, gram = np.ascontiguousarray(topics.T, dtype=np.float64), _gram(topics)
    accepted = 0.0
    for documents, rows in source.batches():
        affinity = affinities(rows.indptr, rows.indices, rows.data, by_word)
        new, step_sizes = (
            latents.mixtures[documents].astype(np.float64),
            latents.step_sizes[documents].astype(np.float64),
        )
        draws, acceptance = sampler.draw(new, step_sizes, affinity, gram, documents, count, adaptation)
        everything[documents] = draws
        latents.mixtures[documents], latents.step_sizes[documents] = new, step_sizes
        latents.inverse_norms[documents], latents.slopes[documents] = geometry(new, affinity, gram)
        accepted += float(acceptance.sum())
    renew_sums(latents, source)
    statistics = Statistics(latents.pull, latents.coupling, np.zeros(topics.shape[0]))
    return statistics, everything, accepted / source.num_documents
