"""Samples with data shared out to devices: a program for one of several processes.

    python mesh_program.py OUT DEVICES RANK SIZE PORT (NUM_DRAWS NUM_CHAINS THIN)+

The target is a von Mises-Fisher law on the sphere of R^5, a product over data. The draws go to files that
begin with OUT, one for each number of draws, chains and steps between draws.
"""

import os
import sys

import numpy as np

SEED, DIMENSION, NUMBER = 20261, 5, 512
CONCENTRATION = 6.0


def data():
    """Vectors whose sum is the concentration times the first axis."""
    rows = np.random.default_rng(SEED).standard_normal((NUMBER, DIMENSION)).astype(np.float32) * 0.05
    rows += (CONCENTRATION * np.eye(DIMENSION)[0] - rows.sum(axis=0)) / NUMBER
    return rows


def drawn(num_draws, num_chains, thin):
    """Draws from a point far off, [chain, draw, ...], on all devices that there are."""
    import jax

    import geodrift as gd

    rows = data()
    if len(jax.devices()) > 1:
        mesh = jax.make_mesh((len(jax.devices()),), ("rows",))
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("rows"))
        rows = jax.make_array_from_callback(rows.shape, sharding, lambda place: data()[place])
    estimator = gd.estimators.Minibatch(
        lambda x, batch: batch @ x, lambda x: 0.0, data_size=NUMBER, noise_variance="scalar-fisher"
    )
    sphere = gd.manifolds.Sphere(DIMENSION)
    sampler = gd.samplers.SGGMC(estimator, sphere, step_size=0.05, friction=3.0)
    draws = gd.sample(
        jax.random.key(SEED),
        sampler,
        rows,
        batch_size=128,
        num_draws=num_draws,
        num_warmup=0 if num_draws * thin <= 200 else 500,
        thin=thin,
        num_chains=num_chains,
        initial=np.eye(DIMENSION, dtype=np.float32)[1],
    )
    return draws.position


def main(out, devices, rank, size, port, *jobs):
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={devices}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    if size > 1:
        jax.distributed.initialize(f"127.0.0.1:{port}", size, rank, cluster_detection_method="deactivate")
        # The first collective waits for 30 seconds at most.
        jax._src.distributed.global_state.client.wait_at_barrier("begin", 300_000)
    for number in range(0, len(jobs), 3):
        np.save(f"{out}-{number // 3}.npy", drawn(*jobs[number : number + 3]))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
