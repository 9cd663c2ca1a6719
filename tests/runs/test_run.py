"""Run directories: what is stored, what is refused, and that no interruption changes a draw."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from fake import FakeEngine

import geodrift
from geodrift.data import InputError
from geodrift.runs import Run, StorageFullError, fit_to_run
from geodrift.runs._checkpoint import Checkpoint
from geodrift.runs._draws import DrawStore


def reference_draws(steps, chains=1, **options):
    """The draws of engines that nobody stores."""
    found = []
    for chain in range(chains):
        engine = FakeEngine(chain=chain, **options)
        engine.plan(steps=steps)
        draws = []
        while (progress := engine.advance()) is not None:
            draws += progress.draws
        found.append(draws)
    return {
        name: np.array([[draw[name] for draw in draws] for draws in found]) for name in ("topics", "level")
    }


def assert_draws(run, steps, chains=1):
    expected = reference_draws(steps, chains)
    posterior = Run.open(run.path).draws["posterior"]
    for name, values in expected.items():
        assert np.array_equal(posterior[name].values, values), name
    assert posterior["topics"].dims == ("chain", "draw", "topic", "word")
    assert posterior["draw"].values.tolist() == list(range(values.shape[1]))


@pytest.mark.parametrize("chains", [1, 3])
def test_every_draw_of_the_engines_is_stored_once_in_order(make_run, quiet, chains):
    run, engines = make_run("run", chains)
    result = fit_to_run(engines, run, steps=50, console=quiet)
    assert_draws(run, 50, chains)
    assert (result.steps, result.draws, result.interrupted) == (50, 15, False)
    topics = geodrift.load(run.path).topics
    assert topics.shape == (15 * chains, 2, 5)
    assert np.array_equal(topics[15 * (chains - 1) :], reference_draws(50, chains)["topics"][-1])


def test_words_of_the_draws_are_the_vocabulary(make_run, quiet):
    run, engines = make_run("run")
    fit_to_run(engines, run, steps=10, console=quiet)
    assert run.draws["posterior"]["topics"].sel(word="école").shape == (1, 2, 2)
    assert run.draws["posterior"]["word"].values.tolist() == run.vocabulary


def test_metrics_hold_one_line_a_chunk_and_no_nan(make_run, quiet):
    run, engines = make_run("run", chains=2)
    fit_to_run(engines, run, steps=9, console=quiet)
    metrics = run.metrics
    assert [entry["count"] for entry in metrics if entry["chain"] == 1] == [2, 4, 6, 8, 9]
    assert metrics[0]["held_out_log_perplexity"] is None
    assert "NaN" not in (run.path / "metrics.jsonl").read_text()
    assert json.loads((run.path / "summary.json").read_text())["steps"] == [9, 9]


def test_seconds_are_shared_by_the_chains_and_the_plan_is_recorded(make_run, quiet):
    run, engines = make_run("run", chains=2)
    fit_to_run(engines, run, seconds=0.08, console=quiet)
    assert Run.open(run.path).config["plan"]["total"] == 40
    assert_draws(run, 40, chains=2)


@pytest.mark.parametrize("first", [1, 4, 7, 20])
def test_extending_a_run_gives_the_draws_of_the_longer_one(make_run, quiet, first):
    run, engines = make_run("run", chains=2)
    fit_to_run(engines, run, steps=first, console=quiet)
    fresh = [FakeEngine(chain=chain) for chain in range(2)]
    fit_to_run(fresh, run, steps=50 - first, console=quiet)
    assert_draws(run, 50, chains=2)


def test_extending_by_seconds_uses_the_pace_so_far(make_run, quiet):
    run, engines = make_run("run", pause=0.002)
    fit_to_run(engines, run, steps=50, console=quiet)
    result = fit_to_run([FakeEngine()], run, seconds=0.2, console=quiet)
    assert 100 < result.steps + 50 < 50 + 50 + 105
    assert_draws(run, result.steps)


def test_a_finished_run_asks_how_much_longer(make_run, quiet):
    run, engines = make_run("run")
    fit_to_run(engines, run, steps=5, console=quiet)
    with pytest.raises(InputError, match="--seconds"):
        fit_to_run([FakeEngine()], run, console=quiet)


class Killed(BaseException):
    """Stands for the end of the process: nothing may catch it and go on."""


@pytest.mark.parametrize("chains", [1, 2])
def test_dying_at_any_write_then_resuming_changes_nothing(make_run, quiet, monkeypatch, chains):
    """Kill before each metrics line, draw append, checkpoint in turn, with a checkpoint after every round."""
    import geodrift.runs._fit as module

    monkeypatch.setattr(module, "CHECKPOINT_SECONDS", 0.0)
    for place in ("append", "sync", "write_checkpoint", "_record"):
        for occurrence in (2, 5):
            run, engines = make_run(f"{place}{occurrence}", chains)
            target = {"write_checkpoint": Run, "_record": module._Loop}.get(place, DrawStore)
            real, calls = getattr(target, place), []

            def dying(*args, real=real, calls=calls, occurrence=occurrence, place=place):
                calls.append(1)
                if len(calls) == occurrence:
                    if place == "append":
                        real(*args)  # the draws are there, the checkpoint does not count them
                    raise Killed
                return real(*args)

            with monkeypatch.context() as patch:
                patch.setattr(target, place, dying)
                with pytest.raises(Killed):
                    fit_to_run(engines, run, steps=30, console=quiet)
            fit_to_run([FakeEngine(chain=chain) for chain in range(chains)], run, console=quiet)
            assert_draws(run, 30, chains)
            counts = [entry["count"] for entry in run.metrics if entry["chain"] == 0]
            assert counts == list(range(2, 31, 2))


def test_dying_in_the_first_creation_of_the_draws_then_resuming(make_run, quiet):
    run, engines = make_run("run")
    (run.path / "draws.zarr" / "posterior").mkdir(parents=True)  # no zarr.json yet
    fit_to_run(engines, run, steps=30, console=quiet)
    assert_draws(run, 30)


def test_dying_in_the_pilot_then_resuming_plans_as_was_asked(make_run, quiet):
    for length in ({"seconds": 0.03}, {"steps": 30}):
        run, engines = make_run(f"run-{next(iter(length))}")

        def dying(**_):
            raise Killed

        engines[0].plan = dying
        with pytest.raises(Killed):
            fit_to_run(engines, run, console=quiet, **length)
        fit_to_run([FakeEngine()], Run.open(run.path), console=quiet)
        assert_draws(run, 30)
    run, engines = make_run("never-asked")
    with pytest.raises(InputError, match="--seconds or --steps"):
        fit_to_run(engines, run, console=quiet)


CHILD = """
import sys, io
sys.path.insert(0, {tests!r})
from fake import FakeEngine
from rich.console import Console
from geodrift.runs import Run, fit_to_run
import geodrift.runs._fit as module
module.CHECKPOINT_SECONDS = 0.01
print("ready", flush=True)
fit_to_run([FakeEngine(chain=c, pause=0.002) for c in range(2)], Run.open({path!r}), steps=400,
           console=Console(file=io.StringIO()))
