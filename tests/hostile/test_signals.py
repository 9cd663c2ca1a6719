"""Ctrl-C and SIGTERM from the first moment of a command: a line, a status, nothing half-written."""

import os
import signal
import subprocess
import sys
import time

import pytest
from tasks import orphans, partials


def start(code, folder):
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


def fit(folder, *length):
    """A fit of twenty small files; whole passes of them take a fraction of a millisecond."""
    lines = "\n".join(["abc", "def", "ghi", "jkl", "mno", "pqr", "stu", "vwx", "yza"] * 3)
    for i in range(20):
        (folder / f"{i}.txt").write_text(lines + f" own{i % 3}")
    words = ["fit", "lda", ".", "--run=run", "--topics=2", "--max-df=1.0", "--min-df=1", *length]
    return start(f"import sys; from geodrift.cli import main; sys.argv[1:] = {words}; main()", folder)


# Each says "here" on stdout where the signal is to meet it.
BEFORE_THE_IMPORTS = """
import sys, geodrift_command
class Waits:
    def find_spec(self, name, *rest):
        if name == "jax":
            print("here", flush=True)
            import time
            time.sleep(20)
geodrift_command.end_at_signals()
sys.meta_path.insert(0, Waits())
sys.argv[1:] = ["--version"]
geodrift_command.main()
"""
IN_A_CALLBACK = """
import sys
from geodrift.cli import main, _root
class Late:
    def __del__(self):
        print("here", flush=True)
        import time
        time.sleep(20)  # an exception in here is lost
import geodrift._terminal as terminal
terminal.show = lambda text: Late() and None
_root.show = terminal.show
sys.argv[1:] = ["--version"]
main()
"""
WHILE_IT_WRITES = """
import sys, time
import geodrift.data._shards as shards
whole = shards.write_shards
def write_shards(folder, *rest):
    made = whole(folder, *rest)
    print("here", flush=True)
    time.sleep(20)
    return made
import geodrift.data._constructors, geodrift.data._corpus, geodrift.data._build_steps
for module in (geodrift.data._constructors, geodrift.data._corpus, geodrift.data._build_steps):
    if hasattr(module, "write_shards"):
        module.write_shards = write_shards
from geodrift.cli import main
sys.argv[1:] = ["corpus", "a.txt", "--out", "corpus", "--min-df", "1", "--max-df", "1.0"]
main()
"""


PLACES = {"imports": BEFORE_THE_IMPORTS, "callback": IN_A_CALLBACK, "writing": WHILE_IT_WRITES}
ONCE = [("imports", signal.SIGINT), ("callback", signal.SIGTERM), ("writing", signal.SIGINT)]


@pytest.mark.parametrize(
    ("code", "number"),
    [
        pytest.param(
            code,
            number,
            id=f"{place}-{number.name}",
            marks=() if (place, number) in ONCE else pytest.mark.slow,
        )
        for place, code in PLACES.items()
        for number in (signal.SIGINT, signal.SIGTERM)
    ],
)
def test_a_line_and_nothing_half_written(tmp_path, code, number):
    (tmp_path / "a.txt").write_text("some words in a file")
    process = start(code, tmp_path)
    assert process.stdout.readline() == "here\n", process.stderr.read()
    if "corpus" in code:
        assert partials(tmp_path)
    time.sleep(0.1)
    process.send_signal(number)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 128 + number
    assert err.startswith(f"error: interrupted ({number.name})")
    assert len(err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, signal.SIGTERM],
    ids=lambda number: number.name,
)
def test_a_fit_ends_after_its_steps_with_the_signal_s_status(tmp_path, number):
    process = fit(tmp_path, "--seconds=100")
    while not (tmp_path / "run" / "metrics.jsonl").exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    assert "stopping after the work in hand" in err
    assert "interrupted: go on with geodrift resume run" in err
    assert "Traceback" not in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "options"),
    [
        (signal.SIGINT, ()),
        (signal.SIGTERM, ()),
        (signal.SIGINT, ("--processes=2",)),
    ],
    ids=["SIGINT", "SIGTERM", "SIGINT-processes"],
)
def test_a_long_fit_ends_at_once_while_its_steps_are_timed(tmp_path, number, options):
    """Of 600 seconds the pilot takes ten; what it had done was warm-up, and a run goes on without."""
    process = fit(tmp_path, "--seconds=600", *options)
    while not (tmp_path / "run" / ".lock").exists():  # from then on the signal is the driver's
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    time.sleep(1.0)
    process.send_signal(number)
    began = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - began < (10 if options else 4)  # the processes may share one core
    assert process.returncode == 128 + number, err
    assert "stopping after the work in hand" in err
    assert "interrupted before it was planned: geodrift resume run begins it anew" in err
    assert "Traceback" not in err
    assert not (tmp_path / "run" / "checkpoint").exists()
    code = "import sys; from geodrift.cli import main; sys.argv[1:] = ['resume', 'run', '--steps=3']; main()"
    _, err = start(code, tmp_path).communicate(timeout=60)
    assert "run was not planned yet: it begins anew" in err
    assert "\n3 steps, " in err


@pytest.mark.slow
def test_processes_that_read_end_with_the_command(tmp_path):
    """Ctrl-C of a terminal goes to all of them, SIGKILL to the first alone."""
    for i in range(2):
        (tmp_path / f"{i}.jsonl").write_text('{"text": "some words"}\n' * 300_000)
    words = ["corpus", "0.jsonl", "1.jsonl", "--out=corpus", "--workers=2", "--min-df=1", "--max-df=1.0"]
    command = [sys.executable, "-m", "geodrift_command", *words]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    for number in (signal.SIGINT, signal.SIGKILL):
        process = subprocess.Popen(
            command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
        )
        while len(orphans(tmp_path)) < 4:  # with the one that multiprocessing watches resources with
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        time.sleep(1.0)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)
        else:
            process.kill()
        _, err = process.communicate(timeout=20)
        assert err == ("" if number == signal.SIGKILL else err.partition("\n")[0] + "\n")
        until = time.monotonic() + 5
        while orphans(tmp_path) and time.monotonic() < until:
            time.sleep(0.05)
        assert not orphans(tmp_path)
