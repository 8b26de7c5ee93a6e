"""Programs whose outside changes between calls: a compiled function is compared with the plain one after each."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

import wengert as wg

HEAD = """
import collections, copy, dataclasses, datetime, decimal, enum, fractions, functools, math, operator, pathlib, types
import numpy as np
import wengert as wg
"""
X = np.array([0.3, -0.4])


def outcome(g: Any, *args: Any) -> Any:
    """What a call gives, as its repr, which tells signs and types; an exception as its class."""
    try:
        return repr(g(*args))
    except Exception as error:
        return type(error)


def spaces_of(source: str) -> list[dict[str, Any]]:
    """Two namespaces in which the same program was run."""
    spaces: list[dict[str, Any]] = [{"__name__": "changed"}, {"__name__": "changed"}]
    for space in spaces:
        exec(compile(f"{HEAD}{source}", "<changed>", "exec", dont_inherit=True), space)
    return spaces


def stale(head: str, body: str, *changes: str) -> list[str]:
    """How the compiled function, and its compiled gradient, differ from the plain ones after the changes."""
    spaces = spaces_of(f"{head}\ndef f(x): return np.sum(x * x) * ({body})\n")
    f, plain = [space["f"] for space in spaces]
    pairs = [(wg.compile(f), plain), (wg.compile(wg.value_and_grad(f)), wg.value_and_grad(plain))]
    found = []
    for change in ("", *changes):
        for space in spaces:
            exec(change, space)
        for _ in range(2):
            given = [(outcome(g, X), outcome(h, X)) for g, h in pairs]
            found += [f"{body} after {change!r} gives {a}, not {b}" for a, b in given if a != b]
    return found


def stale_calls(head: str, parameters: str, body: str, calls: Iterable[str]) -> list[str]:
    """How the compiled function differs from the plain one in calls with these arguments, one after another."""
    spaces = spaces_of(f"{head}\ndef f({parameters}): return {body}\n")
    g, plain = wg.compile(spaces[0]["f"]), spaces[1]["f"]
    found = []
    for call in [call for call in calls for _ in range(2)]:
        a, b = [outcome(h, *eval(f"({call},)", space)) for h, space in zip((g, plain), spaces, strict=True)]
        found += [f"{body} of {call} gives {a}, not {b}"] if a != b else []
    return found


def check(cases: list[tuple[str, ...]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [said for case in cases for said in stale(*case)]
    assert not found, "\n".join(found)
