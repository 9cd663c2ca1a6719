"""The driver: batches, chains, resumption, failures."""

import os
import resource
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import geodrift as gd
from cases import KEY, SAMPLERS
from geodrift.estimators._batch_rows import batch_indices
from geodrift.manifolds import Euclidean, Product, Simplex, Sphere
from law_checks import assert_means, some

MU = jnp.array([0.0, 0.6, 0.8])
DATA = Sphere(3).random_point(KEY, (40,))


def log_likelihood(x, y):
    return 0.1 * y @ x


def log_prior(x):
    return MU @ x


def gaussian_prior(x):
    return MU @ x - x @ x / 2


def make(case, step_size=0.1):
    """The case's sampler, on minibatches unless it needs the density."""
    manifold, prior = (Euclidean(3), gaussian_prior) if case.flat else (Sphere(3), log_prior)
    if case.needs_density:
        return case.make(gd.estimators.Full(prior), manifold, step_size), {}
    estimator = gd.estimators.Minibatch(log_likelihood, prior, 40, "scalar-fisher", refresh_every=3)
    return case.make(estimator, manifold, step_size), {"data": DATA, "batch_size": 8}


samplers = pytest.mark.parametrize("case", SAMPLERS, ids=lambda case: case.name)
# The driver is the same for all; each kind of state once, and the rest in the slow suite.
_FEW = ("SGGMC L=3", "GSGNHT leaf", "PreconditionedSGLD")
few_samplers = pytest.mark.parametrize("case", some(SAMPLERS, _FEW))


def equal(a, b):
    for left, right in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(left, right)


@few_samplers
def test_going_on_from_a_state_is_one_longer_run(case):
    sampler, batches = make(case)
    whole = gd.sample(KEY, sampler, num_draws=10, num_warmup=7, num_chains=2, thin=3, **batches)
    first = gd.sample(KEY, sampler, num_draws=4, num_warmup=7, num_chains=2, thin=3, **batches)
    second = gd.sample(KEY, sampler, num_draws=6, num_chains=2, thin=3, initial=first.state, **batches)
    equal(whole.position[:, :4], first.position)
    equal(whole.position[:, 4:], second.position)
    equal(whole.state, second.state)
    assert np.std(whole.position, axis=1).min() > 0


@few_samplers
def test_chain_of_a_vmap_is_the_chain_alone(case):
    sampler, batches = make(case)
    many = gd.sample(KEY, sampler, num_draws=20, num_chains=2, **batches)
    alone = gd.sample(KEY, sampler, num_draws=20, num_chains=1, **batches)
    np.testing.assert_allclose(many.position[0], alone.position[0], rtol=0, atol=1e-5)
    assert np.abs(many.position[0] - many.position[1]).max() > 0.1


class Counted(NamedTuple):
    count: Any


@pytest.mark.slow
@pytest.mark.parametrize("wrap", [lambda x: {"count": x}, Counted], ids=["dict", "attribute"])
def test_a_part_of_the_position_may_be_called_count(wrap):
    def run(position, density, likelihood):
        estimator = gd.estimators.ControlVariate(likelihood, density, DATA, noise_variance="diagonal-fisher")
        sampler = gd.samplers.GSGNHT(estimator, Product(Sphere(3)), 0.1, thermostat="leaf")
        starts = gd.PerChain(position)
        first = gd.sample(KEY, sampler, DATA, batch_size=5, num_draws=2, num_chains=2, initial=starts)
        return gd.sample(KEY, sampler, DATA, batch_size=5, num_draws=2, num_chains=2, initial=first.state)

    starts = Sphere(3).random_point(KEY, (2,))
    named = run(
        wrap(starts),
        lambda p: log_prior(jax.tree.leaves(p)[0]),
        lambda p, y: log_likelihood(jax.tree.leaves(p)[0], y),
    )
    equal(named, run(starts, log_prior, log_likelihood))


