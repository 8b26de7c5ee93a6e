"""Reading the statements of a function: assignments are lets, `return` is the result, a `for` may add up a number."""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence

from wengert.tensor.language.terms import AffineExpr, And, Bracket, Compare, Const, Expr, Or, Predicate, Sum
from wengert.tensor.reading.arithmetic import minus
from wengert.tensor.reading.calls import HELPERS
from wengert.tensor.reading.comprehensions import bracket_of, iteration
from wengert.tensor.reading.conditions import sides
from wengert.tensor.reading.meanings import REAL_KIND, Group, Iteration, Meaning, Running, Value
from wengert.tensor.reading.reading import as_value, either, read, read_scalar, read_truth
from wengert.tensor.reading.rule_bodies import plus_folded
from wengert.tensor.reading.scopes import Scope
from wengert.tensor.reading.surface import bind_target

_REMEDIES = {
    ast.While: "Loops run over ranges: sum(... for k in range(n)), [... for i in range(n)].",
    ast.Try: "A tensor function computes one formula; nothing in it fails.",
    ast.Global: "Pass values as arguments, and return results.",
    ast.Nonlocal: "Pass values as arguments, and return results.",
    ast.FunctionDef: "Define helpers outside; they are read in the place of their call.",
    ast.Import: "Import at the top of the file.",
    ast.With: "A tensor function computes one formula.",
}


def read_function(
    f: types.FunctionType, tree: ast.FunctionDef, names: dict[str, Meaning], node: ast.AST, scope: Scope
) -> Meaning:
    """Return the meaning of a call with arguments of these meanings; its lets go to the scope of the caller."""
    inner = Scope(scope.building, f, dict(names), scope.conditions, scope.lets, (*scope.calls, f))
    result = read_statements(tree.body, inner)
    if result is None:
        raise inner.refusal(tree, f"{f.__name__} returns nothing", "End it with `return`.")
    return result


HELPERS.append(read_function)


def read_statements(statements: Sequence[ast.stmt], scope: Scope) -> Meaning | None:
    """Return the meaning that the statements return; None where they end without a return."""
    for at, statement in enumerate(statements):
        if isinstance(statement, ast.Return):
            if statement.value is None:
                return None
            return read(statement.value, scope)
        if isinstance(statement, ast.If):
            return _if(statement, statements[at + 1 :], scope)
        step(statement, scope)
    return None


def _if(statement: ast.If, rest: Sequence[ast.stmt], scope: Scope) -> Meaning | None:
    """Read an `if` and the statements after it: sizes choose a branch, others choose between two results."""
    p = read_truth(statement.test, scope)
    known = _decided(p, scope)
    if known is not None:
        chosen = statement.body if known else statement.orelse
        return read_statements([*chosen, *rest], scope)
    there, q = sides(p, scope)
    results = [_branch(p, statement.body, rest, scope), _branch(q, statement.orelse, rest, scope)]
    if results[0] is None or results[1] is None:
        raise scope.refusal(
            statement, "an `if` of which a branch returns nothing", "Write a choice: y = e0 if p else e1."
        )
    return either(there, results[0], q, results[1], statement, scope)


def _decided(p: Predicate, scope: Scope) -> bool | None:
    if isinstance(p, Compare):
        value = scope.building.bounds.value(p.side)
        return None if value is None else value == 0 if p.op == "=" else value >= (p.op == ">")
    if isinstance(p, (And, Or)):
        parts = [_decided(part, scope) for part in p.parts]
        stop = isinstance(p, Or)
        return stop if stop in parts else None if None in parts else not stop
    return None


def _branch(p: Predicate, body: Sequence[ast.stmt], rest: Sequence[ast.stmt], scope: Scope) -> Value | None:
    inner = scope.inside(p)
    result = read_statements([*body, *rest], inner)
    if result is None:
        return None
    value = as_value(result, (list(body) or list(rest))[0], inner)
    return Value(inner.closed(value.expr), value.kind)


