"""Products in which zero times an infinity or a nan is zero, and rules rewritten to use them.

A cotangent of exactly zero has no share in the result, and a tangent of exactly zero does not change it, whatever the
partial is. So a product along a path is zero if one of its factors is, in reverse and in forward mode alike. A step
back or forward uses these products only if plain products made a nan.
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
from wengert.values.cotangents import Thunk, force
from wengert.values.specs import is_complex

ENTERED = "Pullbacks compute with it, also on values that an outer derivative watches."


def times_kept(cotangent: Any, p: Any) -> Any:
    """Return cotangent · conj(p), with zero where either factor is zero."""
    if isinstance(p, Thunk):
        p = force(p)
    return product_kept(cotangent, np.conj(p) if is_complex(p) else p)


def product_kept(a: Any, b: Any) -> Any:
    """Return a · b, with zero where either factor is zero.

    Its derivatives are those of the product, but zero times an infinity or a nan counts as a constant 0.
    """
    return _beside(b == 0, a) * _beside(a == 0, b)


def quotient_kept(a: Any, b: Any) -> Any:
    """Return a / b, with zero where `a` is zero or `b` is infinite."""
    a = _beside(np.isinf(b), a)
    return a / np.where((a == 0) & ((b == 0) | np.isnan(b)), 1.0, b)


def _beside(is_zero: Any, x: Any) -> Any:
    """Replace infinities and nans in `x` by zero where the other factor `is_zero`."""
    lost = is_zero & ~np.isfinite(x)
    return np.where(lost, 0.0, x) if np.ndim(lost) else 0.0 if lost else x


def contracted_kept(contract: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return contract(*args), a sum of products, in which each term with a factor of zero is zero."""
    finite = [np.where(np.isfinite(a), a, 0.0) if _is_factor(a) else a for a in args]
    touched = 0.0
    for k, a in enumerate(args):
        if _is_factor(a):
            hits = [_hits(b, i == k) if _is_factor(b) else b for i, b in enumerate(args)]
            touched = touched + contract(*hits, **kwargs)
    return np.where(touched != 0, contract(*args, **kwargs), contract(*finite, **kwargs))


def _hits(a: Any, is_lost: bool) -> Any:
    """Return 1 where `a` is not finite (with `is_lost`) or not zero (without), and 0 elsewhere."""
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
"""Functions that are being rewritten now; a call of one of them is recursive, and stays as it is."""


@lru_cache(maxsize=1024)
def keeping(function: Callable[..., Any], carrying: tuple[str, ...]) -> Callable[..., Any]:
    """Return `function` with products that keep zeros of its parameters `carrying`, and of values computed from them.

    A function without known source, or without such products, is returned unchanged, with its own rule if it has one.
    Recursive calls stay unchanged, too.
    """
    with DERIVING:
        node = definition(function) if isinstance(function, types.FunctionType) else None
        if node is None:
            return function
        _UNDERWAY.add(function)
        try:
            made = _Keeping(function, node, {*carrying})
            kept = made.build()
            return kept if made.cells else function
        finally:
            _UNDERWAY.discard(function)


def kept_text(function: Any, node: ast.FunctionDef, carrying: Sequence[str]) -> Callable[..., Any]:
    """Compile `node`, a version of the source of `function`, with products that keep zeros."""
    return _Keeping(function, node, {*carrying}).build()


class _Keeping(ast.NodeTransformer):
    """Transformer that replaces products in a function's syntax tree by products that keep zeros."""

    def __init__(self, function: Any, node: ast.FunctionDef, carrying: set[str]) -> None:
        self.function, self.node, self.carrying = function, node, carrying
        self.cells: dict[str, types.CellType] = {}

    def build(self) -> Callable[..., Any]:
        self._follow()
        node = ast.fix_missing_locations(self.visit(self.node))
        node.name = unused(f"{node.name}_kept", node, self.function)  # else a recursive call would read a closure
        return compiled(node, self.function, self.cells)

    def _follow(self) -> None:
        """Add to `carrying` the variables that are computed from those in it."""
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
        """Return a name for an object in the new source, bound by a closure cell."""
        name = next((name for name, cell in self.cells.items() if cell.cell_contents is f), None)
        if name is None:
            name = unused(f"kept_{len(self.cells)}", self.node, self.function)
            self.cells[name] = types.CellType(f)
        return ast.Name(name, ast.Load())
