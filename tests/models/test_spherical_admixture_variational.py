"""Variational inference of the spherical admixture model: gradients, symmetry, recovery, the bar on text."""

import importlib.util
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp
from jax.scipy.special import digamma, gammaln

from geodrift.distributions import log_normaliser, mean_resultant_length, sample
from geodrift.models.spherical_admixture import Hyperparameters, fit_variational
from geodrift.models.spherical_admixture.variational import _objective as objective
from geodrift.models.spherical_admixture.variational import _stochastic as stochastic
from geodrift.models.spherical_admixture.variational._model import build_model

_ROOT = pathlib.Path(__file__).parents[2]


def _load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


published = _load("published", _ROOT / "reproductions" / "liu-2016" / "published_variational.py")

V, K, D = 30, 4, 7
PRIOR = {"corpus_mean_concentration": 40.0, "topic_concentration": 55.0, "document_concentration": 120.0}
ALPHA = np.array([0.7, 1.3, 2.0, 0.4])
HYPERPARAMETERS = Hyperparameters(**PRIOR, doc_topic_prior=ALPHA)


def _unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def _small_problem():
    random = np.random.default_rng(3)
    dense = _unit(random.normal(size=(D, V)) * (random.uniform(size=(D, V)) < 0.4) + 0.3 * np.eye(D, V))
    model = build_model(sp.csr_matrix(dense), K, HYPERPARAMETERS)
    topics = objective.TopicFactors(
        _unit(random.normal(size=(K, V))), random.uniform(20, 400, K), _unit(random.normal(size=V)), 63.0
    )
    return model, topics, random.gamma(2.0, 3.0, size=(D, K))


def _full_objective(model, parameters, directions, xi, mean, k0t, sigma, kappa0):
    """From the definition of the bound, dense, with the expectation of |beta theta|^2 spelt out."""
    v = jnp.asarray(model.vectors.toarray())
    a, a0 = mean_resultant_length(V, xi), mean_resultant_length(V, k0t)
    of_mu = (
        log_normaliser(V, kappa0)
        - log_normaliser(V, k0t)
        + kappa0 * a0 * (model.mean_direction @ mean)
        - k0t * a0
    )
    of_beta = jnp.sum(
        log_normaliser(V, sigma) - log_normaliser(V, xi) + sigma * a * a0 * (directions @ mean) - xi * a
    )
    total = parameters.sum(1)
    expected_log = digamma(parameters) - digamma(total)[:, None]
    of_theta = D * (gammaln(ALPHA.sum()) - gammaln(ALPHA).sum()) + jnp.sum((ALPHA - 1) * expected_log)
    of_theta -= (
        jnp.sum(gammaln(total)) - jnp.sum(gammaln(parameters)) + jnp.sum((parameters - 1) * expected_log)
    )
    # E theta_j theta_k and E beta_j'beta_k entry by entry, for |u_k| = 1.
    second = (parameters[:, :, None] * parameters[:, None, :]) + jax.vmap(jnp.diag)(parameters)
    second = second / (total * (total + 1))[:, None, None]
    inner = (a[:, None] * directions) @ (a[:, None] * directions).T
    inner = jnp.where(jnp.eye(K, dtype=bool), 1.0, inner)
    q = jnp.einsum("djk,jk->d", second, inner)
    mean_theta = parameters / total[:, None]
    rho = jnp.einsum("dv,dk,k,kv->d", v, mean_theta, a, directions) / jnp.sqrt(q)
    kappa = model.document_concentration
    return of_mu + of_beta + of_theta + D * log_normaliser(V, kappa) + kappa * rho.sum()


def _arguments(model, topics, parameters):
    return (
        parameters, topics.directions, topics.concentrations, topics.corpus_mean,
        topics.corpus_mean_concentration, model.topic_concentration, model.corpus_mean_concentration,
    )  # fmt: skip


