"""Whether what is given to `geodrift.sample` as a sampler is one, made of what it is to be made of."""

from types import FunctionType
from typing import Any

from geodrift.manifolds import Manifold
from geodrift.samplers import Sampler


def check_sampler(sampler: Any) -> None:
    """Raise ValueError unless it is a sampler on a manifold, with an estimator, that can be compiled."""
    if not isinstance(sampler, Sampler):
        raise ValueError(
            f"sampler = {sampler!r}: give a sampler, made of an estimator and a manifold, such as"
            " geodrift.samplers.SGGMC(estimator, manifold, step_size=None)"
        )
    if sampler.runs_on_host:
        raise ValueError(
            f"sampler = {type(sampler).__name__}: its steps run on the host and cannot be compiled: call"
            " sampler.init and sampler.step in a loop of your own, or give the compiled sampler (SCIR)"
        )
    manifold, estimator = getattr(sampler, "manifold", None), getattr(sampler, "estimator", None)
    if not isinstance(manifold, Manifold):
        raise ValueError(
            f"manifold = {manifold!r}: give a manifold, such as geodrift.manifolds.Sphere(3), or a Product of"
            " a tree of them"
        )
    if isinstance(estimator, FunctionType):
        raise ValueError(
            f"estimator = {estimator!r}: a log density goes into geodrift.estimators.Full, a log likelihood"
            " and a log prior into Minibatch"
        )
