"""Effective draws a processor second, ours without settings beside NUTS and MCLMC of other programs.

    python benchmarks/posteriordb/beside.py OUT.json FOLDER [NAME ...] [--programs hmc nuts ...]

Programs: ``hmc`` and ``sghmc`` are ours, of `check.py` (``sghmc`` by minibatches, ``batch_size="auto"``,
where data are independent); ``nuts`` is NumPyro's; ``blackjax-nuts`` and ``blackjax-mclmc`` are
BlackJAX's with their adaptation, where it (1.7) is installed. 4 chains of 2,000 draws from the same normal
starts, 1,000 warm-up steps of the others; float32, one process a run. ``ess`` is the least of any
parameter, ``cpu`` the processor seconds of a first call in the process, compilation and warm-up counted,
``cpu_again`` those of a second with another seed, which compiles nothing; ``over`` as in `check.py`:
above 1 is wrong.
"""

import argparse
import functools
import json
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from check import CHAINS, DRAWS, INDEPENDENT, compared, sampled
from densities import POSTERIORS

WARM_UP = 1000
MCLMC_STEPS = 10  # steps of MCLMC, which have no test, for a stored draw


def starts(key, dim):
    return jax.random.normal(key, (CHAINS, dim))


def ours(posterior, seed, minibatch):
    return sampled(posterior, seed, "auto" if minibatch else None).position


def nuts(posterior):
    """NumPyro's NUTS, as a function of a seed.

    Compiled as a whole: `MCMC.run` by itself compiles again in every call, the second one too.
    """
    import numpyro
    from numpyro.distributions import ImproperUniform, constraints
    from numpyro.infer import MCMC, NUTS

    def model():
        x = numpyro.sample("x", ImproperUniform(constraints.real_vector, (), (posterior.dim,)))
        numpyro.factor("density", posterior.log_density(x))

    @jax.jit
    def sample(key, start):
        mcmc = MCMC(NUTS(model), num_warmup=WARM_UP, num_samples=DRAWS, num_chains=CHAINS,
                    chain_method="vectorized", progress_bar=False)  # fmt: skip
        mcmc.run(key, init_params={"x": start})
        return mcmc.get_samples(group_by_chain=True)["x"]

    def run(seed):
        start = starts(jax.random.key(seed + 1000), posterior.dim)
        return sample(jax.random.PRNGKey(seed), start)

    return run


@functools.partial(jax.jit, static_argnums=0)
def blackjax_nuts(posterior_log_density, key, start):
    import blackjax

    def chain(key, position):
        key_adapt, key_sample = jax.random.split(key)
        warm_up = blackjax.window_adaptation(blackjax.nuts, posterior_log_density)
        (state, numbers), _ = warm_up.run(key_adapt, position, num_steps=WARM_UP)
        step = blackjax.nuts(posterior_log_density, **numbers).step

        def one(state, key):
            state, _ = step(key, state)
            return state, state.position

        return jax.lax.scan(one, state, jax.random.split(key_sample, DRAWS))[1]

    return jax.vmap(chain)(jax.random.split(key, CHAINS), start)


@functools.partial(jax.jit, static_argnums=0)
def blackjax_mclmc(log_density, key, start):
    import blackjax

    def chain(key, position):
        key_start, key_adapt, key_sample = jax.random.split(key, 3)
        state = blackjax.mcmc.mclmc.init(position=position, logdensity_fn=log_density, rng_key=key_start)

        kernel = blackjax.mcmc.mclmc.build_kernel()
        state, found, _ = blackjax.mclmc_find_L_and_step_size(
            mclmc_kernel=kernel,
            num_steps=MCLMC_STEPS * WARM_UP,
            state=state,
            rng_key=key_adapt,
            logdensity_fn=log_density,
        )
        step = functools.partial(
            kernel, logdensity_fn=log_density, inverse_mass_matrix=found.inverse_mass_matrix
        )

        def one(state, key):
            def inner(state, key):
                return step(rng_key=key, state=state, L=found.L, step_size=found.step_size)[0], None

            state, _ = jax.lax.scan(inner, state, jax.random.split(key, MCLMC_STEPS))
            return state, state.position

        return jax.lax.scan(one, state, jax.random.split(key_sample, DRAWS))[1]

    return jax.vmap(chain)(jax.random.split(key, CHAINS), start)


def program_of(name, posterior):
    """A function of a seed that returns positions, [chain, draw, d]."""
    if name in ("hmc", "sghmc"):
        return lambda seed: ours(posterior, seed, name == "sghmc")
    if name == "nuts":
        return nuts(posterior)
    sample = {"blackjax-nuts": blackjax_nuts, "blackjax-mclmc": blackjax_mclmc}[name]

    def run(seed):
        key = jax.random.key(seed)
        return sample(posterior.log_density, key, starts(jax.random.key(seed + 1000), posterior.dim))

    return run


def measured(program, name, folder):
    """In a process of its own."""
    posterior = POSTERIORS[name](json.loads((folder / name / "data.json").read_text()))
    reference = json.loads((folder / name / "reference.json").read_text())
    run, seconds = program_of(program, posterior), []
    for seed in (0, 1):
        began, cpu = time.monotonic(), time.process_time()
        position = np.asarray(run(seed))
        seconds.append((time.process_time() - cpu, time.monotonic() - began))
    values = jax.vmap(jax.vmap(posterior.parameters))(jnp.asarray(position))
    found = compared({key: np.asarray(value) for key, value in values.items()}, reference)
    (cpu, _), (again, wall) = seconds
    rates = {"ess_a_cpu_second": found["ess"] / cpu, "ess_a_cpu_second_again": found["ess"] / again}
    rates = {key: round(value, 1) for key, value in rates.items()}
    return found | {"cpu": round(cpu, 1), "cpu_again": round(again, 1), "wall_again": round(wall, 1)} | rates


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    programs = ["hmc", "sghmc", "nuts", "blackjax-nuts", "blackjax-mclmc"]
    parser.add_argument("--programs", nargs="+", choices=programs, default=programs)
    options = parser.parse_args()
    found = json.loads(options.out.read_text()) if options.out.exists() else {}
    for name in options.names or POSTERIORS:
        for program in options.programs:
            if program in found.setdefault(name, {}) or (program == "sghmc" and name not in INDEPENDENT):
                continue
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(1, mp_context=context) as pool:
                try:
                    told = pool.submit(measured, program, name, options.folder).result()
                except Exception as error:  # a program that fails is a result too
                    told = {"failed": f"{type(error).__name__}: {str(error)[:200]}"}
            found[name][program] = told
            print(name, program, told, file=sys.stderr)
            options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
