"""The command line: it parses, calls and prints."""

import os
import sys


class UsageError(ValueError):
    """Arguments that do not go together; exit status 2."""


def main() -> None:
    """Run the command line; every error is one line on stderr and a status other than 0."""
    from geodrift.cli._app import app

    try:
        app()
    except UsageError as error:
        _stop(error, 2)
    except BrokenPipeError:
        # The reader of stdout (head, less) has left; the interpreter must not try to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _stop(": ".join(str(part) for part in (error.filename, error.strerror or error) if part), 1)
    except MemoryError as error:
        _stop(f"out of memory: {error}", 1)
    except (ValueError, RuntimeError) as error:
        # InputError and the models' own checks are ValueErrors, SamplingError is a RuntimeError.
        _stop(error, 1)


def _stop(error: object, status: int) -> None:
    print("error:", " ".join(str(error).split()), file=sys.stderr)
    sys.exit(status)
