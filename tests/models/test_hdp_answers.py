"""What is told of a hierarchical Dirichlet process whose number of topics differs from draw to draw."""

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import xarray as xr

import geodrift
from geodrift.models import HierarchicalDirichletProcess
from geodrift.models.hierarchical_dirichlet_process import Chain, Settings
from geodrift.models.hierarchical_dirichlet_process._all_topics import as_lda, told_first
from geodrift.models.kit._facade import MatrixCorpus
from geodrift.models.kit._word_intervals import component_words
from geodrift.models.latent_dirichlet_allocation import completion_perplexity, document_mixtures
from geodrift.models.topics._expected_topics import expected_topics
from geodrift.models.topics._topic_words import topic_diversity

WORDS, NAN = 12, np.nan


def three_themes(number, seed, length=25):
    """Documents of one or two of three themes with four words each."""
    rng = np.random.default_rng(seed)
    themes = np.kron(np.eye(3), np.full(4, 0.25))
    mixtures = rng.dirichlet(np.full(3, 0.3), number)
    return sp.csr_matrix(np.array([rng.multinomial(length, theta @ themes) for theta in mixtures]))


@pytest.fixture(scope="module")
def fitted():
    counts = three_themes(150, 0)
    model = HierarchicalDirichletProcess(
        first_topics=6, topic_word_prior=0.5, n_steps=600, n_draws=10, n_chains=2, random_state=0
    )
    return model.fit(counts), counts


def test_three_themes_are_three_topics(fitted):
    model, _ = fitted
    law = model.number_of_topics(0.05)
    assert (law["low"], law["high"]) == (3, 3)
    assert law["of"] == "more than 5% of the tokens"
    assert sum(law["probabilities"].values()) == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"least must be at least 0.001 and below 1, got 0"):
        model.number_of_topics(0)
    assert model.topic_draws_.shape[2] == WORDS
    assert model.agreement_.shared[:3].all()
    themes = {tuple(np.sort(np.argsort(-topic)[:4])) for topic in model.topics_[:3]}
    assert themes == {(0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11)}
    assert (np.diff(model.topic_size_draws_.mean(axis=0)) <= 0).all()
    assert {draws.shape for draws in model.number_draws_.values()} == {(20,)}


def test_mixtures_have_a_column_of_all_others(fitted):
    model, counts = fitted
    weights = model.transform_with_intervals(counts[:30])
    columns = model.topic_draws_.shape[1] + 1
    assert {values.shape for values in weights.values()} == {(30, columns)}
    assert weights["mean"].sum(axis=1) == pytest.approx(np.ones(30), abs=1e-5)
    assert weights["mean"][:, -1].mean() < 0.1
    assert model.get_feature_names_out().tolist() == [*(f"topic{k}" for k in range(columns - 1)), "others"]
    alone = model.transform(counts[3:4])
    assert alone[0] == pytest.approx(weights["mean"][3], abs=1e-6)  # whatever documents are beside it
    assert model.perplexity(counts) == pytest.approx(np.exp(-model.score(counts)))
    assert model.perplexity(counts) < WORDS / 1.5


def test_documents_without_a_word_have_the_weights(fitted):
    model, _ = fitted
    empty = model.transform(sp.csr_matrix((2, WORDS)))
    # The mean of mixtures is beta, over draws; the mixtures' draws are finite in number.
    assert empty[0] == pytest.approx(empty[1], abs=1e-6)
    assert empty[0, :-1] == pytest.approx(model.topic_weight_draws_.mean(axis=0), abs=0.03)


DRAWS = {
    "topics": np.array(
        [[[0.5, 0.5], [0.9, 0.1], [NAN, NAN]], [[0.2, 0.8], [0.4, 0.6], [0.7, 0.3]]], np.float32
    ),
    "topic_weights": np.array([[0.6, 0.3, NAN], [0.5, 0.2, 0.1]], np.float32),
    "other_words": np.array([[0.5, 0.5], [0.25, 0.75]], np.float32),
    "other_weight": np.array([0.1, 0.2]),
    "mixture_concentration": np.array([2.0, 3.0]),
}  # fmt: skip


def test_all_topics_are_topics_of_lda_with_one_for_the_others():
    topics, alpha = as_lda(DRAWS)
    assert topics[0] == pytest.approx(np.array([[0.5, 0.5], [0.9, 0.1], [0.5, 0.5], [0.5, 0.5]]))
    assert topics[1] == pytest.approx(np.vstack([DRAWS["topics"][1], [0.25, 0.75]]))
    assert alpha == pytest.approx(np.array([[1.2, 0.6, 0.0, 0.2], [1.5, 0.6, 0.3, 0.6]]))
    assert (alpha > 0).all()
    assert np.isfinite(completion_perplexity(sp.csr_matrix([[3, 2], [0, 4]]), topics, alpha).perplexity)


