"""The picture of the README: topics of a run with the 90% intervals of their words' weights.

python docs/make_picture.py RUN docs/images/demo-topics.png
"""

import sys

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import geodrift as gd
from geodrift.models import model_of

SHOWN, WORDS = 8, 8


def main(run_path: str, picture: str) -> None:
    """Draw the largest topics that the chains share."""
    run = gd.load(run_path)
    topics = model_of(run).answers().summarise(run, WORDS).parts
    topics = sorted((topic for topic in topics if topic["shared"]), key=lambda topic: -topic["size"])
    figure, axes = plt.subplots(2, SHOWN // 2, figsize=(11, 5))
    for axis, topic in zip(axes.ravel(), topics[:SHOWN], strict=True):
        words = topic["words"][::-1]
        weight, low, high = (np.array([word[key] for word in words]) for key in ("weight", "low", "high"))
        places = np.arange(len(words))
        axis.barh(places, weight, color="#9ecae1")
        axis.hlines(places, low, high, color="#08519c", linewidth=3)
        axis.set_yticks(places, [word["word"] for word in words])
        axis.tick_params(labelsize=8, length=0)
        axis.set_xlim(0, None)
        axis.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("weight in the topic: posterior mean, and the 90% interval of the next run", fontsize=9)
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
