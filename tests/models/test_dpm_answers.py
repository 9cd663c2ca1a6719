"""What the Dirichlet-process mixture answers: how many clusters, which, and whose rows."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import gammaln
from sklearn.base import clone

import geodrift
from geodrift.models import DirichletProcessMixture
from geodrift.models.dirichlet_process_mixture import log_predictive, membership
from geodrift.models.dirichlet_process_mixture.evaluation._log_predictive import (
    Drawn,
    log_joint_of_rows,
    log_of_counted,
)
from geodrift.models.kit import _places

WORDS = 12


def three_groups(number, seed):
    """Rows of three groups with words of their own, in a half, a third and a sixth of the rows."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(3, size=number, p=[1 / 2, 1 / 3, 1 / 6])
    words = np.full((3, WORDS), 0.02)
    for k in range(3):
        words[k, 4 * k : 4 * k + 4] = 1.0
    words /= words.sum(axis=1, keepdims=True)
    return sp.csr_matrix(np.array([rng.multinomial(6, words[k]) for k in groups])), groups


@pytest.fixture(scope="module")
def fitted():
    rows, groups = three_groups(600, 0)
    model = DirichletProcessMixture(
        n_steps=200, n_chains=2, n_draws=20, store_assignments=True, random_state=1
    )
    return model.fit(rows), rows, groups


def test_clusters_are_found_and_told_by_size(fitted):
    model, _, groups = fitted
    assert model.cluster_draws_.shape == (40, 3, WORDS)
    sizes = model.cluster_size_draws_.mean(axis=0)
    assert sizes == pytest.approx(np.bincount(groups) / len(groups), abs=0.02)
    assert model.agreement_.shared.all()
    told = model.number_of_clusters(0.05)
    assert (told["low"], told["high"], told["probabilities"]) == (3, 3, {3: 1.0})
    assert model.number_of_clusters(1e-9)["mean"] == model.number_of_clusters_draws_.mean()
    for least in (-1, 1, 2.0, float("nan")):
        with pytest.raises(ValueError, match=f"least = {least!r}: .*at least 0 and below 1"):
            model.number_of_clusters(least)
    words = model.top_words([f"w{i:02d}" for i in range(WORDS)], top=4)
    assert {entry["word"] for entry in words[0]["words"]} == {"w00", "w01", "w02", "w03"}
    assert words[0]["size_low"] < words[0]["size"] < words[0]["size_high"]


def test_labels_and_probabilities(fitted):
    model, rows, groups = fitted
    probabilities = model.predict_proba(rows)
    assert probabilities.shape == (600, 4)  # the last is of all other clusters
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(600), abs=1e-6)
    assert np.array_equal(model.labels_, model.predict(rows))
    assert (model.labels_ == groups).mean() > 0.95
    assert np.array_equal(model.fit_predict(rows), model.labels_)
    intervals = model.transform_with_intervals(rows)
    assert (intervals["low"] <= intervals["high"]).all()
    nothing = model.predict_proba(sp.csr_matrix((1, WORDS)))[0, :3]
    assert nothing == pytest.approx(model.cluster_weight_draws_.mean(axis=0), abs=1e-3)


def test_rows_of_one_cluster_are_together_in_the_stored_assignments(fitted):
    model, _, groups = fitted
    draws = model.assignment_draws_
    assert draws.shape == (40, 600)
    pairs = np.stack(np.triu_indices(len(groups), 1), axis=1)
    together = model.coclustering(pairs)
    assert together[7] == (draws[:, pairs[7, 0]] == draws[:, pairs[7, 1]]).mean()
    same = groups[pairs[:, 0]] == groups[pairs[:, 1]]
    assert together[same].mean() > 0.9
    assert together[~same].mean() < 0.1


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_a_partition_of_the_rows_is_that_of_the_groups(fitted, loss):
    model, _, groups = fitted
    labels = model.point_partition(loss)
    assert labels.shape == groups.shape
    assert (labels == groups).mean() > 0.95
    with pytest.raises(ValueError, match="loss must be one of vi, binder, got 'x'"):
        model.point_partition("x")


def test_columns_have_names(fitted):
    pytest.importorskip("pandas")
    model, rows, _ = fitted
    frame = clone(model).set_output(transform="pandas").fit(rows[:60]).transform(rows[:5])
    assert list(frame.columns)[-2:] == [f"cluster{frame.shape[1] - 2}", "others"]
    told = clone(model).set_params(n_clusters=2).fit(rows[:60])
    assert told.get_feature_names_out().tolist() == ["cluster0", "cluster1"]
    assert told.transform(rows[:5]).shape == (5, 2)


