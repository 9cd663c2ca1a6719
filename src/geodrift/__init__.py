"""Bayesian inference from minibatches on spheres, simplices and other constrained spaces."""

import importlib
from typing import Any

from geodrift import diagnostics as diagnostics
from geodrift import driver as driver
from geodrift import estimators as estimators
from geodrift import integrators as integrators
from geodrift import manifolds as manifolds
from geodrift import metrics as metrics
from geodrift import processes as processes
from geodrift import recipe as recipe
from geodrift import samplers as samplers
from geodrift import schedules as schedules
from geodrift import tuning as tuning
from geodrift._errors import InputError as InputError
from geodrift._errors import Result as Result
from geodrift._errors import RunWarning as RunWarning
from geodrift._errors import SamplingError as SamplingError
from geodrift._jax_release import refuse_wrong_release
from geodrift.driver import Draws as Draws
from geodrift.driver import HostData as HostData
from geodrift.driver import PerChain as PerChain
from geodrift.driver import load as load
from geodrift.driver import sample as sample

__version__ = "0.1.0"

refuse_wrong_release()

# Loaded on first use: they import scikit-learn, numba and zarr, which take seconds.
_LAZY_MODULES = ("data", "distributions", "models", "numpyro", "plots", "report")

__all__ = [
    "Draws",
    "HostData",
    "InputError",
    "PerChain",
    "Result",
    "RunWarning",
    "SamplingError",
    "__version__",
    "data",
    "diagnostics",
    "distributions",
    "driver",
    "estimators",
    "integrators",
    "load",
    "manifolds",
    "metrics",
    "models",
    "numpyro",
    "plots",
    "processes",
    "recipe",
    "report",
    "sample",
    "samplers",
    "schedules",
    "tuning",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY_MODULES:
        return importlib.import_module(f"geodrift.{name}")
    raise AttributeError(f"module 'geodrift' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
