"""What chains do before their first step, side by side on the cores."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from threadpoolctl import threadpool_limits

from geodrift.driver._chain import Chain


def prepare(chains: Sequence[Chain]) -> None:
    """Prepare all chains that have taken no step.

    Each has one thread, so that its numbers do not depend on how many cores there are.
    """
    new = [chain for chain in chains if chain.count == 0]
    with threadpool_limits(1), ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(lambda chain: chain.prepare(), new):
            pass