def test_without_stored_assignments_the_error_says_what_to_do():
    model = DirichletProcessMixture(n_steps=10, n_chains=1, n_draws=2).fit(np.eye(3))
    for ask in (model.point_partition, lambda: model.coclustering([[0, 1]])):
        with pytest.raises(ValueError, match="fit with store_assignments=True"):
            ask()


def test_auto_is_another_way_to_say_nothing(call, tmp_path):
    rows, _ = three_groups(60, 2)
    lengths = {"n_steps": 20, "n_draws": 5, "n_chains": 1, "random_state": 0}
    auto, none = (DirichletProcessMixture(k, **lengths).fit(rows) for k in ("auto", None))
    assert np.array_equal(auto.cluster_draws_, none.cluster_draws_)
    assert auto.predict_proba(rows).shape[1] == auto.cluster_draws_.shape[1] + 1
    sp.save_npz(tmp_path / "rows.npz", rows)
    run = tmp_path / "run"
    call(
        "fit",
        "dpm",
        tmp_path / "rows.npz",
        "--run",
        run,
        "--clusters=auto",
        "--steps=30",
        "--draws=5",
        "--seed=1",
    )
    assert "Number of clusters, 90%" in call("clusters", run)


def test_exactly_the_share_is_not_above_it():
    assert _places.numbers_above(np.array([[[0.9, 0.05, 0.01, np.nan]]], np.float32), 0.05).tolist() == [[1]]


def test_the_density_of_all_rows_of_a_length_is_one(fitted):
    """Of one draw: summed over all rows of two tokens, each with its multinomial coefficient."""
    model, _, _ = fitted
    pairs = [(i, j) for i in range(WORDS) for j in range(i, WORDS)]
    rows = np.zeros((len(pairs), WORDS))
    for row, pair in zip(rows, pairs, strict=True):
        np.add.at(row, list(pair), 1)
    coefficients = np.exp(gammaln(3) - gammaln(rows + 1).sum(axis=1))
    draw = {name: values[0] for name, values in model._draws.items()}
    logs = log_predictive(
        sp.csr_matrix(rows), draw["clusters"], np.nan_to_num(draw["cluster_weights"]), draw["new_weight"], 0.5
    )
    assert (np.exp(logs) * coefficients).sum() == pytest.approx(1.0, abs=1e-5)
    averaged = model.score_samples(sp.csr_matrix(rows))
    assert (np.exp(averaged) * coefficients).sum() == pytest.approx(1.0, abs=1e-5)


def test_rows_are_drawn_from_the_predictive_law(fitted):
    model, _, groups = fitted
    drawn, labels = model.sample(4000, seed=3)
    assert np.array_equal(drawn.sum(axis=1), np.full((4000, 1), 6))
    share = np.bincount(labels[labels >= 0], minlength=3) / 4000
    assert share == pytest.approx(np.bincount(groups) / len(groups), abs=0.05)
    again, same = model.sample(4000, seed=3)
    assert np.array_equal(same, labels)
    assert (again != drawn).nnz == 0
    with pytest.raises(ValueError, match="n_samples = 0: must be a whole number"):
        model.sample(0)


