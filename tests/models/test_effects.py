"""Effects of groups: the law of their shares, and what is made of the values of a field."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import gammaln

from geodrift.data import InputError
from geodrift.models.kit._effects import trend
from geodrift.models.kit._groups import groups_of
from geodrift.models.latent_dirichlet_allocation.documents import _group_shares
from geodrift.models.latent_dirichlet_allocation.documents._group_shares import group_shares

TOPICS = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
COUNTS = np.array([[2, 1, 0], [2, 0, 0], [0, 0, 3], [1, 0, 0], [1, 0, 0]])


def exact_share(counts):
    """Mean and standard deviation of m_1 by a grid over alpha and a sum over all assignments.

    The prior of each alpha is Gamma(1, 1); given alpha, documents are independent. With the weights
    Dirichlet(1, ..., 1) of n + 1 documents E[w_i w_j] = (1 + [i = j]) / ((n + 1) (n + 2)).
    """
    logs = np.linspace(np.log(1e-4), np.log(40.0), 400)
    one, two = np.meshgrid(np.exp(logs), np.exp(logs), indexing="ij")
    total = one + two
    log_density = -total + np.log(one) + np.log(two)  # in the logarithms, with the Jacobian
    first, second = one / total, one * (one + 1) / (total * (total + 1))  # moments of a mixture of the prior
    sums, squares, own = first.copy(), first**2, second.copy()
    for row in counts:
        words = np.repeat(np.arange(3), row)
        terms, numbers = [], []
        for z in itertools.product((0, 1), repeat=len(words)):
            n = np.bincount(z, minlength=2)
            of_words = np.log(TOPICS[list(z), words]).sum()
            of_first = gammaln(one + n[0]) - gammaln(one)
            terms.append(of_words + of_first + gammaln(two + n[1]) - gammaln(two))
            numbers.append(n[0])
        log_row = np.logaddexp.reduce(terms, axis=0)
        log_density += log_row + gammaln(total) - gammaln(total + len(words))
        p, of_z, whole = np.exp(terms - log_row), np.array(numbers)[:, None, None], total + len(words)
        first = (p * (one + of_z)).sum(axis=0) / whole
        second = (p * (one + of_z) * (one + of_z + 1)).sum(axis=0) / (whole * (whole + 1))
        sums, squares, own = sums + first, squares + first**2, own + second
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()
    documents = len(counts) + 1
    mean = (weights * sums).sum() / documents
    of_square = (weights * (sums**2 - squares + 2 * own)).sum() / (documents * (documents + 1))
    return mean, np.sqrt(of_square - mean**2)


def test_shares_of_a_small_group_are_those_of_quadrature(monkeypatch):
    monkeypatch.setattr(_group_shares, "DRAWS_PER_TOPIC_DRAW", 4000)
    monkeypatch.setattr(_group_shares, "SWEEPS_A_DRAW", 1)
    rows = sp.csr_matrix(np.vstack([COUNTS, np.zeros((1, 3), int)]))  # one without words says nothing
    draws = group_shares(rows, np.stack([TOPICS] * 5), 0.3, seed=4)[:, 0].reshape(5, 40, 100)
    batches = draws.mean(axis=2).ravel()  # of 100 draws, longer than their memory
    mean, deviation = exact_share(COUNTS)
    error = batches.std(ddof=1) / np.sqrt(len(batches))
    assert error < 0.01
    assert abs(batches.mean() - mean) < 4 * error
    assert draws.std() == pytest.approx(deviation, rel=0.08)


def test_equal_documents_are_two():
    one, two = (sp.csr_matrix(np.repeat(COUNTS[:1] * 5, number, axis=0)) for number in (1, 60))
    few, many = (group_shares(rows, np.stack([TOPICS] * 20), 0.3)[:, 0].std() for rows in (one, two))
    assert many < 0.5 * few


def test_a_group_of_two_sides_has_the_share_of_its_documents():
    """Nine of one topic for one of the other: the mean of the Dirichlet most like them is another one."""
    rng, topics = np.random.default_rng(3), np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    sides = np.arange(200) % 10 > 0
    rows = sp.csr_matrix(
        np.stack([rng.multinomial(40, 0.98 * topics[int(s)] + 0.02 * topics[1 - int(s)]) for s in sides])
    )
    draws = group_shares(rows, np.stack([topics] * 10), 0.1)[:, 1]
    truth = np.where(sides, 0.98, 0.02).mean()
    assert abs(draws.mean() - truth) < 0.01
    # The binomial spread of which side a document is of.
    assert draws.std() == pytest.approx(0.96 * np.sqrt(0.9 * 0.1 / 200), rel=0.25)


def test_groups_are_values_or_spans():
    groups = groups_of(["b", None, "a", "b", ""], "x")
    assert (groups.names, groups.of.tolist(), groups.centres) == (["a", "b"], [1, -1, 0, 1, -1], None)
    assert groups.sizes.tolist() == [1, 2]
    years = groups_of(["10", 9, "9"], "year")
    assert (years.names, years.of.tolist(), years.centres.tolist()) == (["9", "10"], [1, 0, 0], [9.0, 10.0])
    spans = groups_of(list(range(100)), "n")
    assert len(spans.names) == 8
    assert spans.names[0] == "0 to 12"
    assert spans.sizes.max() - spans.sizes.min() <= 1
    days = groups_of(["2020-01-01", "2021-07-02", "2022-01-01T10:00:00"], "day", bins=3)
    assert days.centres == pytest.approx([2020.0, 2021.5, 2022.0], abs=0.01)


def test_a_number_is_one_group_however_it_is_written():
    found = groups_of([1, 1.0, "1.00", 2.0, 2], "g")
    assert (found.names, found.of.tolist(), found.centres.tolist()) == (["1", "2.0"], [0, 0, 0, 1, 1], [1, 2])
    with pytest.raises(InputError, match="makes one group"):
        groups_of([1, 1.0], "g")
    assert groups_of(["2019-06", "2019-06-15"], "month").names == ["2019-06", "2019-06-15"]


def test_months_and_days_of_eight_digits_are_dates():
    middles = groups_of(["2023-07-02T12:00", "2024-07-02"], "day")
    assert middles.centres.tolist() == [2023.5, 2024.5]
    months = groups_of(["2020-01", "2021-07", "2020-01"], "month")
    assert (months.names, months.dates, months.days) == (["2020-01", "2021-07"], True, False)
    assert months.centres == pytest.approx([2020.04, 2021.54], abs=0.01)
    texts = ["20200101", "20210702"]
    for values in ([20200101, 20210702], texts, [20200101.0, 20210702.0], [f"{text}.0" for text in texts]):
        days = groups_of(values, "day")
        assert days.centres == pytest.approx([2020.0, 2021.5], abs=0.01)
        assert (days.names, days.dates, days.days) == (["20200101", "20210702"], True, True)
    numbers = groups_of([20200101, 20211302], "number")  # there is no month 13
    assert (numbers.centres.tolist(), numbers.dates, numbers.days) == ([20200101.0, 20211302.0], False, False)


def test_spans_of_large_numbers_have_names_of_their_own():
    times = [1.6e9 + 2 * place + 0.25 for place in range(100)]
    spans = groups_of(times, "time")
    assert len(set(spans.names)) == 8
    assert spans.names[0] == "1600000000 to 1600000024"
    close = groups_of([1 + 2.0**-52 * place for place in range(16)], "x")
    assert len(set(close.names)) == 8
    assert groups_of([0.5 * place for place in range(100)], "x").names[0] == "0 to 6"


@pytest.mark.parametrize("code", ["10_{}", "1e{}", "{}E1", "0x{}", "\uff11{}"])
def test_codes_are_no_numbers_whatever_python_reads(code):
    groups = groups_of([code.format(number) for number in (7, 8, 9)], "code")
    assert groups.centres is None
    for text in ("-1.5e-05", "+2", ".5", "3.", " 4"):
        assert groups_of([text, 7], "number").centres is not None


@pytest.mark.parametrize("form", ["{d:02}.{m:02}.2019", "{m}/{d}/19", "20{d}-Q{m}", "May {d}, 20{m:02}"])
def test_dates_of_other_forms_are_refused_with_those_that_are_read(form):
    values = [form.format(d=day, m=month) for day in range(10, 29) for month in (1, 2, 3, 4)]
    with pytest.raises(
        InputError, match=r"makes 76 groups .* dates must have the form 2019-06-22, 2019-06 or"
    ):
        groups_of(values, "when")
    with pytest.raises(InputError, match="no --bins of it; dates must have the form"):
        groups_of(values, "when", bins=4)


@pytest.mark.parametrize(
    ("values", "bins", "message"),
    [
        (["a"] * 5, None, "makes one group"),
        ([f"a place, {i}" for i in range(60)], None, "can be compared$"),
        ([f"t{i}" for i in range(60)], None, r"makes 60 groups \('t0', .*; 2 to 50 can be compared"),
        (["a", "b"], 3, "does not hold numbers or dates alone"),
        ([None, None], None, "makes 0 groups"),
    ],
)
def test_fields_that_make_no_groups_are_refused(values, bins, message):
    with pytest.raises(InputError, match=message):
        groups_of(values, "x", bins)


def test_the_trend_is_the_slope_of_weighted_least_squares():
    rng = np.random.default_rng(0)
    shares, centres, sizes = rng.random((6, 4)), rng.random(6) * 10, rng.integers(1, 20, 6)
    expected = [np.polyfit(centres, draw, 1, w=np.sqrt(sizes))[0] for draw in shares.T]
    assert trend(shares, centres, sizes) == pytest.approx(np.array(expected))


def test_what_is_not_a_number_is_no_value_of_a_field():
    found = groups_of([1.0, 2.0, float("nan"), 2.0, None, ""], "year")
    assert found.names == ["1.0", "2.0"]
    assert found.of.tolist() == [0, 1, -1, 1, -1, -1]
    assert found.centres.tolist() == [1.0, 2.0]
