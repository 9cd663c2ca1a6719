"""A chain that several processes take through its steps together: process 0 drives, the others follow.

Process 0 runs the driver as if it were alone. Before a call that needs the others it tells them which it is,
and all make it, each on its own part of the chain. Everything that follows the clock (how many steps a chunk
has, when a checkpoint is due) is thereby decided in one place.
"""

import json
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from jaxtyping import Int

from geodrift.distributed import LostProcess, Team
from geodrift.driver._chain import Chain, Chunk, DrawCost, Variable
from geodrift.driver._interruptions import stop_signals
from geodrift.driver._plan import Plan

_END = "end"
_FAILED = 1
_STOP = b"stop"


class Orders:
    """What process 0 tells the others.

    Attributes:
        team: The processes.
        carried_out: Whether the last one was: in the midst of it the others expect no other.
    """

    def __init__(self, team: Team) -> None:
        self.team, self.carried_out, self._stopping = team, True, False

    def give(self, call: str, number: int = 0, *arguments: Any) -> None:
        """Tell the others of a call."""
        order = {"call": call, "number": number, "arguments": arguments}
        answers = self.team.share(json.dumps(order).encode())[1:]
        if _STOP in answers and not self._stopping:
            # Somebody asked another process to stop: the driver stops as if it had been asked itself.
            self._stopping = True
            signal.raise_signal(signal.SIGTERM)

    @contextmanager
    def given(self, call: str, number: int, *arguments: Any) -> Iterator[None]:
        """Tell the others of a call, which this process makes now."""
        self.carried_out = False
        self.give(call, number, *arguments)
        yield
        self.carried_out = True


class LedChain(Chain):
    """A chain as process 0 drives it.

    Args:
        orders: To the other processes.
        chain: This process's part of the chain.
        number: Of the chain, in the order in which all processes have made them.
    """

    def __init__(self, orders: Orders, chain: Chain, number: int) -> None:
        self._orders, self._chain, self._number = orders, chain, number
        self.room, self.shown_metrics, self.shares = chain.room, chain.shown_metrics, chain.shares
        self.num_chains = chain.num_chains

    @property
    def count(self) -> int:  # type: ignore[override]
        """Steps taken since the start of the run."""
        return self._chain.count

    @property
    def variables(self) -> dict[str, Variable]:
        """What a draw stores."""
        return self._chain.variables

    def prepare(self) -> None:
        """Here alone: the others learn what was found in the first step."""
        self._chain.prepare()

    def begin(self, plan: Plan) -> None:
        """Take note of the plan, everywhere."""
        with self._orders.given("begin", self._number, plan.as_dict()):
            self._chain.begin(plan)

    def advance(self, gaps: Int[np.ndarray, " draw"], store: bool) -> Chunk:
        """Take steps, everywhere."""
        with self._orders.given("advance", self._number, np.asarray(gaps).tolist(), bool(store)):
            chunk = self._chain.advance(gaps, store)
        self._orders.team.stepped(int(np.sum(gaps)))
        return chunk

    def state(self) -> dict[str, np.ndarray]:
        """Collect the state here."""
        with self._orders.given("state", self._number):
            return self._chain.state()

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state; the others read it from the run directory."""
        with self._orders.given("restore", self._number):
            self._chain.restore(arrays)

    def cost_of_draw(self) -> DrawCost:
        """Of a draw of the present state, made everywhere at once."""
        with self._orders.given("cost_of_draw", self._number):
            return self._chain.cost_of_draw()

    def work(self) -> float:
        """What was done so far."""
        return self._chain.work()

    def steps_within(self, seconds: float, pace: float) -> int:
        """How many more steps fit in a time."""
        return self._chain.steps_within(seconds, pace)

    def close(self) -> None:
        """Give back what this process's part holds."""
        self._chain.close()


@contextmanager
def led(team: Team, chains: Sequence[Chain]) -> Iterator[list[LedChain]]:
    """The chains as process 0 drives them; at the end the other processes are let go."""
    orders = Orders(team)
    try:
        yield [LedChain(orders, chain, number) for number, chain in enumerate(chains)]
    except LostProcess:
        raise
    except BaseException:
        if orders.carried_out:
            orders.give(_END, _FAILED)
        raise
    orders.give(_END)


def follow(
    team: Team, chains: Sequence[Chain], stored: Callable[[], Sequence[dict[str, np.ndarray]]]
) -> bool:
    """Make the calls that process 0 tells of, until it lets go.

    Args:
        team: The processes.
        chains: This process's parts, in the order of process 0.
        stored: The chains' states in the run directory.

    Returns:
        Whether process 0 ended as it meant to.

    Raises:
        LostProcess: Another process has ended.
    """
    with stop_signals(silent=True) as stop:
        while True:
            order = json.loads(team.share(_STOP if stop.is_set() else b"")[0])
            call, number, arguments = order["call"], order["number"], order["arguments"]
            if call == _END:
                return number != _FAILED
            chain = chains[number]
            if call == "begin":
                chain.begin(Plan.of_steps(**arguments[0]))
            elif call == "advance":
                chain.advance(np.array(arguments[0], np.int64), arguments[1])
                team.stepped(sum(arguments[0]))
            elif call == "restore":
                chain.restore(stored()[number])
            else:
                getattr(chain, call)()
