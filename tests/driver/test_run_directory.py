"""Run directories: what is stored, what is refused, and that no interruption changes a draw."""

import io
import json
import os
import signal
import threading

import numpy as np
import pytest
from fake import FakeChain, shares_of
from rich.console import Console

import geodrift
from geodrift.data import InputError
from geodrift.driver import Length, Run, Shares, Variable, _record, fit_to_run, sampled
from geodrift.driver._checkpoint import Checkpoint
from geodrift.driver._draw_store import DrawStore


def reference_draws(steps, chains=1, **options):
    """The draws of chains that nobody stores."""
    return sampled([FakeChain(chain=chain, **options) for chain in range(chains)], steps)


def assert_draws(run, steps, chains=1, **options):
    expected = reference_draws(steps, chains, **options)
    posterior = Run.open(run.path).draws["posterior"]
    for name, values in expected.items():
        np.testing.assert_array_equal(posterior[name].values, values, err_msg=name)
    assert posterior["topics"].dims == ("chain", "draw", "topic", "word")
    assert posterior["draw"].values.tolist() == list(range(values.shape[1]))


@pytest.mark.parametrize("chains", [1, 3])
def test_every_draw_of_the_chains_is_stored_once_in_order(make_run, quiet, chains):
    run, walks = make_run("run", chains)
    result = fit_to_run(walks, run, Length(steps=50), console=quiet)
    assert_draws(run, 50, chains)
    assert (result.steps, result.draws, result.interrupted) == (50, 15, False)
    topics = geodrift.load(run.path).stacked("topics")
    assert topics.shape == (15 * chains, 2, 5)
    assert np.array_equal(topics[15 * (chains - 1) :], reference_draws(50, chains)["topics"][-1])


def test_draws_of_more_or_fewer_components_that_wait_are_written_as_they_are(tmp_path, monkeypatch):
    """Of one write; a component that a draw lacks is missing in it."""
    made, writes, write = {"sizes": Variable(("cluster", "word"), (None, 2), "float32")}, [], DrawStore._write
    monkeypatch.setattr(DrawStore, "_write", lambda *told: writes.append(told) or write(*told))
    store, expected = DrawStore(tmp_path / "draws.zarr", [slice(0, 1), slice(1, 2)]), []
    for number, width in enumerate((1, 3, 2)):
        piece = np.full((2, 1, width, 2), number, np.float32)
        store.append(1, {"sizes": piece}, made)
        expected.append(np.pad(piece, [(0, 0), (0, 0), (0, 3 - width), (0, 0)], constant_values=np.nan))
    store.flush()
    assert len(writes) == 1
    np.testing.assert_array_equal(store.read(1)["sizes"], np.concatenate(expected))


def test_words_of_the_draws_are_the_vocabulary(make_run, quiet):
    run, chains = make_run("run")
    fit_to_run(chains, run, Length(steps=10), console=quiet)
    assert run.draws["posterior"]["topics"].sel(word="école").shape == (1, 2, 2)
    assert run.draws["posterior"]["word"].values.tolist() == run.labels["word"]


def test_metrics_hold_one_line_a_chunk_and_no_nan(make_run, quiet):
    run, chains = make_run("run", chains=2)
    fit_to_run(chains, run, Length(steps=9), console=quiet)
    metrics = run.metrics
    counts = [entry["count"] for entry in metrics if entry["chain"] == 1]
    assert counts == sorted(set(counts))
    assert counts[-1] == 9
    assert metrics[0]["never"] is None
    assert "NaN" not in (run.path / "metrics.jsonl").read_text()
    assert json.loads((run.path / "summary.json").read_text())["steps"] == [9, 9]


def test_seconds_are_shared_by_the_chains_and_the_plan_is_recorded(make_run, quiet):
    run, chains = make_run("run", chains=2, pause=0.002, shares=Shares())
    result = fit_to_run(chains, run, Length(seconds=0.8), console=quiet)
    total = Run.open(run.path).config["plan"]["total"]
    assert result.steps == total
    assert 80 < total <= 200
    assert_draws(run, total, chains=2, shares=shares_of(Run.open(run.path)))


