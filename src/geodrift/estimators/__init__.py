"""Gradients of the log density, exact or from minibatches, and the variance of their noise."""

from geodrift.estimators._base import Estimator as Estimator
from geodrift.estimators._control_variate import ControlVariate as ControlVariate
from geodrift.estimators._full import Full as Full
from geodrift.estimators._minibatch import Minibatch as Minibatch
from geodrift.estimators._minibatch_sum import MinibatchSum as MinibatchSum
from geodrift.estimators._minibatch_sum import Reference as Reference

__all__ = ["ControlVariate", "Estimator", "Full", "Minibatch", "MinibatchSum", "Reference"]
