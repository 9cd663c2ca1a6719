"""Does the chain have the right law, and how many independent draws is it worth?"""

from geodrift._convergence import ess as ess
from geodrift._convergence import mcse as mcse
from geodrift._convergence import rhat as rhat
from geodrift.diagnostics._gradient_noise import GradientNoiseRatio as GradientNoiseRatio
from geodrift.diagnostics._gradient_noise import gradient_noise_ratio as gradient_noise_ratio
from geodrift.diagnostics._stein import kernel_stein_discrepancy as kernel_stein_discrepancy
from geodrift.diagnostics._step_halving import StepHalving as StepHalving
from geodrift.diagnostics._step_halving import step_halving as step_halving
from geodrift.diagnostics._temperature import configurational_temperature as configurational_temperature
from geodrift.diagnostics._temperature import kinetic_temperature as kinetic_temperature

__all__ = [
    "GradientNoiseRatio",
    "StepHalving",
    "configurational_temperature",
    "ess",
    "gradient_noise_ratio",
    "kernel_stein_discrepancy",
    "kinetic_temperature",
    "mcse",
    "rhat",
    "step_halving",
]
