"""Options about several processes that cannot be carried out are refused before anything is read."""

import subprocess
import sys

import pytest

from geodrift.models.kit._by_processes import own_command


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["hdp", "--processes", "2"], "hdp cannot be fitted by 2 processes"),
        (["dpm", "--processes", "3", "--cluster-groups", "2"], "cluster_groups is 2"),
        (["lda", "--processes", "5"], "its steps have work for 4 at most"),
        (["lda", "--processes", "2", "--method", "scir"], "method 'scir' is of one process"),
        (["lda", "--processes", "2", "--distributed"], "not both"),
        (["lda", "--restarts", "2"], "--restarts goes with --processes"),
        (["lda", "--process-id", "1"], "--process-id goes with --distributed"),
        (["lda", "--processes", "0"], "--processes"),
    ],
)
def test_options_that_do_not_go_together(options, said, geodrift_cli, tmp_path):
    model, *rest = options
    status, out, err = geodrift_cli("fit", model, tmp_path / "none", "--run", tmp_path / "run", *rest)
    assert (status, out) == (2, "")
    assert said in err
    assert not (tmp_path / "run").exists()


def test_what_libraries_write_to_stdout_stays_out_of_the_results():
    code = (
        "import os; from geodrift._terminal import keep_stdout_for_results, show\n"
        "keep_stdout_for_results(); os.write(1, b'[Gloo] connected\\n'); show('run')"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "run\n"
    assert "[Gloo] connected" in found.stderr


def test_processes_take_no_modules_of_the_folder_that_they_are_started_in(tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    for name in ("numbers", "socket"):
        (tmp_path / "folder" / f"{name}.py").write_text("raise SystemExit('a module of the user')")
    shown = subprocess.run(
        own_command("--version"), cwd=tmp_path / "folder", capture_output=True, text=True, check=True
    )
    assert shown.stdout.startswith("geodrift ")
    # A package that this process has found in a place of its own is found there.
    (tmp_path / "geodrift_command.py").write_text("import sys\ndef main(): print(sys.argv[1:])")
    monkeypatch.syspath_prepend(tmp_path)
    found = subprocess.run(own_command("a", "b"), capture_output=True, text=True, check=True)
    assert found.stdout == "['a', 'b']\n"


@pytest.mark.slow
def test_processes_that_read_text_take_none_either(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "socket.py").write_text("raise SystemExit('a module of the user')")
    # A file, as the installed command is one: its folder is where Python looks.
    (tmp_path / "command.py").write_text(
        "from geodrift.data._workers import mapped\n"
        "if __name__ == '__main__':\n"
        "    with mapped(1 + 1) as each:\n"
        "        print(list(each(abs, [-1, -2])))\n"
    )
    command = [sys.executable, tmp_path / "command.py"]
    done = subprocess.run(command, cwd=tmp_path / "folder", capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[1, 2]\n"), done.stderr
