"""Compares the draws of short runs at two commits, bit for bit.

    python tests/same_draws.py OLD NEW [--only NAME ...]

OLD and NEW are what git understands, or "." for the working tree. Each is checked out beside the other, and
every run is made by public names alone, in a process of its own, with this interpreter. A change of structure
moves no draw: exit status 1 where one has moved.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
SEED = 20161


def directions(size=500, dim=5):
    """Unit vectors around the first axis."""
    vectors = np.random.default_rng(SEED).standard_normal((size, dim)) + 2.0 * np.eye(dim)[0]
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def counts(documents=2000, words=400, topics=6, length=80):
    """Counts of documents drawn from latent Dirichlet allocation."""
    import scipy.sparse as sp

    random = np.random.default_rng(SEED)
    weights = random.dirichlet(np.full(words, 0.05), topics)
    mixtures = random.dirichlet(np.full(topics, 0.2), documents)
    rows = np.stack([random.multinomial(length, p / p.sum()) for p in mixtures @ weights])
    return sp.csr_matrix(rows)


def of_sample(make):
    """A run of `geodrift.sample` from minibatches, two chains; and the same kept on disk, cut in two."""
    import jax

    import geodrift as gd

    data = directions()
    estimator = gd.estimators.Minibatch(
        lambda x, batch: 5.0 * batch @ x, lambda x: 0.0, data_size=len(data), noise_variance="scalar-fisher"
    )
    sampler = make(gd, estimator, gd.manifolds.Sphere(5))
    more = {"batch_size": 50, "num_warmup": 100, "num_chains": 2, "thin": 2}
    draws = gd.sample(jax.random.key(SEED), sampler, data, num_draws=200, **more)
    with tempfile.TemporaryDirectory() as folder:
        for number in (120, 200):
            kept = gd.sample(
                jax.random.key(SEED), sampler, data, num_draws=number, checkpoint=Path(folder) / "run", **more
            )
    return {"position": draws.position, "kept": kept.position, "residual": draws.info.residual}


def sggmc():
    return of_sample(lambda gd, e, m: gd.samplers.SGGMC(e, m, step_size=3e-3, friction=100.0, num_steps=3))


def gsgnht():
    return of_sample(lambda gd, e, m: gd.samplers.GSGNHT(e, m, step_size=3e-3, friction=100.0))


def scir_on_the_host():
    import jax

    import geodrift as gd

    data = np.random.default_rng(SEED).multinomial(1, [0.5, 0.3, 0.2], size=400).astype(float)
    estimator = gd.estimators.MinibatchSum(
        lambda key, x, batch: batch, np.array([0.5, 0.5, 0.5]), data_size=len(data)
    )
    sampler, key = gd.samplers.HostSCIR(estimator, step_size=0.05), jax.random.key(SEED)
    state, kept = sampler.init(key, np.zeros(3)), []
    for step in range(200):
        rows = data[np.random.default_rng([SEED, step]).choice(400, 20)]
        state, _ = sampler.step(jax.random.fold_in(key, step), state, rows)
        kept.append(np.asarray(state.position))
    return {"position": np.array(kept)}


def of_lda(method, **more):
    import geodrift as gd

    model = gd.models.LatentDirichletAllocation(
        n_topics=6, method=method, batch_size=400, n_steps=300, n_draws=20, random_state=SEED, **more
    ).fit(counts())
    mixtures = model.transform_with_intervals(counts()[:50])
    return {"topics": model.topic_draws_, **mixtures}


def lda_gibbs():
    return of_lda("gibbs", n_chains=2) | by_command(
        "lda", "--topics", "6", "--batch-size", "400", "--chains", "2"
    )


def lda_scir():
    return of_lda("scir")


def lda_sgrhmc():
    return of_lda("sgrhmc")


def lda_stream():
    import geodrift as gd

    model = gd.models.LatentDirichletAllocation(n_topics=6, batch_size=100, random_state=SEED)
    rows = counts()
    for first in list(range(0, 2000, 250)) * 10:
        model.partial_fit(rows[first : first + 250])
    return {"topics": model.topic_draws_}


def of_sam(method, steps):
    import geodrift as gd

    model = gd.models.SphericalAdmixture(
        n_topics=5, method=method, n_steps=steps, n_draws=20, random_state=SEED
    ).fit(counts(400))
    mixtures = model.transform_with_intervals(counts(400)[:50])
    return {"topics": model.topic_draws_, "temperature": model.temperature_, **mixtures}


def sam_sggmc():
    return of_sam("sggmc", 500) | by_command("sam", "--topics", "5", "--chains", "2")


def sam_gmc_gibbs():
    return of_sam("gmc-gibbs", 200)


def by_command(model, *options):
    """A run of the command line, stopped and resumed, and what `export` writes of it."""
    import scipy.sparse as sp

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        sp.save_npz(place / "counts.npz", counts(600))

        def call(*words):
            command = [sys.executable, "-m", "geodrift.cli", *map(str, words)]
            subprocess.run(command, check=True, capture_output=True, text=True)

        fixed = ("--held-out", "50", "--seed", "3", *options)
        call("fit", model, place / "counts.npz", "--run", place / "run", "--steps", "300", *fixed)
        call("resume", place / "run", "--steps", "100")
        call("export", place / "run", "--out", place / "out.npz")
        call("transform", place / "run", place / "counts.npz", "--out", place / "mixtures.npz")
        with np.load(place / "out.npz") as out, np.load(place / "mixtures.npz") as mixtures:
            arrays = {name: out[name] for name in ("topics", "expected_topics")} | dict(mixtures)
    return {f"command {name}": array for name, array in arrays.items()}


RUNS = {
    run.__name__: run
    for run in (
        sggmc,
        gsgnht,
        scir_on_the_host,
        lda_gibbs,
        lda_scir,
        lda_sgrhmc,
        lda_stream,
        sam_sggmc,
        sam_gmc_gibbs,
    )
}


def digest(array):
    """Shape, type and bytes of an array in one word."""
    array = np.ascontiguousarray(array)
    text = f"{array.dtype}{array.shape}".encode() + array.tobytes()
    return hashlib.sha256(text).hexdigest()[:16]


def make_run(name):
    """In the child process: the digests of one run, as JSON on the last line."""
    import jax

    jax.config.update("jax_enable_x64", True)
    print(json.dumps({key: digest(value) for key, value in RUNS[name]().items()}))


def digests(source, name):
    """Of one run of the code in ``source``; its numba cache is its own."""
    environment = os.environ | {
        "PYTHONPATH": str(source / "src"),
        "NUMBA_CACHE_DIR": str(source / ".numba_cache"),
    }
    command = [sys.executable, str(Path(__file__).resolve()), "--run", name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} in {source} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def checked_out(revision, folder):
    """A directory with the code of a revision."""
    if revision == ".":
        return ROOT
    subprocess.run(
        ["git", "-C", str(ROOT), "worktree", "add", "--quiet", "--detach", str(folder), revision], check=True
    )
    return folder


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revisions", nargs="*", metavar="OLD NEW")
    parser.add_argument("--only", nargs="+", choices=RUNS, default=list(RUNS))
    parser.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.run:
        make_run(chosen.run)
        return
    if len(chosen.revisions) != 2:
        parser.error("give two revisions, OLD and NEW")
    with tempfile.TemporaryDirectory() as folder:
        sources = [checked_out(r, Path(folder) / str(i)) for i, r in enumerate(chosen.revisions)]
        try:
            moved = sum(compare(name, *sources) for name in chosen.only)
        finally:
            for source in sources:
                if source != ROOT:
                    subprocess.run(
                        ["git", "-C", str(ROOT), "worktree", "remove", "--force", str(source)], check=True
                    )
    sys.exit(f"{moved} arrays differ" if moved else 0)


def compare(name, old, new):
    """Prints each array of a run, and returns how many differ."""
    before, after = digests(old, name), digests(new, name)
    moved = [key for key in before | after if before.get(key) != after.get(key)]
    for key in before | after:
        verdict = "MOVED" if key in moved else "same"
        print(f"{name:18s} {key:24s} {before.get(key)} {after.get(key)} {verdict}", flush=True)
    return len(moved)


if __name__ == "__main__":
    main()
