"""Every command on damaged runs of models: right numbers, or one line, and nothing is changed."""

import shutil
import sys

import numpy as np
import pytest
from command import assert_one_line
from run_damage import damages, files_of

import geodrift
from geodrift.models.kit import damage_of_run

# The rest of what a model's run has is damaged in `tests/driver`.
OF_MODELS = ("vocabulary.txt", "document-frequencies.npy", "draws.zarr/posterior/topics/c", "checkpoint")


@pytest.fixture(scope="module", params=["lda", pytest.param("sam", marks=pytest.mark.slow)])
def runs(request, inputs, tmp_path_factory):
    """Two runs of a model, of several chunks; the second has another seed."""
    from geodrift import cli

    folder, made = tmp_path_factory.mktemp("runs"), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("geodrift.driver._draw_store.CHUNK_BYTES", 2000)  # five draws
        for seed in ("1", "2"):
            made.append(folder / seed)
            source = [inputs / "train.npz", "--vocab", inputs / "vocab.txt", "--run", made[-1]]
            options = ["--topics=3", "--chains=2", "--steps=150", "--draws=12", "--batch-size=20"]
            words = ["geodrift", "fit", request.param, *source, *options, "--seed", seed]
            patch.setattr(sys, "argv", [str(word) for word in words])
            with pytest.raises(SystemExit) as stop:
                cli.main()
            assert not stop.value.code
    return made


def contents(path):
    return {file: (path / file).read_bytes() for file in files_of(path)}


def commands(path, inputs, out):
    return {
        "topics": ["topics", path, "--json"],
        "evaluate": ["evaluate", path, inputs / "test.npz", "--json", "--draws=2"],
        "transform": ["transform", path, inputs / "test.npz", "--out", out / "w.csv"],
        "export": ["export", path, "--out", out / "x.npz"],
    }


def answers(call, path, inputs, out):
    """Status, what was printed or written, and what stands on stderr, by command."""
    found = {}
    for name, command in commands(path, inputs, out).items():
        status, printed, err = call(*command)
        written = []
        for file in out.iterdir():
            content = file.read_bytes()
            if file.suffix == ".npz":
                with np.load(file, allow_pickle=False) as stored:
                    content = {key: stored[key].tobytes() for key in stored.files}
            written.append(content)
            file.unlink()
        found[name] = (status, printed if name in ("topics", "evaluate") else written, printed, err)
    return found


@pytest.mark.parametrize("every", [17, pytest.param(1, marks=pytest.mark.slow)])
def test_a_damaged_run_is_told_and_repaired(geodrift_cli, runs, inputs, tmp_path, every):
    run, other = runs
    out, copy = tmp_path / "out", tmp_path / "copy"
    out.mkdir()
    good = answers(geodrift_cli, run, inputs, out)
    draws = geodrift.load(run).draws["posterior"]["topics"].values
    cases = [case for case in damages(run, other, flips=3) if case.file.startswith(OF_MODELS)]
    assert len(cases) > 50
    for case in cases[::every]:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(run, copy)
        case.damage(copy)
        before = contents(copy)
        for name, (status, answer, printed, err) in answers(geodrift_cli, copy, inputs, out).items():
            if status == 0:
                assert answer == good[name][1], f"{name}: {case.name}"
            else:
                assert_one_line(status, printed, err)
                assert str(copy) in err, f"{name}: {case.name}"
        if not damage_of_run(copy):
            continue
        assert geodrift_cli("resume", copy, "--steps=1")[0] == 1, case.name
        assert contents(copy) == before, case.name
        status, told, err = geodrift_cli("verify", copy)
        assert (status, err) == (1, ""), case.name
        assert str(copy) in told
        if geodrift_cli("verify", copy, "--repair")[0] == 0:
            stored = geodrift.load(copy).draws["posterior"]["topics"].values
            assert stored.shape[1] > 0
            assert np.array_equal(stored, draws[:, : stored.shape[1]]), case.name
            repaired = answers(geodrift_cli, copy, inputs, out)
            assert [status for status, *_ in repaired.values()] == [0] * 4, case.name


def test_verify_says_what_was_checked_and_what_cannot_be_repaired(geodrift_cli, runs, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(runs[0], copy)
    status, told, _ = geodrift_cli("verify", copy)
    assert status == 0
    assert "every file is as it was written; " in told
    assert "draws of each of 2 chains" in told
    (copy / "draws.zarr" / "posterior" / "topics" / "c" / "0" / "0" / "0" / "0").unlink()
    before = contents(copy)
    status, told, _ = geodrift_cli("verify", copy, "--repair")
    assert status == 1
    assert told.count("topics/c/0/0/0/0 is missing") == 2
    assert "cannot be repaired" in told
    assert "so --repair can keep none: a new run of the same settings, seed and length" in told
    assert contents(copy) == before


def test_verify_takes_corpora_and_never_changes_them(geodrift_cli, runs, tmp_path):
    copy = tmp_path / "corpus"
    shutil.copytree(runs[0] / "corpus", copy)
    assert geodrift_cli("verify", copy)[0] == 0
    (copy / "vocabulary.txt").write_text("other\n")
    before = contents(copy)
    status, told, _ = geodrift_cli("verify", copy)
    assert status == 1
    assert "vocabulary.txt" in told
    assert geodrift_cli("verify", copy, "--repair")[0] == 2
    assert contents(copy) == before


def test_a_corpus_that_was_damaged_is_not_fitted_further(geodrift_cli, runs, tmp_path):
    """Not even read by the compiled kernels, which take its numbers as they are."""
    copy = tmp_path / "copy"
    shutil.copytree(runs[0], copy)
    file = copy / "corpus" / "shard-00000-indices.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 64
    file.write_bytes(content)
    before = contents(copy)
    result = geodrift_cli("resume", copy, "--steps=5")
    assert_one_line(*result)
    assert "shard-00000-indices.npy" in result[2]
    assert contents(copy) == before


def test_what_is_no_run_is_told(geodrift_cli, tmp_path):
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "nowhere", tmp_path / "folder"):
        result = geodrift_cli("verify", path)
        assert_one_line(*result)
        assert str(path) in result[2]
