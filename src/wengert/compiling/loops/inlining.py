"""Inline generated functions: write their statements instead of a call."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

_SIMPLE_STATEMENTS = (ast.Assign, ast.AugAssign, ast.Expr, ast.If, ast.Return)


def inline_call(
    call: str, function: Callable[..., Any], arguments: Sequence[str], results: Sequence[str], names: dict[str, Any]
) -> list[str]:
    """Return statements equivalent to `results = function(*arguments)`; add the globals that they use to `names`.

    They are the statements of the function if it has no loops, ends with its only `return`, of a tuple, and its globals
    do not clash with `names`. Otherwise they call it by the name `call`, which is also the prefix of local variables.
    """
    tree: Any = ast.parse(getattr(function, "source", "pass")).body[-1]
    targets = "".join(f"{x}, " for x in results)
    plain = isinstance(tree, ast.FunctionDef) and _is_inlinable(tree.body)
    used = _globals_used(tree, function) if plain else {}
    if not plain or any([names.get(name, value) is not value for name, value in used.items()]):
        names[call] = function
        return [f"{targets and targets + '= '}{call}({', '.join(arguments)})"]
    own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    new = {name: f"{call}_{name}" for name in own}
    ends = [node.id if isinstance(node, ast.Name) else "" for node in tree.body[-1].value.elts]
    new |= {name: x for name, x in zip(ends, results, strict=True) if name in own and ends.count(name) == 1}
    parameters = [a.arg for a in tree.args.args]
    first = [f"{new[p]} = {x}" for p, x in zip(parameters, arguments, strict=True) if p in own]
    new |= {p: x for p, x in zip(parameters, arguments, strict=True) if p not in own}
    for name, value in (function.__kwdefaults__ or {}).items():
        new[name] = f"{call}_{name}"
        names[new[name]] = value
    names.update(used)
    *body, end = _Renamer(new).visit(tree).body
    lines = [line for statement in body for line in ast.unparse(statement).splitlines()]
    last = [f"{x} = {y}" for x, node in zip(results, end.value.elts, strict=True) if (y := ast.unparse(node)) != x]
    return [*first, *lines, *last]


def _is_inlinable(body: Sequence[ast.stmt]) -> bool:
    """Whether all statements are simple, except for tests that raise, and the last one returns a tuple."""
    *before, last = body
    tests = [s for s in before if isinstance(s, ast.If)]
    is_returned = isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple)
    simple = all([isinstance(s, _SIMPLE_STATEMENTS) and not isinstance(s, ast.Return) for s in before])
    return is_returned and simple and all([len(s.body) == 1 and isinstance(s.body[0], ast.Raise) for s in tests])


def _globals_used(tree: Any, function: Any) -> dict[str, Any]:
    """Return the globals that a function uses, by name."""
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return {name: function.__globals__[name] for name in read & function.__globals__.keys()}


class _Renamer(ast.NodeTransformer):
    def __init__(self, new: dict[str, str]) -> None:
        self.new = new

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.copy_location(ast.Name(self.new.get(node.id, node.id), node.ctx), node)
