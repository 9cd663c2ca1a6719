"""What models answer whose draws differ in their number of components, and store their sizes."""

from typing import Any, ClassVar

import numpy as np

from geodrift.driver import Run
from geodrift.models.clusters._law_of_number import law_of_number, numbers_text
from geodrift.models.kit import _places
from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._answers import Findings
from geodrift.models.kit._component_answers import ComponentAnswers
from geodrift.models.kit._tables import paragraphs
from geodrift.models.kit._verdict import Verdict


class CountedAnswers(ComponentAnswers):
    """Of components whose variables are those of `kit._places`, where it is said which are told of.

    Attributes:
        counted_data: What components are shares of, in the singular.
    """

    counted_data: ClassVar[str] = "row"

    def number_is_given(self, run: Run) -> bool:
        """Whether the number of components is given, and all are told of."""
        del run
        return False

    def _aligned(self, run: Run) -> tuple[dict[str, np.ndarray], Agreement]:
        posterior, component = run.draws["posterior"].to_dataset(), self.model.component
        draws = {name: posterior[name].values for name in _places.variables(component)}
        return _places.told(draws, self.number_is_given(run), component=component)

    def summarise(self, run: Run, top: int) -> Findings:
        """Each component's words and share of the data, and how many components there are."""
        found, posterior = super().summarise(run, top), run.draws["posterior"].to_dataset()
        name = f"number_of_{self.model.component}s"
        above = _places.numbers_above(posterior[self.sizes].values)
        every = law_of_number(posterior[name].values, name, data=self.counted_data)
        large = law_of_number(above, f"{name}_above", _places.LEAST_SHARE, self.counted_data)
        return found._replace(numbers=[every, large])

    def verdict(self, run: Run) -> Verdict:
        """How far the chains agree on the components that are told of, and on every number of a draw."""
        return self._verdict(run, self.aligned(run)[1])

    def summary_text(self, found: Findings) -> str:
        """How many components there are, the verdict, and one table a component."""
        return f"{paragraphs(self._number_of_them(found))}\n\n{super().summary_text(found)}"

    def summary_lines(self, found: Findings, width: int) -> str:
        """How many components there are, and a few lines each."""
        return f"{paragraphs(self._number_of_them(found), width)}\n\n{super().summary_lines(found, width)}"

    def _number_of_them(self, found: Findings) -> str:
        return numbers_text(found.numbers, self.model.component, found.verdict)

    def to_datatree(self, run: Run) -> Any:
        """The components that are told of, in one order, beside all numbers of the draws."""
        return _places.datatree_of_told(run, *self.aligned(run), self.model.component)
