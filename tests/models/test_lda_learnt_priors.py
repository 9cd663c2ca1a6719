"""What a run and an estimator tell of alpha and eta that are learnt; a run that goes on has the same bits."""

import json

import numpy as np
import pytest

from geodrift.data import Corpus
from geodrift.driver import Length, Run
from geodrift.models import LatentDirichletAllocation, create_run, fit, make_chains, model_named
from geodrift.models.kit._number_interval import number_interval
from geodrift.models.latent_dirichlet_allocation import Chain, Settings
from models import lda_problem as problem

LEARN = {"learn_doc_topic_prior": "asymmetric", "learn_topic_word_prior": "symmetric"}


def counts():
    rng = np.random.default_rng(0)
    return problem.simulate(rng, rng.dirichlet(np.full(25, 0.2), 3), 0.3, [30] * 80)[0]


def made(path, quiet, steps=(60,), learn=LEARN, chains=2):
    corpus, model = Corpus.from_matrix(counts()), model_named("lda")
    settings = {"n_topics": 3, "num_draws": 10, "batch_size": 30} | learn
    config = {"settings": settings, "seed": 1, "chains": chains, "held_out": 0}
    fresh = make_chains(model, config, corpus)
    run = create_run(path, model, config, corpus, fresh)
    fit(model, fresh, run, Length(steps=steps[0]), quiet)
    for more in steps[1:]:
        fit(model, make_chains(model, config, corpus), Run.open(path), Length(steps=more), quiet)
    return Run.open(path), model.answers()


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    import io

    from rich.console import Console

    return made(tmp_path_factory.mktemp("priors") / "run", Console(file=io.StringIO()))


def test_a_run_tells_the_priors_wherever_it_tells_topics(fitted, call):
    run, answers = fitted
    found = answers.summarise(run, 5)
    names = ["doc_topic_prior_sum", "topic_word_prior"]
    assert [number["name"] for number in found.numbers] == names
    tree, exported = answers.to_datatree(run), answers.export(run)
    eta, alpha = tree["posterior"]["topic_word_prior"].values, tree["posterior"]["doc_topic_prior"].values
    assert (eta.shape, alpha.shape) == ((2, 10), (2, 10, 3))
    assert np.unique(eta).size > 10
    np.testing.assert_array_equal(exported["topic_word_prior"], eta.ravel())
    np.testing.assert_array_equal(exported["doc_topic_prior"], alpha.reshape(-1, 3))
    assert found.numbers[1]["mean"] == pytest.approx(eta.mean())
    assert found.numbers[0]["mean"] == pytest.approx(alpha.sum(axis=2).mean())
    for place, part in enumerate(found.parts):
        assert list(part)[-1] == "words"
        if part["shared"]:
            assert part["doc_topic_prior_low"] < part["doc_topic_prior"] < part["doc_topic_prior_high"]
            assert part["doc_topic_prior"] == pytest.approx(alpha[:, :, place].mean(), rel=1e-5)
    assert "topic_word_prior (eta of each word)" in answers.closing(run)[-1]
    assert set(answers.verdict(run).quantities) == {"log_joint", *names}
    assert json.loads(call("topics", run.path, "--json"))["numbers"] == found.numbers
    assert "Learnt priors, mean [90% interval]" in call("topics", run.path)


def test_a_report_tells_the_priors(fitted):
    run, answers = fitted
    report = answers.report(run, documents=0)
    frames = report.frames()
    told = frames["numbers"].set_index("name")["mean"]
    numbers = {each["name"]: each["mean"] for each in answers.summarise(run, 5).numbers}
    assert told.to_dict() == pytest.approx(numbers, rel=1e-5)
    assert "doc_topic_prior_low" in frames["topics"].columns
    assert "doc_topic_prior_sum" in report.traces
    assert "Numbers beside the topics" in report.html()


def test_a_run_that_goes_on_has_the_draws_of_one_that_was_not_cut(tmp_path, quiet):
    whole, _ = made(tmp_path / "whole", quiet, (60,))
    cut, _ = made(tmp_path / "cut", quiet, (60, 20))
    again, _ = made(tmp_path / "again", quiet, (60, 7, 13))
    draws = [run.draws["posterior"] for run in (whole, cut, again)]
    for name in ("topics", "doc_topic_prior", "topic_word_prior"):
        np.testing.assert_array_equal(draws[0][name].values, draws[1][name].values[:, :10])
        np.testing.assert_array_equal(draws[1][name].values, draws[2][name].values)


def test_a_chain_of_a_run_from_before_eta_was_learnt_goes_on():
    chain = Chain(Corpus.from_matrix(counts()), Settings(n_topics=3, topic_word_prior=0.3))
    chain.step()
    state = chain.state()
    del state["move.eta"]
    chain.restore(state)
    assert chain.move.topic_word_prior == 0.3


