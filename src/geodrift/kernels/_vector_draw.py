r"""A draw from K unnormalised weights by vector instructions, for compiled kernels.

The weights are :math:`a_k (t_k + \epsilon)`, with a vector a of the document and a row t of a table of the
words. They are summed in `LANES` lanes, lane l over k = l, l + `LANES`, ...; the lanes' sums are accumulated,
a uniform number chooses the lane, and what is left of it the place in the lane. A draw reads 4 K bytes of
each of a and t and has no branch; its time is mostly the latency of some forty dependent operations, of which
K / `LANES` sum the lanes.

The compiler leaves a loop written in Python scalar, since its arrays might overlap; hence the vector code by
hand, which LLVM turns into the instructions that the processor has.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16
_FLOAT, _INDEX, _SMALL = ir.FloatType(), ir.IntType(64), ir.IntType(32)
_FLOATS, _INTEGERS = ir.VectorType(_FLOAT, LANES), ir.VectorType(_SMALL, LANES)
_ZEROS = ir.Constant(_FLOATS, [0.0] * LANES)


def padded(num_topics: int) -> int:
    """The least multiple of `LANES` that holds all topics."""
    return -(-num_topics // LANES) * LANES


def _number(value: int) -> ir.Constant:
    return ir.Constant(_INDEX, value)


def _lanes(values: list[int]) -> ir.Constant:
    return ir.Constant(_INTEGERS, values)


def everywhere(builder: ir.IRBuilder, value: ir.Value, vector: ir.Type = _FLOATS) -> ir.Value:
    """A vector that holds one value in every lane."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_SMALL, 0))
    return builder.shuffle_vector(first, undefined, _lanes([0] * LANES))


def _vector_at(builder: ir.IRBuilder, data: ir.Value, vector: ir.Type = _FLOATS) -> ir.Value:
    return builder.bitcast(data, vector.as_pointer())


def _moved_up(builder: ir.IRBuilder, vector: ir.Value, by: int) -> ir.Value:
    """Each lane's value in the lane ``by`` above; zeros below."""
    places = [LANES + lane - by if lane >= by else 0 for lane in range(LANES)]
    return builder.shuffle_vector(_ZEROS, vector, _lanes(places))


@intrinsic
def set_entry(typing_context: Any, array: Any, place: Any, value: Any) -> tuple[Any, Callable]:
    """``array[place] = value`` for a float32 vector of a multiple of `LANES`.

    The whole vector register is written: one that is read next waits long for a single number.
    """

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        array, place, value = arguments
        data = context.make_array(signature.args[0])(context, builder, array).data
        begin = builder.and_(place, _number(-LANES))
        lane = builder.trunc(builder.and_(place, _number(LANES - 1)), _SMALL)
        here = builder.icmp_signed("==", everywhere(builder, lane, _INTEGERS), _lanes(list(range(LANES))))
        at = _vector_at(builder, builder.gep(data, [begin]))
        values = builder.select(here, everywhere(builder, value), builder.load(at, align=4))
        builder.store(values, at, align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.float32), code


@intrinsic
def draw_place(
    typing_context: Any,
    weights: Any,
    table: Any,
    begin: Any,
    offset: Any,
    blocks: Any,
    unit: Any,
    sums: Any,
    power: Any,
) -> tuple[Any, Callable]:
    """Draw a place k with probability proportional to ``weights[k] * (table[begin + k] + offset)``.

    Args:
        typing_context: Passed by numba.
        weights: float32 vector of ``blocks`` times `LANES` entries.
        table: float32 or int32, a flat array of rows.
        begin: Place of the row's first entry in ``table``.
        offset: Added to each entry of the row.
        blocks: Number of whole vectors in a row.
        unit: Uniform random number in [0, 1].
        sums: Work space of the size of ``weights``.
        power: None, or a positive float32: probabilities are taken to about this power, see `_powers`.

    Returns:
        The place. Its weight can be 0 if rounding chose it or if all weights are 0; see `last_place`.
    """

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        _, _, begin, offset, blocks, unit, _, power = arguments
        weights, table, sums = (
            context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in (0, 1, 6)
        )
        whole = isinstance(signature.args[1].dtype, types.Integer)
        row, offsets = builder.gep(table, [begin]), everywhere(builder, offset)
        power = None if isinstance(signature.args[7], types.NoneType) else power
        totals = _sums_of_lanes(builder, weights, row, offsets, blocks, sums, whole, power)
        upto = accumulated(builder, totals)
        level = builder.fmul(unit, builder.extract_element(upto, ir.Constant(_SMALL, LANES - 1)))
        return place_at(builder, upto, sums, level, blocks)

    power = power if isinstance(power, types.NoneType) else types.float32
    numbers = types.int64, types.float32, types.int64, types.float32
    return types.int64(weights, table, *numbers, sums, power), code


