"""Two runs of the same documents with different seeds: does the second confirm what the first says?

    python benchmarks/calibration/second_run.py OUT.json RUN RUN

The runs are made before, as a user makes them (`geodrift fit ... --seed 1`, then ``--seed 2``). ``inside`` is
the share of the second run's draws that lie within the first's 90% intervals, over the ten leading words of
each topic that the first calls shared and the second has; of one posterior it is 0.9. Both directions are
told.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from fits import SAME, Found, keep, kept
from scipy.optimize import linear_sum_assignment


def compare(first, second):
    """What the second run says of the first one's shared topics."""
    cosines = first.means @ second.means.T
    partner = dict(zip(*linear_sum_assignment(-cosines), strict=True))
    inside, widths, lacking = [], [], 0
    for topic in np.flatnonzero(first.agreed.shared):
        other = partner[topic]
        if cosines[topic, other] <= SAME:
            lacking += 1
            continue
        words = np.argsort(-first.of(topic).mean(axis=(0, 1)))[:10]
        low, high = first.interval(topic, words)
        draws = second.to_directions(second.of(other))[:, :, words]
        inside.append(((draws >= low) & (draws <= high)).mean())
        widths.append(first.relative_width(topic, words))
    return {
        "topics": first.num_topics,
        "shared": int(first.agreed.shared.sum()),
        "found_by": np.bincount(first.agreed.found.sum(axis=0), minlength=len(first.draws) + 1).tolist(),
        "threshold": first.agreed.threshold,
        "shared_that_the_second_lacks": lacking,
        "topics_of_both": int((cosines[list(partner), list(partner.values())] > SAME).sum()),
        "inside": float(np.mean(inside)) if inside else None,
        "width_over_a_single_chain_s": float(np.median(widths)) if widths else None,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("runs", nargs=2, type=Path)
    options = parser.parse_args()
    found = [Found(path) for path in options.runs]
    rows = kept(options.out) + [
        {"runs": [str(options.runs[i]), str(options.runs[1 - i])]} | compare(found[i], found[1 - i])
        for i in range(2)
    ]
    keep(options.out, rows)
    for row in rows[-2:]:
        print(row, file=sys.stdout)


if __name__ == "__main__":
    main()
