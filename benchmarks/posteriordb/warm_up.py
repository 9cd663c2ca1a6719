"""How long the pilot and the adaptation of ``step_size=None`` take, beside the sampling of 1,000 draws.

    python benchmarks/posteriordb/warm_up.py OUT.json FOLDER [NAME ...]

4 chains; processor seconds of the second call with a seed in a process, which compiles nothing, the median of
five seeds: ``adaptation`` is what `geodrift.sample` takes before its chains begin, ``sampling`` what
1,000 more draws add to a run; ``ratio`` is the first over the second. ``sghmc`` is by minibatches,
``batch_size="auto"``, where data are independent.
"""

import argparse
import json
import multiprocessing
import sys
import time
import unittest.mock
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from check import INDEPENDENT, sampled
from densities import POSTERIORS

from geodrift.driver import _sample
from geodrift.driver._automatic import settled

FEW, MANY = 8, 1008


def processor_seconds(posterior, batch_size, draws):
    """Of the adaptation and of a whole call, for each seed: other numbers of steps compile again."""
    adaptations, calls = [], []

    def timed(*arguments):
        began = time.process_time()
        found = settled(*arguments)
        adaptations.append(time.process_time() - began)
        return found

    with unittest.mock.patch.object(_sample, "settled", timed), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 8 draws are too few, and told so
        for seed in np.repeat(range(5), 2).tolist():
            began = time.process_time()
            sampled(posterior, seed, batch_size, num_draws=draws)
            calls.append(time.process_time() - began)
    return np.array(adaptations[1::2]), np.array(calls[1::2])


def measured(program, name, folder):
    """In a process of its own."""
    posterior = POSTERIORS[name](json.loads((folder / name / "data.json").read_text()))
    batch_size = "auto" if program == "sghmc" else None
    (first, few), (second, many) = (processor_seconds(posterior, batch_size, n) for n in (FEW, MANY))
    adaptation, sampling = float(np.median([first, second])), float(np.median(many - few))
    seconds = {"adaptation": round(adaptation, 3), "sampling": round(sampling, 3)}
    return seconds | {"ratio": round(adaptation / sampling, 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    found = {}
    for name in options.names or POSTERIORS:
        found[name] = {}
        for program in ["hmc", "sghmc"] if name in INDEPENDENT else ["hmc"]:
            with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
                found[name][program] = pool.submit(measured, program, name, options.folder).result()
            print(name, program, found[name][program], file=sys.stderr)
            options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
