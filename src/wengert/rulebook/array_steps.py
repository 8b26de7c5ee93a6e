"""Reverse steps for calls on real arrays, as generated source: the rule's formula, then set or add its results.

A generated step saves the calls between the engine and the rule, half of the cost of a step on small arrays. Complex
arrays, scalars where arrays are expected, and any other unusual operand take the general step.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.rulebook.declare import adjoint
from wengert.rulebook.rule_variants import RuleBody
from wengert.rulebook.steps import Generated, Step, generated_step, is_none, take
from wengert.rulebook.syntax import named_object, parts_of, unit, walk_tree
from wengert.values.specs import is_complex

ArrayStep = Callable[[Any, Any, Any, Any], None]  # step(cotangents, table, y_bar, entry)

_SAME_OF_REALS = (np.conj, np.conjugate, np.real)
_IS_COMPLEX = (np.iscomplexobj, is_complex)
_METADATA = {id(np.ndim): "ndim", id(np.shape): "shape", id(np.size): "size"}
_KNOWN = {"ndarray": np.ndarray, "double": np.dtype(float), "type": type, "float": float, "int": int}


def array_step(
    body: RuleBody,
    wanted: tuple[bool, ...],
    reads_y: bool,
    above: int | None,
    slow: ArrayStep,
    fit: Callable[[Any, Any], Any],
) -> ArrayStep:
    """Return the reverse step of a call on real arrays; for unusual operands it calls `slow`, the general step.

    `body` is the rule's. `wanted` flags the arguments whose cotangents the step adds. `reads_y`: the pullback reads
    the result's value, not only its shape. `above`: for arguments of at least that many elements, `slow` adds in
    place. `fit(x_bar, x)` converts a cotangent to the form of its primal.
    """
    defaults = body.defaults.keys() | body.kwdefaults.keys()

    def generator() -> _ArrayStep | None:
        if not body.inlines or not defaults >= {*body.names[len(wanted) :], *body.static} or _rebinds(body):
            return None
        return _ArrayStep(body, wanted, reads_y, above)

    return generated_step(body, generator, slow, "array step", wanted, reads_y, above, **_KNOWN, fit=fit)


def _rebinds(body: RuleBody) -> bool:
    """Whether the body rebinds one of its parameters."""
    assert body.node is not None
    parameters = {n.arg for n in walk_tree(body.node.args) if isinstance(n, ast.arg)}
    names = [n for n in walk_tree(body.node) if isinstance(n, ast.Name)]
    return any(n.id in parameters and not isinstance(n.ctx, ast.Load) for n in names)


class _ArrayStep(Step):
    """Generator of `step(cotangents, table, g, e)`; as a transformer, it specialises the formula to real arrays."""

    title = "array step"

    def __init__(self, body: RuleBody, wanted: tuple[bool, ...], reads_y: bool, above: int | None) -> None:
        names = ["table", *_KNOWN, "fit", *(f"i{k}" for k in range(len(wanted)))]
        super().__init__(body, wanted, (*names, *(f"d{k}" for k in range(len(wanted)))))
        self.reads_y, self.above = reads_y, above
        self.variables |= {self.name[n]: n for n in (*_KNOWN, "fit")}
        self.variables |= {n: f"={n}" for n in body.kwdefaults}
        self.arrays = {name for name, want in zip(body.names, wanted, strict=False) if want}

    def build(self) -> Generated:
        if not self.body.multiplies:
            self.name["g"] = (self.node.args.posonlyargs or self.node.args.args)[0].arg
        self.prune(self._stores)
        self.arrays |= {name for name in self.body.names[: len(self.wanted)] if self._is_asked(name)}
        guard = self._guard()
        self.node = ast.fix_missing_locations(self.visit(self.node))
        lines = ast.unparse(ast.Module(self.node.body, [])).splitlines()
        cotangents, table, g, e, slow = (self.name[n] for n in ("cotangents", "table", "g", "e", "slow"))
        text = [f"def step({cotangents}, {table}, {g}, {e}):", *(f"    {line}" for line in self._unpack())]
        text += ["    try:", f"        if {guard}:", f"            return {slow}({cotangents}, {table}, {g}, {e})"]
        text += [f"        {line}" for line in lines]
        text += [
            "    except (ValueError, ArithmeticError, AttributeError):",
            f"        {slow}({cotangents}, {table}, {g}, {e})",
        ]
        return self.compile("\n".join([*text, ""]))

    def _is_asked(self, name: str) -> bool:
        """Whether the body reads the shape, or takes the adjoint, of the parameter `name`."""
        asking = {*_METADATA, id(adjoint)}
        calls = [n for n in walk_tree(self.node) if isinstance(n, ast.Call) and n.args]
        return any(_name(n.args[0]) == name and id(named_object(n.func, self.function)) in asking for n in calls)

    def _guard(self) -> str:
        """Return the source of a test that is true for unusual operands.

        Arguments that are wanted, or whose shape is read, must be arrays of float64; others may also be real numbers.
        """
        double, kind, floating, integer = (self.name[n] for n in ("double", "type", "float", "int"))
        unusual = [f"{self.body.y}.dtype is not {double}"] if self.reads_y else []
        for name, want in zip(self.body.names, self.wanted, strict=False):
            if want and self.above is not None:
                unusual.append(f"{name}.dtype is not {double} or not {name}.ndim or {name}.size >= {self.above}")
            elif want or name in self.arrays:
                unusual.append(f"{name}.dtype is not {double} or not {name}.ndim")
            elif self.uses(name):
                number = f"{kind}({name}) is {floating} or {kind}({name}) is {integer}"
                unusual.append(f"not ({number} or {name}.dtype is {double})")
        return " or ".join(unusual)

    def _unpack(self) -> Iterator[str]:
        e, y = self.name["e"], self.body.y
        if self.uses(y):  # if only its shape is read, y may be gone; its cotangent has the same shape
            yield f"{y} = {e}[1]" if self.reads_y else f"{y} = {self.name['g']}"
        count = len(self.wanted)
        yield from take(f"{e}[2]", [self.name[f"i{k}"] for k in range(count)], self.wanted)
        names = self.body.names[:count]
        yield from take(f"{e}[3]", names, tuple(n in self.arrays or self.uses(n) for n in names))

    def _stores(self, statement: ast.Return) -> list[ast.stmt]:
        """Return the statements for a `return`: compute all, then store, so that an exception changes nothing."""
        cotangents, table, fit, kind, ndarray = (
            self.name[n] for n in ("cotangents", "table", "fit", "type", "ndarray")
        )
        first, then = [], []
        for k, (part, want) in enumerate(zip(parts_of(statement), self.wanted, strict=False)):
            if not want or is_none(part):
                continue
            i, d, x = self.name[f"i{k}"], self.name[f"d{k}"], self.body.names[k]
            first.append(f"{d} = {self._bar(part)}")
            first += [
                f"if {kind}({d}) is not {ndarray} or {d}.dtype is not {x}.dtype or {d}.shape != {x}.shape:",
                f"    {d} = {fit}({d}, {x})",
            ]
            then += [
                f"if {table}[{i}] is None:",
                f"    {table}[{i}] = {d}",
                f"elif {d} is not None:",
                f"    {cotangents}.add({i}, {d})",
            ]
        ending = [] if statement is self.last else ["return"]
        return ast.parse("\n".join([*first, *then, *ending]) or "pass").body

    def _bar(self, part: ast.expr) -> str:
        """Return the source of the cotangent for one result `part` of the body: times ȳ if it is a partial."""
        g, text = self.name["g"], ast.unparse(part)
        if not self.body.multiplies:
            return text
        sign = unit(part)
        return f"{g} * ({text})" if not sign else g if sign > 0 else f"-{g}"

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Simplify a call in the formula for real arrays: `np.conj(x)` is x."""
        found = named_object(node.func, self.function)
        self.generic_visit(node)
        if len(node.args) != 1 or node.keywords:
            return node
        name = _name(node.args[0])
        if any(found is f for f in _SAME_OF_REALS):
            return node.args[0]
        if any(found is f for f in _IS_COMPLEX):
            return ast.Constant(False)
        if found is adjoint and name in self.arrays:
            return _expression(f"({name}.T if {name}.ndim == 2 else {ast.unparse(node)})")
        if id(found) in _METADATA and name in self.arrays:
            return ast.Attribute(node.args[0], _METADATA[id(found)], ast.Load())
        return node


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
