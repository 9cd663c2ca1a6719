"""Does the chain have the right law, and how many independent draws is it worth?"""

from geodrift.diagnostics._convergence import ess as ess
from geodrift.diagnostics._convergence import mcse as mcse
from geodrift.diagnostics._convergence import rhat as rhat
from geodrift.diagnostics._temperature import configurational_temperature as configurational_temperature
from geodrift.diagnostics._temperature import kinetic_temperature as kinetic_temperature

__all__ = ["configurational_temperature", "ess", "kinetic_temperature", "mcse", "rhat"]
