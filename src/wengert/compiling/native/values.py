"""Values of native code: flat memory, views of it with constant strides, and named numbers.

An array is a View: an offset into flat memory, and a stride in elements for each axis. So slices, transposes, reshapes
and broadcasts need no code, and the compiler sees only one type of array.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from wengert.compiling.ops import BOOL_KIND, FLOAT_KIND
from wengert.values.names import in_line
from wengert.values.specs import is_int_array

INT_KIND = "int"
"""The kind of memory with integers, which known indices lie in; integers that are computed lie in memory of floats."""


STORED_AS_FLOATS = (np.float64, np.bool_, np.uint8, np.int64, np.int32)
"""Types of arrays whose elements are floats in memory: masks, counts of ties and indices are exact so."""


class UnsupportedOp(Exception):
    """Native code does not support `op`, an op of the tape itself, so NumPy runs it; `site` is the user's line."""

    site: Any = None
    op: Any = None

    def __str__(self) -> str:
        return f"{super().__str__()} ({self.site})" if self.site else super().__str__()


@dataclass(frozen=True)
class Counter:
    """A loop variable, which counts from 0 to `count` - 1."""

    name: str
    count: int


@dataclass(frozen=True)
class Affine:
    """An integer: `first` plus a constant multiple of each of some counters."""

    first: int
    steps: tuple[tuple[Counter, int], ...] = ()

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.first + other, self.steps)
        steps = dict(self.steps)
        for counter, step in other.steps:
            steps[counter] = steps.get(counter, 0) + step
        return Affine(self.first + other.first, tuple([(k, step) for k, step in steps.items() if step]))

    def __mul__(self, factor: int) -> Affine:
        return Affine(self.first * factor, tuple([(k, step * factor) for k, step in self.steps if factor]))

    @property
    def least(self) -> int:
        return self.first + sum([min(0, step * (k.count - 1)) for k, step in self.steps])

    @property
    def most(self) -> int:
        return self.first + sum([max(0, step * (k.count - 1)) for k, step in self.steps])

    @property
    def text(self) -> str:
        parts = [f"{step} * {counter.name}" if step != 1 else counter.name for counter, step in self.steps]
        return " + ".join([*parts, *([str(self.first)] if self.first or not parts else [])])


@dataclass(frozen=True)
class Scalar:
    """A number, by its name or as a literal."""

    text: str
    kind: str = FLOAT_KIND


@dataclass(eq=False)
class FlatMemory:
    """Flat memory: the argument `name` of the native function, or a part of its workspace.

    Complex numbers lie in it as pairs of floats if it `is_complex`.
    `home` is the BlockLevel of whose blocks `first` to `last` use a part of the workspace; `owner` is the BlockLevel
    that may overwrite it. `base` is the offset in the workspace.
    """

    size: int
    name: str = ""
    home: Any = None
    owner: Any = None
    base: int = 0
    aliases: list[tuple[Any, int]] = field(default_factory=list)
    first: int = -1
    last: int = -1
    is_complex: bool = False

    @property
    def text(self) -> str:
        """The name of the memory in the source."""
        return self.name or f"w{self.base}"


