"""Random cases for as long as one likes: campaign.py inputs|runs|kills|signals|disks SECONDS [FIRST_SEED].

Each distinct fault is told once, and counted; inputs are kept below campaign/ in the form of `found/`."""

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import scipy.sparse as sp
from found_cases import keep
from harness import Worker
from input_cases import play, random_case
from interruptions import fresh, killed, on_a_full_disk, stopped
from run_cases import Ground, faults_of_all_commands, must
from tasks import prepare
from valid_inputs import VOCABULARY, counts, saved


def make_run(worker: Worker, folder: Path) -> Path:
    """A small run of the words of `valid_inputs`."""
    (folder / "fitted.npz").write_bytes(saved(sp.save_npz, counts()))
    (folder / "fitted.txt").write_text("\n".join(VOCABULARY))
    command = ["fit", "lda", folder / "fitted.npz", "--vocab", folder / "fitted.txt", "--run", folder / "run"]
    must(worker, *command, "--topics", 2, "--steps", 20, "--seed", 1)
    return folder / "run"


def inputs(seconds: float, seed: int) -> Counter:
    """Damaged inputs."""
    told = Told()
    with Worker() as worker, tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        run = make_warm(worker, folder)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            case = random_case(Random(seed))
            outcome, faults = play(worker, case, run, folder / "case")
            told.statuses[outcome.status] += 1
            told.slowest = max(told.slowest, (outcome.seconds, seed))
            told.largest = max(told.largest, (outcome.peak, seed))
            for fault in faults:
                if told.new((fault, case.arguments[0], outcome.err[-200:].rpartition(":")[2][:60])):
                    keep(case, Path("campaign") / f"{seed}")
                    print(f"seed {seed}: {fault}\n  {case.arguments}\n  {outcome.err[-600:]!r}", flush=True)
            seed += 1
        return told.summary(worker)


def runs(seconds: float, seed: int) -> Counter:
    """Damaged runs and corpora."""
    told = Told()
    with Worker() as worker, tempfile.TemporaryDirectory() as scratch:
        make_warm(worker, Path(scratch))
        (Path(scratch) / "ground").mkdir()
        ground = Ground(worker, Path(scratch) / "ground")
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            damaged, faults = faults_of_all_commands(ground, worker, Random(seed))
            told.statuses[damaged.what] += 1
            for fault in faults:
                if told.new((fault[:40], damaged.file)):
                    print(f"seed {seed}: {damaged}: {fault}", flush=True)
            seed += 1
        return told.summary(worker)


def interruptions(case: Callable, seconds: float, seed: int) -> Counter:
    """Kills, signals or full disks."""
    told, met = Told(), 0
    with tempfile.TemporaryDirectory() as scratch:
        ground, folder = Path(scratch) / "ground", Path(scratch) / "case"
        straight = prepare(ground)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            hits, faults = case(Random(seed), straight, ground, fresh(folder))
            met += hits
            told.statuses["cases"] += 1
            for fault in faults:
                if told.new((fault[:60],)):
                    print(f"seed {seed}: {fault}", flush=True)
            seed += 1
    print(f"{met} met it at work")
    return told.summary()


class Told:
    """What was seen, and how often."""

    def __init__(self) -> None:
        self.statuses, self.kinds, self.slowest, self.largest = Counter(), Counter(), (0.0, 0), (0, 0)

    def new(self, kind: tuple) -> bool:
        self.kinds[kind] += 1
        return self.kinds[kind] == 1

    def summary(self, worker: Worker | None = None) -> Counter:
        print(f"{sum(self.statuses.values())} cases, {dict(self.statuses)}")
        if worker is not None:
            print(f"{worker.replaced} processes died")
        print(f"slowest {self.slowest}, largest {self.largest}")
        for kind, number in self.kinds.most_common():
            print(number, kind)
        return self.kinds


def make_warm(worker: Worker, folder: Path) -> Path:
    """What is compiled is compiled before the clock runs; returns a run of the words of `valid_inputs`."""
    with worker.compiling():
        run, counted = make_run(worker, folder), folder / "fitted.npz"
        must(worker, "evaluate", run, counted)
        must(worker, "transform", run, counted, "--out", folder / "warm.csv")
    return run


if __name__ == "__main__":
    kind, seconds, *first = sys.argv[1:]
    kinds = {"kills": killed, "signals": stopped, "disks": on_a_full_disk}
    campaigns = {"inputs": inputs, "runs": runs} | {k: partial(interruptions, v) for k, v in kinds.items()}
    campaigns[kind](float(seconds), int(*first))
