"""Call native code from functions that numba compiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numba import types

from wengert.compiling.native.llvm import SourceModule


def emitter(source: str) -> Callable[..., Any]:
    """Return the code generator of a numba intrinsic: it calls `native` of a source, which returns numbers."""

    def emit(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        given = [
            context.make_array(kind)(context, builder, value=x).data if isinstance(kind, types.Array) else x
            for kind, x in zip(signature.args, args, strict=True)
        ]
        found = SourceModule(builder.module, source).call(builder, "native", given)
        numbers = [builder.extract_value(found, k) for k in range(len(signature.return_type))]
        return context.make_tuple(builder, signature.return_type, numbers)

    return emit
