"""The position of a view in the array that owns its memory: a basic key if one exists, else offset and strides."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

from wengert.values.named_tuples import NamedTuple

DummyArray: Any = type(as_strided(np.zeros(1), (2,), (0,)).base)  # between a strided view and its array
# Keeps the keys of such dictionaries interned: interning them again each time makes Python rebuild its table of
# strings, of 2 MB and more.
_INTERFACE = np.zeros(0).__array_interface__


class Lens(NamedTuple):
    """The position of a view in the array that owns its memory: offset from its first element, shape and strides.

    Units: offset and strides in bytes.
    """

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def owner_of(array: Any) -> np.ndarray:
    """Return the array that owns the memory of a view; an array over a foreign buffer is its own owner."""
    while (base := array.base) is not None:
        if type(base) is not np.ndarray:
            if isinstance(base, DummyArray):
                base = base.base
            if type(base) is memoryview:
                base = base.obj
            if isinstance(base, np.void):  # a record, which is a view of an array's element
                base = base.base
            if not isinstance(base, np.ndarray):
                break
        array = base
    owner: np.ndarray = array
    return owner


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view of an array."""
    view = array.view()
    view.flags.writeable = False
    return view


def is_foreign(owner: np.ndarray) -> bool:
    """Whether the memory belongs to an object other than an array, which may write it unseen."""
    return owner.base is not None and not is_field(owner)


def is_field(owner: np.ndarray) -> bool:
    """Whether an owner is a field of an array of records, whose elements have gaps between them in memory."""
    return isinstance(owner.base, np.ndarray)


def lens_of(view: np.ndarray, owner: np.ndarray) -> Lens:
    """Return the Lens of `view` in `owner`."""
    start = owner.__array_interface__["data"][0]
    return Lens(view.__array_interface__["data"][0] - start, view.shape, view.strides)


def memory_order(owner: np.ndarray) -> tuple[int, ...] | None:
    """Return the axes of an owner from the longest stride to the shortest; None if they are in this order."""
    if owner.flags.c_contiguous:
        return None
    order = tuple(sorted(range(owner.ndim), key=lambda k: -owner.strides[k]))
    return None if order == tuple(range(owner.ndim)) else order


def axes_in_memory(array: np.ndarray) -> list[int]:
    """List the axes in NumPy's order="K": by stride, except that an axis of stride 0 keeps its position."""
    strides = [0 if n == 1 else abs(stride) for n, stride in zip(array.shape, array.strides, strict=True)]
    inwards: list[int] = []  # the innermost first
    for axis in reversed(range(array.ndim)):
        place = len(inwards)
        for k in reversed(range(len(inwards))):
            inner = strides[inwards[k]]
            if inner and strides[axis]:
                if inner <= strides[axis]:
                    break
                place = k
        inwards.insert(place, axis)
    return inwards[::-1]


def ranks_of(lens: Lens, owner: np.ndarray) -> np.ndarray:
    """Count, for each element at `lens` in a field, the elements of the field before it in memory."""
    own = np.sort(_addresses(lens_of(owner, owner)), axis=None)
    return np.searchsorted(own, _addresses(lens))


def _addresses(lens: Lens) -> Any:
    steps = [np.arange(n) * stride for n, stride in zip(lens.shape, lens.strides, strict=True)]
    return np.asarray(sum(np.ix_(*steps), np.array(lens.offset)) if steps else lens.offset)


def view_of(array: np.ndarray, owner: np.ndarray, lens: Lens) -> np.ndarray:
    """Return the view of `array` at `lens`, a position in `owner`; the array has the memory layout of the owner."""
    order = memory_order(owner)
    buffer = array if order is None else array.transpose(order)
    return np.ndarray(lens.shape, array.dtype, buffer, lens.offset, lens.strides)


def covers(view: np.ndarray, owner: np.ndarray) -> bool:
    """Whether a view shows the whole owner with the same shape, dtype and strides."""
    return view is owner or (
        view.shape == owner.shape
        and view.dtype == owner.dtype
        and lens_of(view, owner).offset == 0
        and all(a == b or n == 1 for a, b, n in zip(view.strides, owner.strides, view.shape, strict=True))
    )


