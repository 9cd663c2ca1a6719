"""In how many documents each word is, over any number of blocks, in bounded memory."""

import heapq
import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
from jaxtyping import Int

_MOST_WORDS = 2**20  # in memory
_MOST_RUNS = 100  # files that are read at once


class WordTotals:
    """Adds up the numbers of documents of words.

    Beyond about a million different words the sums so far go to a file, sorted by word, and begin anew; in
    the end the files are merged.

    Args:
        folder: Where the files are written; None: everything stays in memory.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._totals: dict[str, int] = {}
        self._runs: list[Path] = []
        self._written = 0

    def add(self, words: Iterable[str], frequencies: Int[np.ndarray, " W"]) -> None:
        """Add the numbers of documents of a block's words."""
        totals = self._totals
        before = totals.get
        for word, number in zip(words, frequencies.tolist(), strict=True):
            totals[word] = before(word, 0) + number
        if self._folder is not None and len(totals) > _MOST_WORDS:
            self._runs.append(self._write(self._folder, sorted(totals.items())))
            self._totals = {}
            if len(self._runs) == _MOST_RUNS:
                merged = self._write(self._folder, _merged([_read(run) for run in self._runs]))
                self._remove_runs()
                self._runs = [merged]

    def in_order(self) -> Iterator[tuple[str, int]]:
        """The words and their totals, sorted by word; read once, after which the files are gone."""
        yield from _merged([*map(_read, self._runs), iter(sorted(self._totals.items()))])
        self._remove_runs()
        self._totals = {}

    def _write(self, folder: Path, totals: Iterable[tuple[str, int]]) -> Path:
        path = folder / f"words-{self._written:05d}.jsonl"
        self._written += 1
        with path.open("w", encoding="ascii") as stream:
            stream.writelines(json.dumps(total) + "\n" for total in totals)
        return path

    def _remove_runs(self) -> None:
        for run in self._runs:
            run.unlink()
        self._runs = []


def _read(run: Path) -> Iterator[tuple[str, int]]:
    with run.open(encoding="ascii") as stream:
        for line in stream:
            word, number = json.loads(line)
            yield word, number


def _merged(runs: list[Iterator[tuple[str, int]]]) -> Iterator[tuple[str, int]]:
    if len(runs) == 1:
        yield from runs[0]
        return
    for word, same in groupby(heapq.merge(*runs), itemgetter(0)):
        yield word, sum(number for _, number in same)
