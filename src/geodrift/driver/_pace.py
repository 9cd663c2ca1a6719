"""The number of steps in a chunk, which follows the clock; no draw depends on it."""

CHUNK_SECONDS = 0.5


class Pace:
    """How many steps to put in a chain's next chunk so that it takes about `CHUNK_SECONDS`."""

    def __init__(self) -> None:
        self.steps = 1

    def learn(self, steps: int, seconds: float) -> None:
        """Take account of a chunk; one that was cut short says nothing of longer ones."""
        factor = CHUNK_SECONDS / max(seconds, 1e-9)
        if factor < 1 or steps >= self.steps:
            self.steps = max(1, int(steps * min(8.0, max(0.25, factor))))
