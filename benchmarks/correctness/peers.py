"""Moments that other libraries' samplers give on targets whose moments are known.

    python -m venv peers && peers/bin/pip install blackjax posteriors geoopt
    peers/bin/python benchmarks/correctness/peers.py --json docs/reference/peers.json

Nothing of ours is imported, so that it runs in an environment of its own. A library that is not installed is
named under "skipped". Gradients are exact: an error is the sampler's own.
"""

import argparse
import importlib.metadata
import json
import math
import warnings

import numpy as np

CHAINS, DIM = 2000, 10
VMF_MEAN = 1 / math.tanh(5.0) - 1 / 5.0  # E[x_0] under exp(5 x_0) on the sphere of R^3
NORMAL, SPHERE, STIEFEL = "N(0, I_10)", "exp(5 x_0) on S^2", "exp(5 x_00) on Stiefel(3, 2)"


def row(library, sampler, setting, means, target=NORMAL, note=""):
    """A line of the table; ``means`` are of independent chains, or of long blocks of one."""
    means = np.asarray(means, float)
    moment, exact = ("x^2", 1.0) if target == NORMAL else ("x_0", VMF_MEAN)
    return {
        "library": library,
        "sampler": sampler,
        "target": target,
        "setting": setting,
        "moment": moment,
        "exact": exact,
        "mean": float(means.mean()),
        "error": float(means.std(ddof=1) / math.sqrt(means.size)),
        "note": note,
    }


