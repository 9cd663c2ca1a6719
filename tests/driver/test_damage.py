"""Damaged run directories: nothing wrong is read, nothing whole is lost, and what can be repaired is."""

import contextlib
import json
import shutil

import jax
import numpy as np
import pytest
from fake import FakeChain
from run_damage import damages, files_of, flip_bit

import geodrift
from geodrift.data import InputError
from geodrift.driver import Length, Run, fit_to_run, repair, survey

STEPS, MORE = 60, 30


@pytest.fixture
def two_runs(make_run, quiet, monkeypatch):
    """Runs of two chains and three variables, several chunks each; the second has other draws."""
    monkeypatch.setattr("geodrift.driver._draw_store.CHUNK_BYTES", 4 * 64)
    runs = []
    for seed in (0, 1):
        run, chains = make_run(f"run{seed}", chains=2, seed=seed)
        fit_to_run(chains, run, Length(steps=STEPS), console=quiet)
        runs.append(run.path)
    return runs


def posterior(path):
    return {str(name): a.values for name, a in geodrift.load(path).draws["posterior"].data_vars.items()}


def read(path):
    """All that a reader can ask of a run."""
    run = geodrift.load(path)
    return {name: a.tobytes() for name, a in posterior(path).items()} | {
        "metrics": run.metrics,
        "labels": run.labels,
    }


def contents(path):
    return {file: (path / file).read_bytes() for file in files_of(path)}


def resumed(path, quiet):
    chains = [FakeChain(chain=chain) for chain in range(2)]
    fit_to_run(chains, Run.open(path), Length(steps=MORE), console=quiet)
    return posterior(path)


def attempt(function, *arguments):
    """What a function returns, or the line with which it refuses."""
    try:
        return function(*arguments), ""
    except InputError as error:
        return None, str(error)


def assert_prefix(found, expected):
    number = min(values.shape[1] for values in found.values())
    assert number > 0
    for name, values in found.items():
        whole = expected[name][:, :number]
        stored = tuple(slice(size) for size in values.shape)  # values of varying length are filled up less
        np.testing.assert_array_equal(values, whole[stored], err_msg=name)
        assert np.isnan(whole[:, :, values.shape[2] :]).all() if whole.ndim == 3 else True
    return number


def assert_told(error, path):
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("every", [10, 1])
def test_any_damage_is_told_or_harmless_and_loses_nothing(two_runs, quiet, tmp_path, every):
    """Reading, resuming and repairing, for every kind of damage to every file, or for a tenth of them."""
    run, other = two_runs
    good, draws, longer = read(run), posterior(run), tmp_path / "longer"
    shutil.copytree(run, longer)
    further = resumed(longer, quiet)
    cut = 0
    for case in list(damages(run, other, flips=3))[::every]:
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(run, copy)
        case.damage(copy)
        before = contents(copy)
        answer, refusal = attempt(read, copy)
        assert str(copy) in refusal if refusal else answer == good, case.name
        found = survey(copy)
        with_more, refusal = attempt(resumed, copy, quiet)
        assert bool(refusal) == bool(found.damage), case.name
        if not refusal:
            assert all(np.array_equal(with_more[n], further[n], equal_nan=True) for n in further), case.name
            continue
        assert str(copy) in refusal, case.name
        assert contents(copy) == before, case.name
        repair(copy)
        after = {file.read_bytes() for file in copy.rglob("*") if file.is_file()}
        assert set(before.values()) <= after, f"{case.name}: lost"
        if survey(copy).damage:
            continue
        kept = assert_prefix(posterior(copy), draws)
        cut += kept < next(iter(draws.values())).shape[1]
        if "ended" in Run.open(copy).state:
            with pytest.raises(InputError, match="cannot be resumed"):
                resumed(copy, quiet)
        else:
            with_more = resumed(copy, quiet)
            assert all(np.array_equal(with_more[n], further[n], equal_nan=True) for n in further), case.name
    assert cut > 20 // every


