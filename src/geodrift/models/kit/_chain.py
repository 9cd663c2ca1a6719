"""A chain of a model: a chain on the host that tells what it samples."""

import abc
from typing import Any

from geodrift.driver import HostChain


class ModelChain(HostChain):
    """One chain of a model."""

    @property
    @abc.abstractmethod
    def config(self) -> dict[str, Any]:
        """What is sampled, for JSON: ``settings`` with every default resolved, the seed, sizes."""
