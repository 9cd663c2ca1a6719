"""Does the hierarchical Dirichlet process sample its posterior: all partitions of a few tokens; the prior."""

from types import SimpleNamespace

import numba
import numpy as np
import pytest
import scipy.sparse as sp

from geodrift.driver import sampled
from geodrift.models.hierarchical_dirichlet_process import Chain, Settings
from geodrift.models.hierarchical_dirichlet_process.sampler import _gibbs, _represented, _topic_table
from geodrift.models.kit._facade import MatrixCorpus
from law_checks import assert_means
from models import hdp_problem as problem
from models.dpm_problem import canonical

COUNTS = np.array([[2, 1, 0], [0, 1, 2]])
ALIKE = np.array([[3, 0], [2, 0], [0, 1]])
PRIOR = 0.4

pytestmark = pytest.mark.usefixtures("unchecked_types", "one_thread")


@pytest.fixture
def one_thread():
    number = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(number)


@pytest.fixture(params=[pytest.param("all large", marks=pytest.mark.slow), "small ones"])
def large(request, monkeypatch):
    """Whether some topics are small: of few topics all are large."""
    if request.param == "small ones":
        monkeypatch.setattr(_topic_table, "filled", lambda large: 1)
    return request.param


def draws_of(counts, num_chains, num_steps, seed=1, **settings):
    """Assignments after every step; and the other weight, alpha_0 and gamma; [chain, draw, ...] each."""
    told = Settings(**{"topic_word_prior": PRIOR, "first_topics": 2} | settings)
    found = []
    for number in range(num_chains):
        chain, kept = Chain(MatrixCorpus(sp.csr_matrix(counts)), told, seed=seed, chain=number), []
        for step in range(num_steps):
            chain.step()
            if step >= 100:
                move = chain.move
                other = 1 - move.alpha[move.order()].sum() / move.alpha.sum()
                kept.append([*move.assignments.astype(int), other, *move.concentrations])
        found.append(kept)
    found = np.array(found)
    return canonical(found[..., :-3].astype(int)), found[..., -3:]


@pytest.mark.parametrize(
    ("counts", "settings"),
    [
        pytest.param(
            COUNTS,
            {"mixture_concentration": 0.8, "weight_concentration": 1.5},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            COUNTS,
            {"mixture_concentration": 0.8, "weight_concentration": 1.5, "batch_size": 1},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ALIKE, {"mixture_concentration": 3.0, "weight_concentration": 0.5}, marks=pytest.mark.slow
        ),
        (COUNTS, {}),
    ],
    ids=["all documents", "one document a step", "long mixtures", "concentrations drawn"],
)
@pytest.mark.usefixtures("large")
def test_partitions_have_the_posterior_s_probabilities(counts, settings):
    exact = problem.posterior(
        counts, PRIOR, settings.get("mixture_concentration"), settings.get("weight_concentration")
    )
    slower = "batch_size" in settings
    assignments, numbers = draws_of(counts, 12, 700 * (1 + slower), **settings)
    likely = exact.p > 0.015
    seen = (assignments[:, :, None] == exact.partitions[likely]).all(axis=-1)
    size = assignments.max(axis=-1) + 1
    several = np.stack([size == number for number in (1, 2, 3)], axis=-1)
    expected = [*exact.p[likely], *(exact.of_number(number) for number in (1, 2, 3)), exact.other_weight]
    values = np.concatenate([seen, several, numbers[..., :1]], axis=-1)
    if not settings:
        expected += [exact.alpha, exact.gamma]
        values = np.concatenate([values, numbers[..., 1:]], axis=-1)
    assert_means(values, np.array(expected))


@pytest.mark.slow
def test_words_that_say_nothing_leave_the_prior():
    """With one word in the vocabulary every partition has the same likelihood."""
    alpha, gamma, lengths = 1.2, 2.0, [6, 4, 5]
    rng, found = np.random.default_rng(0), []
    for _ in range(20_000):
        dishes, number = [], 0
        for length in lengths:
            for _ in range(len(_represented.restaurant(length, alpha, rng))):
                at = rng.random() * (gamma + len(dishes))
                dishes.append(number if at >= len(dishes) else dishes[int(at)])
                number = max(number, dishes[-1] + 1)
        found.append([number, number == 1, number > 4])
    settings = {"mixture_concentration": alpha, "weight_concentration": gamma}
    assignments, _ = draws_of(np.array(lengths)[:, None], 12, 700, **settings)
    sizes = np.stack([[len(np.unique(draw)) for draw in chain] for chain in assignments])
    values = np.stack([sizes, sizes == 1, sizes > 4], axis=-1)
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert_means(values, np.mean(found, axis=0), slack=3 * error)


