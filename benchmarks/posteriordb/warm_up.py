"""How long the pilot and the adaptation of ``step_size=None`` take, beside the sampling of 1,000 draws.

    python benchmarks/posteriordb/warm_up.py OUT.json FOLDER [NAME ...]

4 chains; processor seconds of the fastest of five calls in a process, which compiles nothing: ``few`` of a
run of 8 draws, which is all adaptation, ``many`` of one of 1,008; ``ratio`` is that of the adaptation to what
1,000 draws add. ``sghmc`` is by minibatches, ``batch_size="auto"``, where data are independent.
"""

import argparse
import json
import multiprocessing
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from check import INDEPENDENT, sampled
from densities import POSTERIORS

FEW, MANY = 8, 1008


def processor_seconds(posterior, batch_size, draws):
    """Of the fastest call: one whose chosen numbers of steps and rows are new compiles again."""
    seconds = []
    for seed in range(5):
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # 8 draws are too few, and told so
            sampled(posterior, seed, batch_size, num_draws=draws)
        seconds.append(time.process_time() - began)
    return min(seconds)


def measured(program, name, folder):
    """In a process of its own."""
    posterior = POSTERIORS[name](json.loads((folder / name / "data.json").read_text()))
    batch_size = "auto" if program == "sghmc" else None
    few, many = (processor_seconds(posterior, batch_size, draws) for draws in (FEW, MANY))
    return {"few": round(few, 2), "many": round(many, 2), "ratio": round(few / max(many - few, 1e-3), 2)}


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
