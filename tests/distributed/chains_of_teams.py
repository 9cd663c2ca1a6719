"""What a chain draws and leaves, alone or shared by a team."""

import numpy as np


def taken(chain, plan_of, steps, every, restored=None):
    """Draws of a chain after each ``every`` of ``steps`` of a plan of ``plan_of``, and its state there."""
    if restored is not None:
        chain.restore(restored)
    chain.begin(chain.shares.plan(plan_of))
    draws = []
    while chain.count < steps:
        chain.step()
        if chain.count % every == 0:
            draws.append(chain.draw())
    return draws, chain.state()


def assert_same(one, other):
    """That two results of `taken` are the same to the bit."""
    for mine, its in zip([*one[0], one[1]], [*other[0], other[1]], strict=True):
        assert mine.keys() == its.keys()
        for name, value in mine.items():
            np.testing.assert_array_equal(value, its[name], err_msg=name)