@dataclass(frozen=True)
class View:
    """An array in memory: the element at (i, j) lies at `offset + i * strides[0] + j * strides[1]`.

    Each of the `places`, indices of the same shape with a stride, adds `places[i, j] * stride` to the offset.
    """

    memory: FlatMemory
    offset: Affine
    strides: tuple[int, ...]
    shape: tuple[int, ...]
    kind: str = FLOAT_KIND
    places: tuple[tuple[View, int], ...] = ()

    @classmethod
    def whole(cls, memory: FlatMemory, shape: tuple[int, ...], kind: str = FLOAT_KIND) -> View:
        return cls(memory, Affine(0), row_major(shape), shape, kind)

    def broadcast(self, shape: tuple[int, ...]) -> View:
        """Return this view as an operand in a loop nest over a shape."""
        if shape == self.shape:
            return self
        more = len(shape) - len(self.shape)
        if more < 0:
            raise UnsupportedOp("an operand with more axes than the result")
        strides = tuple([s if n != 1 else 0 for s, n in zip(self.strides, self.shape, strict=True)])
        places = tuple([(at.broadcast(shape), step) for at, step in self.places])
        return View(self.memory, self.offset, (0,) * more + strides, shape, self.kind, places)

    def transposed(self, order: Sequence[int]) -> View:
        """Return this view with its axes in another order."""
        strides, shape = [tuple([row[axis] for axis in order]) for row in (self.strides, self.shape)]
        return View(self.memory, self.offset, strides, shape, self.kind)

    def as_rows(self) -> View:
        """Return a vector as a matrix of one row; a matrix itself."""
        if len(self.shape) == 2:
            return self
        return View(self.memory, self.offset, (0, *self.strides), (1, *self.shape), self.kind)

    @property
    def parts(self) -> list[View]:
        """Return this view and the views of its indices."""
        return [self, *[at for at, _ in self.places]]

    def has_same_elements(self, other: View | None) -> bool:
        """Whether both views have the same elements at the same indices, each once."""
        if other is None or (self.offset, self.shape) != (other.offset, other.shape) or self.places or other.places:
            return False
        rows = zip(self.strides, other.strides, self.shape, strict=True)
        return all([n == 1 or s == t for s, t, n in rows]) and self.is_injective

    def is_disjoint(self, other: View | None) -> bool:
        """Whether this view certainly shares no element with another one of the same memory."""
        if other is None or self.offset.steps != other.offset.steps or self.places or other.places:
            return False
        (a, b), (c, d) = self.reach, other.reach
        if b < c or d < a:
            return True
        steps = [s for x in (self, other) for n, s in zip(x.shape, x.strides, strict=True) if n > 1]
        return math.gcd(*steps) > 1 and (a - c) % math.gcd(*steps) != 0

    @cached_property
    def reach(self) -> tuple[int, int]:
        """Return the lowest and highest offset of elements, without counters."""
        steps = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        low = sum([step for step in steps if step < 0])
        return self.offset.first + low, self.offset.first + sum([step for step in steps if step > 0])

    @property
    def covers_memory(self) -> bool:
        """Whether the view is all of its memory, in C order."""
        return self.memory.size == math.prod(self.shape) and self.is_contiguous and self.offset == Affine(0)

    @property
    def is_injective(self) -> bool:
        """Whether all elements have different offsets."""
        reach = 1
        for stride, n in sorted([(abs(s), n) for s, n in zip(self.strides, self.shape, strict=True) if n > 1]):
            if stride < reach:
                return False
            reach += (n - 1) * stride
        return True

    @property
    def is_contiguous(self) -> bool:
        rows = zip(self.strides, row_major(self.shape), self.shape, strict=True)
        return all([n == 1 or s == t for s, t, n in rows])


