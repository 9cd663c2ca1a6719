"""`reproductions/check.py` on the claims that are stored, and on claims that are broken on purpose."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "reproductions"

CLAIM = """
[[claim]]
name = "half"
claim = "the answer is a half"
source = "Fig. 1"
number = 0.5
tolerance = 0.01
why = "two standard errors"
command = "python reproductions/a-2000/run.py"
result = "results/run.json"
key = "measured.half"
verdict = "holds"
"""


def check(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "check.py"), "--root", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    folder = tmp_path / "reproductions" / "a-2000"
    (folder / "results").mkdir(parents=True)
    (folder / "claims.toml").write_text(CLAIM)
    write(folder, 0.505)
    return folder


def write(folder: Path, value: object) -> None:
    (folder / "results" / "run.json").write_text(json.dumps({"measured": {"half": value}}))


def edit(folder: Path, old: str, new: str) -> None:
    path = folder / "claims.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_stored_claims_have_their_stated_verdicts():
    outcome = check(ROOT)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_a_stored_claim_that_is_broken_fails(tmp_path):
    copy = tmp_path / "reproductions"
    shutil.copytree(ROOT, copy)
    path = next(
        path for path in sorted(copy.glob("*/claims.toml")) if 'verdict = "holds"' in path.read_text()
    )
    path.write_text(path.read_text().replace('verdict = "holds"', 'verdict = "refuted"\nfinding = "none"', 1))
    outcome = check(copy)
    assert outcome.returncode == 1
    assert "FAIL" in outcome.stdout


def test_a_value_within_the_tolerance_holds(paper):
    outcome = check(paper.parent)
    assert outcome.returncode == 0
    assert "a-2000/half: holds" in outcome.stdout


@pytest.mark.parametrize("value", [0.511, 0.489, float("nan")])
def test_a_value_outside_the_tolerance_refutes_and_fails(paper, value):
    write(paper, value)
    outcome = check(paper.parent)
    assert outcome.returncode == 1
    assert "FAIL a-2000/half: refuted (stated: holds)" in outcome.stdout


def test_a_refuted_claim_is_under_test_too(paper):
    edit(paper, 'verdict = "holds"', 'verdict = "refuted"\nfinding = "it is 0.6"')
    assert check(paper.parent).returncode == 1
    write(paper, 0.6)
    outcome = check(paper.parent)
    assert outcome.returncode == 0
    assert "it is 0.6" in outcome.stdout


def test_a_missing_result_is_not_run(paper):
    (paper / "results" / "run.json").unlink()
    assert check(paper.parent).returncode == 1
    edit(paper, 'verdict = "holds"', 'verdict = "not run"')
    assert check(paper.parent).returncode == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("number = 0.5", "number = nan", "number"),
        ("tolerance = 0.01", "tolerance = -1", "tolerance"),
        ('verdict = "holds"', 'verdict = "refuted"', "without a finding"),
        ('verdict = "holds"', 'verdict = "good"', "verdict"),
        ('why = "two standard errors"', "", "why"),
        ("[[claim]]", "[[clam]]", "[[claim]]"),
        ('key = "measured.half"', 'key = "measured.third"', "measured.third"),
    ],
)
def test_a_malformed_file_is_named(paper, old, new, message):
    edit(paper, old, new)
    outcome = check(paper.parent)
    assert outcome.returncode == 2
    assert message in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_run_writes_the_result_first(paper):
    (paper / "results" / "run.json").unlink()
    (paper / "run.py").write_text(
        "import json, pathlib\n"
        "path = pathlib.Path(__file__).parent / 'results' / 'run.json'\n"
        "path.write_text(json.dumps({'measured': {'half': 0.5}}))\n"
    )
    assert check(paper.parent, "--run").returncode == 0


def test_an_unknown_paper_is_an_error(paper):
    outcome = check(paper.parent, "b-2001")
    assert outcome.returncode == 2
    assert "b-2001" in outcome.stderr


def test_the_figure_of_densities_is_of_the_stored_draws():
    """Figure S.5 of Ma, Chen and Fox shows the draws of Figure 2 left: it is made anew with them."""
    results = Path(__file__).parents[2] / "reproductions" / "ma-2015" / "results"
    draws, shown = (
        json.loads((results / f"{name}.json").read_text())["measured"]
        for name in ("figure2_left", "figureS5_densities")
    )
    for target, methods in shown.items():
        for method, told in methods.items():
            bins = draws[target][method]["30 thousandths"]["noise 0"]["bins"]
            # 60 bins of 0.1 from -3 on.
            assert sum(bins[25:35]) == pytest.approx(told["within_a_half_of_0"], rel=1e-4)
