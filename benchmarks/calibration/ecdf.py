"""The picture of the calibration page: shares of true values below quantiles, less what they should be.

    python benchmarks/calibration/ecdf.py docs/images/calibration.png LDA.json SAM.json

Of a right law the share of true values below the quantile of any probability is that probability: the curves
lie at zero, but for chance. The bands are of two standard errors over corpora. Topics that were not found are
left out: they have no law.
"""

import json
import sys

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from ranks import BINS

CURVES = {
    "words": "words' weights",
    "sizes": "sizes of topics",
    "mixtures": "mixtures of new documents",
    "sklearn": "scikit-learn, words",
    "gensim": "gensim, words",
    "tomotopy": "tomotopy's state, words",
}
TITLES = ("latent Dirichlet allocation", "spherical admixture model")


def difference(counts):
    """The share below each edge less what it should be, and its standard error; ``counts`` [corpus, bin]."""
    below = counts[:, : BINS - 1].cumsum(axis=1)
    number = counts[:, :BINS].sum(axis=1, keepdims=True)
    share = below.sum(axis=0) / number.sum()
    error = np.sqrt(((below - share * number) ** 2).sum(axis=0)) / number.sum()
    return share - np.arange(1, BINS) / BINS, error


def main(picture, *files):
    figure, axes = plt.subplots(1, len(files), figsize=(5.5 * len(files), 4), sharey=True, squeeze=False)
    for axis, file, title in zip(axes[0], files, TITLES, strict=False):
        with open(file) as handle:
            rows = json.load(handle)
        for name, label in CURVES.items():
            if name not in rows[0]:
                continue
            off, error = difference(np.array([row[name] for row in rows]))
            places = np.arange(1, BINS) / BINS
            style = "-" if name in ("words", "sizes", "mixtures") else "--"
            (line,) = axis.plot(places, off, style, label=label)
            axis.fill_between(places, off - 2 * error, off + 2 * error, color=line.get_color(), alpha=0.2)
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set_title(f"{title}, {len(rows)} corpora", fontsize=10)
        axis.set_xlabel("probability of the quantile")
        axis.legend(fontsize=8)
    axes[0, 0].set_ylabel("share of true values below it, less the probability")
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
