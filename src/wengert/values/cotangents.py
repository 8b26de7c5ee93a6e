"""Cotangents other than arrays: certain zeros, cotangents of containers, delayed ones; and how they add up.

    +            ZeroTangent  NoTangent  Tangent  Thunk      value
    ZeroTangent  ZeroTangent  NoTangent  Tangent  the thunk  value
    NoTangent    NoTangent    NoTangent  Tangent  the thunk  value
    Tangent      Tangent      Tangent    by part  its value  -
    Thunk        the thunk    the thunk  its value + ...

A product with ZeroTangent is ZeroTangent, any other with NoTangent is NoTangent. Neither evaluates a thunk.
Source: "Gradient Accumulation" (ChainRulesCore.jl).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from wengert.errors import NoDerivativeError, RuleError
from wengert.values import functional
from wengert.values.settings import SETTINGS

ENTERED = "Pullbacks call this module, also with values that an outer derivative traces."

_FLOAT64 = np.dtype(float)
_dot = getattr(np.vdot, "_implementation", np.vdot)  # without NumPy's `__array_function__` dispatch

__all__ = [
    "AbstractTangent",
    "InplaceableThunk",
    "KnownInPart",
    "NoTangent",
    "Tangent",
    "Thunk",
    "ZeroTangent",
    "add_inplace",
    "add_into",
    "are_finite",
    "as_given",
    "force",
    "has_nan",
    "is_all_zero",
    "is_exclusive",
    "is_zero",
    "unthunk",
]


class AbstractTangent:
    """The base class of cotangents other than arrays; arrays and numbers leave arithmetic with them to it."""

    __slots__ = ()
    __array_ufunc__ = None

    def __neg__(self) -> Any:
        raise NotImplementedError

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return other + -self


class _Nothing(AbstractTangent):
    """A cotangent that adds nothing to a sum; a product with it is the same cotangent."""

    __slots__ = ()

    def __neg__(self) -> Any:
        return self

    def __mul__(self, other: Any) -> Any:
        return other if isinstance(other, ZeroTangent) else self

    __rmul__ = __matmul__ = __rmatmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self

    def __float__(self) -> float:
        return 0.0

    def __complex__(self) -> complex:
        return 0j

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ZeroTangent(_Nothing):
    """A cotangent that is certainly zero, of any shape. It adds nothing to a sum.

    See Also:
        NoTangent, ProjectTo

    Examples:
        >>> wg.ZeroTangent() + 2.0, wg.ZeroTangent() * 2.0
        (2.0, ZeroTangent())
    """

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return other

    __radd__ = __add__


class NoTangent(_Nothing):
    """The cotangent of an argument that has no derivative, such as an integer or a name; None in a rule means the same.

    See Also:
        ZeroTangent, ProjectTo

    Examples:
        >>> wg.ProjectTo(3)(1.0)
        NoTangent()
    """

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return self if isinstance(other, ZeroTangent) else other

    __radd__ = __add__


class Tangent(AbstractTangent):
    """The cotangent of a container of the class `of`, by part: `Tangent(Point, x=...)`, `Tangent(tuple, a_bar, b_bar)`.

    Parts are passed by position or keyword, and read by index, key or attribute. Missing parts are zero.

    Parameters:
        of (type): The class of the container.
        *items (Any): The cotangents of its items.
        **fields (Any): The cotangents of its fields.
    See Also:
        ZeroTangent, NoTangent, ProjectTo

    Examples:
        >>> t = wg.Tangent(tuple, 1.0, 2.0) + wg.Tangent(tuple, 10.0)
        >>> t, t[1], t[7]
        (Tangent(tuple, 11.0, 2.0), 2.0, ZeroTangent())
    """

    __slots__ = ("of", "parts")

    def __init__(self, of: type, *items: Any, **fields: Any) -> None:
        if not isinstance(of, type):
            raise RuleError(f"Tangent needs the class of its primal first, as in Tangent(Point, x=...), not {of!r}")
        self.of = of
        self.parts: dict[Any, Any] = {**dict(enumerate(items)), **fields}

    def __getitem__(self, key: Any) -> Any:
        return self.parts.get(key, ZeroTangent())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("of", "parts"):  # looked up while an instance is made or copied
            raise AttributeError(name)
        return self[name]

    def __neg__(self) -> Any:
        return self * -1

    def __add__(self, other: Any) -> Any:
        return self.merge(other, lambda a, b: a + b)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Any:
        other = force(other)
        if is_zero(other):
            return other
        return _like(self, {key: part * other for key, part in self.parts.items()})

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self * (1 / other)

    def merge(self, other: Any, plus: Callable[[Any, Any], Any]) -> Any:
        """Add `other`, of the same class, part by part; `plus` adds two cotangents of one part."""
        other = force(other)
        if is_zero(other):
            return self
        if not isinstance(other, Tangent) or other.of is not self.of:
            raise RuleError(f"cannot add a cotangent of {self.of.__name__} and {_what(other)}")
        both = {key: plus(part, other.parts[key]) for key, part in self.parts.items() if key in other.parts}
        return _like(self, {**self.parts, **other.parts, **both})

    def __repr__(self) -> str:
        parts = [repr(part) if type(key) is int else f"{key}={part!r}" for key, part in self.parts.items()]
        return f"Tangent({', '.join([self.of.__name__, *parts])})"


def _like(tangent: Tangent, parts: Mapping[Any, Any]) -> Tangent:
    made = Tangent(tangent.of)
    made.parts.update(parts)
    return made


def _what(x: Any) -> str:
    return f"one of {x.of.__name__}" if isinstance(x, Tangent) else f"{type(x).__name__}"


class Thunk(AbstractTangent):
    """A cotangent that is computed on demand: `make()` computes it, again at each call.

    Parameters:
        make (callable): A function without parameters that returns the cotangent.
    See Also:
        unthunk, InplaceableThunk

    Examples:
        >>> x_bar = wg.Thunk(lambda: np.ones(2) * 3.0)
        >>> x_bar, wg.unthunk(x_bar)
        (Thunk(...), array([3., 3.]))
    """

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Any]) -> None:
        if not callable(make):
            raise RuleError(f"Thunk needs a function without arguments, as in Thunk(lambda: ...), not {_what(make)}")
        self.make = make

    def __call__(self) -> Any:
        return self.make()

    def __neg__(self) -> Any:
        return -force(self)

    def __add__(self, other: Any) -> Any:
        return self if is_zero(other) else force(self) + force(other)

    def __radd__(self, other: Any) -> Any:
        return self if is_zero(other) else force(other) + force(self)

    def __mul__(self, other: Any) -> Any:
        return other if is_zero(other) else force(self) * force(other)

    def __rmul__(self, other: Any) -> Any:
        return other if is_zero(other) else force(other) * force(self)

    def __matmul__(self, other: Any) -> Any:
        return other if is_zero(other) else force(self) @ force(other)

    def __rmatmul__(self, other: Any) -> Any:
        return other if is_zero(other) else force(other) @ force(self)

    def __truediv__(self, other: Any) -> Any:
        return force(self) / force(other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"


class InplaceableThunk(Thunk):
    """A thunk that can also add its value to an array: `add(x_bar)` does `x_bar += val()` and returns x_bar.

    Parameters:
        val (callable): A function without parameters that returns the value.
        add (callable): A function that adds the value to an array of the argument's shape and dtype, which only the
            engine uses, and returns that array.
    See Also:
        Thunk, add_inplace, accumulates

    Examples:
        >>> row = wg.InplaceableThunk(
        ...     val=lambda: np.array([0.0, 5.0]),
        ...     add=lambda x_bar: np.add(x_bar, [0, 5], out=x_bar),
        ... )
        >>> wg.add_inplace(np.ones(2), row)
        array([1., 6.])
    """

    __slots__ = ("add",)

    def __init__(self, *, val: Callable[[], Any], add: Callable[[np.ndarray], np.ndarray]) -> None:
        super().__init__(val)
        if not callable(add):
            raise RuleError(f"add= must be a function that adds to an array and returns it, not {_what(add)}")
        self.add = add

    @property
    def val(self) -> Callable[[], Any]:
        """The function that computes the value."""
        return self.make


class KnownInPart(Thunk):
    """A `tangent` that is nan in the elements without a derivative; evaluating it raises NoDerivativeError(`why`).

    A linear function that reads only the other elements, such as an index, has a known result.

    Parameters:
        tangent (array): The tangent.
        why (str): The message of the error.
    See Also:
        ZeroTangent

    Examples:
        >>> y_dot = wg.extend.KnownInPart(np.array([2.0, np.nan]), "the second has no derivative")
        >>> y_dot.through(lambda tangent: tangent[:1]), y_dot.through(lambda tangent: tangent[1:])
        (array([2.]), KnownInPart(...))
    """

    __slots__ = ("tangent", "why")

    def __init__(self, tangent: Any, why: str) -> None:
        super().__init__(self._refuse)
        self.tangent, self.why = tangent, why

    def _refuse(self) -> Any:
        raise NoDerivativeError(self.why)

    def through(self, linear: Callable[[Any], Any]) -> Any:
        """Apply the function `linear` to the tangent; return the result alone if it holds no nan."""
        made = linear(self.tangent)
        return KnownInPart(made, self.why) if np.any(np.isnan(made)) else made


def unthunk(x: Any) -> Any:
    """Return the value of a thunk `x`, which may be another thunk; any other `x` unchanged.

    Parameters:
        x (Any): A cotangent.
    Returns:
        Any: Its value, or `x` itself.
    See Also:
        Thunk, InplaceableThunk

    Examples:
        >>> wg.unthunk(wg.Thunk(lambda: 2.0)), wg.unthunk(3.0)
        (2.0, 3.0)
    """
    return x() if isinstance(x, Thunk) else x


def force(x: Any) -> Any:
    """Return the value of nested thunks; any other `x` unchanged."""
    while isinstance(x, Thunk):
        x = x()
    return x


def is_zero(x: Any) -> bool:
    """Whether `x` is ZeroTangent or NoTangent."""
    return isinstance(x, _Nothing)


def add_inplace(x: Any, y: Any) -> Any:
    """Return the sum `x` + `y` of two cotangents, written into x if possible.

    Use the result, and no longer x. x is written if it is a plain, writeable array of floats or complex numbers in
    NumPy's own memory, its dtype holds the sum, and it shares no memory with y. An InplaceableThunk y then adds itself.

    Parameters:
        x (Any): A cotangent that nothing else reads.
        y (Any): A cotangent.
    Returns:
        Any: The sum.
    Raises:
        RuleError: The shapes differ: nothing is broadcast.
    See Also:
        InplaceableThunk, accumulates

    Examples:
        >>> x = np.array([1.0, 2.0])
        >>> wg.add_inplace(x, np.array([10.0, 10.0])) is x, x
        (True, array([11., 12.]))
    """
    if is_zero(x) or is_zero(y):
        return x + y
    writes = functional.is_destination(x)
    if writes and isinstance(y, InplaceableThunk):
        return add_into(x, y)
    x, y = force(x), force(y)
    if isinstance(x, Tangent):
        return x.merge(y, add_inplace)
    if isinstance(x, AbstractTangent) or isinstance(y, AbstractTangent):
        return x + y
    if np.shape(x) != np.shape(y):
        raise RuleError(
            f"cannot add cotangents of shapes {np.shape(x)} and {np.shape(y)}. Each must have its primal's shape"
        )
    if writes and np.result_type(x, y) == x.dtype and not np.may_share_memory(x, y):
        return np.add(x, y, out=x)
    return x + y


def add_into(buffer: np.ndarray, thunk: InplaceableThunk) -> np.ndarray:
    """Add a thunk to `buffer` by its `add`, and return the result of that.

    Errors: RuleError if that is not an array like the buffer; in `debug`, if it is not the buffer itself.
    """
    return as_given(thunk.add(buffer), buffer, "add of an InplaceableThunk")


def as_given(made: Any, buffer: np.ndarray, action: str) -> np.ndarray:
    """Return `made`, the result of adding to `buffer`. Errors: RuleError unless it is an array like the buffer.

    In `debug` it must be the buffer itself. The error calls the function that returned it `action`.
    """
    if made is buffer:
        return buffer
    if SETTINGS.debug or type(made) is not np.ndarray or made.shape != buffer.shape or made.dtype != buffer.dtype:
        raise RuleError(
            f"{action} returned {_what(made)}, not the array that it received\n"
            "  fix: add to x_bar in place (x_bar[key] += ..., x_bar += ...) and `return x_bar`"
        )
    return made


FASTER_BY_MAXIMUM = 1000
"""The size from which an array's maximum is as fast as its dot product."""


