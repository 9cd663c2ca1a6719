import functools
from typing import Any, NamedTuple

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from cases import KEY, MANIFOLDS
from geodrift import _tree
from geodrift._jax_release import refuse_wrong_release
from geodrift.estimators import Full
from geodrift.manifolds import (
    Ball,
    Box,
    Euclidean,
    Grassmann,
    HalfSpaces,
    Hyperbolic,
    Orthogonal,
    PositiveOrthant,
    Product,
    Simplex,
    SpecialOrthogonal,
    Sphere,
    SphericalSimplex,
    Stiefel,
    Torus,
    leaf_manifolds,
)
from geodrift.samplers import SGGMC
from law_checks import assert_means, some, z_bound

# In the slow suite: batches and products whose code another case runs, and float32 of the others but two.
_AGAIN = (
    "circle",
    "product",
    "euclidean batch",
    "sphere batch",
    "simplex batch",
    "product prefix",
    "stiefel tall",
    "projective plane",
)
_IN_FLOAT32 = ("simplex", "product of kinds")
_NAMES = [case.name for case in MANIFOLDS]
_ONCE = set(_NAMES).difference(_AGAIN)
cases = pytest.mark.parametrize("case", some(MANIFOLDS, _ONCE))
cases_and_dtypes = pytest.mark.parametrize(
    ("case", "dtype"),
    [
        pytest.param(
            case,
            dtype,
            id=f"{case.name}-{np.dtype(dtype)}",
            marks=() if case.name in (_IN_FLOAT32 if dtype == jnp.float32 else _ONCE) else pytest.mark.slow,
        )
        for case in MANIFOLDS
        for dtype in (jnp.float32, jnp.float64)
    ],
)

# Compiling is what these tests cost: one program a case and dtype for everything at a point, one for its
# geodesics, and one a case for their derivatives.


def manifold_of(name):
    return next(case.manifold for case in MANIFOLDS if case.name == name)


def start(case, dtype=jnp.float64):
    return _start(case.name, dtype)


@functools.cache
def _start(name, dtype):
    case = next(case for case in MANIFOLDS if case.name == name)

    @jax.jit
    def draw():
        x = case.manifold.random_point(KEY, case.shape)
        x = case.manifold.project(jax.tree.map(lambda leaf: leaf.astype(dtype), x))
        return x, case.manifold.random_tangent(jax.random.fold_in(KEY, 1), x)

    return draw()


class AtPoint(NamedTuple):
    """What a manifold says of a point x, a tangent vector v and any other vectors."""

    project: Any  # of x, of the point spoiled, of the point repaired
    residual: Any  # of the same
    to_tangent: Any  # of u, of that, of v, of the gradient
    normal_times_v: Any  # u less its tangent part, in the product that the metric is made of
    gradient: Any
    derivative_along_v: Any
    gradient_times_v: Any  # by `inner`, and by the product that the metric is made of


@functools.cache
def _at_point(name, dtype):
    case = next(case for case in MANIFOLDS if case.name == name)
    manifold, spoil = case.manifold, case.spoil or (lambda leaf: leaf)

    @jax.jit
    def facts(x, v):
        u = jax.tree.map(lambda leaf: jnp.cos(jnp.arange(leaf.size, dtype=dtype)).reshape(leaf.shape), x)
        g = jax.tree.map(lambda leaf: jnp.sin(1 + jnp.arange(leaf.size, dtype=dtype)).reshape(leaf.shape), x)
        spoiled = jax.tree.map(spoil, x)
        points = x, spoiled, manifold.project(spoiled)
        tangent = manifold.to_tangent(x, u)
        gradient = manifold.riemannian_gradient(x, g)
        return AtPoint(
            [manifold.project(point) for point in points],
            [manifold.residual(point) for point in points],
            [manifold.to_tangent(x, w) for w in (u, tangent, v, gradient)],
            ambient_inner(manifold, x, _tree.sub(u, tangent), v),
            gradient,
            sum(jnp.sum(a * b) for a, b in zip(jax.tree.leaves(g), jax.tree.leaves(v), strict=True)),
            [manifold.inner(x, gradient, v), ambient_inner(manifold, x, gradient, v)],
        )

    return facts(*_start(name, dtype))


