"""The tensor language: types, expressions, programs. All are frozen, hashable and compared by structure.

Source: "Differentiating a Tensor Language", Figure 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from wengert.tensor.language.indices import AffineExpr as AffineExpr
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
from wengert.tensor.language.predicates import compare_to_zero as compare_to_zero
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
    """The type [size]of: a tensor of `size` elements."""

    size: AffineExpr
    of: Type


Type = Real | PairType | TensorType
REAL = Real()

# ---- expressions ----


@dataclass(frozen=True, slots=True)
class BlackBox:
    """A scalar function, elementwise on arrays; `partials[m](*args)` returns the expression of ∂f/∂args[m]."""

    name: str
    fn: Callable[..., Any]
    partials: tuple[Callable[..., Expr], ...]


@dataclass(frozen=True, slots=True)
class Var:
    """A variable: an input, or bound by a let."""

    name: str


@dataclass(frozen=True, slots=True)
class Const:
    """A number."""

    value: int | float | Fraction


@dataclass(frozen=True, slots=True)
class Add:
    """The sum left + right of scalars."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Mul:
    """The product left · right of scalars."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Apply:
    """The call of(*args) of a black box."""

    of: BlackBox
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """The pair (left, right)."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Proj:
    """Part `k` of the pair `of`: 0 for the first, 1 for the second."""

    k: int
    of: Expr


@dataclass(frozen=True, slots=True)
class Gen:
    """The tensor ⊞[index:size] body."""

    index: str
    size: AffineExpr
    body: Expr


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum Σ[index:size] body."""

    index: str
    size: AffineExpr
    body: Expr


@dataclass(frozen=True, slots=True)
class Access:
    """The element of[at]."""

    of: Expr
    at: AffineExpr


@dataclass(frozen=True, slots=True)
class Bracket:
    """The bracket [where]·body. Where the predicate is false it is a zero of the body's type, and skips the body."""

    where: Predicate
    body: Expr


@dataclass(frozen=True, slots=True)
class LetIn:
    """The expression `let name = value in body`."""

    name: str
    value: Expr
    body: Expr


Expr = Var | Const | Add | Mul | Apply | Pair | Proj | Gen | Sum | Access | Bracket | LetIn


def bracket_of(p: Predicate, e: Expr) -> Expr:
    """Return the bracket [p]·e, or e itself if p is TRUE."""
    return e if p == TRUE else Bracket(p, e)


@dataclass(frozen=True, slots=True)
class TensorProgram:
    """An expression with its typed inputs, and the relations and sizes that its types and predicates name."""

    inputs: tuple[tuple[str, Type], ...]
    body: Expr
    relations: tuple[tuple[str, tuple[AffineExpr, ...]], ...] = ()
    sizes: tuple[str, ...] = ()
