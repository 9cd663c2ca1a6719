"""The code of every page runs, and what the pages on LDA and on corpora say of its results is so."""

import numpy as np
import pytest

from docs.pages import EXECUTED, run_page

# Below, in tests/docs/test_bounded_numbers.py, test_completed_matrices.py and in tests/recipe/test_page.py.
TESTED = (
    "tutorials/matrix-completion.md",
    "tutorials/truncated-normal.md",
    "tutorials/lda.md",
    "tutorials/categorical-records.md",
    "tutorials/vectors.md",
    "how-to/read-a-corpus.md",
    "how-to/invent-a-sampler.md",
)


LONG = (
    "explanation/temperature.md",
    "how-to/check-a-run.md",
    "how-to/sample-a-network.md",
    "how-to/sample-a-numpyro-model.md",
    "tutorials/sphere.md",
)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in LONG else ())
        for name in EXECUTED
        if name not in TESTED
    ],
)
def test_the_code_of_the_page_runs(name):
    if "numpyro" in name:
        pytest.importorskip("numpyro")
    names, printed = run_page(name)
    assert names
    assert printed.strip()


def test_the_lda_tutorial_finds_the_themes_that_it_planted():
    names, _ = run_page("tutorials/lda.md")
    model, vocabulary = names["model"], names["corpus"].vocabulary
    truth = np.zeros((3, len(vocabulary)))
    for row, words, weights in zip(truth, names["words"], names["preferences"], strict=True):
        row[[vocabulary.index(word) for word in words]] = weights
    order = (np.sqrt(truth) @ np.sqrt(model.topics_).T).argmax(axis=1)
    assert sorted(order) == [0, 1, 2]
    low, high = np.quantile(model.topic_draws_[:, order], [0.05, 0.95], axis=0)
    planted = truth > 0
    # 24 correlated entries of one corpus: 21.6 are expected to be inside, with a standard deviation of 1.5.
    assert ((low <= truth) & (truth <= high))[planted].sum() >= 17
    assert 0.05 < names["more"].mean() < 0.95
    # Under the truth's topics and the documents' own mixtures.
    held = names["counts"][250:].toarray()
    ideal = np.exp(-(held * np.log(names["mixtures"][250:] @ truth + 1e-12)).sum() / held.sum())
    perplexity = model.perplexity(names["counts"][250:])
    assert 0.97 * ideal < perplexity < 1.15 * ideal
    assert perplexity < names["stream"].perplexity(names["counts"][250:]) < 21


def test_the_page_on_records_is_sure_of_its_groups_and_unsure_of_few_records():
    names, _ = run_page("tutorials/categorical-records.md")
    told = names["model"].number_of_clusters()
    assert (told["low"], told["high"]) == (3, 3)
    few = names["few"].number_of_clusters(0.05)
    assert few["low"] < 3 <= few["high"]
    best, right = names["best"], names["right"]
    assert right[best > 0.95].mean() > 0.98
    assert 0.3 < right[best < 0.8].mean() < 0.9
    together, same = names["together"], names["same"]
    assert together[same].mean() > 0.9
    assert together[~same].mean() < 0.1


@pytest.mark.slow
def test_the_page_on_vectors_is_surer_of_rows_that_are_of_their_cluster_s_digit():
    names, _ = run_page("tutorials/vectors.md")
    count, sure, right = (names[name] for name in ("count", "sure", "right"))
    assert count.low < count.high  # there is something to be unsure of
    assert right[sure >= 0.9].mean() > 0.97
    assert right[sure < 0.6].mean() < right[sure >= 0.9].mean() - 0.05
    together, same = names["together"], names["same"]
    assert together[same].mean() > 0.2 > 0.02 > together[~same].mean()


def test_the_page_on_corpora_shows_the_error_that_it_speaks_of():
    _, printed = run_page("how-to/read-a-corpus.md")
    assert "docword.small.txt, line 5: words are 1 to 3 by the header: '2 5 1'" in printed
    assert printed.strip().endswith("['docword.small.txt']")
