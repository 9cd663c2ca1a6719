"""Two runs side by side: what is matched, the intervals of differences, scores of the same documents."""

import json
import shutil
import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp
from command import WORDS, assert_one_line, documents
from scipy import stats

import geodrift
from geodrift import InputError, cli, models
from geodrift.data import Corpus
from geodrift.driver import Length
from geodrift.models import create_run, fit, make_chains, model_named, model_of
from geodrift.models.kit import corpus_of
from geodrift.models.kit._comparison import Comparison, difference_ends
from geodrift.models.kit._comparison_scores import paired_difference
from geodrift.models.kit._component_answers import ComponentAnswers
from geodrift.models.kit._fitted_among import fitted_among, times_among
from geodrift.models.kit._matched_runs import lonely_of
from geodrift.models.latent_dirichlet_allocation import completion_perplexity

SETTINGS = {"n_topics": 3, "num_draws": 10}


def made(path, words=None, number=80, seed=0, held_out=15, name="lda", chains=2, **settings):
    words = WORDS if words is None else words
    model, corpus = model_named(name), Corpus.from_matrix(documents(number, 0)[:, : len(words)], words)
    config = {"settings": SETTINGS | settings, "seed": seed, "chains": chains, "held_out": held_out}
    run_chains = make_chains(model, config, corpus)
    run = create_run(path, model, config, corpus, run_chains)
    fit(model, run_chains, run, Length(steps=60))
    return geodrift.load(path)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return made(folder / "three"), made(folder / "two", n_topics=2), made(folder / "four", n_topics=4)


def test_a_run_has_all_topics_of_itself(runs):
    found = models.compare(runs[0], runs[0])
    assert [(pair["first"], pair["second"]) for pair in found.matched] != []
    assert all(pair["first"] == pair["second"] for pair in found.matched)
    assert len(found.matched) == 3
    assert all(pair["cosine"] == pytest.approx(1.0, abs=1e-5) for pair in found.matched)
    # Intervals of the next draw hold nine tenths of the draws, and wider ones of the next chain more.
    assert all(pair["second_inside_first"] > 0.85 for pair in found.matched)
    assert found.only_first == found.only_second == []
    for pair in found.matched:
        assert all(entry["low"] <= entry["difference"] == 0 <= entry["high"] for entry in pair["words"])
        assert pair["size"]["difference"] == 0
    assert found.scores["difference"] == found.scores["standard_error"] == 0.0


def test_as_many_words_are_told_as_are_asked_for(runs, monkeypatch):
    monkeypatch.setattr("geodrift.models.kit._comparison.LEADING", 3)
    many, few = (models.compare(runs[0], runs[0], top=top).matched for top in (8, 2))
    assert [len(pair["words"]) for pair in many] == [8] * 3
    assert [len(pair["words"]) for pair in few] == [2] * 3
    assert [pair["second_inside_first"] for pair in many] == [pair["second_inside_first"] for pair in few]


def test_topics_are_matched_by_words_whatever_their_numbers(runs):
    three, _, four = runs
    found = models.compare(three, four)
    assert found.numbers == (3, 4)
    assert len(found.matched) >= 2
    assert len(found.matched) + len(found.only_second) == 4
    means = [model_of(run).answers().aligned(run)[0]["topics"].mean(axis=(0, 1)) for run in (three, four)]
    for pair in found.matched:
        first, second = means[0][pair["first"]], means[1][pair["second"]]
        assert first.reshape(3, 10).sum(axis=1).argmax() == second.reshape(3, 10).sum(axis=1).argmax()
        for entry in pair["words"]:
            word = WORDS.index(entry["word"])
            assert entry["first"] == pytest.approx(first[word], rel=1e-2)
            assert entry["difference"] == pytest.approx(entry["second"] - entry["first"])
    turned = models.compare(four, three)
    assert sorted((pair["second"], pair["first"]) for pair in turned.matched) == sorted(
        (pair["first"], pair["second"]) for pair in found.matched
    )
    assert turned.scores["difference"] == pytest.approx(-found.scores["difference"])


def test_two_topics_of_one_run_that_are_one_in_the_other_are_named(runs):
    three, two, _ = runs
    found = models.compare(three, two)
    assert {each.kind for each in (*found.only_first, *found.only_second)} & {"split", "merged"}
    assert "together" in str(found) or "it is topic" in str(found)


