"""The order of a sweep over processes: every draw comes after those whose results it reads."""

import itertools

import pytest

from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed._rounds import (
    rounds_of,
    shares_of,
    waves_of,
)


def needed(group, phase, parts):
    """What must have happened: the same documents, and the same words, in the phase before."""
    return [] if phase == 0 else [(group, phase - 1), ((group + 1) % parts, phase - 1)]


def groups_of(cell, parts):
    pair, phase = cell
    return [(group, phase) for group in (2 * pair, 2 * pair + 1) if group < parts]


@pytest.mark.parametrize(
    ("parts", "sweeps", "size"), list(itertools.product([1, 2, 3, 5, 8], [1, 3], [1, 2, 3, 4, 6]))
)
def test_what_a_process_reads_it_has_drawn_or_heard(parts, sweeps, size):
    pairs, phases = (parts + 1) // 2, parts * sweeps
    shares = shares_of(pairs, size)
    assert [n for begin, end in shares for n in range(begin, end)] == list(range(pairs))
    heard = set()
    for cells_of_ranks in rounds_of(pairs, phases, shares):
        assert any(cells_of_ranks)
        told = set()
        for cells in cells_of_ranks:
            known = set(heard)
            for wave in waves_of(cells):
                drawn = {each for cell in wave for each in groups_of(cell, parts)}
                for group, phase in drawn:
                    assert set(needed(group, phase, parts)) <= known
                    assert (group, phase) not in heard
                # Cells of one wave have neither documents nor words in common.
                assert len({group for group, _ in drawn}) == len(drawn)
                assert len({(group + phase) % parts for group, phase in drawn}) == len(drawn)
                known |= drawn
            told |= known - heard
        heard |= told
    assert heard == set(itertools.product(range(parts), range(phases)))


def test_a_process_of_several_pairs_hears_less_often():
    assert len(rounds_of(4, 8, shares_of(4, 4))) == 8
    assert len(rounds_of(4, 8, shares_of(4, 2))) == 5
