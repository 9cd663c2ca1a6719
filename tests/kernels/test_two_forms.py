"""Kernels for one thread and for all: which runs, that both are the same, and that neither holds the lock."""

import threading

import numba
import numpy as np
import pytest

from geodrift.kernels._two_forms import TwoForms


def _fill(values, rounds):
    """Logistic maps, one for each value, in their chaotic range."""
    for place in numba.prange(values.shape[0]):
        for _ in range(rounds):
            values[place] = 3.9 * values[place] * (1.0 - values[place])


FORMS = TwoForms(_fill, worth_threads=100)


def filled(call, rounds):
    values = np.linspace(0.1, 0.9, 4)
    call(values, rounds)
    return values


@pytest.fixture(scope="module", autouse=True)
def compiled():
    FORMS(0, np.full(2, 0.5), 1)


def test_work_of_none_compiles_what_work_takes_and_little_work_runs_in_one_thread(monkeypatch):
    """A form that no work takes is not compiled: that takes as long as of the other."""
    ran = []
    for form in ("in_one_thread", "in_threads"):
        assert getattr(FORMS, form).signatures
        monkeypatch.setattr(FORMS, form, lambda *arguments, form=form: ran.append(form))
    monkeypatch.setattr(numba, "get_num_threads", lambda: 2)
    for work in (99, 100, 0):
        FORMS(work)
    assert ran == ["in_one_thread", "in_threads", "in_threads", "in_one_thread"]
    monkeypatch.setattr(numba, "get_num_threads", lambda: 1)
    for work in (100, 0):
        FORMS(work)
    assert ran[4:] == ["in_one_thread", "in_one_thread"]


def test_both_forms_give_the_same_bits():
    np.testing.assert_array_equal(filled(FORMS.in_threads, 1000), filled(FORMS.in_one_thread, 1000))


@pytest.mark.parametrize("form", ["in_one_thread", "in_threads"])
def test_other_threads_run_meanwhile(form):
    """With the lock held, this thread would not count between the kernel's start and its end."""
    began = threading.Event()

    def run():
        began.set()
        filled(getattr(FORMS, form), 30_000_000)

    kernel = threading.Thread(target=run)
    kernel.start()
    began.wait(60)
    counted = 0
    while kernel.is_alive():
        counted += 1
    kernel.join()
    assert counted > 100_000
