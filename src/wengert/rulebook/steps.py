"""Reverse steps for calls on one or two floats, as generated source: one run per recorded call."""

from __future__ import annotations

import ast
import linecache
import math
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert.rulebook.rule_variants import RuleBody
from wengert.rulebook.syntax import (
    DERIVING,
    all_unused,
    code_from,
    copied_tree,
    named_object,
    parts_of,
    prune,
    reads,
    unit,
    unused,
    walk_tree,
    with_closure,
)
from wengert.values.codes import code_of
from wengert.values.cotangents import AbstractTangent
from wengert.values.projection import project
from wengert.values.specs import Spec, is_complex


def sign(x: float) -> float:
    """Return the sign of `x` as `np.sign` does: -1, 0 or 1, and nan for nan."""
    return 1.0 if x > 0 else -1.0 if x < 0 else x


_MATH = {
    np.sin: math.sin, np.cos: math.cos, np.tan: math.tan,
    np.arcsin: math.asin, np.arccos: math.acos, np.arctan: math.atan, np.arctan2: math.atan2,
    np.sinh: math.sinh, np.cosh: math.cosh, np.tanh: math.tanh,
    np.arcsinh: math.asinh, np.arccosh: math.acosh, np.arctanh: math.atanh,
    np.exp: math.exp, np.exp2: math.exp2, np.expm1: math.expm1,
    np.log: math.log, np.log2: math.log2, np.log10: math.log10, np.log1p: math.log1p,
    np.sqrt: math.sqrt, np.cbrt: math.cbrt, np.hypot: math.hypot, np.power: math.pow,
    np.abs: math.fabs, np.fabs: math.fabs, np.copysign: math.copysign, np.fmod: math.fmod,
    np.sign: sign,
    np.isnan: math.isnan, np.isinf: math.isinf, np.isfinite: math.isfinite,
    np.deg2rad: math.radians, np.radians: math.radians, np.rad2deg: math.degrees, np.degrees: math.degrees,
}  # fmt: skip
_MATH_BY_NAME = {f"math_{f.__name__}": f for f in _MATH.values()}
_FLOAT_SPEC = Spec((), float, float)
Generated = tuple[types.CodeType, str, list[tuple[str, str]]]
"""The code of a generated function, its source, and its closure variables, each with the name of its value."""


def scalar_step(body: RuleBody, wanted: tuple[bool, ...]) -> Callable[[Any, Any, Any], None]:
    """Return `step(g, entry, cotangents)`, which adds the cotangents of a call on floats; `g` is its result's."""
    slow = _slow_step(body, wanted)
    return generated_step(
        body, lambda: ScalarStep(body, wanted) if may_step(body, wanted) else None, slow, "step", wanted
    )


def generated_step(
    body: RuleBody, generator: Callable[[], Step | None], slow: Callable[..., Any], *key: Any, **given: Any
) -> Callable[..., Any]:
    """Return the function that a Step generates, with `slow` and the values `given` in its closure.

    Returns `slow` itself if there is no generator for the body. `key` tells the step from others of the body.
    """

    def generate() -> Generated | None:
        step = generator()
        return None if step is None else step.build()

    with DERIVING:
        kept = body.kept(generate, *key)
    if kept is None:
        return slow
    code, text, variables = kept
    linecache.cache[code.co_filename] = (len(text), None, text.splitlines(keepends=True), code.co_filename)
    values = {**_MATH_BY_NAME, **given, "slow": slow}
    values |= {f"={name}": value for name, value in (body.defaults | body.kwdefaults).items()}
    made: Any = with_closure(code, body.function, {name: types.CellType(values[of]) for name, of in variables})
    made.__defaults__ = made.__kwdefaults__ = None
    return made


def may_step(body: RuleBody, wanted: tuple[bool, ...]) -> bool:
    """Whether the source of partials can be copied into a step for a call on floats."""
    rest_has_defaults = body.defaults.keys() >= {*body.names[len(wanted) :]}
    return body.inlines and len(wanted) <= 2 and rest_has_defaults and not _differs_on_floats(body)


def _slow_step(body: RuleBody, wanted: tuple[bool, ...]) -> Callable[[Any, Any, Any], None]:
    """Return the step that calls the variant on NumPy's floats, for bodies whose source cannot be copied."""
    call = body.variant(wanted).call

    def step(g: Any, e: Any, cotangents: Any) -> None:
        # NumPy's floats return inf or nan where Python's raise
        made = call(np.float64(g), np.float64(e[1]), *[np.float64(x) for x in e[3]])
        for slot, want, d in zip(e[2], wanted, made, strict=True):
            if want and d is not None:
                d = project(d, _FLOAT_SPEC) if isinstance(d, AbstractTangent) else d
                t = cotangents[slot]
                cotangents[slot] = d if t is None else t + d

    return step


def _differs_on_floats(body: RuleBody) -> bool:
    """Whether the body may give other results on Python's floats and booleans than on NumPy's.

    It does so with an argument's attributes (a float has no shape), `~` (~True is -2), and arithmetic on comparisons
    (True + True is 2).
    """
    assert body.node is not None
    nodes = list(walk_tree(body.node))
    assigned = [n for n in nodes if isinstance(n, ast.Assign) and isinstance(n.value, ast.Compare)]
    truths = {target.id for n in assigned for target in n.targets if isinstance(target, ast.Name)}
    arguments = {body.y, *body.names}
    return any(
        (isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id in arguments)
        or (isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.Invert))
        or (isinstance(n, ast.BinOp) and _is_truth(n.left, truths) and _is_truth(n.right, truths))
        for n in nodes
    )