"""


def start_child(run):
    code = CHILD.format(tests=str(Path(__file__).parent), path=str(run.path))
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == b"ready\n"
    state = run.path / "checkpoint" / "state.npz"
    while not state.exists():
        assert child.poll() is None, child.stderr.read()
        time.sleep(0.01)
    return child


def close(child):
    child.wait()
    child.stdout.close()
    child.stderr.close()


def test_kill_9_then_resume_is_bit_for_bit_the_uninterrupted_run(make_run, quiet):
    run, _ = make_run("run", chains=2)
    child = start_child(run)
    time.sleep(0.2)
    child.kill()
    close(child)
    assert run.state["counts"][0] < 400
    fit_to_run([FakeEngine(chain=chain) for chain in range(2)], run, steps=0, console=quiet)
    assert_draws(run, 400, chains=2)


def test_control_c_keeps_the_run(make_run, quiet):
    run, _ = make_run("run", chains=2)
    child = start_child(run)
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    close(child)
    assert child.returncode == 0
    assert 0 < run.state["counts"][0] < 400
    assert json.loads((run.path / "summary.json").read_text())["finished"] is False
    fit_to_run([FakeEngine(chain=chain) for chain in range(2)], run, console=quiet)
    assert_draws(run, 400, chains=2)


def test_two_writers_are_refused(make_run, quiet):
    run, engines = make_run("run")
    with run.locked(), pytest.raises(InputError, match="another process"):
        fit_to_run(engines, run, steps=5, console=quiet)
    assert not (run.path / "metrics.jsonl").exists()


def test_full_disk_leaves_the_last_checkpoint_and_can_be_resumed(make_run, quiet, monkeypatch):
    monkeypatch.setattr("geodrift.runs._fit.CHECKPOINT_SECONDS", 0.0)
    run, engines = make_run("run", topics=20, words=5)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    engines[0].plan(steps=10)
    fit_to_run(engines, run, steps=10, console=quiet)
    size = (run.path / "metrics.jsonl").stat().st_size
    try:
        # The next lines of metrics do not fit: write fails in the kernel, as on a full disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 500, limits[1]))
        with pytest.raises(StorageFullError, match=r"kept as of its last checkpoint"):
            fit_to_run([FakeEngine(topics=20)], run, steps=30, console=quiet)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    stored = Run.open(run.path).topics
    fit_to_run([FakeEngine(topics=20)], run, steps=0, console=quiet)
    expected = reference_draws(50, topics=20)["topics"][0]
    assert np.array_equal(run.topics[: len(stored)], stored)
    assert np.array_equal(run.topics, expected[: len(run.topics)])


def test_an_existing_path_is_refused(make_run, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "precious").write_text("x")
    with pytest.raises(InputError, match="exists already"):
        make_run("run")
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["precious"]


def test_directories_that_are_no_runs(make_run, quiet, tmp_path):
    run, engines = make_run("run")
    with pytest.raises(InputError, match="no checkpoint"):
        _ = run.draws
    fit_to_run(engines, run, steps=3, console=quiet)
    with pytest.raises(InputError, match="no draws yet"):
        _ = run.draws
    with pytest.raises(InputError, match="does not exist"):
        Run.open(tmp_path / "nowhere")
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError, match="not a run directory: it has no config"):
        Run.open(tmp_path / "other")
    config = json.loads((run.path / "config.json").read_text())
    for change, message in [({"format_version": 2}, "newer"), ({"format": "x"}, "something else")]:
        (run.path / "config.json").write_text(json.dumps(config | change))
        with pytest.raises(InputError, match=message):
            Run.open(run.path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("config.json", "cut off"),
        ("vocabulary.txt", "vocabulary.txt should have 5 lines"),
        ("checkpoint/state.npz", "damaged"),
    ],
)
def test_a_run_cut_off_half_way_is_named(make_run, quiet, name, message):
    run, engines = make_run("run")
    fit_to_run(engines, run, steps=20, console=quiet)
    content = (run.path / name).read_bytes()
    (run.path / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=message) as error:
        _ = Run.open(run.path).topics
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["vocabulary.txt", "document-frequencies.npy", "draws.zarr"])
def test_a_missing_part_is_named(make_run, quiet, name):
    run, engines = make_run("run")
    fit_to_run(engines, run, steps=20, console=quiet)
    os.rename(run.path / name, run.path / "moved")
    with pytest.raises(InputError, match=f"{name} is missing"):
        _ = Run.open(run.path).topics


def test_no_pickle_can_get_in(make_run, quiet):
    run, _ = make_run("run")
    with pytest.raises(TypeError, match="Python objects"):
        run.write_checkpoint(Checkpoint([{"x": np.array([{}], dtype=object)}], {"draws": [0]}))
    assert not (run.path / "checkpoint" / "state.npz").exists()


def test_a_fit_in_a_thread_leaves_signals_alone(make_run, quiet):
    run, engines = make_run("run")
    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=fit_to_run, args=(engines, run), kwargs={"steps": 10, "console": quiet})
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is before
    assert_draws(run, 10)


def test_progress_names_what_a_reader_wants(make_run, quiet):
    run, engines = make_run("run")
    fit_to_run(engines, run, steps=10, console=quiet)
    text = quiet.file.getvalue()
    assert "step 10/10" in text
    assert "kinetic T" in text
    assert "s left" in text
    assert "held-out" not in text  # it was NaN
