"""What the driver drives: one chain, or several that move together."""

import abc
import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from geodrift._errors import SamplingError
from geodrift.driver._plan import Plan, Room, Shares


class Variable(NamedTuple):
    """A variable of which every draw stores a value.

    Attributes:
        dims: Names of its dimensions, those of chain and draw left out.
        shape: Their lengths; None where the length differs from draw to draw. Shorter draws are filled up
            with NaN, or with 0 where the variable holds whole numbers.
        dtype: NumPy's name of its type.
    """

    dims: tuple[str, ...]
    shape: tuple[int | None, ...]
    dtype: str


class ShownMetric(NamedTuple):
    """A metric that a person is shown."""

    name: str
    form: str  # a format string of the one value, with its name in words
    on_the_way: bool = True  # while the chain runs; otherwise at its end alone
    grows: bool = False  # of several chains the one that is furthest is shown


class DrawCost(NamedTuple):
    """What a draw of a chain costs beside the chain's steps.

    Attributes:
        seconds: To make it.
        num_bytes: To store.
    """

    seconds: float
    num_bytes: int


class Chunk(NamedTuple):
    """What a number of steps brought.

    Attributes:
        draws: The stored draws by variable, [draw, chain, ...]; empty where none is stored.
        metrics: Numbers to show, by name.
        failure: Why the chain cannot go on; the draws are those before it.
        detail: What the chain tells of the chunk to a caller who knows its kind.
    """

    draws: dict[str, np.ndarray]
    metrics: dict[str, float]
    failure: SamplingError | None = None
    detail: Any = None


class Chain(abc.ABC):
    """One chain, or several that move together, from the first step of a run to the last.

    Names of variables may begin with the group of an ArviZ data tree, as in ``sample_stats/result``; those
    without one are of the group ``posterior``.

    Attributes:
        num_chains: Chains that move together.
        count: Steps taken since the start of the run.
        variables: What a draw stores.
        room: The most that one chunk may hold.
        shown_metrics: The metrics that a person is shown, in their order.
        shares: How a run that is told a time or a number of steps is divided in warm-up and draws.
    """

    num_chains: int = 1
    count: int = 0
    room: Room = Room()
    shown_metrics: tuple[ShownMetric, ...] = ()
    shares: Shares = Shares()

    @property
    @abc.abstractmethod
    def variables(self) -> dict[str, Variable]:
        """See the class."""

    @property
    def threads_of_a_step(self) -> int:
        """Threads for which a step has work, while other chains take theirs in other threads of the process.

        0: chains take their steps in turn.
        """
        return 0

    def compile(self) -> None:  # noqa: B027  most chains have nothing to compile before
        """Compile what steps call, for as many threads as the present one has: no time is to count it."""

    @abc.abstractmethod
    def begin(self, plan: Plan) -> None:
        """Take note of the plan: before the first step under it, and again where it was extended or revised.

        One that is revised has another warm-up before `Plan.pilot_ends` alone, and another end before that
        of the warm-up. What a chain does in its warm-up depends on no more of a plan than these two.
        """

    def prepare(self) -> None:  # noqa: B027  most chains have nothing to do
        """What can be done before the first step, side by side with other chains."""

    @abc.abstractmethod
    def advance(self, gaps: Int[np.ndarray, " draw"], store: bool) -> Chunk:
        """Take steps.

        Args:
            gaps: Steps from one draw to the next, the first from the present state.
            store: Whether the draws at their ends are stored.
        """

    @abc.abstractmethod
    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to go on, bit for bit, as plain arrays."""

    @abc.abstractmethod
    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state returned by `state`, the count included."""

    def work(self) -> float:
        """What was done so far, in units that take the same time: steps, unless these differ in size."""
        return float(self.count)

    def steps_within(self, seconds: float, pace: float) -> int:
        """How many more steps fit in a time.

        Args:
            seconds: The time.
            pace: Seconds of one unit of `work` as the pilot measured them.
        """
        return int(seconds / pace)

    def cost_of_draw(self) -> DrawCost:
        """Of a draw of the present state."""
        numbers = (
            (math.prod(size or 0 for size in variable.shape), np.dtype(variable.dtype).itemsize)
            for variable in self.variables.values()
        )
        return DrawCost(0.0, self.num_chains * sum(count * size for count, size in numbers))

    def agreed(self, steps: int) -> int:
        """A number of steps on which all processes agree that carry the chain along, from this one's."""
        return steps

    def close(self) -> None:  # noqa: B027  most chains hold nothing
        """Give back what the chain holds: threads, files."""
