"""Products in which a zero stays zero, also times an infinity or a nan, and the text of rules with these products.

A cotangent of exactly zero has no share in the result, and a tangent of exactly zero does not change it, whatever the
partial is there. So a product along a path is zero if one of its factors is: from either end it is the same. A step
back or forward is taken in this form only where plain products made a nan.
"""

from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from wengert.rulebook.syntax import (
    DERIVING,
    SHAPE_ATTRIBUTES,
    SHAPE_FUNCTIONS,
    compiled,
    definition,
    named_object,
    unused,
    walk_tree,
)
from wengert.values.cotangents import AbstractTangent, Thunk, force
from wengert.values.specs import is_complex

ENTERED = "Pullbacks compute with it, also on values that an outer derivative watches."


_FLOAT64 = np.dtype(float)
_dot = getattr(np.vdot, "_implementation", np.vdot)  # without a look for `__array_function__`


def has_nan(value: Any) -> bool:
    """Whether a number, an array, or one in a tuple or dictionary, is or holds a nan."""
    if value is None:
        return False
    if type(value) is np.ndarray and value.dtype is _FLOAT64:
        square = _dot(value, value)  # nan only where an element is: one pass, without an array of bools
        return square != square
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "c":
            return has_nan(value.real) or has_nan(value.imag)
        return value.dtype.kind == "f" and bool(np.isnan(value).any())
    if isinstance(value, (tuple, list)):
        return any(map(has_nan, value))
    if isinstance(value, dict):
        return any(map(has_nan, value.values()))
    return isinstance(value, (float, complex, np.inexact)) and bool(value != value)


def are_finite(*values: Any) -> bool:
    """Whether all numbers in arrays are finite; what is no array counts for nothing."""
    return all([bool(np.isfinite(x).all()) for x in values if isinstance(x, np.ndarray) and x.dtype.kind in "fc"])


def is_all_zero(value: Any) -> bool:
    """Whether each number in a cotangent is exactly zero."""
    if isinstance(value, (tuple, list)):
        return all(map(is_all_zero, value))
    if isinstance(value, dict):
        return all(map(is_all_zero, value.values()))
    if value is None or isinstance(value, AbstractTangent):
        return value is None
    return not np.any(value)


def times_kept(cotangent: Any, p: Any) -> Any:
    """cotangent · conj(p); zero where one of them is zero, whatever the other is."""
    if isinstance(p, Thunk):
        p = force(p)
    return product_kept(cotangent, np.conj(p) if is_complex(p) else p)


def product_kept(a: Any, b: Any) -> Any:
    """a · b; zero where one of them is zero, whatever the other is.

    Its derivatives are those of the product, but for an infinity or a nan beside a zero: that counts as a constant 0.
    """
    return _beside(b == 0, a) * _beside(a == 0, b)


def quotient_kept(a: Any, b: Any) -> Any:
    """a / b; zero where `a` is zero or `b` infinite, whatever the other is."""
    a = _beside(np.isinf(b), a)
    return a / np.where((a == 0) & ((b == 0) | np.isnan(b)), 1.0, b)


def _beside(is_zero: Any, x: Any) -> Any:
    """`x` with zeros for what is not finite beside a zero."""
    lost = is_zero & ~np.isfinite(x)
    return np.where(lost, 0.0, x) if np.ndim(lost) else 0.0 if lost else x


