"""A call that is refused or interrupted after `fit` changes nothing: what was fitted still answers."""

import numpy as np
import pandas as pd
import pytest

from geodrift.models import (
    DirichletProcessMixture,
    LatentDirichletAllocation,
    SphericalAdmixture,
    VonMisesFisherMixture,
)

pytestmark = pytest.mark.usefixtures("unchecked_types")

SEED = {"n_chains": 1, "random_state": 0}
SHORT = {"n_draws": 5, **SEED}
COUNTS = np.random.default_rng(0).poisson(1.0, (30, 10))
VECTORS = np.random.default_rng(0).normal(size=(30, 4))
VECTORS /= np.linalg.norm(VECTORS, axis=1, keepdims=True)
APART = VECTORS + np.repeat([[3.0, 0, 0, 0], [0, 3.0, 0, 0]], 15, axis=0)
APART /= np.linalg.norm(APART, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("model", "rows", "refused", "answer"),
    [
        (LatentDirichletAllocation(2, n_steps=10, **SHORT), COUNTS, -COUNTS[:, :7], "transform"),
        (LatentDirichletAllocation(2, n_steps=10, **SHORT), COUNTS, COUNTS[:, :7] * 10**12, "transform"),
        (DirichletProcessMixture(n_steps=10, **SHORT), COUNTS, -COUNTS[:, :7], "predict"),
        (VonMisesFisherMixture(2, n_passes=9, **SEED), VECTORS, VECTORS[:, :3], "predict"),
    ],
)
def test_a_refused_part_leaves_what_was_fitted(model, rows, refused, answer):
    named = pd.DataFrame(rows, columns=[f"w{i}" for i in range(rows.shape[1])])
    model.fit(named)
    before = getattr(model, answer)(named)
    with pytest.raises(ValueError, match=r"egative|words, and may have|norm 1"):
        model.partial_fit(refused)
    assert model.n_features_in_ == rows.shape[1]
    assert list(model.feature_names_in_) == list(named.columns)
    np.testing.assert_array_equal(getattr(model, answer)(named), before)


@pytest.mark.parametrize(
    ("model", "rows", "others", "answer"),
    [
        (SphericalAdmixture(2, n_steps=10, **SHORT), COUNTS, COUNTS * (COUNTS > 2), "transform"),
        (VonMisesFisherMixture(2, n_passes=40, **SEED), APART, APART[::-1], "predict_proba"),
    ],
)
def test_an_interrupted_fit_leaves_what_was_fitted(monkeypatch, model, rows, others, answer):
    """Draws of the rows before answered for documents' frequencies, or numbers, of those that came."""

    def interrupted(*args, **named):
        raise KeyboardInterrupt

    model.fit(rows)
    before = getattr(model, answer)(others)
    monkeypatch.setattr(f"{type(model).__module__}.sampled", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(others)
    np.testing.assert_array_equal(getattr(model, answer)(others), before)