@dataclass(eq=False)
class ComputedArray:
    """An array that a loop nest computes element by element; it has memory only if other nests read it."""

    name: str
    shape: tuple[int, ...]
    kind: str
    level: Any
    at: int
    view: View | None = None
    aliases: list[tuple[Any, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Splat:
    """An array with the same number everywhere; with `blank`, the elements are arbitrary."""

    number: Scalar
    shape: tuple[int, ...]
    blank: bool = False

    @property
    def kind(self) -> str:
        """The kind of the number."""
        return self.number.kind


@dataclass(frozen=True, eq=False)
class ComplexPair:
    """A complex number or array: its real and its imaginary part."""

    real: Any
    imag: Any


@dataclass(frozen=True)
class PartOf:
    """The `part` of a complex number, "real" or "imag", which is a parameter."""

    op: Any
    part: str


@dataclass(frozen=True)
class RowList:
    """A list of the rows of an array, or of the numbers in it."""

    whole: Any


def splat_number(x: Any) -> Any:
    """Return the number of a Splat; other operands unchanged."""
    return x.number if isinstance(x, Splat) else x


@dataclass(frozen=True, eq=False)
class KnownInts:
    """An array of integers that is the same in each call, or the part of it that `view` shows."""

    array: np.ndarray
    part: View | None = None

    @property
    def view(self) -> View:
        return self.part or View.whole(None, self.array.shape, INT_KIND)  # type: ignore[arg-type]


def is_known_whole(x: Any) -> bool:
    """Whether a value is all of a KnownInts; a part of one may be another in each iteration of a loop."""
    return isinstance(x, KnownInts) and x.part is None


def row_major(shape: Iterable[int]) -> tuple[int, ...]:
    """Return the strides, in elements, of an array in C order."""
    strides, step = [], 1
    for n in reversed(tuple(shape)):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def number_literal(x: Any) -> Scalar:
    """Return the literal of a constant number."""
    if isinstance(x, (bool, np.bool_)):
        return Scalar(str(bool(x)), BOOL_KIND)
    if isinstance(x, int) and abs(x) > 2**53:
        raise UnsupportedOp("an integer beyond 2**53")
    if isinstance(x, (int, float, np.integer)):
        text = repr(float(x))
        return Scalar(f"({text})" if text[0] == "-" else text)
    raise UnsupportedOp(f"the constant {in_line(repr(x))[:40]}")


def is_of_complex(x: Any) -> bool:
    """Whether a recorded value is a complex number or array."""
    return isinstance(x, (complex, np.ndarray, np.generic)) and np.asarray(x).dtype.kind == "c"


def is_integer_value(value: Any) -> bool:
    """Whether a value is an integer or an array of integers, but for the bytes as which bools are counted."""
    dtype = getattr(value, "dtype", None)
    return type(value) is int or (dtype is not None and dtype.kind in "iu" and dtype != np.uint8)


def is_int64_value(value: Any) -> bool:
    """Whether a value is an integer of 64 bits or an array of them."""
    return type(value) is int or getattr(value, "dtype", None) == np.int64


def kind_of_value(value: Any) -> str:
    """Return the kind of a recorded value. Errors: UnsupportedOp unless it is of floats or bools."""
    if type(value) in (float, np.float64) or (type(value) is np.ndarray and value.dtype == np.float64):
        return FLOAT_KIND
    if type(value) in (bool, np.bool_) or (type(value) is np.ndarray and value.dtype == np.bool_):
        return BOOL_KIND
    raise UnsupportedOp(f"values of type {getattr(value, 'dtype', type(value).__name__)}")


def real_parts(x: Any) -> tuple[Any, ...]:
    """Return the two parts of a pair; other values as the only part."""
    return (x.real, x.imag) if isinstance(x, ComplexPair) else (x,)


def is_native_array(x: Any) -> bool:
    return isinstance(x, (View, ComputedArray, Splat))


def is_constant_table(x: Any) -> bool:
    """Whether a value is a tuple of integers up to 2**53, floats or complex numbers, or of arrays or tuples alike."""
    if type(x) is not tuple or not x or bool in map(type, x):
        return False
    if all([type(part) is tuple for part in x]):
        return all(map(is_constant_table, x)) and len({(np.shape(part), np.array(part).dtype) for part in x}) == 1
    if all([isinstance(part, (int, np.integer)) for part in x]):
        return max(map(abs, x)) <= 2**53
    if all([type(part) is np.ndarray for part in x]):
        alike = len({(part.shape, part.dtype) for part in x}) == 1
        return alike and (x[0].dtype in (np.float64, np.bool_, np.complex128) or is_int_array(x[0]))
    return any([all([isinstance(part, kind) for part in x]) for kind in (float, complex)])


def is_computed(x: Any) -> bool:
    """Whether a value is computed by native code, or a part of one is."""
    if isinstance(x, (list, tuple, slice)):
        return any(map(is_computed, (x.start, x.stop, x.step) if isinstance(x, slice) else x))
    is_part = isinstance(x, KnownInts) and not is_known_whole(x)
    return is_part or is_native_array(x) or isinstance(x, (Affine, ComplexPair, RowList, Scalar))