def test_small_topics_are_stored_as_one_and_nothing_is_lost():
    """Weights sum to 1, and the others' words are the mean of what is not stored by itself."""
    counts = np.zeros((60, 30), int)
    counts[:, :4] = 30
    counts[np.arange(26), 4 + np.arange(26)] = 3
    settings = Settings(first_topics=30, topic_word_prior=0.01, mixture_concentration=5.0)
    chain = Chain(MatrixCorpus(sp.csr_matrix(counts)), settings, seed=0)
    for _ in range(30):
        chain.step()
    draw, topics = chain.draw(), chain.topics()
    every = chain.move.order()
    stored = len(draw["topic_sizes"])
    assert stored < draw["number_of_topics"] == len(every)
    assert draw["topic_sizes"].min() >= 0.001 > chain.move.topic_sizes()[every[stored]]
    assert draw["topic_weights"].sum() + draw["other_weight"] == pytest.approx(1.0, abs=1e-6)
    weights = chain.move.alpha / chain.move.alpha.sum()
    mean = weights[every[stored:]] @ topics[every[stored:]]
    mean = mean + (1 - weights[every].sum()) / 30
    assert draw["other_words"] == pytest.approx(mean / draw["other_weight"], abs=1e-5)


def test_topics_that_are_told_of_come_first():
    topics, alpha = told_first(DRAWS, np.array([[1, 2], [2, 0]]))
    assert topics[:, 0, 0] == pytest.approx([0.9, 0.7])
    assert alpha[1] == pytest.approx([0.3, 1.5, 0.6, 0.6])


@pytest.mark.parametrize("absent", [2, 3, 4])
def test_a_topic_that_only_other_draws_have_is_not_taken_for_that_of_all_others(absent):
    more = {name: DRAWS[name] for name in ("other_words", "other_weight", "mixture_concentration")}
    for name in ("topics", "topic_weights"):
        values = DRAWS[name]
        empty = np.full((2, 2, *values.shape[2:]), np.nan, values.dtype)
        more[name] = np.concatenate([values, empty], axis=1)
    first = {name: values[:1] for name, values in more.items()}  # of two topics
    _, alpha = told_first(first, np.array([[1, absent]]))
    assert alpha[0, :2] == pytest.approx([0.6, 0.0], abs=1e-6)
    assert alpha[0, -1] == pytest.approx(0.2)
    assert alpha.sum() == pytest.approx(2.0)


def test_mixtures_of_some_topics_are_those_of_all_summed():
    """The same draws: means add up, and the ends are those of the sum."""
    topics = np.random.default_rng(0).dirichlet(np.ones(5), (3, 4))
    rows = sp.csr_matrix([[4, 0, 1, 0, 2], [0, 3, 0, 0, 0]])
    every, some = document_mixtures(rows, topics, 0.4), document_mixtures(rows, topics, 0.4, told=2)
    assert some["mean"][:, :2] == pytest.approx(every["mean"][:, :2])
    assert some["mean"][:, 2] == pytest.approx(every["mean"][:, 2:].sum(axis=1))
    assert some["low"][:, :2] == pytest.approx(every["low"][:, :2])
    assert (some["high"][:, 2] <= every["high"][:, 2:].sum(axis=1)).all()


@pytest.mark.parametrize(
    "counts",
    [[[3, 0]], [[0, 0], [1, 0]], [[1, 0], *[[0, 0]] * 15], [[1, 1], [1, 1], [0, 0]], [[0, 70_000], [1, 0]]],
    ids=["one document", "one token", "most without a word", "no structure", "a long document"],
)
def test_corpora_that_say_little_are_fitted(counts):
    model = HierarchicalDirichletProcess(n_steps=40, n_draws=4, n_chains=2, random_state=1).fit(
        np.array(counts)
    )
    assert np.isfinite(model.transform(np.array(counts))).all()
    assert (model.number_draws_["number_of_topics"] >= 1).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"first_topics": 0}, "first_topics must be a whole number from 1"),
        ({"topic_word_prior": 0.0}, "topic_word_prior must be a number from"),
        ({"mixture_concentration": -1.0}, "mixture_concentration must be a number from"),
        ({"weight_concentration": "many"}, "weight_concentration must be a number from"),
    ],
)
def test_settings_outside_their_range_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        HierarchicalDirichletProcess(**settings).fit(np.eye(3))