def test_a_draw_with_fewer_clusters_gets_empty_ones():
    clusters = np.full((1, 2, 3, 2), np.nan, np.float32)
    sizes = np.full((1, 2, 3), np.nan, np.float32)
    clusters[0, 0], sizes[0, 0] = [[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], [0.6, 0.39, 0.01]
    clusters[0, 1, :1], sizes[0, 1, 0] = [[0.8, 0.2]], 1.0
    draws = {"clusters": clusters, "cluster_weights": sizes, "cluster_sizes": sizes}
    found, agreed = _places.told(draws, given=False, least=0.05)
    assert found["cluster_sizes"][0].tolist() == [[pytest.approx(0.6), pytest.approx(0.39)], [1.0, 0.0]]
    # Of its words the other draw tells; a chain without any such draw tells nothing.
    assert found["clusters"][0, 1, 1].tolist() == clusters[0, 0, 1].tolist()
    assert agreed.orders.shape == (1, 2, 2)


def test_the_commands_of_a_process_whose_number_of_clusters_is_sampled(call, tmp_path):
    rows, _ = three_groups(300, 1)
    run, given = tmp_path / "run", tmp_path / "rows.npz"
    sp.save_npz(given, rows)
    call("fit", "dpm", given, "--run", run, "--steps=100", "--chains=2", "--draws=10", "--seed=1")
    told = json.loads(call("clusters", run, "--json"))
    assert [each["name"] for each in told["numbers"]] == ["number_of_clusters", "number_of_clusters_above"]
    assert told["numbers"][1]["low"] <= 3 <= told["numbers"][1]["high"]
    assert [each["found"] for each in told["clusters"][:3]] == [2, 2, 2]
    assert "Number of clusters" in call("clusters", run)
    call("transform", run, given, "--out", tmp_path / "weights.npz")
    with np.load(tmp_path / "weights.npz") as weights:
        assert weights["mean"].shape == (300, len(told["clusters"]) + 1)
        assert weights["mean"].sum(axis=1) == pytest.approx(np.ones(300), abs=1e-5)
    assert "nats a row" in call("evaluate", run, given)
    call("export", run, "--out", tmp_path / "draws.npz")
    tree = geodrift.models.model_named("dpm").answers().to_datatree(geodrift.load(run))
    assert tree["posterior"].sizes["cluster"] == len(told["clusters"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "gibbs", "step_size": 0.1}, "step_size is 0.1 but method is 'gibbs'"),
        ({"method": "scir", "n_clusters": 3}, "n_clusters is 3 but method is 'scir'"),
        (
            {"n_clusters": "many"},
            "n_clusters must be a whole number from 1 to 65536, or auto or None, got 'many'",
        ),
        ({"n_clusters": 0}, "n_clusters must be a whole number from 1"),
        ({"cluster_word_prior": 0.0}, "cluster_word_prior must be a number from"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        DirichletProcessMixture(**settings).fit(np.eye(3))


@pytest.mark.parametrize("method", ["gibbs", pytest.param("scir", marks=pytest.mark.slow)])
def test_rows_that_come_later_have_the_settings_of_their_call(method):
    rows, _ = three_groups(60, 2)
    model = DirichletProcessMixture(method=method, n_steps=30, n_chains=2, n_draws=5, random_state=1)
    for concentration in (None, 5.0, 2.5, None):
        model.set_params(concentration=concentration).partial_fit(rows[:20])
        if concentration is None:
            assert len(np.unique(model.concentration_draws_)) > 5
        else:
            assert (model.concentration_draws_ == concentration).all()
    draws = model.cluster_draws_
    other = "gibbs" if method == "scir" else "scir"
    for changed in ({"method": other}, {"method": "gibbs", "n_clusters": 4}):
        with pytest.raises(ValueError, match=r"partial_fit goes on from calls with .*call fit"):
            model.set_params(**changed).partial_fit(rows[:20])
    assert model.cluster_draws_ is draws


@pytest.mark.parametrize("n_clusters", [3, 40])
def test_a_number_of_clusters_that_is_given_later_is_refused(n_clusters):
    rows, _ = three_groups(60, 2)
    model = DirichletProcessMixture(5, n_steps=10, n_chains=1, n_draws=5, random_state=1).partial_fit(rows)
    with pytest.raises(ValueError, match=f"n_clusters = {n_clusters}: partial_fit goes on .*n_clusters = 5"):
        model.set_params(n_clusters=n_clusters).partial_fit(rows)
    assert model.set_params(n_clusters=None).partial_fit(rows).labels_.shape == (120,)


@pytest.mark.parametrize("method", ["gibbs", pytest.param("scir", marks=pytest.mark.slow)])
def test_rows_that_come_in_parts(method):
    rows, groups = three_groups(450, 2)
    model = DirichletProcessMixture(method=method, n_steps=150, n_chains=2, n_draws=10, random_state=1)
    for part in range(3):
        model.partial_fit(rows[150 * part : 150 * (part + 1)])
        with pytest.raises(ValueError, match="features"):
            model.partial_fit(np.ones((5, WORDS + 1)))
    first = DirichletProcessMixture(random_state=1, n_steps=1, n_chains=1).partial_fit(rows[:9])
    seed = first._seen[2]
    assert first.partial_fit(rows[9:20])._seen[2] != seed  # of which the random streams are made
    assert model.labels_.shape == (450,)
    shares = [np.bincount(model.labels_[(groups == k) & (model.labels_ >= 0)]).max() for k in range(3)]
    assert sum(shares) > 0.85 * 450
    assert model.fit(rows[:100]).labels_.shape == model.partial_fit(rows[:100]).labels_.shape == (100,)
    with pytest.raises(ValueError, match="partial_fit takes this process alone"):
        DirichletProcessMixture(processes=2).partial_fit(rows)


def test_fractions_are_refused():
    with pytest.raises(ValueError, match="counts must be whole numbers"):
        DirichletProcessMixture(n_steps=10).fit(np.full((3, 3), 0.5))


def test_chains_that_lack_a_cluster_do_not_agree_that_it_is_there():
    """Three clusters in one chain, of four; the others have two."""
    rng, laws = np.random.default_rng(0), np.full((3, 30), 1e-3)
    for cluster in range(3):
        laws[cluster, 10 * cluster : 10 * cluster + 10] += 1
    laws /= laws.sum(axis=1, keepdims=True)
    clusters = np.array([[[rng.dirichlet(2000 * law) for law in laws] for _ in range(6)] for _ in range(4)])
    weights = np.tile([0.4, 0.35, 0.25], (4, 6, 1))
    clusters[1:, :, 2], weights[1:, :, 2] = np.nan, np.nan
    draws = {"clusters": clusters, "cluster_weights": weights, "cluster_sizes": weights}
    found, agreed = _places.told(draws, False)
    assert agreed.found.sum(axis=0).tolist() == [4, 4, 1]
    assert agreed.shared.tolist() == [True, True, False]
    assert found["clusters"].shape == clusters.shape


def test_clusters_are_integrated_out_given_their_counts():
    rng = np.random.default_rng(0)
    rows, counts = rng.poisson(0.8, (5, WORDS)), rng.poisson(1.5, (3, WORDS))
    rows[0, 0] = 40
    shapes = counts[:, None] + 0.3
    exact = gammaln(shapes + rows).sum(2) - gammaln(shapes).sum(2)
    whole = shapes.sum(2)
    exact += gammaln(whole) - gammaln(whole + rows.sum(1))
    np.testing.assert_allclose(log_of_counted(sp.csr_matrix(rows), counts, 0.3), exact.T, rtol=1e-10)


def test_a_word_that_stands_twice_in_a_row_counts_as_often_as_both_entries_say():
    """Gamma functions of each entry alone would not be those of their sum."""
    twice = sp.csr_matrix(([2, 1, 1], [0, 0, 2], [0, 3]), shape=(1, 3))
    once = sp.csr_matrix([[3, 0, 1]])
    counts = np.array([[2, 1, 0]])
    told, exact = (
        log_joint_of_rows(rows, 0.5)(np.full((1, 3), 1 / 3), counts, np.array([0.6]), 0.4)
        for rows in (twice, once)
    )
    np.testing.assert_allclose(told, exact, rtol=1e-12)
    assert twice.nnz == 3  # what was given stays as it is


def test_a_new_row_of_a_cluster_of_few_tokens_belongs_to_it():
    """Clusters that were drawn have a probability near 0 for most words that they have not seen."""
    rng = np.random.default_rng(21)
    words = rng.dirichlet(np.full(1000, 0.5), 4)
    groups = rng.integers(4, size=200)
    rows = np.array([rng.multinomial(30, words[group]) for group in groups])
    model = DirichletProcessMixture(random_state=21, n_chains=2, n_steps=60).fit(rows[:150])
    labels = model.predict(rows[150:])
    assert (labels >= 0).all()
    assert model.predict_proba(rows[150:])[:, -1].mean() < 0.01
    same = labels[:, None] == labels
    assert (same == (groups[150:, None] == groups[150:])).mean() > 0.99
    assert (model.predict(rows[:150]) == model.labels_).mean() > 0.97


def test_draws_count_as_much_as_they_expect_a_new_row():
    """Of two draws one has the row's word and the other has not: Bayes' rule over draws and clusters."""
    counts = np.array([[[8, 0]], [[0, 8]]])
    draws = Drawn(np.full((2, 1, 2), 0.5), counts, np.array([[0.5], [0.9]]), np.array([0.5, 0.1]))
    given = {"places": np.zeros((2, 1), int), "found": np.ones((2, 2), bool), "others": True}
    told = membership(sp.csr_matrix([[1, 0]]), draws, 1.0, **given)
    in_cluster, as_new = 0.5 * 0.9 + 0.9 * 0.1, 0.5 * 0.5 + 0.1 * 0.5
    np.testing.assert_allclose(told["mean"][0, 0], in_cluster / (in_cluster + as_new), rtol=1e-6)
    # The first draw has seven tenths of the weight and more: both ends are its probability or the other's.
    np.testing.assert_allclose([told["low"][0, 0], told["high"][0, 0]], [0.09 / 0.14, 0.45 / 0.7], rtol=1e-5)
