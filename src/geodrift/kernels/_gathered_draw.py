r"""A draw from short lists of places and weights by vector instructions, for compiled kernels.

Entry i of a list has the weight :math:`w_i\, t_{p_i}`, with its place :math:`p_i` in a table t that is common
to all lists. The table's entries are gathered, so that a draw costs the length of the list whatever that of
the table is. The list is summed in lanes as in `_vector_draw`. The sum and the draw are two functions: the
list may be one of several parts from which is drawn.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from geodrift.kernels._lanes import FLOATS, INDEX, INTEGERS, SMALL, Lanes, data_of, lane_is, load, store
from geodrift.kernels._vector_draw import LANES, accumulated, everywhere, number_of_true, place_at

_ZEROS, _ONES = ir.Constant(FLOATS, [0.0] * LANES), ir.Constant(FLOATS, [1.0] * LANES)
_LANES, _LAST = ir.Constant(INDEX, LANES), ir.Constant(SMALL, LANES - 1)


def _gathered(builder: ir.IRBuilder, table: ir.Value, places: ir.Value) -> ir.Value:
    """The table's entries at sixteen places."""
    found = ir.Constant(FLOATS, ir.Undefined)
    for lane in range(LANES):
        number = ir.Constant(SMALL, lane)
        place = builder.zext(builder.extract_element(places, number), INDEX)
        found = builder.insert_element(found, builder.load(builder.gep(table, [place])), number)
    return found


@intrinsic
def list_sum(
    typing_context: Any, places: Any, weights: Any, begin: Any, blocks: Any, table: Any, sums: Any, own: Any
) -> tuple[Any, Callable]:
    """The sum of ``weights[i] * table[places[i]]`` over a list, with 1 less than the weight of one entry.

    Args:
        typing_context: Passed by numba.
        places: int32.
        weights: float32; 0 where a list has no entry.
        begin: The list's first entry in ``places`` and ``weights``.
        blocks: Its length, in vectors of `LANES` entries.
        table: float32.
        sums: Work space of ``blocks`` + 1 vectors, for `list_place`.
        own: The entry, from the list's begin.

    Returns:
        The sum, float32.
    """

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        _, _, begin, blocks, _, _, own = arguments
        places, weights, table, sums = (
            data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 4, 5)
        )
        lanes = cgutils.alloca_once_value(builder, _ZEROS)
        with cgutils.for_range(builder, blocks) as loop:
            at = builder.mul(loop.index, _LANES)
            here = builder.add(begin, at)
            values = _gathered(builder, table, load(builder, places, here, INTEGERS))
            less = builder.select(lane_is(builder, builder.sub(own, at)), _ONES, _ZEROS)
            term = builder.fmul(builder.fsub(load(builder, weights, here, FLOATS), less), values)
            total = builder.fadd(builder.load(lanes), term)
            builder.store(total, lanes)
            store(builder, total, sums, at)
        upto = accumulated(builder, builder.load(lanes))
        store(builder, upto, sums, builder.mul(blocks, _LANES))
        return builder.extract_element(upto, _LAST)

    return types.float32(places, weights, types.int64, types.int64, table, sums, types.int64), code


@intrinsic
def list_place(typing_context: Any, sums: Any, blocks: Any, level: Any) -> tuple[Any, Callable]:
    """The entry of a list, from its begin, at which its accumulated weights exceed ``level``.

    Args:
        typing_context: Passed by numba.
        sums: As `list_sum` left it.
        blocks: As for `list_sum`.
        level: Uniform from 0 to the sum.

    Returns:
        The entry. Its weight can be 0 if rounding chose it.
    """

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        sums = data_of(context, builder, signature.args[0], arguments[0])
        _, blocks, level = arguments
        upto = load(builder, sums, builder.mul(blocks, _LANES), FLOATS)
        return place_at(builder, upto, sums, level, blocks)

    return types.int64(sums, types.int64, types.float32), code


@intrinsic
def list_entry(
    typing_context: Any, places: Any, weights: Any, begin: Any, blocks: Any, place: Any, own: Any
) -> tuple[Any, Callable]:
    """The entry of a list with a place, or else a free one, where the weight of one entry is 1 less.

    Args:
        typing_context: Passed by numba.
        places: As for `list_sum`.
        weights: As for `list_sum`; an entry is free where its weight is 0.
        begin: As for `list_sum`.
        blocks: As for `list_sum`.
        place: At most one entry that is not free has it.
        own: The entry, from the list's begin.

    Returns:
        The entry from the list's begin; the first behind it where all are others'.
    """

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        _, _, begin, blocks, place, own = arguments
        places, weights = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 1))
        none = builder.mul(blocks, _LANES)
        found, free = (cgutils.alloca_once_value(builder, none) for _ in range(2))
        wanted = everywhere(builder, place, INTEGERS)
        with cgutils.for_range(builder, blocks) as loop:
            at = builder.mul(loop.index, _LANES)
            here = builder.add(begin, at)
            less = builder.select(lane_is(builder, builder.sub(own, at)), _ONES, _ZEROS)
            empty = builder.fcmp_ordered("==", load(builder, weights, here, FLOATS), less)
            same = builder.icmp_signed("==", load(builder, places, here, INTEGERS), wanted)
            for variable, mask in ((found, builder.and_(same, builder.not_(empty))), (free, empty)):
                entry = builder.add(at, _first_true(builder, mask))
                known = builder.load(variable)
                builder.store(
                    builder.select(builder.icmp_unsigned("<", entry, known), entry, known), variable
                )
        first = builder.load(found)
        return builder.select(builder.icmp_unsigned("<", first, none), first, builder.load(free))

    return types.int64(places, weights, types.int64, types.int64, types.int32, types.int64), code


def _first_true(builder: ir.IRBuilder, mask: ir.Value) -> ir.Value:
    """The first lane of a mask that is true; a number beyond any list where none is."""
    bits = builder.zext(builder.bitcast(mask, ir.IntType(LANES)), INDEX)
    first = builder.cttz(bits, ir.Constant(ir.IntType(1), 1))
    none = ir.Constant(INDEX, 2**62)
    return builder.select(builder.icmp_unsigned("==", bits, ir.Constant(INDEX, 0)), none, first)


@intrinsic
def lanes_sums(typing_context: Any, places: Any, weights: Any, table: Any) -> tuple[Any, Callable]:
    """Accumulated sums of ``weights[i] * table[places[i]]`` over a list of `LANES` entries in registers."""

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        table = data_of(context, builder, signature.args[2], arguments[2])
        return accumulated(builder, builder.fmul(arguments[1], _gathered(builder, table, arguments[0])))

    return Lanes(types.float32)(places, weights, table), code


@intrinsic
def lanes_place(typing_context: Any, sums: Any, level: Any) -> tuple[Any, Callable]:
    """The lane at which sums of `lanes_sums` exceed ``level``; the last where none does."""

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        sums, level = arguments
        lane = number_of_true(builder, builder.fcmp_ordered("<=", sums, everywhere(builder, level)))
        last = ir.Constant(INDEX, LANES - 1)
        return builder.select(builder.icmp_unsigned("<", lane, last), lane, last)

    return types.int64(sums, types.float32), code
