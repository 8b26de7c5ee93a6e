"""The adjoint: the linear map found by rewriting the inner product ⟨ȳ | D[e]⟩ until it reads ⟨x̄ | dx⟩.

The rewriting processes the bindings of the differential from last to first. For each it holds one inner product
⟨[p]a | dx⟩; its filter p says where a may be nonzero, and so bounds the cost. The primal statements come first.

Source: "Differentiating a Tensor Language", 6.20 to 6.54. Theorem 6.55: cost(adjoint) + interface ≤ cost(D) + |output|.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from wengert.tensor.language.assignments import Assignments, World
from wengert.tensor.language.predicates import FALSE, TRUE, Predicate, conjoin, disjoin, exists, substituted
from wengert.tensor.language.ranges import simplify_predicate
from wengert.tensor.language.terms import REAL, Expr, Mul, PairType, Proj, TensorType, Type, Var
from wengert.tensor.language.typechecking import arrays, shape_of_type
from wengert.tensor.passes.differential import (
    Binding,
    LinearContraction,
    LinearForm,
    ScaledDifferential,
    emit_tangents,
    linearise,
)
from wengert.tensor.passes.gen_pushout import accessed
from wengert.tensor.passes.ssa import Builder, index_expressions, masked_copy
from wengert.tensor.passes.statements import SSA, Contract, Fill, Gens, Load, Output, Sum2, output_names


@dataclass(frozen=True, slots=True)
class InnerProduct:
    """The inner product ⟨[where]·a | dx⟩: a contribution a to the cotangent of x, and where it may be nonzero.

    Usually a is zero where the predicate is false; then a weaker predicate is also right, but costs more. If a guarded
    sum has split the product of its result, a may be nonzero there: `within` is the part that must not be weakened.
    """

    where: Predicate
    a: str
    within: Predicate = TRUE


@dataclass(frozen=True, slots=True)
class AdjointProgram:
    """The program of a tuple of cotangents, one per requested input, and the inner products left at the inputs."""

    ssa: SSA
    interface: tuple[tuple[Expr, Gens, Predicate], ...]


def adjoint_program(ssa: SSA, wrt: Iterable[str], cotangent: str = "y_bar") -> AdjointProgram:
    """D*[e; X]: the program of the cotangents of `wrt`. Its last input is the cotangent of the result."""
    builder = Builder.of(ssa)
    y_bar = builder.add_input(cotangent, _output_type(builder, ssa.output))
    parts = [(name, functools.partial(builder.input, path)) for path, name in _output_leaves(Var(y_bar), ssa.output)]
    return adjoint_from_cotangents(ssa, tuple(wrt), builder, parts)


def gauss_newton(ssa: SSA, wrt: Iterable[str]) -> SSA:
    """The program of JᵀJ·ẋ, with one more input x_dot for each x of `wrt`: the adjoint at the result's tangent."""
    wrt, builder = tuple(wrt), Builder.of(ssa)
    tangents = emit_tangents(ssa, wrt, builder)
    parts = [(name, functools.partial(tangents.__getitem__, name)) for name in output_names(ssa.output)]
    return adjoint_from_cotangents(ssa, wrt, builder, parts).ssa


def adjoint_from_cotangents(
    ssa: SSA, wrt: tuple[str, ...], builder: Builder, cotangents: Iterable[tuple[str, Callable[[], str]]]
) -> AdjointProgram:
    """D*[e; X]; each of `cotangents` is a name in the output with a function that returns its cotangent's name."""
    derivative = linearise(ssa, {x: x for x in wrt}, builder)
    rewriter = AdjointRewriter(builder, {binding.name: binding.of for binding in derivative.bindings})
    for name, cotangent in cotangents:
        if name in derivative.of:  # 6.26; a constant part adds nothing: ⟨ȳ | 0⟩ = 0
            rewriter.pair(derivative.of[name], TRUE, cotangent())
    for binding in reversed(derivative.bindings):
        rewriter.reverse(binding)
    types = dict(ssa.inputs)
    output = tuple(rewriter.cotangent(Var(x), arrays(types[x])) for x in wrt)
    return AdjointProgram(builder.ssa(output), tuple(rewriter.interface()))


def interface_size(
    result: AdjointProgram, sizes: Mapping[str, int] | None = None, relations: Mapping[str, np.ndarray] | None = None
) -> int:
    """Count the elements that the filters at the inputs leave, summed over the inner products."""
    table = Assignments(World(sizes or {}, relations or {}), 1, {})
    return sum(table.extended(gens, where)[0].rows for _, gens, where in result.interface)


