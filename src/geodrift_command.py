"""The command `geodrift` from its first moment: importing the package takes a second or two."""

import os
import signal


def main() -> None:
    """Load the command line and run it."""
    end_at_signals()
    from geodrift.cli import main

    main()


def end_at_signals() -> None:
    """Ctrl-C and SIGTERM end the process with a line, until the command line has handlers of its own."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)


def _end(number: int, frame: object) -> None:
    # Nothing is written yet. An exception in the midst of an import may be taken for another, or be lost.
    os.write(2, f"error: interrupted ({signal.Signals(number).name}) before it began\n".encode())
    os._exit(128 + number)


if __name__ == "__main__":
    main()
