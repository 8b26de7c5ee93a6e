"""A counting allocator: how many arrays of a size NumPy allocates, and how much memory it holds at most.

NumPy lets its memory be handed out by a handler of one's own (NEP 49); this one counts and asks the C library.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

_size, _pointer = ctypes.c_size_t, ctypes.c_void_p
_MALLOC = ctypes.CFUNCTYPE(_pointer, _pointer, _size)
_CALLOC = ctypes.CFUNCTYPE(_pointer, _pointer, _size, _size)
_REALLOC = ctypes.CFUNCTYPE(_pointer, _pointer, _pointer, _size)
_FREE = ctypes.CFUNCTYPE(None, _pointer, _pointer, _size)


class _Handler(ctypes.Structure):
    """PyDataMem_Handler of NumPy's C API."""

    _fields_ = [
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", _pointer),
        ("malloc", _MALLOC),
        ("calloc", _CALLOC),
        ("realloc", _REALLOC),
        ("free", _FREE),
    ]


_SET_HANDLER = 304  # the place of PyDataMem_SetHandler in the table of NumPy's C API, which is stable
_c = ctypes.CDLL(None)
_c.malloc.restype = _c.calloc.restype = _c.realloc.restype = _pointer
_c.malloc.argtypes, _c.calloc.argtypes, _c.realloc.argtypes = [_size], [_size, _size], [_pointer, _size]
_c.free.argtypes, _c.free.restype = [_pointer], None


def _set_handler() -> Callable[[Any], Any]:
    capsule = ctypes.pythonapi.PyCapsule_GetPointer
    capsule.restype, capsule.argtypes = _pointer, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(capsule(np._core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(_pointer))
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[_SET_HANDLER])


def _capsule(handler: _Handler) -> Any:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [_pointer, ctypes.c_char_p, _pointer]
    return new(ctypes.addressof(handler), b"mem_handler", None)


@dataclass
class Count:
    """Arrays of at least `size` bytes that were allocated."""

    size: int
    arrays: int = 0
    bytes: int = 0

    def note(self, size: int) -> None:
        if size >= self.size:
            self.arrays += 1
            self.bytes += size


_current: list[Count] = []


def _note(size: int) -> None:
    for count in _current:
        count.note(size)


def _malloc(_: Any, size: int) -> Any:
    _note(size)
    return _c.malloc(size)


def _calloc(_: Any, number: int, size: int) -> Any:
    _note(number * size)
    return _c.calloc(number, size)


def _realloc(_: Any, place: Any, size: int) -> Any:
    return _c.realloc(place, size)


def _free(_: Any, place: Any, size: int) -> None:
    _c.free(place)


_handler = _Handler(b"counting", 1, None, _MALLOC(_malloc), _CALLOC(_calloc), _REALLOC(_realloc), _FREE(_free))
_counting = _capsule(_handler)  # for ever: an array is freed by the handler that made it
_set = _set_handler()


@contextmanager
def allocations(size: int) -> Iterator[Count]:
    """Count, within the `with` block, the arrays of at least `size` bytes that NumPy allocates."""
    count = Count(size)
    before = _set(_counting)
    _current.append(count)
    try:
        yield count
    finally:
        _current.remove(count)
        _set(before)