def contracted_kept(contract: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """contract(*args), a sum of products, in which a term with a factor of zero is zero whatever the others are."""
    finite = [np.where(np.isfinite(a), a, 0.0) if _is_factor(a) else a for a in args]
    touched = 0.0
    for k, a in enumerate(args):
        if _is_factor(a):
            hits = [_hits(b, i == k) if _is_factor(b) else b for i, b in enumerate(args)]
            touched = touched + contract(*hits, **kwargs)
    return np.where(touched != 0, contract(*args, **kwargs), contract(*finite, **kwargs))


def _hits(a: Any, is_lost: bool) -> Any:
    """1 where `a` is not finite, or else where it is not zero; 0 elsewhere."""
    return np.where(~np.isfinite(a) if is_lost else a != 0, 1.0, 0.0)


def _is_factor(a: Any) -> bool:
    return isinstance(a, np.ndarray) and a.dtype.kind in "fc"


_TIMES = (np.multiply,)
_OVER = (np.divide, np.true_divide)
CONTRACTIONS = (
    np.matmul, operator.matmul, np.dot, np.ndarray.dot, np.einsum, np.tensordot, np.inner, np.outer, np.kron, np.vdot,
    np.convolve, np.linalg.matmul,
)  # fmt: skip


_UNDERWAY: set[Any] = set()
"""The functions whose text is being written: those that call themselves."""


@lru_cache(maxsize=1024)
def keeping(function: Callable[..., Any], carrying: tuple[str, ...]) -> Callable[..., Any]:
    """The `function` with products that keep zeros of its parameters `carrying`, and of all computed from them.

    Where its text is not known it is returned as it is, and so is what it calls that calls it.
    """
    with DERIVING:
        node = definition(function) if isinstance(function, types.FunctionType) else None
        if node is None:
            return function
        _UNDERWAY.add(function)
        try:
            return kept_text(function, node, carrying)
        finally:
            _UNDERWAY.discard(function)


def kept_text(function: Any, node: ast.FunctionDef, carrying: Sequence[str]) -> Callable[..., Any]:
    """The function of `node`, a text of `function`, with products that keep zeros."""
    return _Keeping(function, node, {*carrying}).build()


class _Keeping(ast.NodeTransformer):
    """Writes products that keep zeros into the text of a function."""

    def __init__(self, function: Any, node: ast.FunctionDef, carrying: set[str]) -> None:
        self.function, self.node, self.carrying = function, node, carrying
        self.cells: dict[str, types.CellType] = {}

    def build(self) -> Callable[..., Any]:
        self._follow()
        node = ast.fix_missing_locations(self.visit(self.node))
        node.name = unused(f"{node.name}_kept", node, self.function)  # else what calls itself would be a closure
        return compiled(node, self.function, self.cells)

    def _follow(self) -> None:
        """Add the names that hold what is computed from the names that carry."""
        size = -1
        while size != len(self.carrying):
            size = len(self.carrying)
            for n in walk_tree(self.node):
                if isinstance(n, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                    targets, value = (n.targets if isinstance(n, ast.Assign) else [n.target]), n.value
                elif isinstance(n, (ast.For, ast.comprehension)):
                    targets, value = [n.target], n.iter
                else:
                    continue
                if value is not None and self._carries(value):
                    self.carrying |= {t.id for target in targets for t in walk_tree(target) if isinstance(t, ast.Name)}

    def _carries(self, n: ast.AST) -> bool:
        """Whether an expression is computed from more than the shape of a name that carries."""
        if isinstance(n, ast.Name):
            return n.id in self.carrying
        if isinstance(n, ast.Compare) or (isinstance(n, ast.Attribute) and n.attr in SHAPE_ATTRIBUTES):
            return False
        if isinstance(n, ast.Call) and any(named_object(n.func, self.function) is f for f in SHAPE_FUNCTIONS):
            return False
        return any(map(self._carries, ast.iter_child_nodes(n)))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        left, right = self._carries(node.left), self._carries(node.right)
        self.generic_visit(node)
        if isinstance(node.op, ast.Mult) and (left or right):
            return self._call(product_kept, node.left, node.right)
        if isinstance(node.op, ast.Div) and left:
            return self._call(quotient_kept, node.left, node.right)
        if isinstance(node.op, ast.MatMult) and (left or right):
            return self._call(contracted_kept, self._name(np.matmul), node.left, node.right)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        carry = [k for k, a in enumerate(node.args) if self._carries(a)]
        found = named_object(node.func, self.function)
        self.generic_visit(node)
        if not carry:
            return node
        if any(found is f for f in _TIMES) and len(node.args) == 2:
            return self._call(product_kept, *node.args)
        if any(found is f for f in _OVER) and len(node.args) == 2 and carry[0] == 0:
            return self._call(quotient_kept, *node.args)
        if any(found is f for f in CONTRACTIONS):
            node.args = [node.func, *node.args]
            node.func = self._name(contracted_kept)
        elif (
            isinstance(found, types.FunctionType)
            and found not in _UNDERWAY
            and not any(isinstance(a, ast.Starred) for a in node.args)
        ):
            names = found.__code__.co_varnames[: found.__code__.co_argcount]
            kept = keeping(found, tuple([names[k] for k in carry if k < len(names)]))
            node.func = node.func if kept is found else self._name(kept)
        return node

    def _call(self, f: Any, *args: ast.expr) -> ast.expr:
        return ast.Call(self._name(f), list(args), [])

    def _name(self, f: Any) -> ast.expr:
        """A name for an object in the text: a cell."""
        name = next((name for name, cell in self.cells.items() if cell.cell_contents is f), None)
        if name is None:
            name = unused(f"kept_{len(self.cells)}", self.node, self.function)
            self.cells[name] = types.CellType(f)
        return ast.Name(name, ast.Load())