def close(a, b, tolerance):
    for left, right in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_allclose(left, right, rtol=0, atol=tolerance)


def eps(dtype, case=None):
    return 50 * float(jnp.finfo(dtype).eps) * (case.size if case else 1)


@functools.cache
def compiled(name):
    """The geodesic, compiled once for all tests of a case, and what they ask of its end."""
    manifold = manifold_of(name)

    @jax.jit
    def flight(x, v, t):
        y, w = manifold.geodesic(x, v, t)
        asked = manifold.residual(y), manifold.to_tangent(y, w), manifold.inner(y, w, w)
        return (y, w), asked

    return flight


def flown(case, x, v, t):
    return compiled(case.name)(x, v, t)[0]


@cases_and_dtypes
def test_projection_is_idempotent_and_repairs(case, dtype):
    x, _ = start(case, dtype)
    found = _at_point(case.name, dtype)
    close(found.project[0], x, eps(dtype, case))
    assert found.residual[0] < eps(dtype, case)
    if case.spoil is not None:
        assert found.residual[1] > 0.009
        assert found.residual[2] < eps(dtype, case)
        close(found.project[2], found.project[1], eps(dtype, case))


@cases_and_dtypes
def test_tangent_projection_is_orthogonal(case, dtype):
    _, v = start(case, dtype)
    found = _at_point(case.name, dtype)
    tangent, again, of_v, _ = found.to_tangent
    close(again, tangent, eps(dtype, case))
    close(of_v, v, eps(dtype, case))
    # The normal part is orthogonal to every tangent vector, in the product that the metric is made of.
    assert abs(found.normal_times_v) < eps(dtype, case) * 10


def ambient_product(manifold, u, v):
    """What `inner` is of tangent vectors, for any two vectors."""
    if isinstance(manifold, Hyperbolic):
        return jnp.sum(u[..., 1:] * v[..., 1:]) - jnp.sum(u[..., 0] * v[..., 0])
    return jnp.sum(u * v)


def ambient_inner(manifold, x, u, v):
    """The same, summed over the leaves."""
    rows = zip(leaf_manifolds(manifold, x), jax.tree.leaves(u), jax.tree.leaves(v), strict=True)
    return sum(ambient_product(*row) for row in rows)


@cases
def test_inner_and_gradient_belong_together(case):
    # The derivative along any tangent vector is its inner product with the gradient.
    found = _at_point(case.name, jnp.float64)
    close(found.to_tangent[3], found.gradient, eps(jnp.float64, case))
    for product in found.gradient_times_v:
        assert product == pytest.approx(float(found.derivative_along_v), rel=1e-12)


# The longer flight meets more walls.
@cases_and_dtypes
@pytest.mark.parametrize("t", [pytest.param(0.3, marks=pytest.mark.slow), 4.0])
def test_geodesic_stays_reverses_and_keeps_speed(case, dtype, t):
    x, v = start(case, dtype)
    t = case.pace * t
    (y, w), (residual, tangent, speed) = compiled(case.name)(x, v, t)
    assert residual < eps(dtype, case)
    close(tangent, w, eps(dtype, case))
    assert abs(speed / compiled(case.name)(x, v, 0.0)[1][2] - 1) < eps(dtype, case)
    back, velocity = flown(case, y, jax.tree.map(jnp.negative, w), t)
    close(back, x, 20 * eps(dtype, case))
    close(jax.tree.map(jnp.negative, velocity), v, 20 * eps(dtype, case))
    back, _ = flown(case, y, w, -t)
    close(back, x, 20 * eps(dtype, case))


@cases
def test_geodesic_composes(case):
    x, v = start(case)
    halfway = flown(case, x, v, 0.7)
    close(flown(case, *halfway, 0.9), flown(case, x, v, 1.6), 1e-13 * case.size)


