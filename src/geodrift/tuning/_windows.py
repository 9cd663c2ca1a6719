"""Windows of Hamiltonian Monte Carlo in coordinates, from which step size and better coordinates are learnt.

The step size of a window follows the acceptance (`_dual_averaging`). After it the coordinates are changed
such that the draws and the gradients at them have the same covariance, which is that of the geometric mean of
the draws' covariance and the inverse of the gradients': of a normal it is exact, from few draws. The idea is
that of the sampler nutpie.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from geodrift._types import RandomKey, Scalar
from geodrift.estimators import Full
from geodrift.tuning._dual_averaging import DualAveraging
from geodrift.tuning._powers import power

TIME = np.pi / 2  # of a trajectory: a quarter of the period of every direction
JITTER = 0.25
MOST_LEAPS = 128  # of a trajectory


class Window(NamedTuple):
    """What a window leaves.

    Attributes:
        draws: Coordinates, [draw, chain, d].
        gradients: Of the log density at them.
        acceptance: Of each draw and chain.
        log_step: The logarithm of the step size to go on with.
        leaps: Of each draw's trajectories.
    """

    draws: Float[Array, "n A d"]
    gradients: Float[Array, "n A d"]
    acceptance: Float[Array, "n A"]
    log_step: Scalar
    leaps: Int[Array, " n"]


class _Moving(NamedTuple):
    y: Float[Array, "A d"]
    value: Float[Array, " A"]
    gradient: Float[Array, "A d"]


@eqx.filter_jit
def run_window(
    key: RandomKey,
    number: Any,
    estimator: Full,
    start: Float[Any, "A d"],
    log_step: Any,
    num_draws: int,
) -> Window:
    """Draws of some chains with one step size, which is adapted to all of them.

    Args:
        key: Random key, of all windows.
        number: Of the window.
        estimator: With coordinates.
        start: Of each chain; an array of NumPy or of JAX, as what follows.
        log_step: The logarithm of the first step size.
        num_draws: Of each chain.
    """
    key = jax.random.fold_in(key, number)
    evaluate = jax.vmap(estimator.value_and_gradient)

    def draw(carry: tuple, i: Array) -> tuple[tuple, tuple]:
        moving, rule = carry
        log_h = rule.log_step
        key_velocity, key_test, key_jitter = jax.random.split(jax.random.fold_in(key, i), 3)
        jitter = 1 + JITTER * jax.random.uniform(key_jitter, (), log_h.dtype, -1.0, 1.0)
        leaps = jnp.clip(jnp.ceil(TIME / jnp.exp(log_h)), 1, MOST_LEAPS).astype(jnp.int32)
        velocity = jax.random.normal(key_velocity, moving.y.shape, moving.y.dtype)
        end, ended = _trajectory(evaluate, moving, velocity, jnp.exp(log_h) * jitter, leaps)
        change = end.value - moving.value + jnp.sum(velocity**2 - ended**2, axis=1) / 2
        acceptance = jnp.where(jnp.isfinite(change), jnp.exp(jnp.minimum(change, 0.0)), 0.0)
        accepted = jax.random.uniform(key_test, acceptance.shape, acceptance.dtype) < acceptance
        moving = _Moving(
            *(
                jnp.where(accepted.reshape(-1, *[1] * (a.ndim - 1)), a, b)
                for a, b in zip(end, moving, strict=True)
            )
        )
        rule = rule.after(i + 1.0, jnp.mean(acceptance))
        return (moving, rule), (moving.y, moving.gradient, acceptance, leaps)

    carry = _Moving(start, *evaluate(start)), DualAveraging.start(log_step)
    (_, rule), found = jax.lax.scan(draw, carry, jnp.arange(num_draws))
    draws, gradients, acceptance, leaps = found
    return Window(draws, gradients, acceptance, rule.mean_log_step, leaps)


def _trajectory(
    evaluate, moving: _Moving, velocity: Float[Array, "A d"], h: Scalar, leaps: Array
) -> tuple[_Moving, Float[Array, "A d"]]:
    """Leapfrog steps of all chains; the end, and the velocity there."""

    def leap(_: Array, state: tuple) -> tuple:
        moving, velocity = state
        velocity = velocity + h / 2 * moving.gradient
        y = moving.y + h * velocity
        value, gradient = evaluate(y)
        return _Moving(y, value, gradient), velocity + h / 2 * gradient

    return jax.lax.fori_loop(0, leaps, leap, (moving, velocity))


def better_factor(
    draws: Float[np.ndarray, "n d"], gradients: Float[np.ndarray, "n d"]
) -> Float[np.ndarray, "d d"]:
    """The factor of coordinates in which draws and gradients have the same covariance.

    Both covariances are shrunk to a multiple of the identity (Ledoit & Wolf 2004), as the coordinates are
    nearly right already.
    """
    # Imported here: it takes half a second to load.
    from sklearn.covariance import ledoit_wolf

    of_draws, of_gradients = (ledoit_wolf(np.asarray(a, np.float64))[0] for a in (draws, gradients))
    root, inverse_root = power(of_draws, 0.5), power(of_draws, -0.5)
    middle = power(inverse_root @ np.linalg.inv(of_gradients) @ inverse_root, 0.5)
    return power(root @ middle @ root, 0.5)
