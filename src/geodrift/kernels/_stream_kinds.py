"""The kinds of random streams that whole numbers name; `_streams` has a line for every use of one."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import UInt32

from geodrift._types import RandomKey
from geodrift._whole import whole

HALF = 2**32  # numbers that one half of a word can hold


class Family(NamedTuple):
    """The streams of one use at one step of one chain; an item (a document, a word) names one of them.

    Attributes:
        seed: The seed's word, from 0 to 2^64 - 1.
        chain: The chain's word: the use's number in its upper half, the chain in its lower half.
        step: The step's word.
    """

    seed: int
    chain: int
    step: int

    @property
    def word(self) -> np.uint64:
        """The family for compiled kernels, which open a stream of it by `_random_streams.open_member`."""
        # Imported here: numba takes a second to load.
        from geodrift.kernels._random_streams import open_family

        return np.uint64(open_family(np.uint64(self.seed), self.chain, self.step))

    @property
    def key(self) -> RandomKey:
        """The family for the JAX form of a kernel: a key into which the words are folded."""
        # Imported here: the registry stands on this file, and has this use too.
        from geodrift.kernels._streams import KERNEL_NUMBER

        key, (number, chain) = jax.random.key(self.seed), divmod(self.chain, HALF)
        if number:
            # Without the reserved word, number and chain would be the chain and the step of another family.
            key = jax.random.fold_in(KERNEL_NUMBER.fold(key), np.uint32(number % HALF))
        return _folded(key, np.uint32(chain), np.uint32(self.step))


@jax.jit  # as one program: a step of a small model takes not much longer than to start one
def _folded(key: RandomKey, chain: UInt32[Any, ""], step: UInt32[Any, ""]) -> RandomKey:
    return jax.random.fold_in(jax.random.fold_in(key, chain), step)


class KernelStreams(NamedTuple):
    """A use by compiled kernels: SplitMix64 streams named by four words, (seed, chain, step, item).

    The chain's word is number 2^32 + chain, the step's word is stride step + offset.

    Attributes:
        scope: The run whose draws these are, or the runs that the question is asked of.
        number: Unique; 0 for uses that are older than the registry; -1 counts the chain down from -1.
        chain: Meaning of the chain: 0 to 2^32 - 1.
        step: Meaning of the step, from 0.
        item: Meaning of the item.
        stride: Factor of the step; with ``offset`` it divides the steps between uses of number 0.
        offset: Added to the step's word, below ``stride``.
        items: The least and the largest item.
    """

    scope: str
    number: int
    chain: str
    step: str
    item: str
    stride: int = 1
    offset: int = 0
    items: tuple[int, int] = (-(2**63), 2**63 - 1)

    def family(self, seed: int, chain: int, step: int) -> Family:
        """The streams of one step.

        Args:
            seed: Seed of the run, or of the question.
            chain: See the attribute.
            step: See the attribute.

        Raises:
            ValueError: A number is out of range, and would be that of another use.
        """
        for name, value, end in (("seed", seed, 2**64), ("chain", chain, HALF), ("step", step, 2**62)):
            if not 0 <= value < end:
                raise ValueError(f"{name} must be a whole number from 0 and below {end}, got {value!r}")
        number = self.number if self.number >= 0 else ~self.number
        word = number * HALF + int(chain)
        return Family(int(seed), word if self.number >= 0 else ~word, self.stride * int(step) + self.offset)


class PhiloxStreams(NamedTuple):
    """A use of NumPy's Philox generator: key (seed, chain), counter (0, 0, number, step).

    The two words that are 0 count the draws: 2^128 of them before the next number begins.

    Attributes:
        scope: See `KernelStreams`.
        number: Unique in its scope, from 0.
        step: Meaning of the step; "" where there is only one.
    """

    scope: str
    number: int
    step: str = ""

    def generator(self, seed: int, chain: int, step: int = 0) -> np.random.Generator:
        """The generator of one step of one chain."""
        return np.random.Generator(np.random.Philox(key=[seed, chain], counter=[0, 0, self.number, step]))


class SeededStreams(NamedTuple):
    """A use of NumPy's default generator, seeded by (seed, number, ...).

    `numpy.random.SeedSequence` ignores zeros at the end: number 0 alone is ``default_rng(seed)``.

    Attributes:
        scope: See `KernelStreams`.
        number: Unique in its scope, from 0.
        words: Meaning of the words after the number; "" where there are none.
    """

    scope: str
    number: int
    words: str = ""

    def generator(self, seed: int | Sequence[int], *words: int) -> np.random.Generator:
        """The generator of a seed, or of the words of a JAX key, and of the words after the number.

        Raises:
            ValueError: The seed is no whole number, or below 0.
        """
        if isinstance(seed, Iterable) and not isinstance(seed, str):
            first = list(seed)
        else:
            first = [whole("seed", seed, 0)]
        return np.random.default_rng([*first, self.number, *words])


class ReservedFold(NamedTuple):
    """A number folded into a JAX key into which something else is counted, and which the count never reaches.

    Attributes:
        key: The key.
        counted: The other numbers that are folded into it.
        number: Unique for the key, and above all counts.
    """

    key: str
    counted: str
    number: int

    def fold(self, key: RandomKey) -> RandomKey:
        """The key of this use."""
        return jax.random.fold_in(key, np.uint32(self.number))
