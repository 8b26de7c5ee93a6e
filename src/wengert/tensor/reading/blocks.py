"""Read the statements of a function: assignments are lets, `return` is the result, a `for` may add up numbers."""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence

from wengert.tensor.language.terms import AffineExpr, And, Bracket, Compare, Const, Expr, Or, Predicate, Sum, bracket_of
from wengert.tensor.reading.arithmetic import negative
from wengert.tensor.reading.comprehensions import read_iterable
from wengert.tensor.reading.conditions import branch_conditions
from wengert.tensor.reading.meanings import REAL_KIND, Group, Iteration, Meaning, RunningSum, Value
from wengert.tensor.reading.reading import as_value, choice_of_values, read_expr, read_scalar, read_truth
from wengert.tensor.reading.rule_bodies import add_folded
from wengert.tensor.reading.scopes import Scope
from wengert.tensor.reading.surface import bind_target

_REMEDIES = {
    ast.While: "Loop over a range: sum(... for k in range(n)), [... for i in range(n)].",
    ast.Try: "Move it out of the tensor function, which can only compute a formula.",
    ast.Global: "Pass values as arguments, and return results.",
    ast.Nonlocal: "Pass values as arguments, and return results.",
    ast.FunctionDef: "Define helper functions outside; their calls are inlined.",
    ast.Import: "Import at the top of the file.",
    ast.With: "Move it out of the tensor function, which can only compute a formula.",
}


def read_function(
    f: types.FunctionType, tree: ast.FunctionDef, names: dict[str, Meaning], node: ast.AST, scope: Scope
) -> Meaning:
    """Read the body of a function with arguments of these meanings; its lets go to the scope of the caller."""
    inner = Scope(scope.builder, f, dict(names), scope.conditions, scope.lets, (*scope.calls, f))
    result = read_statements(tree.body, inner)
    if result is None:
        raise inner.refusal(tree, f"{f.__name__} returns nothing", "End it with `return`.")
    return result


def read_statements(statements: Sequence[ast.stmt], scope: Scope) -> Meaning | None:
    """Read statements; return the meaning of their result, or None if they end without a return."""
    for at, statement in enumerate(statements):
        if isinstance(statement, ast.Return):
            if statement.value is None:
                return None
            return read_expr(statement.value, scope)
        if isinstance(statement, ast.If):
            return _read_if(statement, statements[at + 1 :], scope)
        read_statement(statement, scope)
    return None


def _read_if(statement: ast.If, rest: Sequence[ast.stmt], scope: Scope) -> Meaning | None:
    """Read an `if` and the statements after it: a test of sizes chooses a branch, another one between two results."""
    p = read_truth(statement.test, scope)
    known = _truth_at_sizes(p, scope)
    if known is not None:
        chosen = statement.body if known else statement.orelse
        return read_statements([*chosen, *rest], scope)
    there, q = branch_conditions(p, scope)
    results = [_read_branch(p, statement.body, rest, scope), _read_branch(q, statement.orelse, rest, scope)]
    if results[0] is None or results[1] is None:
        raise scope.refusal(
            statement, "a branch of this `if` returns nothing", "Write a conditional expression: y = e0 if p else e1."
        )
    return choice_of_values(there, results[0], q, results[1], statement, scope)


def _truth_at_sizes(p: Predicate, scope: Scope) -> bool | None:
    if isinstance(p, Compare):
        value = scope.builder.bounds.value(p.side)
        return None if value is None else value == 0 if p.op == "=" else value >= (p.op == ">")
    if isinstance(p, (And, Or)):
        parts = [_truth_at_sizes(part, scope) for part in p.parts]
        stop = isinstance(p, Or)
        return stop if stop in parts else None if None in parts else not stop
    return None


def _read_branch(p: Predicate, body: Sequence[ast.stmt], rest: Sequence[ast.stmt], scope: Scope) -> Value | None:
    inner = scope.inside(p)
    result = read_statements([*body, *rest], inner)
    if result is None:
        return None
    value = as_value(result, (list(body) or list(rest))[0], inner)
    return Value(inner.with_lets(value.expr), value.kind)