class AdjointRewriter:
    """Rewrites inner products; `products` holds the unprocessed ones, keyed by the differential on their right."""

    def __init__(self, builder: Builder, statement_of: Mapping[str, str]) -> None:
        self.builder, self.statement_of = builder, statement_of
        self.products: dict[str, list[InnerProduct]] = {}
        self.at_inputs: dict[Expr, tuple[Gens, InnerProduct]] = {}

    def pair(self, dx: str, where: Predicate, a: str, within: Predicate = TRUE) -> None:
        """Add the inner product ⟨[where]·a | dx⟩."""
        self.products.setdefault(dx, []).append(InnerProduct(where, a, within))

    def reverse(self, binding: Binding) -> None:
        """Process a binding by 6.31. If no inner product has it, it is dead code and is dropped: 6.32."""
        if products := self.products.pop(binding.name, []):
            self.apply(binding, binding.form, self.grouped(binding, products))

    def grouped(self, binding: Binding, products: list[InnerProduct]) -> InnerProduct:
        """6.39: ⟨[p]a | dx⟩ + ⟨[q]b | dx⟩ is ⟨[p∨q]g | dx⟩ with g = [p]a + [q]b."""
        whole = products[0]
        for product in products[1:]:
            g = self.emit(binding.name, binding.gens, Sum2(whole.where, whole.a, product.where, product.a))
            whole = InnerProduct(disjoin(whole.where, product.where), g)
        return whole

    def apply(self, binding: Binding, form: LinearForm, product: InnerProduct) -> None:
        """Move the inner product from a binding to the differentials that its form reads."""
        p, a = product.where, product.a
        match form:
            case Load(of, _):
                self.at_inputs[of] = (binding.gens, product)
            case Sum2(q0, du, q1, dv):
                self.along_sum(product, ((q0, du), (q1, dv)))
            case ScaledDifferential(q, partial, du):
                self.along_scaled(binding, conjoin(p, q), a, partial, du)
            case LinearContraction(contraction, factor):
                self.along_contraction(binding, p, a, contraction, factor)

    def along_sum(self, product: InnerProduct, summands: Iterable[tuple[Predicate, str]]) -> None:
        """6.44: ⟨[p]a | [q0]du + [q1]dv⟩ is ⟨[p∧q0]a | du⟩ + ⟨[p∧q1]a | dv⟩."""
        for q, du in summands:
            self.pair(du, conjoin(product.where, q), product.a, conjoin(product.within, q))

    def along_scaled(self, binding: Binding, where: Predicate, a: str, partial: Expr, du: str) -> None:
        """6.47: ⟨[p]a | [q]f'(x)·du⟩ is ⟨[p∧q]g | du⟩ with g = [p∧q]f'(x)·a."""
        scaled = Mul(partial, accessed(Var(a), index_expressions(binding.gens)))
        self.pair(du, where, self.builder.scalar(binding.gens, where, scaled, self.name(du)))

    def along_contraction(self, binding: Binding, p: Predicate, a: str, form: Contract, factor: int) -> None:
        """6.48, 6.49: ⟨[p]a | Σ j̄,k̄,l̄ [q]du[j̄]·y[k̄]⟩ is ⟨[∃ī,k̄,l̄.p∧q]g | du⟩ with g = ⊞j̄ Σ ī,k̄,l̄ [p∧q]a[ī]·y[k̄]."""
        du, places = form.factors[factor]
        others = form.factors[:factor] + form.factors[factor + 1 :]
        sizes = dict(form.sums)
        gens = tuple((index, sizes[index]) for index in places)
        sums = (*binding.gens, *((index, size) for index, size in form.sums if index not in places))
        where = conjoin(p, form.where)
        mine = tuple(index for index, _ in binding.gens)
        g = self.emit(du, gens, Contract(sums, where, ((a, mine), *others)))
        new = self.builder.statements[g].gens
        found = substituted(exists(sums, where), dict(zip(places, index_expressions(new), strict=True)))
        self.pair(du, simplify_predicate(found, dict(new)), g)

    def emit(self, dx: str, gens: Gens, form: Sum2 | Contract) -> str:
        return self.builder.emit(gens, form, self.name(dx))

    def name(self, dx: str) -> str:
        """A fresh name x_bar for a cotangent paired with a differential of x."""
        return self.builder.named(f"{self.statement_of[dx]}_bar")

    def cotangent(self, of: Expr, type_of: Type) -> Output:
        """6.27, 6.28: the cotangent of an input, from the inner products at its parts; a part without one has zero."""
        if isinstance(type_of, PairType):
            return self.cotangent(Proj(0, of), type_of.left), self.cotangent(Proj(1, of), type_of.right)
        if of in self.at_inputs:
            gens, product = self.at_inputs[of]
            return (
                product.a
                if product.within == TRUE
                else self.builder.emit(gens, masked_copy(gens, product.within, product.a))
            )
        gens = tuple((f"i{d}", size) for d, size in enumerate(shape_of_type(type_of)))
        return self.builder.emit(gens, Fill(FALSE, 0))

    def interface(self) -> Iterator[tuple[Expr, Gens, Predicate]]:
        return ((of, gens, product.where) for of, (gens, product) in self.at_inputs.items())


def _output_type(builder: Builder, output: Output) -> Type:
    if not isinstance(output, str):
        first, *rest = output
        left = _output_type(builder, first)
        return PairType(left, _output_type(builder, tuple(rest))) if rest else left
    of: Type = REAL
    for _, size in reversed(builder.statements[output].gens):
        of = TensorType(size, of)
    return of


def _output_leaves(of: Expr, output: Output) -> Iterator[tuple[Expr, str]]:
    """Pair each name in `output` with its projection of `of`; a tuple of three or more is pairs nested to the right."""
    if isinstance(output, str):
        yield of, output
        return
    first, *rest = output
    yield from _output_leaves(Proj(0, of) if rest else of, first)
    if rest:
        yield from _output_leaves(Proj(1, of), tuple(rest))