@pytest.mark.usefixtures("unchecked_types")  # its runs are stand-ins
def test_one_of_two_that_are_alike_is_told_as_such_and_no_cosine_contradicts_the_threshold():
    """A theme that the second run has twice: the pair takes one of the two, and the other is not new."""

    def side(*rows):
        means = np.array(rows, float)
        means /= np.linalg.norm(means, axis=1)[:, None]
        return types.SimpleNamespace(means=means, answers=types.SimpleNamespace(signed=False))

    first, second = side([1, 0, 0], [0, 1, 0]), side([0, 1, 0.2035], [1, 0, 0.01], [1, 0, 0])
    alone = lonely_of(second, first, {0: 1}, 0.98)
    assert [each[:2] for each in alone] == [(0, 1), (2, 0)]
    assert [each[3:] for each in alone] == [(None, None), ("merged", 1)]
    assert 0.9795 < alone[0].cosine < 0.98
    pair = {"first": 0, "second": 1, "cosine": 0.98004, "words": []}
    pair |= {"second_inside_first": None, "first_inside_second": None}
    told = Comparison(("a", "b"), "topic", (2, 3), 3, (3, 3), 0.98, [pair], [], alone, None, "none", 0)
    text = " ".join(str(told).split())
    assert "topic 2: with 1 it is topic 0 of the first" in text
    assert "topic 0: nearest is 1 of the first (cosine 0.97992)" in text
    assert "a cosine above 0.98000" in text
    assert "0 1 0.98004 -" in text


def test_scores_are_those_of_evaluate_on_the_same_documents(runs):
    three, two, _ = runs
    found = models.compare(three, two).scores
    aside = corpus_of(three).split(15, 0)[1]
    for run, side in ((three, "first"), (two, "second")):
        told = model_of(run).answers().evaluate(run, aside, num_draws=None, seed=0)
        assert found[side] == pytest.approx(told["log_likelihood_per_token"])
    assert found["documents"] == 15
    assert found["difference"] == pytest.approx(found["second"] - found["first"])
    assert found["difference"] < -2 * found["standard_error"]  # two topics for three themes
    given = models.compare(three, two, documents=documents(40, 7)).scores
    assert given["documents"] == 40


def test_runs_of_other_numbers_of_chains_are_scored_under_as_many_draws(runs, tmp_path, monkeypatch):
    used, three = [], made(tmp_path / "chains", chains=3)
    name = "geodrift.models.latent_dirichlet_allocation._answers.completion_perplexity"
    scored = completion_perplexity

    def counted(rows, topics, *given, **named):
        used.append(len(topics))
        return scored(rows, topics, *given, **named)

    monkeypatch.setattr(name, counted)
    # Ten were asked for, and of three chains there were twelve.
    assert models.compare(runs[0], three).scores["draws"] == 10
    assert used == [10, 10]


def test_a_verdict_on_one_chain_says_so(runs, tmp_path):
    three, two, _ = runs
    one = made(tmp_path / "one", chains=1)
    assert "better, as far as one chain tells" in " ".join(str(models.compare(one, two)).split())
    assert "one chain" not in str(models.compare(three, two))


def test_a_score_that_decides_nothing_is_no_verdict(runs, monkeypatch):
    three, two, _ = runs
    assert "the first is better" in " ".join(str(models.compare(three, two)).split())
    monkeypatch.setattr(ComponentAnswers, "score_decides", False)
    said = " ".join(str(models.compare(three, two)).split())
    assert "no verdict" in said
    assert "standard error" in said  # the numbers are told
    assert "first is better" not in said


def test_documents_of_a_run_are_known_by_their_words(runs, tmp_path):
    three, two, _ = runs
    corpus = corpus_of(three)
    training, aside = corpus.split(15, 0)
    own = training.matrix()[::2]
    both = sp.vstack([own, documents(50, 7)], format="csr")
    assert fitted_among(three, both).tolist() == [True] * len(own.indptr[1:]) + [False] * 50
    assert not fitted_among(three, aside).any()  # those set aside were not fitted
    every = training.matrix().toarray()
    expected = (own.toarray()[:, None] == every).all(axis=2).sum(axis=1)
    assert times_among(three, both).tolist() == [*expected, *[0] * 50]
    empty = sp.csr_matrix((3, 30), dtype=int)
    assert not fitted_among(three, empty).any()
    turned = both[:, ::-1][:, ::-1]  # the words of a document in another order
    turned.data[turned.indptr[0] : turned.indptr[1]] = both[0].data[::-1]
    turned.indices[turned.indptr[0] : turned.indptr[1]] = both[0].indices[::-1]
    turned.has_canonical_format = turned.has_sorted_indices = False
    assert fitted_among(three, turned)[0]
    found = models.compare(three, two, documents=both)
    assert (found.scores["documents"], found.fitted_documents) == (50, own.shape[0])
    assert found.scores == models.compare(three, two, documents=documents(50, 7)).scores
    # Without words that none of them has: at their places.
    fewer = corpus.matrix().toarray() * (np.arange(30) < 20)
    assert fitted_among(three, sp.csr_matrix(fewer)).sum() == fewer[training.documents].any(axis=1).sum()
    gone = made(tmp_path / "gone")
    shutil.rmtree(gone.path / gone.config["corpus"]["path"])
    unknown = models.compare(gone, gone, documents=documents(20, 7))
    assert (unknown.scores["documents"], unknown.fitted_documents) == (20, None)
    assert "nobody can say" in " ".join(str(unknown).split())


