"""Gradients of the log density, exact or from minibatches, and the variance of their noise."""

from geodrift.estimators._base import Estimator as Estimator
from geodrift.estimators._control_variate import ControlVariate as ControlVariate
from geodrift.estimators._full import Full as Full
from geodrift.estimators._likelihood import Rows as Rows
from geodrift.estimators._minibatch import Minibatch as Minibatch
from geodrift.estimators._minibatch_sum import MinibatchSum as MinibatchSum
from geodrift.estimators._minibatch_sum import Reference as Reference
from geodrift.estimators._mode import find_mode as find_mode
from geodrift.estimators._noise_ratio import noise_ratio as noise_ratio
from geodrift.estimators._saga import SAGA as SAGA
from geodrift.estimators._svrg import SVRG as SVRG

__all__ = [
    "SAGA",
    "SVRG",
    "ControlVariate",
    "Estimator",
    "Full",
    "Minibatch",
    "MinibatchSum",
    "Reference",
    "Rows",
    "find_mode",
    "noise_ratio",
]
