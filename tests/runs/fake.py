"""A small engine whose draws depend on every step, so that a lost or repeated step shows."""

import time
from typing import NamedTuple

import numpy as np


class Progress(NamedTuple):
    count: int
    total: int
    phase: str
    metrics: dict
    draws: list


class FakeEngine:
    """A random walk; step n draws from the stream (seed, chain, n)."""

    def __init__(self, seed=0, chain=0, topics=2, words=5, warm_up=4, thin=3, chunk=2, pause=0.0):
        self.config = {"model": "fake"}
        self.seed, self.chain, self.warm_up, self.thin, self.chunk, self.pause = (
            seed,
            chain,
            warm_up,
            thin,
            chunk,
            pause,
        )
        self.count, self.total = 0, 0
        self.position = np.zeros((topics, words), dtype=np.float32)

    def plan(self, *, seconds=None, steps=None):
        self.total += int(seconds * 1000) if steps is None else steps

    def plan_dict(self):
        return {"total": self.total, "warm_up": self.warm_up, "thin": self.thin}

    def advance(self):
        if self.count >= self.total:
            return None
        draws = []
        for _ in range(min(self.chunk, self.total - self.count)):
            time.sleep(self.pause)
            rng = np.random.default_rng([self.seed, self.chain, self.count])
            noise = rng.standard_normal(self.position.shape, dtype=np.float32)
            self.position = np.float32(0.9) * self.position + noise
            self.count += 1
            if self.count > self.warm_up and (self.count - self.warm_up) % self.thin == 0:
                draws.append({"topics": self.position.copy(), "level": self.position.mean()})
        phase = "warm-up" if self.count <= self.warm_up else "sampling"
        metrics = {"kinetic_temperature": float(self.position.var()), "held_out_log_perplexity": float("nan")}
        return Progress(self.count, self.total, phase, metrics, draws)

    def state(self):
        return {"position": self.position, "count": np.array(self.count), "total": np.array(self.total)}

    def snapshot(self):
        return {"last": self.position.copy()}

    def restore(self, arrays):
        self.position = arrays["position"].copy()
        self.count, self.total = int(arrays["count"]), int(arrays["total"])
