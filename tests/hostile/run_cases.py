"""Damaged runs and corpora, of which commands give the right numbers or a line of error."""

import hashlib
import shutil
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from harness import Worker, contents
from mutations import mutate
from valid_inputs import VOCABULARY, counts, saved


class Damaged(NamedTuple):
    """What was done to which file, by its path below the folder of `Ground`."""

    what: str
    file: str


class Ground:
    """A corpus, a run fitted to it, and what every command says of them when they are whole.

    Args:
        worker: For the commands.
        folder: An empty folder.
    """

    def __init__(self, worker: Worker, folder: Path) -> None:
        self.folder = folder
        self.place, self.whole = folder / "case", folder / "whole"
        self.place.mkdir()
        (folder / "a.npz").write_bytes(saved(sp.save_npz, counts(25)))
        (folder / "vocab.txt").write_text("\n".join(VOCABULARY))
        named = ("--vocab", folder / "vocab.txt")
        named_settings = {"topics": 2, "steps": 40, "chains": 2, "batch-size": 10, "draws": 12, "seed": 3}
        options = [f"--{name}={value}" for name, value in named_settings.items()]
        with worker.compiling():
            must(worker, "corpus", folder / "a.npz", *named, "--out", self.place / "corpus")
            must(worker, "fit", "lda", self.place / "corpus", "--run", self.place / "run", *options)
            # A run knows where its corpus is, so what is damaged stands in the same place, a case at a time.
            shutil.copytree(self.place, self.whole)
            self.expected = {name: self.play(worker, name)[0] for name in COMMANDS}
        assert None not in self.expected.values()

    def play(self, worker: Worker, command: str) -> tuple[str | None, list[str], str]:
        """Run a command on what stands in `place`.

        Returns:
            A digest of what it found, None if it refused; what is wrong; what it wrote to stderr.
        """
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        before = contents(self.place)
        words = [word.format(place=self.place, out=out) for word in COMMANDS[command]]
        outcome = worker.call(*words)
        faults = outcome.faults()
        if outcome.status == 0 and command in ("resume", "fit"):
            target = self.place / "run" if command == "resume" else out / "run"
            found = worker.call("export", target, "--out", out / "e.npz")
            if found.status != 0:
                faults.append(f"{command} made a run that cannot be exported: {found.err}")
        elif contents(self.place) != before:
            changed = _changed(before, contents(self.place))
            faults.append(f"status {outcome.status}, and changed what it read: {changed}")
        if outcome.status != 0:
            if left := sorted(path.name for path in out.iterdir()):
                faults.append(f"left {left}")
            return None, faults, outcome.err
        return _digest(outcome.out, out), faults, outcome.err

    def restore(self) -> None:
        """Put whole files in the place of damaged ones."""
        shutil.rmtree(self.place)
        shutil.copytree(self.whole, self.place)


COMMANDS = {
    "topics": ("topics", "{place}/run", "--json"),
    "evaluate": ("evaluate", "{place}/run", "{place}/corpus", "--json"),
    "transform": ("transform", "{place}/run", "{place}/corpus", "--out", "{out}/w.npz"),
    "export": ("export", "{place}/run", "--out", "{out}/e.npz"),
    "fit": ("fit", "lda", "{place}/corpus", "--run", "{out}/run", "--topics", "2", "--steps", "10"),
    "resume": ("resume", "{place}/run", "--steps", "20"),
}


def damage(place: Path, random: Random) -> Damaged:
    """Damage one file of a run or a corpus."""
    files = sorted(path for path in place.rglob("*") if path.is_file())
    file = random.choice(files)
    others = [path.read_bytes() for path in files]
    what = random.choice(
        ["mutated", "mutated", "flipped", "missing", "truncated", "swapped", "renamed", "folder"]
    )
    content = file.read_bytes()
    if what == "mutated":
        file.write_bytes(mutate(content, random, others))
    elif what == "flipped":
        changed = bytearray(content or b"x")
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
        file.write_bytes(bytes(changed))
    elif what == "missing":
        file.unlink()
    elif what == "truncated":
        file.write_bytes(content[: random.randrange(len(content) or 1)])
    elif what == "swapped":
        # With a file of the same name, such as another chunk's, where there is one.
        alike = [path for path in files if path.suffix == file.suffix and path != file] or files
        other = random.choice(alike)
        theirs = other.read_bytes()
        other.write_bytes(content)
        file.write_bytes(theirs)
        return Damaged(what, f"{file.relative_to(place)} and {other.relative_to(place)}")
    elif what == "renamed":
        file.rename(file.with_name(file.name + "x"))
    else:
        file.unlink()
        file.mkdir()
    return Damaged(what, str(file.relative_to(place)))


def faults_of_all_commands(ground: Ground, worker: Worker, random: Random) -> tuple[Damaged, list[str]]:
    """Damage something, run every command, `resume` last, and say what is wrong; whole again at the end."""
    ground.restore()
    done, found = damage(ground.place, random), []
    names = {Path(part).name for part in done.file.split(" and ")}
    for command in COMMANDS:
        digest, faults, err = ground.play(worker, command)
        found += [f"{command}: {fault}" for fault in faults]
        if digest is not None and digest != ground.expected[command]:
            found.append(f"{command}: other numbers with status 0")
        if digest is None and not any(name in err for name in names):
            found.append(f"{command}: does not name the file: {err[-300:]}")
    ground.restore()
    return done, found


def must(worker: Worker, *arguments: object) -> None:
    outcome = worker.call(*arguments)
    assert outcome.status == 0, outcome


def _digest(text: str, out: Path) -> str:
    """Of what a command printed, where it is no path, and of the arrays that it wrote."""
    digest = hashlib.sha256()
    if text.startswith("{"):
        digest.update(text.encode())
    for file in sorted(out.glob("*.npz")):
        with np.load(file, allow_pickle=False) as stored:
            for name in sorted(stored.files):
                digest.update(name.encode() + str(stored[name].shape).encode() + stored[name].tobytes())
    return digest.hexdigest()


def _changed(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))[:5]
