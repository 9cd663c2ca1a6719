"""posteriordb without settings, against its reference draws.

    python benchmarks/posteriordb/check.py OUT.json FOLDER [NAME ...] [--minibatch [auto]] [--float64]

FOLDER holds a folder a posterior with ``data.json`` and ``reference.json``. 4 chains of 2,000 draws from
normal starts with ``step_size=None``: `HMC` by exact gradients, or `SGHMC` by minibatches of a tenth of
the data, or by those that ``batch_size="auto"`` chooses, with a control variate. ``mean``, ``sd``,
``q05`` and ``q95`` are the largest differences from the reference over the parameters, in reference
standard deviations (of sd: its ratio less 1), and ``over`` the largest of them over what is allowed: .1,
.07 and .15, each with three standard errors.
"""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

import jax
import numpy as np
from densities import POSTERIORS

import geodrift as gd
from geodrift.diagnostics import ess, rhat

CHAINS, DRAWS = 4, 2000
INDEPENDENT = (  # data
    "arK-arK",
    "diamonds-diamonds",
    "earnings-logearn_height",
    "kidiq-kidscore_interaction",
    "low_dim_gauss_mix-low_dim_gauss_mix",
    "nes2000-nes",
    "sblrc-blr",
)
ALLOWED = {"mean": 0.1, "sd": 0.07, "q05": 0.15, "q95": 0.15}


def compared(draws, reference):
    """Largest differences of parameters by name, and the largest over what is allowed."""
    worst, over = dict.fromkeys(ALLOWED, 0.0), 0.0
    effective = float("inf")
    for name, told in reference.items():
        base, _, index = name.partition("[")
        values = draws[base]
        if index:
            values = values[(..., *(int(i) - 1 for i in index[:-1].split(",")))]
        number = float(ess(values))
        effective = min(effective, number)
        sd = told["sd"] or 1.0
        error = {"mean": 1.0, "sd": 0.5**0.5, "q05": 2.1, "q95": 2.1}  # of a normal, over sd / sqrt(ess)
        found = {
            "mean": (values.mean() - told["mean"]) / sd,
            "sd": values.std() / sd - 1,
            "q05": (np.quantile(values, 0.05) - told["q05"]) / sd,
            "q95": (np.quantile(values, 0.95) - told["q95"]) / sd,
        }
        for key, off in found.items():
            worst[key] = max(worst[key], abs(float(off)))
            over = max(over, abs(float(off)) / (ALLOWED[key] + 3 * error[key] / np.sqrt(number)))
    return {key: round(value, 3) for key, value in worst.items()} | {
        "over": round(float(over), 2),
        "ess": round(effective),
    }


def sampled(posterior, seed, minibatch, num_draws=DRAWS):
    """Our draws, without settings."""
    flat, data, batch_size = gd.manifolds.Euclidean(posterior.dim), None, None
    if minibatch:
        data = posterior.data
        batch_size = "auto" if minibatch == "auto" else len(jax.tree.leaves(data)[0]) // 10
        estimator = gd.estimators.ControlVariate(
            posterior.log_likelihood, posterior.log_prior, data, noise_variance="scalar-fisher"
        )
        sampler = gd.samplers.SGHMC(estimator, flat, step_size=None)
    else:
        sampler = gd.samplers.HMC(gd.estimators.Full(posterior.log_density), flat, step_size=None)
    return gd.sample(
        jax.random.key(seed),
        sampler,
        data,
        batch_size=batch_size,
        num_draws=num_draws,
        num_chains=CHAINS,
        initial=_start(posterior.dim),
    )


def run(name, folder, seed, minibatch):
    posterior = POSTERIORS[name](json.loads((folder / name / "data.json").read_text()))
    reference = json.loads((folder / name / "reference.json").read_text())
    began, cpu = time.monotonic(), time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        draws = sampled(posterior, seed, minibatch)
    seconds, cpu = time.monotonic() - began, time.process_time() - cpu
    values = jax.vmap(jax.vmap(posterior.parameters))(draws.position)
    told = compared({key: np.asarray(value) for key, value in values.items()}, reference)
    told |= {"rhat": round(float(np.max(rhat(draws.position))), 3), "seconds": round(seconds, 1)}
    told |= {"cpu": round(cpu, 1), "report": str(draws.report), "tuned": str(draws.tuned)}
    return told | {"warnings": [str(w.message) for w in caught]}


def _start(dim):
    return lambda key: jax.random.normal(key, (dim,))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minibatch", nargs="?", choices=["tenth", "auto"], const="tenth")
    parser.add_argument("--float64", action="store_true")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", options.float64)
    found = {}
    names = options.names or [name for name in POSTERIORS if not options.minibatch or name in INDEPENDENT]
    for name in names:
        found[name] = run(name, options.folder, options.seed, options.minibatch)
        print(name, found[name], file=sys.stderr)
    options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