def blackjax_rows():
    import blackjax
    import jax
    import jax.numpy as jnp

    def gradient(position, minibatch):
        return -position

    def means(init, step, step_size, time, position_of):
        """Mean of x^2 of each chain, over the second half of ``time``."""
        count = round(time / step_size)
        key = jax.random.key(0)
        starts = jax.random.normal(jax.random.fold_in(key, 1), (CHAINS, DIM))
        state = jax.vmap(init)(starts, jax.random.split(jax.random.fold_in(key, 2), CHAINS))

        def one(i, carry):
            state, total = carry
            keys = jax.random.split(jax.random.fold_in(key, 3 + i), CHAINS)
            state = jax.vmap(lambda k, s: step(k, s, None, step_size))(keys, state)
            square = jnp.mean(position_of(state) ** 2, axis=-1)
            return state, total + jnp.where(i >= count // 2, square, 0)

        run = jax.jit(lambda state: jax.lax.fori_loop(0, count, one, (state, jnp.zeros(CHAINS)))[1])
        return np.asarray(run(state)) / (count - count // 2)

    rows = []
    for h in (0.1, 0.01):
        sgld = blackjax.sgld(gradient)
        found = means(lambda x, k, s=sgld: s.init(x), sgld.step, h, 12, lambda s: s)
        rows.append(row("blackjax", "sgld", f"h = {h}", found))
    for h, inner, alpha, time in ((0.02, 10, 1.0, 4), (0.02, 1, 1.0, 4), (0.1, 10, 0.01, 20)):
        sghmc = blackjax.sghmc(gradient, num_integration_steps=inner, alpha=alpha)
        found = means(lambda x, k, s=sghmc: s.init(x), sghmc.step, h, time, lambda s: s)
        note = "a random walk: grows with time" if inner == 1 else ""
        rows.append(row("blackjax", "sghmc", f"h = {h}, L = {inner}, alpha = {alpha}", found, note=note))
    for h in (0.1, 0.05):
        sgnht = blackjax.sgnht(gradient, alpha=1.0)
        found = means(sgnht.init, sgnht.step, h, 30, lambda s: s.position)
        rows.append(row("blackjax", "sgnht", f"h = {h}, alpha = 1", found))
    return rows


def posteriors_rows():
    import posteriors
    import torch

    def log_posterior(x, batch):
        return -0.5 * torch.sum(x**2), torch.tensor([])

    def means(transform, step_size, time):
        torch.manual_seed(0)
        state = transform.init(torch.randn(CHAINS, DIM, dtype=torch.float64))
        count, total = round(time / step_size), 0.0
        for i in range(count):
            state, _ = transform.update(state, None)
            if i >= count // 2:
                total = total + torch.mean(state.params**2, dim=-1)
        return (total / (count - count // 2)).numpy()

    build = posteriors.sgmcmc
    rows = [row("posteriors", "sgld", "lr = 0.1", means(build.sgld.build(log_posterior, lr=0.1), 0.1, 12))]
    for lr in (0.1, 0.02):
        found = means(build.sghmc.build(log_posterior, lr=lr, alpha=1.0), lr, 16)
        rows.append(row("posteriors", "sghmc", f"lr = {lr}, alpha = 1", found))
    found = means(build.sghmc.build(log_posterior, lr=0.1), 0.1, 100)
    rows.append(row("posteriors", "sghmc", "lr = 0.1, alpha = 0.01 (default)", found, note="diverges"))
    note = "one thermostat over all chains"
    found = means(build.sgnht.build(log_posterior, lr=0.1, alpha=1.0), 0.1, 30)
    rows.append(row("posteriors", "sgnht", "lr = 0.1, alpha = 1", found, note=note))
    found = means(build.baoa.build(log_posterior, lr=0.1, alpha=1.0), 0.1, 16)
    rows.append(row("posteriors", "baoa", "lr = 0.1, alpha = 1", found))
    return rows


def geoopt_start(target, chains):
    """A parameter of chains on the target's manifold."""
    import geoopt
    import torch

    shape = {NORMAL: (DIM,), SPHERE: (3,), STIEFEL: (3, 2)}[target]
    x = torch.randn(chains, *shape, dtype=torch.float64) if chains > 1 else torch.randn(shape).double()
    if target == NORMAL:
        return geoopt.ManifoldParameter(x, manifold=geoopt.Euclidean(ndim=1))
    if target == SPHERE:
        manifold = geoopt.Sphere()
        manifold.reversible = True  # its samplers refuse the sphere otherwise
    else:
        manifold = geoopt.CanonicalStiefel()
    return geoopt.ManifoldParameter(manifold.projx(x), manifold=manifold)


def geoopt_moment(x, target):
    import torch

    if target == NORMAL:
        return torch.mean(x**2, dim=-1)
    return x[..., 0] if target == SPHERE else x[..., 0, 0]


def geoopt_means(make, target, count, chains=CHAINS):
    """Means of chains; or of 40 blocks of one chain, whose Metropolis test is for all at once."""
    import torch

    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002  the library draws from it
    x = geoopt_start(target, chains)
    sampler = make([x])
    sampler.burnin = True

    def log_density():
        return -0.5 * torch.sum(x**2) if target == NORMAL else 5 * torch.sum(geoopt_moment(x, target))

    values = []
    for i in range(count):
        sampler.step(log_density)
        if target != NORMAL:
            with torch.no_grad():
                x.copy_(x.manifold.projx(x))
        if i >= count // 4:
            values.append(geoopt_moment(x.detach(), target).clone())
    values = torch.stack(values).numpy()
    if chains > 1:
        return values.mean(axis=0)
    return values[: len(values) // 40 * 40].reshape(40, -1).mean(axis=1)


def geoopt_plans():
    """Sampler, target, setting, how to make it, steps, chains and note."""
    from geoopt.samplers import RHMC, RSGLD, SGRHMC

    return [
        ("RSGLD", NORMAL, "epsilon = 0.2", lambda p: RSGLD(p, epsilon=0.2), 120, CHAINS, ""),
        ("SGRHMC", NORMAL, "epsilon = 0.01, n_steps = 1, alpha = 0.1",
         lambda p: SGRHMC(p, epsilon=0.01, n_steps=1, alpha=0.1), 3000, 200, ""),
        ("SGRHMC", NORMAL, "epsilon = 0.01, n_steps = 10, alpha = 0.1",
         lambda p: SGRHMC(p, epsilon=0.01, n_steps=10, alpha=0.1), 300, 500, ""),
        ("RHMC", NORMAL, "epsilon = 0.2, n_steps = 5",
         lambda p: RHMC(p, epsilon=0.2, n_steps=5), 6000, 1, ""),
        ("RHMC", NORMAL, "epsilon = 0.5, n_steps = 5",
         lambda p: RHMC(p, epsilon=0.5, n_steps=5), 6000, 1, ""),
        ("RSGLD", SPHERE, "epsilon = 0.05", lambda p: RSGLD(p, epsilon=0.05), 300, CHAINS, "forced"),
        ("RSGLD", SPHERE, "epsilon = 0.01", lambda p: RSGLD(p, epsilon=0.01), 800, CHAINS, "forced"),
        ("SGRHMC", SPHERE, "epsilon = 0.01, n_steps = 10",
         lambda p: SGRHMC(p, epsilon=0.01, n_steps=10), 200, 500, "forced, projected after each step"),
        ("RHMC", SPHERE, "epsilon = 0.3, n_steps = 5",
         lambda p: RHMC(p, epsilon=0.3, n_steps=5), 4000, 1, "forced"),
        ("RSGLD", STIEFEL, "epsilon = 0.1", lambda p: RSGLD(p, epsilon=0.1), 200, 1000, ""),
        ("RSGLD", STIEFEL, "epsilon = 0.02", lambda p: RSGLD(p, epsilon=0.02), 600, 1000, ""),
        ("SGRHMC", STIEFEL, "epsilon = 0.01, n_steps = 10",
         lambda p: SGRHMC(p, epsilon=0.01, n_steps=10), 100, 300, ""),
        ("RHMC", STIEFEL, "epsilon = 0.1, n_steps = 10",
         lambda p: RHMC(p, epsilon=0.1, n_steps=10), 1500, 1, ""),
    ]  # fmt: skip


def geoopt_rows():
    rows = []
    for sampler, target, setting, make, count, chains, note in geoopt_plans():
        try:
            found = geoopt_means(make, target, count, chains)
        except Exception as error:  # a peer that stops is a figure too
            rows.append(
                {"library": "geoopt", "sampler": sampler, "target": target, "setting": setting, "mean": None}
                | {
                    "moment": "x^2" if target == NORMAL else "x_0",
                    "exact": 1.0 if target == NORMAL else VMF_MEAN,
                }
                | {"reason": f"{type(error).__name__}: {error}"[:120], "note": note}
            )
        else:
            rows.append(row("geoopt", sampler, setting, found, target, note))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", help="file to write, beside standard output")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    result = {"versions": {}, "rows": [], "skipped": []}
    for name, measure in (
        ("blackjax", blackjax_rows),
        ("posteriors", posteriors_rows),
        ("geoopt", geoopt_rows),
    ):
        try:
            result["rows"] += measure()
        except ImportError as error:
            result["skipped"].append(f"{name}: {error}")
            continue
        for package in (name, {"blackjax": "jax"}.get(name, "torch")):
            result["versions"][package] = importlib.metadata.version(package)
    text = json.dumps(result, indent=1)
    if options.json:
        with open(options.json, "w") as file:
            file.write(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
