"""Figures of a report on matplotlib, for papers: each draws on axes that it is given or makes.

Install with ``pip install "geodrift[plots]"``.
"""

from typing import TYPE_CHECKING

from geodrift._lazy import lazy

if TYPE_CHECKING:
    from geodrift.plots._component_map import component_map as component_map
    from geodrift.plots._document import document as document
    from geodrift.plots._effects import effects as effects
    from geodrift.plots._sizes import sizes as sizes
    from geodrift.plots._traces import traces as traces
    from geodrift.plots._words import words as words

__getattr__, __all__ = lazy(__name__, __file__)
