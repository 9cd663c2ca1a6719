"""Batches: schemes inside the compiled step, streams, arrays on the host; their law and how they resume."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from cases import KEY
from geodrift.driver import HostData
from geodrift.driver._batches import Batching, draw_batch, epoch_blocks, lay_out
from geodrift.driver._host_data import stream_batches
from geodrift.estimators import SAGA, Minibatch
from geodrift.manifolds import Euclidean
from geodrift.samplers import SGGMC
from law_checks import assert_means

N, B = 11, 3
DATA = {"y": jnp.linspace(-3.0, 3.0, N) ** 3 / 3, "n": jnp.arange(N)}


def log_likelihood(x, batch):
    return -0.5 * (x[0] - batch["y"]) ** 2


def log_prior(x):
    return -0.5 * jnp.sum(x**2)


def make(variance=None, replacement=False, step_size=0.05, num_steps=1):
    estimator = Minibatch(log_likelihood, log_prior, N, variance, replacement=replacement)
    return SGGMC(estimator, Euclidean(1), step_size, friction=20.0, num_steps=num_steps)


def rows_of(scheme, key, counts, axes=()):
    """The rows of the batches of these steps of one chain, as the driver takes them."""
    batching = Batching(N, B, False, scheme, axes)
    data = lay_out(KEY, jnp.arange(N), batching)

    def one(count):
        blocks = epoch_blocks(key, count, batching)
        return draw_batch(jax.random.fold_in(key, count), count, data, batching, blocks)

    return np.asarray(jax.vmap(one)(counts))


@pytest.mark.parametrize("scheme", ["rows", "blocks", "epochs"])
@pytest.mark.parametrize("axes", [pytest.param((), marks=pytest.mark.slow), (2,)])
def test_every_row_is_equally_likely(scheme, axes):
    keys = jax.random.split(KEY, 2000)
    rows = np.asarray(jax.vmap(lambda key: _first(scheme, key, axes))(keys)).reshape(-1, B)
    assert all(len(set(batch)) == B for batch in rows.tolist())
    seen = (rows[:, :, None] == np.arange(N)).sum(axis=1)
    assert_means(seen.reshape(50, -1, N), np.full(N, B / N))


def _first(scheme, key, axes):
    batching = Batching(N, B, False, scheme, axes)
    count = jnp.asarray(0)
    data = lay_out(KEY, jnp.arange(N), batching)
    return draw_batch(key, count, data, batching, epoch_blocks(key, count, batching))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["blocks", "epochs"])
def test_rows_are_shuffled_before_blocks_are_cut(scheme):
    """Data often come sorted: the neighbours of a block must be any two rows, each pair as likely."""
    keys = jax.random.split(KEY, 3000)
    batching = Batching(N, B, False, scheme)
    rows = np.stack([np.asarray(lay_out(key, jnp.arange(N), batching)) for key in keys])
    np.testing.assert_array_equal(np.sort(rows[:, :N], axis=1), np.tile(np.arange(N), (3000, 1)))
    np.testing.assert_array_equal(rows[:, N:], rows[:, : B - 1])  # so that a block may begin anywhere
    follows = np.zeros((3000, N, N))
    follows[np.arange(3000)[:, None], rows[:, : N - 1], rows[:, 1:N]] = 1
    apart = ~np.eye(N, dtype=bool)
    assert_means(follows[:, apart].reshape(50, -1, N * (N - 1)), np.full(N * (N - 1), 1 / N))


def test_blocks_are_independent_and_fixed_neighbours():
    keys = jax.random.split(KEY, 4000)
    first, second = (
        np.asarray(jax.vmap(lambda k, c=c: _first("blocks", jax.random.fold_in(k, c), ()))(keys))
        for c in (0, 1)
    )
    assert len({tuple(sorted(batch)) for batch in first.tolist()}) == N  # one block for each place
    shared = (first[:, :, None] == second[:, None, :]).sum(axis=(1, 2))
    assert_means(shared.reshape(50, -1), B * B / N)


@pytest.mark.parametrize("axes", [(), pytest.param((3,), marks=pytest.mark.slow)])
def test_an_epoch_holds_no_row_twice_and_the_next_is_cut_anew(axes):
    steps = N // B if axes == () else 1
    epochs = rows_of("epochs", KEY, jnp.arange(40 * steps), axes).reshape(40, -1)
    assert all(len(set(epoch)) == (N // B) * B for epoch in epochs[:, : N // B * B].tolist())
    assert len({tuple(epoch) for epoch in epochs.tolist()}) > 25  # of 66 that there are
    left_out = {frozenset(range(N)) - frozenset(epoch) for epoch in epochs.tolist()}
    assert len(left_out) > N / 2


def test_the_driver_takes_the_epochs_it_promises():
    sampler = Recorder(manifold=Euclidean(1), axes=(2,))
    options = {"batch_size": 2, "batches": "epochs", "initial": jnp.zeros(1)}
    whole = gd.sample(KEY, sampler, jnp.arange(8), num_draws=12, num_chains=2, **options)
    rows = whole.position.reshape(2, 6, 8)  # two steps of two batches of two are one epoch
    assert all(set(epoch) == set(range(8)) for epoch in rows.reshape(-1, 8).tolist())
    assert (rows[0] != rows[1]).any()
    first = gd.sample(KEY, sampler, jnp.arange(8), num_draws=3, num_chains=2, **options)
    second = gd.sample(
        KEY, sampler, jnp.arange(8), num_draws=9, num_chains=2, **(options | {"initial": first.state})
    )
    np.testing.assert_array_equal(np.concatenate([first.position, second.position], axis=1), whole.position)


class Recorder(gd.samplers.Sampler):
    """A sampler whose position is the batch it got."""

    manifold: Euclidean
    axes: tuple

    @property
    def batch_axes(self):
        return self.axes

    def init(self, key, position):
        del key, position
        return gd.samplers.SGGMCState(jnp.zeros((2, 2), int), (), (), jnp.zeros((), jnp.int32))

    def step(self, key, state, batch=None):
        del key
        nothing = jnp.zeros(())
        info = gd.samplers.StepInfo(jnp.zeros((), jnp.int32), nothing, nothing, nothing, nothing)
        return state._replace(position=batch, count=state.count + 1), info


# The posterior is N(sum y / (N + 1), 1 / (N + 1)). The gradient noise does not depend on x, and a Gaussian
# with noise of a given V is sampled exactly by ABOBA with V subtracted, so the variance tells what each
# scheme's noise is.
MEAN, VARIANCE = float(jnp.sum(DATA["y"])) / (N + 1), 1 / (N + 1)
Y = np.asarray(DATA["y"])
PLAIN = N**2 / B * Y.var(ddof=1) * (1 - B / N)


def variances(draws):
    return np.asarray(draws.position)[..., 0] - MEAN


def block_variance():
    order = np.asarray(lay_out(KEY, DATA["y"], Batching(N, B, False, "blocks")))
    windows = np.stack([order[i : i + B].mean() for i in range(N)])
    return N**2 * windows.var()


# SAGA, whose rows have numbers, has the law in CI.
@pytest.mark.parametrize(
    "scheme", [pytest.param("rows", marks=pytest.mark.slow), pytest.param("blocks", marks=pytest.mark.slow)]
)
def test_law_with_the_schemes_own_noise_subtracted(scheme):
    # V of rows is the textbook's; V of blocks is that of the shuffled order's windows.
    variance = {"rows": PLAIN, "blocks": block_variance()}[scheme]
    sampler = make(variance, step_size=0.03)
    options = {"batch_size": B, "batches": scheme, "num_chains": 64, "initial": jnp.full(1, MEAN)}
    draws = gd.sample(KEY, sampler, DATA, num_draws=1000, num_warmup=300, thin=4, **options)
    deviations = variances(draws)
    assert_means(deviations, 0.0, comparisons=4)  # of both schemes
    assert_means(deviations**2, VARIANCE, comparisons=4)


@pytest.mark.slow  # fed runs have their law in CI
def test_noise_of_an_epoch_cancels():
    # An epoch of nearly all rows is much shorter than the chain's memory: its noise is hardly felt, and
    # subtracting V cools by about the whole of it, V h / (2 C).
    options = {"batch_size": 1, "batches": "epochs", "num_chains": 64, "initial": jnp.full(1, MEAN)}
    plain = N**2 * Y.var(ddof=1) * (1 - 1 / N)
    step_size = 0.4 * 2 * 20.0 / plain
    shares = {}
    for name, variance in (("ignored", None), ("subtracted", plain)):
        sampler = make(variance, step_size=step_size)
        draws = gd.sample(KEY, sampler, DATA, num_draws=1000, num_warmup=1000, thin=10, **options)
        shares[name] = (variances(draws) ** 2).mean() / VARIANCE
    rows = gd.sample(
        KEY,
        make(None, step_size=step_size),
        DATA,
        num_draws=1000,
        num_warmup=1000,
        thin=10,
        **(options | {"batches": "rows"}),
    )
    shares["rows"] = (variances(rows) ** 2).mean() / VARIANCE
    assert shares["rows"] == pytest.approx(1.4, abs=0.1)
    assert shares["ignored"] == pytest.approx(1.0, abs=0.06)
    assert shares["subtracted"] == pytest.approx(0.6, abs=0.06)


def host(scheme="rows", replacement=True, size=N):
    return HostData(np.arange(size)), Batching(size, B, replacement, scheme, (2,))


@pytest.mark.parametrize("scheme", ["rows", "blocks", "epochs"])
def test_host_rows_are_a_function_of_chain_and_step(scheme):
    data, batching = host(scheme, replacement=False)
    keys = jax.vmap(jax.random.fold_in, (None, 0))(KEY, jnp.arange(3))
    batches = list(itertools.islice(data.batches(keys, 0, batching), 400))
    assert batches[0].shape == (3, 2, B)
    later = next(data.batches(keys[1:], 7, batching))
    np.testing.assert_array_equal(later, batches[7][1:])
    rows = np.stack(batches).reshape(-1, B)
    assert all(len(set(batch)) == B for batch in rows.tolist())
    seen = (rows[:, :, None] == np.arange(N)).sum(axis=1)
    assert_means(seen.reshape(20, -1, N), np.full(N, B / N))
    if scheme == "epochs":
        one = np.stack(batches)[: N // B // 2, 0].reshape(-1)
        assert len(set(one.tolist())) == one.size


def test_host_rows_with_replacement_are_uniform_and_repeat():
    data, batching = host()
    rows = np.stack(list(itertools.islice(data.batches(KEY[None], 0, batching), 2000))).reshape(-1, B)
    repeats = np.mean([len(set(batch)) < B for batch in rows.tolist()])
    assert repeats == pytest.approx(1 - (N - 1) * (N - 2) / N**2, abs=0.03)


def memory_mapped(tmp_path):
    for name, array in DATA.items():
        np.save(tmp_path / f"{name}.npy", np.asarray(array))
    return HostData({name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in DATA})


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["host", "stream"])
def test_fed_runs_have_the_right_law(kind, tmp_path):
    options = {
        "num_draws": 600,
        "num_warmup": 300,
        "thin": 4,
        "num_chains": 32,
        "initial": jnp.full(1, MEAN),
    }
    if kind == "host":
        data, options["batch_size"], variance = memory_mapped(tmp_path), B, PLAIN
    else:
        data, variance = _stream(np.random.default_rng(0)), PLAIN / (1 - B / N) * (N - 1) / N
    deviations = variances(gd.sample(KEY, make(variance, step_size=0.03), data, **options))
    assert_means(deviations, 0.0)
    assert_means(deviations**2, VARIANCE)


def _stream(random):
    while True:
        rows = random.integers(N, size=B)
        yield {"y": Y[rows], "n": rows}


class Loader:
    """What a data loader is: iterating over it is one epoch."""

    def __init__(self, number=9):
        self.begun, self.number = 0, number

    def __iter__(self):
        self.begun += 1
        return ({"y": Y[i : i + B], "n": np.arange(i, i + B)} for i in range(0, self.number, B))


def sources(tmp_path):
    return {
        "host": lambda: (memory_mapped(tmp_path), {"batch_size": B, "batches": "epochs"}),
        "iterator": lambda: (_stream(np.random.default_rng(0)), {}),
        "loader": lambda: (Loader(), {}),
        "rows": lambda: (DATA, {"batch_size": B}),
        "blocks": lambda: (DATA, {"batch_size": B, "batches": "blocks"}),
        "epochs": lambda: (DATA, {"batch_size": B, "batches": "epochs"}),
    }


@pytest.mark.parametrize(
    "kind",
    [
        "host",
        pytest.param("rows", marks=pytest.mark.slow),
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("iterator", "loader", "blocks", "epochs")),
    ],
)
def test_resumed_run_has_the_same_bits(kind, tmp_path, monkeypatch):
    # Chunks of three steps: a draw of five steps is cut in the middle.
    monkeypatch.setattr("geodrift.driver._feed._CHUNK_STEPS", 3)
    make_data = sources(tmp_path)[kind]
    options = {"num_warmup": 4, "thin": 5, "num_chains": 2, "initial": jnp.zeros(1)}

    def run(num_draws, **more):
        data, how = make_data()
        return gd.sample(KEY, make(num_steps=2), data, num_draws=num_draws, **options, **how, **more)

    whole = run(7)
    run(3, checkpoint=tmp_path / "c")
    continued = run(7, checkpoint=tmp_path / "c")
    np.testing.assert_array_equal(continued.position, whole.position)
    np.testing.assert_array_equal(continued.info.gradient_norm, whole.info.gradient_norm)
    assert np.std(whole.position) > 0.01


def test_a_stream_gives_each_chain_and_inner_step_its_own_batch():
    stream = ({"rows": np.array([i, i])} for i in range(100))
    batches = stream_batches(stream, 1, 3, (2,))
    np.testing.assert_array_equal(next(batches)["rows"][..., 0], [[6, 7], [8, 9], [10, 11]])
    loader = Loader()
    seen = [b["n"][0] for b, _ in zip(_flat(stream_batches(loader, 0, 1, ())), range(7), strict=False)]
    assert seen == [0, 3, 6, 0, 3, 6, 0]
    assert loader.begun == 3


def _flat(batches):
    return ({"n": b["n"][0]} for b in batches)


def test_a_stream_is_read_no_further_than_needed():
    stream = ({"y": Y[:B], "n": np.arange(B)} for _ in range(25))
    gd.sample(KEY, make(), stream, num_draws=10, num_chains=2, initial=jnp.zeros(1))
    assert len(list(stream)) == 5


def _shorter():
    yield {"y": Y[:3]}
    yield {"y": Y[:2]}


@pytest.mark.parametrize(
    ("data", "options", "match"),
    [
        (DATA, {"batch_size": 12}, "batch_size = 12: must be a whole number from 1 to 11"),
        (DATA, {"batch_size": 2.0}, "batch_size = 2.0: must be a whole number from 1 to 11"),
        (
            DATA,
            {"batch_size": 2, "batches": "random"},
            "batches = 'random': must be one of rows, blocks, epochs",
        ),
        (DATA | {"n": DATA["n"][:7]}, {}, "leading axes of length 7, 11: each needs one row for each datum"),
        (DATA | {"n": jnp.asarray(1.0)}, {}, "leading axes of length none .a single number., 11"),
        (DATA, {"batch_size": 6, "batches": "epochs", "num_steps": 2}, "more than an epoch of 11 data"),
        (HostData(DATA), {}, "batch_size = None: data that stay on the host need a batch_size"),
        (
            iter([{"y": Y[:3]}]),
            {"batch_size": 3},
            "batch_size = 3: an iterator's batches have their own size",
        ),
        (iter([{"y": Y[:3]}]), {"batches": "epochs"}, "batches = 'epochs': an iterator has its own order"),
        (iter([{"y": Y[:3]}]), {}, "the iterator has ended; each step takes 1 of its batches"),
        (Loader(0), {}, "the loader has no batch, and a step takes one or more: give it data"),
        (_shorter(), {}, "batch 1 of the iterator has arrays .* drop the last, shorter one"),
    ],
)
@pytest.mark.usefixtures("unchecked_types")
def test_wrong_data_raise(data, options, match):
    sampler = make(num_steps=options.pop("num_steps", 1))
    with pytest.raises(ValueError, match=match):
        gd.sample(KEY, sampler, data, num_draws=3, initial=jnp.zeros(1), **options)


def test_blocks_need_an_estimator_that_knows_of_them():
    with pytest.raises(ValueError, match=r"batches = 'blocks'.* give the estimator replacement=False"):
        gd.sample(KEY, make(replacement=True), DATA, batch_size=2, batches="blocks", num_draws=1)


@pytest.mark.parametrize("batches", ["rows", pytest.param("blocks", marks=pytest.mark.slow)])
def test_saga_gets_the_numbers_of_its_rows(batches):
    estimator = SAGA(log_likelihood, log_prior, DATA, "scalar-fisher", replacement=False)
    sampler = SGGMC(estimator, Euclidean(1), 0.05, friction=20.0)
    options = {"batch_size": B, "batches": batches, "num_chains": 32, "initial": jnp.full(1, MEAN)}
    draws = gd.sample(KEY, sampler, DATA, num_draws=2000, num_warmup=200, thin=2, **options)
    # The gradient of one datum is y - x: were an entry another datum's, the table would say so.
    kept = draws.state.estimator
    seen = np.asarray(DATA["y"]) - np.asarray(kept.table[..., 0])
    assert np.abs(seen - MEAN).max() < 6 * VARIANCE**0.5 + 0.1
    np.testing.assert_allclose(kept.total, kept.table.sum(axis=1), rtol=1e-8)
    assert_means(variances(draws), 0.0)
    assert_means(variances(draws) ** 2, VARIANCE)


@pytest.mark.parametrize("changed", [0, 150, 299])
def test_the_sketch_of_data_on_the_host_tells_them_from_others(changed):
    rows = np.arange(600.0).reshape(300, 2)
    others = rows.copy()
    others[changed:] += 1.0
    same, other = (jax.tree.leaves(HostData({"x": a}).sketch()) for a in (rows.copy(), others))
    mine = jax.tree.leaves(HostData({"x": rows}).sketch())
    assert all(np.array_equal(a, b) for a, b in zip(mine, same, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(mine, other, strict=True))
