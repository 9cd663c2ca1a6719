"""What the page on a truncated normal says: its measures by quadrature, its draws by their law."""

import jax
import numpy as np
import pytest

from docs.pages import blocks_of, run_page
from law_checks import z_bound

PAGE = "tutorials/truncated-normal.md"


@pytest.fixture(scope="module")
def defined():
    """The page's functions and exact law; nothing is sampled."""
    return run_page(PAGE, [block for block in blocks_of(PAGE)[:7] if "gd.sample(" not in block])[0]


def of_all(function, points):
    return np.asarray(jax.jit(jax.vmap(function))(points))


def middles(low, high, number):
    return low + (high - low) * (np.arange(number) + 0.5) / number


def assert_exact(names, x, log_weights):
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    for name, value in names["told_of"](np.asarray(x)).items():
        # Cells of the sphere cut those of the box anywhere: a hundredth of a coordinate, hence the tolerance.
        assert (weights * value).sum() == pytest.approx(names["exact"][name], abs=2e-3), name


@pytest.mark.slow
def test_the_factor_of_one_slack_coordinate_makes_areas_of_the_sphere_those_of_the_box(defined):
    tilt, turn = np.meshgrid(middles(0, np.pi / 2, 500), middles(0, 2 * np.pi, 1000), indexing="ij")
    points = np.stack([np.sin(tilt) * np.cos(turn), np.sin(tilt) * np.sin(turn), np.cos(tilt)], axis=-1)
    points = points.reshape(-1, 3)
    x = of_all(lambda point: defined["from_the_ball"](point)[0], points)
    log_weights = of_all(defined["on_the_sphere"], points) + np.log(np.sin(tilt)).ravel()
    assert_exact(defined, x, log_weights)


@pytest.mark.slow
def test_heights_of_points_of_spheres_need_no_factor(defined):
    first, second = np.meshgrid(*[middles(0, np.pi, 700)] * 2, indexing="ij")
    heights = np.cos(np.stack([first, second], axis=-1)).reshape(-1, 2)
    points = np.stack([heights, np.sqrt(1 - heights**2), np.zeros_like(heights)], axis=-1)
    x = defined["from_heights"](points)
    log_areas = np.log(np.sin(first) * np.sin(second)).ravel()
    assert_exact(defined, x, of_all(defined["log_density"], x) + log_areas)


@pytest.mark.slow
def test_every_way_has_the_law_of_the_truncated_normal():
    names, _ = run_page(PAGE)
    off = {way: names["differences"](draws) for way, draws in names["ways"].items()}
    assert len(off) == 4
    bound = z_bound(sum(map(len, off.values())))
    worst = {way: max(map(abs, found.values())) for way, found in off.items()}
    assert max(worst.values()) < bound, worst
