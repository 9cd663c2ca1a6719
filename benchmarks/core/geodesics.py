"""Microseconds of a whole geodesic on matrix manifolds, against the same geodesic with JAX's exponential.

Ours are `Stiefel`, `SpecialOrthogonal` and `Grassmann` as they are: exponential, cosine and sine by series
and doubling, and the repair of rounding. The other side is the same formula with `jax.scipy.linalg.expm` in
their place, which for subspaces is the exponential of the 2p x 2p matrix of frames. A single point at a time
and a batch, in float32 and float64, over a time of 0.1, a sampler's step at temperature 1, and of 2. Both
sides first have to agree.

Interleaved; the median of the repeats, of one call over the batch, divided by its size.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import time

import jax
import jax.numpy as jnp
import numpy as np

import geodrift as gd
from geodrift.manifolds import Grassmann, SpecialOrthogonal, Stiefel
from geodrift.manifolds._frames import newton_schulz_step, transpose

jax.config.update("jax_enable_x64", True)

MANIFOLDS = {
    "Stiefel(4, 2)": Stiefel(4, 2),
    "Stiefel(20, 3)": Stiefel(20, 3),
    "SO(3)": SpecialOrthogonal(3),
    "SO(10)": SpecialOrthogonal(10),
    "Grassmann(4, 2)": Grassmann(4, 2),
    "Grassmann(20, 3)": Grassmann(20, 3),
}
BATCHES, TIMES = (1, 1000), (0.1, 2.0)


def reference(manifold, x, v, t):
    """The geodesic by `jax.scipy.linalg.expm`."""
    expm = jax.scipy.linalg.expm
    a = transpose(x) @ v
    a = (a - transpose(a)) / 2
    if isinstance(manifold, SpecialOrthogonal):
        arrived = newton_schulz_step(x @ expm(t * a))
        return arrived, arrived @ a
    # Byrne and Girolami (2013): exp of the 2p x 2p matrix in the basis (x, v).
    p, identity = manifold.p, jnp.broadcast_to(jnp.eye(manifold.p, dtype=x.dtype), a.shape)
    block = jnp.block([[a, -transpose(v) @ v], [identity, a]])
    turn = jnp.concatenate([x, v], axis=-1) @ expm(t * block)
    spin = expm(-t * a) if isinstance(manifold, Stiefel) else identity
    arrived = newton_schulz_step(turn[..., :p] @ spin)
    return arrived, manifold.to_tangent(arrived, turn[..., p:] @ spin)


def seconds(function, arguments, calls):
    """Seconds of one call."""
    begun = time.perf_counter()
    for _ in range(calls):
        end = function(*arguments)
    jax.block_until_ready(end)
    return (time.perf_counter() - begun) / calls


def cell(name, manifold, dtype, batch, t, repeats):
    """Both sides on one setting."""
    key_point, key_velocity = jax.random.split(jax.random.key(0))
    x = manifold.random_point(key_point, (batch,) if batch > 1 else ()).astype(dtype)
    x = manifold.project(x)
    v = manifold.random_tangent(key_velocity, x)
    sides = {
        "geodrift": jax.jit(manifold.geodesic),
        "jax expm": jax.jit(lambda x, v, t: reference(manifold, x, v, t)),
    }
    arguments = x, v, jnp.asarray(t, dtype)
    ends = [side(*arguments) for side in sides.values()]
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    for ours, theirs in zip(*ends, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=tolerance * manifold.n)
    # As many calls as take about 20 ms.
    calls = max(1, int(0.02 / seconds(sides["geodrift"], arguments, 3)))
    times = {side: [] for side in sides}
    for _ in range(repeats):
        for side, function in sides.items():
            times[side].append(seconds(function, arguments, calls))
    each = {side: statistics.median(values) / batch * 1e6 for side, values in times.items()}
    setting = {"manifold": name, "dtype": dtype, "batch": batch, "time": t}
    return setting | {"microseconds": each, "ratio": each["jax expm"] / each["geodrift"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="also write the result to this file")
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    cells = [
        cell(name, manifold, dtype, batch, t, arguments.repeats)
        for name, manifold in MANIFOLDS.items()
        for dtype in ("float32", "float64")
        for batch in BATCHES
        for t in TIMES
    ]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    result = {
        "geodesics": cells,
        "ratios, jax expm over geodrift": {
            "least": min(c["ratio"] for c in cells),
            "median": statistics.median(c["ratio"] for c in cells),
            "largest": max(c["ratio"] for c in cells),
        },
        "machine": {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()},
        "load average": os.getloadavg(),
        "versions": {"geodrift": gd.__version__, "jax": jax.__version__},
        "commit": commit.stdout.strip(),
    }
    text = json.dumps(result, indent=1)
    print(text)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as stream:
            stream.write(text + "\n")


if __name__ == "__main__":
    main()
