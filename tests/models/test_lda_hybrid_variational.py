"""Hybrid variational inference against exact coordinate ascent, q*(z) being enumerated."""

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp, psi

from geodrift.data import Corpus
from geodrift.models.latent_dirichlet_allocation import completion_perplexity, fit_hybrid_variational
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import TokenSource
from geodrift.models.latent_dirichlet_allocation.variational._hybrid_variational import (
    HybridVariational,
    digamma,
    topic_weights,
)
from law_checks import assert_means
from models import lda_problem as problem
from models.lda_problem import simulate

ALPHA, ETA = np.array(problem.DOC_TOPIC_PRIOR), problem.TOPIC_WORD_PRIOR
COUNTS = problem.COUNTS
SHAPE = (COUNTS.shape[1], len(ALPHA))
START = np.array([[2.6, 0.5], [1.3, 1.9], [0.6, 2.7]])  # lambda [word, topic]


def expected_logs(parameters):
    return psi(parameters) - psi(parameters.sum(axis=0))


def best_counts(parameters):
    """E n_dwk [document, word, topic] under q*(z_d), and log of its normaliser, by enumeration."""
    logs, counts, normalisers = expected_logs(parameters), np.zeros((len(COUNTS), *SHAPE)), []
    for d, row in enumerate(COUNTS):
        words = problem.tokens_of(row)
        every = problem.assignments_of(len(ALPHA), len(words))
        numbers = np.stack([(every == k).sum(axis=1) for k in range(len(ALPHA))], axis=1)
        log_p = (gammaln(ALPHA + numbers) - gammaln(ALPHA)).sum(axis=1)
        log_p += gammaln(ALPHA.sum()) - gammaln(ALPHA.sum() + len(words))
        log_p += logs[words, every].sum(axis=1)
        normalisers.append(logsumexp(log_p))
        counts[d] = np.einsum(
            "a,awk->wk",
            np.exp(log_p - normalisers[-1]),
            problem.counts_of(every, words, *SHAPE),
        )
    return counts, np.array(normalisers)


def objective(parameters):
    """The evidence lower bound with every q(z_d) at its best."""
    logs, sums = expected_logs(parameters), parameters.sum(axis=0)
    prior = gammaln(ETA * SHAPE[0]) - SHAPE[0] * gammaln(ETA) + ((ETA - 1) * logs).sum(axis=0)
    entropy = gammaln(parameters).sum(axis=0) - gammaln(sums) - ((parameters - 1) * logs).sum(axis=0)
    return (prior + entropy).sum() + best_counts(parameters)[1].sum()


def ascended(parameters, rounds=400):
    """Exact coordinate ascent; the objective never falls."""
    values = [objective(parameters)]
    for _ in range(rounds):
        parameters = ETA + best_counts(parameters)[0].sum(axis=0)
        values.append(objective(parameters))
    assert (np.diff(values) > -1e-12).all()
    return parameters


def at_start(seed):
    fit = HybridVariational(len(COUNTS), SHAPE, int(COUNTS.sum()), ALPHA, ETA, seed)
    fit.counts = (START - ETA).astype(np.float32)
    fit.sums = fit.counts.sum(axis=0, dtype=np.float64)
    return fit


def test_digamma():
    values = np.concatenate([10.0 ** np.linspace(-4, 7, 200), [8.0, 7.999999]])
    np.testing.assert_allclose([digamma(x) for x in values], psi(values), rtol=1e-11, atol=1e-12)


@pytest.mark.slow
def test_weights_are_exponentials_of_expected_logs_but_for_a_factor_of_each_word():
    parameters = np.array([[30.0, 2.0, 0.01], [0.01, 0.01, 0.01], [5.0, 0.5, 900.0]])
    sums = np.array([1e5, 2e4, 3e5])
    logs = psi(parameters) - psi(sums)
    expected = np.exp(logs - logs.max(axis=1, keepdims=True))
    np.testing.assert_allclose(topic_weights(parameters, sums), expected, rtol=1e-6, atol=1e-40)


@pytest.mark.parametrize("documents", [[0, 1, 2], [1]])
def test_a_step_is_towards_the_enumerated_counts(documents):
    """A minibatch's counts are scaled by D / S."""
    source = TokenSource(problem.corpus())
    batch = source.minibatch(np.array(documents))
    scaled = 3 / len(documents) * best_counts(START)[0][documents].sum(axis=0)
    expected = 0.7 * START + 0.3 * (ETA + scaled)
    draws = []
    for seed in range(300):
        fit = at_start(seed)
        fit.step(batch, 0.3, burn_in=10, sweeps=20)
        draws.append(fit.parameters())
        np.testing.assert_allclose(fit.sums * fit.factor + 3 * ETA, draws[-1].sum(axis=0), rtol=1e-5)
    assert_means(np.array(draws)[:, None], expected, slack=1e-5)


@pytest.mark.slow
def test_rests_where_coordinate_ascent_does():
    runs = [
        fit_hybrid_variational(
            problem.corpus(),
            2,
            doc_topic_prior=ALPHA,
            topic_word_prior=ETA,
            batch_size=2,
            burn_in=2,
            sweeps=4,
            decay=1.0,
            max_iter=800,
            seed=seed,
        )
        for seed in range(12)
    ]
    ends = np.array([run.topic_parameters.T for run in runs], float)
    best = np.array([ascended(end, 60) for end in ends])
    # Weights 1 / (1 + t / 2): what is left of the start's way is t^-2 or less, and the noise averages out.
    assert_means((ends - best)[:, None], np.zeros(SHAPE), slack=5e-3)
    lost = [objective(b) - objective(e) for b, e in zip(best, ends, strict=True)]
    assert max(lost) < 0.05
    assert all(run.completed and run.history[-1][1] == 1600 for run in runs)


@pytest.mark.slow  # in CI the updates by their formulas
def test_held_out_documents_become_likelier():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(120, 0.08), 6)
    counts = simulate(rng, topics, 0.2, np.full(900, 50))[0]
    train, test = Corpus.from_matrix(counts[:800]), counts[800:]
    fits = {
        steps: fit_hybrid_variational(train, 6, doc_topic_prior=0.2, batch_size=100, max_iter=steps)
        for steps in (1, 60)
    }
    first, last = (completion_perplexity(test, fit.topics, 0.2).perplexity for fit in fits.values())
    best = completion_perplexity(test, topics, 0.2).perplexity
    assert best < last < 1.1 * best < 1.2 * best < first
    np.testing.assert_array_equal(
        fits[60].topic_parameters,
        fit_hybrid_variational(train, 6, doc_topic_prior=0.2, batch_size=100, max_iter=60).topic_parameters,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_topics": 1}, "n_topics"),
        ({"doc_topic_prior": np.ones(3)}, "doc_topic_prior"),
        ({"topic_word_prior": 0.0}, "topic_word_prior"),
        ({"batch_size": 0}, "batch_size"),
        ({"sweeps": 0}, "sweeps"),
        ({"burn_in": -1}, "burn_in"),
        ({"delay": 0.0}, "delay"),
        ({"decay": 0.5}, "decay"),
        ({"seconds": 0.0}, "seconds"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(ValueError, match=message):
        fit_hybrid_variational(**({"corpus": problem.corpus(), "n_topics": 2} | arguments))
