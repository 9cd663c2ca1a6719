"""Arguments of the models' functions that are no numbers, or not whole, are named with what is allowed."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

import geodrift
from geodrift import models
from geodrift.models import clusters
from geodrift.models.latent_dirichlet_allocation.evaluation._token_split import split_tokens

pytestmark = pytest.mark.usefixtures("unchecked_types")  # they would refuse some of these first

LABELS = np.array([[0, 0, 1, 1], [0, 1, 1, 1]])


def counts():
    rng = np.random.default_rng(0)
    return sp.csr_matrix(rng.poisson(np.kron(np.eye(2), np.ones(6))[rng.integers(2, size=30)] * 2 + 0.1))


def unit_rows():
    rows = np.random.default_rng(0).normal(size=(20, 3))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def fitted():
    """A model of each kind, by its name, after a few steps."""
    few = {"n_chains": 1, "n_draws": 2, "random_state": 0}
    return {
        "hdp": models.HierarchicalDirichletProcess(n_steps=20, **few).fit(counts()),
        "dpm": models.DirichletProcessMixture(n_steps=20, **few).fit(counts()),
        "sam": models.SphericalAdmixture(2, n_steps=40, batch_size=10, **few).fit(counts()),
        "vmf": models.VonMisesFisherMixture(2, n_passes=10, **few).fit(unit_rows()),
    }


@pytest.mark.parametrize("wrong", ["a", [0.1, 0.2], None])
def test_shares_are_numbers(fitted, wrong):
    told = re.escape(f"got {wrong!r}")
    with pytest.raises(ValueError, match=rf"least must be at least 0.001 and below 1, {told}"):
        fitted["hdp"].number_of_topics(wrong)
    with pytest.raises(ValueError, match=re.escape(f"least = {wrong!r}: a share of the rows must be")):
        fitted["dpm"].number_of_clusters(wrong)
    with pytest.raises(ValueError, match=rf"share must be at least 0 and below 1, {told}"):
        clusters.cluster_count(LABELS, wrong)


@pytest.mark.parametrize("wrong", ["a", 1.5, -1, [2]])
def test_numbers_of_things_are_whole(fitted, wrong):
    for call, name in (
        (lambda: fitted["hdp"].top_words(top=wrong), "top"),
        (lambda: fitted["sam"].log_perplexity(counts(), theta_draws=wrong), "theta_draws"),
        (lambda: fitted["vmf"].sample(wrong), "n_samples"),
        (lambda: fitted["dpm"].sample(wrong), "n_samples"),
        (lambda: clusters.point_partition(LABELS, most=wrong), "most"),
    ):
        told = re.escape(f"{name} = {wrong!r}: must be a whole number, 1 or more")
        with pytest.raises(ValueError, match=told):
            call()
    with pytest.raises(ValueError, match=r"num_draws must be from 1 to 2, which there are, got"):
        fitted["sam"].log_perplexity(counts(), num_draws=wrong)


@pytest.mark.parametrize("wrong", ["a", 1.5, -1, None])
def test_seeds_are_whole(fitted, wrong):
    for call in (
        lambda: fitted["sam"].log_perplexity(counts(), seed=wrong),
        lambda: fitted["vmf"].sample(3, seed=wrong),
        lambda: fitted["dpm"].sample(3, seed=wrong),
        lambda: clusters.point_partition(LABELS, seed=wrong),
        lambda: split_tokens(counts(), seed=wrong),
    ):
        with pytest.raises(
            ValueError, match=re.escape(f"seed = {wrong!r}: must be a whole number, 0 or more")
        ):
            call()


@pytest.mark.parametrize("wrong", ["abc", ["a", "b", "c"], {"a": 1}, object()])
def test_a_prior_of_directions_is_numbers(wrong):
    model = models.VonMisesFisherMixture(2, n_passes=2, n_chains=1, n_draws=1, direction_prior=wrong)
    with pytest.raises(ValueError, match=r"direction_prior must be 3 finite numbers, got [^s]"):
        model.fit(unit_rows())


@pytest.mark.parametrize(
    ("numbers", "how", "told"),
    [
        (5, {}, "topics must be two whole numbers or more that differ, such as 5,10,20,40; got 5"),
        ("ab", {}, "that differ, such as 5,10,20,40; got a,b"),
        ((2, "a"), {}, "got 2,a"),
        ((2, 2.5), {}, "got 2,2.5"),
        ((2, 3), {"held_out": "a"}, "held_out must be from 2 to fewer than the 30 documents, got 'a'"),
        ((2, 3), {"held_out": 2.5}, "got 2.5"),
    ],
)
def test_a_ladder_is_of_whole_numbers(tmp_path, numbers, how, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        models.choose_number_of_topics(counts(), numbers, directory=tmp_path / "k", steps=5, **how)
    assert not (tmp_path / "k").exists()


@pytest.mark.parametrize("wrong", ["a", 1.5, -1, None, [1]])
def test_verbose_is_a_number_or_a_truth_value(tmp_path, wrong):
    told = re.escape(f"verbose = {wrong!r}: must be a whole number, 0 or more")
    for kind in (
        models.LatentDirichletAllocation,
        models.HierarchicalDirichletProcess,
        models.SphericalAdmixture,
    ):
        with pytest.raises(ValueError, match=told):
            kind(verbose=wrong).fit(counts())
    with pytest.raises(ValueError, match=told):
        models.choose_number_of_topics(counts(), (2, 3), directory=tmp_path / "k", steps=5, verbose=wrong)
    assert not (tmp_path / "k").exists()


def test_verbose_may_be_a_truth_value_of_numpy(capsys):
    for silent in (np.False_, False, 0):
        few = {"n_steps": 20, "n_chains": 1, "n_draws": 2, "verbose": silent}
        models.LatentDirichletAllocation(2, **few).fit(counts())
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize("wrong", ["a", "3", 1.5, 0, -1, [1], True, np.nan, np.inf])
def test_a_stream_has_a_number_of_documents(wrong):
    told = re.escape(f"total_documents must be a positive whole number, got {wrong!r}")
    with pytest.raises(ValueError, match=told):
        models.LatentDirichletAllocation(2, total_documents=wrong).partial_fit(counts())


@pytest.mark.parametrize(
    ("seeds", "told"),
    [
        (["w1"], "topic 'number 0' must be a list of words, got 'w1': give ['w1']"),
        ({"sport": "w1"}, "topic 'sport' must be a list of words, got 'w1': give ['w1']"),
        ([3], "topic 'number 0' must be a list of words, got 3"),
        ([["w1"], [3]], "topic 'number 1' must be a list of words, got [3]"),
        ("w1", "seeds must be a list of words for each topic, got 'w1'"),
        (3, "seeds must be a list of words for each topic, got 3"),
    ],
)
def test_words_to_begin_at_are_lists_of_words(seeds, told):
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        models.topics_of_words(seeds, [f"w{i}" for i in range(12)], counts())


@pytest.mark.parametrize("shape", [(20, 1), (1, 3), (0, 3), (3, 0)])
def test_vectors_of_half_precision_are_two_rows_of_two_numbers_or_more(shape):
    told = re.escape(f"X must have 2 rows or more, of 2 numbers or more each, got shape {shape}")
    with pytest.raises(ValueError, match=told):
        models.VonMisesFisherMixture(2).fit(np.ones(shape, np.float16))


def test_one_document_is_a_matrix_of_one_row(fitted, tmp_path):
    one, topics = counts().toarray()[0], np.full((2, 12), 1 / 12)
    lda, sam = models.latent_dirichlet_allocation, models.spherical_admixture
    stream = lda.StreamChain(12, lda.Settings(n_topics=2, method="scir"))
    for call in (
        lambda: geodrift.data.Corpus.from_matrix(one),
        lambda: lda.completion_perplexity(one, topics, 0.1),
        lambda: stream.feed(one),
        lambda: sam.weight_rows(one, "tf", None, 1),
        lambda: sam.log_perplexity(one, fitted["sam"].topic_draws_[:1], 100.0, 1.0),
        lambda: models.choose_number_of_topics(one, (2, 3), directory=tmp_path / "k", steps=5),
    ):
        told = "has 1 dimension, documents by words are 2: one document is a matrix of one row"
        with pytest.raises(ValueError, match=told):
            call()