@functools.cache
def _basis(name):
    """Directions that span the tangent bundle at the start: along the manifold, then along the velocity.

    The point moves along the tangent part of each unit vector, the velocity staying tangent as it is; then
    the velocity alone moves along the same. Each is a tree like x with an axis in front.
    """
    manifold = manifold_of(name)
    x, v = _start(name, jnp.float64)
    _, unravel = jax.flatten_util.ravel_pytree(x)

    @jax.jit
    def along(x, v, unit):
        direction = manifold.to_tangent(x, unravel(unit))
        return direction, jax.jvp(lambda x: manifold.to_tangent(x, v), (x,), (direction,))[1]

    size = sum(leaf.size for leaf in jax.tree.leaves(x))
    frame, carried = jax.vmap(along, (None, None, 0))(x, v, jnp.eye(size))
    zeros = jax.tree.map(jnp.zeros_like, frame)
    return _stacked(frame, zeros), _stacked(carried, frame)


def _stacked(*trees):
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *trees)


@functools.cache
def _pushed(name):
    """Derivatives of the geodesic's end along many directions of the start and the time at once."""
    manifold = manifold_of(name)

    @jax.jit
    def push(x, v, t, along_x, along_v, along_t):
        def one(dx, dv, dt):
            return jax.jvp(manifold.geodesic, (x, v, t), (dx, dv, dt))[1]

        return jax.vmap(one)(along_x, along_v, along_t)

    return push


def pushed(case, v, t, along_x=None, along_v=None, along_t=0.0):
    """Derivatives ``[direction, ...]``; what is None or a number is the same for all directions."""
    x, _ = start(case)
    shape = _basis(case.name)[0]
    along_x, along_v = (
        jax.tree.map(jnp.zeros_like, shape) if along is None else along for along in (along_x, along_v)
    )
    number = jax.tree.leaves(shape)[0].shape[0]
    return _pushed(case.name)(x, v, jnp.asarray(t), along_x, along_v, jnp.full(number, along_t))


def first(tree):
    return jax.tree.map(lambda leaf: leaf[0], tree)


@cases
def test_geodesic_starts_with_its_velocity_and_has_no_tangent_acceleration(case):
    x, v = start(case)
    velocity, _ = first(pushed(case, v, 0.0, along_t=1.0))
    close(velocity, v, 1e-13)
    t = 0.4 * case.pace
    y, w = flown(case, x, v, t)
    velocity, acceleration = first(pushed(case, v, t, along_t=1.0))
    close(velocity, w, 1e-12)
    tangent = jax.jit(case.manifold.to_tangent)(y, acceleration)
    close(tangent, jax.tree.map(jnp.zeros_like, v), 1e-11)


