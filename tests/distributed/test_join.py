"""Processes that cannot meet, or should not work together, say so in one line."""

import socket
import time

import pytest

from distributed.thread_team import together
from geodrift._errors import InputError
from geodrift.distributed import _join
from geodrift.distributed._place import Place


def test_a_port_that_is_taken():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=f"{port}: process 0 cannot listen there .*--coordinator"):
            _join.join(Place(f"127.0.0.1:{port}", 0, 2))


def test_nobody_listens_at_the_coordinator():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(InputError, match=f"coordinator {where}: process 0 does not answer.*within 0 s"):
        _join.join(Place(where, 1, 2), arrival_seconds=0.3)


def test_a_coordinator_of_no_name():
    with pytest.raises(InputError, match="process 0 does not answer there"):
        _join.join(Place("no-such-machine.invalid:9731", 1, 2), arrival_seconds=0.3)


def test_the_others_do_not_come(monkeypatch, capsys):
    ended = []
    monkeypatch.setattr(_join.os, "_exit", ended.append)
    monkeypatch.setattr(_join, "LEEWAY_SECONDS", 0.0)
    with _join.ends_if_late(Place("h:1", 0, 2), 0.05):
        time.sleep(0.5)
    assert ended == [1]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: process 0 of 2 waited 0 s at h:1 for the others")


@pytest.mark.parametrize(
    ("first", "other", "said"),
    [
        ({"seed": 1}, {"seed": 2}, "process 1 has seed 2 but process 0 has 1"),
        ({"run": "a"}, {}, "process 1 has run none but process 0 has a"),
        (
            {"settings": {"n_topics": 3}},
            {"settings": {"n_topics": 4}},
            "process 1 has settings {'n_topics': 4} but process 0 has {'n_topics': 3}",
        ),
    ],
)
def test_processes_that_were_told_differently_all_say_so(first, other, said):
    def work(team):
        with pytest.raises(InputError, match=said):
            _join.agree(team, **(other if team.rank == 1 else first))
        _join.agree(team, **first)
        return True

    assert all(together(3, work))


def test_another_version_is_named():
    def work(team):
        told = {"version of geodrift": "0.0"} if team.rank == 1 else {}
        with pytest.raises(InputError, match=r"process 1 has version of geodrift 0\.0 but process 0 has"):
            _join.agree(team, **told)
        return True

    assert all(together(2, work))
