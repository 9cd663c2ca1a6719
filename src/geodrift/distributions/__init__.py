"""Probability laws on constrained spaces.

``log_normaliser`` and ``mean_resultant_length`` are JAX functions in JAX's current precision. Their
``host_`` forms are NumPy, in float64 whether or not JAX's 64-bit mode is on.
"""

from geodrift.distributions._host import fit as fit
from geodrift.distributions._host import host_concentration as host_concentration
from geodrift.distributions._host import host_log_normaliser as host_log_normaliser
from geodrift.distributions._host import host_mean_resultant_length as host_mean_resultant_length
from geodrift.distributions._host import (
    host_mean_resultant_length_derivative as host_mean_resultant_length_derivative,
)
from geodrift.distributions._host_sample import host_sample as host_sample
from geodrift.distributions._von_mises_fisher import VonMisesFisher as VonMisesFisher
from geodrift.distributions._von_mises_fisher import log_normaliser as log_normaliser
from geodrift.distributions._von_mises_fisher import mean_resultant_length as mean_resultant_length
from geodrift.distributions._von_mises_fisher import sample as sample
