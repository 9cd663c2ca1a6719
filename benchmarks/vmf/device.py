"""Rows a second of a step on a device, all rows of a step at once, beside what its memory and units allow.

    python benchmarks/vmf/device.py --json benchmarks/results/vmf-device.json [--rows 1000000] [--dim 768]
        [--clusters 100] [--batch 131072] [--steps 20] [--bandwidth 3.35e12] [--flops 67e12]

Vectors around random directions, K given; the state is that of the true clusters: no start is looked for.
Programs are compiled before the clock starts. A step is timed whole: what is drawn on the host, what travels,
and the program on the device. Its floor is the larger of bytes by --bandwidth and operations by --flops (an
H100's, of its memory and float32 units); `_assignments_in_jax` says what is counted. On a CPU the path is
forced, and the figure says only that it runs.
"""

import argparse
import json
import platform
import subprocess
import time
from functools import partial
from pathlib import Path

import jax
import numpy as np

import geodrift
from geodrift.distributions._host_sample import host_sample
from geodrift.kernels import _streams
from geodrift.models.von_mises_fisher_mixture import Settings
from geodrift.models.von_mises_fisher_mixture._collapsed_gibbs import CollapsedGibbs
from geodrift.models.von_mises_fisher_mixture._parameters import Prior
from geodrift.models.von_mises_fisher_mixture._rows_of import rows_of
from geodrift.models.von_mises_fisher_mixture._rows_on_device import RowsOnDevice


def simulated(told):
    """Rows around random directions, float32, and their clusters."""
    rng = np.random.default_rng(0)
    z = rng.integers(told.clusters, size=told.rows)
    centres = host_sample(rng, np.zeros((told.clusters, told.dim))).astype(np.float32)
    x = rng.standard_normal((told.rows, told.dim), np.float32) / np.float32(told.dim**0.5)
    x += centres[z]
    return x / np.linalg.norm(x, axis=1, keepdims=True), z


def timed(told):
    """Seconds of every step, and of putting the rows on the device."""
    x, z = simulated(told)
    settings, rows = Settings(n_clusters=told.clusters), rows_of(x)
    prior = Prior(settings.concentration(told.dim), settings.shared, 0.0, np.zeros(told.dim))
    gibbs = CollapsedGibbs(rows, settings.number(), prior, z, np.full(told.clusters, float(told.dim)))
    began = time.perf_counter()
    device = RowsOnDevice(rows)
    jax.block_until_ready(device.kept)
    put, seconds, rng = time.perf_counter() - began, [], np.random.default_rng(1)
    for count in range(told.steps + 2):
        numbers = rng.permutation(told.rows)[: told.batch]
        names = 0, 0, count
        began = time.perf_counter()
        gibbs.step(
            numbers,
            _streams.VMF_ASSIGNMENTS.family(*names),
            _streams.VMF_CONCENTRATIONS.family(*names),
            _streams.VMF_STEP.generator(*names),
            partial(device.redraw, _streams.VMF_ROWS_AT_ONCE.family(*names)),
        )
        seconds.append(time.perf_counter() - began)
    return put, seconds[2:], device


def floor(told, batch, columns):
    """Bytes and operations of a step, and the seconds that the larger share of them takes."""
    num_bytes = batch * (8 * told.dim + 12 * columns)
    operations = 4 * batch * columns * told.dim
    return num_bytes, operations, max(num_bytes / told.bandwidth, operations / told.flops)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--batch", type=int, default=131_072)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--bandwidth", type=float, default=3.35e12)
    parser.add_argument("--flops", type=float, default=67e12)
    told = parser.parse_args()
    put, seconds, device = timed(told)
    batch, columns = min(told.batch, told.rows), 1 << told.clusters.bit_length()
    num_bytes, operations, least = floor(told, batch, columns)
    median = float(np.median(seconds))
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    found = {
        "device": str(jax.devices()[0].device_kind),
        "platform": jax.default_backend(),
        "devices": device.mesh.size,
        "rows stay on it": device.kept is not None,
        "rows a second": batch / median,
        "share of the floor": least / median,
        "bytes of a step": num_bytes,
        "operations of a step": operations,
        "bytes that travel": batch * 20 + columns * 40,
        "seconds of a step": seconds,
        "seconds of putting rows there": put,
        "settings": {name: value for name, value in vars(told).items() if name != "json"},
        "machine": platform.platform(),
        "versions": {"jax": jax.__version__, "geodrift": geodrift.__version__},
        "commit": commit.stdout.strip(),
    }
    print(json.dumps(found, indent=1))
    if told.json:
        told.json.parent.mkdir(parents=True, exist_ok=True)
        told.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
