"""What every model owes: a row of `cases.MODELS` buys these tests."""

import csv
import importlib
import json
import re

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from command import WORDS, documents
from sklearn.utils.estimator_checks import check_estimator

import geodrift
from cases import MODELS
from geodrift.data import Corpus, VectorSource
from geodrift.driver import Length, plan_of, sampled
from geodrift.models import create_run, fit, make_chains, model_named, models
from geodrift.models.kit import corpus_of
from law_checks import assert_means, some

each_model = pytest.mark.parametrize("case", MODELS, ids=lambda case: case.name)
# Estimators of vectors have tests of their own: scikit-learn's checks are of other data there.
each_model_of_counts = pytest.mark.parametrize(
    "case", [case for case in MODELS if case.reads == "counts"], ids=lambda case: case.name
)
# What all models share is tried by one in CI; the laws of the others are told there by enumeration.
some_models_of_counts = pytest.mark.parametrize(
    "case", some([case for case in MODELS if case.reads == "counts"], {"lda"})
)
# The commands of the others have tests of their own in CI.
some_models = pytest.mark.parametrize("case", some(MODELS, {"sam", "vmf"}))


def config(case, **settings):
    return {"settings": case.settings | settings, "seed": 3, "chains": 1, "held_out": 0}


def chain_of(case, number=60, **settings):
    """A chain at its start, of documents of three groups with words of their own."""
    return make_chains(model_named(case.name), config(case, **settings), corpus_for(case, number))[0]


def corpus_for(case, number, folder=None):
    """Documents of three groups with words of their own, as the model reads them."""
    counts = documents(number, 0)
    if case.reads == "counts":
        return Corpus.from_matrix(counts, WORDS)
    if folder is None:
        return VectorSource(counts, WORDS)
    sp.save_npz(folder / "vectors.npz", counts)
    return VectorSource.open(folder / "vectors.npz", WORDS)


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def test_every_model_has_a_row():
    assert sorted(case.name for case in MODELS) == sorted(models())


@each_model
def test_sixty_steps_and_forty_more_are_a_hundred(case):
    whole, first, second = (chain_of(case) for _ in range(3))
    plan = whole.shares.plan(100)
    for chain, steps in ((whole, 100), (first, 60), (second, 40)):
        if chain is second:
            chain.restore({name: np.array(value) for name, value in first.state().items()})
        chain.begin(plan)
        chain.advance(np.array([steps]), store=False)
    assert_same(second.state(), whole.state())
    assert_same(second.draw(), whole.draw())
    assert any(not np.array_equal(first.draw()[name], value) for name, value in whole.draw().items())


@each_model
def test_seconds_and_the_steps_they_became_give_the_same_draws(case):
    timed, counted = chain_of(case, num_draws=20), chain_of(case, num_draws=20)
    plan = plan_of([timed], Length(seconds=0.3))
    straight = sampled([counted], plan.total)
    assert_same(sampled([timed], plan.total), straight)
    # Where the machine is busy, the plan of so short a time has fewer draws than one of its steps.
    assert next(iter(straight.values())).shape[1] >= len(plan.stored) > 0


@some_models
@pytest.mark.parametrize("first", [pytest.param(150, marks=pytest.mark.slow), 200])
def test_a_plan_made_anew_within_the_first_fifth_of_both_gives_the_draws_of_the_new_one(case, first):
    revised, straight = chain_of(case), chain_of(case)
    plans = [revised.shares.plan(total) for total in (first, 175)]
    for plan, steps in zip(plans, (30, 70), strict=True):
        revised.begin(plan)
        revised.advance(np.array([steps]), store=False)
    straight.begin(plans[1])
    straight.advance(np.array([100]), store=False)
    assert_same(revised.state(), straight.state())
    assert_same(revised.draw(), straight.draw())


@pytest.fixture
def all_threads():
    """How many threads there are; a test that changes it leaves it so."""
    number = numba.get_num_threads()
    yield number
    numba.set_num_threads(number)