def test_a_position_with_a_field_called_count_is_no_state():
    sampler = gd.samplers.SGGMC(gd.estimators.Full(lambda x: MU @ x.count), Product(Counted(Sphere(3))), 0.1)
    draws = gd.sample(KEY, sampler, num_draws=2, num_chains=2, initial=Counted(Sphere(3).random_point(KEY)))
    assert draws.position.count.shape == (2, 2, 3)


class TurnsState(NamedTuple):
    position: Any
    turns: Any
    all_turns: gd.samplers.Shared[Any]
    count: gd.samplers.Shared[Any]


class Turns(gd.samplers.Sampler):
    """A sampler that stays where it is and counts its steps, three times."""

    manifold: Euclidean
    state_type: type = eqx.field(static=True, default=TurnsState)

    def init(self, key, position):
        del key
        return self.state_type(position, *[jnp.zeros((), jnp.int32)] * 3)

    def step(self, key, state, batch=None):
        del key, batch
        state = self.state_type(state.position, state.turns + 1, state.all_turns + 1, state.count + 1)
        nothing = jnp.zeros(())
        return state, gd.samplers.StepInfo(jnp.zeros((), jnp.int32), nothing, nothing, nothing, nothing)


def test_fields_marked_as_shared_are_kept_once():
    first = gd.sample(KEY, Turns(Euclidean(1)), num_draws=3, num_chains=2)
    state = gd.sample(KEY, Turns(Euclidean(1)), num_draws=2, num_chains=2, initial=first.state).state
    np.testing.assert_array_equal(state.turns, [5, 5])
    assert state.all_turns.shape == state.count.shape == ()
    assert state.all_turns == state.count == 5


def test_a_count_that_is_not_marked_as_shared_is_refused():
    class Unmarked(NamedTuple):
        position: Any
        turns: Any
        all_turns: Any
        count: Any

    with pytest.raises(ValueError, match=r"sampler = Turns.*in Unmarked, annotate the field count"):
        gd.sample(KEY, Turns(Euclidean(1), Unmarked), num_draws=1)


def test_batches_of_a_chain_do_not_depend_on_the_other_chains():
    seen = {}
    for chains in (1, 3):
        recorder = Recorder(manifold=Euclidean(1))
        start = jnp.zeros(1)
        data = jnp.arange(1000)
        draws = gd.sample(KEY, recorder, data, batch_size=5, num_draws=4, num_chains=chains, initial=start)
        seen[chains] = draws.position["rows"], draws.position["key"]
    equal(jax.tree.map(lambda a: a[0], seen[1]), jax.tree.map(lambda a: a[0], seen[3]))
    rows = seen[3][0]
    assert len(np.unique(rows)) > 50  # other rows at each step and in each chain
    assert len(np.unique(seen[3][1])) == 3 * 4 * 2


class Recorder(gd.samplers.Sampler):
    """A sampler whose position is the batch and the key it got."""

    manifold: Euclidean

    def init(self, key, position):
        del key, position
        empty = {"rows": jnp.zeros(5, int), "key": jnp.zeros(2, jnp.uint32)}
        return gd.samplers.SGGMCState(empty, (), (), jnp.zeros((), jnp.int32))

    def step(self, key, state, batch=None):
        state = state._replace(
            position={"rows": batch, "key": jax.random.key_data(key)}, count=state.count + 1
        )
        nothing = jnp.zeros(())
        return state, gd.samplers.StepInfo(jnp.zeros((), jnp.int32), nothing, nothing, nothing, nothing)


@pytest.mark.parametrize("replacement", [True, False])
def test_batch_indices_are_uniform(replacement):
    number = 20_000
    rows = np.asarray(
        jax.vmap(lambda k: batch_indices(k, 5, (2,), 3, replacement))(jax.random.split(KEY, number))
    ).reshape(-1, 3)
    if not replacement:
        assert all(len(set(row)) == 3 for row in rows[:2000].tolist())
    sets = np.sort(rows, axis=1)
    _, observed = np.unique(sets, axis=0, return_counts=True)
    if replacement:
        # Multinomial weights: 6, 3 or 1 orders of a multiset.
        unique = np.unique(sets, axis=0)
        weight = np.array([{3: 6, 2: 3, 1: 1}[len(set(row))] for row in unique.tolist()]) / 125
        assert len(unique) == 35
    else:
        weight = np.full(10, 0.1)
    assert stats.chisquare(observed, weight * 2 * number).pvalue > 0.01
    # The two batches of a step are independent: their overlap has the mean of independent draws.
    pairs = rows.reshape(-1, 2, 3)
    shared = (pairs[:, 0, :, None] == pairs[:, 1, None, :]).sum(axis=(1, 2))
    assert_means(shared.reshape(50, -1), 9 / 5)


