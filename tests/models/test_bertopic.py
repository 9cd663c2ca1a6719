"""The mixture in place of BERTopic's `hdbscan_model`; skipped where BERTopic is not installed.

BERTopic's light installation is enough: pip install --no-deps bertopic, and plotly, tqdm, pyyaml.
"""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from geodrift.distributions._host_sample import host_sample
from geodrift.models import VonMisesFisherMixture

bertopic = pytest.importorskip("bertopic", reason="BERTopic is not installed")

THEMES = (
    ("river", "water", "fish", "boat"),
    ("engine", "wheel", "road", "brake"),
    ("note", "chord", "song", "tune"),
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("background", [0.0, 1.0])
def test_the_mixture_takes_the_place_of_hdbscan(background):
    """Texts of three themes with vectors made before: the topics are the themes, new texts find theirs."""
    rng, truth = np.random.default_rng(0), np.repeat([0, 1, 2], [60, 50, 40])
    texts = [" ".join(rng.choice(THEMES[k], 6)) for k in truth]
    embeddings = host_sample(rng, 100 * np.eye(16)[truth])
    clusters = VonMisesFisherMixture(
        3, normalise=True, background=background, n_passes=20, n_draws=5, n_chains=2, random_state=0
    )
    model = bertopic.BERTopic(embedding_model=None, umap_model=PCA(8), hdbscan_model=clusters)
    topics, _ = model.fit_transform(texts, embeddings)
    topics = np.array(topics)
    assert (topics >= 0).mean() > 0.95
    found = {k: np.bincount(topics[(truth == k) & (topics >= 0)]).argmax() for k in range(3)}
    assert sorted(found.values()) == [0, 1, 2]
    inside = topics >= 0
    assert (topics[inside] == np.vectorize(found.get)(truth[inside])).mean() > 0.95
    for k, topic in found.items():
        assert {word for word, _ in model.get_topic(topic)[:4]} == set(THEMES[k])
    # Without hdbscan BERTopic 0.17 cannot ask whether a model is one: its own transform fails for any.
    pytest.importorskip("hdbscan", reason="the topics were right; BERTopic's transform needs hdbscan")
    new, _ = model.transform(texts[:5], host_sample(rng, 100 * np.eye(16)[truth[:5]]))
    assert list(new) == [found[k] for k in truth[:5]]
