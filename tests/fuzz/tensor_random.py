"""Random well-typed programs of the tensor language, with inputs, sizes and relations to run them on."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from wengert.tensor.language.terms import (
    REAL,
    Access,
    Add,
    AffineExpr,
    Apply,
    BlackBox,
    Bracket,
    Const,
    Expr,
    Gen,
    LetIn,
    Mul,
    Pair,
    PairType,
    Predicate,
    Proj,
    Related,
    Sum,
    TensorProgram,
    TensorType,
    Type,
    Unrelated,
    Var,
    affine,
    compare_to_zero,
    conjoin,
    disjoin,
    exists,
    in_range,
)
from wengert.tensor.language.typechecking import arrays

N, M = affine("n"), affine("m")

# black boxes that are exact on fractions; each partial is one call, as the theorem counts
twice = BlackBox("twice", lambda x: 2 * x, (lambda x: Const(2),))
square = BlackBox("square", lambda x: x * x, (lambda x: Apply(twice, (x,)),))
thrice_square = BlackBox("thrice_square", lambda x: 3 * x * x, (lambda x: Mul(Const(6), x),))
cube = BlackBox("cube", lambda x: x * x * x, (lambda x: Apply(thrice_square, (x,)),))
twice_product = BlackBox(
    "twice_product",
    lambda x, y: 2 * x * y,
    (lambda x, y: Mul(Const(2), y), lambda x, y: Mul(Const(2), x)),
)
first_square = BlackBox("first_square", lambda x, y: x * x, (lambda x, y: Mul(Const(2), x), lambda x, y: Const(0)))
bend = BlackBox(
    "bend",
    lambda x, y: x * x * y,
    (lambda x, y: Apply(twice_product, (x, y)), lambda x, y: Apply(first_square, (x, y))),
)
UNARY, BINARY = (square, cube), (bend,)


@dataclass(frozen=True)
class Case:
    program: TensorProgram
    sizes: dict[str, int]
    relations: dict[str, np.ndarray]
    inputs: dict[str, Any]


@dataclass(frozen=True)
class Scope:
    values: tuple[tuple[str, Type], ...]
    indices: tuple[tuple[str, AffineExpr], ...] = ()

    def typed(self, name: str, of: Type) -> Scope:
        return replace(self, values=(*(v for v in self.values if v[0] != name), (name, of)))

    def indexed(self, index: str, size: AffineExpr) -> Scope:
        return replace(self, indices=(*(i for i in self.indices if i[0] != index), (index, size)))


def random_case(seed: int, binary: bool = False) -> Case:
    rng = random.Random(seed)
    sizes = {"n": rng.randint(1, 3), "m": rng.randint(1, 3)}
    known = rng.random() < 0.3  # a program may also be written for its sizes
    n, m = (AffineExpr(size) if known else affine(name) for name, size in sizes.items())
    make = Making(rng, (*UNARY, *BINARY) if binary else UNARY, n, m)
    inputs = tuple((f"x{k}", make.type(2)) for k in range(rng.randint(1, 3)))
    body = make.expr(make.type(2), Scope(inputs), rng.randint(3, 6))
    relations = {
        name: np.array(rng.choices((False, True), k=int(np.prod(shape)))).reshape(shape)
        for name, shape in (("R", (sizes["n"], sizes["m"])), ("Q", (sizes["n"],)))
    }
    values = {name: random_value(arrays(of), sizes, rng) for name, of in inputs}
    return Case(TensorProgram(inputs, body, tuple(make.relations.items()), ("n", "m")), sizes, relations, values)


def random_value(of: Type, sizes: dict[str, int], rng: random.Random) -> Any:
    """Small fractions in the shape of a type with pairs outermost."""
    if isinstance(of, PairType):
        return random_value(of.left, sizes, rng), random_value(of.right, sizes, rng)
    shape = []
    while isinstance(of, TensorType):
        shape.append(of.size.constant + sum(c * sizes[name] for name, c in of.size.terms))
        of = of.of
    flat = [Fraction(rng.randint(-4, 4), rng.randint(1, 3)) for _ in range(int(np.prod(shape)))]
    array = np.empty(len(flat), object)
    array[:] = flat
    return array.reshape(shape)


class Making:
    def __init__(self, rng: random.Random, boxes: tuple[BlackBox, ...], n: AffineExpr = N, m: AffineExpr = M) -> None:
        self.rng, self.boxes, self.made = rng, boxes, 0
        self.n, self.sizes, self.relations = n, (n, m, AffineExpr(2)), {"R": (n, m), "Q": (n,)}

    def new(self, letter: str) -> str:
        """Sometimes a name in use already: binders shadow."""
        self.made += self.rng.random() < 0.8
        return f"{letter}{self.made}"

    def type(self, depth: int) -> Type:
        kind = self.rng.random()
        if depth == 0 or kind < 0.4:
            return REAL
        if kind < 0.8:
            return TensorType(self.rng.choice(self.sizes), self.type(depth - 1))
        return PairType(self.type(depth - 1), self.type(depth - 1))

    def expr(self, of: Type, scope: Scope, depth: int) -> Expr:
        if depth <= 0:
            return self.leaf(of, scope)
        makers = [self.bracket, self.let, self.projection, self.access]
        if of == REAL:
            makers += [self.add, self.mul, self.add, self.mul, self.apply, self.sum, self.sum, self.leaf_expr]
        elif isinstance(of, TensorType):
            makers += [self.gen] * 4
        else:
            makers += [self.pair] * 4
        return self.rng.choice(makers)(of, scope, depth - 1)

    def leaf_expr(self, of: Type, scope: Scope, depth: int) -> Expr:
        return self.leaf(of, scope)

    def leaf(self, of: Type, scope: Scope) -> Expr:
        """What is at hand of that type, read out of a variable where it can be."""
        readers = [e for name, has in scope.values for e in self.parts(Var(name), has, of, scope)]
        if readers and self.rng.random() < 0.9:
            return self.rng.choice(readers)
        match of:
            case TensorType(size, element):
                index = self.new("i")
                return Gen(index, size, self.leaf(element, scope.indexed(index, size)))
            case PairType(left, right):
                return Pair(self.leaf(left, scope), self.leaf(right, scope))
        return Const(self.rng.choice((0, 1, 2, -1, 3)))

    def parts(self, e: Expr, has: Type, of: Type, scope: Scope) -> list[Expr]:
        if has == of:
            return [e]
        match has:
            case TensorType(size, element):
                return [self.read(part, size, scope) for part in self.parts_under(e, element, of, scope)]
            case PairType(left, right):
                return [*self.parts(Proj(0, e), left, of, scope), *self.parts(Proj(1, e), right, of, scope)]
        return []

    def parts_under(self, e: Expr, element: Type, of: Type, scope: Scope) -> list[Expr]:
        return [e] if element == of else []

    def read(self, e: Expr, size: AffineExpr, scope: Scope) -> Expr:
        """e[a], under a guard where a may be out of range."""
        safe = [affine(index) for index, has in scope.indices if has == size] + [AffineExpr(0)]
        if self.rng.random() < 0.6:
            return Access(e, self.rng.choice(safe))
        at = self.affine(scope)
        return Bracket(in_range(at, size), Access(e, at))

    def affine(self, scope: Scope) -> AffineExpr:
        at = AffineExpr(self.rng.randint(-1, 1))
        for index, _ in self.rng.sample(scope.indices, min(len(scope.indices), self.rng.randint(0, 2))):
            at = at + affine(index) * self.rng.choice((-1, 1, 1, 2))
        return at + (self.n if self.rng.random() < 0.1 else 0)

    def predicate(self, scope: Scope, depth: int = 2) -> Predicate:
        kind = self.rng.random()
        if depth and kind < 0.3:
            joint = self.rng.choice((conjoin, disjoin))
            return joint(self.predicate(scope, depth - 1), self.predicate(scope, depth - 1))
        if depth and kind < 0.4:
            index, size = self.new("e"), self.rng.choice(self.sizes)
            return exists([(index, size)], self.predicate(scope.indexed(index, size), depth - 1))
        if kind < 0.55:
            return self.related(scope)
        return compare_to_zero(self.rng.choice(("=", "=", ">=", ">")), self.affine(scope) - self.affine(scope))

    def related(self, scope: Scope) -> Predicate:
        name, shape = self.rng.choice(list(self.relations.items()))
        at = tuple(self.affine(scope) for _ in shape)
        atom = self.rng.choice((Related, Related, Unrelated))(name, at)
        return conjoin(atom, *(in_range(a, size) for a, size in zip(at, shape, strict=True)))

    def bracket(self, of: Type, scope: Scope, depth: int) -> Expr:
        return Bracket(self.predicate(scope), self.expr(of, scope, depth))

    def let(self, of: Type, scope: Scope, depth: int) -> Expr:
        name, has = self.new("v"), self.type(2)
        return LetIn(name, self.expr(has, scope, depth), self.expr(of, scope.typed(name, has), depth))

    def projection(self, of: Type, scope: Scope, depth: int) -> Expr:
        other, k = self.type(1), self.rng.randint(0, 1)
        return Proj(k, self.expr(PairType(other, of) if k else PairType(of, other), scope, depth))

    def access(self, of: Type, scope: Scope, depth: int) -> Expr:
        size = self.rng.choice(self.sizes)
        return self.read(self.expr(TensorType(size, of), scope, depth), size, scope)

    def add(self, of: Type, scope: Scope, depth: int) -> Expr:
        return Add(self.expr(REAL, scope, depth), self.expr(REAL, scope, depth))

    def mul(self, of: Type, scope: Scope, depth: int) -> Expr:
        return Mul(self.expr(REAL, scope, depth), self.expr(REAL, scope, depth))

    def apply(self, of: Type, scope: Scope, depth: int) -> Expr:
        box = self.rng.choice(self.boxes)
        return Apply(box, tuple(self.expr(REAL, scope, depth) for _ in range(2 if box in BINARY else 1)))

    def sum(self, of: Type, scope: Scope, depth: int) -> Expr:
        index, size = self.new("k"), self.rng.choice(self.sizes)
        return Sum(index, size, self.expr(REAL, scope.indexed(index, size), depth))

    def gen(self, of: TensorType, scope: Scope, depth: int) -> Expr:
        index = self.new("i")
        return Gen(index, of.size, self.expr(of.of, scope.indexed(index, of.size), depth))

    def pair(self, of: PairType, scope: Scope, depth: int) -> Expr:
        return Pair(self.expr(of.left, scope, depth), self.expr(of.right, scope, depth))
