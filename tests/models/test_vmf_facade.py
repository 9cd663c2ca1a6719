"""`VonMisesFisherMixture` under scikit-learn's contract, and what it answers."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import normalized_mutual_info_score
from sklearn.utils.estimator_checks import check_estimator

from geodrift.distributions._host_sample import host_sample
from geodrift.driver import sampled
from geodrift.models import VonMisesFisherMixture
from geodrift.models.kit._agreement import Agreement
from geodrift.models.von_mises_fisher_mixture import Settings
from geodrift.models.von_mises_fisher_mixture._chain import Chain
from geodrift.models.von_mises_fisher_mixture._cluster_parts import cluster_parts
from geodrift.models.von_mises_fisher_mixture._facade import _default_passes
from geodrift.models.von_mises_fisher_mixture._places import with_every_draw
from geodrift.models.von_mises_fisher_mixture._rows_of import rows_of
from geodrift.models.von_mises_fisher_mixture._shared_clusters import NUMBERS, shared_clusters

QUICK = {"n_passes": 12, "n_draws": 5, "n_chains": 2, "random_state": 0}


@pytest.fixture(scope="module")
def simulated():
    """Rows of four clusters that lie apart, and their clusters."""
    rng = np.random.default_rng(0)
    directions = host_sample(rng, np.zeros((4, 12)))
    truth = np.repeat(np.arange(4), [200, 150, 100, 50])
    return host_sample(rng, 60 * directions[truth]), truth


@pytest.fixture(scope="module")
def fitted(simulated):
    return VonMisesFisherMixture(**QUICK).fit(simulated[0])


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"n_clusters": 4}, marks=pytest.mark.slow),
        {},
        pytest.param({"number_prior": "Dirichlet process"}, marks=pytest.mark.slow),
        pytest.param({"n_clusters": 4, "shared_concentration": True}, marks=pytest.mark.slow),
        {"background": 1.0},
    ],
    ids=str,
)
def test_clusters_that_lie_apart_are_found(settings, simulated):
    x, truth = simulated
    model = VonMisesFisherMixture(**settings, **QUICK).fit(x)
    assert normalized_mutual_info_score(model.labels_, truth) > 0.95
    assert (model.cluster_count_.low, model.cluster_count_.high) == (4, 4)
    for draw in model._draws():
        large = draw.concentrations[draw.weights > 0.05]
        assert len(large) == 4
        assert (np.abs(np.log(large / 60)) < 0.4).all()


def test_membership_sums_to_one_and_agrees_with_labels(fitted, simulated):
    x, _ = simulated
    p = fitted.predict_proba(x)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    assert (fitted.predict(x) == fitted.labels_).mean() > 0.98
    new = host_sample(np.random.default_rng(1), 60 * x[:3])
    assert fitted.predict_proba(new).shape == (3, 4)
    assert fitted.coclustering([[0, 1], [0, 499]]).tolist() == pytest.approx([1, 0], abs=0.2)


def test_density_integrates_to_one(simulated):
    """By the mean over uniform points of the sphere in three dimensions."""
    rng = np.random.default_rng(2)
    x = host_sample(rng, np.repeat([[8.0, 0, 0], [0, 5.0, 0]], 100, axis=0))
    model = VonMisesFisherMixture(2, background=0.5, concentration_shape=5.0, **QUICK).fit(x)
    points = host_sample(rng, np.zeros((40_000, 3)))
    density = np.exp(model.score_samples(points))
    assert density.mean() * 4 * np.pi == pytest.approx(1, abs=5 * density.std() * 4 * np.pi / 200)
    weights = density / density.sum()
    first, second = model.sample(4_000), model.sample(4_000, seed=1)
    for drawn in (first, second):
        assert np.abs(drawn.mean(axis=0) - weights @ points).max() < 0.04
    assert np.array_equal(second, model.sample(4_000, seed=1))
    assert not np.isclose(first, second).all(axis=1).any()
    with pytest.raises(ValueError, match="seed = -1"):
        model.sample(seed=-1)


def test_findings_tell_each_cluster_and_that_the_chains_share_it(fitted, simulated):
    _, truth = simulated
    parts, verdict, *_ = fitted.findings()
    assert [part["cluster"] for part in parts] == [0, 1, 2, 3]
    assert all(part["shared"] and part["found"] == part["chains"] == 2 for part in parts)
    for part, share in zip(parts, [0.4, 0.3, 0.2, 0.1], strict=True):
        # Its label is that of the rows which were drawn from it.
        assert (fitted.labels_ == part["label"])[truth == 4 - round(10 * share)].mean() > 0.95
        assert part["size_low"] < part["size"] < part["size_high"]
        assert part["size"] == pytest.approx(share, abs=0.05)
        assert part["concentration_low"] < part["concentration"] < part["concentration_high"]
        assert part["concentration"] == pytest.approx(60, rel=0.3)
    assert "4 of 4 clusters were found by both chains" in str(verdict)


@pytest.mark.parametrize("chains", [2, 4])
def test_chains_without_a_cluster_do_not_agree_that_it_is_there(chains):
    """All chains but the last have two clusters; it has a third, which is found by that one chain."""
    rng, shape, rows = np.random.default_rng(6), (chains, 6), np.repeat([0, 1, 2], 20)
    axes = np.tile(np.eye(8)[[0, 1, 2]], (chains * 6, 1))
    found = {
        "directions": host_sample(rng, 1e4 * axes).reshape(*shape, 3, 8),
        "weights": np.tile([0.4, 0.35, 0.25], (*shape, 1)),
        "concentrations": rng.uniform(40, 60, (*shape, 3)),
        "labels": np.tile(np.arange(3), (*shape, 1)),
        "assignments": np.tile(rows, (*shape, 1)),
    } | {name: rng.normal(size=shape) for name in NUMBERS}
    for name in ("directions", "weights", "concentrations"):
        found[name][:-1, :, 2] = np.nan
    found["assignments"][:-1][:, :, rows == 2] = 1
    parts, verdict, *_ = shared_clusters(found, rows)
    assert [part["label"] for part in parts] == [0, 1, 2]
    assert verdict.found == [part["found"] for part in parts] == [chains, chains, 1]
    assert verdict.shared == [0, 1]
    assert parts[2]["size"] == pytest.approx(0.25)
    assert parts[2]["size_low"] is None
    assert parts[2]["concentration_low"] is None


@pytest.mark.parametrize("between", [pytest.param(0.0, marks=pytest.mark.slow), 0.15])
def test_intervals_of_concentrations_hold_for_the_next_draw_of_the_next_chain(between):
    """Chains rest about values of their own: nine draws of ten of another chain lie inside."""
    rng, hits, sets, clusters = np.random.default_rng(8), 0, 150, 5
    for _ in range(sets):
        centre = rng.normal(4, 1, clusters)
        chains = centre + between * rng.normal(size=(5, 1, clusters))
        kappa = np.exp(chains + 0.1 * rng.normal(size=(5, 20, clusters)))
        found = np.ones((4, clusters))
        agreed = Agreement(np.zeros((4, 20, clusters), int), found, 0.8, 0.0, [])
        ordered = {"concentrations": kappa[:4], "weights": np.full((4, 20, clusters), 1 / clusters)}
        for k, part in enumerate(cluster_parts(ordered, agreed)):
            hits += part["concentration_low"] <= kappa[4, 0, k] <= part["concentration_high"]
    # Clusters of a set are independent, the draws of a set's next chain as well.
    assert hits / (sets * clusters) == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / (sets * clusters)))


def test_a_draw_that_lacks_a_cluster_takes_the_place_of_none():
    values = np.arange(8.0).reshape(2, 4, 1)
    values[0, 2:] = np.nan
    filled = with_every_draw(values)
    assert filled[0, :, 0].tolist() == [0, 1, 0, 1]
    assert filled[1].tolist() == values[1].tolist()


def test_memberships_in_the_clusters_of_the_findings(fitted, simulated):
    x, truth = simulated
    told = fitted.transform_with_intervals(x)
    assert told["mean"].shape == (500, 5)  # the last is of other clusters
    assert told["mean"].sum(axis=1) == pytest.approx(np.ones(500), abs=1e-6)
    assert (told["low"] <= told["mean"] + 1e-6).all()
    assert (told["mean"][:, :4].argmax(axis=1) == truth).mean() > 0.98
    np.testing.assert_allclose(told["mean"][:, :4], fitted.predict_proba(x), atol=0.05)


def test_draws_are_labelled_and_reported(fitted, simulated):
    x, _ = simulated
    tree = fitted.to_datatree()
    parts = fitted.findings().parts
    assert tree["posterior"]["directions"].dims == ("chain", "draw", "cluster", "coordinate")
    assert tree["posterior"]["directions"].shape == (*fitted.assignments_.shape[:2], 4, 12)
    assert tree["agreement"]["shared"].values.tolist() == [part["shared"] for part in parts]
    assert tree["posterior"]["weights"].mean(("chain", "draw")).values == pytest.approx(
        [part["size"] for part in parts]
    )
    report = fitted.report(documents=x)
    for part, told in zip(report.parts, parts, strict=True):
        assert {name: told[name] for name in told if name != "label"} == {
            name: part[name] for name in part if name != "nearest"
        }
        means = tree["posterior"]["directions"].mean(("chain", "draw")).values[part["cluster"]]
        best = np.argsort(-(x @ means))[:15]
        assert [near["row"] for near in part["nearest"]] == best.tolist()
    told = fitted.transform_with_intervals(x)
    np.testing.assert_array_equal(report.documents.mean, told["mean"])
    count = fitted.cluster_count_
    assert report.numbers[1]["probabilities"] == dict(zip(count.values, count.probabilities, strict=True))
    assert report.frames()["nearest"].shape == (60, 3)
    page = report.html()
    assert "How many clusters" in page
    assert report.documents.others == ["other clusters"]
    assert "Words of each" not in page
    named = fitted.report([f"c{i}" for i in range(12)])
    assert "Words of each cluster" in named.html()
    assert named.documents is None


def test_outliers_go_to_the_background():
    rng = np.random.default_rng(3)
    x = np.concatenate(
        [host_sample(rng, np.tile([0, 0, 0, 0, 200.0], (300, 1))), host_sample(rng, np.zeros((60, 5)))]
    )
    model = VonMisesFisherMixture(1, background=1.0, **QUICK).fit(x)
    assert (model.labels_[:300] == 0).mean() > 0.95
    assert (model.labels_[300:] == -1).mean() > 0.9
    p = model.predict_proba(x)
    assert p.shape == (360, 2)
    assert p[300:, 1].mean() > 0.9


def test_single_half_and_sparse_rows_and_memory_maps(simulated, tmp_path):
    x, truth = simulated
    np.save(tmp_path / "x.npy", x.astype(np.float16))
    forms = [x.astype(np.float32), np.load(tmp_path / "x.npy", mmap_mode="r"), sp.csr_matrix(x)]
    for form in forms:
        model = VonMisesFisherMixture(4, **QUICK).fit(form)
        assert normalized_mutual_info_score(model.labels_, truth) > 0.95
        assert model.predict(form).shape == (500,)


def test_rows_that_come_in_parts_are_all_of_them(simulated):
    x, truth = simulated
    order = np.random.default_rng(1).permutation(500)
    x, truth = x[order], truth[order]
    whole = VonMisesFisherMixture(**QUICK).fit(x)
    model = VonMisesFisherMixture(**QUICK)
    for part in (slice(200), slice(200, 450), slice(450, None)):
        model.partial_fit(x[part])
        for wrong, words in ((x[:, :5], "features"), (sp.csr_matrix(x), "of the other kind")):
            with pytest.raises(ValueError, match=words):
                model.partial_fit(wrong)
    np.testing.assert_array_equal(model.draws_["directions"], whole.draws_["directions"])
    np.testing.assert_array_equal(model.labels_, whole.labels_)
    sparse = VonMisesFisherMixture(**QUICK)
    for part in (slice(250), slice(250, None)):
        sparse.partial_fit(sp.csr_matrix(x[part]))
    assert normalized_mutual_info_score(sparse.labels_, truth) > 0.95
    assert sparse.fit(x).partial_fit(x[:100]).labels_.shape == (100,)


@pytest.mark.slow  # `test_every_model` has it in CI
def test_sixty_steps_and_forty_more_are_a_hundred(simulated):
    rows, settings = rows_of(simulated[0]), Settings(batch_size=130, num_draws=4)
    whole, first, second = (Chain(rows, settings, seed=5) for _ in range(3))
    plan = whole.shares.plan(100)
    for chain, steps in ((whole, 100), (first, 60), (second, 40)):
        if chain is second:
            chain.restore({name: np.array(value) for name, value in first.state().items()})
        chain.begin(plan)
        chain.advance(np.array([steps]), store=False)
    for name, value in whole.state().items():
        np.testing.assert_array_equal(second.state()[name], value, err_msg=name)
    again = sampled([Chain(rows, settings, seed=5)], 100)
    np.testing.assert_array_equal(again["assignments"][0, -1], whole.draw()["assignments"])


BAD = np.eye(3)[[0, 1, 2, 0]]


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("x", "settings", "words"),
    [
        (np.where(BAD > 0, np.nan, 0.0), {}, "NaN"),
        (np.where(BAD > 0, 0, 0.0), {}, "row 0 is zero and has no direction"),
        (3 * BAD, {}, "row 0 has norm 3; divide each row by its norm, or say normalise=True"),
        (BAD[:1], {}, "minimum of 2"),
        (BAD, {"n_clusters": 5}, "n_clusters is 5 but there are 4 rows"),
        (BAD[[0, 0, 0]], {}, "all 3 rows are equal"),
        (BAD, {"n_clusters": 0}, "n_clusters must be a whole number from 1"),
        (BAD, {"n_clusters": "some"}, "or auto"),
        (BAD, {"direction_prior": [1.0]}, "direction_prior must be 3 finite numbers"),
        (BAD.astype(np.float16) * np.float16(np.nan), {}, "row 0 has a value that is NaN"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_in_one_line(x, settings, words):
    with pytest.raises(ValueError, match=words):
        VonMisesFisherMixture(**settings, **QUICK).fit(x)
    if "norm" in words:
        VonMisesFisherMixture(2, normalise=True, **QUICK).fit(x)


# scikit-learn's data has rows of zeros, which have no direction.
ZERO_ROWS = {
    name: "rows of zeros are refused"
    for name in (
        "check_estimators_dtypes",
        "check_estimator_sparse_tag",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
    )
}


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked_types")
def test_scikit_learn_accepts_the_estimator():
    estimator = VonMisesFisherMixture(2, normalise=True, n_passes=4, n_draws=2, n_chains=1)
    results = check_estimator(estimator, on_fail=None, on_skip=None, expected_failed_checks=ZERO_ROWS)
    assert {r["check_name"]: str(r["exception"]) for r in results if r["status"] == "failed"} == {}


@pytest.mark.parametrize(("rows", "passes"), [(10, 1000), (300, 1000), (2000, 250), (10**6, 100)])
def test_few_rows_are_gone_over_more_often(rows, passes):
    assert _default_passes(rows) == passes
