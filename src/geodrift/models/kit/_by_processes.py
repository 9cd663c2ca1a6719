"""Runs whose steps several processes of this machine take, started and watched from here."""

import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from geodrift import distributed
from geodrift.data import Corpus
from geodrift.distributed import RESTARTS, End
from geodrift.driver import Length, Run
from geodrift.models.kit._chain import ModelChain
from geodrift.models.kit._model import Model
from geodrift.models.kit._runs import create_run


def supervised(
    run: Run, length: Length | None, number: int, *, restarts: int = RESTARTS, quiet: bool = False
) -> End:
    """Carry a run on with so many processes.

    Args:
        run: From its start, or from its last checkpoint.
        length: How much longer; None: see `fit`.
        number: Of processes.
        restarts: How often they are started again.
        quiet: Whether process 0 tells nothing on the way.
    """
    began = run.state if run.has_checkpoint else None

    def commands(address: str) -> list[list[str]] | None:
        more = _left(run, began, length)
        if more is None:
            return None
        worker = own_command("resume", str(run.path), *more)
        placed = ["--distributed", "--coordinator", address, "--process-count", str(number)]
        return [[*worker, *placed, "--process-id", str(rank)] for rank in range(number)]

    return distributed.supervise(commands, restarts=restarts, quiet=quiet)


def own_command(*words: str) -> list[str]:
    """The command line of geodrift in a process that finds the modules that this one finds, and no others.

    Of itself Python would look for them first in the folder that it is started in, where a user may have a
    ``numbers.py``.
    """
    places = [place for place in sys.path if isinstance(place, str)]
    begin = f"import sys; sys.path[:] = {places!r}; from geodrift_command import main; main()"
    return [sys.executable, "-P", "-c", begin, *words]


def sampled_by_processes(
    model: Model,
    chains: Sequence[ModelChain],
    counts: sp.csr_matrix,
    steps: int,
    number: int,
    *,
    start: Float[np.ndarray, "C J V"] | None = None,
    verbose: bool = False,
) -> dict[str, np.ndarray]:
    """The draws of chains as `geodrift.driver.sampled` gives them, of steps that processes take together.

    The run is in a folder of its own until it is done. The chains are then where the run has ended.

    Args:
        model: Of the chains.
        chains: At their start, all with one seed.
        counts: Their documents, [D, V].
        steps: Of each chain.
        number: Of processes.
        start: Components that the chains begin at, where they were given.
        verbose: Whether progress goes to stderr.

    Raises:
        ValueError: So many processes cannot share the work of this model.
        RuntimeError: The processes have failed; the message says how.
    """
    check_number(model, chains[0].settings.to_dict(), number)
    config = {"seed": chains[0].seed, "chains": len(chains), "held_out": 0, "start": ["fit"]}
    with tempfile.TemporaryDirectory(prefix="geodrift-") as folder:
        run = create_run(Path(folder) / "run", model, config, Corpus.from_matrix(counts), chains, start)
        end = supervised(run, Length(steps=steps), number, quiet=not verbose)
        if end.status == 128 + signal.SIGINT:
            raise KeyboardInterrupt
        if end.status:
            raise RuntimeError(f"{number} processes could not fit the model: {end.reason}")
        checkpoint = run.read_checkpoint()
        for chain, state in zip(chains, checkpoint.states if checkpoint else (), strict=True):
            chain.restore(state)
        found = run.draws["posterior"].to_dataset()
        return {name: found[name].values for name in chains[0].variables}


def check_number(model: Model, settings: dict[str, Any], number: Any) -> None:
    """Raise ValueError where so many processes cannot share the work."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
        raise ValueError(f"processes must be a whole number of at least 1, or None, got {number!r}")
    reason = model.cannot_share(settings, int(number))
    if reason:
        raise ValueError(f"processes is {number}: {reason}")


def _left(run: Run, began: dict[str, Any] | None, length: Length | None) -> list[str] | None:
    """The options that say how long to go on, after a part was done; None where nothing is left."""
    if not run.has_checkpoint:
        return _options(length)
    state = run.state
    if began is None or length is None:  # to the end of the plan
        return None if state != began and min(state["counts"]) >= state["total"] else []
    if length.steps is not None:
        steps = length.steps - (min(state["counts"]) - min(began["counts"]))
        return _options(Length(steps=steps)) if steps > 0 else None
    seconds = (length.seconds or 0.0) - (state["seconds"] - began["seconds"])
    return _options(Length(seconds=seconds)) if seconds > 0 else None


def _options(length: Length | None) -> list[str]:
    if length is None:
        return []
    return ["--steps", str(length.steps)] if length.steps is not None else ["--seconds", repr(length.seconds)]
