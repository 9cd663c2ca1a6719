"""Processes on one machine or many become a team."""

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

from geodrift._errors import InputError
from geodrift._terminal import end_at_once, say
from geodrift.distributed._place import Place
from geodrift.distributed._team import Team

ARRIVAL_SECONDS = 300.0  # from the first process to the last
SILENCE_SECONDS = 25  # without a sign of life, after which JAX ends all processes
LEEWAY_SECONDS = 1.0  # for who waits with a message of its own
_RETRY_SECONDS = 0.2


def join(place: Place, *, arrival_seconds: float | None = None) -> Team:
    """Meet the other processes; JAX must not have computed anything before.

    Args:
        place: Where they meet, and which of them this is.
        arrival_seconds: How long to wait for the others; None: `ARRIVAL_SECONDS`.

    Raises:
        InputError: The coordinator's address is wrong or taken.
    """
    import jax
    from jax._src import distributed

    arrival_seconds = ARRIVAL_SECONDS if arrival_seconds is None else arrival_seconds
    host, port = place.host_and_port
    with ends_if_late(place, arrival_seconds):
        if place.rank == 0:
            _check_free(host, port)
        else:
            _wait_for(place, arrival_seconds)
        if not os.environ.get("JAX_PLATFORMS"):
            # Each process would take most of the memory of every GPU, of which the models use none.
            jax.config.update("jax_platforms", "cpu")
        # JAX would take over SIGTERM.
        jax.config.update("jax_enable_preemption_service", False)
        # A program with collectives that one process reads from a cache while another compiles it may never
        # be read: both then wait for ever (seen with jax 0.10).
        jax.config.update("jax_enable_compilation_cache", False)
        jax.distributed.initialize(
            place.coordinator,
            place.size,
            place.rank,
            cluster_detection_method="deactivate",
            # Ours ends first, with a line.
            initialization_timeout=int(2 * arrival_seconds) + 60,
            heartbeat_timeout_seconds=SILENCE_SECONDS,
        )
        # The first collective waits for 30 seconds and no longer, whatever it is told.
        distributed.global_state.client.wait_at_barrier("geodrift", int(2000 * arrival_seconds))
    # Imported here: a team of JAX's devices cannot be made before.
    from geodrift.distributed._jax_team import JaxTeam

    return JaxTeam()


def leave() -> None:
    """Part when all are done; the others wait for it."""
    import jax

    jax.distributed.shutdown()


def agree(team: Team, **told: Any) -> None:
    """See that all processes were told the same, and have the same libraries.

    Raises:
        InputError: At all processes, where one differs.
    """
    everyone = [json.loads(part) for part in team.share(json.dumps(_versions() | told).encode())]
    for rank, other in enumerate(everyone):
        for name in sorted(everyone[0].keys() | other.keys()):
            first, here = everyone[0].get(name), other.get(name)
            if first != here:
                raise InputError(
                    f"process {rank} has {name} {_shown(here)} but process 0 has {_shown(first)}: all"
                    " processes need the same"
                )


def _versions() -> dict[str, str]:
    import jax
    import numba
    import numpy as np

    from geodrift import __version__

    libraries = {"jax": jax, "numba": numba, "numpy": np}
    return {"version of geodrift": __version__} | {
        f"version of {name}": library.__version__ for name, library in libraries.items()
    }


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)


def _check_free(host: str, port: int) -> None:
    """Raise InputError where process 0 cannot listen: JAX would end without a word."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        try:
            probe.bind(("", port))
        except OSError as error:
            raise InputError(
                f"coordinator {host}:{port}: process 0 cannot listen there ({error.strerror}); give another"
                " port with --coordinator"
            ) from None


def _wait_for(place: Place, seconds: float) -> None:
    """Wait until process 0 listens."""
    host, port = place.host_and_port
    until, reason = time.monotonic() + seconds, ""
    while time.monotonic() < until:
        try:
            with socket.create_connection((host, port), timeout=seconds):
                return
        except socket.gaierror as error:
            reason = str(error.strerror)
            if time.monotonic() > until - seconds + min(30.0, seconds / 2):
                break  # a name that is not known by now is wrong
        except OSError as error:
            reason = str(error.strerror or error)
        time.sleep(_RETRY_SECONDS)
    raise InputError(
        f"coordinator {place.coordinator}: process 0 does not answer there ({reason}); is that its address,"
        f" and was it started within {seconds:.0f} s?"
    )


@contextlib.contextmanager
def ends_if_late(place: Place, seconds: float) -> Iterator[None]:
    """End the process with a line where the others have not come; JAX would end it with a stack trace."""

    def end() -> None:
        say(
            f"error: process {place.rank} of {place.size} waited {seconds:.0f} s at {place.coordinator} for"
            " the others; were all of them started, with the same --coordinator and --process-count?"
        )
        end_at_once(1)

    timer = threading.Timer(seconds + LEEWAY_SECONDS, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
