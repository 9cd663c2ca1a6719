"""Who sweeps what, and when: the order of one process, cut into rounds between which processes exchange.

In phase f group g of documents is swept over the tokens of part (g + f) mod P of the vocabulary (see
`_sweeps`). Groups go in pairs, as in the kernel. What a pair does in phase f needs what the pair itself did
before, and what the next pair did in phase f - 1: that one had the same parts, or the pair's own other group
had. It needs nothing else. A process with several pairs may therefore go on for as many phases with its lower
pairs before it has to hear from the process above it, and with q pairs hears once in q phases.
"""

from typing import NamedTuple

PairPhase = tuple[int, int]


class Range(NamedTuple):
    """Numbers from ``begin`` to before ``end``."""

    begin: int
    end: int


def shares_of(number: int, size: int) -> list[Range]:
    """``number`` things side by side for each of ``size`` processes, as evenly as may be."""
    return [Range(rank * number // size, (rank + 1) * number // size) for rank in range(size)]


def rounds_of(num_pairs: int, num_phases: int, shares: list[Range]) -> list[list[list[PairPhase]]]:
    """The (pair, phase) that each process sweeps in each round, in their order: [round][process].

    After every round all processes learn what was drawn in it.

    Args:
        num_pairs: Pairs of groups.
        num_phases: Phases of all sweeps.
        shares: The pairs of each process.
    """
    done = [0] * num_pairs
    rounds = []
    while min(done) < num_phases:
        known, found = list(done), []
        for begin, end in shares:
            cells = []
            for pair in reversed(range(begin, end)):
                above = (pair + 1) % num_pairs
                here = begin <= above < end and above > pair
                most = min((done if here else known)[above] + 1, num_phases)
                cells += [(pair, phase) for phase in range(done[pair], most)]
                done[pair] = max(done[pair], most)
            found.append(cells)
        rounds.append(found)
    return rounds


def waves_of(cells: list[PairPhase]) -> list[list[PairPhase]]:
    """The same cells of one process in one round, cut into waves: those of one do not need each other."""
    wave: dict[PairPhase, int] = {}
    for pair, phase in cells:
        before = [wave[cell] for cell in ((pair, phase - 1), (pair + 1, phase - 1)) if cell in wave]
        wave[pair, phase] = 1 + max(before, default=-1)
    number = 1 + max(wave.values(), default=-1)
    return [[cell for cell in cells if wave[cell] == i] for i in range(number)]
