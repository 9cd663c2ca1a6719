"""A process that runs command lines of `geodrift`, one after the other, in one interpreter that stays warm.

A line of JSON on stdin, {"arguments": [...], "folder": "..."}, is answered by a line on what was stdout:
{"status": 0, "peak": bytes that the process grew by}. What the command writes to the descriptors 1 and 2 is
in the files ``out`` and ``err`` of the folder, and the command runs in the directory ``here`` of it.
"""

import json
import os
import sys
from pathlib import Path


def memory(name):
    """A line of the process's status, in bytes: VmRSS now, VmHWM at most since `forget_peak`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise LookupError(name)


def forget_peak():
    Path("/proc/self/clear_refs").write_text("5")


def warm_up():
    """Loads what commands load, so that the first one is not slow."""
    import pyarrow.parquet  # noqa: F401

    from geodrift.models import model_named

    for model in ("lda", "sam"):
        model_named(model).answers()


def run(arguments):
    """The exit status of one command; None: an exception came out of it."""
    from geodrift import cli

    sys.argv = ["geodrift", *arguments]
    try:
        cli.main()
    except SystemExit as stop:
        return stop.code or 0
    except BaseException as error:
        # A traceback is what a person would see.
        print("Traceback:", repr(error), file=sys.stderr)
        return None
    return 0


def main():
    answers = os.fdopen(os.dup(1), "w")
    requests = os.fdopen(os.dup(0), "r")
    silence = os.open(os.devnull, os.O_RDWR)
    os.dup2(silence, 0)
    os.dup2(silence, 1)
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from one_compiler import compile_in_one_process

    compile_in_one_process()
    warm_up()
    answers.write("{}\n")
    answers.flush()
    for line in requests:
        request = json.loads(line)
        folder = Path(request["folder"])
        for number, name in ((1, "out"), (2, "err")):
            file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, number)
            os.close(file)
        os.chdir(folder / "here")
        forget_peak()
        before = memory("VmRSS")
        status = run(request["arguments"])
        sys.stdout.flush()
        sys.stderr.flush()
        answers.write(json.dumps({"status": status, "peak": memory("VmHWM") - before}) + "\n")
        answers.flush()
        os.dup2(silence, 1)
        os.dup2(silence, 2)


if __name__ == "__main__":
    main()
