"""A chain of a model: a chain on the host that tells what it samples."""

from geodrift.driver import HostChain
from geodrift.models.kit._settings import ModelSettings


class ModelChain(HostChain):
    """One chain of a model.

    Attributes:
        settings: What is sampled, with every default resolved.
    """

    settings: ModelSettings
