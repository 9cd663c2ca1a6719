"""Options about several processes that cannot be carried out are refused before anything is read."""

import subprocess
import sys

import pytest


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
