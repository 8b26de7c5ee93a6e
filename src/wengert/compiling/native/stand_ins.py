"""Stand-ins for arrays and numbers of native code, on which functions in Python run: they emit each operation."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from wengert.compiling.native.indices import check_elements
from wengert.compiling.native.values import Scalar, UnsupportedOp, is_native_array
from wengert.tape.ops import Call, value_of


class Emitted(NDArrayOperatorsMixin):
    """An array or number of native code, with the value that it has on the tape."""

    def __init__(self, body: Any, native: Any, val: Any) -> None:
        self.body, self.native, self.val = body, native, val
        self.shape, self.ndim, self.dtype = np.shape(val), np.ndim(val), np.asarray(val).dtype

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        return self.apply(ufunc if method == "__call__" else getattr(ufunc, method), *args, **kwargs)

    def __array_function__(self, fn: Any, _: Any, args: Any, kwargs: Any) -> Any:
        return self.apply(fn, *args, **kwargs)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise UnsupportedOp("a function that needs the elements of an array")

    __bool__ = __float__ = __len__ = __iter__ = __array__

    def __getitem__(self, key: Any) -> Any:
        return self.apply(operator.getitem, self, key)

    def apply(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        """Emit a call of a function."""
        if (function := self.body.instead(fn)) is not None:
            return function(*args, **kwargs)
        if kwargs.get("out") is not None:
            raise UnsupportedOp("a write into an array")
        (values, known), (given, words) = (
            ([_part(x, name) for x in args], {word: _part(x, name) for word, x in kwargs.items()})
            for name in ("val", "native")
        )
        with np.errstate(all="ignore"):
            val = fn(*values, **known)
        native = self.body.call(Call(fn, given, words, val=val))
        if isinstance(native, tuple):
            return tuple([self.of(part, known) for part, known in zip(native, val, strict=True)])
        return self.of(native, val)

    def of(self, native: Any, val: Any) -> Any:
        """Return what stands in for a value of native code; a constant itself."""
        return Emitted(self.body, native, val) if is_native_array(native) or isinstance(native, Scalar) else val


def stand_in(body: Any, x: Any, recorded: Any) -> Any:
    """Return a stand-in for an array or number, and those in a list; other values unchanged."""
    recorded = value_of(recorded)
    if isinstance(x, (list, tuple)) and len(x) == len(recorded):
        return type(x)([stand_in(body, part, known) for part, known in zip(x, recorded, strict=True)])
    return Emitted(body, x, recorded) if is_native_array(x) or isinstance(x, Scalar) else x


def _part(x: Any, name: str) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)([_part(part, name) for part in x])
    return getattr(x, name) if isinstance(x, Emitted) else x


def natives_of(*things: Any) -> tuple[Any, ...]:
    """Return the body in which the stand-ins among some things emit, and all things as values of native code."""
    body = next(x.body for x in things if isinstance(x, Emitted))
    return body, *[x.native if isinstance(x, Emitted) else body.value(x) for x in things]


def require_finite(is_checked: bool, *arrays: Any) -> None:
    """Let the native function fail if an element is not finite, where SciPy checks that: it then raises its error."""
    for x in arrays if is_checked else ():
        if isinstance(x, Emitted):
            check_elements(x.body, x.body.operand(x.native), "{1} - {1} == 0.0")
