"""Ways to damage a run directory: each file missing, cut off, with a bit flipped, or of another run."""

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

FLIPS = 6  # places of each file at which a bit is flipped: both ends, and some between
UNTOLD = {".lock"}  # files that hold nothing


class RunDamage(NamedTuple):
    """One way to damage a copy of a run."""

    name: str  # for example "flipped bit 1729 of draws.zarr/posterior/zarr.json"
    file: str  # which is damaged, in the run directory; the folder, where a whole folder is
    damage: Callable[[Path], None]  # called with the copy


def damages(run: Path, other: Path | None = None, seed: int = 0, flips: int = FLIPS) -> Iterator[RunDamage]:
    """Every kind of damage to every file of a run.

    Args:
        run: The run, which is left alone: what is yielded damages a copy of it.
        other: Another run, whose files are put in the place of the run's; None: they are not swapped.
        seed: Of the places at which bits are flipped.
        flips: Bits to flip in each file, one at a time.
    """
    for file in files_of(run):
        yield RunDamage(f"{file} missing", file, lambda copy, file=file: (copy / file).unlink())
        size = (run / file).stat().st_size
        for left in sorted({0, size // 2, max(0, size - 1)}):
            cut = lambda copy, file=file, left=left: _cut(copy / file, left)  # noqa: E731
            yield RunDamage(f"{file} cut to {left} bytes", file, cut)
        for bit in places(size * 8, random.Random(f"{seed} {file}"), flips):
            flip = lambda copy, file=file, bit=bit: flip_bit(copy / file, bit)  # noqa: E731
            yield RunDamage(f"{file} with bit {bit} flipped", file, flip)
        if other is not None and (other / file).is_file() and not same_contents(run / file, other / file):
            swap = lambda copy, file=file: shutil.copy2(other / file, copy / file)  # noqa: E731
            yield RunDamage(f"{file} of another run", file, swap)
    for folder in folders_of(run):
        remove = lambda copy, folder=folder: shutil.rmtree(copy / folder)  # noqa: E731
        yield RunDamage(f"{folder}/ missing", folder, remove)
    yield from _swaps_inside(run)
    yield from _edits(run)


def files_of(run: Path) -> list[str]:
    """Paths of the files of a run that say something, in their order."""
    found = (file.relative_to(run) for file in sorted(run.rglob("*")) if file.is_file())
    return [file.as_posix() for file in found if file.name not in UNTOLD and file.parts[0] != "damaged"]


def folders_of(run: Path) -> list[str]:
    """Paths of its folders."""
    return [folder.relative_to(run).as_posix() for folder in sorted(run.rglob("*")) if folder.is_dir()]


def places(number: int, random_: random.Random, wanted: int) -> list[int]:
    """Some of that many bits: the first, the last and others."""
    if not number:
        return []
    return sorted({0, number - 1, *(random_.randrange(number) for _ in range(wanted - 2))})


def flip_bit(file: Path, bit: int) -> None:
    """Change one bit of a file."""
    content = bytearray(file.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    file.write_bytes(content)


def same_contents(one: Path, two: Path) -> bool:
    """Whether two files are equal."""
    return one.read_bytes() == two.read_bytes()


def _cut(file: Path, left: int) -> None:
    file.write_bytes(file.read_bytes()[:left])


def _swaps_inside(run: Path) -> Iterator[RunDamage]:
    """Chunks of draws that change places with those of another chain."""
    for one in files_of(run):
        two = one.replace("/c/0/", "/c/1/")
        if two == one or not (run / two).exists() or same_contents(run / one, run / two):
            continue

        def swap(copy: Path, one: str = one, two: str = two) -> None:
            contents = (copy / one).read_bytes(), (copy / two).read_bytes()
            (copy / one).write_bytes(contents[1])
            (copy / two).write_bytes(contents[0])

        yield RunDamage(f"{one} and {two} swapped", one, swap)


def _edits(run: Path) -> Iterator[RunDamage]:
    """Entries of `config.json` changed by hand, the file still good JSON."""
    for name, value in json.loads((run / "config.json").read_text()).items():

        def edit(copy: Path, name: str = name, value: object = value) -> None:
            config = json.loads((copy / "config.json").read_text())
            config[name] = value + 1 if isinstance(value, int) else [value]
            (copy / "config.json").write_text(json.dumps(config))

        yield RunDamage(f"config.json with another {name}", "config.json", edit)