def test_why_there_are_no_scores(runs, tmp_path):
    other = made(tmp_path / "seed", seed=5)
    assert models.compare(runs[0], other).scores is None
    assert (
        "no two documents aside alike" in models.compare(runs[0], other).why_no_scores
        or models.compare(runs[0], other).scores
    )
    fewer = made(tmp_path / "words", words=[*WORDS[:29]], held_out=0)
    found = models.compare(runs[0], fewer)
    assert (found.common_words, found.words) == (29, (30, 29))
    assert "other words" in found.why_no_scores
    assert len(found.matched) == 3
    sam = made(tmp_path / "sam", name="sam", held_out=0)
    with pytest.raises(InputError, match="two runs of one model"):
        models.compare(runs[0], sam)
    alone = models.compare(sam, sam)
    assert "no documents set aside" in alone.why_no_scores
    assert models.compare(sam, sam, documents=documents(30, 3)).scores["difference"] == 0.0
    strange = made(tmp_path / "strange", words=[f"x{i}" for i in range(30)], held_out=0)
    with pytest.raises(InputError, match="0 words in common"):
        models.compare(runs[0], strange)


def test_intervals_of_differences_hold_the_difference():
    """Of two independent skewed numbers, known by intervals of nine tenths each: to be in 88 to 96%."""
    rng, inside = np.random.default_rng(0), []
    shape, true = 8.0, (2.0, 3.0)
    for _ in range(2000):
        estimates = [rng.gamma(shape, scale) / shape for scale in true]
        ends = [
            (
                np.array([x * 2 * shape / stats.chi2.ppf(0.95, 2 * shape)]),
                np.array([x * 2 * shape / stats.chi2.ppf(0.05, 2 * shape)]),
            )
            for x in estimates
        ]
        first, second = (np.array([x]) for x in estimates)
        low, high = difference_ends(first, ends[0], second, ends[1])
        inside.append(low[0] <= true[1] - true[0] <= high[0])
    share = np.mean(inside)
    assert abs(share - 0.9) < 0.02 + 3 * np.sqrt(0.09 / len(inside))


def test_the_standard_error_of_a_paired_difference_is_that_of_repetitions():
    rng, found = np.random.default_rng(1), []
    for _ in range(2000):
        units = rng.poisson(20, 50) + 1.0
        found.append(paired_difference(3.0 * units + rng.normal(0, 2, 50) * np.sqrt(units), units))
    means, errors = np.array(found).T
    assert means.mean() == pytest.approx(3.0, abs=4 * means.std() / np.sqrt(len(means)))
    assert errors.mean() == pytest.approx(means.std(), rel=0.06)


@pytest.fixture
def command(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["geodrift", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main()
        told = capsys.readouterr()
        return stop.value.code or 0, told.out, told.err

    return call


def test_the_command(command, runs, tmp_path):
    three, _, two = runs
    status, out, _ = command("compare", three.path, two.path, "--out", tmp_path / "c.csv")
    assert status == 0
    assert "inside" in out
    assert max(map(len, out.splitlines())) <= 80
    told = json.loads(command("compare", three.path, two.path, "--json")[1])
    again = models.compare(three, two).to_dict()
    assert told == json.loads(json.dumps(again))
    assert (tmp_path / "c.csv").read_text().startswith("first,second,cosine,word,weight_first")
    sp.save_npz(tmp_path / "new.npz", documents(20, 3))
    typed = ["--documents", tmp_path / "new.npz", "--json"]
    assert json.loads(command("compare", three.path, two.path, *typed)[1])["scores"]["documents"] == 20
    assert_one_line(*command("compare", three.path, tmp_path))
    assert_one_line(*command("compare", three.path, two.path, "--out", tmp_path / "c.csv"))


@pytest.mark.parametrize(
    ("spoilt", "told"),
    [
        (lambda counts: -counts, "count of word .* is negative"),
        (lambda counts: counts[:, :20], "documents: has 20 columns: give one for each of the 30 words"),
        (lambda counts: np.ma.masked_greater(counts.toarray(), 1), "a masked array that hides"),
        (lambda counts: np.where(counts.toarray() > 1, np.nan, 0), "is not a finite number"),
        (
            lambda counts: Corpus.from_matrix(counts, WORDS),
            r"documents: is a Corpus: give counts .*matrix\(\)",
        ),
        (lambda counts: "new.npz", "documents: is a str: give counts"),
    ],
)
def test_documents_that_are_no_counts_of_the_runs_words_are_refused(runs, spoilt, told):
    """Before, negative counts had a log score of +299, and fewer columns were the first words."""
    with pytest.raises(InputError, match=told):
        models.compare(*runs[:2], documents=spoilt(documents(20, 7)))