@pytest.mark.parametrize(("seconds", "told"), [(0.01234, "0.012"), (2.0, None)])
def test_a_run_that_cannot_be_as_short_as_was_asked_says_so(make_run, seconds, told):
    run, chains = make_run("run", chains=2, pause=0.002, shares=Shares())
    text = io.StringIO()
    fit_to_run(chains, run, Length(seconds=seconds), console=Console(file=text))
    said = text.getvalue()
    assert f"no run is as short as {told} s" in said if told else "as short as" not in said


@pytest.mark.parametrize("first", [1, 4, 7, 20])
def test_extending_a_run_gives_the_draws_of_the_longer_one(make_run, quiet, first):
    run, chains = make_run("run", chains=2)
    fit_to_run(chains, run, Length(steps=first), console=quiet)
    fresh = [FakeChain(chain=chain) for chain in range(2)]
    fit_to_run(fresh, run, Length(steps=50 - first), console=quiet)
    assert_draws(run, 50, chains=2)


def test_extending_by_seconds_uses_the_pace_so_far(make_run, quiet):
    run, chains = make_run("run", pause=0.002)
    fit_to_run(chains, run, Length(steps=50), console=quiet)
    result = fit_to_run([FakeChain()], run, Length(seconds=0.2), console=quiet)
    assert 100 < result.steps + 50 < 50 + 50 + 105
    assert_draws(run, result.steps)


@pytest.mark.parametrize("pieces", [(1, 1, 2, 30), (60,), (7, 43, 10), (49, 1, 1, 9)])
def test_steps_mean_more_from_here_and_the_plan_keeps_its_length(make_run, quiet, pieces):
    """Cut into pieces by calls that take less than is left, and carried past its end by the last."""
    run, reached = make_run("run", chains=2)[0], 0
    run.update_config(request={"seconds": None, "steps": 50})
    for number, steps in enumerate(pieces):
        fresh = [FakeChain(chain=chain) for chain in range(2)]
        if not number:
            stopped_early(fresh, run, quiet)
        result = fit_to_run(fresh, run, Length(steps=steps), console=quiet)
        reached += steps
        assert (result.steps, result.interrupted) == (reached, False)
        assert result.left == max(0, 50 - reached)
        assert Run.open(run.path).config["plan"]["total"] == max(50, reached)
    if reached < 50:
        last = fit_to_run([FakeChain(chain=c) for c in range(2)], run, console=quiet)
        assert (last.steps, last.left) == (50, 0)
    assert_draws(run, max(50, reached), chains=2)


def test_seconds_mean_more_from_here(make_run, quiet):
    """A fifth of a second of a plan that has two left, then the rest of it."""
    run, chains = make_run("run", pause=0.005)
    run.update_config(request={"seconds": None, "steps": 400})
    stopped_early(chains, run, quiet)
    result = fit_to_run([FakeChain(pause=0.005)], run, Length(seconds=0.3), console=quiet)
    assert 0.2 < result.seconds < 1.5
    assert 0 < result.steps < 400
    assert result.left == 400 - result.steps
    assert fit_to_run([FakeChain()], run, console=quiet).left == 0
    assert_draws(run, 400)


def stopped_early(chains, run, console):
    """A call that is planned, and killed before its first step."""

    def killed(*_):
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("geodrift.driver._loop.Loop.go", killed)
        with pytest.raises(Killed):
            fit_to_run(chains, run, console=console)


def test_a_finished_run_asks_how_much_longer(make_run, quiet):
    run, chains = make_run("run")
    fit_to_run(chains, run, Length(steps=5), console=quiet)
    with pytest.raises(InputError, match="--seconds"):
        fit_to_run([FakeChain()], run, console=quiet)


class Killed(BaseException):
    """Stands for the end of the process: nothing may catch it and go on."""