def test_one_trace_over_hyperparameters():
    traces = 0

    def log_density(x):
        nonlocal traces
        traces += 1
        return MU @ x

    def run(step_size, friction):
        sampler = gd.samplers.SGGMC(gd.estimators.Full(log_density), Sphere(3), step_size, friction=friction)
        return gd.sample(KEY, sampler, num_draws=3)

    run(0.1, 1.0)
    first = traces
    results = [run(h, c).position for h, c in ((0.2, 1.0), (0.3, 2.0), (1, 5))]
    assert traces == first > 0
    assert np.abs(results[0] - results[1]).max() > 1e-3


def test_a_grid_of_step_sizes_is_one_vmap():
    traces = 0

    def log_density(x):
        nonlocal traces
        traces += 1
        return MU @ x

    def build(h):
        return gd.samplers.SGGMC(gd.estimators.Full(log_density), Sphere(3), h)

    grid = jnp.array([0.05, 0.1, 0.2])
    stacked = eqx.filter_vmap(build)(grid)
    state = build(0.1).init(KEY, MU)
    together, _ = eqx.filter_jit(eqx.filter_vmap(lambda s: s.step(KEY, state)))(stacked)
    assert traces == 1
    for i, h in enumerate(grid):
        alone, _ = build(h).step(KEY, state)
        np.testing.assert_allclose(together.position[i], alone.position, rtol=1e-12)


def quick(**changes):
    sampler = gd.samplers.SGGMC(gd.estimators.Full(log_prior), Sphere(3), changes.pop("step_size", 0.1))
    arguments = {"num_draws": 5, "num_chains": 2, "initial": MU} | changes
    return gd.sample(arguments.pop("key", KEY), sampler, **arguments)


def test_finished_checkpoint_is_read_and_extended(tmp_path):
    first = quick(checkpoint=tmp_path / "c")
    again = quick(checkpoint=tmp_path / "c")
    equal(first, again)
    longer = quick(checkpoint=tmp_path / "c", num_draws=9)
    equal(longer, quick(num_draws=9))
    with pytest.raises(ValueError, match="holds 9 draws"):
        quick(checkpoint=tmp_path / "c")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"step_size": 0.2}, "sampler arrays"),
        ({"key": jax.random.key(9)}, "key"),
        ({"thin": 2}, "thin"),
        ({"num_chains": 3}, "num_chains"),
        ({"num_warmup": 3}, "num_warmup"),
        ({"initial": -MU}, "initial"),
    ],
)
def test_checkpoint_of_another_run_is_refused(tmp_path, changes, named):
    quick(checkpoint=tmp_path)  # an empty directory is taken
    before = sorted(p.name for p in tmp_path.iterdir())
    with pytest.raises(ValueError, match=f"another .*{named}"):
        quick(checkpoint=tmp_path, **changes)
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_start_drawn_by_another_function_is_refused(tmp_path):
    quick(checkpoint=tmp_path, initial=lambda key: MU)
    equal(quick(checkpoint=tmp_path, initial=lambda key: 1.0 * MU), quick(initial=MU))
    with pytest.raises(ValueError, match="another initial"):
        quick(checkpoint=tmp_path, initial=lambda key: -MU)


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("thesis.tex", "all of it", "it has no config.json; give an empty or a new directory"),
        ("draws-000000.npz", "somebody's", "it has no config.json"),
        ("config.json", "[1, 2]", "it should hold a JSON object"),
        ("config.json", "half a fi", "not valid JSON"),
        ("config.json", '{"steps": 3}', "config.json is of something else"),
        ("checkpoint.json", '{"steps": 3}', "checkpoint of an older geodrift.*begin anew"),
    ],
)
def test_directory_with_other_files_is_refused_and_left_alone(tmp_path, name, content, match):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=match):
        quick(checkpoint=tmp_path)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [(name, content)]