def test_a_lost_chunk_costs_the_draws_from_it_on(two_runs):
    """Twenty draws of 40 bytes, six in a chunk of topics: of the third chunk's loss twelve are left."""
    run, _ = two_runs
    draws = posterior(run)
    (run / "draws.zarr" / "posterior" / "topics" / "c" / "1" / "2" / "0" / "0").unlink()
    with pytest.raises(InputError, match=r"topics/c/1/2/0/0 is missing") as error:
        posterior(run)
    assert_told(error, run)
    (line,) = repair(run)
    assert "12 draws of each chain are kept, 6 behind the damage go" in line
    assert assert_prefix(posterior(run), draws) == 12
    stored = run / "damaged" / "draws.zarr" / "posterior" / "topics" / "c" / "0" / "2" / "0" / "0"
    assert stored.is_file()
    assert repair(run) == []


def test_of_a_run_whose_first_chunk_is_lost_no_repair_is_advised(two_runs, quiet):
    run, _ = two_runs
    flip_bit(run / "draws.zarr" / "posterior" / "topics" / "c" / "0" / "0" / "0" / "0", 300)
    for call in (lambda: posterior(run), lambda: resumed(run, quiet)):
        with pytest.raises(InputError, match="--repair can keep none: a new run of the same") as error:
            call()
        assert_told(error, run)
    assert repair(run) == []
    assert not survey(run).keeps_any


def test_resume_says_what_is_good_and_writes_nothing(two_runs, quiet):
    run, _ = two_runs
    flip_bit(run / "draws.zarr" / "posterior" / "topics" / "c" / "0" / "1" / "0" / "0", 300)
    before = contents(run)
    with pytest.raises(
        InputError, match=r"topics/c/0/1/0/0 is not as it was written.* 6 draws of each"
    ) as error:
        resumed(run, quiet)
    assert_told(error, run)
    assert "--repair" in str(error.value)
    assert contents(run) == before


@pytest.mark.parametrize("stored", ["draws.zarr", "metrics.jsonl", "summary.json"])
def test_a_run_that_has_stored_anything_does_not_begin_anew(two_runs, quiet, stored):
    run, _ = two_runs
    for name in {"draws.zarr", "metrics.jsonl", "summary.json"} - {stored}:
        shutil.rmtree(run / name) if (run / name).is_dir() else (run / name).unlink()
    shutil.rmtree(run / "checkpoint")
    before = contents(run)
    with pytest.raises(InputError, match=r"state\.npz is missing"):
        resumed(run, quiet)
    assert contents(run) == before


def test_draws_without_a_checkpoint_are_counted_anew(two_runs):
    """A chain that is behind the other, as after Ctrl-C, ends with its last draw."""
    run, _ = two_runs
    draws = posterior(run)
    (run / "checkpoint" / "state.npz").unlink()
    (line,) = repair(run)
    assert "18 draws of each chain can be read, but the run cannot be resumed" in line
    assert assert_prefix(posterior(run), draws) == 18
    assert len(geodrift.load(run).metrics) > 0


def test_a_checkpoint_of_which_a_chain_is_damaged_keeps_the_rest(two_runs):
    run, _ = two_runs
    draws = posterior(run)
    state = run / "checkpoint" / "state.npz"
    position = geodrift.load(run).read_checkpoint().states[1]["position"].tobytes()
    flip_bit(state, 8 * state.read_bytes().index(position) + 3)
    repair(run)
    assert survey(run).damage == {}
    assert assert_prefix(posterior(run), draws) == 18


