"""A chain of the spherical admixture model: its law, and that it can be put down and taken up."""

import functools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import geodrift as gd
from geodrift.driver import Length, plan_of
from geodrift.kernels import _device
from geodrift.models import SphericalAdmixture
from geodrift.models.spherical_admixture import Chain, Settings
from geodrift.models.spherical_admixture.documents._statistics import SufficientStatistics
from models.sam_problem import SETTINGS, planted, run

PROJECTIONS = np.random.default_rng(9).normal(size=(20, 3, 40))
PROJECTIONS /= np.linalg.norm(PROJECTIONS, axis=(1, 2), keepdims=True)


def project(draws):
    return np.einsum("nkv,pkv->pn", draws, PROJECTIONS)


def compare(one, other):
    """Largest deviations of two runs, and the ESS of each.

    Of the ratio of standard deviations from 1, and of the means in combined standard errors. The ESS is the
    least of each run's.
    """
    ess = np.array([[gd.diagnostics.ess(x[None]) for x in project(d)] for d in (one, other)])
    a, b = project(one), project(other)
    error = np.sqrt(a.var(axis=1) / ess[0] + b.var(axis=1) / ess[1])
    return (
        np.abs(b.std(axis=1) / a.std(axis=1) - 1).max(),
        np.abs((a.mean(axis=1) - b.mean(axis=1)) / error).max(),
        ess.min(axis=1),
    )


@pytest.fixture(scope="module")
def exact_gibbs():
    """A long full-batch GMC-bGibbs chain: each of its moves has a Metropolis test."""
    return run(22_000, method="gmc-gibbs", num_steps=80, num_draws=19_800, warm_up_fraction=0.1)[0]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "form"), [("sggmc", "host"), ("gsgnht", "host"), ("sggmc", "jax")])
def test_minibatches_sample_the_law_of_exact_gibbs(exact_gibbs, method, form, monkeypatch):
    monkeypatch.setattr(_device, "in_jax", lambda: form == "jax")
    ours, chain = run(60_000, method=method, batch_size=20, num_draws=27_000, warm_up_fraction=0.1)
    deviation, z, ess = compare(exact_gibbs, ours)
    print(f"{method}: deviation {deviation:.4f}, z {z:.2f}, ess {ess}, T {chain.temperature.value():.4f}")
    assert ess.min() >= 1000
    assert deviation < 0.15
    assert z < 4.5
    assert abs(chain.temperature.value() - 1) < 0.05


