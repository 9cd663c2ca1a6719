"""Diffusions whose transitions are known: exact moves over any time, in JAX and by compiled CPU kernels.

The ``host_`` forms have the law of the JAX functions of the same names and take the same arguments; they are
NumPy in float64 and run outside jit.
"""

from geodrift.processes._exact import cox_ingersoll_ross as cox_ingersoll_ross
from geodrift.processes._exact import log_simplex as log_simplex
from geodrift.processes._exact import ornstein_uhlenbeck as ornstein_uhlenbeck
from geodrift.processes._host import host_cox_ingersoll_ross as host_cox_ingersoll_ross
from geodrift.processes._host import host_ornstein_uhlenbeck as host_ornstein_uhlenbeck

__all__ = [
    "cox_ingersoll_ross",
    "host_cox_ingersoll_ross",
    "host_ornstein_uhlenbeck",
    "log_simplex",
    "ornstein_uhlenbeck",
]