def read_statement(statement: ast.stmt, scope: Scope) -> None:
    """Read one statement that does not return."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            meaning = read_expr(value, scope)
            for target in targets:
                bind_target(target, meaning, scope)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            bind_target(target, read_expr(value, scope), scope)
        case ast.AugAssign(target=ast.Name(id=name, ctx=_) as target, op=op, value=value):
            new = ast.copy_location(
                ast.BinOp(ast.copy_location(ast.Name(name, ast.Load()), target), op, value), statement
            )
            bind_target(target, read_expr(new, scope), scope)
        case ast.For():
            _read_for(statement, scope)
        case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Assert() | ast.AnnAssign():
            pass
        case _:
            name = type(statement).__name__
            remedy = _REMEDIES.get(
                type(statement), "Nothing is changed in place: build the whole array, [e for i in range(n)]."
            )
            raise scope.refusal(statement, f"the statement `{name.lower()}` is not in the tensor language", remedy)


# ---- for ----


def _read_for(statement: ast.For, scope: Scope) -> None:
    """Read a `for` statement: unroll it over constants, else make a sum for each number that it adds up."""
    if statement.orelse:
        raise scope.refusal(statement, "a loop with `else` is not in the tensor language", "Leave the `else` out.")
    found = read_iterable(statement.iter, scope)
    if isinstance(found, Group):
        for part in found.parts:
            bind_target(statement.target, part, scope)
            _read_unrolled_body(statement.body, scope)
        return
    known = scope.builder.bounds.value(found.size) if _has_literal_bounds(statement.iter) else None
    if known is not None:
        for k in range(known):
            bind_target(statement.target, found.at(AffineExpr(k)), scope)
            _read_unrolled_body(statement.body, scope)
        return
    for name, added in _sums_of_loop(statement, found, scope).items():
        old = as_value(scope.names[name], statement, scope)
        scope.names[name] = scope.bind(name, Value(add_folded(old.expr, added), REAL_KIND))


def _read_unrolled_body(statements: Sequence[ast.stmt], scope: Scope) -> None:
    for statement in statements:
        if isinstance(statement, ast.If):
            _read_unrolled_body(_branch_by_sizes(statement, scope), scope)
            continue
        if isinstance(statement, (ast.Return, ast.Break, ast.Continue)):
            raise scope.refusal(
                statement,
                f"`{type(statement).__name__.lower()}` in a loop is not in the tensor language",
                "Write a conditional expression: y = e0 if p else e1.",
            )
        read_statement(statement, scope)


def _branch_by_sizes(statement: ast.If, scope: Scope) -> list[ast.stmt]:
    """Return the branch of an `if` in an unrolled loop; its test must be decided by the sizes."""
    known = _truth_at_sizes(read_truth(statement.test, scope), scope)
    if known is None:
        raise scope.refusal(
            statement,
            "an `if` on an index, in a loop is not in the tensor language",
            "Write a conditional expression: y = e0 if p else e1.",
        )
    return statement.body if known else statement.orelse


def _has_literal_bounds(node: ast.expr) -> bool:
    """Whether the iterable of a loop is a call with literals only, such as range(3): the loop is unrolled."""
    if not isinstance(node, ast.Call):
        return False
    return all(isinstance(a, ast.Constant) for a in node.args)


def _sums_of_loop(statement: ast.For, found: Iteration, scope: Scope) -> dict[str, Expr]:
    """Read a loop that adds up numbers; return the sum Σ e by the name s of each `for k in range(n): s += e`."""
    index = statement.target.id if isinstance(statement.target, ast.Name) else "k"
    name, i = scope.builder.index(index, found.size)
    p = found.guard(i)
    inner = scope.inside(p)
    _refuse_rebinding([statement.target, *statement.body], scope)
    bind_target(statement.target, found.at(i), inner)
    sums = {text for text in _accumulators(statement.body) if text in scope.names}
    for text in sums:
        inner.names[text] = RunningSum(text)
    terms = _added_terms(statement.body, inner, sums)
    if len(terms) > 1 and inner.lets:
        raise scope.refusal(
            statement,
            "a loop with variables of its own that adds to several others is not in the tensor language",
            "Write one loop for each.",
        )
    return {text: Sum(name, found.size, bracket_of(p, inner.with_lets(e))) for text, e in terms.items()}


def _refuse_rebinding(parts: Sequence[ast.AST], scope: Scope) -> None:
    """Refuse a loop over a size if it assigns to a name from before it, other than by adding to it."""
    added = {id(n.target) for part in parts for n in ast.walk(part) if isinstance(n, ast.AugAssign)}
    for n in (n for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)):
        if isinstance(n.ctx, ast.Store) and n.id in scope.names and id(n) not in added:
            raise scope.refusal(
                n,
                f"a loop over a size does more than add up: it changes {n.id}",
                "`for k in range(n): s += e` is a sum; arrays are built by [e for i in range(n)].",
            )


def _accumulators(body: Sequence[ast.stmt]) -> set[str]:
    return {
        n.target.id
        for statement in body
        for n in ast.walk(statement)
        if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
    }


def _added_terms(body: Sequence[ast.stmt], scope: Scope, sums: set[str]) -> dict[str, Expr]:
    """Return the expression that the statements of a loop add to each of the sums."""
    found: dict[str, Expr] = {}

    def add(name: str, e: Expr) -> None:
        found[name] = add_folded(found.get(name, Const(0)), e)

    for statement in body:
        match statement:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add() | ast.Sub() as op, value=value) if name in sums:
                e = read_scalar(value, scope)
                add(name, e if isinstance(op, ast.Add) else negative(e))
            case ast.If(test=test, body=inside, orelse=[]):
                p = read_truth(test, scope)
                inner = scope.inside(p)
                _refuse_rebinding(inside, scope)
                for name, e in _added_terms(inside, inner, sums).items():
                    add(name, Bracket(p, inner.with_lets(e)))
            case ast.For() as loop:
                found_here = read_iterable(loop.iter, scope)
                if isinstance(found_here, Group):
                    raise scope.refusal(
                        loop,
                        "a loop over constants inside a loop over a size is not in the tensor language",
                        "Write out its terms.",
                    )
                for name, e in _sums_of_loop(loop, found_here, scope).items():
                    add(name, e)
            case ast.Assign() | ast.AnnAssign() | ast.Expr() | ast.Pass():
                read_statement(statement, scope)
            case _:
                raise scope.refusal(
                    statement,
                    "a loop over a size does more than add up",
                    "`for k in range(n): s += e` is a sum; arrays are built by [e for i in range(n)].",
                )
    return found
