"""Cotangents that are no arrays: certainly zero, without derivative, structural, delayed; and how they add up.

    +            ZeroTangent  NoTangent  Tangent  Thunk      value
    ZeroTangent  ZeroTangent  NoTangent  Tangent  the thunk  value
    NoTangent    NoTangent    NoTangent  Tangent  the thunk  value
    Tangent      Tangent      Tangent    by part  its value  -
    Thunk        the thunk    the thunk  its value + ...

Times anything, ZeroTangent is ZeroTangent and NoTangent is NoTangent; of the two, ZeroTangent. Neither forces a thunk.
Source: the seed "Gradient Accumulation" (ChainRulesCore.jl).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from wengert.errors import NoDerivativeError, RuleError
from wengert.values import functional
from wengert.values.settings import SETTINGS

ENTERED = "Pullbacks compute with it, also on values that an outer derivative watches."

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
    "as_given",
    "force",
    "is_exclusive",
    "is_zero",
    "unthunk",
]


class AbstractTangent:
    """The base of cotangents that are no arrays; arrays and numbers leave arithmetic with one to it."""

    __slots__ = ()
    __array_ufunc__ = None

    def __neg__(self) -> Any:
        raise NotImplementedError

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return other + -self


class _Nothing(AbstractTangent):
    """A cotangent that adds nothing: it vanishes in a sum, and a product with it is it again."""

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
    """A cotangent that is certainly zero, of whatever shape: it vanishes in sums.

    >>> wg.ZeroTangent() + 2.0, wg.ZeroTangent() * 2.0
    (2.0, ZeroTangent())
    """

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return other

    __radd__ = __add__


class NoTangent(_Nothing):
    """The cotangent of an argument that has no derivative, such as an integer or a name; None in a rule means the same.

    >>> wg.ProjectTo(3)(1.0)
    NoTangent()
    """

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return self if isinstance(other, ZeroTangent) else other

    __radd__ = __add__


class Tangent(AbstractTangent):
    """The cotangent of a container of the class `of`, by part: `Tangent(Point, x=...)`, `Tangent(tuple, a_bar, b_bar)`.

    Parts are given, and read, by attribute, key or position. A part that is not given is zero.

    >>> t = wg.Tangent(tuple, 1.0, 2.0) + wg.Tangent(tuple, 10.0)
    >>> t, t[1], t[7]
    (Tangent(tuple, 11.0, 2.0), 2.0, ZeroTangent())
    """

    __slots__ = ("of", "parts")

    def __init__(self, of: type, *items: Any, **fields: Any) -> None:
        if not isinstance(of, type):
            raise RuleError(f"a Tangent names the class of its primal first, as Tangent(Point, x=...): got {of!r}")
        self.of = of
        self.parts: dict[Any, Any] = {**dict(enumerate(items)), **fields}

    def __getitem__(self, key: Any) -> Any:
        return self.parts.get(key, ZeroTangent())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("of", "parts"):  # asked for while it is made or copied
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
        """The sum with `other`, of the same class, part by part; `plus` adds two cotangents of one part."""
        other = force(other)
        if is_zero(other):
            return self
        if not isinstance(other, Tangent) or other.of is not self.of:
            raise RuleError(f"a cotangent of {self.of.__name__} and {_what(other)} cannot be added")
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
    """A cotangent that is computed only if it is wanted: `make()` computes it, anew at each call.

    >>> x_bar = wg.Thunk(lambda: np.ones(2) * 3.0)
    >>> x_bar, wg.unthunk(x_bar)
    (Thunk(...), array([3., 3.]))
    """

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Any]) -> None:
        if not callable(make):
            raise RuleError(f"a Thunk holds a function of no arguments, as Thunk(lambda: ...): got {_what(make)}")
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

    `val` computes the value. The array that `add` is given has the shape and dtype of the argument; it is the engine's
    own, and nobody else reads it.

    >>> row = wg.InplaceableThunk(val=lambda: np.array([0.0, 5.0]), add=lambda x_bar: np.add(x_bar, [0, 5], out=x_bar))
    >>> wg.add_inplace(np.ones(2), row)
    array([1., 6.])
    """

    __slots__ = ("add",)

    def __init__(self, *, val: Callable[[], Any], add: Callable[[np.ndarray], np.ndarray]) -> None:
        super().__init__(val)
        if not callable(add):
            raise RuleError(f"add= is a function that adds to an array and returns it: got {_what(add)}")
        self.add = add

    @property
    def val(self) -> Callable[[], Any]:
        """The function that computes the value."""
        return self.make