@pytest.mark.parametrize("learn", ["symmetric", "asymmetric"])
def test_an_estimator_tells_the_priors(learn):
    options = {"learn_doc_topic_prior": learn, "learn_topic_word_prior": "symmetric"}
    model = LatentDirichletAllocation(3, n_steps=200, n_draws=10, n_chains=2, random_state=0, **options)
    model.fit(counts())
    first = "doc_topic_prior" if learn == "symmetric" else "doc_topic_prior_sum"
    assert [each["name"] for each in model.learnt_priors_] == [first, "topic_word_prior"]
    assert model.topic_word_prior_draws_.shape == (20,)
    assert model.learnt_priors_[1]["mean"] == pytest.approx(model.topic_word_prior_draws_.mean())
    assert ("doc_topic_prior" in model.top_words()[0]) == (learn == "asymmetric")
    tree = model.to_datatree()
    assert tree["posterior"]["topic_word_prior"].shape == (2, 10)
    assert tree["posterior"]["doc_topic_prior"].dims == ("chain", "draw", "topic")
    assert set(model.report().frames()["numbers"]["name"]) == {first, "topic_word_prior"}
    with pytest.raises(ValueError, match="partial_fit keeps no assignments"):
        model.partial_fit(counts())


def test_the_interval_of_a_number_is_of_the_next_draw_of_the_next_chain():
    rng = np.random.default_rng(0)
    one_law = np.exp(rng.normal(0, 0.1, (4, 500)))
    for draws in (one_law, one_law[:1]):
        told = number_interval(draws)
        assert (told["low"], told["high"]) == pytest.approx(np.exp([-0.1645, 0.1645]), rel=0.03)
    apart = one_law * np.exp(np.array([-1.0, -0.4, 0.3, 1.1]))[:, None]
    told = number_interval(apart)
    # t with 3 degrees of freedom: 2.353 sqrt(1.25) standard deviations of the means.
    half = 2.353 * np.sqrt(1.25) * np.std([-1.0, -0.4, 0.3, 1.1], ddof=1)
    assert np.log(told["high"]) == pytest.approx(half, rel=0.1)
    resting = number_interval(np.array([[0.5, 0.5], [0.6, 0.6], [0.7, 0.7]]))
    assert resting["low"] < 0.5 < 0.7 < resting["high"]
    hits = [next_draw_is_inside(np.random.default_rng(seed)) for seed in range(600)]
    assert np.mean(hits) == pytest.approx(0.9, abs=0.04)


def next_draw_is_inside(rng):
    """Whether the interval of four chains in modes of their own holds a draw of a fifth."""
    modes = rng.normal(0, 1, (5, 1))
    draws = np.exp(modes + rng.normal(0, 0.2, (5, 25)))
    told = number_interval(draws[:4])
    return told["low"] < draws[4, 0] < told["high"]


def two_themes():
    """Counts, and the themes in either order: the posterior has both, with an alpha for each topic."""
    rng, themes = np.random.default_rng(0), (np.kron(np.eye(2), np.ones(3)) + 0.01) / 3.03
    counts = np.stack([rng.multinomial(32, [0.9, 0.1] @ themes[[d % 2, 1 - d % 2]]) for d in range(40)])
    return counts, np.stack([themes, themes[::-1]])


# Of a document without words it is alpha's own: (5 + .1) / 2 of 5.1. With alpha by places it was .98 and .02.
GIVEN = {"n_topics": 2, "doc_topic_prior": [5.0, 0.1]}


def test_alpha_that_was_given_goes_with_its_topic_which_another_chain_has_in_another_place():
    counts, starts = two_themes()
    model = LatentDirichletAllocation(**GIVEN, n_chains=2, n_steps=40, n_draws=4, random_state=0)
    model.fit(counts, start_from=starts)
    assert (model.agreement_.orders == np.array([[[0, 1]], [[1, 0]]])).all()
    np.testing.assert_allclose(model.transform(np.zeros((1, 6))), 0.5, rtol=1e-6)
    np.testing.assert_array_equal(model._prior(20)[[0, -1]], [[5.0, 0.1], [0.1, 5.0]])


def test_alpha_that_was_given_goes_with_its_topic_in_what_a_run_answers(tmp_path, quiet, monkeypatch):
    counts, starts = two_themes()
    corpus, model, used = Corpus.from_matrix(counts), model_named("lda"), []
    config = {"settings": GIVEN | {"num_draws": 4}, "seed": 0, "chains": 2, "held_out": 0, "start": ["two"]}
    chains = make_chains(model, config, corpus, start=starts)
    run, answers = create_run(tmp_path / "run", model, config, corpus, chains, starts), model.answers()
    fit(model, chains, run, Length(steps=40), quiet)
    empty = corpus.matrix()[:1] * 0
    for fitted in (False, True):
        np.testing.assert_allclose(
            answers.transform(run, empty, seed=0, fitted=fitted)["mean"], 0.5, rtol=1e-6
        )
    name = "geodrift.models.latent_dirichlet_allocation._answers.topic_checks"
    monkeypatch.setattr(name, lambda rows, topics, prior, *_, **named: used.append((topics, prior)))
    answers.checks(run, corpus.matrix(), answers.aligned(run)[0], seed=0)
    topics, prior = used[0]
    assert (topics[:, 0, :3].sum(axis=1) > 0.5).all()  # the first theme, in all draws of both chains
    np.testing.assert_array_equal(prior[[0, -1]], [[5.0, 0.1], [0.1, 5.0]])