@cases
def test_geodesic_at_zero_speed(case):
    x, v = start(case)
    still = jax.tree.map(jnp.zeros_like, v)
    close(flown(case, x, still, 0.5), (x, still), 1e-15)
    # Its derivative there is the tangent vector itself, times t.
    _, directions = _basis(case.name)
    moved, turned = pushed(case, still, 0.5, along_v=directions)
    frame = [
        jax.tree.map(lambda leaf: leaf[leaf.shape[0] // 2 :], tree) for tree in (moved, turned, directions)
    ]
    close(frame[0], jax.tree.map(lambda leaf: 0.5 * leaf, frame[2]), 1e-14)
    close(frame[1], frame[2], 1e-14)


@cases
def test_geodesic_keeps_the_symplectic_form_and_so_the_volume(case):
    # Of the tangent bundle, which the directions span.
    x, v = start(case)
    along_x, along_v = _basis(case.name)

    def form(position, velocity):
        rows = zip(
            leaf_manifolds(case.manifold, x),
            jax.tree.leaves(position),
            jax.tree.leaves(velocity),
            strict=True,
        )
        product = sum(position_times_velocity(*row) for row in rows)
        return product - product.T

    before = form(along_x, along_v)
    assert np.linalg.matrix_rank(before, tol=1e-6) == 2 * case.dim
    for t in (0.5, 4.0):
        after = form(*pushed(case, v, t * case.pace, along_x, along_v))
        np.testing.assert_allclose(after, before, atol=1e-10)


def position_times_velocity(manifold, position, velocity):
    """Products of the derivatives of position and velocity in each pair of directions."""
    position, velocity = (np.asarray(leaf) for leaf in (position, velocity))
    sign = np.ones(position.shape[1:])
    if isinstance(manifold, Hyperbolic):
        sign[..., 0] = -1
    number = len(position)
    return (position * sign).reshape(number, -1) @ velocity.reshape(number, -1).T


@cases
def test_tangent_noise_has_the_inverse_metric_as_covariance(case):
    x, _ = start(case)
    number = 10_000
    flat, unravel = jax.flatten_util.ravel_pytree(x)

    def vector(tree):
        return jax.flatten_util.ravel_pytree(tree)[0]

    @jax.jit
    def matrices(keys, x):
        draws = jax.vmap(lambda key: vector(case.manifold.random_tangent(key, x)))(keys)
        maps = case.manifold.to_tangent, case.manifold.riemannian_gradient
        basis = jnp.eye(flat.size)
        projection, metric = (jax.vmap(lambda u, m=m: vector(m(x, unravel(u))))(basis) for m in maps)
        return draws.T @ draws / number, projection, metric

    covariance, projection, expected = (np.asarray(m) for m in matrices(jax.random.split(KEY, number), x))
    assert np.trace(projection) == pytest.approx(case.dim)
    error = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / number)
    deviation = np.abs(covariance - expected) - 1e-12
    assert np.max(deviation / np.maximum(error, 1e-12)) < z_bound(expected.size)


def test_bound_methods_can_be_compiled():
    # `jax.jit` hashes what it is given, and arrays and dicts have no hash of their own.
    for case in MANIFOLDS:
        assert hash(case.manifold.geodesic) == hash(case.manifold.geodesic), case.name
    box = Box([0.0, 0.0], [1.0, 2.0])
    product = Product({"a": box, "b": Sphere(3)})
    x = {"a": jnp.array([0.5, 1.9]), "b": jnp.array([0.0, 0.0, 1.0])}
    v = {"a": jnp.array([0.7, 0.4]), "b": jnp.array([0.0, 1.0, 0.0])}
    close(jax.jit(product.geodesic)(x, v, 0.5), product.geodesic(x, v, 0.5), 1e-15)
    # By value: another box of the same shape is another program.
    assert Box([0.0, 0.0], [1.0, 2.0]) == box
    assert hash(Box([0.0, 0.0], [1.0, 2.0])) == hash(box)
    wide = Box([0.0, 0.0], [3.0, 3.0])
    ends = [jax.jit(manifold.geodesic)(x["a"], v["a"], 2.0)[0] for manifold in (box, wide)]
    np.testing.assert_allclose(ends, [[0.1, 1.3], [1.9, 2.7]], atol=1e-14)


@pytest.mark.slow
def test_which_geodesics_are_differentiable_backward():
    # As docs/api/manifolds.md lists them; all are forward, as the tests above show.
    forward_only = (Stiefel, Orthogonal, Grassmann, Simplex, HalfSpaces)
    for case in MANIFOLDS:
        if isinstance(case.manifold, Product):
            continue
        x, v = start(case)

        def end(v, case=case, x=x):
            return jnp.sum(case.manifold.geodesic(x, v, 0.5)[0])

        if isinstance(case.manifold, forward_only):
            with pytest.raises(ValueError, match="while_loop"):
                jax.eval_shape(jax.grad(end), v)
        else:
            jax.eval_shape(jax.grad(end), v)


@cases
def test_dimension_counts_batch_axes(case):
    x, _ = start(case)
    assert case.manifold.dim(_tree.shapes(x)) == case.dim


def test_geodesic_derivative_is_smooth_across_the_series():
    sphere = Sphere(3)
    x, u = jnp.array([0.0, 0.0, 1.0]), jnp.array([1.0, 0.0, 0.0])

    def along(speed):
        return sphere.geodesic(x, speed * u, 1.0)[0][0]

    for speed in (0.0, 1e-9, 0.0099, 0.0101, 1.0):
        np.testing.assert_allclose(along(speed), np.sin(speed), atol=1e-16, rtol=1e-14)
        np.testing.assert_allclose(jax.grad(along)(speed), np.cos(speed), rtol=1e-13)


def test_simplex_billiard_in_one_dimension_is_a_triangle_wave():
    simplex = Simplex(2)
    for t in (0.1, 0.5, 3.3, 40.7):
        y, w = simplex.geodesic(jnp.array([0.25, 0.75]), jnp.array([1.0, -1.0]), t)
        phase = (0.25 + t) % 2
        np.testing.assert_allclose(y[0], min(phase, 2 - phase), atol=1e-13)
        assert w[0] == pytest.approx(1.0 if phase < 1 else -1.0)


def test_simplex_reflection_is_the_mirror_image_of_the_face():
    # A path to the face and its reflection make equal angles: the reflected path is straight after mirroring.
    x, v, simplex = jnp.array([0.1, 0.3, 0.6]), jnp.array([-1.0, 0.8, 0.2]), Simplex(3)
    y, w = simplex.geodesic(x, v, 0.2)
    straight = x + 0.2 * v
    normal = jnp.array([1.0, -0.5, -0.5]) / jnp.sqrt(1.5)
    distance = jnp.vdot(straight - jnp.array([0.0, 0.5, 0.5]), normal)
    np.testing.assert_allclose(y, straight - 2 * distance * normal, atol=1e-15)
    np.testing.assert_allclose(w, v - 2 * jnp.vdot(v, normal) * normal, atol=1e-15)


def test_ball_billiard_is_the_chain_of_its_chords():
    # Bounce by bounce, against the closed form, from the inside and along a diameter.
    for x, v in (([0.3, -0.2, 0.5], [1.0, 2.0, -0.5]), ([0.5, 0.0, 0.0], [-3.0, 0.0, 0.0])):
        at, speed, left = np.array(x), np.array(v), 7.3
        while True:
            b, s2 = at @ speed, speed @ speed
            time = (-b + np.sqrt(b * b + s2 * (1 - at @ at))) / s2
            if time > left:
                break
            at, left = at + time * speed, left - time
            speed = speed - 2 * (at @ speed) * at / (at @ at)
        y, w = Ball(3).geodesic(jnp.array(x), jnp.array(v), 7.3)
        np.testing.assert_allclose(y, at + left * speed, atol=1e-12)
        np.testing.assert_allclose(w, speed, atol=1e-12)


@pytest.mark.slow
def test_walls_of_a_box_as_half_spaces():
    box = Box([-1.0, 0.0], [0.5, 2.0])
    walls = HalfSpaces([[-1.0, 0.0], [2.0, 0.0], [0.0, -1.0], [0.0, 3.0]], [1.0, 1.0, 0.0, 6.0])
    np.testing.assert_allclose(walls.interior[0], -0.25, atol=1e-9)  # the slab's middle
    x = box.random_point(KEY, (50,))
    v = 3 * box.random_tangent(KEY, x)
    close(walls.geodesic(x, v, 2.0), box.geodesic(x, v, 2.0), 1e-12)


def test_half_spaces_without_bound_have_a_point():
    wedge = HalfSpaces([[-1.0, 0.0], [0.0, -1.0]], [0.0, 0.0])
    assert wedge.residual(wedge.random_point(KEY, (100,))) == 0
    assert jnp.all(wedge.interior > 0)


def test_geodesics_of_frames_agree_where_they_meet():
    # A square frame moves as in the group, a horizontal velocity as in the Grassmann manifold, and one column
    # as on the sphere.
    group, frames = Orthogonal(3), Stiefel(3, 3)
    x = group.random_point(KEY)
    v = group.random_tangent(KEY, x)
    close(frames.geodesic(x, v, 1.7), group.geodesic(x, v, 1.7), 1e-13)
    subspaces, frames = Grassmann(5, 2), Stiefel(5, 2)
    x = subspaces.random_point(KEY)
    v = subspaces.random_tangent(KEY, x)
    close(frames.geodesic(x, v, 1.7), subspaces.geodesic(x, v, 1.7), 1e-13)
    sphere, frames, lines = Sphere(4), Stiefel(4, 1), Grassmann(4, 1)
    x = sphere.random_point(KEY)
    v = sphere.random_tangent(KEY, x)
    for manifold in (frames, lines):
        y, w = manifold.geodesic(x[:, None], v[:, None], 1.7)
        close((y[:, 0], w[:, 0]), sphere.geodesic(x, v, 1.7), 1e-13)


def test_hyperbolic_geodesic_has_the_length_of_its_time():
    space = Hyperbolic(3)
    x = space.random_point(KEY)
    v = space.random_tangent(KEY, x)
    y, _ = space.geodesic(x, v, 0.6)
    cosh = x[0] * y[0] - x[1:] @ y[1:]
    assert np.arccosh(cosh) == pytest.approx(0.6 * float(jnp.sqrt(space.inner(x, v, v))), rel=1e-10)


def test_rotations_are_rotations():
    x = SpecialOrthogonal(3).random_point(KEY, (50,))
    np.testing.assert_allclose(jnp.linalg.det(x), 1, rtol=1e-12)
    assert set(np.sign(jnp.linalg.det(Orthogonal(3).random_point(KEY, (50,))))) == {-1.0, 1.0}
    mirrored = x.at[..., 0].multiply(-1)
    assert SpecialOrthogonal(3).residual(mirrored) > 1.9
    assert SpecialOrthogonal(3).residual(SpecialOrthogonal(3).project(mirrored)) < 1e-13


def test_simplex_keeps_the_uniform_law():
    simplex, number = Simplex(4), 40_000
    keys = jax.random.split(KEY, (2, number))
    x = jax.vmap(simplex.random_point)(keys[0])
    y, _ = simplex.geodesic(x, simplex.random_tangent(keys[1, 0], x), 1.3)
    # A Dirichlet(1, 1, 1, 1) marginal is Beta(1, 3); the image must be it too, and no longer the start.
    pvalues = [stats.kstest(np.asarray(y[:, i]), stats.beta(1, 3).cdf).pvalue for i in range(4)]
    assert min(pvalues) > 0.01 / 4
    assert jnp.mean(jnp.abs(x - y)) > 0.1


def test_simplex_in_a_corner_ends():
    vertex, _ = Simplex(3).geodesic(jnp.array([1.0, 0.0, 0.0]), jnp.array([-1.0, 1.0, 0.0]), 0.25)
    np.testing.assert_allclose(vertex, [0.75, 0.25, 0.0], atol=1e-15)


def test_simplex_ends_an_endless_flight_between_walls_with_its_speed():
    x, v = jnp.array([0.2, 0.3, 0.5]), jnp.array([700.0, -1000.0, 300.0])
    free = [Simplex(3, max_bounces=n).geodesic(x, v, 1.0) for n in (5, 6)]
    for y, w in free:
        assert jnp.min(y) > 1e-3  # off the walls, where a force may be infinite
        np.testing.assert_allclose(jnp.linalg.norm(w), jnp.linalg.norm(v), rtol=1e-14)
    assert jnp.max(jnp.abs(free[0][0] - free[1][0])) > 0.01


def test_simplex_lets_a_chain_leave_a_face_where_the_force_is_infinite():
    # A kick of 1e9 at x_0 = 1e-9. Turning round on the spot would meet the same kick at each step, for ever.
    density = Full(lambda x: jnp.sum(jnp.log(x)))
    sampler = SGGMC(density, Simplex(3), step_size=0.01, friction=1.0, num_steps=10)
    state = sampler.init(KEY, jnp.array([1e-9, 0.5, 0.5 - 1e-9]))
    state, _ = jax.jit(sampler.step)(KEY, state)
    assert state.position[0] > 1e-4


@pytest.mark.slow
def test_simplex_under_vmap_equals_the_loop():
    simplex = Simplex(5)
    x = simplex.random_point(KEY, (7,))
    v = 3 * simplex.random_tangent(KEY, x)
    together = simplex.geodesic(x, v, 2.0)
    mapped = jax.jit(jax.vmap(simplex.geodesic, (0, 0, None)))(x, v, 2.0)
    for i in range(7):
        close(jax.tree.map(lambda a, i=i: a[i], together), simplex.geodesic(x[i], v[i], 2.0), 1e-14)
    close(together, mapped, 1e-14)


def test_lift_integrates_to_the_same_mass():
    # On the circle by quadrature: Beta(2.5, 1.2) over theta against its lift over the angle.
    beta, manifold = stats.beta(2.5, 1.2), SphericalSimplex(2)
    lifted = manifold.lift(lambda theta: 1.5 * jnp.log(theta[0]) + 0.2 * jnp.log(theta[1]))
    angle = (np.arange(20_000) + 0.5) / 20_000 * np.pi / 2
    x = jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)
    density = np.exp(jax.vmap(lifted)(x))
    theta = np.asarray(manifold.to_simplex(x))[:, 0]
    assert np.sum(density * theta) / np.sum(density) == pytest.approx(beta.mean(), rel=1e-6)
    assert np.sum(density * theta**2) / np.sum(density) == pytest.approx(beta.moment(2), rel=1e-6)
    np.testing.assert_allclose(
        manifold.to_simplex(manifold.from_simplex(theta[:2])), theta[:2] / sum(theta[:2])
    )


