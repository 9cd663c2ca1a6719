"""Makes or continues a run of either kind of chain in a process of its own: runner.py KIND RUN DRAWS PAUSE.

Checkpoints follow one another quickly, and each chunk waits PAUSE seconds, so that a test may interrupt it.
Files beyond a fifth argument, a number of bytes, fail in the kernel, as on a full disk.
"""

import io
import resource
import sys
import time
from pathlib import Path

import numpy as np


def host(path, pause):
    """Two fake chains of 400 steps."""
    from fake import FakeChain
    from rich.console import Console

    from geodrift.driver import Labels, Length, Run, fit_to_run

    if not path.exists():
        Run.create(path, {"kind": "fake", "chains": 2}, [Labels("word", "words.txt", list("abcde"))])
    run = Run.open(path)
    length = None if run.has_checkpoint else Length(steps=400)
    chains = [FakeChain(chain=c, pause=pause / 20) for c in range(2)]
    if not (run.has_checkpoint and min(run.state["counts"]) == 400):
        result = fit_to_run(chains, run, length, console=Console(file=io.StringIO()))
        if result.interrupted:
            raise KeyboardInterrupt
    return {name: run.draws["posterior"][name].values for name in ("topics", "tail")}


def compiled(path, pause):
    """Two chains of a sampler with a thermostat and a schedule, from minibatches."""
    import jax

    import geodrift as gd

    data = gd.manifolds.Sphere(3).random_point(jax.random.key(1), (30,))
    estimator = gd.estimators.Minibatch(
        lambda x, y: 0.1 * y @ x, lambda x: 0.0 * x[0], 30, "diagonal-fisher", refresh_every=4
    )
    sampler = gd.samplers.GSGNHT(
        estimator, gd.manifolds.Sphere(3), gd.schedules.PolynomialDecay(0.2), num_steps=2
    )
    draws = gd.sample(
        jax.random.key(0),
        sampler,
        data,
        batch_size=5,
        num_draws=3000,
        num_warmup=50,
        num_chains=2,
        thin=2,
        checkpoint=path,
        callback=lambda progress: time.sleep(pause),
    )
    temperature, thermostat = draws.info.kinetic_temperature, draws.state.thermostat
    return {"position": draws.position, "temperature": temperature, "thermostat": np.asarray(thermostat)}


KINDS = {"host": host, "compiled": compiled}

if __name__ == "__main__":
    import jax

    from geodrift.driver import _record

    jax.config.update("jax_enable_x64", True)
    kind, path, draws, pause, *limit = sys.argv[1:]
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit[0]), int(limit[0])))
    _record.CHECKPOINT_SECONDS, _record.CHECKPOINT_SHARE = 0.02, 1e9
    np.savez(draws, **KINDS[kind](Path(path), float(pause)))
