"""The clusters' resultants, on the host or on a device, where the last step has left them."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class HeldResultants:
    """What holds them.

    Attributes:
        away: R, where the last step was taken on a device; None: R is here.
    """

    away: Float[Array, "M d"] | None = None
    _resultants: Float[np.ndarray, "..."]

    @property
    def resultants(self) -> Float[np.ndarray, "..."]:
        """R, here to be read and changed: brought home from a device if it was there."""
        if self.away is not None:
            self._resultants, self.away = np.array(self.away), None
        return self._resultants

    @resultants.setter
    def resultants(self, values: Float[np.ndarray, "..."]) -> None:
        self._resultants, self.away = values, None

    def sums_away(self) -> Float[Array, "M d"]:
        """R for a step on a device, which leaves it there: see `away`."""
        return jnp.asarray(self._resultants) if self.away is None else self.away
