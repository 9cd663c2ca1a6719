"""What the two benchmarks of this folder share: runs by the command itself, and what they found."""

import json
import subprocess
import sys
import time

import numpy as np

from geodrift.driver import Run
from geodrift.models import model_of
from geodrift.models.kit._alignment import directions_of
from geodrift.models.kit._next_draw import next_draw_intervals

SAME = 0.8  # cosine of directions above which an estimate is of a true topic, or of another run's


def fit(*arguments):
    """Run `geodrift`; the seconds it took."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "geodrift_command", *map(str, arguments)], check=True, text=True)
    return time.monotonic() - began


class Found:
    """The topics of a run."""

    def __init__(self, path):
        run = Run.open(path)
        answers = model_of(run).answers()
        draws, self.agreed = answers.aligned(run)
        self.to_directions = directions_of(answers.signed)
        self.draws = draws["topics"]
        self.num_topics = self.draws.shape[2]
        means = self.to_directions(np.stack([self.of(k).mean(axis=(0, 1)) for k in range(self.num_topics)]))
        self.means = means / np.linalg.norm(means, axis=1, keepdims=True)

    def of(self, topic):
        """Its draws by the chains that found it, [chain, draw, word]."""
        return self.draws[self.agreed.found[:, topic], :, topic]

    def interval(self, topic, words):
        """Ends of the 90% intervals of some words, on the scale of directions."""
        return next_draw_intervals(self.to_directions(self.of(topic)), words)

    def relative_width(self, topic, words):
        """Median width over that of the intervals of single chains."""
        low, high = self.interval(topic, words)
        ends = np.quantile(self.to_directions(self.of(topic))[:, :, words], [0.05, 0.95], axis=1)
        return float(np.median((high - low) / (ends[1] - ends[0]).mean(axis=0)))


def kept(path):
    """What an earlier call has written."""
    return json.loads(path.read_text()) if path.exists() else []


def keep(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, indent=1) + "\n")
