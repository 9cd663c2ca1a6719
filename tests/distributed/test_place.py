"""Where a process finds out which one it is; nothing is guessed from half of it."""

import pytest

from geodrift._errors import InputError
from geodrift.distributed._place import find_place, first_of_node_list

SLURM = {
    "SLURM_PROCID": "3",
    "SLURM_NTASKS": "8",
    "SLURM_STEP_NODELIST": "n[003-007],m1",
    "SLURM_JOB_ID": "12001",
}


def test_options_alone():
    assert find_place("a.b:77", 1, 2, {})[:3] == ("a.b:77", 1, 2)
    assert find_place("[::1]:77", 0, 1, {}).host_and_port == ("::1", 77)


def test_slurm_tells_all_and_what_was_read_is_told():
    place = find_place(None, None, None, SLURM)
    assert place[:3] == ("n003:20001", 3, 8)
    assert "SLURM_PROCID" in str(place)
    assert "SLURM_NTASKS" in str(place)


def test_options_come_before_variables():
    assert find_place("h:1", 0, 2, SLURM)[:3] == ("h:1", 0, 2)


def test_mpirun_under_slurm_is_right_about_itself():
    both = SLURM | {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}
    assert find_place("h:1", None, None, both)[1:3] == (1, 2)


@pytest.mark.parametrize(
    ("given", "environment", "said"),
    [
        ((None, None, None), {}, "needs --process-id"),
        (("h:1", 0, None), {}, "needs --process-count"),
        (("h:1", None, None), {"SLURM_PROCID": "1"}, "needs --process-count.*SLURM_NTASKS"),
        ((None, None, None), {"SLURM_PROCID": "1", "SLURM_NTASKS": "2"}, "needs --coordinator"),
        (("h:1", None, None), {"JOB_COMPLETION_INDEX": "1"}, "needs --process-count"),
        (("h:1", None, 2), {"SLURM_PROCID": "x"}, "SLURM_PROCID is 'x'"),
        (("h:1", 2, 2), {}, "--process-id is 2: must be from 0 to 1"),
        (("h:1", 0, 0), {}, "--process-count is 0"),
        (("h", 0, 1), {}, "must be host:port"),
        (("h:0", 0, 1), {}, "must be host:port"),
        (("h:70000", 0, 1), {}, "must be host:port"),
    ],
)
def test_what_is_missing_is_named(given, environment, said):
    with pytest.raises(InputError, match=said):
        find_place(*given, environment)


@pytest.mark.parametrize(
    ("text", "first"),
    [("n1", "n1"), ("n1,n2", "n1"), ("gpu[03,07-09]", "gpu03"), ("a-[1-2]-b,c", "a-1-b")],
)
def test_the_first_machine_of_a_list(text, first):
    assert first_of_node_list(text) == first
