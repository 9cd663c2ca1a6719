"""Run directories and the corpora in them, compared with what was written."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from geodrift._errors import InputError
from geodrift.data import Corpus, CorpusView, damage_of
from geodrift.driver import repair, survey
from geodrift.files import Damage, read_sealed
from geodrift.models.kit._component_names import NAMES
from geodrift.models.kit._runs import CORPUS, FREQUENCIES, VOCABULARY, frequencies_of


def damage_of_run(path: Path) -> list[Damage]:
    """All files of a run directory that are not as they were written, those of a corpus inside it too.

    Raises:
        InputError: Not a run directory.
    """
    found = survey(path)
    damage = list(found.damage.values())
    place = (found.config or {}).get("corpus", {})
    if place.get("path") == CORPUS:
        damage += damage_of_corpus(path / CORPUS, place["checksum"])
    return damage + _damage_of_names(path, found.config)


def _damage_of_names(path: Path, config: dict[str, Any] | None) -> list[Damage]:
    """What is wrong with the names that were given to components, if anything."""
    if not (path / NAMES).is_file():
        return []
    try:
        told = read_sealed(path / NAMES, "the names of a run")
    except InputError:
        return [Damage(path / NAMES, "is not as it was written")]
    other = config is not None and told.get("run") != config["id"]
    return [Damage(path / NAMES, "is of another run")] if other else []


def damage_of_corpus(path: Path, expected: str | None = None) -> list[Damage]:
    """All files of a corpus directory that are not as they were written.

    Args:
        path: The directory.
        expected: The checksum that it should have; None: any.
    """
    damage = damage_of(path)
    if not damage and expected is not None and Corpus.open(path, checked=False).checksum != expected:
        return [Damage(path, "is not the corpus that the run was fitted to")]
    return damage


def repair_run(path: Path) -> list[str]:
    """Repair a run directory; see `geodrift.driver.repair`. Of a corpus no byte is changed.

    The vocabulary and the document frequencies are taken from the run's corpus where they are lost.
    Names of components that are damaged are set aside.
    """
    config = survey(path).config
    lines = repair(path, _from_corpus(path, config))
    if _damage_of_names(path, config):
        (path / "damaged").mkdir(exist_ok=True)
        (path / NAMES).replace(path / "damaged" / NAMES)
        lines.append(f"{NAMES} is in damaged/: name the components anew")
    return lines


def _from_corpus(path: Path, config: dict[str, Any] | None) -> Callable[[str], bytes | None]:
    def contents(name: str) -> bytes | None:
        if config is None or "corpus" not in config or name not in (VOCABULARY, FREQUENCIES):
            return None
        place = path / config["corpus"]["path"]
        if damage_of_corpus(place, config["corpus"]["checksum"]):
            return None
        corpus = Corpus.open(place)
        if name == VOCABULARY:
            return ("\n".join(corpus.vocabulary) + "\n").encode()
        training: Corpus | CorpusView = corpus
        if config["held_out"]:
            training = corpus.split(config["held_out"], config["seed"])[0]
        stream = io.BytesIO()
        np.save(stream, frequencies_of(training))
        return stream.getvalue()

    return contents
