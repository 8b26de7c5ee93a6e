"""The meanings of expressions in the user's function: values, indices, predicates, known objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from wengert.tensor.language.terms import REAL, AffineExpr, Expr, PairType, Predicate, TensorType, Type


@dataclass(eq=False)
class Dimension:
    """One axis of an argument, of length `value`. Its size is named at first use, by the user's name for it if any."""

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


class ValueKind:
    """The structure of a value as the user sees it: a number, a tuple or a tensor."""


@dataclass(frozen=True)
class RealKind(ValueKind):
    """The kind of a number."""

    def __str__(self) -> str:
        return "a number"


@dataclass(frozen=True)
class TupleKind(ValueKind):
    """The kind of a tuple, by the kinds of its parts."""

    parts: tuple[ValueKind, ...]

    def __str__(self) -> str:
        return f"a tuple of {len(self.parts)}"


@dataclass(frozen=True, eq=False)
class TensorKind(ValueKind):
    """The kind of a tensor: its size, and the kind of its elements."""

    size: Dimension | AffineExpr
    of: ValueKind

    def __str__(self) -> str:
        return "an array"


REAL_KIND = RealKind()


def size_of(kind: TensorKind) -> AffineExpr:
    return kind.size.named() if isinstance(kind.size, Dimension) else kind.size


def type_of_kind(kind: ValueKind) -> Type:
    """Return the type of a kind: tuples are pairs nested to the right; a tuple of one part is that part."""
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
    kind: ValueKind

    def __str__(self) -> str:
        return str(self.kind)


@dataclass(frozen=True)
class Index(Meaning):
    """An integer that is affine in indices and sizes; `of` is the axis whose length it is, if any."""

    affine: AffineExpr
    of: Dimension | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return "an index"


@dataclass(frozen=True)
class Extremum(Meaning):
    """The largest or least of several indices, for conditions and the bounds of ranges."""

    largest: bool
    of: tuple[AffineExpr, ...]

    def __str__(self) -> str:
        return "a max or min of indices"

    def shifted(self, by: AffineExpr) -> Extremum:
        return Extremum(self.largest, tuple(a + by for a in self.of))


@dataclass(frozen=True)
class Length(Meaning):
    """The length of an axis whose size has no name yet."""

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
    """A relation among the arguments; `at` are its indices so far.

    `closed`: outside its shape it is false, as a set is. `numbers`: it was a sparse matrix with values other than 1.
    """

    name: str
    shape: tuple[Dimension, ...]
    closed: bool
    at: tuple[AffineExpr, ...] = ()
    numbers: bool = False

    def indexed(self, *at: AffineExpr) -> RelationArgument:
        """Return the relation with further indices."""
        return replace(self, at=(*self.at, *at))

    def __str__(self) -> str:
        return "a relation"


@dataclass(frozen=True, eq=False)
class KnownObject(Meaning):
    """A Python object that is known before the function runs: a module, a function, a string."""

    value: Any

    def __str__(self) -> str:
        return f"{type(self.value).__name__} {getattr(self.value, '__name__', self.value)!r}"

    @property
    def has_fixed_truth(self) -> bool:
        """Whether the truth value of the object never changes."""
        decides = any(hasattr(type(self.value), name) for name in ("__bool__", "__len__"))
        return not decides or self.value is None or isinstance(self.value, (str, bytes, complex))


@dataclass(frozen=True, eq=False)
class Iteration(Meaning):
    """The iterable of a `for`: `at(index)` is an element, for `index` from 0 to size-1 where `guard(index)` holds."""

    size: AffineExpr
    at: Callable[[AffineExpr], Meaning]
    guard: Callable[[AffineExpr], Predicate]
    name: str = "i"

    def __str__(self) -> str:
        return "a range"


@dataclass(frozen=True)
class RunningSum(Meaning):
    """A number to which a `for` statement is adding, inside the loop."""

    name: str
