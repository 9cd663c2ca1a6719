"""Sums over the numbers in a set of bits, for compiled kernels; see `_bits`.

They are instructions by hand, as in `_vector_draw`, for another reason: a function of numba's that is inlined
counts the references of every array it is given, at every call, and that takes longer than the sum.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from geodrift.kernels._bits import BITS
from geodrift.kernels._lanes import data_of

_FLOAT, _INDEX = ir.FloatType(), ir.IntType(64)
Term = Callable[[ir.Value], ir.Value]


def _sum_over_set(
    builder: ir.IRBuilder, sets: ir.Value, first: ir.Value, blocks: ir.Value, term: Term
) -> Any:
    """The sum of the terms of the numbers in the ``blocks`` words from ``first`` on of ``sets``."""
    total = cgutils.alloca_once_value(builder, ir.Constant(_FLOAT, 0.0))
    left = cgutils.alloca_once(builder, _INDEX)
    with cgutils.for_range(builder, blocks) as loop:
        builder.store(builder.load(builder.gep(sets, [builder.add(first, loop.index)])), left)
        begin = builder.mul(loop.index, ir.Constant(_INDEX, BITS))
        head, body, after = (builder.append_basic_block(name) for name in ("head", "body", "after"))
        builder.branch(head)
        builder.position_at_end(head)
        bits = builder.load(left)
        builder.cbranch(builder.icmp_unsigned("!=", bits, ir.Constant(_INDEX, 0)), body, after)
        builder.position_at_end(body)
        number = builder.add(begin, builder.cttz(bits, ir.Constant(ir.IntType(1), 1)))
        builder.store(builder.fadd(builder.load(total), term(number)), total)
        builder.store(builder.and_(bits, builder.sub(bits, ir.Constant(_INDEX, 1))), left)
        builder.branch(head)
        builder.position_at_end(after)
    return builder.load(total)


def _at(builder: ir.IRBuilder, data: ir.Value, *places: ir.Value) -> ir.Value:
    """The number at a sum of places, as a float32."""
    place = places[0]
    for more in places[1:]:
        place = builder.add(place, more)
    value = builder.load(builder.gep(data, [place]))
    return value if value.type == _FLOAT else builder.sitofp(value, _FLOAT)


@intrinsic
def sum_of_products(
    typing_context: Any,
    sets: Any,
    first: Any,
    blocks: Any,
    factors: Any,
    numbers: Any,
    begin: Any,
) -> tuple[Any, Callable]:
    """The sum of ``factors[k] * numbers[begin + k]`` over the k of a set.

    Args:
        typing_context: Passed by numba.
        sets: uint64, flat.
        first: Place of the set's first word.
        blocks: Words of a set.
        factors: float32.
        numbers: int32, flat.
        begin: See above.
    """

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        sets, factors, numbers = (
            data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 3, 4)
        )
        _, first, blocks, _, _, begin = arguments

        def term(number: ir.Value) -> ir.Value:
            return builder.fmul(_at(builder, factors, number), _at(builder, numbers, begin, number))

        return _sum_over_set(builder, sets, first, blocks, term)

    return types.float32(sets, types.int64, types.int64, factors, numbers, types.int64), code


@intrinsic
def sum_of_triples(
    typing_context: Any,
    sets: Any,
    first: Any,
    blocks: Any,
    factors: Any,
    own: Any,
    of_own: Any,
    numbers: Any,
    begin: Any,
    offset: Any,
) -> tuple[Any, Callable]:
    """The sum of ``factors[k] * own[of_own + k] * (numbers[begin + k] + offset)`` over the k of a set.

    See `sum_of_products`; ``own`` is int32 and flat, ``offset`` float32.
    """

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        sets, factors, own, numbers = (
            data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 3, 4, 6)
        )
        _, first, blocks, _, _, of_own, _, begin, offset = arguments

        def term(number: ir.Value) -> ir.Value:
            weight = builder.fadd(_at(builder, numbers, begin, number), offset)
            return builder.fmul(
                builder.fmul(_at(builder, factors, number), _at(builder, own, of_own, number)), weight
            )

        return _sum_over_set(builder, sets, first, blocks, term)

    places = types.int64, types.int64
    signature = types.float32(sets, *places, factors, own, types.int64, numbers, types.int64, types.float32)
    return signature, code