def test_objective_and_every_gradient_against_automatic_differentiation():
    model, topics, parameters = _small_problem()
    arguments = _arguments(model, topics, parameters)
    value, gradients = jax.value_and_grad(lambda *x: _full_objective(model, *x), argnums=(0, 1, 2))(
        *arguments
    )
    at = objective.evaluate(model, topics, parameters)
    radial = np.einsum("kv,kv->k", gradients[1], topics.directions)
    tangent = np.asarray(gradients[1]) - radial[:, None] * topics.directions
    np.testing.assert_allclose(at.objective, value, rtol=1e-13)
    np.testing.assert_allclose(at.parameters, gradients[0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(at.directions, tangent, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(at.concentrations, gradients[2], rtol=1e-9)


def test_tied_objective_needs_no_normaliser_of_the_topics():
    """With q's concentrations the prior's, L_mu = kappa0 a0 (m'mt - 1), L_beta = xi a sum (a0 mt'u - 1)."""
    model, topics, _ = _small_problem()
    topics = topics._replace(concentrations=np.full(K, 55.0), corpus_mean_concentration=40.0)
    a, a0 = float(mean_resultant_length(V, 55.0)), float(mean_resultant_length(V, 40.0))
    expected = 40.0 * a0 * (model.mean_direction @ topics.corpus_mean - 1)
    expected += 55.0 * a * np.sum(a0 * topics.directions @ topics.corpus_mean - 1)
    np.testing.assert_allclose(objective.topic_objective(model, topics), expected, rtol=1e-11)


@pytest.mark.slow
def test_mean_norm_under_the_variational_family_by_monte_carlo():
    """Q_d = E|beta theta|^2 from draws of q, where unit norm and spread of the topics meet."""
    model, topics, parameters = _small_problem()
    n = 40_000
    beta = np.asarray(sample(jax.random.key(0), topics.directions, topics.concentrations, (n,)))
    theta = np.random.default_rng(1).dirichlet(parameters[0], size=n)
    squares = np.sum(np.einsum("nk,nkv->nv", theta, beta) ** 2, axis=1)
    means = np.asarray(mean_resultant_length(V, topics.concentrations))[:, None] * topics.directions
    terms = objective.document_terms(parameters, model.vectors @ means.T, means)
    q = 1 / (parameters[0].sum() * terms.scale[0]) ** 2
    assert abs(squares.mean() - q) < 4 * squares.std() / np.sqrt(n)


def test_the_corpus_mean_is_at_its_maximum():
    model, topics, parameters = _small_problem()
    means = np.asarray(mean_resultant_length(V, topics.concentrations))[:, None] * topics.directions
    mean, k0t = objective.corpus_mean_factor(model, means, tied=False)
    arguments = list(
        _arguments(model, topics._replace(corpus_mean=mean, corpus_mean_concentration=k0t), parameters)
    )
    gradients = jax.grad(lambda *x: _full_objective(model, *x), argnums=(3, 4))(*arguments)
    tangent = gradients[0] - (gradients[0] @ mean) * mean
    assert np.abs(tangent).max() < 1e-10
    assert abs(float(gradients[1])) < 1e-10


@pytest.mark.parametrize("form", ["tied", "untied"])
def test_fitted_gradients_vanish_and_the_objective_never_falls(form):
    model, _, _ = _small_problem()
    result = fit_variational(model.vectors, K, HYPERPARAMETERS, form=form, seed=1, max_iter=3000)
    values = np.array([value for _, value in result.history])
    assert (np.diff(values) >= -1e-12 * np.abs(values[1:])).all()
    assert values[-1] - values[0] > 20
    topics = objective.TopicFactors(*result[:2], *result[3:5])
    at = objective.evaluate(model, topics, result.document_parameters)
    np.testing.assert_allclose(at.objective, values[-1], rtol=1e-12)
    assert np.abs(result.document_parameters * at.parameters).max() < 1e-2
    assert np.abs(at.directions).max() < 1e-2
    if form == "untied":
        assert np.abs(result.topic_concentrations * at.concentrations).max() < 1e-2
        assert not np.allclose(result.topic_concentrations, PRIOR["topic_concentration"], rtol=0.05)
    else:
        np.testing.assert_array_equal(result.topic_concentrations, PRIOR["topic_concentration"])
        assert result.corpus_mean_concentration == PRIOR["corpus_mean_concentration"]


@pytest.mark.parametrize("block", ["documents", "topics", "published documents", "published topics"])
def test_a_short_step_along_each_block_gradient_raises_the_objective_by_its_slope(block):
    """First-order change of the whole objective along the gradient that an inner loop follows."""
    model, topics, parameters = _small_problem()
    xi = np.full(K, model.topic_concentration)
    topics = topics._replace(concentrations=xi, corpus_mean_concentration=model.corpus_mean_concentration)
    a = float(mean_resultant_length(V, model.topic_concentration))
    step = 1e-6
    if "documents" in block:
        gradient = objective.evaluate(model, topics, parameters).parameters
        if "published" in block:
            gradient = published._document_block(model, model.vectors, a * topics.directions).gradient(
                parameters
            )
        ends = [(topics, parameters + s * step * gradient) for s in (-1, 1)]
    else:
        gradient = objective.evaluate(model, topics, parameters).directions
        if "published" in block:
            inner = published._topic_block(model, model.vectors, parameters, topics.corpus_mean)
            gradient = inner.gradient(topics.directions)
        moved = [_unit(topics.directions + s * step * gradient) for s in (-1, 1)]
        ends = [(topics._replace(directions=u), parameters) for u in moved]
    low, high = (objective.evaluate(model, t, g).objective for t, g in ends)
    np.testing.assert_allclose((high - low) / (2 * step), np.sum(gradient**2), rtol=1e-5)


def test_objective_is_invariant_to_permuting_topics():
    model, topics, parameters = _small_problem()
    order = np.array([2, 0, 3, 1])
    permuted = topics._replace(
        directions=topics.directions[order], concentrations=topics.concentrations[order]
    )
    with_prior = model._replace(doc_topic_prior=ALPHA[order])
    before = objective.evaluate(model, topics, parameters)
    after = objective.evaluate(with_prior, permuted, parameters[:, order])
    np.testing.assert_allclose(after.objective, before.objective, rtol=1e-13)
    np.testing.assert_allclose(after.directions, before.directions[order], rtol=1e-9, atol=1e-11)


def test_natural_gradient_vanishes_at_a_fit_and_a_full_batch_step_raises_the_objective():
    model, topics, parameters = _small_problem()
    fitted = fit_variational(model.vectors, K, HYPERPARAMETERS, seed=1, max_iter=3000)
    at_fit = objective.TopicFactors(*fitted[:2], *fitted[3:5])
    target = stochastic.natural_gradient_target(model, model.vectors, fitted.document_parameters, at_fit)
    eta = at_fit.concentrations[:, None] * at_fit.directions
    assert np.abs(target - eta).max() < 1e-3 * np.abs(eta).max()
    for tied in (True, False):
        mean, k0t = objective.corpus_mean_factor(model, topics.directions, tied)
        start = topics._replace(corpus_mean=mean, corpus_mean_concentration=k0t)
        target = stochastic.natural_gradient_target(model, model.vectors, parameters, start)
        after = stochastic.natural_gradient_step(model, start, target, 0.01, tied=tied, fitted=not tied)
        gain = [objective.evaluate(model, t, parameters).objective for t in (start, after)]
        assert gain[1] > gain[0]


def test_minibatch_targets_average_to_the_full_target():
    model, topics, parameters = _small_problem()
    full = stochastic.natural_gradient_target(model, model.vectors, parameters, topics)
    single = [
        stochastic.natural_gradient_target(model, model.vectors[[d]], parameters[[d]], topics)
        for d in range(D)
    ]
    np.testing.assert_allclose(np.mean(single, axis=0), full, rtol=1e-11, atol=1e-10)


# ---------------------------------------- planted


def _planted(num_documents=600, dim=60, n_topics=3, concentration=2000.0):
    """Topics on disjoint words. As A_60(2000) = 0.985, the tied family too is narrow enough to find them."""
    random = np.random.default_rng(0)
    own_words = np.arange(dim) % n_topics == np.arange(n_topics)[:, None]
    topics = _unit(np.abs(random.normal(size=(n_topics, dim))) * own_words + 0.02)
    theta = random.dirichlet(np.full(n_topics, 0.5), size=num_documents)
    vectors = _unit(_unit(theta @ topics) + 0.03 * random.normal(size=(num_documents, dim)))
    return vectors, topics, theta, Hyperparameters(concentration, concentration, 1000.0, 0.5)


def _fit(method, form, vectors, hyperparameters):
    if method == "L-BFGS":
        return fit_variational(vectors, 3, hyperparameters, form=form, max_iter=150)
    if method == "stochastic":
        return stochastic.fit_stochastic_variational(vectors, 3, hyperparameters, form=form, max_iter=60)
    if method == "published":
        return published.fit_variational_as_published(vectors, 3, hyperparameters, max_iter=8)
    return published.fit_stochastic_variational_as_published(vectors, 3, hyperparameters, max_iter=60)


@pytest.mark.parametrize(
    ("method", "form"),
    [
        pytest.param("L-BFGS", "tied", marks=pytest.mark.slow),
        pytest.param("L-BFGS", "untied", marks=pytest.mark.slow),
        pytest.param("stochastic", "tied", marks=pytest.mark.slow),
        ("stochastic", "untied"),
        pytest.param("published", "tied", marks=pytest.mark.slow),
        pytest.param("published stochastic", "tied", marks=pytest.mark.slow),
    ],
)
def test_planted_topics_and_mixtures_are_recovered(method, form):
    vectors, planted, theta, hyperparameters = _planted()
    result = _fit(method, form, vectors, hyperparameters)
    cosines = result.topics @ planted.T
    order = cosines.argmax(axis=0)
    assert sorted(order) == [0, 1, 2]
    assert cosines.max(axis=0).min() > 0.97
    if method != "published stochastic":
        mixtures = result.document_parameters[:, order]
        assert np.abs(mixtures / mixtures.sum(1, keepdims=True) - theta).mean() < 0.06


@pytest.mark.slow  # planted topics are found, and the objective checked, in CI
def test_only_the_untied_family_finds_the_topics_under_a_vague_prior():
    """At sigma = 100, A_60 = 0.75: topics that are known well still count as spread out when q is tied."""
    vectors, planted, _, hyperparameters = _planted(concentration=100.0)
    tied, untied = (
        (_fit("L-BFGS", form, vectors, hyperparameters).topics @ planted.T).max(axis=0).min()
        for form in ("tied", "untied")
    )
    assert untied > 0.999
    assert tied < 0.98


def test_the_same_seed_gives_the_same_fit_and_another_does_not():
    vectors, _, _, hyperparameters = _planted(num_documents=80)
    fits = [
        stochastic.fit_stochastic_variational(vectors, 3, hyperparameters, seed=s, max_iter=4)
        for s in (1, 1, 2)
    ]
    np.testing.assert_array_equal(fits[0].topics, fits[1].topics)
    assert np.abs(fits[0].topics - fits[2].topics).max() > 0.01


def test_callback_and_clock_end_a_run_and_history_says_when():
    vectors, _, _, hyperparameters = _planted(num_documents=80)
    seen = []

    def third(seconds, value, topics):
        seen.append((seconds, value, topics.directions.shape))
        return len(seen) == 3

    result = fit_variational(vectors, 3, hyperparameters, callback=third)
    assert [entry[:2] for entry in seen] == result.history
    assert len(seen) == 3
    assert seen[0][2] == (3, 60)
    assert not result.converged
    timed = published.fit_variational_as_published(vectors, 3, hyperparameters, seconds=1e-9)
    assert len(timed.history) == 1


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_topics": 1}, "n_topics"),
        ({"n_topics": 9}, "n_topics"),
        ({"doc_topic_prior": np.ones(4)}, "doc_topic_prior"),
        ({"doc_topic_prior": 0.0}, "doc_topic_prior"),
        ({"topic_concentration": -1.0}, "topic_concentration"),
        ({"document_concentration": np.inf}, "document_concentration"),
        ({"vectors": 2 * np.eye(8)}, "unit norm"),
        ({"vectors": np.full((8, 8), np.nan)}, "unit norm"),
        ({"vectors": np.concatenate([np.eye(4), -np.eye(4)])}, "mean direction"),
        ({"form": "loose"}, "form"),
        ({"form": "tied", "posterior_topic_concentration": 5.0}, "untied"),
        ({"max_iter": 0}, "max_iter"),
        ({"seconds": 0.0}, "seconds"),
        ({"batch_size": 9}, "batch_size"),
        ({"decay": 0.5}, "decay"),
        ({"delay": -1.0}, "delay"),
    ],
)
def test_bad_arguments_are_refused_by_name(change, message):
    prior = PRIOR | {"doc_topic_prior": 1.0}
    prior |= {name: value for name, value in change.items() if name in prior}
    arguments = {
        "vectors": np.eye(8),
        "n_topics": 3,
        "hyperparameters": Hyperparameters(**prior),
        "batch_size": 4,
    }
    arguments |= {name: value for name, value in change.items() if name not in prior}
    with pytest.raises(ValueError, match=message):
        stochastic.fit_stochastic_variational(**arguments)


# ---------------------------------------- on real text

_SHARED = _ROOT.parent / "shared"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "low", "high"),
    [
        ({"form": "tied"}, 4275, 4310),
        ({"form": "untied"}, 0, 3990),
        ({"posterior_topic_concentration": 1e6}, 0, 3990),
    ],
)
def test_held_out_log_perplexity_on_newsgroups(options, low, high):
    if not (_SHARED / "data" / "20news-different").exists():
        pytest.skip("the newsgroup counts are not beside the repository")
    scorer = _load("sam_logperp", _SHARED / "eval" / "sam_logperp.py")
    train, test = (
        sp.load_npz(_SHARED / "data" / "20news-different" / f"{p}-counts.npz") for p in ("train", "test")
    )
    result = fit_variational(
        scorer.tfidf_unit(train, train), 20, Hyperparameters(1e4, 1e4, 3e4, 10.0), max_iter=150, **options
    )
    held_out = scorer.tfidf_unit(test, train)
    score = np.mean(
        [scorer.log_perplexity(held_out, result.topics.T, 3e4, 10.0, 200, seed) for seed in range(3)]
    )
    assert low <= score <= high
