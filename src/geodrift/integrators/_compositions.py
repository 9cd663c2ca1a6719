"""Compositions of exact flows (splitting schemes), as data."""

from typing import Literal, NamedTuple


class Composition(NamedTuple):
    """An order of flows that needs one gradient a step and keeps none between steps.

    A named splitting is run from another point of its cycle where that saves a kept gradient; the positions
    then have exactly the law of the named splitting.
    """

    name: str
    flows: tuple[tuple[str, float], ...]
    """Flow and fraction of the step. A drift, B kick, O Ornstein-Uhlenbeck, D damping only, E Euler's step of
    the damping, N noise only."""

    subtraction: Literal["kicked", "injected"]
    """Where the gradient noise enters relative to the injected noise, which decides how much of it is
    subtracted (`_noise_subtraction.py`). ``"kicked"``: by kicks B before, after or around O; ``"injected"``:
    B beside the injected noise N, as in Liu et al. (2016), eq. 8. Each is right for a single O or N: a
    composition with more cannot take a noise variance."""

    kick_apart: bool = False
    """Whether a drift is between B and O on either side, so that a step drifts at two velocities: first at
    that after B, which has the gradient's noise, then at that after O."""

    kick_ahead: float = 0.0
    """The part of a step's kick that comes after the point of the cycle at which velocities have their law:
    it belongs to the step that follows (`samplers/_pending_kicks.py`)."""

    @property
    def num_injections(self) -> int:
        """How often noise is injected."""
        return sum(flow in "ON" for flow, _ in self.flows)


COMPOSITIONS = {
    composition.name: composition
    for composition in (
        Composition("ABOBA", (("A", 0.5), ("B", 0.5), ("O", 1.0), ("B", 0.5), ("A", 0.5)), "kicked"),
        # The two outer O/2 of OBABO meet in the cycle: O/2 B/2 A B/2 O/2 becomes A B/2 O B/2.
        Composition("OBABO", (("A", 1.0), ("B", 0.5), ("O", 1.0), ("B", 0.5)), "kicked", kick_ahead=0.5),
        # The two outer B/2 of BAOAB meet: B/2 A/2 O A/2 B/2 becomes A/2 O A/2 B.
        Composition(
            "BAOAB",
            (("A", 0.5), ("O", 1.0), ("A", 0.5), ("B", 1.0)),
            "kicked",
            kick_apart=True,
            kick_ahead=0.5,
        ),
        # Liu et al. (2016), Algorithm 1: friction is split from noise, which cools to first order in C h
        # squared.
        Composition(
            "liu", (("A", 0.5), ("D", 0.5), ("B", 1.0), ("N", 1.0), ("D", 0.5), ("A", 0.5)), "injected"
        ),
        # Chen et al. (2014), eq. 13, with the new position in the velocity's step: both old is explicit
        # Euler, which diverges. Damping, kick and noise all read the velocity that the step began with.
        Composition("chen", (("A", 1.0), ("E", 1.0), ("B", 1.0), ("N", 1.0)), "injected", kick_ahead=0.5),
    )
}


def composition_named(name: str) -> Composition:
    """The composition of that name.

    Raises:
        ValueError: There is none.
    """
    if name not in COMPOSITIONS:
        raise ValueError(f"composition = {name!r}: must be one of {', '.join(COMPOSITIONS)}")
    return COMPOSITIONS[name]
