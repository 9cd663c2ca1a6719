r"""Step sizes of the topics' moves as functions of the step count.

The step sizes of all methods follow from one schedule: the share h of the topics that a step renews. For
first-order moves of gammas on the posterior, h is the time itself. By default h falls until the noise of the
scaled counts, which multiplies the variance of a count by 1 + tanh(h/2) D/B, adds a twentieth, and stays
there.
"""

import math

import jax.numpy as jnp
import numpy as np

from geodrift.models.latent_dirichlet_allocation._settings import Settings
from geodrift.schedules import PolynomialDecay

_CHUNK = 1024
SCHEDULE = (3.0, 5.0, 0.85)  # a, b, c of a (b + t)^-c
LEAST = 0.1  # least h, in units of B / D: h/2 D/B = 1/20
# Largest h with gammas on the prior, where a topic w times as large as the mean moves w times as fast.
MOST_ON_PRIOR = 0.2
# About the share of a topic's tokens that its commonest word has; in logs an entry moves as fast as its
# shape.
LARGEST_SHARE = 0.05


class TopicSteps:
    """Step sizes and friction of one method.

    Args:
        settings: ``step_size`` gives (a, b, c) of the method's own step size; None the default schedule.
        num_words: V.
        tokens: Mean number of tokens of a topic.
    """

    def __init__(self, settings: Settings, num_words: int, tokens: float) -> None:
        self.own, method = settings.step_size, settings.method
        self.schedule = PolynomialDecay(*(jnp.asarray(x) for x in self.own or SCHEDULE))
        self.has_momenta, self.in_logs = method in ("sgrhmc", "sghmc"), method in ("sgld", "sghmc")
        on_prior = not self.in_logs and settings.gammas_on == "prior"
        self.most, self.on_prior = MOST_ON_PRIOR if on_prior else math.inf, on_prior
        self.prior = settings.topic_word_prior * num_words
        self.values: tuple[int, np.ndarray] = (-1, np.zeros(0))
        self.follow(tokens)

    def follow(self, tokens: float) -> None:
        """Take the mean number of tokens of a topic, which in a stream grows."""
        self.gain = self.friction = 1.0
        if self.in_logs:
            self.gain = 1.0 + LARGEST_SHARE * tokens
            self.friction = math.sqrt(self.gain)
        elif self.on_prior:
            self.gain = 1.0 + tokens / self.prior
            self.friction = self.gain**1.5  # theta is gain times smaller, and the time root gain

    def share(self, count: int, batches: float) -> float:
        """The share h of the topics that the step after ``count`` steps renews; ``batches`` is D / B."""
        value = self._value(count)
        if self.own is None:
            return min(self.most, max(value, LEAST / batches))
        return self.gain * (0.5 * value * value if self.has_momenta else value)

    def size(self, share: float) -> float:
        """The method's own step size, time, for a share h."""
        time = share / self.gain
        return math.sqrt(2.0 * time) if self.has_momenta else time

    def _value(self, count: int) -> float:
        chunk, place = divmod(count, _CHUNK)
        if self.values[0] != chunk:
            # Many at once: a call of JAX takes as long as a small step.
            counts = jnp.arange(chunk * _CHUNK, (chunk + 1) * _CHUNK)
            self.values = (chunk, np.asarray(self.schedule(counts)))
        return float(self.values[1][place])