@each_model
def test_the_number_of_threads_changes_no_bit(case, all_threads):
    runs = []
    for number in (1, all_threads):
        numba.set_num_threads(number)
        runs.append(sampled([chain_of(case, number=300)], 60))
    assert_same(*runs)


@each_model
def test_a_run_directory_holds_the_draws_the_settings_and_the_state(case, tmp_path, quiet):
    model, corpus = model_named(case.name), corpus_for(case, 60, tmp_path)
    chains = make_chains(model, config(case), corpus)
    fit(
        model,
        chains,
        create_run(tmp_path / "run", model, config(case), corpus, chains),
        Length(steps=60),
        quiet,
    )
    run = geodrift.load(tmp_path / "run")
    again = make_chains(model, run.config, corpus_of(run))[0]
    posterior = run.draws["posterior"].to_dataset()
    for name, variable in again.variables.items():
        assert posterior[name].dims == ("chain", "draw", *variable.dims)
    expected = sampled([again], 60)
    assert_same({name: posterior[name].values for name in expected}, expected)
    assert_same(run.read_checkpoint().states[0], chains[0].state())
    resolved = model.settings_type.from_dict(run.config["settings"])
    assert json.loads(json.dumps(resolved.to_dict())) == run.config["settings"]
    assert run.labels == {"word" if case.reads == "counts" else "coordinate": WORDS}


def options(case):
    """The settings of a case as they are typed."""
    told = {setting.name: setting.option for setting in model_named(case.name).settings_type.settings()}
    typed = {name: "yes" if value is True else value for name, value in case.settings.items()}
    return [f"--{told[name]}={value}" for name, value in typed.items()]


@some_models
def test_every_command_takes_the_model_s_runs(case, call, tmp_path):
    model, run, test = model_named(case.name), tmp_path / "run", tmp_path / "test.npz"
    sp.save_npz(tmp_path / "train.npz", documents(60, 0))
    sp.save_npz(test, documents(10, 1))
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    typed = ["--vocab", tmp_path / "vocab.txt", "--chains=2", "--held-out=5", "--seed=3", *options(case)]
    printed = call("fit", case.name, tmp_path / "train.npz", "--run", run, "--steps=60", *typed)
    assert printed.strip() == str(run)
    before = geodrift.load(run).draws["posterior"].to_dataset().load()
    found = json.loads(call(model.summary.command, run, "--json", "--top", 4))[model.summary.command]
    assert [component[model.component] for component in found] == [0, 1, 2]
    tables = call(model.summary.command, run)
    assert tables.count("90% interval") == 3
    assert all(
        re.search(rf"^{model.component} {place},.* found by", tables, re.MULTILINE) for place in range(3)
    )
    scores = json.loads(call("evaluate", run, test, "--json", "--draws", 4))
    assert all(np.isfinite(value) for value in scores.values() if isinstance(value, float))
    sentence = call("evaluate", run, test, "--draws", 4)
    assert sentence.count("\n") < 6
    call("transform", run, test, "--out", tmp_path / "w.npz")
    call("transform", run, test, "--out", tmp_path / "w.csv", "--long")
    with np.load(tmp_path / "w.npz") as weights, (tmp_path / "w.csv").open() as table:
        assert weights["mean"].sum(axis=1) == pytest.approx(np.ones(10), abs=1e-5)
        assert (weights["low"] <= weights["high"]).all()
        rows = list(csv.DictReader(table))
        written = [float(row["mean"]) for row in rows]
        assert written == pytest.approx(weights["mean"].ravel(), rel=1e-4, abs=1e-6)
        # Where the number of components is sampled, a last column has those that are not told of.
        columns = weights["mean"].shape[1]
        assert columns in (3, 4)
        others = {"others"} if columns > 3 else set()
        assert {row[model.component] for row in rows} == {"0", "1", "2"} | others
    call("export", run, "--out", tmp_path / "e.npz")
    with np.load(tmp_path / "e.npz", allow_pickle=False) as exported:
        names = list(exported)
        assert exported["vocabulary"].tolist() == WORDS
        assert json.loads(str(exported["hyperparameters"]))["model"] == case.name
        tree = model.answers().to_datatree(geodrift.load(run))
        # So it has smaller components, which are not told of either.
        sizes = dict(before.sizes)
        assert sizes.pop(model.component) >= 3
        assert tree["posterior"].sizes == sizes | {model.component: 3}
        for name in set(exported.files) & set(before):
            aligned = tree["posterior"][name].values
            assert np.array_equal(aligned.reshape(-1, *aligned.shape[2:]), exported[name]), name
        assert np.array_equal(tree["agreement"]["found"], exported["found"])
        assert tree["agreement"]["shared"].values.tolist() == [part["shared"] for part in found]
    said = json.dumps([tables, found, sentence, scores, names, list(rows[0])])
    others = {other.component for other in models().values()} - {model.component}
    assert not [component for component in others if component in said]
    assert call("resume", run, "--steps", 20).strip() == str(run)
    after = geodrift.load(run).draws["posterior"].to_dataset()
    assert after.sizes["draw"] > before.sizes["draw"]
    for name in before:
        # A later draw may have more components, and every draw is as wide as the widest.
        kept = after[name].isel({dim: slice(size) for dim, size in before[name].sizes.items()})
        assert np.array_equal(kept, before[name], equal_nan=True), name


