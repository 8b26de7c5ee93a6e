"""The tensor language: types, expressions, programs. Frozen, hashable, compared by structure.

Source: "Differentiating a Tensor Language", Figure 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from wengert.tensor.language.indices import Affine as Affine
from wengert.tensor.language.indices import affine as affine
from wengert.tensor.language.predicates import FALSE as FALSE
from wengert.tensor.language.predicates import TRUE as TRUE
from wengert.tensor.language.predicates import And as And
from wengert.tensor.language.predicates import Compare as Compare
from wengert.tensor.language.predicates import Exists as Exists
from wengert.tensor.language.predicates import Or as Or
from wengert.tensor.language.predicates import Predicate as Predicate
from wengert.tensor.language.predicates import Related as Related
from wengert.tensor.language.predicates import Unrelated as Unrelated
from wengert.tensor.language.predicates import at_most as at_most
from wengert.tensor.language.predicates import compare as compare
from wengert.tensor.language.predicates import conjoin as conjoin
from wengert.tensor.language.predicates import disjoin as disjoin
from wengert.tensor.language.predicates import equal as equal
from wengert.tensor.language.predicates import exists as exists
from wengert.tensor.language.predicates import in_range as in_range
from wengert.tensor.language.predicates import less as less
from wengert.tensor.language.predicates import negate as negate

# ---- types ----


@dataclass(frozen=True, slots=True)
class Real:
    """The type of numbers."""


@dataclass(frozen=True, slots=True)
class PairType:
    """The type of pairs, left × right."""

    left: Type
    right: Type


@dataclass(frozen=True, slots=True)
class TensorType:
    """[size]of, a tensor of `size` elements."""

    size: Affine
    of: Type


Type = Real | PairType | TensorType
REAL = Real()

# ---- expressions ----


@dataclass(frozen=True, slots=True)
class BlackBox:
    """A scalar function, elementwise in NumPy; `partials[m](*args)` is ∂f/∂args[m], an expression."""

    name: str
    fn: Callable[..., Any]
    partials: tuple[Callable[..., Expr], ...]


@dataclass(frozen=True, slots=True)
class Var:
    """A variable, bound by a let, or an input."""

    name: str


@dataclass(frozen=True, slots=True)
class Const:
    """A number."""

    value: int | float | Fraction


@dataclass(frozen=True, slots=True)
class Add:
    """left + right, of scalars."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Mul:
    """left · right, of scalars."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Apply:
    """of(*args): the call of a black box."""

    of: BlackBox
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """The pair (left, right)."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Proj:
    """The part `of` a pair: the first (0) or the second (1)."""

    k: int
    of: Expr


@dataclass(frozen=True, slots=True)
class Gen:
    """⊞[index:size] body."""

    index: str
    size: Affine
    body: Expr


@dataclass(frozen=True, slots=True)
class Sum:
    """Σ[index:size] body."""

    index: str
    size: Affine
    body: Expr


@dataclass(frozen=True, slots=True)
class Access:
    """of[at], an element."""

    of: Expr
    at: Affine


@dataclass(frozen=True, slots=True)
class Bracket:
    """[where]·body: zero of the body's type where the predicate is false, and the body is not evaluated there."""

    where: Predicate
    body: Expr


@dataclass(frozen=True, slots=True)
class Let:
    """let name = value in body."""

    name: str
    value: Expr
    body: Expr


Expr = Var | Const | Add | Mul | Apply | Pair | Proj | Gen | Sum | Access | Bracket | Let


@dataclass(frozen=True, slots=True)
class Program:
    """A body with its typed free variables; sizes and relations are what its types and predicates name."""

    inputs: tuple[tuple[str, Type], ...]
    body: Expr
    relations: tuple[tuple[str, tuple[Affine, ...]], ...] = ()
    sizes: tuple[str, ...] = ()