@pytest.mark.slow
def test_random_points_are_uniform():
    def draw(manifold):
        return np.asarray(jax.jit(lambda: manifold.random_point(KEY, (20, 1000)))())

    x = draw(Sphere(4))
    assert_means(x, np.zeros(4))
    assert_means(x**2, np.full(4, 0.25))
    assert_means(draw(Simplex(3)) ** 2, np.full(3, 2 / 12))
    for frames in (Stiefel(4, 2), SpecialOrthogonal(4), Grassmann(4, 3)):
        x = draw(frames)
        assert_means(x, np.zeros(frames.point_shape))
        assert_means(x**4, np.full(frames.point_shape, 3 / (4 * 6)))
    angles = draw(Torus(2))
    assert_means(angles, np.zeros(2))  # which [0, pi) has not, though its squares have the same mean
    assert_means(angles**2, np.full(2, np.pi**2 / 3))
    assert_means(draw(Box([-1.0], [2.0])) ** 2, [1.0])
    assert_means(np.sum(draw(Ball(3)) ** 2, axis=-1), 3 / 5)
    assert_means(np.arccosh(draw(Hyperbolic(3))[..., 0]) ** 2, 3.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sphere(1),
        lambda: Simplex(1),
        lambda: SphericalSimplex(1),
        lambda: Euclidean(0),
        lambda: Product({"a": 3}),
        lambda: Sphere(3).project(jnp.ones(4)),
        lambda: Euclidean().random_point(KEY),
        lambda: Stiefel(3, 4),
        lambda: Stiefel(3, 2).project(jnp.ones((2, 3))),
        lambda: Orthogonal(1),
        lambda: SpecialOrthogonal(3).random_tangent(KEY, jnp.ones(3)),
        lambda: Grassmann(3, 3),
        lambda: Torus(0),
        lambda: PositiveOrthant(0),
        lambda: Ball(1),
        lambda: Box([0.0, 1.0], [1.0, 1.0]),
        lambda: Box([0.0], [1.0, 1.0]),
        lambda: Hyperbolic(0),
        lambda: HalfSpaces([[1.0, 0.0], [-1.0, 0.0]], [0.0, -1.0]),
        lambda: HalfSpaces([[0.0, 0.0]], [1.0]),
        lambda: HalfSpaces([[1.0, 0.0]], [1.0], interior=[2.0, 0.0]),
    ],
)
def test_wrong_arguments_raise(make):
    with pytest.raises(ValueError, match=r"\d|manifold|shape|interior"):
        make()


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("shape", [(10_000, 5), (40_000, 3)])
def test_compiled_operations_on_many_rows_are_those_of_numpy(shape, dtype):
    """A release of XLA got the sums of such rows wrong: those of a projection, in float32."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype(dtype)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    v = rng.normal(size=shape).astype(dtype)
    sphere, tolerance = Sphere(shape[1]), 20 * np.finfo(dtype).eps
    tangent = v - np.sum(x * v, axis=1, keepdims=True) * x
    np.testing.assert_allclose(jax.jit(sphere.to_tangent)(x, v), tangent, atol=tolerance)
    # One row for all, as the axis of a reflection is.
    along = jax.jit(lambda row, v: v - jnp.sum(row * v, axis=1, keepdims=True) * row)(x[0], v)
    np.testing.assert_allclose(along, v - (v @ x[0])[:, None] * x[0], atol=tolerance)
    log_rows = np.log(np.exp(v).sum(axis=1))
    np.testing.assert_allclose(
        jax.jit(jax.vmap(jax.scipy.special.logsumexp))(v), log_rows, atol=10 * tolerance
    )


def test_a_release_that_is_wrong_is_refused():
    refuse_wrong_release("0.10.1")
    with pytest.raises(ImportError, match="Install another release"):
        refuse_wrong_release("0.10.2")
