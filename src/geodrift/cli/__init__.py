"""The command line: it parses, calls and prints."""

import sys
import warnings

from geodrift._terminal import open_closed_streams, say
from geodrift.cli._errors import UsageError as UsageError
from geodrift.cli._errors import told
from geodrift.cli._signals import ended_by_signals


def main() -> None:
    """Run the command line; every error is one line on stderr and a status other than 0."""
    open_closed_streams()
    with ended_by_signals(), warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
        try:
            from geodrift.cli._app import app

            # In this mode typer returns the status of `typer.Exit` and lets its errors through.
            status = app(prog_name="geodrift", standalone_mode=False) or 0
        except Exception as error:
            status = told(error)
    sys.exit(status)