def step(statement: ast.stmt, scope: Scope) -> None:
    """Read one statement that does not return."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            meaning = read(value, scope)
            for target in targets:
                bind_target(target, meaning, scope)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            bind_target(target, read(value, scope), scope)
        case ast.AugAssign(target=ast.Name(id=name, ctx=_) as target, op=op, value=value):
            new = ast.copy_location(
                ast.BinOp(ast.copy_location(ast.Name(name, ast.Load()), target), op, value), statement
            )
            bind_target(target, read(new, scope), scope)
        case ast.For():
            _for(statement, scope)
        case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Assert() | ast.AnnAssign():
            pass
        case _:
            name = type(statement).__name__
            remedy = _REMEDIES.get(
                type(statement), "Values do not change: build the array whole, [e for i in range(n)]."
            )
            raise scope.refusal(statement, f"the statement {name.lower()}", remedy)


# ---- for ----


def _for(statement: ast.For, scope: Scope) -> None:
    """A `for` statement: unrolled where it is over constants, else a sum for each number that it adds up."""
    if statement.orelse:
        raise scope.refusal(statement, "`else` of a loop", "Leave it out.")
    found = iteration(statement.iter, scope)
    if isinstance(found, Group):
        for part in found.parts:
            bind_target(statement.target, part, scope)
            _each(statement.body, scope)
        return
    known = scope.building.bounds.value(found.size) if _is_constant(statement.iter) else None
    if known is not None:
        for k in range(known):
            bind_target(statement.target, found.at(AffineExpr(k)), scope)
            _each(statement.body, scope)
        return
    for name, added in _added(statement, found, scope).items():
        old = as_value(scope.names[name], statement, scope)
        scope.names[name] = scope.bind(name, Value(plus_folded(old.expr, added), REAL_KIND))


def _each(statements: Sequence[ast.stmt], scope: Scope) -> None:
    for statement in statements:
        if isinstance(statement, ast.If):
            _each(_chosen(statement, scope), scope)
            continue
        if isinstance(statement, (ast.Return, ast.Break, ast.Continue)):
            raise scope.refusal(
                statement, f"`{type(statement).__name__.lower()}` in a loop", "Write a choice: y = e0 if p else e1."
            )
        step(statement, scope)


def _chosen(statement: ast.If, scope: Scope) -> list[ast.stmt]:
    """The branch of an `if` that the sizes choose."""
    known = _decided(read_truth(statement.test, scope), scope)
    if known is None:
        raise scope.refusal(statement, "`if` on an index, in a loop", "Write a choice: y = e0 if p else e1.")
    return statement.body if known else statement.orelse


def _is_constant(node: ast.expr) -> bool:
    """Whether a loop is written with literal numbers, as over range(3): it is unrolled."""
    if not isinstance(node, ast.Call):
        return False
    return all(isinstance(a, ast.Constant) for a in node.args)


def _added(statement: ast.For, found: Iteration, scope: Scope) -> dict[str, Expr]:
    """Read a loop over a size, in which numbers are added up: after `for k in range(n): s += e`, s is s + Σ e."""
    index = statement.target.id if isinstance(statement.target, ast.Name) else "k"
    name, i = scope.building.index(index, found.size)
    p = found.guard(i)
    inner = scope.inside(p)
    _refuse_rebinding([statement.target, *statement.body], scope)
    bind_target(statement.target, found.at(i), inner)
    sums = {text for text in _accumulators(statement.body) if text in scope.names}
    for text in sums:
        inner.names[text] = Running(text)
    terms = _terms(statement.body, inner, sums)
    if len(terms) > 1 and inner.lets:
        raise scope.refusal(statement, "a loop that adds to several numbers", "Write one loop for each.")
    return {text: Sum(name, found.size, bracket_of(p, inner.closed(e))) for text, e in terms.items()}


def _refuse_rebinding(parts: Sequence[ast.AST], scope: Scope) -> None:
    """Refuse statements in a loop over a size that give names from before it other values."""
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


def _terms(body: Sequence[ast.stmt], scope: Scope, sums: set[str]) -> dict[str, Expr]:
    """Return what the statements of a loop add to each of the sums."""
    found: dict[str, Expr] = {}

    def add(name: str, e: Expr) -> None:
        found[name] = plus_folded(found.get(name, Const(0)), e)

    for statement in body:
        match statement:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add() | ast.Sub() as op, value=value) if name in sums:
                e = read_scalar(value, scope)
                add(name, e if isinstance(op, ast.Add) else minus(e))
            case ast.If(test=test, body=inside, orelse=[]):
                p = read_truth(test, scope)
                inner = scope.inside(p)
                _refuse_rebinding(inside, scope)
                for name, e in _terms(inside, inner, sums).items():
                    add(name, Bracket(p, inner.closed(e)))
            case ast.For() as loop:
                found_here = iteration(loop.iter, scope)
                if isinstance(found_here, Group):
                    raise scope.refusal(loop, "a loop over constants inside a loop over a size", "Write its terms out.")
                for name, e in _added(loop, found_here, scope).items():
                    add(name, e)
            case ast.Assign() | ast.AnnAssign() | ast.Expr() | ast.Pass():
                step(statement, scope)
            case _:
                raise scope.refusal(
                    statement,
                    "a loop over a size does more than add up",
                    "`for k in range(n): s += e` is a sum; arrays are built by [e for i in range(n)].",
                )
    return found
