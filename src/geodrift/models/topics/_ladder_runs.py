"""The runs of a ladder of numbers of topics: one budget, shared so that all take about as many sweeps."""

import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodrift._errors import InputError
from geodrift._whole import is_whole
from geodrift.data import Corpus
from geodrift.driver import Length, Run
from geodrift.models.kit._model import Model
from geodrift.models.kit._runs import create_run, fit, make_chains

if TYPE_CHECKING:
    from rich.console import Console

CHAINS = 4
CORPUS = "corpus"  # in the folder, where the documents are not a corpus directory already
# A sweep over a token takes about as long as a constant and each topic: K + 40 in units of a topic's time.
_CONSTANT = 40
_SHARE, _MOST, _LEAST = 0.1, 1000, 200  # documents set aside


class StoppedError(Exception):
    """A fit was interrupted; ``signal`` is the number of the signal."""

    def __init__(self, signal: int | None) -> None:
        super().__init__("interrupted: the same call goes on with what the directory holds")
        self.signal = signal


def held_out_of(documents: int) -> int:
    """How many documents are set aside: a tenth, at most 1,000, of small corpora 200 or a quarter."""
    return min(_MOST, max(int(_SHARE * documents), min(_LEAST, documents // 4)))


def checked_numbers(numbers: Sequence[int]) -> list[int]:
    """The numbers of topics, increasing.

    Raises:
        ValueError: There are fewer than two, one stands twice, or one is not whole.
    """
    found = list(numbers) if isinstance(numbers, Iterable) else [numbers]
    if len(found) < 2 or not all(is_whole(each, 1) for each in found) or len(set(found)) < len(found):
        told = ",".join(map(str, found)) or "none"
        raise ValueError(
            f"topics must be two whole numbers or more that differ, such as 5,10,20,40; got {told}"
        )
    return sorted(map(int, found))


def fitted_runs(
    model: Model,
    corpus: Corpus,
    numbers: Sequence[int],
    folder: Path,
    config: dict[str, Any],
    length: tuple[float | None, int | None],
    console: "Console | None",
    say: Callable[[str], object],
) -> dict[int, Run]:
    """A run of each number, in ``folder / "topics-K"``; those that are there are taken up.

    Args:
        model: Of the runs.
        corpus: All documents; one in memory is saved in the folder.
        numbers: Of topics.
        folder: Of the runs.
        config: See `make_chains`, without the number of topics.
        length: Seconds of all runs, or steps of each chain.
        console: Where progress goes.
        say: What goes on.

    Raises:
        StoppedError: Ctrl-C or SIGTERM; a later call goes on.
    """
    numbers = checked_numbers(numbers)
    configs = {
        number: config | {"settings": config["settings"] | {model.ladder_setting: number}}
        for number in numbers
    }
    for each in configs.values():
        model.settings_type.from_dict(each["settings"])  # refused before anything is written
    aside = config["held_out"]
    if not (is_whole(aside, 2) and aside < corpus.num_documents):
        raise ValueError(
            f"held_out must be from 2 to fewer than the {corpus.num_documents} documents, got {aside!r}"
        )
    if numbers[-1] > corpus.num_documents - aside:
        raise ValueError(
            f"topics must be at most the {corpus.num_documents - aside} documents that are fitted,"
            f" got {numbers[-1]}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    corpus = _placed(corpus, folder / CORPUS)
    seconds, steps = length
    shares = {number: number + _CONSTANT for number in numbers}
    runs = {}
    for number in numbers:
        share = None if seconds is None else seconds * shares[number] / sum(shares.values())
        path = folder / f"{model.component}s-{number}"
        say(
            f"{number} {model.component}s"
            + ("" if share is None else f", {share:,.0f} s" if share >= 10 else f", {share:.1g} s")
        )
        runs[number] = _fitted(model, corpus, path, configs[number], Length(share, steps), console, say)
    return runs


def _fitted(
    model: Model,
    corpus: Corpus,
    path: Path,
    config: dict[str, Any],
    length: Length,
    console: "Console | None",
    say: Callable[[str], object],
) -> Run:
    chains = make_chains(model, config, corpus)
    if not path.exists():
        run, asked = create_run(path, model, config, corpus, chains), length
    else:
        run = _same(Run.open(path), model, config, corpus, chains[0].settings.to_dict())
        left = run.state["total"] - min(run.state["counts"]) if run.has_checkpoint else 1
        if not left:
            steps = run.state["total"]
            say(f"{path} is done, with {steps:,} steps, and kept as it is; geodrift resume makes it longer")
            return run
        asked = None if run.has_checkpoint else length
    result = fit(model, chains, run, asked, console)
    if result.interrupted:
        raise StoppedError(result.stopped_by)
    return Run.open(path)


def _same(run: Run, model: Model, config: dict[str, Any], corpus: Corpus, settings: dict[str, Any]) -> Run:
    """The run, if it is of this ladder."""
    told = {name: config[name] for name in ("seed", "chains", "held_out")} | {
        "model": model.name,
        "settings": settings,
    }
    # As JSON has them: tuples are lists there.
    told = json.loads(json.dumps(told))
    differs = [name for name, value in told.items() if run.config.get(name) != value]
    if run.config["corpus"]["checksum"] != corpus.checksum:
        differs.append("corpus")
    if differs:
        raise InputError(
            f"run {run.path} is of another {' and '.join(differs)}: write to another directory, or move it"
            " away"
        )
    return run


def _placed(corpus: Corpus, path: Path) -> Corpus:
    """The corpus on disk: in a directory of its own, or here, once for all runs."""
    if corpus.path is not None:
        return corpus
    if not path.exists():
        return corpus.save(path)
    found = Corpus.open(path)
    # A corpus in memory has no checksum; saved it has.
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        now = corpus.save(Path(folder) / CORPUS).checksum
    if found.checksum != now:
        raise InputError(f"corpus {path} is another one: write to another directory, or move it away")
    return found
