import functools

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from cases import KEY, MANIFOLDS
from geodrift import _tree
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
from law_checks import assert_means, z_bound

cases = pytest.mark.parametrize("case", MANIFOLDS, ids=lambda case: case.name)
dtypes = pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64], ids=["float32", "float64"])


def start(case, dtype=jnp.float64):
    return _start(case.name, dtype)


@functools.cache
def _start(name, dtype):
    manifold, shape = next((case.manifold, case.shape) for case in MANIFOLDS if case.name == name)

    @jax.jit
    def draw():
        x = manifold.random_point(KEY, shape)
        x = manifold.project(jax.tree.map(lambda leaf: leaf.astype(dtype), x))
        return x, manifold.random_tangent(jax.random.fold_in(KEY, 1), x)

    return draw()


def close(a, b, tolerance):
    for left, right in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_allclose(left, right, rtol=0, atol=tolerance)


def eps(dtype, case=None):
    return 50 * float(jnp.finfo(dtype).eps) * (case.size if case else 1)


@functools.cache
def compiled(name):
    """The geodesic, compiled once for all tests of a case."""
    manifold = next(case for case in MANIFOLDS if case.name == name).manifold
    return jax.jit(lambda x, v, t: manifold.geodesic(x, v, t))


@cases
@dtypes
def test_projection_is_idempotent_and_repairs(case, dtype):
    x, _ = start(case, dtype)
    close(case.manifold.project(x), x, eps(dtype, case))
    assert case.manifold.residual(x) < eps(dtype, case)
    if case.spoil is None:
        return
    spoiled = jax.tree.map(case.spoil, x)
    assert case.manifold.residual(spoiled) > 0.009
    repaired = case.manifold.project(spoiled)
    assert case.manifold.residual(repaired) < eps(dtype, case)


@cases
@dtypes
def test_tangent_projection_is_orthogonal(case, dtype):
    x, v = start(case, dtype)
    u = jax.tree.map(lambda leaf: jnp.cos(jnp.arange(leaf.size, dtype=dtype)).reshape(leaf.shape), x)
    tangent = case.manifold.to_tangent(x, u)
    close(case.manifold.to_tangent(x, tangent), tangent, eps(dtype, case))
    close(case.manifold.to_tangent(x, v), v, eps(dtype, case))
    # The normal part is orthogonal to every tangent vector, in the product that the metric is made of.
    normal = jax.tree.leaves(_tree.sub(u, tangent))
    rows = zip(leaf_manifolds(case.manifold, x), normal, jax.tree.leaves(v), strict=True)
    assert abs(sum(ambient_product(*row) for row in rows)) < eps(dtype, case) * 10


def ambient_product(manifold, u, v):
    """What `inner` is of tangent vectors, for any two vectors."""
    if isinstance(manifold, Hyperbolic):
        return jnp.sum(u[..., 1:] * v[..., 1:]) - jnp.sum(u[..., 0] * v[..., 0])
    return jnp.sum(u * v)


@cases
def test_inner_and_gradient_belong_together(case):
    # The derivative along any tangent vector is its inner product with the gradient.
    x, v = start(case)
    g = jax.tree.map(lambda leaf: jnp.sin(1 + jnp.arange(leaf.size, dtype=leaf.dtype)).reshape(leaf.shape), x)
    gradient = case.manifold.riemannian_gradient(x, g)
    close(case.manifold.to_tangent(x, gradient), gradient, eps(jnp.float64, case))
    along = sum(jax.tree.leaves(jax.tree.map(lambda gi, vi: jnp.sum(gi * vi), g, v)))
    assert case.manifold.inner(x, gradient, v) == pytest.approx(float(along), rel=1e-12)
    rows = zip(leaf_manifolds(case.manifold, x), jax.tree.leaves(v), jax.tree.leaves(gradient), strict=True)
    assert sum(ambient_product(*row) for row in rows) == pytest.approx(float(along), rel=1e-12)


