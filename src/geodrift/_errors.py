"""Result codes of a step, the exception that the driver raises for them, and the error for bad input."""

import enum
from typing import Any

import jax


class Result(enum.IntEnum):
    """Result code of a step, in ``info.result``.

    Nothing raises inside jit: `geodrift.sample` raises `SamplingError` after each chunk of steps.
    """

    OK = 0
    NEGATIVE_NOISE_VARIANCE = 1
    LEFT_MANIFOLD = 2
    NON_FINITE = 3
    NOT_SEMIDEFINITE = 4
    NOT_SKEW = 5

    @property
    def message(self) -> str:
        """What happened, and what to do about it."""
        return _MESSAGES[self]


_MESSAGES = {
    Result.OK: "the step succeeded",
    Result.NEGATIVE_NOISE_VARIANCE: (
        "the gradient noise V exceeds the noise that the friction injects, so nothing is left to inject; "
        "take a smaller step_size, a larger friction, a larger batch or a control variate, or, where V is"
        " estimated from each batch (a Fisher estimate), noise_variance=<number>: its average over batches"
    ),
    Result.LEFT_MANIFOLD: "the position left the manifold; take a smaller step_size or float64",
    Result.NON_FINITE: (
        "a position, velocity or gradient is not finite; take a smaller step_size or check the density"
    ),
    Result.NOT_SEMIDEFINITE: (
        "D of the recipe is not symmetric positive semidefinite where the chain came to, so no noise has it "
        "as its covariance; give a D of the form B B^T; geodrift.recipe.check tests D at points around there"
    ),
    Result.NOT_SKEW: (
        "Q of the recipe is not skew where the chain came to; put a symmetric part in D; "
        "geodrift.recipe.check tests Q at points around there"
    ),
}


class InputError(ValueError):
    """An argument or a file cannot be used; the message is one line that says why and what to do."""


class RunWarning(UserWarning):
    """Something speaks against the draws of a run; the message says what, and what to do."""


class SamplingError(RuntimeError):
    """A chain failed.

    Attributes:
        result: What happened.
        step: Count of the step (from 0) at which it first happened.
        chain: Index of the chain.
        draws: What `geodrift.sample` would have returned of the draws before that step, all chains as long as
            the one that failed; their ``state`` is that of an earlier step. None when there are none.
    """

    def __init__(self, result: Result, step: int, chain: int) -> None:
        self.result, self.step, self.chain = result, step, chain
        self.draws: Any = None
        start = (
            ", and its gradient where the chain starts" if step == 0 and result == Result.NON_FINITE else ""
        )
        super().__init__(f"chain {chain}, step {step}: {result.message}{start} ({result.name})")


def is_concrete(x: object) -> bool:
    """Whether ``x`` has a value now; under a transformation it is a tracer and cannot be checked."""
    return not isinstance(x, jax.core.Tracer)
