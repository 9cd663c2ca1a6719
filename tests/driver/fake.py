"""A small chain whose draws depend on every step, so that a lost or repeated step shows."""

import math
import time

import numpy as np

from geodrift.driver import HostChain, Shares, ShownMetric, Variable


class Fixed(Shares):
    """A warm-up of four steps and every third step stored, however long the run."""

    def plan(self, total):
        from geodrift.driver import Plan

        return Plan.of_steps(total, 4, 3)


def shares_of(run):
    """By which `--steps` gives a run's draws: the part that is warm-up, and how many draws are stored."""
    plan = run.config["plan"]
    return Shares(math.ceil(1000 * plan["warm_up"] / plan["total"]) / 1000, run.num_draws)


class FakeChain(HostChain):
    """A random walk; step n draws from the stream (seed, chain, n). The length of ``tail`` varies."""

    shown_metrics = (ShownMetric("kinetic_temperature", "kinetic T {:.3f}"), ShownMetric("never", "never {}"))

    def __init__(self, seed=0, chain=0, topics=2, words=5, pause=0.0, shares=None):
        self.seed, self.chain, self.pause = seed, chain, pause
        self.shares = Fixed() if shares is None else shares
        self.position = np.zeros((topics, words), dtype=np.float32)

    @property
    def variables(self):
        return {
            "topics": Variable(("topic", "word"), self.position.shape, "float32"),
            "level": Variable((), (), "float32"),
            "tail": Variable(("piece",), (None,), "float64"),
        }

    def step(self):
        time.sleep(self.pause)
        rng = np.random.default_rng([self.seed, self.chain, self.count])
        noise = rng.standard_normal(self.position.shape, dtype=np.float32)
        self.position = np.float32(0.9) * self.position + noise
        self.count += 1

    def draw(self):
        tail = np.arange(1 + self.count % 4) + self.count
        return {"topics": self.position.copy(), "level": self.position.mean(), "tail": tail}

    def metrics(self, outcomes):
        assert outcomes
        return {"kinetic_temperature": float(self.position.var()), "never": float("nan")}

    def state(self):
        return {"position": self.position, "count": np.array(self.count)}

    def restore(self, arrays):
        self.position, self.count = arrays["position"].copy(), int(arrays["count"])


class CountingChain(HostChain):
    """Its draws are the numbers of steps so far."""

    shares = Shares(num_draws=100)

    @property
    def variables(self):
        return {"count": Variable((), (), "int64")}

    def step(self):
        self.count += 1

    def draw(self):
        return {"count": np.array(self.count)}

    def metrics(self, outcomes):
        return {}

    def state(self):
        return {"count": np.array(self.count)}

    def restore(self, arrays):
        self.count = int(arrays["count"])
