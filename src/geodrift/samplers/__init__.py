"""Markov kernels: ``init(key, position) -> state`` and ``step(key, state, batch) -> (state, info)``."""

from geodrift._errors import Result as Result
from geodrift.samplers._base import Sampler as Sampler
from geodrift.samplers._base import StepInfo as StepInfo
from geodrift.samplers._gmc import GMC as GMC
from geodrift.samplers._gmc import GMCState as GMCState
from geodrift.samplers._gsgnht import GSGNHT as GSGNHT
from geodrift.samplers._gsgnht import GSGNHTState as GSGNHTState
from geodrift.samplers._sggmc import SGGMC as SGGMC
from geodrift.samplers._sggmc import SGGMCState as SGGMCState

__all__ = ["GMC", "GSGNHT", "SGGMC", "GMCState", "GSGNHTState", "Result", "SGGMCState", "Sampler", "StepInfo"]
