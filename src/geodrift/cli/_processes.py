"""The options by which several processes share the work, of the commands that sample."""

from typing import Annotated, NamedTuple

import typer

from geodrift.cli import UsageError
from geodrift.distributed import RESTARTS

_PANEL = "Processes"


class Processes(NamedTuple):
    """The options, as typed."""

    processes: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Share the documents, or rows, out to so many processes on this machine, with the same draws"
            " for any number of them; they are watched, and started again from the last checkpoint.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    restarts: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="With --processes: how often they are started again where one is killed, crashes or is"
            f" stuck. Default: {RESTARTS}.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    distributed: Annotated[
        bool,
        typer.Option(
            "--distributed",
            help="This is one of several processes that srun, mpirun or Kubernetes has started with this"
            " command, on one machine or many. What the three options below do not say is taken from their"
            " variables, and printed.",
            rich_help_panel=_PANEL,
        ),
    ] = False
    coordinator: Annotated[
        str | None,
        typer.Option(help="With --distributed: host:port of process 0.", rich_help_panel=_PANEL),
    ] = None
    process_id: Annotated[
        int | None,
        typer.Option(help="With --distributed: number of this process, from 0.", rich_help_panel=_PANEL),
    ] = None
    process_count: Annotated[
        int | None,
        typer.Option(help="With --distributed: number of processes.", rich_help_panel=_PANEL),
    ] = None

    @property
    def asked(self) -> bool:
        """Whether the work is to be shared at all."""
        return self.distributed or self.processes is not None

    def check(self) -> None:
        """Raise UsageError where options do not go together."""
        if self.distributed and (self.processes is not None or self.restarts is not None):
            raise UsageError(
                "give --processes, for processes that this command starts, or --distributed, for one of"
                " several that something else has started; not both"
            )
        if self.restarts is not None and self.processes is None:
            raise UsageError("--restarts goes with --processes")
        placed = {
            "--coordinator": self.coordinator,
            "--process-id": self.process_id,
            "--process-count": self.process_count,
        }
        for option, value in placed.items():
            if value is not None and not self.distributed:
                raise UsageError(f"{option} goes with --distributed")
