"""The page of `beside.py` and `warm_up.py`: correctness, effective draws a processor second, and the warm-up.

python benchmarks/posteriordb/page.py BESIDE.json WARM_UP.json docs/reference/posteriordb.md
"""

import argparse
import itertools
import json
import statistics
from pathlib import Path

OURS = {"hmc": "HMC, exact gradients", "sghmc": "SGHMC, minibatches"}
OTHERS = {"nuts": "NUTS (NumPyro)", "blackjax-nuts": "NUTS (BlackJAX)", "blackjax-mclmc": "MCLMC (BlackJAX)"}
NUTS = {"nuts": "NumPyro", "blackjax-nuts": "BlackJAX"}
PROGRAMS = OURS | OTHERS
TEXT = """# posteriordb without settings

Posteriors of [posteriordb](https://github.com/stan-dev/posteriordb) against their reference draws, made by
`benchmarks/posteriordb/beside.py` and `page.py`. 4 chains of 2,000 draws from normal starts, in float32, on
two cores. Ours are `HMC(Full(log_density), Euclidean(d), step_size=None)` and, where data are independent,
`SGHMC` with a control variate, `step_size=None` and `batch_size="auto"`; the others have 1,000 steps of their
own warm-up. MCLMC has no Metropolis test and ten steps for each draw. A cell without a number was not
measured (NUTS takes minutes there), or, of SGHMC, its data are not independent.

## Are they right?

The largest error of a parameter's mean, standard deviation, 5% or 95% quantile, over what is allowed: .1
standard deviations, 7%, .15 and .15 standard deviations, each with three Monte Carlo errors. **Above 1 is
wrong**, and bold.

{right}

## Effective draws a processor second

The least of any parameter; warm-up counted, compilation left out (a second call in the same process, with
another seed), and in brackets with it (the first call).

{fast}

{ratios}

## What the warm-up costs

Processor seconds of `step_size=None`, from the start to the first step of the chains, and of 1,000 draws of
each of the 4 chains; of a second call with the seed, which compiles nothing, the median of five seeds
(`warm_up.py`). The ratio is the first over the second: at most {most:.2f}.

{cost}
"""


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def error_of(told):
    if told is None:
        return ""
    if "failed" in told:
        return "**failed**"
    return f"{told['over']:.2f}" if told["over"] <= 1 else f"**{told['over']:.2f}**"


def rate_of(told):
    if told is None or "failed" in told:
        return ""
    return f"{told['ess_a_cpu_second_again']:,.0f} ({told['ess_a_cpu_second']:,.0f})"


def cost_of(found):
    """The table of the warm-up's seconds."""

    def cell(told):
        return (
            "" if told is None else f"{told['adaptation']:.3f} / {told['sampling']:.3f} = {told['ratio']:.2f}"
        )

    header = ["posterior", *OURS.values()]
    return table(header, [[name, *(cell(of.get(one)) for one in OURS)] for name, of in found.items()])


def ratios(found):
    """Of ours over both programs' NUTS, in words."""
    lines = []
    for (program, name), (other, whose) in itertools.product(OURS.items(), NUTS.items()):
        for key, words in (("ess_a_cpu_second_again", "left out"), ("ess_a_cpu_second", "counted")):
            over = [
                told[program][key] / told[other][key]
                for told in found.values()
                if all(key in told.get(one, {}) for one in (program, other))
            ]
            if over:
                lines.append(
                    f"{name} over NUTS of {whose}, compilation {words}: median {statistics.median(over):.1f},"
                    f" above 1 on {sum(ratio > 1 for ratio in over)} of {len(over)}."
                )
    return "\n\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("beside", type=Path)
    parser.add_argument("warm_up", type=Path)
    parser.add_argument("page", type=Path)
    options = parser.parse_args()
    found = json.loads(options.beside.read_text())
    header = ["posterior", *PROGRAMS.values()]
    right, fast = (
        table(header, [[name, *(cell(told.get(one)) for one in PROGRAMS)] for name, told in found.items()])
        for cell in (error_of, rate_of)
    )
    cost = json.loads(options.warm_up.read_text())
    options.page.write_text(
        TEXT.format(
            right=right,
            fast=fast,
            ratios=ratios(found),
            most=max(told["ratio"] for of in cost.values() for told in of.values()),
            cost=cost_of(cost),
        )
    )


if __name__ == "__main__":
    main()
