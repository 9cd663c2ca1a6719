"""NumPyro's handlers that give a plate its indices and sites of improper laws their values."""

from collections.abc import Callable
from typing import Any

import jax
from jaxtyping import Array

from geodrift._types import RandomKey
from geodrift.manifolds import Sphere


def batch_handler(numpyro: Any) -> Any:
    """A handler that gives one plate its indices, however many the model asks for."""

    class Batch(numpyro.primitives.Messenger):
        def __init__(self, fn: Callable[..., Any], plate: str, index: Array) -> None:
            self.plate, self.index = plate, index
            super().__init__(fn)

        def process_message(self, msg: dict[str, Any]) -> None:
            if msg["type"] == "plate" and msg["name"] == self.plate:
                msg["args"] = (msg["args"][0], self.index.shape[0])
                msg["value"] = self.index

    return Batch


def improper_handler(numpyro: Any) -> Any:
    """A handler that gives sites of improper laws, which cannot be sampled, a value of their support."""
    distributions = numpyro.distributions

    class Improper(numpyro.primitives.Messenger):
        def process_message(self, msg: dict[str, Any]) -> None:
            if msg["type"] != "sample" or msg["value"] is not None:
                return
            if isinstance(innermost(msg["fn"]), distributions.ImproperUniform):
                msg["value"] = _point_of(distributions, msg["fn"], msg["kwargs"]["rng_key"])

    return Improper


def _point_of(distributions: Any, law: Any, key: RandomKey) -> Array:
    """A point of a law's support: a random direction on the sphere, else the image of numbers up to 2."""
    support, shape = law.support, law.shape()
    if kind_of(support) == distributions.constraints.sphere:
        return Sphere(shape[-1]).random_point(key, shape[:-1])
    transform = distributions.biject_to(support)
    return transform(jax.random.uniform(key, transform.inverse_shape(shape), minval=-2.0, maxval=2.0))


def innermost(law: Any) -> Any:
    """A law without what is around it: batches that were taken into its event or repeated, masks."""
    while hasattr(law, "base_dist"):
        law = law.base_dist
    return law


def kind_of(support: Any) -> Any:
    """A support without the batch axes of a distribution that were taken into its event."""
    while hasattr(support, "base_constraint"):
        support = support.base_constraint
    return support
