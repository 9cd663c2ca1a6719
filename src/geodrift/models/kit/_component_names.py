"""Names that readers give to components, kept in the run directory beside what was sampled.

The number of a component is its place in an order that the draws themselves make. A run that goes on has
other draws, in which the place may be another component's: so a name is kept with the leading words of what
it was given to, and is found again by them.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.optimize import linear_sum_assignment

from geodrift._errors import InputError
from geodrift.driver import Run
from geodrift.files import read_sealed, write_sealed
from geodrift.models.kit._agreement import LEAST_COSINE, Agreement
from geodrift.models.kit._alignment import directions_of

NAMES = "names.json"
LONGEST = 80  # characters of a name
WORDS = 300  # of a component, by which it is known again


def means_of(draws: Float[np.ndarray, "C N K V"], agreed: Agreement) -> Float[np.ndarray, "K V"]:
    """Mean weights of each component, over the chains that have found it."""
    return np.stack([draws[agreed.found[:, k], :, k].mean(axis=(0, 1)) for k in range(draws.shape[2])])


def names_of(run: Run, means: Float[np.ndarray, "K V"], signed: bool) -> dict[int, str]:
    """Names by the numbers of the components; a name whose component is not found again is left out.

    Args:
        run: The run.
        means: From `means_of`.
        signed: Whether components are unit vectors.

    Raises:
        InputError: The file of names is damaged or of another run.
    """
    kept = read_names(run)
    if not kept:
        return {}
    if not all(_is_entry(entry, means.shape[1]) for entry in kept):
        raise InputError(f"{run.path / NAMES} does not hold names of components of run {run.path}: remove it")
    now = run.num_draws
    sure = {entry["number"]: entry["name"] for entry in kept if entry["draws"] == now}
    others = [entry for entry in kept if entry["draws"] != now]
    likeness = np.array([_likeness(entry["words"], means, signed) for entry in others]).reshape(
        len(others), len(means)
    )
    likeness[:, list(sure)] = 0.0
    for row, place in zip(*linear_sum_assignment(-likeness), strict=True):
        if likeness[row, place] > LEAST_COSINE:
            sure[int(place)] = others[row]["name"]
    return sure


def write_name(
    run: Run, means: Float[np.ndarray, "K V"], signed: bool, number: int, name: str | None
) -> None:
    """Name a component anew, or take its name away.

    Args:
        run: The run.
        means: From `means_of`.
        signed: Whether components are unit vectors.
        number: Of the component.
        name: At most 80 characters, of one line; None takes the name away.

    Raises:
        InputError: There is no such component, or the name is empty or too long.
    """
    if not 0 <= number < len(means):
        raise InputError(f"run {run.path} has components 0 to {len(means) - 1}, got {number}")
    names = names_of(run, means, signed)
    names.pop(number, None)
    if name is not None:
        names[number] = checked_name(name)
    directions = directions_of(signed)(means)
    entries = [
        {"number": place, "name": told, "draws": run.num_draws, "words": _leading(directions[place])}
        for place, told in sorted(names.items())
    ]
    write_sealed(run.path / NAMES, {"run": run.config["id"], "names": entries}, overwrite=_stands(run))


def read_names(run: Run) -> list[dict[str, Any]]:
    """What `write_name` wrote, of the run's own components; nothing where no name was given."""
    if not _stands(run):
        return []
    file = run.path / NAMES
    told = read_sealed(file, "the names of a run")
    if told.get("run") != run.config["id"]:
        raise InputError(f"{file} is of another run: remove it, and name the components anew")
    return told["names"]


def checked_name(name: str) -> str:
    """A name without spaces at its ends.

    Raises:
        InputError: It is empty, has several lines, is too long or is no text.
    """
    text = name.strip()
    # Halves of surrogate pairs, which UTF-8 does not have, come from a shell in another encoding.
    whole = not any("\ud800" <= letter <= "\udfff" for letter in text)
    if not text or len(text) > LONGEST or len(text.splitlines()) > 1 or not whole:
        raise InputError(f"a name must be 1 to {LONGEST} characters on one line, got {name[:100]!r}")
    return text


def named(parts: list[dict[str, Any]], names: Mapping[int, str], component: str) -> list[dict[str, Any]]:
    """Findings of components with their names: ``name`` is None where there is none."""
    return [part | {"name": names.get(part[component])} for part in parts]


def _is_entry(entry: Any, num_words: int) -> bool:
    """Whether an entry of the file is what `write_name` writes."""
    try:
        checked_name(entry["name"])
        whole = all(isinstance(entry[key], int) and entry[key] >= 0 for key in ("number", "draws"))
        return whole and all(0 <= word < num_words and abs(value) <= 2 for word, value in entry["words"])
    except (InputError, AttributeError, KeyError, TypeError, ValueError):
        return False


def _stands(run: Run) -> bool:
    return (run.path / NAMES).is_file()


def _leading(direction: Float[np.ndarray, " V"]) -> list[list[float]]:
    order = np.argsort(-np.abs(direction), kind="stable")[:WORDS]
    return [[int(word), float(direction[word])] for word in order]


def _likeness(
    words: list[list[float]], means: Float[np.ndarray, "K V"], signed: bool
) -> Float[np.ndarray, " K"]:
    """The cosine of each component with one that is known by its leading words.

    A component that has less of its length in these words than the one that was named is less alike.
    """
    places, values = np.array([word for word, _ in words], int), np.array([value for _, value in words])
    own = directions_of(signed)(means)[:, places]
    length = np.linalg.norm(values)
    return own @ values / (length * np.maximum(np.linalg.norm(own, axis=1), length))
