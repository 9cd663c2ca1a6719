"""Charts with a Riemannian metric, for samplers that move with position-dependent steps."""

from geodrift.metrics._base import Metric as Metric
from geodrift.metrics._base import divergence as divergence
from geodrift.metrics._constant import Constant as Constant
from geodrift.metrics._constant import ConstantDense as ConstantDense
from geodrift.metrics._dense import Dense as Dense
from geodrift.metrics._diagonal import Diagonal as Diagonal
from geodrift.metrics._diagonal import DiagonalMetric as DiagonalMetric
from geodrift.metrics._expanded import ExpandedMean as ExpandedMean
from geodrift.metrics._expanded import ExpandedNatural as ExpandedNatural
from geodrift.metrics._reduced import ReducedMean as ReducedMean
from geodrift.metrics._reduced import ReducedNatural as ReducedNatural
from geodrift.metrics._rmsprop import RMSProp as RMSProp
from geodrift.metrics._simplex import SimplexMetric as SimplexMetric

__all__ = [
    "Constant",
    "ConstantDense",
    "Dense",
    "Diagonal",
    "DiagonalMetric",
    "ExpandedMean",
    "ExpandedNatural",
    "Metric",
    "RMSProp",
    "ReducedMean",
    "ReducedNatural",
    "SimplexMetric",
    "divergence",
]
