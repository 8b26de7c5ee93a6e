"""Fourth pass: scalar right-hand sides become statements of one operation each.

Source: "Differentiating a Tensor Language", 5.25 to 5.34.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from wengert.tensor.language.evaluation import behind_brackets, summands
from wengert.tensor.language.predicates import fresh_name, substituted
from wengert.tensor.language.substitution import substitute
from wengert.tensor.language.terms import (
    TRUE,
    Access,
    Add,
    AffineExpr,
    Apply,
    Bracket,
    Const,
    Expr,
    LetIn,
    Mul,
    Pair,
    PairType,
    Predicate,
    Proj,
    Sum,
    TensorProgram,
    Type,
    Var,
    affine,
    conjoin,
    equal,
)
from wengert.tensor.language.typechecking import shape_of_type
from wengert.tensor.passes.gen_pushout import accessed, gens_of, push_out_gens
from wengert.tensor.passes.let_lifting import lets_of, lift_lets
from wengert.tensor.passes.pair_elimination import eliminate_pairs
from wengert.tensor.passes.statements import (
    SSA,
    Contract,
    Fill,
    Gens,
    Load,
    Output,
    Pointwise,
    Statement,
    StatementForm,
    Sum2,
    canonical_statement,
)


def to_ssa(program: TensorProgram) -> SSA:
    """The SSA form of a program, by all four passes."""
    return statements_of(push_out_gens(eliminate_pairs(lift_lets(program))))


def statements_of(program: TensorProgram) -> SSA:
    """The SSA form of a program that the first three passes have normalised, by the fourth pass."""
    bindings, body = lets_of(program.body)
    builder = Builder(program.inputs, program.relations, program.sizes, taken=(name for name, _ in bindings))
    for name, value in bindings:
        gens, scalar = gens_of(value)
        builder.scalar(gens, TRUE, scalar, name)
    return builder.ssa(builder.output(body))


class Builder:
    """Collects statements under fresh names; `scalar` is the paper's S[⊞ ī:n̄ [p] e]."""

    def __init__(
        self,
        inputs: tuple[tuple[str, Type], ...],
        relations: tuple[tuple[str, tuple[AffineExpr, ...]], ...],
        sizes: tuple[str, ...],
        taken: Iterable[str] = (),
    ) -> None:
        self.inputs, self.relations, self.sizes = inputs, relations, sizes
        self.taken = {*taken, *dict(inputs), *dict(relations), *sizes}
        self.statements: dict[str, Statement] = {}
        self.read: dict[Expr, str] = {}

    @classmethod
    def of(cls, ssa: SSA) -> Builder:
        """A Builder that starts with the statements of `ssa`."""
        builder = cls(ssa.inputs, ssa.relations, ssa.sizes, taken=(statement.name for statement in ssa.statements))
        builder.statements = {statement.name: statement for statement in ssa.statements}
        builder.read = {s.form.of: s.name for s in ssa.statements if isinstance(s.form, Load)}
        return builder

    def add_input(self, name: str, of: Type) -> str:
        name = self.named(name)
        self.inputs = (*self.inputs, (name, of))
        return name

    def ssa(self, output: Output) -> SSA:
        return SSA(tuple(self.statements.values()), output, self.inputs, self.relations, self.sizes)

    def named(self, name: str) -> str:
        """Reserve and return `name`, or if it is taken a similar name."""
        name = fresh_name(name, self.taken)
        self.taken.add(name)
        return name

    def temporary(self) -> str:
        return self.named(next(name for name in (f"t{number}" for number in count()) if name not in self.taken))

    def emit(self, gens: Gens, form: StatementForm, name: str | None = None) -> str:
        name = name or self.temporary()
        self.statements[name] = canonical_statement(Statement(name, gens, form), self.sizes)
        return name

    def input(self, of: Expr) -> str:
        """The name of the statement that reads an input or a projection of one; emit it if there is none."""
        if of not in self.read:
            gens = tuple((f"i{d}", size) for d, size in enumerate(shape_of_type(self.type_of(of))))
            self.read[of] = self.emit(gens, Load(of, tuple(index for index, _ in gens)), self.named(_input_name(of)))
        return self.read[of]

    def type_of(self, of: Expr) -> Type:
        if not isinstance(of, Proj):
            assert isinstance(of, Var)
            return dict(self.inputs)[of.name]
        pair = self.type_of(of.of)
        assert isinstance(pair, PairType)
        return pair.right if of.k else pair.left

    def output(self, e: Expr) -> Output:
        if isinstance(e, Pair):
            return self.output(e.left), self.output(e.right)
        return self.source(e)

    def source(self, e: Expr) -> str:
        """The name of the statement of a variable: a let, or the read of an input."""
        return e.name if isinstance(e, Var) and e.name in self.statements else self.input(e)

    def scalar(self, gens: Gens, p: Predicate, e: Expr, name: str | None = None) -> str:
        """S[⊞ ī:n̄ [p] e]: emit the statements that compute it, and return the name of the last."""
        match e:
            case Bracket(where, body):
                return self.scalar(gens, conjoin(p, where), body, name)
            case Const(value):
                form: StatementForm = Fill(p, value)
            case Add(left, right):
                form = self._addition(gens, p, left, right)
            case Mul(left, right):
                form = pointwise_product(gens, p, self.scalar(gens, p, left), self.scalar(gens, p, right))
            case Apply(f, args):
                form = Pointwise(p, f, tuple(self.scalar(gens, p, arg) for arg in args))
            case Sum():
                form = self._sum(gens, p, e)
            case LetIn(variable, value, body):
                held = accessed(Var(self.scalar(gens, p, value)), index_expressions(gens))
                return self.scalar(gens, p, substitute(body, values={variable: held}), name)
            case _:
                form = self._reading(p, e)
        return self.emit(gens, form, name)

    def _addition(self, gens: Gens, p: Predicate, left: Expr, right: Expr) -> StatementForm:
        (q0, e0), (q1, e1) = behind_brackets(left), behind_brackets(right)
        p0, p1 = conjoin(p, q0), conjoin(p, q1)
        return Sum2(p0, self.scalar(gens, p0, e0), p1, self.scalar(gens, p1, e1))

    def _sum(self, gens: Gens, p: Predicate, e: Sum) -> StatementForm:
        indices, q, body = summands(e)
        new = {index: fresh_name(index, {*dict(gens), *self.sizes}) for index in indices}
        sums = tuple((new[index], size) for index, size in indices.items())
        rename = {old: affine(name) for old, name in new.items()}
        where = conjoin(p, substituted(q, rename))
        return sum_over(gens, sums, where, self.scalar((*gens, *sums), where, substitute(body, rename)))

    def _reading(self, p: Predicate, e: Expr) -> StatementForm:
        """An access x[a1, .., ad] as a sum over x where j̄ = ā. It has at most one term, so it is free."""
        places: tuple[AffineExpr, ...] = ()
        while isinstance(e, Access):
            places = (e.at, *places)
            e = e.of
        name = self.source(e)
        sums = primed(self.statements[name].gens, "j")
        pins = (equal(affine(index), place) for (index, _), place in zip(sums, places, strict=True))
        return Contract(sums, conjoin(p, *pins), ((name, index_names(sums)),))


