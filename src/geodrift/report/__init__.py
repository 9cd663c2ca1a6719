"""A report of a fitted model in one HTML file, made of plain data: `Report` knows no model."""

from typing import TYPE_CHECKING

from geodrift._lazy import lazy

if TYPE_CHECKING:
    from geodrift.report._data import ComponentMap as ComponentMap
    from geodrift.report._data import Documents as Documents
    from geodrift.report._data import Entry as Entry
    from geodrift.report._data import Prevalence as Prevalence
    from geodrift.report._data import Report as Report
    from geodrift.report._ladder import LadderReport as LadderReport
    from geodrift.report._save import refuse_foreign as refuse_foreign
    from geodrift.report._tables import Table as Table

__getattr__, __all__ = lazy(__name__, __file__)