@functools.cache
def short_exact_gibbs():
    """Draws of a full-batch GMC-bGibbs chain, by compiled host code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_device, "in_jax", lambda: False)
        return run(600, method="gmc-gibbs", num_steps=80, num_draws=480, warm_up_fraction=0.2)[0]


@pytest.mark.usefixtures("optimised")
@pytest.mark.slow
@pytest.mark.parametrize("each_form", ["host", "jax"], indirect=True)
def test_short_run_agrees_with_exact_gibbs(each_form):
    exact = short_exact_gibbs()
    steps = 4000 if each_form == "host" else 2400  # which on a CPU take longer in JAX
    ours, chain = run(steps, method="sggmc", batch_size=40, num_draws=2 * steps // 5, warm_up_fraction=0.2)
    _, z, ess = compare(exact, ours)
    print(f"z {z:.2f}, ess {ess}, T {chain.temperature.value():.4f}")
    spread = np.mean(project(ours).std(axis=1) / project(exact).std(axis=1))
    assert ess.min() > 20
    assert abs(spread - 1) < 0.1
    assert z < 5.0
    assert abs(chain.temperature.value() - 1) < 0.05


# `test_every_model` has it in CI.
@pytest.mark.parametrize(
    ("method", "latents", "form"),
    [
        pytest.param("sggmc", "fresh", "host", marks=pytest.mark.slow),
        pytest.param("gsgnht", "kept", "host", marks=pytest.mark.slow),
        pytest.param("gsgnht", "fresh", "host", marks=pytest.mark.slow),
        pytest.param("gmc-gibbs", "kept", "host", marks=pytest.mark.slow),
        pytest.param("sggmc", "kept", "jax", marks=pytest.mark.slow),
        pytest.param("gsgnht", "kept", "jax", marks=pytest.mark.slow),
        pytest.param("gsgnht", "fresh", "jax", marks=pytest.mark.slow),
    ],
)
def test_sixty_steps_and_forty_more_are_a_hundred(method, latents, form, monkeypatch):
    """Beside the default on the host, for which `test_every_model` shows it."""
    monkeypatch.setattr(_device, "in_jax", lambda: form == "jax")
    settings = Settings(**SETTINGS, method=method, latents=latents, batch_size=20, num_draws=50)
    whole, first, second = (Chain(planted()[0], settings, seed=4) for _ in range(3))
    plan = settings.shares.plan(100)
    for chain in (whole, first):
        chain.begin(plan)
    for _ in range(60):
        first.step()
    second.restore({name: np.array(value) for name, value in first.state().items()})
    second.begin(plan)
    for _ in range(100):
        whole.step()
    for _ in range(40):
        second.step()
    for name, value in whole.state().items():
        np.testing.assert_array_equal(value, second.state()[name], err_msg=name)


@pytest.mark.slow
def test_planted_topics_are_found_with_intervals_that_hold_them():
    corpus, topics = planted(num_documents=400)
    model = SphericalAdmixture(
        3,
        document_concentration=200.0,
        topic_concentration=20.0,
        corpus_mean_concentration=20.0,
        doc_topic_prior=2.0,
        weighting="none",
        n_steps=3000,
        n_draws=200,
        random_state=0,
    )
    mixtures = model.fit(corpus.matrix).transform(corpus.matrix)
    order = np.argmax(topics @ model.topics_.T, axis=1)
    assert sorted(order) == [0, 1, 2]
    assert (topics * model.topics_[order]).sum(axis=1).min() > 0.97
    np.testing.assert_allclose(mixtures.sum(axis=1), 1.0, atol=1e-6)
    low, high = np.quantile(model.topic_draws_[:, order], [0.05, 0.95], axis=0)
    inside = ((low <= topics) & (topics <= high)).mean()
    assert 0.75 < inside < 0.98  # 90% of correlated entries of one data set


def test_negative_curvature_bounds_the_step_by_its_size():
    # Topics that start opposite to their documents have it, and a step size was infinite there.
    move = Chain(planted()[0], Settings(**SETTINGS), seed=0).move
    tuned = []
    for sign in (1.0, -1.0):
        curvature = sign * np.diag([1.0, 4.0, 9.0])
        move._adapt(SufficientStatistics(np.zeros((40, 3)), curvature, np.zeros(3)), count=10**6)
        tuned.append(move.tuned)
    np.testing.assert_allclose(tuned[1], tuned[0])
    np.testing.assert_allclose(tuned[0][0], 0.8 / np.sqrt(200.0 * 9.0))


@pytest.mark.usefixtures("unchecked_types")
def test_bad_input_is_refused_in_one_line():
    corpus = planted()[0]
    with pytest.raises(ValueError, match="n_topics is 100 but the corpus has 80 documents"):
        Chain(corpus, Settings(n_topics=100))
    for name, value in {
        "n_topics": 1,
        "doc_topic_prior": 0.0,
        "weighting": "bm25",
        "step_size": float("nan"),
        "batch_size": 2.5,
    }.items():
        with pytest.raises(ValueError, match=f"{name} must be"):
            Settings(**{name: value})
    with pytest.raises(ValueError, match="Negative values"):
        SphericalAdmixture(2).fit(-np.eye(4))
    with pytest.raises(ValueError, match="NaN"):
        SphericalAdmixture(2).fit(np.full((4, 4), np.nan))
    with pytest.raises(ValueError, match="no word"):
        SphericalAdmixture(2, weighting="tf").fit(sp.csr_matrix((5, 4)))
    with pytest.raises(ValueError, match="give either seconds or steps"):
        plan_of([Chain(corpus, Settings(n_topics=3))], Length())


@pytest.mark.slow
@pytest.mark.usefixtures("each_form")
@pytest.mark.parametrize("each_form", ["host", "jax"], indirect=True)
def test_empty_documents_have_the_prior_mixture():
    corpus, _ = planted()
    rows = sp.vstack([corpus.matrix, sp.csr_matrix((1, 40))], format="csr")
    model = SphericalAdmixture(
        3,
        weighting="none",
        doc_topic_prior=2.0,
        document_concentration=200.0,
        n_steps=200,
        n_draws=50,
        random_state=1,
    )
    result = model.fit(rows).transform_with_intervals(rows)
    # Dirichlet(2, 2, 2): mean 1/3, a component's quantiles those of Beta(2, 4).
    np.testing.assert_allclose(result["mean"][-1], 1 / 3, atol=0.06)
    np.testing.assert_allclose(
        [result["low"][-1].mean(), result["high"][-1].mean()], [0.0764, 0.6574], atol=0.06
    )


def test_a_chain_at_the_wrong_temperature_is_a_warning():
    model = SphericalAdmixture(2)
    model.temperature_ = np.array([1.02, -0.96, np.nan])
    with pytest.warns(gd.RunWarning, match=r"temperature is -0.96 of chain 1, and should be 1"):
        model._warn_of_temperatures()


@pytest.mark.parametrize(("documents", "topics"), [pytest.param(2, 2, marks=pytest.mark.slow), (3, 3)])
def test_fewer_documents_than_topics_to_start_from(documents, topics):
    """Half of the documents are factorised, which gives a topic twice."""
    counts = np.random.default_rng(0).poisson(0.6, (documents, 15))
    model = SphericalAdmixture(topics, weighting="tf", n_steps=60, n_draws=5, n_chains=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gd.RunWarning)  # there is little to find
        draws = model.fit(counts).topic_draws_
    assert np.abs(np.linalg.norm(draws, axis=2) - 1).max() < 1e-5


def test_new_documents_are_weighted_as_those_of_the_fit():
    counts = np.random.default_rng(0).poisson(1.0, (30, 12))
    model = SphericalAdmixture(2, n_steps=30, n_draws=5, n_chains=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gd.RunWarning)
        before = model.fit(counts).transform(counts)
    np.testing.assert_array_equal(model.set_params(weighting="tf").transform(counts), before)
