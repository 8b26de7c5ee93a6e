"""Specs of values (shape, dtype and type), whether a value has a derivative, and copies of numbers."""

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
COMPLEX = frozenset((complex, np.complex128))
SCALARS = FLOATS | {int}
NUMERIC = SCALARS | COMPLEX | {np.float32, np.int64, np.ndarray}
"""The exact types of nearly all operands."""

CERTAIN = {int, bool, type(None), type(...), type}
"""Types whose equality reveals nothing about a float, except large integers, which may hold its digits."""

MANY = 257  # CPython shares one object for each smaller integer, so that these reveal nothing


class Spec:
    """The `shape`, `dtype` and type (`pytype`) of an argument whose value is not kept.

    The engine passes it to the pullback of a rule that reads nothing else of the argument.

    Parameters:
        shape (tuple[int, ...]): The shape.
        dtype (dtype): The dtype.
        pytype (type): The type.
    See Also:
        is_complex

    Examples:
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
    """Return the Spec of an array, made once for each shape and dtype."""
    found = _specs.get((shape, dtype))
    if found is None:
        if len(_specs) > 10_000:
            _specs.clear()
        found = _specs[shape, dtype] = Spec(shape, dtype)
    return found


def spec_of(x: Any) -> Spec:
    """Return the Spec of `x`; a Python float counts as a float64 of shape ()."""
    if type(x) is np.ndarray:
        return _specs.get((x.shape, x.dtype)) or spec(x.shape, x.dtype)
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
    """Return the type of cotangents of a number of type `t`: float for a subclass of float, whose code never runs."""
    if t in _DTYPES or issubclass(t, np.generic):
        return t
    return float if issubclass(t, float) else complex if issubclass(t, complex) else t


def is_array(x: Any) -> bool:
    """Whether `x` is an array by its type, without running code of the user."""
    return issubclass(type(x), np.ndarray)


def elements(array: np.ndarray) -> list[Any]:
    """Return the elements of an array past its class: the `flat` of a masked array reads views of it."""
    return [*_flat_of(array)]


_flat_of: Callable[[np.ndarray], Iterator[Any]] = np.ndarray.flat.__get__


def is_inexact(x: Any) -> bool:
    """Whether `x` can have a derivative: a float or complex number, or an array of them."""
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fc"
    return isinstance(x, (float, complex, np.inexact))


def is_int_array(x: Any) -> bool:
    """Whether a value is an array of integers."""
    return type(x) is np.ndarray and x.dtype.kind in "iu"


def as_float(x: Any) -> Any:
    """Convert an integer to the float that equals it; return anything else, or an integer without one, unchanged."""
    if type(x) is not int and not (isinstance(x, np.integer) and x.dtype.kind in "iu"):  # a timedelta64 is one
        return x
    try:
        number = float(x) if type(x) is int else np.float64(x)
    except OverflowError:
        return x
    return number if int(number) == int(x) else x


def is_complex(x: Any) -> bool:
    """Whether `x`, an array, a number or a `Spec`, is complex.

    Parameters:
        x (Any): An array, a number or a `Spec`.
    Returns:
        bool: Whether its dtype or type is complex.
    See Also:
        Spec

    Examples:
        >>> wg.extend.is_complex(1j), wg.extend.is_complex(np.ones(2))
        (True, False)
    """
    if isinstance(x, (np.ndarray, np.generic, Spec)):
        return x.dtype.kind == "c"
    return isinstance(x, complex)


def is_certain(x: Any) -> bool:
    """Whether `x` is True, False, None, a type or a small integer, so that equality to it tells nothing of a float."""
    return type(x) in CERTAIN and (type(x) is not int or -MANY < x < MANY)


def has_dtype(x: Any) -> bool:
    """Whether `x` is an array, a NumPy scalar or a Spec, by its type: reading `x.dtype` would be traced."""
    return isinstance(x, (np.ndarray, np.generic, Spec))


def fresh(x: Any) -> Any:
    """Return a new object with the bits of the number `x`."""
    if type(x) is float:
        return -(-x)  # noqa: B002 -- not a decrement: the fastest expression for a new float with the same bits
    if type(x) is complex:
        return complex(x.real, x.imag)  # complex arithmetic would change -0.0 and infinities
    if isinstance(x, np.generic):
        return x.copy()
    if isinstance(x, (float, complex)):
        return _of_class(x)
    raise TypeError(f"cannot copy a {type(x).__name__}, only a float or complex number")


def _of_class(x: Any) -> Any:
    """Copy `x`, of a subclass of float or complex, with its attributes; no code of the class runs."""
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
    """Whether two numbers or arrays have equal shapes and numbers, with nan equal to nan, whatever their classes."""
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def light(value: Any) -> Any:
    """Return the residual for a pullback that reads shape and dtype only: the Spec of an array, a number as it is."""
    return spec_of(value) if isinstance(value, np.ndarray) else value
