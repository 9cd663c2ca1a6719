"""Where a chain begins changes no law: chains that begin at wrong topics have the posterior of the model."""

import numba
import numpy as np
import pytest
from command import WORDS, documents
from driver_chains import drawn_from

from cases import ModelLaw
from geodrift.data import Corpus
from law_checks import assert_means
from models import model_laws


@pytest.fixture
def one_thread():
    before = numba.get_num_threads()
    numba.set_num_threads(1)  # two documents keep no second one busy
    yield
    numba.set_num_threads(before)


# The first word alone in one topic, the last in the other; of the SAM two directions away from the documents.
CHAINS = 12
WRONG = {
    "lda": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], np.float32),
    "sam": np.array([[1.0, 0.0], [0.8, -0.6]], np.float32),
}


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("name", ["lda", "sam"])
def test_posterior_means_do_not_know_the_start(name):
    law = getattr(model_laws, name)()
    draws = [
        law.statistics(drawn_from(name, law, number, WRONG[name]))
        for number in range(min(CHAINS, law.num_chains))
    ]
    assert_means(np.array(draws), law.expected)


@pytest.mark.parametrize("name", WRONG)
def test_the_start_is_taken(name):
    """Chains that begin at the same topics in two orders have them in these orders."""
    groups = np.kron(np.eye(3), np.full(10, 0.1)).astype(np.float32)
    corpus, settings = Corpus.from_matrix(documents(60, 0), WORDS), {"n_topics": 3, "num_draws": 1}
    law = ModelLaw(corpus, settings, 1, 4, None, None)
    for order in ([0, 1, 2], [2, 0, 1]):
        topics = drawn_from(name, law, 0, groups[order])["topics"][-1]
        assert topics.reshape(3, 3, 10).sum(axis=2).argmax(axis=1).tolist() == order
