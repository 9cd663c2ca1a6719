"""A chain of a model: a chain on the host that tells what it samples."""

from geodrift.driver import HostChain, Shares
from geodrift.models.kit._settings import ModelSettings


class ModelChain(HostChain):
    """One chain of a model.

    Attributes:
        settings: What is sampled, with every default resolved.
    """

    settings: ModelSettings

    @property
    def shares(self) -> Shares:  # type: ignore[override]
        """How the settings divide a run in warm-up and draws."""
        return self.settings.shares