@pytest.mark.parametrize("chains", [1, 2])
@pytest.mark.parametrize(
    ("target", "place"),
    [(DrawStore, "append"), (DrawStore, "flush"), (Run, "write_checkpoint"), (_record.Record, "append")],
)
@pytest.mark.parametrize("occurrence", [2, 5])
def test_dying_at_any_write_then_resuming_changes_nothing(
    make_run, quiet, monkeypatch, chains, target, place, occurrence
):
    """Kill at each metrics line, draw, flush, checkpoint in turn, with a checkpoint after every round."""
    monkeypatch.setattr(_record, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(_record, "CHECKPOINT_SHARE", 1e9)
    monkeypatch.setattr("geodrift.driver._pace.CHUNK_SECONDS", 0.0)  # a step a chunk
    run, walks = make_run("run", chains)
    real, calls = getattr(target, place), []

    def dying(*arguments):
        calls.append(1)
        if len(calls) == occurrence:
            if target is DrawStore:
                real(*arguments)  # the draws are there, the checkpoint does not count them
            raise Killed
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(target, place, dying)
        with pytest.raises(Killed):
            fit_to_run(walks, run, Length(steps=13), console=quiet)
    fit_to_run([FakeChain(chain=chain) for chain in range(chains)], run, console=quiet)
    assert_draws(run, 13, chains)
    counts = [entry["count"] for entry in run.metrics if entry["chain"] == 0]
    assert counts == list(range(1, 14))


def test_dying_in_the_first_creation_of_the_draws_then_resuming(make_run, quiet):
    run, chains = make_run("run")
    fit_to_run(chains, run, Length(steps=4), console=quiet)  # warm-up alone
    (run.path / "draws.zarr" / "posterior").mkdir(parents=True)  # no zarr.json yet
    fit_to_run([FakeChain()], run, Length(steps=26), console=quiet)
    assert_draws(run, 30)


@pytest.mark.parametrize("length", [Length(seconds=0.3), Length(steps=30)])
def test_dying_in_the_pilot_then_resuming_plans_as_was_asked(make_run, quiet, monkeypatch, length):
    def dying(*_):
        raise Killed

    run, chains = make_run("run", pause=0.002, shares=Shares())
    with monkeypatch.context() as patch:
        patch.setattr("geodrift.driver._fit.plan_and_leg", dying)
        with pytest.raises(Killed):
            fit_to_run(chains, run, length, console=quiet)
    result = fit_to_run([FakeChain(pause=0.002, shares=Shares())], Run.open(run.path), console=quiet)
    # A busy machine takes fewer steps in the time; no pilot takes them for a number of steps.
    assert result.steps == 30 if length.steps else 10 < result.steps <= 150
    assert_draws(run, result.steps, shares=shares_of(Run.open(run.path)))


def test_a_run_that_was_never_told_how_long_asks(make_run, quiet):
    run, chains = make_run("never-asked")
    with pytest.raises(InputError, match="--seconds or --steps"):
        fit_to_run(chains, run, console=quiet)


@pytest.mark.parametrize("entry", ["kind", "chains", "plan", "labels", "id", "geodrift"])
def test_a_config_changed_by_hand_is_refused(make_run, quiet, entry):
    run, chains = make_run("run")
    fit_to_run(chains, run, Length(steps=10), console=quiet)
    config = json.loads((run.path / "config.json").read_text())
    (run.path / "config.json").write_text(json.dumps(config | {entry: 7}))
    with pytest.raises(InputError, match=r"config\.json is not as it was written"):
        Run.open(run.path)
    with pytest.raises(InputError, match=r"config\.json is not as it was written"):
        fit_to_run([FakeChain()], run, Length(steps=5), console=quiet)


def test_a_chain_that_fails_leaves_the_last_checkpoint_and_says_why(make_run, quiet, monkeypatch):
    """The draws until then are those of the run that does not fail; a second chain's are kept too."""
    monkeypatch.setattr(_record, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(_record, "CHECKPOINT_SHARE", 1e9)
    monkeypatch.setattr("geodrift.driver._pace.CHUNK_SECONDS", 0.0)
    run, chains = make_run("run", chains=2)
    real = chains[1].step

    def failing():
        if chains[1].count == 20:
            raise geodrift.SamplingError(geodrift.Result.NON_FINITE, 20, 1)
        real()

    chains[1].step = failing
    with pytest.raises(geodrift.SamplingError, match="chain 1, step 20"):
        fit_to_run(chains, run, Length(steps=50), console=quiet)
    summary = json.loads((run.path / "summary.json").read_text())
    assert summary["finished"] is False
    assert "chain 1, step 20" in summary["failure"]
    stored = run.draws["posterior"]["topics"].values
    assert stored.shape[1] == 5
    np.testing.assert_array_equal(stored, reference_draws(50, 2)["topics"][:, :5])


@pytest.mark.slow
def test_a_megabyte_of_draws_is_one_file_and_a_larger_draw_is_one_of_its_own(make_run, quiet):
    """A draw of 40 bytes does not make a file, and a large one is not cut."""
    run, chains = make_run("small")
    fit_to_run(chains, run, Length(steps=3000), console=quiet)
    assert len(list((run.path / "draws.zarr" / "posterior" / "topics" / "c").rglob("*"))) < 6
    run, chains = make_run("large", topics=600, words=5 * 100)
    fit_to_run(chains, run, Length(steps=10), console=quiet)
    files = [f for f in (run.path / "draws.zarr" / "posterior" / "topics" / "c").rglob("*") if f.is_file()]
    assert len(files) == run.num_draws == 2


def test_an_existing_path_is_refused(make_run, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "precious").write_text("x")
    with pytest.raises(InputError, match="exists already"):
        make_run("run")
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["precious"]


def test_directories_that_are_no_runs(make_run, quiet, tmp_path):
    run, chains = make_run("run")
    with pytest.raises(InputError, match="no checkpoint"):
        _ = run.draws
    fit_to_run(chains, run, Length(steps=3), console=quiet)
    with pytest.raises(InputError, match="no draws yet"):
        _ = run.draws
    with pytest.raises(InputError, match="does not exist"):
        Run.open(tmp_path / "nowhere")
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError, match="not a run directory: it has no config"):
        Run.open(tmp_path / "other")
    config = json.loads((run.path / "config.json").read_text())
    del config["checksum"]  # as in formats 1 and 2
    changes = [
        ({"format_version": 9}, "newer"),
        ({"format_version": 2}, "older than the one this geodrift reads.*fit anew"),
        ({"format": "x"}, "something else"),
    ]
    for change, message in changes:
        (run.path / "config.json").write_text(json.dumps(config | change))
        with pytest.raises(InputError, match=message):
            Run.open(run.path)
    (tmp_path / "other" / "checkpoint.json").write_text("{}")
    with pytest.raises(InputError, match="checkpoint of an older geodrift"):
        Run.open(tmp_path / "other")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("config.json", "cut off"),
        ("words.txt", "words.txt is not as it was written"),
        ("checkpoint/state.npz", "damaged"),
    ],
)
def test_a_run_cut_off_half_way_is_named(make_run, quiet, name, message):
    run, chains = make_run("run")
    fit_to_run(chains, run, Length(steps=20), console=quiet)
    content = (run.path / name).read_bytes()
    (run.path / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=message) as error:
        _ = Run.open(run.path).draws
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["words.txt", "draws.zarr"])
def test_a_missing_part_is_named(make_run, quiet, name):
    run, chains = make_run("run")
    fit_to_run(chains, run, Length(steps=20), console=quiet)
    os.rename(run.path / name, run.path / "moved")
    with pytest.raises(InputError, match=f"{name} is missing"):
        _ = Run.open(run.path).draws