def test_the_commands_tell_how_many_topics_there_are(call, tmp_path):
    counts, run, given = three_themes(150, 1), tmp_path / "run", tmp_path / "counts.npz"
    sp.save_npz(given, counts)
    typed = [
        "--steps=600",
        "--first-topics=6",
        "--chains=2",
        "--draws=10",
        "--seed=1",
        "--topic-word-prior=0.5",
    ]
    call("fit", "hdp", given, "--run", run, *typed)
    told = json.loads(call("topics", run, "--json"))
    assert [each["name"] for each in told["numbers"]] == ["number_of_topics", "number_of_topics_above"]
    assert told["numbers"][1]["low"] <= 3 <= told["numbers"][1]["high"] <= 4
    assert [each["found"] for each in told["topics"][:3]] == [2, 2, 2]
    assert "Number of topics, 90%: " in call("topics", run)
    assert "more than 1% of the tokens" in " ".join(call("topics", run).split())
    scores = json.loads(call("evaluate", run, given, "--json"))
    assert 4 < scores["perplexity"] < 9
    call("transform", run, "--out", tmp_path / "wide.csv", "--intervals")
    heads, first = (tmp_path / "wide.csv").read_text().splitlines()[:2]
    assert heads.split(",")[-6:] == [
        *(f"topic_{len(told['topics']) - 1}{end}" for end in ("", "_low", "_high")),
        *("others", "others_low", "others_high"),
    ]
    assert sum(map(float, first.split(",")[1::3])) == pytest.approx(1, abs=1e-5)
    call("transform", run, "--out", tmp_path / "long.csv", "--long")
    labels = [line.split(",")[1] for line in (tmp_path / "long.csv").read_text().splitlines()]
    assert labels[: len(told["topics"]) + 2] == ["topic", *map(str, range(len(told["topics"]))), "others"]
    call("export", run, "--out", tmp_path / "draws.npz")
    with np.load(tmp_path / "draws.npz") as draws:
        assert draws["topic_weights"].shape == draws["topics"].shape[:2]
        assert draws["expected_topics"].shape == draws["topics"].shape[1:]
    call("report", run, "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "weight concentration" in page
    assert "topic 0" in call("documents", run)
    tree = geodrift.models.model_named("hdp").answers().to_datatree(geodrift.load(run))
    assert tree["posterior"].sizes["topic"] == len(told["topics"])


def test_a_report_of_the_estimator_is_made(fitted, tmp_path):
    model, counts = fitted
    words = [f"w{i}" for i in range(WORDS)]
    model.report(words, documents=counts[:20]).save(tmp_path / "report.html")
    assert "w3" in (tmp_path / "report.html").read_text()


def test_a_topic_is_what_the_draws_say_that_have_it():
    """Where a draw lacks it neither its words nor its scores are of the draw."""
    rng, here = np.random.default_rng(0), np.arange(20) % 2 == 0
    laws = np.kron(np.eye(2), np.full(15, 1 / 15)) * 0.9 + 0.1 / 30
    topics = np.array([[rng.dirichlet(300 * law) for law in laws] for _ in here])[None]
    weights, sizes = np.tile([0.6, 0.3], (1, 20, 1)), np.tile([0.65, 0.35], (1, 20, 1))
    topics[:, ~here, 1], weights[:, ~here, 1], sizes[:, ~here, 1] = NAN, NAN, NAN
    draws = {
        "topics": topics,
        "topic_weights": weights,
        "topic_sizes": sizes,
        "other_words": np.full((1, 20, 30), 1 / 30),
        "other_weight": np.full((1, 20), 0.1),
        "mixture_concentration": np.ones((1, 20)),
        "number_of_topics": np.where(here, 2, 1)[None],
    }
    dims = {"topics": ("topic", "word"), "topic_weights": ("topic",), "topic_sizes": ("topic",)}
    dims |= {"other_words": ("word",)}
    posterior = xr.Dataset(
        {name: (("chain", "draw", *dims.get(name, ())), values) for name, values in draws.items()},
        coords={"word": [f"w{i}" for i in range(30)]},
    )
    tree = xr.DataTree.from_dict({"posterior": posterior})
    config = {"settings": {"topic_word_prior": 0.01}}
    run: Any = SimpleNamespace(draws=tree, num_draws=20, num_chains=1, config=config)
    answers = geodrift.models.model_named("hdp").answers()
    ordered, agreed = answers.aligned(run)
    own = topics[0, here, 1]
    assert ordered["topic_weights"][0, :, 1] == pytest.approx(0.3 * here)
    assert expected_topics(ordered["topics"], agreed, False)[1] == pytest.approx(own.mean(axis=0))
    words = posterior["word"].values.tolist()
    leading = component_words(ordered["topics"], words, 1, "topic", agreed=agreed)[1]["words"][0]
    at = words.index(leading["word"])
    tenth = np.sort(own, axis=1)[:, -10]
    assert leading["weight"] == pytest.approx(own.mean(axis=0).max())
    assert leading["p_top10"] == pytest.approx((own[:, at] >= tenth).mean())
    assert own[:, at].min() <= leading["low"] < leading["high"] <= own[:, at].max()
    scores = answers.evaluate(run, three_themes(9, 0, 8)[:, np.arange(30) % WORDS], num_draws=2, seed=0)
    exact = [topic_diversity(each[: 1 + has]) for each, has in zip(topics[0], here, strict=True)]
    assert scores["diversity"]["mean"] == pytest.approx(np.mean(exact))
    assert {round(each, 3) for each in exact} > {1.0}