@cases
@dtypes
@pytest.mark.parametrize("t", [0.3, 4.0])
def test_geodesic_stays_reverses_and_keeps_speed(case, dtype, t):
    x, v = start(case, dtype)
    t = case.pace * t
    y, w = compiled(case.name)(x, v, t)
    assert case.manifold.residual(y) < eps(dtype, case)
    close(case.manifold.to_tangent(y, w), w, eps(dtype, case))
    speed = case.manifold.inner(x, v, v)
    assert abs(case.manifold.inner(y, w, w) / speed - 1) < eps(dtype, case)
    back, velocity = compiled(case.name)(y, jax.tree.map(jnp.negative, w), t)
    close(back, x, 20 * eps(dtype, case))
    close(jax.tree.map(jnp.negative, velocity), v, 20 * eps(dtype, case))
    back, _ = compiled(case.name)(y, w, -t)
    close(back, x, 20 * eps(dtype, case))


@cases
def test_geodesic_composes_and_starts_with_its_velocity(case):
    x, v = start(case)
    halfway = compiled(case.name)(x, v, 0.7)
    close(compiled(case.name)(*halfway, 0.9), compiled(case.name)(x, v, 1.6), 1e-13 * case.size)
    along = jax.jit(lambda t: jax.jvp(lambda t: case.manifold.geodesic(x, v, t)[0], (t,), (1.0,))[1])
    derivative = along(0.0)
    close(derivative, v, 1e-13)


@cases
def test_geodesic_at_zero_speed(case):
    x, v = start(case)
    still = jax.tree.map(jnp.zeros_like, v)
    close(compiled(case.name)(x, still, 0.5), (x, still), 1e-15)
    # Its derivative there is the tangent vector itself, times t.
    moved, turned = jax.jit(
        lambda still: jax.jvp(lambda u: case.manifold.geodesic(x, u, 0.5), (still,), (v,))[1]
    )(still)
    close(moved, jax.tree.map(lambda leaf: 0.5 * leaf, v), 1e-14)
    close(turned, v, 1e-14)


@cases
def test_geodesic_has_no_tangent_acceleration(case):
    x, v = start(case)

    def velocity(t):
        return jax.jvp(lambda s: case.manifold.geodesic(x, v, s)[0], (t,), (1.0,))[1]

    t = 0.4 * case.pace
    moving, acceleration = jax.jit(lambda t: jax.jvp(velocity, (t,), (1.0,)))(t)
    y, w = compiled(case.name)(x, v, t)
    close(moving, w, 1e-12)
    close(case.manifold.to_tangent(y, acceleration), jax.tree.map(jnp.zeros_like, v), 1e-11)


@cases
def test_geodesic_keeps_the_symplectic_form_and_so_the_volume(case):
    # Of the tangent bundle, in a basis that moves a point along geodesics and then adds to its velocity.
    x, v = start(case)
    frame = tangent_basis(case.manifold, x)
    number = frame.shape[0]
    _, unravel = jax.flatten_util.ravel_pytree(x)

    def flown(parameters, time):
        step, extra = (unravel(c @ frame) for c in (parameters[:number], parameters[number:]))
        start, _ = case.manifold.geodesic(x, step, 1.0)
        carried = case.manifold.to_tangent(start, _tree.add(v, extra))
        return case.manifold.geodesic(start, carried, time)

    derivative = jax.jit(jax.jacfwd(flown))

    def form(time):
        position, velocity = derivative(jnp.zeros(2 * number), time)
        rows = zip(
            leaf_manifolds(case.manifold, x),
            jax.tree.leaves(position),
            jax.tree.leaves(velocity),
            strict=True,
        )
        product = sum(position_times_velocity(*row) for row in rows)
        return product - product.T

    before = form(0.0)
    assert np.linalg.matrix_rank(before, tol=1e-6) == 2 * number
    for t in (0.5, 4.0):
        np.testing.assert_allclose(form(t * case.pace), before, atol=1e-10)