def test_an_array_of_another_checkpoint_is_damage(make_run, quiet):
    """The file's own checksums are right then."""
    run, chains = make_run("run")
    fit_to_run(chains, run, Length(steps=20), console=quiet)
    file = run.path / "checkpoint" / "state.npz"
    with np.load(file, allow_pickle=False) as stored:
        arrays = dict(stored)
    name = next(name for name, value in arrays.items() if name.startswith("0/") and value.size)
    arrays[name] = arrays[name] + 1
    np.savez(file, **arrays)
    with pytest.raises(InputError, match=rf"state\.npz is damaged \({name} is not as it was written\)"):
        Run.open(run.path).read_checkpoint()


def test_no_pickle_can_get_in(make_run, quiet):
    run, _ = make_run("run")
    with pytest.raises(TypeError, match="Python objects"):
        run.write_checkpoint(Checkpoint([{"x": np.array([{}], dtype=object)}], {"draws": [0]}))
    assert not (run.path / "checkpoint" / "state.npz").exists()


def test_a_fit_in_a_thread_leaves_signals_alone(make_run, quiet):
    run, chains = make_run("run")
    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(
        target=fit_to_run, args=(chains, run, Length(steps=10)), kwargs={"console": quiet}
    )
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is before
    assert_draws(run, 10)


def test_progress_names_what_a_reader_wants(make_run, quiet):
    run, chains = make_run("run")
    fit_to_run(chains, run, Length(steps=10), console=quiet)
    text = quiet.file.getvalue()
    assert "step 10/10" in text
    assert "kinetic T" in text
    assert "s left" in text
    assert "never" not in text  # it was NaN
