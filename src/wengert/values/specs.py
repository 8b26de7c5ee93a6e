"""Specs of values: shape and dtype, whether a value has a derivative, and a new object like it."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

_DTYPES = {
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
    int: np.dtype(np.int64),
    bool: np.dtype(np.bool_),
}


FLOATS = frozenset((float, np.float64))
SCALARS = FLOATS | {int}
NUMERIC = SCALARS | {np.ndarray}
"""Types, as they are, of nearly all values that are computed with."""

CERTAIN = {int, bool, type(None), type(...), type}
"""Types of which an equality says nothing of floats, but for whole numbers that hold many digits of one."""

MANY = 257  # CPython has one object of each smaller whole number, by which nothing can be told


class Spec:
    """Stands, in a rule's pullback, for an argument of which only `shape`, `dtype` and type (`pytype`) were kept.

    The engine gives it to a rule that reads no more than that of an argument.

    >>> spec = wg.extend.Spec((2, 3), float)
    >>> np.shape(spec), spec.ndim, spec.size
    ((2, 3), 2, 6)
    """

    __slots__ = ("dtype", "ndim", "pytype", "shape", "size")

    def __init__(self, shape: tuple[int, ...], dtype: Any, pytype: type = np.ndarray) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.pytype = pytype
        self.ndim = len(shape)
        size = 1
        for n in shape:
            size *= n
        self.size = size

    def __repr__(self) -> str:
        return f"Spec({self.shape}, {self.dtype}, {self.pytype.__name__})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Spec):
            return NotImplemented
        return (self.shape, self.dtype, self.pytype) == (other.shape, other.dtype, other.pytype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.pytype))


_specs: dict[tuple[tuple[int, ...], Any], Spec] = {}


def spec(shape: tuple[int, ...], dtype: Any) -> Spec:
    """The Spec of an array, made once for each shape and dtype."""
    found = _specs.get((shape, dtype))
    if found is None:
        if len(_specs) > 10_000:
            _specs.clear()
        found = _specs[shape, dtype] = Spec(shape, dtype)
    return found


def spec_of(x: Any) -> Spec:
    """The shape, dtype and type of `x`; a Python float counts as a float64 of shape ()."""
    if type(x) is np.ndarray:
        return spec(x.shape, x.dtype)
    if isinstance(x, (np.ndarray, np.generic)):
        return Spec(x.shape, x.dtype, type(x))
    if isinstance(x, Spec):
        return x
    t = number_type(type(x))
    dtype = _DTYPES.get(t)
    if dtype is not None:
        return Spec((), dtype, t)
    array = np.asarray(x)
    return Spec(array.shape, array.dtype, type(x))


def number_type(t: type) -> type:
    """The type of the cotangents of numbers of type `t`: float for a class made from float, none of whose code runs."""
    if t in _DTYPES or issubclass(t, np.generic):
        return t
    return float if issubclass(t, float) else complex if issubclass(t, complex) else t


def is_array(x: Any) -> bool:
    """Whether `x` is an array; asked by type, of which no code of the user's knows."""
    return issubclass(type(x), np.ndarray)


def elements(array: np.ndarray) -> Iterator[Any]:
    """The elements of an array, past its class: a masked array's own `flat` reads views of it."""
    return _flat_of(array)


_flat_of: Callable[[np.ndarray], Iterator[Any]] = np.ndarray.flat.__get__


def is_inexact(x: Any) -> bool:
    """Whether `x` can have a derivative: a float or complex number, or an array of them."""
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fc"
    return isinstance(x, (float, complex, np.inexact))


def as_float(x: Any) -> Any:
    """A whole number as the float that equals it; anything else, and a number that no float equals, as it is."""
    if type(x) is not int and not (isinstance(x, np.integer) and x.dtype.kind in "iu"):  # a timedelta64 is one
        return x
    try:
        number = float(x) if type(x) is int else np.float64(x)
    except OverflowError:
        return x
    return number if int(number) == int(x) else x


def is_complex(x: Any) -> bool:
    """Whether `x`, an array, a number or a `Spec`, is complex.

    >>> wg.extend.is_complex(1j), wg.extend.is_complex(np.ones(2))
    (True, False)
    """
    if isinstance(x, (np.ndarray, np.generic, Spec)):
        return x.dtype.kind == "c"
    return isinstance(x, complex)


def is_certain(x: Any) -> bool:
    """Whether `x` is True, False, None, a type or a small whole number: to be equal to it says nothing of any float."""
    return type(x) in CERTAIN and (type(x) is not int or -MANY < x < MANY)


def has_dtype(x: Any) -> bool:
    """Whether `x` is of NumPy or a Spec; it is told by type, since to ask `x` for a dtype would be traced."""
    return isinstance(x, (np.ndarray, np.generic, Spec))


def fresh(x: Any) -> Any:
    """A new object with the bits of `x`, a number."""
    if type(x) is float:
        return -(-x)  # noqa: B002 -- not a decrement: the shortest way to a new float with the same bits
    if type(x) is complex:
        return complex(x.real, x.imag)  # arithmetic on the whole would turn -0.0 and infinities into others
    if isinstance(x, np.generic):
        return x.copy()
    if isinstance(x, (float, complex)):
        return _of_class(x)
    raise TypeError(f"only numbers can be made anew, not {type(x).__name__}")


def _of_class(x: Any) -> Any:
    """A new object of a class made from float or complex, with the attributes of `x`; no code of the class runs."""
    t = type(x)
    made: Any = (
        float.__new__(t, float.__float__(x)) if isinstance(x, float) else complex.__new__(t, complex.__complex__(x))
    )
    if hasattr(x, "__dict__"):
        vars(made).update(vars(x))
    for name in copyreg._slotnames(t):  # type: ignore[attr-defined]
        if hasattr(x, name):
            object.__setattr__(made, name, getattr(x, name))
    return made


def same_numbers(a: Any, b: Any) -> bool:
    """Whether two numbers or arrays have one shape and the same numbers, nan beside nan, whatever their classes say."""
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def light(value: Any) -> Any:
    """Return the residual for a pullback that reads shape and dtype only: the Spec of an array, a number as it is."""
    return spec_of(value) if isinstance(value, np.ndarray) else value
