"""Malformed inputs by kind: refused with a line, within limits, and nothing is written."""

from harness import contents
from malformed_inputs import malformed_inputs


def test_malformed_inputs(warm, tmp_path):
    worker, wrong, number = warm[0], [], 0
    for case in malformed_inputs():
        number += 1
        folder = tmp_path / str(number)
        folder.mkdir()
        arguments = case.write(folder)
        before = contents(folder)
        outcome = worker.call(*arguments)
        faults = outcome.faults()
        if outcome.status == 0 and not case.may_be_read:
            faults.append("read as if nothing were wrong")
        if outcome.status and contents(folder) != before:
            faults.append("files were written")
        if worker.left_here():
            faults.append(f"files were written where it ran: {worker.left_here()}")
        if faults:
            wrong.append((case.name, faults, outcome.err[-300:]))
    assert number > 300
    assert not wrong, "\n".join(map(str, wrong))
