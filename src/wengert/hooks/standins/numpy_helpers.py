"""Stand-ins of NumPy's C helpers that make arrays from traced ones, composed of functions with rules."""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks.classes import as_traced
from wengert.hooks.policy import records, stand_in_for
from wengert.hooks.search import search
from wengert.hooks.standins.arrays import sized
from wengert.hooks.standins.subclasses import wrapped_by, wrapping
from wengert.recording.record import as_plain
from wengert.recording.recording import STATE

core: Any = np._core._multiarray_umath  # type: ignore[attr-defined]


@stand_in_for(core._array_converter)
class Converter:
    """The stand-in of `_array_converter`, by which NumPy's Python functions convert arguments and wrap results."""

    def __init__(self, *items: Any) -> None:
        self.native = core._array_converter(*items)
        self.items = items
        self.scalar_input = self.native.scalar_input
        self.result_type = self.native.result_type

    def as_arrays(self, subok: bool = True, pyscalars: str = "convert_if_no_array") -> tuple[Any, ...]:
        native = self.native.as_arrays(subok=subok, pyscalars=pyscalars)
        convert = as_traced(np.asanyarray if subok else np.asarray)
        return tuple([
            convert(item) if isinstance(array, np.ndarray) else item
            for item, array in zip(self.items, native, strict=True)
        ])  # fmt: skip

    def wrap(self, array: Any, /, to_scalar: bool | None = None) -> Any:
        by = wrapping(self.items)
        if by is not None and not isinstance(by, np.ndarray):
            return wrapped_by(by, array)
        scalar = all(self.scalar_input) if to_scalar is None else to_scalar
        return as_traced(operator.getitem)(array, ()) if scalar and np.ndim(array) == 0 else array

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, i: int) -> Any:
        return as_traced(np.asanyarray)(self.items[i])


@stand_in_for(np.broadcast_arrays)
def _broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    if not _any_traced(args):
        return np.broadcast_arrays(*args, subok=subok)
    shape = np.broadcast_shapes(*map(np.shape, args))
    arrays = [as_traced(np.asanyarray if subok else np.asarray)(a) for a in args]
    return tuple([a if a.shape == shape else _writable_broadcast(a, shape, subok) for a in arrays])


def _writable_broadcast(array: Any, shape: tuple[int, ...], subok: bool) -> Any:
    """Broadcast as `np.broadcast_arrays` does, whose results NumPy lets write."""
    view = as_traced(np.broadcast_to)(array, shape, subok=subok)
    view.flags.writeable = array.flags.writeable
    return view


@stand_in_for(core.count_nonzero)
def _count_nonzero(a: Any) -> Any:
    """Count as `np.count_nonzero` does, which calls this of arrays of any class."""
    return as_traced(np.count_nonzero)(as_plain(a))


def _any_traced(things: Any) -> bool:
    recording = STATE.recording
    return recording is not None and search(recording, things)


def _public(f: Any) -> Callable[..., Any]:
    """The C function behind a function of NumPy's, as its own modules call it."""
    return lambda *args, **kwargs: as_traced(f)(*args, **kwargs)


records(np.repeat)(sized)
records(np.bincount, np.flatnonzero, np.argwhere)(functools.partial(sized, deciding=slice(0, 1)))
_functions: list[Any] = [f for f in vars(np).values() if type(f) is type(np.sum)]
for _f in _functions:
    if isinstance(_f._implementation, types.BuiltinFunctionType):
        stand_in_for(_f._implementation)(_public(_f))

if hasattr(core, "_unique_hash"):  # from NumPy 2.3

    @stand_in_for(core._unique_hash)
    def _unique_hash(array: Any, **kwargs: Any) -> Any:
        """`np.unique` sorts where this gives NotImplemented."""
        is_traced = isinstance(array, Converter) or _any_traced((array,))
        return NotImplemented if is_traced else core._unique_hash(array, **kwargs)