def has_nan(value: Any) -> bool:
    """Whether there is a nan in a number or an array, or in a tuple, list or dictionary of them."""
    if value is None:
        return False
    if type(value) is np.ndarray and value.dtype is _FLOAT64:
        if value.size < FASTER_BY_MAXIMUM:  # nan only if an element is: one pass, without an array of booleans
            found = value.dot(value) if value.ndim == 1 else _dot(value, value)
        else:
            found = np.maximum.reduce(value, axis=None)  # squares may be subnormal, which are twenty times as slow
        return bool(found != found)
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "c":
            return has_nan(value.real) or has_nan(value.imag)
        return value.dtype.kind == "f" and bool(np.isnan(value).any())
    if isinstance(value, (tuple, list)):
        return any(map(has_nan, value))
    if isinstance(value, dict):
        return any(map(has_nan, value.values()))
    return isinstance(value, (float, complex, np.inexact)) and bool(value != value)


def are_finite(*values: Any) -> bool:
    """Whether all elements of float and complex arrays are finite; other values are ignored."""
    return all([bool(np.isfinite(x).all()) for x in values if isinstance(x, np.ndarray) and x.dtype.kind in "fc"])


def is_all_zero(value: Any) -> bool:
    """Whether every number in a cotangent is exactly zero; a delayed cotangent counts as nonzero."""
    if isinstance(value, (tuple, list)):
        return all(map(is_all_zero, value))
    if isinstance(value, dict):
        return all(map(is_all_zero, value.values()))
    if value is None or isinstance(value, AbstractTangent):
        return value is None
    return not np.any(value)


def is_exclusive(held: list[Any], k: int = 0, own: int = 0) -> bool:
    """Whether only `held[k]` refers to its array, by the reference count, so that it may be overwritten.

    `own` is the number of the caller's variables that refer to the array.
    """
    array = held[k]
    if type(array) is not np.ndarray or array.base is not None or sys.getrefcount(array) > _ALONE + own:
        return False
    return array.flags.writeable


def _references(held: list[Any], k: int) -> int:
    """Count the references that `is_exclusive` finds to the array `held[k]` if there are no others."""
    array = held[k]
    return sys.getrefcount(array)


_ALONE = _references([np.empty(1)], 0)  # only some versions of Python count references on the stack
