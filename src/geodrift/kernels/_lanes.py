"""Vectors of `LANES` numbers as values of compiled kernels, held in registers.

An array of which one number is written and all are read next makes the processor wait: a load takes what a
store has not yet brought to the cache only where the store covers it. A value in registers does not wait.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from geodrift.kernels._vector_draw import LANES, everywhere

INDEX, SMALL = ir.IntType(64), ir.IntType(32)
FLOATS, INTEGERS = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(SMALL, LANES)
NUMBERS = ir.Constant(INTEGERS, list(range(LANES)))


class Lanes(types.Type):
    """Type of a vector of `LANES` float32 or int32."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(f"Lanes({dtype})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Lanes) -> None:
        super().__init__(manager, kind, vector_of(kind))


def vector_of(kind: Lanes) -> ir.Type:
    """LLVM's type."""
    return INTEGERS if kind.dtype == types.int32 else FLOATS


def load(builder: ir.IRBuilder, data: ir.Value, at: ir.Value, vector: ir.Type) -> ir.Value:
    """The vector at a place of an array."""
    return builder.load(builder.bitcast(builder.gep(data, [at]), vector.as_pointer()), align=4)


def store(builder: ir.IRBuilder, value: ir.Value, data: ir.Value, at: ir.Value) -> None:
    """Write a vector at a place of an array."""
    builder.store(value, builder.bitcast(builder.gep(data, [at]), value.type.as_pointer()), align=4)


def data_of(context: Any, builder: ir.IRBuilder, kind: Any, array: ir.Value) -> ir.Value:
    """Where an array's numbers are."""
    return context.make_array(kind)(context, builder, array).data


def lane_is(builder: ir.IRBuilder, lane: ir.Value) -> ir.Value:
    """A mask that is true in one lane."""
    return builder.icmp_signed("==", everywhere(builder, builder.trunc(lane, SMALL), INTEGERS), NUMBERS)


@intrinsic
def read_lanes(typing_context: Any, array: Any) -> tuple[Any, Callable]:
    """The first `LANES` numbers of an array."""

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        data = data_of(context, builder, signature.args[0], arguments[0])
        return load(builder, data, ir.Constant(INDEX, 0), vector_of(signature.return_type))

    return Lanes(array.dtype)(array), code


@intrinsic
def write_lanes(typing_context: Any, array: Any, lanes: Any) -> tuple[Any, Callable]:
    """Write the first `LANES` numbers of an array."""

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        data = data_of(context, builder, signature.args[0], arguments[0])
        store(builder, arguments[1], data, ir.Constant(INDEX, 0))
        return context.get_dummy_value()

    return types.void(array, lanes), code


@intrinsic
def with_lane(typing_context: Any, lanes: Any, lane: Any, value: Any) -> tuple[Any, Callable]:
    """The vector with another number in one lane."""

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        lanes, lane, value = arguments
        return builder.select(lane_is(builder, lane), everywhere(builder, value, lanes.type), lanes)

    return lanes(lanes, types.int64, lanes.dtype), code


@intrinsic
def lane_of(typing_context: Any, lanes: Any, lane: Any) -> tuple[Any, Callable]:
    """The number in one lane."""

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        lanes, lane = arguments
        kept = builder.bitcast(cgutils.alloca_once_value(builder, lanes), lanes.type.element.as_pointer())
        return builder.load(builder.gep(kept, [lane]))

    return lanes.dtype(lanes, types.int64), code


@intrinsic
def add_in_vector(typing_context: Any, array: Any, place: Any, value: Any) -> tuple[Any, Callable]:
    """``array[place] += value`` by a whole vector, which may be read next; ``array`` has whole vectors."""

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        data, (_, place, value) = data_of(context, builder, signature.args[0], arguments[0]), arguments
        begin = builder.and_(place, ir.Constant(INDEX, -LANES))
        mask = lane_is(builder, builder.and_(place, ir.Constant(INDEX, LANES - 1)))
        more = builder.select(mask, everywhere(builder, value), ir.Constant(FLOATS, [0.0] * LANES))
        store(builder, builder.fadd(load(builder, data, begin, FLOATS), more), data, begin)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.float32), code


@intrinsic
def prefetch(typing_context: Any, array: Any, place: Any) -> tuple[Any, Callable]:
    """Ask for the cache line of ``array[place]``, which is used soon; any place will do."""

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        data = data_of(context, builder, signature.args[0], arguments[0])
        byte = ir.IntType(8).as_pointer()
        at = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, SMALL, SMALL, SMALL])
        wanted = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        read, near, of_data = (ir.Constant(SMALL, number) for number in (0, 3, 1))
        builder.call(wanted, [at, read, near, of_data])
        return context.get_dummy_value()

    return types.void(array, types.int64), code
