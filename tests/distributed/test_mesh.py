"""`geodrift.sample` with data shared out to devices, of one process and of several."""

import socket
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from scipy.special import ive

from distributed import mesh_program
from geodrift.driver._placement import Placement
from law_checks import assert_means

PROGRAM = Path(mesh_program.__file__)
FAR_OFF, LAW = (20, 2, 10), (600, 16, 4)  # draws, chains, steps between draws


def drawn(folder, devices, size, *jobs):
    """The draws of every process and job, [process][job][chain, draw, ...]."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    outs = [folder / f"{devices}-{size}-{rank}" for rank in range(size)]
    numbers = [number for job in jobs for number in job]
    programs = [
        subprocess.Popen(
            [sys.executable, PROGRAM, out, *map(str, [devices, rank, size, port, *numbers])],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for rank, out in enumerate(outs)
    ]
    told = [program.communicate(timeout=300)[0].decode() for program in programs]
    assert not any(program.returncode for program in programs), told
    return [[np.load(f"{out}-{number}.npy") for number in range(len(jobs))] for out in outs]


@pytest.mark.parametrize(("devices", "size"), [pytest.param(4, 1, marks=pytest.mark.slow), (2, 2)])
def test_the_draws_of_devices_and_of_processes_are_those_of_one(devices, size, tmp_path):
    """After 200 steps from a point far off, in float32."""
    ((alone,),) = drawn(tmp_path, 1, 1, FAR_OFF)
    others = [draws for (draws,) in drawn(tmp_path, devices, size, FAR_OFF)]
    for other in others:
        np.testing.assert_array_equal(other, others[0])
        assert np.abs(other - alone).max() < 1e-5


@pytest.mark.slow  # that their draws are those of one is in CI
def test_the_law_of_four_devices(tmp_path):
    """The mean along the axis of a von Mises-Fisher law is a ratio of Bessel functions."""
    ((of_law,),) = drawn(tmp_path, 4, 1, LAW)
    order, kappa = mesh_program.DIMENSION / 2, mesh_program.CONCENTRATION
    mean = ive(order, kappa) / ive(order - 1, kappa)
    along = of_law[..., 0].astype(float)
    exact = [mean, 0.0, 1 - (mesh_program.DIMENSION - 1) * mean / kappa]
    assert_means(np.stack([along, of_law[..., 1], along**2], axis=-1), np.array(exact))


@pytest.mark.parametrize(
    ("spec", "said"),
    [((None, "rows"), "share out its rows"), (("rows", "columns"), "share out its rows")],
)
def test_rows_alone_are_shared_out(spec, said):
    """What a sharding says, whatever the devices: this process has one, of which no such mesh can be made."""
    sharding = jax.sharding.NamedSharding(
        jax.sharding.AbstractMesh((2, 2), ("rows", "columns")), jax.sharding.PartitionSpec(*spec)
    )
    array = type("Array", (), {"sharding": sharding})()
    with pytest.raises(ValueError, match=said):
        Placement.of([array])


def test_data_of_one_device_have_no_placement():
    assert Placement.of([np.zeros((3, 2)), jax.numpy.zeros(3)]) is None
    assert Placement.of(None) is None
