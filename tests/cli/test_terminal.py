"""What comes from outside reaches a terminal as text, and by one file of the package alone."""

import ast
import io
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from harness import steering

from geodrift import _terminal
from geodrift.cli._signals import ended_by_signals
from geodrift.driver._chain import ShownMetric
from geodrift.driver._progress import ProgressView
from geodrift.models.kit._tables import paragraphs

PACKAGE = Path(_terminal.__file__).parent
HOSTILE = "a\x1b[31mred\x07\x9b2J\x7f\u202eoverride\u2067isolate\u200fmark\udc80"


def writes_itself(tree):
    """Lines of a file that write to a terminal without `_terminal`."""
    for node in ast.walk(tree):
        name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        last = name.rpartition(".")[2]
        if name in ("print", "input") or last in ("print", "echo", "secho", "Console", "print_exc"):
            yield node.lineno, name
        elif isinstance(node, ast.Attribute) and node.attr.strip("_") in ("stdout", "stderr"):
            yield node.lineno, ast.unparse(node)


def test_no_other_file_writes_to_a_terminal():
    found = [
        f"{file.relative_to(PACKAGE)}:{line}: {name}"
        for file in sorted(PACKAGE.rglob("*.py"))
        if file.name != "_terminal.py"
        for line, name in writes_itself(ast.parse(file.read_text("utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize(
    "line", ["print(1)", "console.print(1)", "typer.echo(1)", "sys.stderr.write('x')", "Console(stderr=True)"]
)
def test_the_test_above_sees(line):
    assert list(writes_itself(ast.parse(line)))


def test_every_character_that_steers_is_written_out():
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    assert steering(everything)
    assert steering(_terminal.visible(everything)) == []
    kept = "naïve Ωμέγα 日本語 עברית العربية नमस्ते 👩‍👩‍👧"
    assert _terminal.visible(kept) == kept
    assert _terminal.visible("a\x1b[31m\x9b\u202e\udc80\n") == r"a\x1b[31m\x9b\u202e\udc80\n"


def test_json_stays_json(capsys):
    value = {"word": HOSTILE, "other": "école"}
    for indent in (None, 2):
        _terminal.show_json(value, indent)
        out = capsys.readouterr().out
        assert steering(out) == []
        assert "école" in out
        assert json.loads(out) == value


def test_streams_without_the_letters_get_them_written_out(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    _terminal.show("école")
    _terminal.show_json(["école"])
    written = stream.buffer.getvalue().decode("ascii")
    assert written == '\\xe9cole\n["\\u00e9cole"]\n'


def test_a_full_disk_behind_stdout_is_one_line():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "geodrift_command", "--version"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "error: <stdout>: No space left on device\n")


def test_progress_is_text():
    from rich.console import Console

    for terminal in (False, True):
        stream = io.StringIO()
        console = Console(file=stream, force_terminal=terminal, width=200)
        with ProgressView(console, after=0.0) as view:
            view.update("sampling", {}, 10, 10)
        assert "step 10/10" in stream.getvalue()


def test_what_grows_does_not_fall_back_where_chains_take_turns():
    from rich.console import Console

    shown, stream = (ShownMetric("rows", "{:,.0f} rows seen", grows=True),), io.StringIO()
    with ProgressView(Console(file=stream, width=200), shown, after=0.0) as view:
        for done, rows in ((10, 500.0), (20, 300.0)):
            view._last_line = -1e9
            view.update("sampling", {"rows": rows}, done, 20, chains=2)
    assert stream.getvalue().count("500 rows seen") == 2


def test_narrow_terminals_see_the_bar_the_temperatures_and_the_time_left():
    from rich.console import Console

    metrics = {f"m{i}": 12345.678 for i in range(4)}
    shown = [ShownMetric(name, f"a metric with a long name {name} {{:,.1f}}") for name in metrics]
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80, height=25, color_system=None)
    with ProgressView(
        console, (*shown, ShownMetric("m0", "late {:.1f}", on_the_way=False)), after=0.0
    ) as view:
        view.update("warming up", metrics, 896, 3584, chains=2)
        view.update("warming up", metrics, 1792, 3584, chains=2)
        view._bar.refresh()
    last = re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", stream.getvalue())
    assert "step 896/1,792 of 2 chains" in last
    assert "s left" in last
    assert "\u2501" * 9 in last
    assert "\u2026" not in last
    assert all(f"{name} 12,345.7" in last for name in metrics)
    assert "late" not in last
    assert max(map(len, last.replace("\r", "\n").split("\n"))) <= 80


@pytest.fixture(scope="module")
def hostile_run(tmp_path_factory):
    """A run whose words hold codes for terminals."""

    folder = tmp_path_factory.mktemp("hostile")
    words = [f"w{i}{HOSTILE[:-1]}" for i in range(6)]
    sp.save_npz(folder / "counts.npz", sp.csr_matrix(np.random.default_rng(0).poisson(2, (20, 6))))
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    return folder


def test_words_and_names_reach_no_terminal_as_they_are(geodrift_cli, hostile_run):
    counts, vocab, run = (hostile_run / name for name in ("counts.npz", "vocab.txt", "r\x1b[1mun"))
    results = [geodrift_cli("fit", "lda", counts, "--vocab", vocab, "--topics=2", "--steps=20", "--run", run)]
    results += [
        geodrift_cli("topics", run),
        geodrift_cli("topics", run, "--json"),
        geodrift_cli("evaluate", run, counts),
        geodrift_cli("corpus", counts, "--vocab", vocab, "--out", hostile_run / "c\x07"),
    ]
    for status, out, err in results:
        assert status == 0, err
        assert steering(out + err) == []
    words = json.loads(results[2][1])["topics"][0]["words"]
    assert {word["word"] for word in words} <= {f"w{i}{HOSTILE[:-1]}" for i in range(6)}
    assert r"\x1b[31m" in results[1][1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["topics", f"no{HOSTILE}"],
        ["topics", "x", f"--{HOSTILE[:-1]}"],
        [HOSTILE[:-1]],
        ["fit", HOSTILE, "x", "--run", "r"],
        ["corpus", "FOLDER/a.jsonl", "--out", "FOLDER/o", "--text-field", HOSTILE],
        ["corpus", "FOLDER/a.jsonl", "--out", "FOLDER/o"],
        ["corpus", "FOLDER/a.jsonl", "--out", "FOLDER/o", "--encoding", HOSTILE],
        ["corpus", "FOLDER/a.csv", "--out", "FOLDER/o"],
        ["corpus", "FOLDER/a.jsonl", "--out", "FOLDER/o", "--min-df", HOSTILE],
        ["corpus", "FOLDER/a.jsonl", "--out", "FOLDER/o", "--token-pattern", f"({HOSTILE}"],
        ["export", "x", "--out", HOSTILE],
    ],
)
def test_errors_write_out_what_they_repeat(geodrift_cli, tmp_path, arguments):
    (tmp_path / "a.jsonl").write_text(json.dumps({f"k{HOSTILE}": 1}) + "\n")
    (tmp_path / "a.csv").write_bytes(f"{HOSTILE[:-1]},b\n1,2\n".encode())
    status, out, err = geodrift_cli(*(word.replace("FOLDER", str(tmp_path)) for word in arguments))
    assert status in (1, 2)
    assert out == ""
    assert steering(err) == []
    assert "rror: " in err
    assert "Traceback" not in err


def test_lines_that_are_wrapped_stay_as_far_in_as_they_begin():
    assert paragraphs("  one two three\nfour five", 9) == "  one two\n  three\nfour five"


def test_closed_streams_lead_nowhere_and_no_file_takes_their_place():
    code = (
        "import os, sys; from runpy import run_path; t = run_path(sys.argv[1]); t['open_closed_streams']()"
        "; t['say']('x'); t['show']('y')"
        "; os._exit(os.open(os.devnull, os.O_RDONLY) < 3 or sys.stdin is None)"
    )
    closed = 'exec "$0" -c "$1" "$2" <&- >&- 2>&-'
    assert subprocess.run(["sh", "-c", closed, sys.executable, code, _terminal.__file__]).returncode == 0


@pytest.mark.parametrize("nohup", [False, True])
def test_a_terminal_that_closes_ends_a_command_unless_it_is_to_go_on(nohup):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if nohup else signal.SIG_DFL)
    try:
        with ended_by_signals():
            heard = signal.getsignal(signal.SIGHUP)
        assert (heard == signal.SIG_IGN) == nohup
        assert heard != signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)
