"""What every model is made with: its specification, its chains in a run, and its answers."""

from typing import TYPE_CHECKING

from geodrift._lazy import lazy

if TYPE_CHECKING:
    from geodrift.models.kit._allowed import Between as Between
    from geodrift.models.kit._allowed import Numbers as Numbers
    from geodrift.models.kit._allowed import OneOf as OneOf
    from geodrift.models.kit._allowed import Share as Share
    from geodrift.models.kit._allowed import Whole as Whole
    from geodrift.models.kit._allowed import WholeOr as WholeOr
    from geodrift.models.kit._allowed import YesNo as YesNo
    from geodrift.models.kit._answers import Answers as Answers
    from geodrift.models.kit._by_processes import supervised as supervised
    from geodrift.models.kit._chain import ModelChain as ModelChain
    from geodrift.models.kit._chain import doubts_of as doubts_of
    from geodrift.models.kit._comparison import Comparison as Comparison
    from geodrift.models.kit._document_weights import weight_blocks as weight_blocks
    from geodrift.models.kit._facade import Facade as Facade
    from geodrift.models.kit._held_out import HeldOutScore as HeldOutScore
    from geodrift.models.kit._memory import needs_of as needs_of
    from geodrift.models.kit._model import Model as Model
    from geodrift.models.kit._model import Summary as Summary
    from geodrift.models.kit._runs import corpus_of as corpus_of
    from geodrift.models.kit._runs import create_run as create_run
    from geodrift.models.kit._runs import document_frequencies as document_frequencies
    from geodrift.models.kit._runs import document_rows as document_rows
    from geodrift.models.kit._runs import fit as fit
    from geodrift.models.kit._runs import make_chains as make_chains
    from geodrift.models.kit._runs import start_of as start_of
    from geodrift.models.kit._settings import ModelSettings as ModelSettings
    from geodrift.models.kit._settings import Setting as Setting
    from geodrift.models.kit._settings import setting as setting
    from geodrift.models.kit._verified import damage_of_corpus as damage_of_corpus
    from geodrift.models.kit._verified import damage_of_run as damage_of_run
    from geodrift.models.kit._verified import repair_run as repair_run

__getattr__, __all__ = lazy(__name__, __file__)
