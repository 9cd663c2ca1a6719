"""Arrays whose references a compiled loop need not count.

numba counts the references of an array that is handed to an inlined function with a loop or a branch, each
time, by an instruction for which other processors wait. A kernel's parameters are held by its caller, so
that within the kernel nothing of it is needed.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def uncounted(typing_context: Any, arrays: Any) -> tuple[Any, Callable] | None:
    """The same arrays, a tuple of them, without the object that holds their memory.

    They must be parameters of the function that calls it: what that one makes itself may be freed too early.
    """
    del typing_context

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        held = cgutils.unpack_tuple(builder, arguments[0], len(arrays))
        out = []
        for kind, value in zip(arrays.types, held, strict=True):
            array = context.make_array(kind)(context, builder, value)
            array.meminfo = cgutils.get_null_value(array.meminfo.type)
            array.parent = cgutils.get_null_value(array.parent.type)
            out.append(array._getvalue())
        return context.make_tuple(builder, signature.return_type, out)

    kinds = getattr(arrays, "types", None)  # of a tuple
    if kinds is None or not all(isinstance(kind, types.Array) for kind in kinds):
        return None
    return arrays(arrays), code