def test_customers_choose_and_leave_the_weights_law():
    """Of beta ~ Dirichlet and its customers: the weights of new topics and of the rest, against sticks."""
    rng, gamma, customers = np.random.default_rng(1), 1.5, 7
    found, expected = [], []
    for _ in range(4000):
        drawn = _represented.represented(np.array([0.3]), 0.7, gamma, customers, rng)
        new = drawn.weights[1:]
        found.append([drawn.is_open[0], len(new), drawn.others, (new**2).sum()])
        sticks, left = [], 0.7
        for _ in range(60):
            sticks.append(left * rng.beta(1.0, gamma))
            left -= sticks[-1]
        counts = rng.multinomial(customers, [0.3, *sticks, left])
        chosen = np.array(sticks)[counts[1:-1] > 0]
        expected.append([counts[0] > 0, len(chosen), 0.7 - chosen.sum(), (chosen**2).sum()])
    error = np.std(expected, axis=0) / np.sqrt(len(expected))
    assert_means(np.array(found).reshape(20, 200, 4), np.mean(expected, axis=0), slack=3 * error)


def test_the_number_of_customers_is_four_times_the_tables_of_the_prior():
    rng, lengths = np.random.default_rng(2), np.array([0, 5, 30])
    tables = [sum(len(_represented.restaurant(n, 0.7, rng)) for n in lengths) for _ in range(4000)]
    found = _represented.number_of_customers(0.7, lengths)
    assert found == pytest.approx(4 * np.mean(tables), abs=1 + 12 * np.std(tables) / np.sqrt(4000))
    assert _represented.number_of_customers(1e-12, lengths) in (8, 9)  # two documents of one table each


@pytest.mark.usefixtures("large")
def test_a_topic_that_nobody_chose_keeps_its_tokens_and_gets_none():
    rng = np.random.default_rng(3)
    corpus = MatrixCorpus(sp.csr_matrix(rng.poisson(0.6, (40, 12))))
    chain = Chain(corpus, Settings(first_topics=5, batch_size=15, topic_word_prior=1.0), seed=2)
    for _ in range(60):
        chain.step()
    move = chain.move
    move.is_open[:] = False
    move.is_open[move.order()[1:3]] = True
    before = move.assignments.copy()
    batch = chain.source.minibatch(rng.permutation(40)[:15])
    move._sweep(batch, chain.source.starts[batch.documents], move.assignments, 60)
    moved = before != move.assignments
    assert moved.any()
    assert move.is_open[before[moved]].all()
    assert move.is_open[move.assignments[moved]].all()
    recount = np.zeros_like(move.counts.word_topic)
    words = np.repeat(corpus.matrix.indices, corpus.matrix.data.astype(int))
    np.add.at(recount, (words, move.assignments), 1)
    assert np.array_equal(recount, move.counts.word_topic)
    assert np.array_equal(recount.sum(axis=0), move.counts.in_parts.sum(axis=0))
    bits = np.unpackbits(move.counts.of_words.view(np.uint8), axis=1, bitorder="little")
    small = recount[:, move.counts.large :] > 0
    assert bits[:, : small.shape[1]][small].all()


def test_large_topics_come_first_and_fill_vectors():
    rng = np.random.default_rng(4)
    sizes = np.array([3] * 30 + [4000] * 18 + [0] * 2)
    words, topics = rng.integers(50, size=sizes.sum()), np.repeat(np.arange(50), sizes)
    table = _topic_table.TopicTable(SimpleNamespace(num_words=50), 50, np.array([0, 20, 50]))
    np.add.at(table.word_topic, (words, topics), 1)
    np.add.at(table.in_parts, ((words >= 20).astype(int), topics), 1)
    order = np.concatenate([np.arange(30, 48), np.arange(30)])
    before = table.word_topic[:, order].copy()
    table.keep(order, 70)
    size = table.word_topic.shape[1]
    assert (table.large, table.num_topics, size % 16) == (31, 70, 0)
    assert 70 <= size <= 2 * 70
    assert np.array_equal(table.word_topic[:, :48], before)
    assert not table.word_topic[:, 48:].any()
    assert np.array_equal(table.in_parts.sum(axis=0), table.word_topic.sum(axis=0))
    bits = np.unpackbits(table.of_words.view(np.uint8), axis=1, bitorder="little")[:, : size - table.large]
    assert np.array_equal(bits, table.word_topic[:, table.large :] > 0)
    # A table that has room stays where it is; topics that lost their last token leave it.
    held, fewer = table.word_topic, np.delete(np.arange(48), [4, 20, 47])
    table.keep(fewer, 75)
    assert table.word_topic is held
    assert np.array_equal(table.word_topic[:, :45], before[:, fewer])
    assert not table.word_topic[:, 45:].any()
    assert np.array_equal(table.in_parts.sum(axis=0), table.word_topic.sum(axis=0))
    bits = np.unpackbits(table.of_words.view(np.uint8), axis=1, bitorder="little")[:, : size - table.large]
    assert np.array_equal(bits, table.word_topic[:, table.large :] > 0)


@pytest.mark.slow
def test_more_topics_than_two_bytes_name_are_refused(monkeypatch):
    monkeypatch.setattr(_gibbs, "MOST_TOPICS", 6)
    chain = Chain(MatrixCorpus(sp.csr_matrix(COUNTS)), Settings(weight_concentration=1e3), seed=0)
    with pytest.raises(ValueError, match="smaller weight_concentration"):
        sampled([chain], 50)
