"""Options of elementwise ufuncs: `dtype=` becomes casts, `where=` a selection of elements."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks.classes import as_traced
from wengert.hooks.writes import record_store
from wengert.recording.record import as_array
from wengert.recording.recording import Recording, users_line
from wengert.recording.slots import holds_traced

LAYOUT = {"casting", "subok", "order", "out"}  # say how a result is stored, not which

UFUNC_OPTIONS = {*LAYOUT, "where", "dtype", "signature", "sig"}


def is_elementwise(fn: Any) -> bool:
    """Whether a function is an elementwise ufunc."""
    return isinstance(fn, np.ufunc) and fn.signature is None


def with_options(recording: Recording, ufunc: np.ufunc, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
    """Record a call with options and without `out=`."""
    if not _everywhere(words.get("where", True)):
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: {ufunc.__name__} with where= but without out= leaves the masked elements undefined. "
                f"Pass out=, an array with their values."
            )
        )
    value = as_traced(ufunc)(*cast_first(ufunc, args, words))
    return as_traced(np.copy)(value, words["order"]) if words.get("order") in ("C", "F") else value


def cast_first(ufunc: np.ufunc, args: tuple[Any, ...], words: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments in the dtypes of the loop that `dtype=` or `signature=` chooses."""
    dtype, signature = words.get("dtype"), words.get("signature", words.get("sig"))
    if dtype is None and signature is None:
        return args
    if signature is None:
        signature = (None,) * ufunc.nin + (_as_dtype(dtype),) * ufunc.nout
    args = tuple([_as_operand(a) for a in args])
    given = [getattr(a, "dtype", type(a)) for a in args] + [None] * ufunc.nout
    loop = ufunc.resolve_dtypes(tuple(given), signature=signature, casting=words.get("casting", "same_kind"))
    return tuple([_cast_operand(a, wanted) for a, wanted in zip(args, loop, strict=False)])


def check_outputs(ufunc: np.ufunc, args: tuple[Any, ...], outs: Any, words: dict[str, Any]) -> None:
    """Raise what NumPy raises where it does not write into these arrays, because of their shapes or dtypes."""
    outs = outs if isinstance(outs, tuple) else (outs,)
    with np.errstate(all="ignore"):
        ufunc(*args, out=tuple([np.empty_like(a) if isinstance(a, np.ndarray) else a for a in outs]), **words)


def write_where(ufunc: np.ufunc, args: tuple[Any, ...], out: np.ndarray, where: Any) -> np.ndarray:
    """Record `out[where] = ufunc(*args)`; elsewhere it is not computed, since its derivative may be infinite there."""
    mask = as_traced(np.broadcast_to)(as_mask(where), out.shape)
    chosen = [
        a if np.ndim(a) == 0 else as_traced(operator.getitem)(_broadcast_operand(a, out.shape), mask) for a in args
    ]
    record_store(out, mask, as_traced(ufunc)(*chosen))
    return out


def as_mask(where: Any) -> Any:
    """Convert a mask to booleans: NumPy also accepts numbers, which as an index would select positions."""
    is_mask = type(where) is bool or getattr(where, "dtype", None) == np.dtype(bool)
    return where if is_mask else as_traced(np.not_equal)(where, 0)


def write_parts(run: Callable[[], Any], outs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Store the results of a ufunc that has several in the arrays `outs`; NumPy gives those without one their shape."""
    values = run()
    shape = np.broadcast_shapes(*[np.shape(part) for part in (*outs, *values) if part is not None])
    for out, value in zip(outs, values, strict=True):
        if out is not None:
            record_store(out, ..., value)
    return tuple(
        [_copy_in_shape(value, shape) if out is None else out for out, value in zip(outs, values, strict=True)]
    )


def _copy_in_shape(value: Any, shape: tuple[int, ...]) -> Any:
    return value if np.shape(value) == shape else as_traced(np.copy)(_broadcast_operand(value, shape))


def _everywhere(where: Any) -> bool:
    return where is True or where is np.True_


def _broadcast_operand(a: Any, shape: tuple[int, ...]) -> Any:
    return as_traced(np.broadcast_to)(_as_operand(a), shape)


def _as_dtype(dtype: Any) -> np.dtype:
    """Return the dtype that `dtype=` names, also by a dtype's class, which `np.dtype` would take for `object`."""
    is_class = isinstance(dtype, type) and issubclass(dtype, np.dtype)
    named: np.dtype = dtype() if is_class else np.dtype(dtype)
    return named


def _as_operand(a: Any) -> Any:
    if not isinstance(a, (list, tuple)):
        return a
    return as_array(a) if holds_traced(a) else np.asarray(a)


def _cast_operand(a: Any, dtype: np.dtype) -> Any:
    """Cast an operand to a dtype; a Python number by the dtype's scalar type."""
    if getattr(a, "dtype", None) == dtype:
        return a
    if isinstance(a, np.ndarray):
        return as_traced(np.ndarray.astype)(a, dtype)
    return as_traced(dtype.type)(a)