def test_run_stopped_before_its_first_checkpoint_goes_on(tmp_path):
    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quick(checkpoint=tmp_path, num_warmup=10_000, callback=stop)
    # As if killed before it was written.
    shutil.rmtree(tmp_path / "checkpoint")
    (tmp_path / "metrics.jsonl").unlink()
    equal(quick(checkpoint=tmp_path, num_warmup=10_000), quick(num_warmup=10_000))


def test_a_run_is_opened_by_load_and_not_taken_for_a_model_s(tmp_path):
    draws = quick(checkpoint=tmp_path)
    opened = gd.load(tmp_path)
    np.testing.assert_array_equal(opened.draws["posterior"]["position"].values, draws.position)
    stored = opened.draws["sample_stats"]["gradient_norm"].values
    np.testing.assert_array_equal(stored, draws.info.gradient_norm)
    with pytest.raises(ValueError, match="was written by geodrift"):
        gd.models.model_of(opened)


def test_checkpoint_holds_no_pickle(tmp_path):
    quick(checkpoint=tmp_path)
    with np.load(tmp_path / "checkpoint" / "state.npz", allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)
    assert not list(tmp_path.rglob("*partial*"))


def test_seconds_become_a_number_of_draws_that_gives_the_same_draws(tmp_path):
    timed = quick(num_draws=None, seconds=0.5, num_warmup=200, thin=2)
    number = timed.position.shape[1]
    assert number > 100
    equal(timed, quick(num_draws=number, num_warmup=200, thin=2))
    # The run that was told a time keeps its number.
    kept = quick(num_draws=None, seconds=0.2, num_warmup=200, checkpoint=tmp_path)
    equal(quick(num_draws=None, seconds=5.0, num_warmup=200, checkpoint=tmp_path), kept)


def test_failure_names_step_and_chain():
    def log_density(x):
        return jnp.where(x[0] > 2.5, jnp.nan, 1.0) * x[0]

    sampler = gd.samplers.SGGMC(gd.estimators.Full(log_density), Euclidean(1), 0.5)
    starts = gd.PerChain(jnp.array([[-50.0], [0.0]]))
    with pytest.raises(gd.SamplingError, match=r"chain 1, step \d+: .*not finite") as caught:
        gd.sample(KEY, sampler, num_draws=60, num_chains=2, initial=starts)
    assert caught.value.result is gd.Result.NON_FINITE
    # The step named is the first at which that chain, followed by hand, fails.
    key = jax.random.split(jax.random.fold_in(KEY, 1), 3)[1:]
    state = jax.vmap(sampler.init)(key[:1], jnp.array([[0.0]]))
    state = jax.tree.map(lambda a: a[0], state)
    for count in range(60):
        state, info = sampler.step(jax.random.fold_in(jax.random.split(key[1])[1], count), state)
        if info.result:
            break
    assert caught.value.step == count
    # What was sampled before that step is kept, of every chain.
    kept = caught.value.draws
    equal(kept.position, gd.sample(KEY, sampler, num_draws=count, num_chains=2, initial=starts).position)
    assert kept.position.shape == (2, count, 1)
    assert count > 0


def test_too_much_noise_is_reported():
    estimator = gd.estimators.Minibatch(lambda x, y: y @ x, lambda x: 0.0 * x[0], 40, 1e3)
    sampler = gd.samplers.SGGMC(estimator, Sphere(3), 0.1)
    with pytest.raises(gd.SamplingError, match="chain 0, step 0: the gradient noise V exceeds"):
        gd.sample(KEY, sampler, DATA, batch_size=5, num_draws=2)


