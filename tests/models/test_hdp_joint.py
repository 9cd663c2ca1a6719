"""Geweke's (2004) joint test: words and all that is sampled, drawn in turn, have the law of the prior."""

import numba
import numpy as np
import pytest
import scipy.sparse as sp

from geodrift.models.hierarchical_dirichlet_process import Chain, Settings
from geodrift.models.hierarchical_dirichlet_process.sampler._represented import restaurant
from geodrift.models.kit._facade import MatrixCorpus
from law_checks import assert_means

LENGTHS, NUM_WORDS, PRIOR = (6, 5, 7), 4, 0.4
DOCUMENTS = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
CHAINS, STEPS, BURN_IN = 12, 500, 50


def draw_words(topics, rng):
    """A word for every token, its topic's probabilities integrated out."""
    _, names = np.unique(topics, return_inverse=True)
    return np.array([rng.choice(NUM_WORDS, p=p) for p in rng.dirichlet([PRIOR] * NUM_WORDS, 99)[names]])


def statistics(alpha, gamma, topics, words):
    """Bounded functions of the concentrations, of the topics, and of how words go with topics."""
    same_topic, same_word = topics[:, None] == topics, words[:, None] == words
    same_document = DOCUMENTS[:, None] == DOCUMENTS
    upper = np.triu(np.ones(same_topic.shape, bool), 1)
    number = len(np.unique(topics))
    return [
        np.exp(-alpha),
        np.exp(-gamma / 10),
        number,
        number == 1,
        same_topic[upper & same_document].mean(),
        same_topic[upper & ~same_document].mean(),
        (same_topic & same_word)[upper & ~same_document].mean(),
    ]


def from_prior(rng):
    """Concentrations, topics of all tokens by the Chinese restaurant franchise, and words."""
    alpha, gamma = rng.gamma(1.0), rng.gamma(1.0) / 0.1
    topics, dishes, number = [], [], 0
    for length in LENGTHS:
        sizes = restaurant(length, alpha, rng)
        of_tables = []
        for _ in sizes:
            at = rng.random() * (gamma + len(dishes))
            dishes.append(number if at >= len(dishes) else dishes[int(at)])
            number = max(number, dishes[-1] + 1)
            of_tables.append(dishes[-1])
        # Which tokens sit at which table: any order of the tokens has the same probability.
        topics.extend(rng.permutation(np.repeat(of_tables, sizes)))
    topics = np.array(topics)
    return alpha, gamma, topics, draw_words(topics, rng)


def with_other_words(chain, words):
    """A chain with the same state and other words; the assignments are in the order of the words."""
    counts = np.zeros((len(LENGTHS), NUM_WORDS), int)
    np.add.at(counts, (DOCUMENTS, words), 1)
    order = np.lexsort((words, DOCUMENTS))
    state = chain.state()
    state["move.assignments"] = state["move.assignments"][order]
    table, parts = np.zeros_like(state["move.word_topic"]), np.zeros_like(state["move.in_parts"])
    np.add.at(table, (words[order], state["move.assignments"]), 1)
    parts[0] = table.sum(axis=0)
    other = Chain(MatrixCorpus(sp.csr_matrix(counts)), chain.settings, seed=chain.seed, chain=chain.chain)
    other.restore(state | {"move.word_topic": table, "move.in_parts": parts})
    return other, words[order]


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [3, 1])
def test_words_and_topics_drawn_in_turn_have_the_law_of_the_prior(batch_size):
    numba.set_num_threads(1)
    rng = np.random.default_rng(0)
    expected = np.array([statistics(*from_prior(rng)) for _ in range(20_000)])
    settings, draws = Settings(topic_word_prior=PRIOR, batch_size=batch_size, first_topics=3), []
    for number in range(CHAINS):
        first = np.zeros((len(LENGTHS), NUM_WORDS), int)
        np.add.at(first, (DOCUMENTS, rng.integers(NUM_WORDS, size=len(DOCUMENTS))), 1)
        chain, kept = Chain(MatrixCorpus(sp.csr_matrix(first)), settings, seed=4, chain=number), []
        for _ in range(40):  # until all documents have joined
            chain.step()
        for _ in range(STEPS):
            chain, words = with_other_words(chain, draw_words(chain.move.assignments, rng))
            kept.append(statistics(*chain.move.concentrations, chain.move.assignments.astype(int), words))
            for _ in range(2):
                chain.step()
        draws.append(kept[BURN_IN:])
    error = expected.std(axis=0) / np.sqrt(len(expected))
    assert_means(np.array(draws), expected.mean(axis=0), slack=3 * error)
