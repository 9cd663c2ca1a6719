"""What replica exchange can be made of."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from geodrift._errors import is_concrete
from geodrift._whole import is_whole
from geodrift.estimators import Full
from geodrift.samplers._sgfs import SGFS
from geodrift.schedules import Automatic


def check_replicas(exchange: Any) -> None:
    """Raise ValueError where an argument of `ReplicaExchange` is outside its range.

    Args:
        exchange: With the arguments as its fields.
    """
    t = exchange.temperatures
    if t.ndim != 1 or t.shape[0] < 2:
        raise ValueError(f"temperatures has shape {t.shape}: must be a list of 2 or more")
    if is_concrete(t) and not (t[0] == 1 and jnp.all(jnp.diff(t) > 0)):
        raise ValueError(f"temperatures = {t}: must begin with 1 and increase")
    if not is_whole(exchange.swap_every, 1):
        raise ValueError(f"swap_every = {exchange.swap_every!r}: must be a whole number of steps, 1 or more")
    if isinstance(exchange.difference_variance, str) and exchange.difference_variance != "sample":
        raise ValueError(
            f"difference_variance = {exchange.difference_variance!r}: must be a number, 'sample' or None"
        )
    given = exchange.difference_variance
    if isinstance(given, Array) and is_concrete(given) and not bool(given >= 0):
        raise ValueError(f"difference_variance = {given}: must be 0 or more: it is a variance")
    if isinstance(getattr(exchange.sampler, "step_size", None), Automatic):
        raise ValueError(
            "step_size = None: no step size is found for replicas; give the sampler a number, such as"
            " that of geodrift.tuning.tune(...) at temperature 1"
        )
    if isinstance(exchange.sampler, SGFS):
        raise ValueError(
            "sampler = SGFS: its noise is that of each datum's gradient at temperature 1, and it has no"
            " other temperatures; give SGLD, SGHMC or GMC"
        )
    if isinstance(exchange.estimator, Full):
        return
    if not hasattr(exchange.estimator, "log_likelihood"):
        raise ValueError(
            f"estimator = {type(exchange.estimator).__name__}: an exchange needs energies, and this has no"
            " values; give Full, Minibatch or ControlVariate"
        )
    if exchange.difference_variance is None and not exchange.all_data:
        raise ValueError(
            "difference_variance = None: the energies of minibatches are noisy, and an exchange that does"
            " not know by how much is biased; give 'sample' or the variance"
        )