def test_starts():
    shared = quick(num_draws=1, step_size=1e-9)
    np.testing.assert_allclose(shared.position[:, 0], jnp.stack([MU, MU]), atol=1e-8)
    starts = Sphere(3).random_point(KEY, (2,))
    each = quick(num_draws=1, step_size=1e-9, initial=gd.PerChain(starts))
    np.testing.assert_allclose(each.position[:, 0], starts, atol=1e-8)
    drawn = quick(num_draws=1, step_size=1e-9, initial=None).position[:, 0]
    assert np.abs(drawn[0] - drawn[1]).max() > 0.01
    own = quick(num_draws=1, step_size=1e-9, initial=lambda key: -MU).position[:, 0]
    np.testing.assert_allclose(own, -jnp.stack([MU, MU]), atol=1e-8)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"num_draws": 0}, "num_draws = 0"),
        ({"num_draws": None}, "either num_draws or seconds"),
        ({"seconds": 1.0}, "either num_draws or seconds"),
        ({"num_draws": None, "seconds": 1.0}, "num_warmup = 0: .*timing a part of the warm-up"),
        ({"num_draws": None, "seconds": -1.0, "num_warmup": 50}, "seconds = -1.0"),
        ({"thin": 1.5}, "thin = 1.5"),
        ({"num_warmup": -1}, "num_warmup = -1"),
        ({"batch_size": 3}, "no data"),
        ({"data": DATA}, "data: Full takes none"),
        ({"initial": 2 * MU}, "off the manifold"),
        ({"initial": gd.PerChain(jnp.ones((3, 3)))}, "leading axis of length 2"),
    ],
)
@pytest.mark.usefixtures("unchecked_types")
def test_wrong_arguments_raise(changes, match):
    with pytest.raises(ValueError, match=match):
        quick(**changes)


def test_data_must_fit_the_estimator():
    sampler, _ = make(SAMPLERS[0])
    with pytest.raises(ValueError, match="data_size is 40"):
        gd.sample(KEY, sampler, DATA[:30], batch_size=5, num_draws=1)
    with pytest.raises(ValueError, match="batch_size = 0"):
        gd.sample(KEY, sampler, DATA, batch_size=0, num_draws=1)


def test_all_data_is_the_full_gradient():
    # Without a batch size every step sees all data, once for all inner steps: the chain of the exact
    # gradient.
    def log_density(x):
        return MU @ x + jnp.sum(0.1 * DATA @ x)

    options = {"num_draws": 5, "initial": MU}
    sampler, _ = make(SAMPLERS[1])
    full = gd.samplers.SGGMC(gd.estimators.Full(log_density), Sphere(3), 0.1, num_steps=3, reuse_batch=True)
    np.testing.assert_allclose(
        gd.sample(KEY, sampler, DATA, **options).position,
        gd.sample(KEY, full, **options).position,
        atol=1e-12,
    )


def test_callback_sees_every_chunk():
    seen = []
    draws = quick(num_draws=300, num_warmup=40, thin=2, callback=seen.append)
    assert [p.steps for p in seen] == sorted({p.steps for p in seen})
    assert seen[-1].steps == seen[-1].total == 640
    stored = np.concatenate([p.info.gradient_norm for p in seen if p.info is not None], axis=1)
    np.testing.assert_array_equal(stored, draws.info.gradient_norm)


@pytest.mark.parametrize("kept", [False, True])
def test_a_callback_ends_a_run(tmp_path, kept):
    checkpoint = {"checkpoint": tmp_path / "run"} if kept else {}
    seen = []

    def enough(progress):
        seen.append(progress.draws)
        return True

    few = quick(num_draws=20_000, num_warmup=40, callback=enough, **checkpoint)
    number = few.position.shape[1]
    assert 0 < number == seen[-1] < 20_000
    assert seen.count(0) == len(seen) - 1  # it is asked in the warm-up too, which has no draws to return
    if kept:
        whole = quick(num_draws=number + 7, num_warmup=40, **checkpoint)
        np.testing.assert_array_equal(whole.position, quick(num_draws=number + 7, num_warmup=40).position)


