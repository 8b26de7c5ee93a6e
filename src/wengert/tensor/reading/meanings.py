"""Meanings of pieces of the user's function while it is read: values, indices, truths, known things."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from wengert.tensor.language.terms import REAL, AffineExpr, Expr, PairType, Predicate, TensorType, Type


@dataclass(eq=False)
class Dimension:
    """One axis of an argument, `value` long; it is named when it is first read, by the user if he names it."""

    value: int
    default: str
    fresh: Callable[[str], str]
    define: Callable[[str, int], None]
    known: AffineExpr | None = None

    def named(self, name: str | None = None) -> AffineExpr:
        if self.known is None:
            variable = self.fresh(name or self.default)
            self.define(variable, self.value)
            self.known = AffineExpr(0, ((variable, 1),))
        return self.known


class Kind:
    """The structure of a value, as the user sees it: a number, a tuple or a tensor."""


@dataclass(frozen=True)
class RealKind(Kind):
    """The kind of a number."""

    def __str__(self) -> str:
        return "a number"


@dataclass(frozen=True)
class TupleKind(Kind):
    """The kind of a tuple, by the kinds of its parts."""

    parts: tuple[Kind, ...]

    def __str__(self) -> str:
        return f"a tuple of {len(self.parts)}"


@dataclass(frozen=True, eq=False)
class TensorKind(Kind):
    """The kind of a tensor: its size, and the kind of its elements."""

    size: Dimension | AffineExpr
    of: Kind

    def __str__(self) -> str:
        return "an array"


REAL_KIND = RealKind()


def size_of(kind: TensorKind) -> AffineExpr:
    return kind.size.named() if isinstance(kind.size, Dimension) else kind.size


def type_of_kind(kind: Kind) -> Type:
    """The type of a kind: tuples are pairs nested to the right; a tuple of one is its part."""
    if isinstance(kind, TensorKind):
        return TensorType(size_of(kind), type_of_kind(kind.of))
    if isinstance(kind, TupleKind):
        first, *rest = kind.parts
        return PairType(type_of_kind(first), type_of_kind(TupleKind(tuple(rest)))) if rest else type_of_kind(first)
    return REAL


class Meaning:
    """The meaning of an expression of the user's function."""


@dataclass(frozen=True, eq=False)
class Value(Meaning):
    """An expression of the tensor language."""

    expr: Expr
    kind: Kind

    def __str__(self) -> str:
        return str(self.kind)


@dataclass(frozen=True)
class Index(Meaning):
    """A whole number known from sizes and indices; `of` is the axis that it is the length of, if any."""

    affine: AffineExpr
    of: Dimension | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return "an index"


@dataclass(frozen=True)
class Extreme(Meaning):
    """The largest or least of several indices; a condition or the bound of a range may name it."""

    largest: bool
    of: tuple[AffineExpr, ...]

    def __str__(self) -> str:
        return "an extremum of indices"

    def moved(self, by: AffineExpr) -> Extreme:
        return Extreme(self.largest, tuple(a + by for a in self.of))


@dataclass(frozen=True)
class Length(Meaning):
    """The length of an axis that has no name yet."""

    dimension: Dimension

    def __str__(self) -> str:
        return "a size"


@dataclass(frozen=True)
class Group(Meaning):
    """A tuple or list written out."""

    parts: tuple[Meaning, ...]
    is_list: bool = False

    def __str__(self) -> str:
        return f"a tuple of {len(self.parts)}"


@dataclass(frozen=True)
class Truth(Meaning):
    """A predicate on indices."""

    predicate: Predicate

    def __str__(self) -> str:
        return "a truth value"


@dataclass(frozen=True, eq=False)
class RelationArgument(Meaning):
    """A relation among the arguments; `at` are the indices given to it so far.

    `closed`: outside its shape it is false, as a set is. `numbers`: it came as a sparse matrix of numbers.
    """

    name: str
    shape: tuple[Dimension, ...]
    closed: bool
    at: tuple[AffineExpr, ...] = ()
    numbers: bool = False

    def given(self, *at: AffineExpr) -> RelationArgument:
        """The relation with further indices."""
        return replace(self, at=(*self.at, *at))

    def __str__(self) -> str:
        return "a relation"


@dataclass(frozen=True, eq=False)
class Known(Meaning):
    """A Python object that is known before the function runs: a module, a function, a text."""

    it: Any

    def __str__(self) -> str:
        return f"{type(self.it).__name__} {getattr(self.it, '__name__', self.it)!r}"

    @property
    def has_one_truth(self) -> bool:
        """Whether the object is true, or false, for ever."""
        decides = any(hasattr(type(self.it), name) for name in ("__bool__", "__len__"))
        return not decides or self.it is None or isinstance(self.it, (str, bytes, complex))


@dataclass(frozen=True, eq=False)
class Iteration(Meaning):
    """The iterable of a `for`: `size` elements; the one at an index is `at(index)`, where `guard(index)` holds."""

    size: AffineExpr
    at: Callable[[AffineExpr], Meaning]
    guard: Callable[[AffineExpr], Predicate]
    name: str = "i"

    def __str__(self) -> str:
        return "a range"


@dataclass(frozen=True)
class Running(Meaning):
    """A number to which a `for` statement is adding."""

    name: str
