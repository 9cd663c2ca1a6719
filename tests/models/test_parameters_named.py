"""Parameters of the estimators are named as users write them, and whole numbers may be NumPy's."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import geodrift as gd
from geodrift.models.kit._allowed import Share

COUNTS = np.random.default_rng(0).poisson(0.7, (40, 12))
VECTORS = np.random.default_rng(1).standard_normal((60, 5))
VECTORS /= np.linalg.norm(VECTORS, axis=1, keepdims=True)
SHORT = {
    gd.models.LatentDirichletAllocation: {"n_topics": 3, "n_steps": 30, "n_chains": 2},
    gd.models.SphericalAdmixture: {"n_topics": 3, "n_steps": 30, "n_chains": 2},
    gd.models.DirichletProcessMixture: {"n_steps": 30, "n_chains": 2},
    gd.models.HierarchicalDirichletProcess: {"n_steps": 30, "n_chains": 2},
    gd.models.VonMisesFisherMixture: {"n_clusters": 3, "n_passes": 10, "n_chains": 2},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", SHORT, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"n_chains": 0}, "n_chains = 0: must be a whole number, 1 or more"),
        ({"n_chains": "2"}, "n_chains = '2': must be a whole number"),
        ({"n_draws": 0}, "n_draws must be a whole number from 1 to 1000000, got 0"),
        ({"steps": 0}, r"n_(steps|passes) = 0: must be a whole number"),
        ({"steps": 15.5}, r"n_(steps|passes) = 15.5: must be a whole number"),
    ],
)
def test_numbers_of_things_are_named(kind, changes, told):
    given = dict(SHORT[kind])
    if "steps" in changes:
        given["n_passes" if "n_passes" in given else "n_steps"] = changes["steps"]
    else:
        given |= changes
    X = VECTORS if kind is gd.models.VonMisesFisherMixture else COUNTS
    with pytest.raises(ValueError, match=told):
        kind(**given).fit(X)


@pytest.mark.filterwarnings("ignore")
def test_a_grid_of_numpys_numbers_is_searched():
    model = gd.models.VonMisesFisherMixture(n_passes=10, n_chains=2, random_state=0)
    search = GridSearchCV(model, {"n_clusters": np.arange(1, 3)}, cv=2, error_score="raise").fit(VECTORS)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    one = gd.models.VonMisesFisherMixture(2, n_passes=10, n_chains=2, random_state=0).fit(VECTORS)
    same = gd.models.VonMisesFisherMixture(np.int64(2), n_passes=10, n_chains=2, random_state=0).fit(VECTORS)
    np.testing.assert_array_equal(one.draws_["directions"], same.draws_["directions"])


def test_counts_that_are_all_zero_are_refused():
    with pytest.raises(ValueError, match="X has no count above 0"):
        gd.models.DirichletProcessMixture().fit(np.zeros((20, 5), int))


def test_a_share_is_any_number_below_one_and_no_truth_value():
    assert all(Share().holds(value) for value in (0, 0.5, np.float32(0.5), np.int64(0)))
    assert not any(Share().holds(value) for value in (False, True, 1.0, np.float32(1.0), float("nan"), "0.5"))


def test_numbers_that_are_an_array_of_no_dimension_are_refused_by_name():
    with pytest.raises(ValueError, match=r"doc_topic_prior must be a number .*, got array\(0.1\)"):
        gd.models.LatentDirichletAllocation(2, doc_topic_prior=np.array(0.1)).fit(np.eye(5, dtype=int))
