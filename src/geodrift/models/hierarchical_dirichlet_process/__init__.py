"""Hierarchical Dirichlet processes: topics of documents, as many as these ask for (Teh et al. 2006)."""

from typing import TYPE_CHECKING

from geodrift._lazy import lazy

if TYPE_CHECKING:
    from geodrift.models.hierarchical_dirichlet_process._chain import Chain as Chain
    from geodrift.models.hierarchical_dirichlet_process._facade import (
        HierarchicalDirichletProcess as HierarchicalDirichletProcess,
    )
    from geodrift.models.hierarchical_dirichlet_process._settings import Settings as Settings

__getattr__, __all__ = lazy(__name__, __file__)
