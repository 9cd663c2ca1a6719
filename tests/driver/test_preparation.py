"""Chains look for their starts side by side; who waits is told, and may stop."""

import threading
import time

import pytest
from fake import FakeChain

from geodrift.driver import _preparation
from geodrift.driver._preparation import prepare


class Slow(FakeChain):
    """Its start takes until ``ready`` is set, or fails."""

    def __init__(self, ready, error=None, **arguments):
        super().__init__(**arguments)
        self.ready, self.error, self.prepared = ready, error, False

    def prepare(self):
        assert self.ready.wait(30)
        if self.error is not None:
            raise self.error
        self.prepared = True


def test_all_new_chains_are_prepared():
    ready = threading.Event()
    ready.set()
    chains = [Slow(ready, chain=chain) for chain in range(5)]
    chains[3].count = 7
    prepare(chains)
    assert [chain.prepared for chain in chains] == [True, True, True, False, True]


def test_who_waits_is_told_and_looks(monkeypatch):
    monkeypatch.setattr(_preparation, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(_preparation, "TELL_AFTER", 0.05)
    monkeypatch.setattr(_preparation, "TELL_EVERY", 0.05)
    ready, told, looks = threading.Event(), [], []

    def look():
        looks.append(time.monotonic())
        if len(told) == 2:
            ready.set()

    chains = [Slow(ready, chain=chain) for chain in range(2)]
    prepare(chains, look, told.append)
    assert told[0].startswith("looking for starts: 0 of 2 chains have one after")
    assert len(looks) > 4
    assert all(chain.prepared for chain in chains)


def test_an_exception_of_look_ends_the_wait_at_once(monkeypatch):
    monkeypatch.setattr(_preparation, "LOOK_SECONDS", 0.01)
    ready = threading.Event()

    def look():
        raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        prepare([Slow(ready)], look)
    assert time.monotonic() - began < 5
    ready.set()


def test_an_error_of_a_start_is_raised():
    ready = threading.Event()
    ready.set()
    with pytest.raises(ValueError, match="no start"):
        prepare([Slow(ready), Slow(ready, ValueError("no start"))])
