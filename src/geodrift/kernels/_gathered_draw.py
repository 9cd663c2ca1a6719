r"""A draw from short lists of places and weights by vector instructions, for compiled kernels.

Entry i of a list has the weight :math:`w_i\, t_{p_i}`, with its place :math:`p_i` in a table t that is common to
all lists. The table's entries are gathered, so that a draw costs the length of the list whatever that of the
table is. The list is summed in lanes as in `_vector_draw`. The sum and the draw are two functions: the list
may be one of several parts from which is drawn.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from geodrift.kernels._vector_draw import LANES, accumulated, everywhere, place_at

_FLOAT, _INDEX, _SMALL = ir.FloatType(), ir.IntType(64), ir.IntType(32)
_FLOATS, _INTEGERS = ir.VectorType(_FLOAT, LANES), ir.VectorType(_SMALL, LANES)
_ZEROS = ir.Constant(_FLOATS, [0.0] * LANES)
_LANES = ir.Constant(_INDEX, LANES)


def _data(context: Any, builder: ir.IRBuilder, kind: Any, array: ir.Value) -> ir.Value:
    return context.make_array(kind)(context, builder, array).data


def _load(builder: ir.IRBuilder, data: ir.Value, at: ir.Value, vector: ir.Type) -> ir.Value:
    return builder.load(builder.bitcast(builder.gep(data, [at]), vector.as_pointer()), align=4)


def _gathered(builder: ir.IRBuilder, table: ir.Value, places: ir.Value) -> ir.Value:
    """The table's entries at sixteen places."""
    found = ir.Constant(_FLOATS, ir.Undefined)
    for lane in range(LANES):
        number = ir.Constant(_SMALL, lane)
        place = builder.zext(builder.extract_element(places, number), _INDEX)
        found = builder.insert_element(found, builder.load(builder.gep(table, [place])), number)
    return found


def _vector(builder: ir.IRBuilder, data: ir.Value, at: ir.Value) -> ir.Value:
    return builder.bitcast(builder.gep(data, [at]), _FLOATS.as_pointer())


@intrinsic
def list_sum(
    typing_context: Any, places: Any, weights: Any, begin: Any, blocks: Any, table: Any, sums: Any
) -> tuple[Any, Callable]:
    """The sum of ``weights[i] * table[places[i]]`` over a list.

    Args:
        typing_context: Passed by numba.
        places: int32.
        weights: float32; 0 where a list has no entry.
        begin: The list's first entry in ``places`` and ``weights``.
        blocks: Its length, in vectors of `LANES` entries.
        table: float32.
        sums: Work space of ``blocks`` + 1 vectors, for `list_place`.

    Returns:
        The sum, float32.
    """

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        _, _, begin, blocks, _, _ = arguments
        places, weights, table, sums = (
            _data(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 4, 5)
        )
        lanes = cgutils.alloca_once_value(builder, _ZEROS)
        with cgutils.for_range(builder, blocks) as loop:
            at = builder.mul(loop.index, _LANES)
            here = builder.add(begin, at)
            values = _gathered(builder, table, _load(builder, places, here, _INTEGERS))
            term = builder.fmul(_load(builder, weights, here, _FLOATS), values)
            total = builder.fadd(builder.load(lanes), term)
            builder.store(total, lanes)
            builder.store(total, _vector(builder, sums, at), align=4)
        upto = accumulated(builder, builder.load(lanes))
        builder.store(upto, _vector(builder, sums, builder.mul(blocks, _LANES)), align=4)
        return builder.extract_element(upto, ir.Constant(_SMALL, LANES - 1))

    return types.float32(places, weights, types.int64, types.int64, table, sums), code


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
        sums = _data(context, builder, signature.args[0], arguments[0])
        _, blocks, level = arguments
        upto = _load(builder, sums, builder.mul(blocks, _LANES), _FLOATS)
        return place_at(builder, upto, sums, level, blocks)

    return types.int64(sums, types.int64, types.float32), code


@intrinsic
def list_entry(
    typing_context: Any, places: Any, weights: Any, begin: Any, blocks: Any, place: Any
) -> tuple[Any, Callable]:
    """The entry of a list with a place, or else a free one.

    Args:
        typing_context: Passed by numba.
        places: As for `list_sum`.
        weights: As for `list_sum`; an entry is free where its weight is 0.
        begin: As for `list_sum`.
        blocks: As for `list_sum`.
        place: At most one entry that is not free has it.

    Returns:
        The entry from the list's begin; the first behind it where all are others'.
    """

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        _, _, begin, blocks, place = arguments
        places, weights = (_data(context, builder, signature.args[i], arguments[i]) for i in (0, 1))
        none = builder.mul(blocks, _LANES)
        found, free = (cgutils.alloca_once_value(builder, none) for _ in range(2))
        wanted = everywhere(builder, place, _INTEGERS)
        with cgutils.for_range(builder, blocks) as loop:
            at = builder.mul(loop.index, _LANES)
            here = builder.add(begin, at)
            empty = builder.fcmp_ordered("==", _load(builder, weights, here, _FLOATS), _ZEROS)
            same = builder.icmp_signed("==", _load(builder, places, here, _INTEGERS), wanted)
            for variable, mask in ((found, builder.and_(same, builder.not_(empty))), (free, empty)):
                entry = builder.add(at, _first_true(builder, mask))
                known = builder.load(variable)
                builder.store(
                    builder.select(builder.icmp_unsigned("<", entry, known), entry, known), variable
                )
        first = builder.load(found)
        return builder.select(builder.icmp_unsigned("<", first, none), first, builder.load(free))

    return types.int64(places, weights, types.int64, types.int64, types.int32), code


def _first_true(builder: ir.IRBuilder, mask: ir.Value) -> ir.Value:
    """The first lane of a mask that is true; a number beyond any list where none is."""
    bits = builder.zext(builder.bitcast(mask, ir.IntType(LANES)), _INDEX)
    first = builder.cttz(bits, ir.Constant(ir.IntType(1), 1))
    none = ir.Constant(_INDEX, 2**62)
    return builder.select(builder.icmp_unsigned("==", bits, ir.Constant(_INDEX, 0)), none, first)
