"""Each draw of the kernels that integrate the topics out, against its conditional law at that moment."""

import numpy as np
import pytest

from geodrift.kernels._bits import BITS
from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._vector_draw import LANES, padded
from geodrift.models.hierarchical_dirichlet_process.sampler._sweeps import (
    SplitCounts,
    sweeps_with_small_topics,
)
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sparse_draw import VISIT
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sparse_sweeps import sparse_gibbs_sweeps
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sweeps import collapsed_gibbs_sweeps
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._word_rows import WordRows
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import TokenSource
from law_checks import z_bound
from models import lda_problem as problem

WORDS, PRIOR = 12, 0.6
BOUNDS = np.array([0, 3, 7, 12])


class Problem:
    """A small corpus with assignments, their counts, and masses of three parts of the words.

    ``form`` is "dense", document after document, "sparse", word after word, or the number of large topics,
    document after document. ``power`` is that of "dense".
    """

    def __init__(self, num_topics, seed, form="dense", rate=0.9, power=1.0):
        rng, self.form, self.power = np.random.default_rng(seed), form, power
        source = TokenSource(problem.corpus(rng.poisson(rate, (9, WORDS))))
        self.batch, self.starts = source.minibatch(np.arange(9)), source.starts
        self.words = np.repeat(self.batch.vocabulary[self.batch.words], self.batch.counts)
        self.z = rng.integers(num_topics, size=source.num_tokens).astype(np.uint8)
        self.alpha = rng.uniform(0.05, 0.6, num_topics).astype(np.float32)
        self.masses = rng.dirichlet(np.full(3, 4.0), num_topics).T.copy()
        self.numbers = np.zeros((WORDS, padded(num_topics)), np.int32)
        np.add.at(self.numbers, (self.words, self.z), 1)

    def redraw(self, seed):
        """One sweep of the kernel: the assignments and counts after it."""
        z, numbers = self.z.copy(), self.numbers.copy()
        in_parts = np.add.reduceat(numbers, BOUNDS[:-1]).astype(float)
        common = self.batch, self.starts[:-1], BOUNDS, z
        more = (in_parts, self.masses, self.alpha, PRIOR)
        streams = Family(seed, 0, 0)
        if isinstance(self.form, int):
            # Sets may have what no token is of.
            blocks = range(0, numbers.shape[1] - self.form, BITS)
            small = [min(max(len(self.alpha) - self.form - at, 0), BITS) for at in blocks]
            of_words = np.array([[(1 << number) - 1 for number in small]] * WORDS, np.uint64)
            split = SplitCounts(numbers, of_words, in_parts, self.form)
            sweeps_with_small_topics(*common, split, *more[1:], sweeps=1, streams=streams)
        elif self.form == "dense":
            collapsed_gibbs_sweeps(*common, numbers, *more, sweeps=1, power=self.power, streams=streams)
        else:
            rows = WordRows.empty(numbers.sum(axis=1), len(self.alpha))
            rows.add(self.words, np.ones_like(self.words), z, np.zeros_like(in_parts), BOUNDS)
            sparse_gibbs_sweeps(*common, rows, *more, sweeps=1, streams=streams)
            numbers[:, : len(self.alpha)] = rows.table(np.arange(WORDS), len(self.alpha))
            assert rows.counts[: rows.sizes[0]].all()
        np.testing.assert_array_equal(in_parts, np.add.reduceat(numbers, BOUNDS[:-1]))
        return z, numbers

    def sweeps(self):
        """The part of each sweep over a group of documents, and its tokens in the kernel's order."""
        parts = np.searchsorted(BOUNDS, self.words, side="right") - 1
        groups = np.repeat([0, 1, 2], np.diff(self.starts[::3]))
        for phase in range(3):
            for group in range(3):
                part = (group + phase) % 3
                tokens = np.flatnonzero((groups == group) & (parts == part))
                by_word = np.argsort(self.words[tokens], kind="stable")
                yield part, tokens[by_word] if self.form == "sparse" else tokens

    def draws(self, after):
        """For each draw in turn its probabilities, what it became, and functions of the topic, [f, K]."""
        num_topics = len(self.alpha)
        z, numbers = self.z.astype(int), self.numbers[:, :num_topics].copy()
        documents = np.searchsorted(self.starts, np.arange(len(z)), side="right") - 1
        sizes, topics = np.diff(BOUNDS), np.arange(num_topics)
        for part, tokens in self.sweeps():
            inside = slice(BOUNDS[part], BOUNDS[part + 1])
            # The kernel renews what it keeps of a topic where the topic loses or gains a token.
            touched, gained = np.zeros(num_topics), np.zeros(num_topics)
            for token in tokens:
                word, document = self.words[token], documents == documents[token]
                numbers[word, z[token]] -= 1
                touched[z[token]], gained[z[token]] = 1.0, 0.0
                in_document = np.bincount(z[document], minlength=num_topics)
                in_document[z[token]] -= 1
                in_part = PRIOR * sizes[part] + numbers[inside].sum(axis=0)
                factors = [self.alpha + in_document, self.masses[part], PRIOR + numbers[word], 1.0 / in_part]
                weights = piecewise_power(np.prod(factors, axis=0), self.power)
                values = [*np.log(factors), touched.copy(), gained.copy(), topics // LANES, topics % LANES]
                z[token] = after[token]
                numbers[word, z[token]] += 1
                touched[z[token]] = 1.0
                gained[z[token]] += 1.0
                yield weights / weights.sum(), z[token], np.array(values)
        self.replayed = numbers


def piecewise_power(values, power):
    """A power by logarithms that are linear between powers of two, there and back."""
    exponent = np.floor(np.log2(values))
    log = power * (exponent + values / 2.0**exponent - 1.0)
    return 2.0 ** np.floor(log) * (1.0 + log - np.floor(log))


@pytest.mark.parametrize("power", [0.3, 0.8, 1.0])
def test_the_power_by_pieces_is_near_the_power_and_increases(power):
    values = np.geomspace(1e-9, 1e6, 20_001)
    found = piecewise_power(values, power)
    assert np.abs(found / values**power - 1.0).max() < (1e-9 if power == 1.0 else 0.0615)
    assert (np.diff(found) > 0.0).all()


def scores_of_draws(num_topics, form, rate, problems, power=1.0, law=1.0):
    """Sums over draws of what a function of the topic is beyond its mean, for functions that tell errors.

    The draws have ``power``, and their law that of ``law``.
    """
    excess, variance = np.zeros(8), np.zeros(8)
    for seed in range(200, 200 + problems):
        small = Problem(num_topics, seed, form, rate, power)
        z, numbers = small.redraw(seed)
        small.power = law
        for p, drawn, values in small.draws(z):
            mean = values @ p
            excess += values[:, drawn] - mean
            variance += (values**2) @ p - mean**2
        np.testing.assert_array_equal(small.replayed, numbers[:, :num_topics])
    assert rate < 1 or np.bincount(small.words).min() > 3 * VISIT
    some = variance > 1e-6
    assert some.sum() == (8 if num_topics > LANES else 7)
    return np.abs(excess[some] / np.sqrt(variance[some])).max()


BOUND = z_bound(15 + 24)


@pytest.mark.parametrize(
    ("num_topics", "form", "rate", "problems"),
    [
        pytest.param(3, "dense", 0.9, 400, marks=pytest.mark.slow),
        pytest.param(40, "dense", 0.9, 400, marks=pytest.mark.slow),
        pytest.param(3, "sparse", 0.9, 400, marks=pytest.mark.slow),
        (40, "sparse", 0.9, 400),
        pytest.param(40, "sparse", 8.0, 60, marks=pytest.mark.slow),  # words of several visits
        pytest.param(3, 1, 0.9, 400, marks=pytest.mark.slow),
        pytest.param(40, 0, 0.9, 400, marks=pytest.mark.slow),
        pytest.param(40, 2, 0.9, 400, marks=pytest.mark.slow),
        pytest.param(40, 31, 0.9, 400, marks=pytest.mark.slow),
        pytest.param(100, 15, 0.9, 80, marks=pytest.mark.slow),
    ],
)
def test_every_draw_has_its_conditional_law(num_topics, form, rate, problems):
    assert scores_of_draws(num_topics, form, rate, problems) < BOUND


@pytest.mark.parametrize("num_topics", [pytest.param(3, marks=pytest.mark.slow), 40])
def test_with_a_power_below_one_every_draw_has_that_of_its_conditional_law(num_topics):
    assert scores_of_draws(num_topics, "dense", 0.9, 200, power=0.6, law=0.6) < BOUND
    assert scores_of_draws(num_topics, "dense", 0.9, 60, power=0.6) > BOUND
