"""Commands on damaged inputs, and what must hold of them."""

import functools
import shutil
from pathlib import Path
from random import Random
from typing import NamedTuple

from harness import Outcome, Worker, contents
from mutations import HOSTILE, mutate
from valid_inputs import Input, all_inputs, write

COMMANDS = ("corpus", "corpus", "corpus", "fit", "evaluate", "transform")


class Case(NamedTuple):
    """Files, and the command that is to read them; INPUT, VOCAB, RUN and OUT stand for paths."""

    files: dict[str, bytes]
    arguments: tuple[str, ...]


@functools.cache
def _inputs() -> tuple[Input, ...]:
    return tuple(all_inputs())


def random_case(random: Random) -> Case:
    """A valid input of which one or two files are damaged, and a command."""
    chosen = random.choice(_inputs())
    everything = [content for other in _inputs() for content in other.files.values()]
    files, name = dict(chosen.files), chosen.name
    for damaged in random.sample(sorted(files), min(len(files), random.choice([1, 1, 1, 2]))):
        files[damaged] = mutate(files[damaged], random, everything)
    options = list(chosen.options)
    if random.random() < 0.05:
        options += [
            "--text-field",
            random.choice(HOSTILE).decode("utf-8", "surrogateescape").replace("\0", ""),
        ]
    return Case(files, command_words(random.choice(COMMANDS), name, options))


def command_words(command: str, name: str, options: list[str]) -> tuple[str, ...]:
    """What is typed to have a command read the input of that name."""
    path = f"IN/{name}"
    if command == "corpus":
        return ("corpus", path, "--out", "OUT/corpus", *options)
    if command == "fit":
        return ("fit", "lda", path, "--run", "OUT/run", "--topics", "2", "--steps", "2", *options)
    # What text needs to become a vocabulary is no option of these.
    options = [word for word in options if word not in ("--max-df", "--min-df", "1.0", "1")]
    if command == "evaluate":
        return ("evaluate", "RUN", path, *options)
    return ("transform", "RUN", path, "--out", "OUT/weights.csv", *options)


def play(worker: Worker, case: Case, run: Path, folder: Path) -> tuple[Outcome, list[str]]:
    """Run a case in a folder of its own, which is removed, and say what is wrong with how it ended.

    Args:
        worker: Runs it.
        case: The case.
        run: A run of the words of `valid_inputs`, which must not change.
        folder: Where; it must not exist.
    """
    given, out = folder / "in", folder / "out"
    out.mkdir(parents=True)
    write(case.files, given)
    before, names = (contents(given), contents(run)), {"VOCAB": given / "VOCAB", "RUN": run}
    arguments = [
        str(names.get(word, word)).replace("IN/", f"{given}/").replace("OUT/", f"{out}/")
        for word in case.arguments
    ]
    outcome = worker.call(*arguments)
    faults = outcome.faults()
    if (contents(given), contents(run)) != before:
        faults.append("the input was changed")
    if worker.left_here():
        faults.append(f"files were written where it ran: {worker.left_here()}")
        for name in worker.left_here():
            (worker.folder / "here" / name).unlink()
    left = sorted(path.name for path in out.iterdir())
    wanted = [Path(word).name for word in case.arguments if word.startswith("OUT/")]
    if left != (wanted if outcome.status == 0 else []) and not outcome.stopped:
        faults.append(f"status {outcome.status} and left {left}")
    shutil.rmtree(folder)
    return outcome, faults
