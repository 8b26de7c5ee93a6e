"""The table of Python's operators: the symbol, the function and the methods of each."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from wengert.values.named_tuples import NamedTuple


class Binary(NamedTuple):
    """A binary operator."""

    name: str
    symbol: str
    fn: Callable[[Any, Any], Any]
    method: str
    reflected: str


def _binary(name: str, symbol: str, fn: Callable[[Any, Any], Any], stem: str | None = None) -> Binary:
    stem = stem or name
    return Binary(name, symbol, fn, f"__{stem}__", f"__r{stem}__")


BINARY = {
    op.name: op
    for op in (
        _binary("add", "+", operator.add),
        _binary("sub", "-", operator.sub),
        _binary("mul", "*", operator.mul),
        _binary("truediv", "/", operator.truediv),
        _binary("floordiv", "//", operator.floordiv),
        _binary("mod", "%", operator.mod),
        _binary("pow", "**", operator.pow),
        _binary("matmul", "@", operator.matmul),
        _binary("and_", "&", operator.and_, "and"),
        _binary("or_", "|", operator.or_, "or"),
        _binary("xor", "^", operator.xor),
        _binary("lshift", "<<", operator.lshift),
        _binary("rshift", ">>", operator.rshift),
    )
}


def _inplace(op: Binary) -> tuple[Callable[[Any, Any], Any], str]:
    stem = op.name.rstrip("_")
    return getattr(operator, f"i{stem}"), f"__i{stem}__"


INPLACE = {op.name: _inplace(op) for op in BINARY.values()}

COMPARISONS = {
    name: Binary(name, symbol, getattr(operator, name), f"__{name}__", f"__{mirror}__")
    for name, symbol, mirror in (
        ("lt", "<", "gt"),
        ("le", "<=", "ge"),
        ("eq", "==", "eq"),
        ("ne", "!=", "ne"),
        ("gt", ">", "lt"),
        ("ge", ">=", "le"),
    )
}

UNARY = {
    "neg": (operator.neg, "__neg__"),
    "pos": (operator.pos, "__pos__"),
    "invert": (operator.invert, "__invert__"),
}
