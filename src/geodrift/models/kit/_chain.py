"""A chain of a model: a chain on the host that tells what it samples."""

from geodrift.driver import HostChain, Shares
from geodrift.models.kit._settings import ModelSettings


class ModelChain(HostChain):
    """One chain of a model.

    Attributes:
        settings: What is sampled, with every default resolved.
        counted_length: What a dimension whose length differs from draw to draw is counted as, before a run
            begins, when what it will need is told.
    """

    settings: ModelSettings
    counted_length: int = 1

    @property
    def shares(self) -> Shares:  # type: ignore[override]
        """How the settings divide a run in warm-up and draws."""
        return self.settings.shares
