"""Both samplers, alone and by replica exchange, against the sum over all assignments of ten tokens.

python reproductions/posteriordb/enumeration.py
"""

import numpy as np
from common import CHAINS, Plan, compared, over_quantities, run, summary, write
from exact import TINY, every_assignment, means
from quantities import Quantities
from samplers import Collapsed, Uncollapsed

SEED, DRAWS = 4, 4000
LADDERS = {"alone": np.ones(1), "exchange": np.array([0.05, 0.4, 1.0])}


def measured(draws: int) -> dict[str, dict[str, object]]:
    """How far each sampler's means are from the exact ones."""
    quantities = Quantities(TINY)
    exact, found = means(quantities, every_assignment(TINY)), {}
    for kernel in (Collapsed, Uncollapsed):
        for name, ladder in LADDERS.items():
            plan = Plan(ladder, sweeps=3, warm_up=20, draws=draws)
            sampled, _ = run(TINY, kernel, plan, SEED, quantities)
            table = summary(sampled, quantities.names)
            key = f"{kernel.__name__.lower()}_{name}"
            found[key] = over_quantities(table) | compared(table, exact)
    return found


if __name__ == "__main__":
    settings = {"chains": CHAINS, "draws_of_a_chain": DRAWS, "seed": SEED, "ladder": LADDERS["exchange"]}
    settings |= {"alpha": TINY.alpha, "beta": TINY.beta, "tokens": len(TINY.words)}
    write("enumeration", settings, measured(DRAWS))
