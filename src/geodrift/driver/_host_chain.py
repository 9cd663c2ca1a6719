"""A chain whose steps are Python that calls compiled kernels."""

import abc
import time
from typing import Any

import numpy as np
from jaxtyping import Int

from geodrift._errors import SamplingError
from geodrift.driver._chain import Chain, Chunk, DrawCost, Variable
from geodrift.driver._plan import Plan


class HostChain(Chain):
    """One chain of which a subclass says what a step is and what a draw stores."""

    plan: Plan | None = None  # None before the length of the run is known: every step is warm-up then

    @abc.abstractmethod
    def step(self) -> Any:
        """Take one step, which adds 1 to ``count``.

        Returns:
            Its outcome, for `metrics`.

        Raises:
            SamplingError: The chain cannot go on.
        """

    @abc.abstractmethod
    def draw(self) -> dict[str, np.ndarray]:
        """The variables of the present state, without axes of chain and draw."""

    @abc.abstractmethod
    def metrics(self, outcomes: list[Any]) -> dict[str, float]:
        """Numbers to show of a chunk, from the outcomes of its steps."""

    def cost_of_draw(self) -> DrawCost:
        """Of a draw of the present state: the quickest of three, since one may compile and one may wait.

        Of as many in every run: chains of several processes draw together.
        """
        seconds = []
        for _ in range(3):
            begun = time.perf_counter()
            draw = stacked([self.draw()], self.variables)
            seconds.append(time.perf_counter() - begun)
        return DrawCost(min(seconds), sum(values.nbytes for values in draw.values()))

    @property
    def warming_up(self) -> bool:
        """Whether the next step is warm-up."""
        return self.plan is None or self.count < self.plan.warm_up

    @property
    def at_end(self) -> bool:
        """Whether the chain has taken the last step of its plan."""
        return self.plan is not None and self.count >= self.plan.total

    def begin(self, plan: Plan) -> None:
        """Take note of the plan."""
        self.plan = plan

    def advance(self, gaps: Int[np.ndarray, " draw"], store: bool) -> Chunk:
        """Take steps; see `Chain.advance`."""
        outcomes: list[Any] = []
        draws: list[dict[str, np.ndarray]] = []
        failure = None
        try:
            for gap in gaps:
                outcomes += [self.step() for _ in range(gap)]
                if store:
                    draws.append(self.draw())
        except SamplingError as error:
            failure = error
        metrics = self.metrics(outcomes) if failure is None else {}
        return Chunk(stacked(draws, self.variables), metrics, failure)


def stacked(draws: list[dict[str, np.ndarray]], variables: dict[str, Variable]) -> dict[str, np.ndarray]:
    """Draws of one chain as one array for each variable, [draw, 1, ...].

    Values whose shape differs from draw to draw are filled up to the largest.
    """
    if not draws:
        return {}
    found = {}
    for name, variable in variables.items():
        values = [np.asarray(draw[name]) for draw in draws]
        shape = tuple(np.max([value.shape for value in values], axis=0, initial=0).astype(int))
        filled = np.full((len(values), 1, *shape), fill_value(variable.dtype), variable.dtype)
        for i, value in enumerate(values):
            place: tuple[int | slice, ...] = (i, 0, *(slice(size) for size in value.shape))
            filled[place] = value
        found[name] = filled
    return found


def fill_value(dtype: str) -> float:
    """What stands where a draw has no value."""
    return np.nan if np.dtype(dtype).kind == "f" else 0