def accumulated(builder: ir.IRBuilder, sums: ir.Value) -> ir.Value:
    """Each lane's sum and those of the lanes below it."""
    for by in (1, 2, 4, 8):
        sums = builder.fadd(sums, _moved_up(builder, sums, by))
    return sums


def place_at(
    builder: ir.IRBuilder, upto: ir.Value, sums: ir.Value, level: ir.Value, blocks: ir.Value
) -> ir.Value:
    """The place at which the accumulated sums, lane after lane, first exceed a level.

    Args:
        builder: Of the function's code.
        upto: The lanes' sums, accumulated.
        sums: Partial sums in each lane, ``blocks`` vectors.
        level: Less than the last of ``upto``, but for rounding.
        blocks: Number of vectors.
    """
    lane = number_of_true(builder, builder.fcmp_ordered("<=", upto, everywhere(builder, level)))
    lane = builder.select(builder.icmp_unsigned("<", lane, _number(LANES - 1)), lane, _number(LANES - 1))
    below = cgutils.alloca_once_value(builder, _moved_up(builder, upto, 1))
    below = builder.bitcast(below, _FLOAT.as_pointer())
    level = builder.fsub(level, builder.load(builder.gep(below, [lane])))
    place, own = cgutils.alloca_once_value(builder, lane), builder.gep(sums, [lane])
    with cgutils.for_range(builder, builder.sub(blocks, _number(1))) as loop:
        total = builder.load(builder.gep(own, [builder.mul(loop.index, _number(LANES))]))
        passed = builder.zext(builder.fcmp_ordered("<=", total, level), _INDEX)
        further = builder.mul(passed, _number(LANES))
        builder.store(builder.add(builder.load(place), further), place)
    return builder.load(place)


def _sums_of_lanes(
    builder: ir.IRBuilder,
    weights: ir.Value,
    row: ir.Value,
    offsets: ir.Value,
    blocks: ir.Value,
    sums: ir.Value,
    whole: bool,
    power: ir.Value | None,
) -> ir.Value:
    """Each lane's sum of ``weights * (row + offset)``; its partial sums are stored in ``sums``.

    ``whole`` says that the row holds int32.
    """
    lanes = cgutils.alloca_once_value(builder, _ZEROS)

    def add_up(powers: ir.Value | None) -> None:
        with cgutils.for_range(builder, blocks) as loop:
            at = [builder.mul(loop.index, _number(LANES))]
            entries = _vector_at(builder, builder.gep(row, at), _INTEGERS if whole else _FLOATS)
            values = builder.load(entries, align=4)
            values = builder.sitofp(values, _FLOATS) if whole else values
            weight = builder.load(_vector_at(builder, builder.gep(weights, at)), align=4)
            term = builder.fmul(weight, builder.fadd(values, offsets))
            term = term if powers is None else _powers(builder, term, powers)
            total = builder.fadd(builder.load(lanes), term)
            builder.store(total, lanes)
            builder.store(total, _vector_at(builder, builder.gep(sums, at)), align=4)

    if power is None:
        add_up(None)
    else:
        # A branch rather than another compiled kernel: it goes the same way in every draw of a sweep.
        one = builder.fcmp_ordered("==", power, ir.Constant(_FLOAT, 1.0))
        with builder.if_else(one) as (plain, powered):
            with plain:
                add_up(None)
            with powered:
                add_up(everywhere(builder, power))
    return builder.load(lanes)


def _powers(builder: ir.IRBuilder, values: ir.Value, power: ir.Value) -> ir.Value:
    """About ``values ** power``, of positive values; 0 of 0 and of what is as good as 0.

    The logarithm is taken to be linear between powers of two, as the bits of a number are, and so is its
    inverse: exact for a power of 1, within 7% from .5 to 1.15, and increasing.
    """
    one = everywhere(builder, ir.Constant(_FLOAT, float(0x3F800000)))  # the bits of 1
    logs = builder.fsub(builder.sitofp(builder.bitcast(values, _INTEGERS), _FLOATS), one)
    bits = builder.fptosi(builder.fadd(builder.fmul(logs, power), one), _INTEGERS)
    positive = builder.fcmp_ordered(">", values, _ZEROS)
    positive = builder.and_(positive, builder.icmp_signed(">", bits, _lanes([0] * LANES)))
    return builder.select(positive, builder.bitcast(bits, _FLOATS), _ZEROS)


def number_of_true(builder: ir.IRBuilder, mask: ir.Value) -> ir.Value:
    """How many lanes of a vector of truth values are true, int64."""
    return builder.zext(builder.ctpop(builder.bitcast(mask, ir.IntType(LANES))), _INDEX)


@numba.njit(cache=True, error_model="numpy")
def last_place(
    weights: np.ndarray, table: np.ndarray, begin: int, offset: float, unit: float, num_places: int
) -> int:
    """The last place with positive weight, for a draw that rounding took beyond it; any place if none has."""
    for place in range(num_places - 1, -1, -1):
        if weights[place] * (table[begin + place] + offset) > 0.0:
            return place
    return min(int(unit * num_places), num_places - 1)
