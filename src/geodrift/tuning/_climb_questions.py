"""What climbs ask of a log density, and one call of a compiled program that answers several climbs.

Most of the time of a climb is that of calls: some tens for each, of a fraction of a millisecond. Climbs side
by side that ask the same function wait for one another.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from geodrift.estimators._affine import Affine, Layout

TOGETHER = 4  # climbs, at most
PLACES = 20


class Question(NamedTuple):
    """What a climb asks of the density: one of the functions below, in coordinates.

    Attributes:
        of: The function.
        centre: Of the coordinates, [d].
        factor: Of the coordinates, [d, d].
        places: Coordinates of some, [`PLACES`, d], where the function takes them.
    """

    of: Callable[..., Any]
    centre: Float[np.ndarray, " d"]
    factor: Float[np.ndarray, "d d"]
    places: Float[np.ndarray, "places d"]


Answer: TypeAlias = tuple[Any, ...]  # arrays and numbers of NumPy
End = TypeVar("End")


def expansion(
    estimator: Any, affine: Affine, _: Float[Array, "places d"]
) -> tuple[Float[Array, ""], Float[Array, " d"], Float[Array, "d d"]]:
    """The log density at coordinates 0, its gradient and its Hessian."""

    def log_density(y: Float[Array, " d"]) -> Float[Array, ""]:
        return estimator.value(affine(y))

    zero = jnp.zeros_like(affine.centre)
    value, gradient = jax.value_and_grad(log_density)(zero)
    return value, gradient, jax.jacfwd(jax.grad(log_density))(zero)


def at_places(
    estimator: Any, affine: Affine, places: Float[Array, "places d"]
) -> tuple[Float[Array, " places"], Float[Array, "places d"]]:
    """The log density and its gradient at some coordinates."""
    return jax.vmap(jax.value_and_grad(lambda y: estimator.value(affine(y))))(places)


def ends(estimator: Any, layout: Layout, paths: Sequence[Generator[Question, Answer, End]]) -> list[End]:
    """Where paths end; those that ask the same function are answered by one call.

    Args:
        estimator: Its ``value`` is the log density of a position.
        layout: The position's.
        paths: At most `TOGETHER`; they ask, and are sent answers.
    """
    found: dict[int, End] = {}
    asked: dict[int, Question] = {}

    def go_on(number: int, answer: Answer | None) -> None:
        try:
            asked[number] = next(paths[number]) if answer is None else paths[number].send(answer)
        except StopIteration as end:
            found[number] = end.value

    for number in range(len(paths)):
        go_on(number, None)
    while asked:
        of = next(iter(asked.values())).of
        numbers = [number for number, question in asked.items() if question.of is of]
        questions = [asked.pop(number) for number in numbers]
        for number, answer in zip(numbers, _answers(estimator, layout, questions), strict=True):
            go_on(number, answer)
    return [found[number] for number in range(len(paths))]


def _answers(estimator: Any, layout: Layout, questions: list[Question]) -> list[Answer]:
    """Of questions to one function."""
    last = [questions[-1]] * (TOGETHER - len(questions))  # are not looked at: there is one compiled program
    centres, factors, places = (
        np.stack(arrays).astype(layout.dtypes[0])
        for arrays in zip(*(question[1:] for question in questions + last), strict=True)
    )
    number = np.asarray(len(questions), np.int32)
    found = _each(questions[0].of, estimator, layout, number, centres, factors, places)
    return list(zip(*(np.asarray(a, np.float64)[: len(questions)] for a in found), strict=True))


@eqx.filter_jit
def _each(
    of: Callable[..., Any],
    estimator: Any,
    layout: Layout,
    number: Any,
    centres: Float[Any, "asked d"],
    factors: Float[Any, "asked d d"],
    places: Float[Any, "asked places d"],
) -> tuple[Array, ...]:
    """The answers to the first of the questions; of the others they are 0."""

    @jax.jit
    def one(i: Any) -> tuple[Array, ...]:
        return of(estimator, Affine(centres[i], factors[i], layout), places[i])

    none = [jnp.zeros((len(centres), *a.shape), a.dtype) for a in jax.eval_shape(one, number)]
    return jax.lax.fori_loop(
        0,
        number,
        lambda i, found: tuple(a.at[i].set(b) for a, b in zip(found, one(i), strict=True)),
        tuple(none),
    )
