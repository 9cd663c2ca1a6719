"""A model's answers from the draws of a run: which draws they use, and that order in a file is nothing."""

import numpy as np
import pytest
import scipy.sparse as sp

from geodrift.data import Corpus
from geodrift.driver import Length
from geodrift.models import create_run, document_rows, fit, make_chains, model_named


@pytest.fixture
def fitted(tmp_path, quiet):
    """A run of two chains of six draws."""
    rng = np.random.default_rng(0)
    rates = np.kron(np.eye(2), np.ones(6)) + 0.1
    corpus = Corpus.from_matrix(sp.csr_matrix(rng.poisson(rates[rng.integers(2, size=40)])))
    settings = {"n_topics": 2, "batch_size": 10, "num_draws": 6}
    config = {"settings": settings, "seed": 1, "chains": 2, "held_out": 0}
    model = model_named("sam")
    chains = make_chains(model, config, corpus)
    run = create_run(tmp_path / "run", model, config, corpus, chains)
    fit(model, chains, run, Length(steps=24), quiet)
    assert run.num_draws >= 6
    return run, model.answers(), document_rows(run, model, corpus.matrix()[:9])


def test_a_document_s_mixture_does_not_depend_on_its_place_in_the_file(fitted, monkeypatch):
    monkeypatch.setattr("geodrift.models.spherical_admixture._answers.DOCUMENTS_A_BLOCK", 4)
    run, answers, rows = fitted
    order = np.random.default_rng(2).permutation(9)
    straight, permuted = answers.transform(run, rows, seed=0), answers.transform(run, rows[order], seed=0)
    for name, values in straight.items():
        assert np.array_equal(permuted[name], values[order]), name


def test_evenly_spaced_draws_of_every_chain_are_evaluated(fitted, monkeypatch):
    used = []

    def log_perplexity(rows, topics, *args, **kwargs):
        used.append(topics)
        return 0.0

    monkeypatch.setattr("geodrift.models.spherical_admixture._answers.log_perplexity", log_perplexity)
    run, answers, rows = fitted
    result = answers.evaluate(run, rows, num_draws=3, theta_draws=5, seed=0)
    chains = run.draws["posterior"]["topics"].values
    assert np.array_equal(used[0], chains[:, [(run.num_draws - 1) // 2, -1]].reshape(-1, *chains.shape[2:]))
    assert (result["topic_draws"], result["chains"], result["topic_draws_per_chain"]) == (4, 2, 2)
    everything = answers.evaluate(run, rows, num_draws=None, theta_draws=5, seed=0)
    assert np.array_equal(used[1], run.stacked("topics"))
    assert everything["topic_draws_per_chain"] == run.num_draws
