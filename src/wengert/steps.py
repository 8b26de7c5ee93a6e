"""The reverse step of a recorded call on one or two floats, as generated source: it runs once per recorded operation."""

from __future__ import annotations

import ast
import copy
import linecache
import math
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.bodies import Body
from wengert.syntax import compiled, lookup, parts_of, prune, reads, unit, unused

_MATH = {
    np.sin: math.sin, np.cos: math.cos, np.tan: math.tan,
    np.arcsin: math.asin, np.arccos: math.acos, np.arctan: math.atan, np.arctan2: math.atan2,
    np.sinh: math.sinh, np.cosh: math.cosh, np.tanh: math.tanh,
    np.arcsinh: math.asinh, np.arccosh: math.acosh, np.arctanh: math.atanh,
    np.exp: math.exp, np.exp2: math.exp2, np.expm1: math.expm1,
    np.log: math.log, np.log2: math.log2, np.log10: math.log10, np.log1p: math.log1p,
    np.sqrt: math.sqrt, np.cbrt: math.cbrt, np.hypot: math.hypot, np.power: math.pow,
    np.abs: math.fabs, np.fabs: math.fabs, np.copysign: math.copysign, np.fmod: math.fmod,
    np.isnan: math.isnan, np.isinf: math.isinf, np.isfinite: math.isfinite,
    np.deg2rad: math.radians, np.radians: math.radians, np.rad2deg: math.degrees, np.degrees: math.degrees,
}  # fmt: skip


def scalar_step(body: Body, wanted: tuple[bool, ...]) -> Callable[[Any, Any, Any], None]:
    """`step(g, entry, bars)`: add the cotangents of a call on floats, whose result has the cotangent `g`."""
    slow = _slow_step(body, wanted)
    if not body.exact or len(wanted) != len(body.names) or len(wanted) > 2 or _looks_at_attributes(body):
        return slow
    return _Step(body, wanted, slow).build()


def _slow_step(body: Body, wanted: tuple[bool, ...]) -> Callable[[Any, Any, Any], None]:
    call = body.variant(wanted).call

    def step(g: Any, e: Any, bars: Any) -> None:
        # NumPy's floats, because theirs are the answers (inf, nan) where Python's raise
        made = call(np.float64(g), np.float64(e[1]), *[np.float64(x) for x in e[3]])
        for slot, want, d in zip(e[2], wanted, made, strict=True):
            if want and d is not None:
                t = bars[slot]
                bars[slot] = d if t is None else t + d

    return step


def _looks_at_attributes(body: Body) -> bool:
    """Whether the body asks an argument for an attribute, which a Python float may not have."""
    names = {body.y, *body.names}
    return any(isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id in names
               for n in ast.walk(body.node))


class _Step(ast.NodeTransformer):
    """Generate `step(g, e, bars)`; as a transformer, put `math` for NumPy in a partial."""

    def __init__(self, body: Body, wanted: tuple[bool, ...], slow: Callable[..., None]) -> None:
        self.body, self.wanted = body, wanted
        self.function = body.function
        self.node = copy.deepcopy(body.node)
        self.last = self.node.body[-1]
        self.name = {n: unused(n, self.node, self.function) for n in ("g", "e", "bars", "i", "j", "t", "d", "k", "slow")}
        self.cells = {self.name["slow"]: types.CellType(slow)}

    def build(self) -> Callable[[Any, Any, Any], None]:
        prune(self.node, self._stores)
        lines = ast.unparse(ast.Module([ast.fix_missing_locations(self.visit(s)) for s in self.node.body], [])).splitlines()
        g, e, bars, slow = (self.name[n] for n in ("g", "e", "bars", "slow"))
        text = [f"def step({g}, {e}, {bars}):", *[f"    {line}" for line in self._unpack()], "    try:"]
        text += [f"        {line}" for line in lines]
        text += ["    except (ValueError, ArithmeticError):", f"        {slow}({g}, {e}, {bars})", ""]
        return self._compile("\n".join(text))

    def _compile(self, text: str) -> Callable[[Any, Any, Any], None]:
        code = self.function.__code__
        wants = "".join("01"[w] for w in self.wanted)
        file = f"<step {wants} of {self.function.__qualname__}, {code.co_filename}:{code.co_firstlineno}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        made = compiled(ast.parse(text).body[0], self.function, self.cells, file)
        made.__defaults__ = made.__kwdefaults__ = None
        return made

    def _unpack(self) -> Iterator[str]:
        """Take from the entry what the step reads, nothing else."""
        e = self.name["e"]
        if self._uses(self.body.y):
            yield f"{self.body.y} = {e}[1]"
        yield from _take(f"{e}[2]", [self.name[n] for n, want in zip("ij", self.wanted, strict=False) if want], self.wanted)
        used = tuple(self._uses(name) for name in self.body.names)
        yield from _take(f"{e}[3]", [n for n, use in zip(self.body.names, used, strict=True) if use], used)

    def _uses(self, name: str) -> bool:
        return reads(self.node, name, self.function) != "nothing"

    def _stores(self, statement: ast.Return) -> list[ast.stmt]:
        parts = [(n, part) for n, part, want in zip("ij", parts_of(statement), self.wanted, strict=False)
                 if want and not (isinstance(part, ast.Constant) and part.value is None)]
        g, bars, t = (self.name[n] for n in ("g", "bars", "t"))
        first, then = [], []
        for d, (n, part) in zip("dk", parts, strict=False):
            slot, sign, new = self.name[n], unit(part), self.name[d]
            if sign > 0:
                new = g
            else:
                first.append(f"{new} = -{g}" if sign else f"{new} = {g} * ({ast.unparse(part)})")
            then += [f"{t} = {bars}[{slot}]", f"{bars}[{slot}] = {new} if {t} is None else {t} + {new}"]
        ending = [] if statement is self.last else ["return"]
        return ast.parse("\n".join([*first, *then, *ending])).body

    def visit_Call(self, node: ast.Call) -> ast.AST:
        found = lookup(node.func, self.function)
        if found is np.where and len(node.args) == 3:
            c, x, y = map(self.visit, node.args)
            return ast.IfExp(c, x, y)
        if (found is np.conj or found is np.real) and len(node.args) == 1:
            return self.visit(node.args[0])
        self.generic_visit(node)
        fast = None if node.keywords else _MATH.get(found) if isinstance(found, np.ufunc) else None
        if fast is not None:
            name = unused(f"math_{fast.__name__}", self.body.node, self.function)
            self.cells[name] = types.CellType(fast)
            node.func = ast.Name(name, ast.Load())
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        found = lookup(node, self.function)
        return ast.Constant(found) if type(found) is float and math.isfinite(found) else node


def _take(of: str, names: list[str], used: tuple[bool, ...]) -> Iterator[str]:
    if len(names) == 2:
        yield f"{', '.join(names)} = {of}"
    elif names:
        yield f"{names[0]} = {of}[{used.index(True)}]"