class KnownInPart(Thunk):
    """A `tangent` that is nan in the elements that have no derivative; `why` says so to whoever reads one.

    What a linear function takes of the others, as an index does, is known.

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
        """Apply the function `linear` to it; the result is a plain tangent where it holds no nan."""
        made = linear(self.tangent)
        return KnownInPart(made, self.why) if np.any(np.isnan(made)) else made


def unthunk(x: Any) -> Any:
    """The value of `x` if it is a thunk, which may be a thunk again; anything else as it is.

    >>> wg.unthunk(wg.Thunk(lambda: 2.0)), wg.unthunk(3.0)
    (2.0, 3.0)
    """
    return x() if isinstance(x, Thunk) else x


def force(x: Any) -> Any:
    """The value under all layers of thunks."""
    while isinstance(x, Thunk):
        x = x()
    return x


def is_zero(x: Any) -> bool:
    """Whether `x` is ZeroTangent or NoTangent: nothing to add."""
    return isinstance(x, _Nothing)


def add_inplace(x: Any, y: Any) -> Any:
    """The sum `x` + `y` of two cotangents, written into x where that is possible.

    Use what is returned, and x no more. It is possible for a plain, writeable array x of floats or complex numbers, on
    memory of NumPy's own, that can hold the sum and shares nothing with y. An InplaceableThunk y then adds itself.

    >>> x = np.array([1.0, 2.0])
    >>> wg.add_inplace(x, np.array([10.0, 10.0])) is x, x
    (True, array([11., 12.]))

    Errors: RuleError where the shapes differ: nothing is broadcast.
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
        raise RuleError(f"cotangents of shapes {np.shape(x)} and {np.shape(y)} cannot be added")
    if writes and np.result_type(x, y) == x.dtype and not np.may_share_memory(x, y):
        return np.add(x, y, out=x)
    return x + y


def add_into(buffer: np.ndarray, thunk: InplaceableThunk) -> np.ndarray:
    """Add a thunk to `buffer` by its action; returns what that returned.

    Errors: RuleError where that is no array like the buffer; in `debug` also where it is not the buffer itself.
    """
    return as_given(thunk.add(buffer), buffer, "add of an InplaceableThunk")


def as_given(made: Any, buffer: np.ndarray, action: str) -> np.ndarray:
    """`made`, which an action returned for `buffer`, if it may stand for it: an array like it; in `debug`, itself.

    `action` names the action in the error, a RuleError.
    """
    if made is buffer:
        return buffer
    if SETTINGS.debug or type(made) is not np.ndarray or made.shape != buffer.shape or made.dtype != buffer.dtype:
        raise RuleError(
            f"{action} returned {_what(made)}, not the array that it was given\n"
            "  fix: add to x_bar in place (x_bar[key] += ..., x_bar += ...) and `return x_bar`"
        )
    return made


def is_exclusive(held: list[Any], k: int = 0, own: int = 0) -> bool:
    """Whether `held[k]` is an array that nothing else refers to, so that it may be written into.

    It is known from the count of references. `own` is how many variables of the caller refer to the array.
    """
    array = held[k]
    if type(array) is not np.ndarray or array.base is not None or sys.getrefcount(array) > _ALONE + own:
        return False
    return array.flags.writeable


def _references(held: list[Any], k: int) -> int:
    """How many references `is_exclusive` counts to the array `held[k]`, if there is no other one."""
    array = held[k]
    return sys.getrefcount(array)


_ALONE = _references([np.empty(1)], 0)  # as this Python counts: what is on its stack counts in some versions only