def test_keys_of_both_kinds_and_none_else():
    sampler, _ = make(SAMPLERS[1])
    options = {"num_draws": 5, "initial": MU}
    both = [gd.sample(key, sampler, DATA, **options) for key in (jax.random.key(3), jax.random.PRNGKey(3))]
    np.testing.assert_array_equal(both[0].position, both[1].position)
    for wrong in (3, jax.random.split(KEY), np.zeros(2)):
        with pytest.raises(ValueError, match="must be one random key"):
            gd.sample(wrong, sampler, DATA, **options)
    with pytest.raises(ValueError, match="cannot be called within"):
        jax.jit(lambda key: gd.sample(key, sampler, DATA, **options).position)(KEY)


@pytest.mark.slow
def test_tree_of_positions_becomes_a_datatree():
    manifold = Product({"a": Sphere(3), "b": Simplex(2)})
    sampler = gd.samplers.GMC(gd.estimators.Full(lambda p: p["a"][0] + p["b"][0]), manifold, 0.1)
    draws = gd.sample(KEY, sampler, num_draws=6, num_chains=2)
    tree = draws.to_datatree()
    np.testing.assert_array_equal(tree["posterior"]["a"].values, draws.position["a"])
    assert tree["posterior"]["b"].dims[:2] == ("chain", "draw")
    np.testing.assert_array_equal(tree["sample_stats"]["acceptance_rate"].values, draws.info.acceptance)
    alone = quick().to_datatree()
    assert set(alone["posterior"].data_vars) == {"position"}
    assert "acceptance_rate" not in alone["sample_stats"]


@pytest.mark.slow
def test_keys_are_used_once():
    # JAX's own checker, on every sampler; it must be set before JAX starts.
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import jax; jax.config.update('jax_enable_x64', True)\n"
        "from core.test_run import *\n"
        "for case in SAMPLERS:\n"
        "    sampler, batches = make(case)\n"
        "    key_init, key_step = jax.random.split(jax.random.key(0))\n"
        "    state = sampler.init(key_init, MU)\n"
        "    rows = batch_indices(jax.random.key(1), 40, sampler.batch_axes, 8, False)\n"
        "    batch = DATA[rows] if batches else None\n"
        "    print(case.name, jax.jit(sampler.step)(key_step, state, batch)[1].result)\n"
        "    if case.name in ('SGGMC L=3', 'GMC'):\n"
        "        gd.sample(jax.random.key(3), sampler, num_draws=2, **batches)\n"
    )
    environment = os.environ | {"JAX_DEBUG_KEY_REUSE": "1"}
    tests = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code, tests], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(done.stdout.splitlines()) == len(SAMPLERS)


@pytest.mark.slow
def test_memory_is_that_of_the_draws(monkeypatch):
    """Chunks of a few draws do not hold the room of a full one: all in all three copies of the draws."""
    monkeypatch.setattr("geodrift.driver._pace.CHUNK_SECONDS", 1e-3)
    sampler = gd.samplers.SGLD(gd.estimators.Full(lambda x: -x @ x / 2), Euclidean(1000), 0.1)
    gd.sample(KEY, sampler, num_draws=1, num_chains=4)
    tracemalloc.start()
    try:
        draws = gd.sample(KEY, sampler, num_draws=200, num_chains=4)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * draws.position.nbytes


def seconds_of(code):
    """Of the processor, which says more than the wall on a busy machine; and what the process prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout.strip()


def test_import_is_quick_and_lazy():
    late = "{'numba', 'sklearn', 'zarr', 'arviz_stats'}"
    seconds, least = [], []
    for _ in range(3):
        taken, loaded = seconds_of(f"import sys, geodrift; print(sorted({late} & set(sys.modules)))")
        assert loaded == "[]"
        seconds.append(taken)
        if min(seconds) < 2:
            return
        # On a slow processor what it cannot do without takes as long. One start tells where it is clear.
        least.append(seconds_of("import jax, equinox, jaxtyping, scipy.linalg")[0])
        if min(seconds) < 1.5 * min(least):
            return
    assert min(seconds) < 2 * min(least)
