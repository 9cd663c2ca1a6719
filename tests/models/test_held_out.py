"""When a held-out score is taken: at a small share of a run's time, and at its end."""

from types import SimpleNamespace

import pytest

from geodrift.models.kit import _held_out
from geodrift.models.kit._held_out import HeldOutScore


class Timed:
    """A run on a clock of its own: steps of a second, and scores that number themselves."""

    def __init__(self, monkeypatch, first, later):
        self.now, self.scores = 0.0, []
        self.durations = iter([first])
        self.later = later
        monkeypatch.setattr(_held_out, "time", SimpleNamespace(perf_counter=lambda: self.now))
        self.score = HeldOutScore("score", self._score)

    def _score(self):
        self.scores.append(self.now)
        self.now += next(self.durations, self.later)
        return float(len(self.scores))

    def run(self, steps):
        """The score that is told after each of the steps."""
        told = []
        for step in range(steps):
            self.now += 1.0
            told.append(self.score.metrics(at_end=step == steps - 1)["score"])
        return told


def test_a_first_score_that_compiles_does_not_stay_the_last(monkeypatch):
    run = Timed(monkeypatch, first=5.0, later=0.1)
    told = run.run(40)
    assert told[:6] == [1.0, 1.0, 1.0, 1.0, 1.0, 2.0]
    assert told[-1] == len(run.scores) > 10


@pytest.mark.parametrize("later", [0.01, 0.5, 3.0])
def test_scores_take_a_twentieth_of_the_time(monkeypatch, later):
    run = Timed(monkeypatch, first=later, later=later)
    run.run(1000)
    assert (len(run.scores) - 3) * later <= 0.05 * run.now
    assert len(run.scores) >= min(1000, 0.04 * run.now / later)


@pytest.mark.parametrize(("later", "fresh"), [(2.0, True), (10.0, False)])
def test_a_run_ends_with_a_score_of_its_own_where_that_is_a_twentieth_of_it(monkeypatch, later, fresh):
    run = Timed(monkeypatch, first=later, later=later)
    told = run.run(60)
    assert (told[-1] > told[-2]) == fresh
