"""Hooks that do what the instruction does: code instrumented with them computes what it did."""

from __future__ import annotations

import operator
from collections.abc import Callable

from wengert.hooks.generated import interpolation
from wengert.hooks.matching import match_class_pattern
from wengert.values.sites import Site

BINARY = {
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and_",
    "or_",
    "xor",
    "lshift",
    "rshift",
}
BINARY |= {"i" + name.rstrip("_") for name in BINARY} | {"lt", "le", "eq", "ne", "gt", "ge"}
UNARY = {"neg", "pos", "invert", "not_", "truth"}


def binary(f: Callable) -> Callable:
    return lambda right, left, site: f(left, right)


def unary(f: Callable) -> Callable:
    return lambda a, site: f(a)


def itself(a: object, site: Site) -> object:
    return a


PLAIN: dict[str, Callable] = {
    **{name: binary(getattr(operator, name)) for name in BINARY},
    **{name: unary(getattr(operator, name)) for name in UNARY},
    **dict.fromkeys(["resolve", "made", "touched", "iterable", "mapping", "context"], itself),
    "contains": lambda right, left, site: left in right,
    "not_contains": lambda right, left, site: left not in right,
    "is_": lambda right, left, site: left is right,
    "is_not": lambda right, left, site: left is not right,
    "getitem": lambda key, container, site: container[key],
    "setitem": lambda container, key, value, site: operator.setitem(container, key, value),
    "delitem": lambda key, container, site: operator.delitem(container, key),
    "getattr": lambda obj, name, site: getattr(obj, name),
    "setattr": lambda obj, value, name, site: setattr(obj, name, value),
    "delattr": lambda obj, name, site: delattr(obj, name),
    "super_getattr": lambda cls, obj, super_, name, given, site: getattr(super_(cls, obj), name),
    "importing": lambda name, site: None,
    "convert": lambda value, how, site: (str, repr, ascii)[how - 1](value),
    "format": lambda value, spec, site: format(value, spec),
    "join": lambda parts, site: "".join(parts),
    "interpolation": interpolation,
    "match_class": match_class_pattern,
    "build_set": lambda items, site: set(items),
    "build_map": lambda items, site: dict(zip(items[::2], items[1::2], strict=True)),
    "added": lambda key, site: key,
    "match_keys": lambda keys, subject, site: None,
    "added_all": lambda items, site: items,
    "caught": lambda error, site: None,
}