def tangent_basis(manifold, x):
    """Rows that span the tangent space."""
    flat, unravel = jax.flatten_util.ravel_pytree(x)

    def project(u):
        return jax.flatten_util.ravel_pytree(manifold.to_tangent(x, unravel(u)))[0]

    vectors, sizes, _ = np.linalg.svd(jax.jit(jax.vmap(project, out_axes=1))(jnp.eye(flat.size)))
    return jnp.asarray(vectors[:, sizes > 0.5].T)


def position_times_velocity(manifold, position, velocity):
    """Products of the derivatives of position and velocity in each pair of directions."""
    over = jax.vmap(jax.vmap(ambient_product, (None, None, -1)), (None, -1, None))
    return over(manifold, position, velocity)


@cases
def test_tangent_noise_has_the_projection_as_covariance(case):
    x, _ = start(case)
    number = 40_000
    keys = jax.random.split(KEY, number)
    draws = jax.vmap(case.manifold.random_tangent, (0, None))(keys, x)
    flat = np.concatenate([np.reshape(leaf, (number, -1)) for leaf in jax.tree.leaves(draws)], axis=1)
    basis = np.eye(flat.shape[1])
    _, unravel = jax.flatten_util.ravel_pytree(x)
    projected = jax.vmap(lambda u: jax.flatten_util.ravel_pytree(case.manifold.to_tangent(x, unravel(u)))[0])
    expected = np.asarray(projected(basis))
    inverse_metric = jax.vmap(
        lambda g: jax.flatten_util.ravel_pytree(case.manifold.riemannian_gradient(x, unravel(g)))[0]
    )
    assert np.trace(expected) == pytest.approx(case.dim)
    expected = np.asarray(inverse_metric(basis))
    covariance = flat.T @ flat / number
    error = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / number)
    deviation = np.abs(covariance - expected) - 1e-12
    assert np.max(deviation / np.maximum(error, 1e-12)) < z_bound(expected.size)


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


def test_simplex_in_a_corner_ends_and_gives_up_reversibly():
    simplex = Simplex(3, max_bounces=5)
    x, v = jnp.array([0.2, 0.3, 0.5]), jnp.array([700.0, -1000.0, 300.0])
    y, w = simplex.geodesic(x, v, 1.0)
    np.testing.assert_allclose(y, x, atol=1e-15)
    np.testing.assert_allclose(w, -v)
    vertex, _ = Simplex(3).geodesic(jnp.array([1.0, 0.0, 0.0]), jnp.array([-1.0, 1.0, 0.0]), 0.25)
    np.testing.assert_allclose(vertex, [0.75, 0.25, 0.0], atol=1e-15)


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


def test_random_points_are_uniform():
    x = Sphere(4).random_point(KEY, (20, 2000))
    assert_means(x, np.zeros(4))
    assert_means(x**2, np.full(4, 0.25))
    theta = Simplex(3).random_point(KEY, (20, 2000))
    assert_means(theta**2, np.full(3, 2 / 12))
    for frames in (Stiefel(4, 2), SpecialOrthogonal(4), Grassmann(4, 3)):
        x = frames.random_point(KEY, (20, 1000))
        assert_means(x, np.zeros(frames.point_shape))
        assert_means(x**4, np.full(frames.point_shape, 3 / (4 * 6)))
    assert_means(Torus(2).random_point(KEY, (20, 1000)) ** 2, np.full(2, np.pi**2 / 3))
    assert_means(Box([-1.0], [2.0]).random_point(KEY, (20, 1000)) ** 2, [1.0])
    assert_means(jnp.sum(Ball(3).random_point(KEY, (20, 1000)) ** 2, axis=-1), 3 / 5)
    distance = jnp.arccosh(Hyperbolic(3).random_point(KEY, (20, 1000))[..., 0])
    assert_means(distance**2, 3.0)


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
