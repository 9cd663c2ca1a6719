"""Which of several processes this one is: from options, and from what a scheduler has told it."""

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from geodrift._errors import InputError

DEFAULT_PORT = 9731


class Scheduler(NamedTuple):
    """The variables by which a scheduler tells a process its place.

    Attributes:
        name: For a person.
        rank: Variables of the number of the process; the first that is set counts.
        size: Variables of the number of processes; none where the scheduler does not tell.
        first_host: Variables from which the machine of process 0 can be read.
    """

    name: str
    rank: tuple[str, ...]
    size: tuple[str, ...]
    first_host: tuple[str, ...] = ()


# In this order: under Slurm, mpirun sets its own variables beside Slurm's, and its own are right.
SCHEDULERS = (
    Scheduler("Open MPI", ("OMPI_COMM_WORLD_RANK",), ("OMPI_COMM_WORLD_SIZE",)),
    Scheduler("PMI", ("PMI_RANK",), ("PMI_SIZE",)),
    Scheduler(
        "Slurm",
        ("SLURM_PROCID",),
        ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"),
        ("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"),
    ),
    Scheduler("a Kubernetes indexed Job", ("JOB_COMPLETION_INDEX",), ()),
)


class Place(NamedTuple):
    """One of several processes.

    Attributes:
        coordinator: ``host:port`` at which process 0 listens.
        rank: The number of this process, from 0.
        size: Number of processes.
        source: Where each of the three was found, for a person.
    """

    coordinator: str
    rank: int
    size: int
    source: str = ""

    @property
    def host_and_port(self) -> tuple[str, int]:
        """The coordinator's two parts; an IPv6 address stands in brackets."""
        host, _, port = self.coordinator.rpartition(":")
        return host.strip("[]"), int(port)

    def __str__(self) -> str:
        return f"process {self.rank} of {self.size}, coordinator {self.coordinator} ({self.source})"


def find_place(
    coordinator: str | None,
    rank: int | None,
    size: int | None,
    environment: Mapping[str, str] = os.environ,
) -> Place:
    """What the options say, and for those that are not given what one scheduler says.

    Args:
        coordinator: ``host:port``, or None.
        rank: ``--process-id``, or None.
        size: ``--process-count``, or None.
        environment: Variables of the process.

    Raises:
        InputError: Something is missing or wrong; the message says which option gives it.
    """
    scheduler = next((s for s in SCHEDULERS if any(name in environment for name in s.rank)), None)
    found_rank, of_rank = _number(rank, "--process-id", scheduler and scheduler.rank, environment)
    found_size, of_size = _number(size, "--process-count", scheduler and scheduler.size, environment)
    if found_size < 1:
        raise InputError(f"{of_size} is {found_size}: must be at least 1")
    if not 0 <= found_rank < found_size:
        raise InputError(f"{of_rank} is {found_rank}: must be from 0 to {found_size - 1}, below {of_size}")
    if coordinator is None:
        where, of_where = _first_host(scheduler, found_size, environment)
    else:
        where, of_where = coordinator, "--coordinator"
    if not re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^:\s\[\]]+):\d{1,5}", where) or not 0 < _port(where) < 2**16:
        raise InputError(f"coordinator is {where!r}: must be host:port, with a port from 1 to 65535")
    return Place(where, found_rank, found_size, f"from {of_rank}, {of_size}, {of_where}")


def _port(where: str) -> int:
    return int(where.rpartition(":")[2])


def _number(
    given: int | None, option: str, names: tuple[str, ...] | None, environment: Mapping[str, str]
) -> tuple[int, str]:
    """A number and where it is from."""
    if given is not None:
        return given, option
    name = next((name for name in names or () if name in environment), None)
    if name is None:
        of = f", nor any of {', '.join(names)}" if names else ""
        raise InputError(f"--distributed needs {option}: it was not given{of}")
    try:
        return int(environment[name]), name
    except ValueError:
        raise InputError(
            f"{name} is {environment[name]!r}: must be a whole number; or give {option}"
        ) from None


def _first_host(scheduler: Scheduler | None, size: int, environment: Mapping[str, str]) -> tuple[str, str]:
    """The machine of process 0, and where it is from."""
    for name in scheduler.first_host if scheduler else ():
        if environment.get(name):
            return f"{first_of_node_list(environment[name])}:{_port_of_job(environment)}", name
    if size == 1:
        return f"127.0.0.1:{DEFAULT_PORT}", "one process"
    raise InputError(
        "--distributed needs --coordinator: host:port of the machine of process 0, which no variable tells"
    )


def _port_of_job(environment: Mapping[str, str]) -> int:
    """Jobs on one machine get ports of their own, outside the range that systems hand out by themselves."""
    job = re.sub(r"\D", "", environment.get("SLURM_JOB_ID", ""))
    return 20_000 + int(job or 0) % 12_000


def first_of_node_list(text: str) -> str:
    """The first machine of a list as Slurm writes it: ``node[003-007,9],other`` is ``node003``."""
    found = re.match(r"([^,\[]+)(?:\[([^\],-]+)[^\]]*\]([^,\[]*))?", text)
    if found is None:
        raise InputError(f"the list of machines {text!r} cannot be read: give --coordinator")
    return "".join(part or "" for part in found.groups())