@pytest.mark.usefixtures("unchecked_types")
@some_models_of_counts
def test_scikit_learn_accepts_the_estimator(case, monkeypatch):
    """With counts rounded up: scikit-learn's checks feed fractions, which models of counts refuse."""
    facade = getattr(geodrift.models, case.facade)
    validated = facade._validated
    monkeypatch.setattr(facade, "_validated", lambda self, X, **named: validated(self, X, **named).ceil())
    results = check_estimator(facade(2, n_steps=10, n_draws=5), on_fail=None, on_skip=None)
    assert {r["check_name"]: str(r["exception"]) for r in results if r["status"] == "failed"} == {}


@each_model_of_counts
def test_the_estimator_s_draws_are_labelled_and_say_which_chain_found_what(case):
    facade = getattr(geodrift.models, case.facade)(3, n_steps=20, n_draws=5, n_chains=2, random_state=0)
    tree = facade.fit(documents(60, 0)).to_datatree(WORDS)
    (draws,) = (values for values in tree["posterior"].data_vars.values() if values.ndim == 4)
    assert draws.sizes == {"chain": 2, "draw": 5, model_named(case.name).component: 3, "word": len(WORDS)}
    found = getattr(facade, f"{model_named(case.name).component}_draws_")
    assert np.array_equal(draws.values.reshape(10, 3, -1), found)
    assert draws.coords["word"].values.tolist() == WORDS
    assert np.array_equal(tree["agreement"]["found"], facade.agreement_.found)
    assert np.array_equal(tree["agreement"]["shared"], facade.agreement_.shared)
    numbered = facade.to_datatree()["posterior"].coords["word"].values
    assert numbered.tolist() == list(range(len(WORDS)))


@pytest.mark.slow
@pytest.mark.usefixtures("all_threads")
@each_model
def test_posterior_means_of_a_small_problem(case):
    numba.set_num_threads(1)  # three documents keep no second one busy
    module, name = case.law.split(":")
    law = getattr(importlib.import_module(module), name)()
    model, draws = model_named(case.name), []
    settings, answers = model.settings_type.from_dict(law.settings), model.answers()
    for number in range(law.num_chains):
        chain = answers.chain(law.corpus, settings, seed=1, chain=number, held_out=None)
        found = sampled([chain], law.num_steps)
        draws.append(law.statistics({name: values[0] for name, values in found.items()}))
    assert_means(np.array(draws), law.expected)