def test_a_killed_repair_can_be_called_again(two_runs, monkeypatch, tmp_path):
    """Killed at each of its writes and moves; the draws are the old ones or the repaired ones."""
    run, _ = two_runs
    draws = posterior(run)
    (run / "draws.zarr" / "posterior" / "topics" / "c" / "1" / "2" / "0" / "0").unlink()
    (run / "metrics.jsonl").write_text("{}")

    class Killed(BaseException):
        pass

    places = ["_keep", "_set_aside", "write_checkpoint", "write_json"]
    from geodrift.driver import _repair

    for place in places:
        for occurrence in (1, 2, 3):
            copy, calls, real = tmp_path / f"{place}{occurrence}", [], getattr(_repair, place)
            shutil.copytree(run, copy)

            def dying(*arguments, calls=calls, real=real, occurrence=occurrence, **options):
                calls.append(1)
                if len(calls) == occurrence:
                    raise Killed
                return real(*arguments, **options)

            with monkeypatch.context() as patch:
                patch.setattr(_repair, place, dying)
                with contextlib.suppress(Killed):
                    repair(copy)
            repair(copy)
            assert survey(copy).damage == {}
            assert assert_prefix(posterior(copy), draws) == 12


def test_draws_of_a_run_that_is_being_written_can_be_read(two_runs, quiet):
    """The last chunk of the draws is newer than the checkpoint that the reader has."""
    run, _ = two_runs
    draws, state = posterior(run), (run / "checkpoint" / "state.npz").read_bytes()
    resumed(run, quiet)
    (run / "checkpoint" / "state.npz").write_bytes(state)
    assert assert_prefix(posterior(run), draws) == 18


def test_an_older_checkpoint_than_the_summary_is_told(two_runs, quiet):
    """The draws that only a newer checkpoint counts would be removed by resume, and made again."""
    run, _ = two_runs
    state = (run / "checkpoint" / "state.npz").read_bytes()
    further = resumed(run, quiet)
    (run / "checkpoint" / "state.npz").write_bytes(state)
    with pytest.raises(InputError, match=r"state\.npz is older than summary\.json"):
        resumed(run, quiet)
    repair(run)
    assert assert_prefix(resumed(run, quiet), further) == 28


def test_a_config_is_restored_from_the_checkpoint(two_runs):
    run, _ = two_runs
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text("{}")
    assert repair(run) == ["config.json is written anew as the checkpoint has it"]
    assert json.loads((run / "config.json").read_text()) == config
    assert (run / "damaged" / "config.json").read_text() == "{}"


def sampled(path, seed=0, num_draws=40):
    """A run of `geodrift.sample` of two chains, with diagnostics, in chunks of a few draws."""
    estimator = geodrift.estimators.Full(lambda x: 3.0 * x[0])
    sampler = geodrift.samplers.GMC(estimator, geodrift.manifolds.Sphere(3), step_size=0.3, num_steps=2)
    key = jax.random.key(seed)
    return geodrift.sample(key, sampler, num_draws=num_draws, num_chains=2, checkpoint=path)


@pytest.mark.parametrize("every", [50, pytest.param(1, marks=pytest.mark.slow)])
def test_a_damaged_run_of_sample_is_told_or_harmless(monkeypatch, tmp_path, every):
    monkeypatch.setattr("geodrift.driver._draw_store.CHUNK_BYTES", 240)
    run, other, copy = tmp_path / "run", tmp_path / "other", tmp_path / "copy"
    draws, _ = sampled(run).position, sampled(other, seed=1)
    further = sampled(tmp_path / "longer", num_draws=60).position
    kept = []
    for case in list(damages(run, other, flips=3))[::every]:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(run, copy)
        case.damage(copy)
        before = contents(copy)
        found, refusal = attempt(lambda: posterior(copy)["position"])
        assert str(copy) in refusal if refusal else np.array_equal(found, draws), case.name
        is_damaged = bool(survey(copy).damage)
        found, refusal = attempt(lambda: sampled(copy, num_draws=60).position)
        assert bool(refusal) == is_damaged, case.name
        if not refusal:
            assert np.array_equal(found, further), case.name
            continue
        assert str(copy) in refusal, case.name
        assert contents(copy) == before, case.name
        repair(copy)
        if not survey(copy).damage:
            found = posterior(copy)["position"]
            kept.append(found.shape[1])
            assert np.array_equal(found, draws[:, : kept[-1]]), case.name
    assert kept
    assert min(kept) > 0