def part_of(view: np.ndarray, owner: np.ndarray) -> tuple[str, np.ndarray] | None:
    """Return "real" or "imag" and the view of the complex numbers, if `view` shows such parts of a complex owner.

    Return None for any other view.
    """
    size = owner.itemsize
    offset, shape, strides = lens_of(view, owner)
    if (
        owner.dtype.kind != "c"
        or view.dtype.kind != "f"
        or view.itemsize * 2 != size
        or view.dtype.byteorder != owner.dtype.byteorder
        or any(stride % size for n, stride in zip(shape, strides, strict=True) if n > 1)
        or offset % size not in (0, view.itemsize)
    ):
        return None
    region = view_of(owner, owner, Lens(offset - offset % size, shape, strides))
    return ("imag" if offset % size else "real"), region


def content_of(view: np.ndarray, owner: np.ndarray, content: np.ndarray) -> np.ndarray:
    """Return the content of `view`, a view of `owner`, as it was while the owner held `content`."""
    if is_field(owner):
        row = np.ravel(np.transpose(content, memory_order(owner)))
        return np.asarray(row[ranks_of(lens_of(view, owner), owner)])
    if view.dtype == owner.dtype:
        return view_of(content, owner, lens_of(view, owner))
    found = part_of(view, owner)
    assert found is not None
    part, region = found
    shown: np.ndarray = getattr(content_of(region, owner, content), part)
    return shown


def basic_key(lens: Lens, owner: np.ndarray) -> Any:
    """Return the basic key that selects the view from its owner; None if there is none.

    Each dimension of the view must be a dimension of the owner, in the owner's order, with a stride that is a multiple
    of the owner's; dimensions of the owner that the view lacks become integers.
    """
    order = [k for k in range(owner.ndim) if owner.shape[k] > 1]
    if any(owner.strides[k] <= 0 for k in order) or owner.size == 0 or 0 in lens.shape:
        return None
    starts = dict.fromkeys(range(owner.ndim), 0)
    rest = lens.offset
    for k in sorted(order, key=lambda k: -owner.strides[k]):
        starts[k], rest = divmod(rest, owner.strides[k])
    if rest or any(not 0 <= starts[k] < owner.shape[k] for k in order):
        return None
    key: list[Any] = [starts[k] for k in range(owner.ndim)]
    k = 0
    for n, stride in zip(lens.shape, lens.strides, strict=True):
        while k < owner.ndim and not _fits(n, stride, starts[k], owner.shape[k], owner.strides[k]):
            k += 1
        if k == owner.ndim:
            return None
        key[k] = _slice(n, stride, starts[k], owner.shape[k], owner.strides[k])
        k += 1
    return key[0] if len(key) == 1 else tuple(key)


def copy_as_laid_out(array: np.ndarray) -> np.ndarray:
    """Copy an array, also its strides if they are whole numbers of elements."""
    made, size = array.copy(order="K"), array.itemsize
    if made.strides == array.strides or any([stride % size for stride in array.strides]):
        return made
    low, high = byte_bounds(array)
    memory, begin = np.empty((high - low) // size, array.dtype), array.__array_interface__["data"][0] - low
    laid_out: Any = np.ndarray(array.shape, array.dtype, memory, begin, array.strides)
    laid_out[...] = made
    return laid_out


def _fits(n: int, stride: int, start: int, size: int, owner_stride: int) -> bool:
    if n == 1:
        return True
    return (
        size > 1
        and stride % owner_stride == 0
        and stride != 0
        and 0 <= start + (n - 1) * (stride // owner_stride) < size
    )


def _slice(n: int, stride: int, start: int, size: int, owner_stride: int) -> slice:
    if n == 1:
        return slice(start, start + 1)
    step = stride // owner_stride
    stop: int | None = start + n * step
    if step == 1 and start == 0 and n == size:
        return slice(None)
    if step < 0 and stop is not None and stop < 0:
        stop = None
    return slice(start, stop, None if step == 1 else step)
