"""What may be believed of a run: by how many chains each component was found, and whether they rest."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import stats

from geodrift import diagnostics
from geodrift.models.kit._agreement import Agreement, least_chains
from geodrift.models.kit._relations import Relation, told_once

SAME = 1.05  # R-hat up to which the chains count as having one law
MOST_TOLD = 50  # components, and relations, that a person is told by name
LARGEST_SHOWN = 100  # R-hat: chains that do not move make it any number above
LEAST_DRAWS = 4  # of a chain, for R-hat
BY_CHANCE = 0.001  # how often chains of one law, of independent draws, have an R-hat that counts against them
# Names of stored numbers that say little without the code.
_PLAIN = {
    "mixture_concentration": "concentration of documents' topics (alpha_0)",
    "number_parameter": "number of components with empty ones (of a Dirichlet process alpha)",
    "other_weight": "weight of all that are not told of one by one",
    "weight_concentration": "concentration of the topics' weights (gamma)",
    "doc_topic_prior_sum": "sum of the prior of documents' topics",
    "topic_word_prior": "prior of topics' words",
}
LEAST_OF_INTERVALS = 20  # draws in all: the 5% and the 95% of fewer lie within their range
MOVING = 2.0  # standard deviations between the halves of a chain's draws


@dataclasses.dataclass(frozen=True)
class Verdict:
    """How far the chains of a run agree.

    Attributes:
        component: What a component is called.
        found: By how many chains each component was found.
        chains: The number of chains.
        threshold: The cosine above which two chains' components are the same.
        chance: The share of different components of one chain that exceed it.
        relations: Components that are not shared and that other chains have in two, or as part of one.
        quantities: Of each number that no order of the components changes: the chains' means, ``draws`` of
            each, ``rhat`` (NaN of one chain), the ``chance`` that so few draws may make of it where they have
            one law, ``ess``,
            and how many chains were ``moving``: the two halves of their draws lie apart.
        start: What the chains began at, where that was given: ``from`` where, in how many ``sets``.
        draws: Of all chains; None: not known.
    """

    component: str
    found: list[int]
    chains: int
    threshold: float
    chance: float
    relations: list[Relation]
    quantities: dict[str, dict[str, Any]]
    start: dict[str, Any] | None = None
    draws: int | None = None

    @property
    def shared(self) -> list[int]:
        """The components that enough chains have found."""
        return [place for place, number in enumerate(self.found) if number >= least_chains(self.chains)]

    @property
    def at_rest(self) -> bool:
        """Whether the chains agree, but for chance, in what no order of the components changes."""
        return not any(_differs(told) for told in self.quantities.values())

    def differs_in(self, name: str) -> bool:
        """Whether the chains differ in a number, by its name in ``quantities``; False where it is none."""
        return name in self.quantities and _differs(self.quantities[name])

    def to_dict(self) -> dict[str, Any]:
        """For JSON: an R-hat that is no number, such as that of one chain, is None."""
        relations = [relation._asdict() for relation in self.relations]
        quantities = {name: told | {"rhat": _finite(told["rhat"])} for name, told in self.quantities.items()}
        more = {"relations": relations, "shared": self.shared, "at_rest": self.at_rest}
        return dataclasses.asdict(self) | more | {"quantities": quantities}

    def __str__(self) -> str:
        return "\n".join(self._of_draws() + self._of_components() + self._of_start() + self._of_quantities())

    def _of_draws(self) -> list[str]:
        if self.draws is None or self.draws >= LEAST_OF_INTERVALS:
            return []
        if self.draws == 1:
            return [
                "There is but one draw: the intervals are that draw, and say nothing of how sure it is;"
                " fit for longer."
            ]
        return [
            f"There are but {self.draws} draws in all: of fewer than {LEAST_OF_INTERVALS} a 90% interval is"
            " too narrow; fit for longer."
        ]

    def _of_components(self) -> list[str]:
        name, number = self.component, len(self.found)
        if self.chains == 1:
            return [
                f"One chain: the intervals are its own. Another run may find other {name}s; several chains "
                "(fit --chains 4) say which."
            ]
        asked, others = least_chains(self.chains), sorted(set(range(number)).difference(self.shared))
        every = "both" if self.chains == 2 else f"all {self.chains}"
        by = every if asked == self.chains else f"at least {asked} of {self.chains}"
        lines = [f"{len(self.shared)} of {number} {name}s were found by {by} chains{self._of_intervals()}."]
        if others:
            told = ", ".join(f"{place} ({self.found[place]})" for place in others[:MOST_TOLD])
            if len(others) > MOST_TOLD:
                told += f" and {len(others) - MOST_TOLD:,} more"
            lines.append(
                f"Take the others as possibilities, without intervals; {name} (chains that found it): {told}."
            )
        relations = told_once(self.relations)
        lines += [self._of_relation(relation) for relation in relations[:MOST_TOLD]]
        if len(relations) > MOST_TOLD:
            lines.append(f"{len(relations) - MOST_TOLD:,} more are split or merged in other chains.")
        return lines

    def _of_intervals(self) -> str:
        """What may be said of the intervals of what is shared: of nothing, nothing."""
        if not self.shared or (self.draws is not None and self.draws < LEAST_OF_INTERVALS):
            return ""
        if not self.at_rest:
            return ": these are alike, though the chains differ in other numbers (below)"
        return ": their intervals hold for another run"

    def _of_relation(self, relation: Relation) -> str:
        name, number = self.component, relation.chains
        chains = f"{number} other chain" + ("s" if number > 1 else "")
        if relation.kind == "split":
            return f"{name.capitalize()} {relation.place} is two {name}s in {chains}."
        return f"{name.capitalize()}s {relation.place} and {relation.partner} are one {name} in {chains}."

    def _of_start(self) -> list[str]:
        if self.start is None or self.chains == 1:
            return []
        told, name = self.start["from"], self.component
        if self.start["sets"] < self.chains:
            return [
                f"The chains began at the same {name}s, of {told}: that they agree says nothing about chains"
                " that begin elsewhere."
            ]
        return [f"Each chain began at {name}s of its own, of {told}."]

    def _of_quantities(self) -> list[str]:
        lines = []
        for name, told in self.quantities.items():
            if told["rhat"] is None or told["rhat"] <= SAME:
                continue
            words = _PLAIN.get(name, name.replace("_", " "))
            between = max(told["means"]) - min(told["means"])
            if not _differs(told) and self.chains > 1:
                lines.append(
                    f"Too few draws to say whether the chains agree in their {words} (R-hat"
                    f" {_shown(told['rhat'])}; of {told['draws']} draws each up to {told['chance']:.2f} may"
                    " be chance); fit for longer."
                )
            elif told["moving"]:
                lines.append(
                    f"Not at rest: in {told['moving']} of {self.chains} chains the {words} is still on its "
                    "way; fit for longer, from a new start (fit --seconds)."
                )
            elif self.chains > 1:
                lines.append(
                    f"The chains rest in different places: their {words} differs by {between:,.3g} "
                    f"(R-hat {_shown(told['rhat'])})."
                )
        return lines


def _differs(told: dict[str, Any]) -> bool:
    """Whether chains differ in a number: by R-hat, and by more than few draws of one law may."""
    if told["rhat"] is None or told["rhat"] <= SAME:
        return False
    return told["rhat"] > told["chance"] or told["moving"] > 0


def _finite(rhat: float | None) -> float | None:
    return rhat if rhat is not None and np.isfinite(rhat) else None


def _shown(rhat: float) -> str:
    """R-hat for a person; of chains that hardly moved it is a number of no meaning, or infinite."""
    return f"{rhat:.2f}" if rhat < LARGEST_SHOWN else f"above {LARGEST_SHOWN}"


def verdict_of(
    agreed: Agreement, quantities: Mapping[str, Float[np.ndarray, "C N"]], component: str
) -> Verdict:
    """The verdict of a run.

    Args:
        agreed: How far its chains agree.
        quantities: Draws of numbers that no order of the components changes, by name.
        component: What a component is called.
    """
    return Verdict(
        component,
        [int(number) for number in agreed.found.sum(axis=0)],
        len(agreed.cosines),
        agreed.threshold,
        agreed.chance,
        agreed.relations,
        {name: _told(np.asarray(draws, np.float64)) for name, draws in quantities.items()},
        draws=min([int(np.prod(agreed.orders.shape[:2])), *map(np.size, quantities.values())]),
    )


def _by_chance(chains: int, draws: int) -> float:
    """The R-hat that independent normal draws of one law exceed in `BY_CHANCE` of runs: see `SAME`.

    Of the 2 C halves of n / 2 draws each, the ratio of the variance between them to that within has an F
    law, and R-hat^2 is 1 + (F - 1) / (n / 2).
    """
    halves, length = 2 * chains, max(draws // 2, 2)
    ratio = stats.f.ppf(1 - BY_CHANCE, halves - 1, halves * (length - 1))
    return float(np.sqrt(1 + (ratio - 1) / length))


def _told(draws: Float[np.ndarray, "C N"]) -> dict[str, Any]:
    enough = draws.shape[1] >= LEAST_DRAWS and np.ptp(draws) > 0
    first, second = np.array_split(draws, 2, axis=1)
    change = second.mean(axis=1) - first.mean(axis=1) if enough else np.zeros(len(draws))
    spread = np.hypot(first.std(axis=1), second.std(axis=1)) if enough else np.ones(len(draws))
    return {
        "means": [float(mean) for mean in draws.mean(axis=1)],
        "draws": draws.shape[1],
        "rhat": float(diagnostics.rhat(draws)) if enough else None,
        "chance": _by_chance(*draws.shape),
        "ess": float(diagnostics.ess(draws)) if enough else None,
        "moving": int((np.abs(change) > MOVING * spread).sum()),
    }
