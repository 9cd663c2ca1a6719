"""Exact Cox-Ingersoll-Ross moves a second, and a move's time against NumPy's `noncentral_chisquare`.

Two questions, two bars:

* at shape 0.1 from stationarity, moves a second on two cores: 15 million. Measured by the wall clock over
  ``prange``, and, for machines that others use too, as twice the moves a second of processor time of one
  thread;
* on a grid of shapes and non-centralities, the processor time of one thread against NumPy's, given the same
  number of draws: as an array of non-centralities, the form in which a move comes, and with one number for
  all, which is NumPy's fastest. Ours starts from log theta and ends with log theta', NumPy's is on the plain
  scale, where shapes below 0.05 underflow.

Interleaved; medians of nine. Both sides pass a Kolmogorov-Smirnov test first.
"""

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import time

import jax
import numba
import numpy as np
from scipy import stats

import geodrift as gd
from geodrift.kernels._cox_ingersoll_ross import _moves_of, _moves_on_threads
from geodrift.kernels._random_streams import open_family

SIZE, REPEATS, STEP_SIZE = 200_000, 9, 0.1
SHAPES = [0.01, 0.03, 0.1, 0.3, 0.5, 0.6, 1.0, 3.0, 10.0, 100.0, 1000.0]
NONCENTRALITIES = [0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e6]
SCALARS = (
    math.log(math.expm1(STEP_SIZE)),
    math.log(-math.expm1(-STEP_SIZE)),
    np.uint64(open_family(7, 0, 0)),
)


def one_thread(log_theta, shape, out):
    """Processor seconds of the kernel on this thread."""
    begun = time.process_time()
    _moves_of(0, log_theta.size, log_theta, np.array([shape]), *SCALARS, out)
    return time.process_time() - begun


def check(shape, noncentrality):
    """p-values of both sides' draws."""
    start = np.full(20_000, np.log(noncentrality / 2 * np.expm1(STEP_SIZE)))
    ours = gd.processes.host_cox_ingersoll_ross(jax.random.key(1), start, shape, STEP_SIZE)
    theirs = np.random.default_rng(1).noncentral_chisquare(2 * shape, noncentrality, start.size)
    law = stats.ncx2(2 * shape, noncentrality)
    scaled = 2 * np.exp(ours) / -np.expm1(-STEP_SIZE)
    return [float(stats.kstest(law.cdf(draws), "uniform").pvalue) for draws in (scaled, theirs)]


def grid():
    """Nanoseconds a draw and ratios, for every cell."""
    generator, out, cells = np.random.default_rng(0), np.empty(SIZE), []
    for shape in SHAPES:
        for noncentrality in NONCENTRALITIES:
            start = np.full(SIZE, np.log(noncentrality / 2 * np.expm1(STEP_SIZE)))
            many = np.full(SIZE, noncentrality)
            times = {"geodrift": [], "numpy array": [], "numpy scalar": []}
            for _ in range(REPEATS):
                times["geodrift"].append(one_thread(start, shape, out))
                begun = time.process_time()
                generator.noncentral_chisquare(2 * shape, many)
                times["numpy array"].append(time.process_time() - begun)
                begun = time.process_time()
                generator.noncentral_chisquare(2 * shape, noncentrality, SIZE)
                times["numpy scalar"].append(time.process_time() - begun)
            each = {name: statistics.median(values) / SIZE * 1e9 for name, values in times.items()}
            ratios = {
                f"ratio to {name}": each["geodrift"] / each[name] for name in ("numpy array", "numpy scalar")
            }
            cells.append({"shape": shape, "noncentrality": noncentrality, "nanoseconds": each} | ratios)
    return cells


def throughput():
    """Moves a second at shape 0.1 from stationarity."""
    size = 10 * SIZE
    log_theta = np.log(np.random.default_rng(0).gamma(0.1, size=size))
    out, shape = np.empty(size), np.array([0.1])
    _moves_on_threads(log_theta, shape, *SCALARS, out)
    one_thread(log_theta, 0.1, out)
    wall, processor = [], []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        _moves_on_threads(log_theta, shape, *SCALARS, out)
        wall.append(time.perf_counter() - begun)
        processor.append(one_thread(log_theta, 0.1, out))
    return {
        "threads": numba.get_num_threads(),
        "wall: moves a second on all threads, median": size / statistics.median(wall),
        "wall: moves a second on all threads, best": size / min(wall),
        "one thread: moves a second of processor time": size / statistics.median(processor),
        "twice one thread": 2 * size / statistics.median(processor),
        "seconds": {"wall": wall, "processor": processor},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="also write the result to this file")
    file = parser.parse_args().json
    begun = time.perf_counter()
    check(0.1, 1.0)
    compiled = time.perf_counter() - begun
    p_values = {f"{a} {nc:g}": check(a, nc) for a in (0.1, 1.0, 1000.0) for nc in (0.1, 10.0, 1e4)}
    if min(p for pair in p_values.values() for p in pair) < 1e-4:
        raise SystemExit(f"a sampler has the wrong law: {p_values}")
    cells = grid()
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    result = {
        "bars": {"moves a second on two cores": 15e6, "ratio to numpy": 1.0},
        "throughput at shape 0.1": throughput(),
        "worst ratio to numpy array": max(cell["ratio to numpy array"] for cell in cells),
        "worst ratio to numpy scalar": max(cell["ratio to numpy scalar"] for cell in cells),
        "median ratio to numpy array": statistics.median(cell["ratio to numpy array"] for cell in cells),
        "grid": cells,
        "p values, ours and numpy's": p_values,
        "first call, with compilation or its cache, seconds": compiled,
        "settings": {"size": SIZE, "repeats": REPEATS, "step_size": STEP_SIZE},
        "machine": {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()},
        "load average": os.getloadavg(),
        "versions": {"geodrift": gd.__version__, "numba": numba.__version__, "numpy": np.__version__},
        "commit": commit.stdout.strip(),
    }
    text = json.dumps(result, indent=1)
    print(text)
    if file:
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(text + "\n")


if __name__ == "__main__":
    main()
