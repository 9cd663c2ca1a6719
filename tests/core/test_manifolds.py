import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from cases import KEY, MANIFOLDS
from geodrift import _tree
from geodrift.manifolds import Euclidean, Product, Simplex, Sphere, SphericalSimplex
from law_checks import assert_means, z_bound

cases = pytest.mark.parametrize("case", MANIFOLDS, ids=lambda case: case.name)
dtypes = pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64], ids=["float32", "float64"])


def start(case, dtype=jnp.float64):
    x = case.manifold.random_point(KEY, case.shape)
    x = case.manifold.project(jax.tree.map(lambda leaf: leaf.astype(dtype), x))
    return x, case.manifold.random_tangent(jax.random.fold_in(KEY, 1), x)


def close(a, b, tolerance):
    for left, right in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_allclose(left, right, rtol=0, atol=tolerance)


def eps(dtype):
    return 50 * float(jnp.finfo(dtype).eps)


@cases
@dtypes
def test_projection_is_idempotent_and_repairs(case, dtype):
    x, _ = start(case, dtype)
    close(case.manifold.project(x), x, eps(dtype))
    assert case.manifold.residual(x) < eps(dtype)
    if case.name.startswith("euclidean"):
        return
    spoiled = jax.tree.map(lambda leaf: leaf * 1.01, x)
    assert case.manifold.residual(spoiled) > 0.009
    repaired = case.manifold.project(spoiled)
    assert case.manifold.residual(repaired) < eps(dtype)


@cases
@dtypes
def test_tangent_projection_is_orthogonal(case, dtype):
    x, v = start(case, dtype)
    u = jax.tree.map(lambda leaf: jnp.cos(jnp.arange(leaf.size, dtype=dtype)).reshape(leaf.shape), x)
    tangent = case.manifold.to_tangent(x, u)
    close(case.manifold.to_tangent(x, tangent), tangent, eps(dtype))
    close(case.manifold.to_tangent(x, v), v, eps(dtype))
    # The normal part is orthogonal to every tangent vector.
    products = jax.tree.map(lambda normal, vi: jnp.sum(normal * vi), _tree.sub(u, tangent), v)
    assert abs(sum(jax.tree.leaves(products))) < eps(dtype) * 10


@cases
@dtypes
@pytest.mark.parametrize("t", [0.3, 4.0])
def test_geodesic_stays_reverses_and_keeps_speed(case, dtype, t):
    x, v = start(case, dtype)
    y, w = case.manifold.geodesic(x, v, t)
    assert case.manifold.residual(y) < eps(dtype)
    close(case.manifold.to_tangent(y, w), w, eps(dtype))
    speed = case.manifold.inner(x, v, v)
    assert abs(case.manifold.inner(y, w, w) / speed - 1) < eps(dtype)
    back, velocity = case.manifold.geodesic(y, jax.tree.map(jnp.negative, w), t)
    close(back, x, 20 * eps(dtype))
    close(jax.tree.map(jnp.negative, velocity), v, 20 * eps(dtype))
    back, _ = case.manifold.geodesic(y, w, -t)
    close(back, x, 20 * eps(dtype))


@cases
def test_geodesic_composes_and_starts_with_its_velocity(case):
    x, v = start(case)
    halfway = case.manifold.geodesic(x, v, 0.7)
    close(case.manifold.geodesic(*halfway, 0.9), case.manifold.geodesic(x, v, 1.6), 1e-13)
    _, derivative = jax.jvp(lambda t: case.manifold.geodesic(x, v, t)[0], (0.0,), (1.0,))
    close(derivative, v, 1e-13)


@cases
def test_geodesic_at_zero_speed(case):
    x, v = start(case)
    still = jax.tree.map(jnp.zeros_like, v)
    close(case.manifold.geodesic(x, still, 0.5), (x, still), 1e-15)
    # Its derivative there is the tangent vector itself, times t.
    moved, turned = jax.jvp(lambda u: case.manifold.geodesic(x, u, 0.5), (still,), (v,))[1]
    close(moved, jax.tree.map(lambda leaf: 0.5 * leaf, v), 1e-14)
    close(turned, v, 1e-14)


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
    assert np.trace(expected) == pytest.approx(case.dim)
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
    ],
)
def test_wrong_arguments_raise(make):
    with pytest.raises(ValueError, match=r"\d|manifold|shape"):
        make()
