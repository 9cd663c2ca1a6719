"""Calibration of von Mises-Fisher mixtures: do 90% intervals of kappa, weights and directions hold?

    python benchmarks/vmf/calibration.py OUT.json [--dims 3 50 768 1536] [--sets 40] [--passes 200]

Sets of K = 10 clusters are drawn from the model's prior, with a prior median of kappa at which clusters
overlap, and fitted from a cold start by the sampler at the same prior. Draws of all chains and the truth
are matched with one reference, the mean directions of the aligned draws, by the assignment of largest
cosines; the same function of truth and draws, so that both have one law. kappa and weights: the central 90%
interval of the draws. A direction is covered when its cosine to the posterior mean direction, of the other
chains than a draw's, exceeds the draws' 10% quantile. "As told" are the intervals of `findings` and `geodrift
clusters`, of shared clusters, which are of the next draw of another chain. The file is written after every
set, and a later call goes on from it.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from geodrift.distributions._host_sample import host_sample
from geodrift.driver import sampled
from geodrift.models.kit._alignment import common_order
from geodrift.models.von_mises_fisher_mixture import Settings
from geodrift.models.von_mises_fisher_mixture._chain import Chain
from geodrift.models.von_mises_fisher_mixture._cluster_parts import cluster_parts, mean_directions
from geodrift.models.von_mises_fisher_mixture._places import told as told_of
from geodrift.models.von_mises_fisher_mixture._rows_of import rows_of

K = 10
SHAPE = 20.0  # of the prior: kappa within about a fifth of its median
CHAINS, DRAWS = 4, 50
NAMES = ("concentrations", "weights", "directions", "concentrations_as_told", "weights_as_told")


def median_of(dim):
    """Where a row's own cluster is about exp(12) times as likely as another in many dimensions."""
    return max(20.0, 3.5 * dim**0.5)


def simulated(dim, rows, rng, settings):
    weights = rng.dirichlet(np.ones(K))
    kappa = settings.concentration(dim).draws(rng, K)
    directions = host_sample(rng, np.zeros((K, dim)))
    z = rng.choice(K, size=rows, p=weights)
    return weights, kappa, directions, host_sample(rng, (kappa[:, None] * directions)[z]).astype(np.float32)


def one_set(dim, number, rows, passes):
    settings = Settings(
        n_clusters=K,
        concentration_median=median_of(dim),
        concentration_shape=SHAPE,
        shared_concentration=False,
        num_draws=DRAWS,
    )
    weights, kappa, directions, x = simulated(dim, rows, np.random.default_rng([number, dim]), settings)
    began = time.perf_counter()
    data = rows_of(x)
    chains = [Chain(data, settings, seed=number, chain=chain) for chain in range(CHAINS)]
    steps = -(-rows // min(rows, settings.batch_size))
    found = sampled(chains, passes * steps)
    seconds = time.perf_counter() - began
    flat = found["directions"].reshape(-1, K, dim)
    orders = common_order(flat)
    ordered = np.take_along_axis(flat, orders[:, :, None], axis=1)
    reference = ordered.sum(axis=0, dtype=float)
    reference /= np.linalg.norm(reference, axis=1, keepdims=True)
    place = linear_sum_assignment(-(reference @ directions.T))[1]
    told = {"dim": dim, "set": number, "seconds": seconds}
    for name, truth in (("concentrations", kappa[place]), ("weights", weights[place])):
        draws = np.take_along_axis(found[name].reshape(-1, K), orders, axis=1)
        low, high = np.quantile(draws, [0.05, 0.95], axis=0)
        told[name] = [bool(a <= t <= b) for a, t, b in zip(low, truth, high, strict=True)]
        told[f"{name}_ranks"] = (draws < truth).mean(axis=0).tolist()
    told["directions"] = nearer_than_a_tenth(ordered.reshape(CHAINS, -1, K, dim), directions[place])
    told |= as_told(found, weights, kappa, directions)
    joint = found["log_joint"]
    told["log_joint_means"] = joint.mean(axis=1).tolist()
    told["log_joint_spread"] = float(joint.std(axis=1).mean())
    return told


def nearer_than_a_tenth(draws, directions):
    """Whether more than a tenth of the draws are further from the posterior mean direction than the truth.

    The mean is that of the other chains: a draw is near to a mean that it is a part of, and the more
    dimensions there are, the more that tells.
    """
    sums = draws.sum(axis=1, dtype=float)  # of a chain
    further = 0.0
    for chain, of_chain in enumerate(draws):
        mean = sums.sum(axis=0) - sums[chain]
        further = further + ((of_chain * mean).sum(axis=2) < (directions * mean).sum(axis=1)).mean(axis=0)
    return (further / len(draws) > 0.1).tolist()


def as_told(found, weights, kappa, directions):
    """Whether the intervals that `findings` and `geodrift clusters` tell hold; of shared clusters alone."""
    ordered, agreed = told_of(found, True)
    parts = cluster_parts(ordered, agreed)
    place = linear_sum_assignment(-(mean_directions(ordered, agreed) @ directions.T))[1]
    inside = {}
    for name, of_part, truth in (("weights", "size", weights), ("concentrations", "concentration", kappa)):
        inside[f"{name}_as_told"] = [
            bool(part[f"{of_part}_low"] <= truth[place[part["cluster"]]] <= part[f"{of_part}_high"])
            for part in parts
            if part["shared"]
        ]
    return inside


def summary(sets):
    found = {}
    for dim in sorted({one["dim"] for one in sets}):
        of = [one for one in sets if one["dim"] == dim]
        found[str(dim)] = {
            name: float(np.mean([inside for one in of for inside in one[name]])) for name in NAMES
        } | {"sets": len(of), "seconds": float(np.mean([one["seconds"] for one in of]))}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--dims", type=int, nargs="+", default=[3, 50, 768, 1536])
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--passes", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no set after so many")
    told, began = parser.parse_args(), time.perf_counter()
    arguments = {"rows": told.rows, "passes": told.passes}
    kept = json.loads(told.out.read_text()) if told.out.exists() else {"arguments": arguments, "sets": []}
    if kept["arguments"] != arguments:
        sys.exit(f"{told.out} was made with {kept['arguments']}")
    done = {(one["dim"], one["set"]) for one in kept["sets"]}
    for number in range(told.sets):
        for dim in told.dims:
            if (dim, number) in done or time.perf_counter() - began > told.seconds:
                continue
            kept["sets"].append(one_set(dim, number, told.rows, told.passes))
            kept["summary"] = summary(kept["sets"])
            part = told.out.with_suffix(".part")
            part.write_text(json.dumps(kept))
            os.replace(part, told.out)
    print(json.dumps(kept["summary"], indent=2))


if __name__ == "__main__":
    main()
