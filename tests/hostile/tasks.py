"""What is interrupted: commands and `geodrift.sample`, and what they make undisturbed."""

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from valid_inputs import VOCABULARY, counts, saved

COMMAND = Path(__file__).with_name("quick_checkpoints.py")
RUNNER = Path(__file__).parents[1] / "driver" / "runner.py"
STEPS = 400


def start(words: list[object], folder: Path, file_size: int | None = None) -> subprocess.Popen:
    """A process of its own."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "GEODRIFT_TEST_QUICK": "1"}
    if file_size is not None:
        environment["GEODRIFT_TEST_FILE_SIZE"] = str(file_size)
    return subprocess.Popen(
        [sys.executable, *map(str, words)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,  # as a terminal does: Ctrl-C goes to all processes of it
    )


class Task:
    """Something that writes, in a folder that has all it reads.

    Args:
        name: "fit", "corpus", "export" or "sample".
        ground: A folder from `prepare`.
        folder: Where it writes; new.
    """

    def __init__(self, name: str, ground: Path, folder: Path) -> None:
        self.name, self.ground, self.folder = name, ground, folder
        folder.mkdir(exist_ok=True)
        self.target = folder / {"fit": "run", "corpus": "corpus", "export": "e.npz", "sample": "run"}[name]

    def words(self) -> list[object]:
        """The process that begins, or goes on."""
        if self.name == "corpus":
            options = ["--workers", 2, "--min-df", 1, "--max-df", "1.0"]
            return [COMMAND, "corpus", self.ground / "texts", "--out", self.target, *options]
        if self.name == "export":
            return [COMMAND, "export", self.ground / "run", "--out", self.target]
        if self.name == "sample":
            return [RUNNER, "compiled", self.target, self.folder / "draws.npz", 0.005]
        if not self.target.exists():
            options = ["--topics", 3, "--steps", STEPS, "--chains", 2, "--batch-size", 50, "--seed", 7]
            return [COMMAND, "fit", "lda", self.ground / "corpus", "--run", self.target, *options]
        planned = json.loads((self.target / "config.json").read_text()).keys() & {"plan", "request"}
        return [COMMAND, "resume", self.target, *([] if planned else ["--steps", STEPS])]

    def start(self, file_size: int | None = None) -> subprocess.Popen:
        return start(self.words(), self.folder, file_size)

    def finish(self) -> str:
        """Carry it to its end, and return a digest of what it made."""
        process = self.start()
        _, err = process.communicate()
        if process.returncode and "has done its plan" not in err and "exists already" not in err:
            raise AssertionError(f"{self.name} does not go on: {err[-2000:]}")
        return self.digest()

    def digest(self) -> str:
        """Of what was made; a run's is that of its export."""
        if self.name == "corpus":
            return hashlib.sha256((self.target / "manifest.json").read_bytes()).hexdigest()
        file = self.folder / "draws.npz" if self.name == "sample" else self.target
        if self.name == "fit":
            file = self.folder / "exported.npz"
            file.unlink(missing_ok=True)
            process = start([COMMAND, "export", self.target, "--out", file], self.folder)
            assert process.wait() == 0, process.stderr.read()
        made = hashlib.sha256()
        with np.load(file, allow_pickle=False) as stored:
            for name in sorted(stored.files):
                made.update(name.encode() + stored[name].tobytes())
        return made.hexdigest()


NAMES = ("fit", "corpus", "export", "sample")


def prepare(ground: Path) -> dict[str, tuple[str, float]]:
    """Make what the tasks read, and return what each makes, as a digest, and the seconds it takes."""
    rng = np.random.default_rng(0)
    (ground / "texts").mkdir(parents=True)
    for number in range(6):
        lines = (json.dumps({"text": " ".join(rng.choice(VOCABULARY, 40))}) for _ in range(1500))
        (ground / "texts" / f"{number}.jsonl").write_text("\n".join(lines))
    (ground / "a.npz").write_bytes(saved(sp.save_npz, counts(3000)))
    made = start([COMMAND, "corpus", ground / "a.npz", "--out", ground / "corpus"], ground)
    assert made.wait() == 0, made.stderr.read()
    straight = {}
    for name in NAMES:
        folder = ground / f"straight-{name}"
        task, began = Task(name, ground, folder), time.monotonic()
        process = task.start()
        _, err = process.communicate()
        assert process.returncode == 0, err
        seconds = time.monotonic() - began
        straight[name] = task.digest(), seconds
        if name == "fit":
            (ground / "run").symlink_to(folder / "run")
    return straight


def partials(folder: Path) -> list[str]:
    """What stands under a temporary name."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.partial-*"))


def orphans(folder: Path) -> list[int]:
    """Processes that run in a folder whose parent has gone."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink() == folder:
                found.append(int(entry.name))
        except OSError:
            continue
    return found
