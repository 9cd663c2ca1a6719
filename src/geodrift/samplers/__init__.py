"""Markov kernels: ``init(key, position) -> state`` and ``step(key, state, batch) -> (state, info)``."""

from geodrift._errors import Result as Result
from geodrift._types import Shared as Shared
from geodrift.samplers._base import Sampler as Sampler
from geodrift.samplers._base import StepInfo as StepInfo
from geodrift.samplers._gmc import GMC as GMC
from geodrift.samplers._gmc import GMCState as GMCState
from geodrift.samplers._gsgnht import GSGNHT as GSGNHT
from geodrift.samplers._gsgnht import GSGNHTState as GSGNHTState
from geodrift.samplers._hmc import HMC as HMC
from geodrift.samplers._preconditioned_sgld import PreconditionedSGLD as PreconditionedSGLD
from geodrift.samplers._preconditioned_sgld import PreconditionedSGLDState as PreconditionedSGLDState
from geodrift.samplers._replica_exchange import ReplicaExchange as ReplicaExchange
from geodrift.samplers._replica_exchange import ReplicaExchangeState as ReplicaExchangeState
from geodrift.samplers._rmhmc import RMHMC as RMHMC
from geodrift.samplers._rmhmc import RMHMCState as RMHMCState
from geodrift.samplers._rmld import RMLD as RMLD
from geodrift.samplers._rmld import RMLDState as RMLDState
from geodrift.samplers._scir import SCIR as SCIR
from geodrift.samplers._scir import ExponentialOU as ExponentialOU
from geodrift.samplers._scir import HostSCIR as HostSCIR
from geodrift.samplers._scir import SCIRState as SCIRState
from geodrift.samplers._sgfs import SGFS as SGFS
from geodrift.samplers._sgfs import SGFSState as SGFSState
from geodrift.samplers._sggmc import SGGMC as SGGMC
from geodrift.samplers._sggmc import SGGMCState as SGGMCState
from geodrift.samplers._sghmc import SGHMC as SGHMC
from geodrift.samplers._sgld import SGLD as SGLD
from geodrift.samplers._sgld import SGLDState as SGLDState
from geodrift.samplers._sgnht import SGNHT as SGNHT
from geodrift.samplers._sgrhmc import SGRHMC as SGRHMC
from geodrift.samplers._sgrhmc import SGRHMCState as SGRHMCState
from geodrift.samplers._sgrld import SGRLD as SGRLD

__all__ = [
    "GMC",
    "GSGNHT",
    "HMC",
    "RMHMC",
    "RMLD",
    "SCIR",
    "SGFS",
    "SGGMC",
    "SGHMC",
    "SGLD",
    "SGNHT",
    "SGRHMC",
    "SGRLD",
    "ExponentialOU",
    "GMCState",
    "GSGNHTState",
    "HostSCIR",
    "PreconditionedSGLD",
    "PreconditionedSGLDState",
    "RMHMCState",
    "RMLDState",
    "ReplicaExchange",
    "ReplicaExchangeState",
    "Result",
    "SCIRState",
    "SGFSState",
    "SGGMCState",
    "SGLDState",
    "SGRHMCState",
    "Sampler",
    "Shared",
    "StepInfo",
]