def _is_truth(n: ast.expr, truths: set[str]) -> bool:
    """Whether an expression is a comparison, or one of the names `truths` for one."""
    return isinstance(n, ast.Compare) or (isinstance(n, ast.Name) and n.id in truths)


def is_none(n: ast.expr) -> bool:
    """Whether an expression is the literal None."""
    return isinstance(n, ast.Constant) and n.value is None


class Step(ast.NodeTransformer):
    """Base class of step generators: it has the rule's body, unused variable names, and compiles the step."""

    title = "step"

    def __init__(self, body: RuleBody, wanted: tuple[bool, ...], names: Sequence[str]) -> None:
        assert body.node is not None
        self.body, self.wanted = body, wanted
        self.function = body.function
        self.node = copied_tree(body.node)
        self.last = self.node.body[-1]
        self.name = all_unused(("g", "e", "cotangents", "slow", *names), self.node, self.function)
        self.variables = {self.name["slow"]: "slow"} | {n: f"={n}" for n in body.names[len(wanted) :]}

    def build(self) -> Generated:
        """Generate and compile the step."""
        raise NotImplementedError

    def compile(self, text: str) -> Generated:
        """Compile the function that `text` defines, for the globals and closure of the rule's body."""
        code = code_of(self.function)
        wants = "".join("01"[w] for w in self.wanted)
        file = f"<{self.title} {wants} of {self.function.__qualname__}, {code.co_filename}:{code.co_firstlineno}>"
        tree: Any = ast.parse(text).body[0]
        return code_from(tree, self.function, self.variables, file), text, [*self.variables.items()]

    def prune(self, results: Callable[[ast.Return], list[ast.stmt]]) -> None:
        """Replace each `return` by `results(statement)`, and remove the dead code."""
        assert self.body.effects is not None
        prune(self.node, results, self.body.effects.is_free)

    def uses(self, name: str) -> bool:
        """Whether the body, in its present state, reads the name."""
        return reads(walk_tree(self.node), name, self.function) != "nothing"


class ScalarStep(Step):
    """Generator of `step(g, e, cotangents)`; as a transformer, it replaces NumPy's functions by those of `math`."""

    def __init__(self, body: RuleBody, wanted: tuple[bool, ...]) -> None:
        super().__init__(body, wanted, ("i", "j", "t", "d", "k"))

    def build(self) -> Generated:
        self.prune(self._stores)
        self.node = ast.fix_missing_locations(self.visit(self.node))
        lines = ast.unparse(ast.Module(self.node.body, [])).splitlines()
        g, e, cotangents, slow = (self.name[n] for n in ("g", "e", "cotangents", "slow"))
        text = [f"def step({g}, {e}, {cotangents}):", *[f"    {line}" for line in self._unpack()], "    try:"]
        text += [f"        {line}" for line in lines]
        text += ["    except (ValueError, ArithmeticError):", f"        {slow}({g}, {e}, {cotangents})", ""]
        return self.compile("\n".join(text))

    def _unpack(self) -> Iterator[str]:
        """Yield the statements that unpack the values that the step reads from the entry."""
        e = self.name["e"]
        if self.uses(self.body.y):
            yield f"{self.body.y} = {e}[1]"
        yield from take(f"{e}[2]", [self.name["i"], self.name["j"]], self.wanted)
        names = self.body.names[: len(self.wanted)]
        yield from take(f"{e}[3]", names, tuple(map(self.uses, names)))

    def _stores(self, statement: ast.Return) -> list[ast.stmt]:
        """Return the statements for a `return`: compute all, then store, so that an exception changes nothing."""
        given = zip("ij", parts_of(statement), self.wanted, strict=False)
        parts = [(n, part) for n, part, want in given if want and not is_none(part)]
        g, cotangents, t = (self.name[n] for n in ("g", "cotangents", "t"))
        first, then = [], []
        for d, (n, part) in zip("dk", parts, strict=False):
            slot, sign, new = self.name[n], unit(part), self.name[d]
            if sign > 0:
                new = g
            else:
                first.append(f"{new} = -{g}" if sign else f"{new} = {g} * ({ast.unparse(part)})")
            then += [f"{t} = {cotangents}[{slot}]", f"{cotangents}[{slot}] = {new} if {t} is None else {t} + {new}"]
        ending = [] if statement is self.last else ["return"]
        return ast.parse("\n".join([*first, *then, *ending])).body

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace a call in the partial by its simpler form on floats, or by a function of `math`."""
        found = named_object(node.func, self.function)
        if found is np.where and len(node.args) == 3:
            c, x, y = map(self.visit, node.args)
            return ast.IfExp(c, x, y)
        if (found is np.conj or found is np.real) and len(node.args) == 1:
            return self.visit(node.args[0])
        if found is np.iscomplexobj or found is is_complex:
            return ast.Constant(False)
        if found is np.ndim:
            return ast.Constant(0)
        self.generic_visit(node)
        fast = None if node.keywords else _MATH.get(found) if isinstance(found, np.ufunc) else None
        if fast is not None:
            name = unused(f"math_{fast.__name__}", self.node, self.function)
            self.variables[name] = f"math_{fast.__name__}"
            node.func = ast.Name(name, ast.Load())
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.test, ast.Constant):
            return node
        return node.body if node.test.value else node.orelse

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        found = named_object(node, self.function)
        return ast.Constant(found) if type(found) is float and math.isfinite(found) else node


def take(of: str, names: Sequence[str], used: Sequence[bool]) -> Iterator[str]:
    """Yield the line, if any is needed, that unpacks the `used` items of the tuple `of` into `names`."""
    if sum(used) == 1:
        k = used.index(True)
        yield f"{names[k]} = {of}[{k}]"
    elif any(used):
        left = ", ".join(name if use else "_" for name, use in zip(names, used, strict=True))
        yield f"{left} = {of}"
