"""Matrices of users: index arrays that point outside are refused before compiled code follows them."""

import numpy as np
import pytest
import scipy.sparse as sp

from geodrift.data import Corpus, InputError, as_csr, read_counts_file
from geodrift.models import (
    DirichletProcessMixture,
    LatentDirichletAllocation,
    SphericalAdmixture,
    VonMisesFisherMixture,
    choose_number_of_topics,
)
from geodrift.models.kit._counts import checked_counts

DENSE = np.array([[1, 0, 2], [0, 3, 0], [4, 0, 5], [0, 6, 7]])
FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")


def matrix(form, container=sp.coo_matrix):
    return container(DENSE).asformat(form)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("container", [sp.coo_matrix, sp.coo_array])
def test_every_format_is_read(form, container):
    assert np.array_equal(as_csr(matrix(form, container)).toarray(), DENSE)
    assert np.array_equal(Corpus.from_matrix(matrix(form, container)).matrix().toarray(), DENSE)


def spoilt():
    """(Name, matrix whose arrays were changed after it was made, as any code can)."""
    for form in ("csr", "csc", "bsr"):
        for name, place, value in (
            ("indices", 1, 10**6),
            ("indices", 0, -1),
            ("indptr", 1, 10**6),
            ("indptr", 0, 1),
            ("indptr", -1, 10**6),
            ("indptr", 1, -4),
        ):
            changed = matrix(form)
            getattr(changed, name)[place] = value
            yield f"{form}-{name}-{place}-{value}", changed
        shorter = matrix(form)
        shorter.data = shorter.data[:1]
        yield f"{form}-data-short", shorter
    for name in ("row", "col"):
        changed = matrix("coo")
        getattr(changed, name)[2] = 10**6
        yield f"coo-{name}", changed
    shorter = matrix("coo")
    shorter.data = shorter.data[:2]
    yield "coo-data-short", shorter
    offsets = matrix("dia")
    offsets.offsets = offsets.offsets[:1]
    yield "dia-offsets-short", offsets
    lists = matrix("lil")
    lists.rows[0] = [0, 10**6]
    yield "lil-beyond", lists


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(("name", "wrong"), [pytest.param(*case, id=case[0]) for case in spoilt()])
@pytest.mark.parametrize(
    "read",
    [
        as_csr,
        Corpus.from_matrix,
        checked_counts,
        lambda counts: LatentDirichletAllocation(n_topics=2).fit(counts),
        lambda counts: SphericalAdmixture(n_topics=2).fit(counts),
    ],
    ids=["as_csr", "corpus", "counts", "lda", "sam"],
)
def test_arrays_that_do_not_fit_are_refused(name, wrong, read):
    with pytest.raises(InputError, match=r"damaged|has an index of"):
        read(wrong)


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize("dtype", [">i4", ">f8", "<f2", ">f2"])
def test_dense_counts_of_types_that_scipy_does_not_have_are_read(dtype, tmp_path):
    counts = DENSE.astype(dtype)
    np.save(tmp_path / "a.npy", counts)
    assert np.array_equal(read_counts_file(tmp_path / "a.npy").matrix().toarray(), DENSE)
    assert np.array_equal(Corpus.from_matrix(counts).matrix().toarray(), DENSE)
    assert np.array_equal(checked_counts(counts).toarray(), DENSE)


def test_a_few_values_of_long_diagonals_take_the_memory_of_the_values():
    wide = sp.dia_matrix((np.array([[5]]), np.array([0])), shape=(10**6, 2**40))
    assert as_csr(wide).nnz == 1


def test_sums_of_repeated_entries_do_not_wrap_around():
    twice = sp.coo_matrix((np.array([200, 200], np.uint8), ([0, 0], [1, 1])), shape=(1, 2))
    arrays = (np.array([200, 200], np.uint8), np.array([1, 1]), np.array([0, 2]))
    for repeated in (twice, sp.csr_matrix(arrays, shape=(1, 2))):
        assert Corpus.from_matrix(repeated).matrix().toarray().tolist() == [[0, 400]]
        assert checked_counts(repeated).toarray().tolist() == [[0, 400]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a", "b", "a"], "word 2 of the vocabulary is 'a', as word 0 is"),
        (["a", " ", "c"], "word 1 of the vocabulary is blank"),
        (["a", "b", "\ud800"], "half of a surrogate pair"),
    ],
)
def test_words_that_cannot_be_told_apart_are_refused(words, message, tmp_path):
    with pytest.raises(InputError, match=message):
        Corpus.from_matrix(DENSE, words, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "read",
    [
        Corpus.from_matrix,
        lambda counts: checked_counts(counts.astype(float)),
        DirichletProcessMixture(n_steps=10).fit,
        LatentDirichletAllocation(2).fit,
        VonMisesFisherMixture(2, normalise=True, n_passes=2).fit,
        lambda counts: choose_number_of_topics(counts, (2, 3), directory="never written", steps=2),
    ],
)
def test_what_a_mask_hides_is_not_used_as_if_it_were_seen(read):
    """Before, a missing count that stood as 1000 under the mask was 1000 words."""
    hidden = np.ma.masked_greater(np.where(DENSE == 5, 1000, DENSE), 7)
    with pytest.raises(ValueError, match=r"hides 1 of 12 values: leave such rows out, or fill"):
        read(hidden)


def test_a_mask_that_hides_nothing_changes_nothing():
    assert np.array_equal(as_csr(np.ma.masked_array(DENSE)).toarray(), DENSE)


def test_more_than_a_million_words_need_names():
    wide = sp.csr_matrix((np.array([1]), np.array([1_000_000]), np.array([0, 1])), shape=(1, 1_000_001))
    with pytest.raises(InputError, match=r"1,000,001 words without names.*--vocab"):
        Corpus.from_matrix(wide)
    assert Corpus.from_matrix(wide, [str(i) for i in range(1_000_001)]).num_words == 1_000_001