def index_names(gens: Gens) -> tuple[str, ...]:
    return tuple(index for index, _ in gens)


def index_expressions(gens: Gens) -> tuple[AffineExpr, ...]:
    return tuple(affine(index) for index, _ in gens)


def primed(gens: Gens, letter: str) -> Gens:
    """The ranges under primed names, which no program's indices have."""
    return tuple((f"{letter}{d}'", size) for d, (_, size) in enumerate(gens))


def equal_indices(gens: Gens, others: Gens) -> Predicate:
    """The predicate ī = j̄."""
    return conjoin(*(equal(a, b) for a, b in zip(index_expressions(gens), index_expressions(others), strict=True)))


def pointwise_product(gens: Gens, p: Predicate, x: str, y: str) -> Contract:
    """The form [p]·x[ī]·y[ī]."""
    js, ks = primed(gens, "j"), primed(gens, "k")
    return Contract(
        (*js, *ks),
        conjoin(p, equal_indices(js, gens), equal_indices(ks, gens)),
        ((x, index_names(js)), (y, index_names(ks))),
    )


def sum_over(gens: Gens, sums: Gens, where: Predicate, x: str) -> Contract:
    """The form Σ sums [where]·x[ī, sums]."""
    new = primed((*gens, *sums), "j")
    mine, summed = new[: len(gens)], new[len(gens) :]
    renamed = substituted(where, dict(zip(index_names(sums), index_expressions(summed), strict=True)))
    return Contract(new, conjoin(renamed, equal_indices(mine, gens)), ((x, index_names(new)),))


def masked_copy(gens: Gens, p: Predicate, x: str) -> Contract:
    """The form [p]·x[ī]."""
    return sum_over(gens, (), p, x)


def _input_name(of: Expr) -> str:
    if isinstance(of, Proj):
        return _input_name(of.of)
    assert isinstance(of, Var)
    return of.name
