"""Constants whose texts are code: what stands on a tape is written as data, wherever a tape is written."""

from __future__ import annotations

import ast
import builtins
import collections
import datetime
import decimal
import enum
import functools
import pathlib
import re
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pages import Html

import wengert as wg

TEXTS = [
    "PWNED()", "a\nPWNED()\n#", "a'\nPWNED()\n'", 'a"]\nPWNED()\n["', "{PWNED()}", "%(PWNED())s", "<script>x</script>",
    'a" onload="x', "a]|<b>", "\u2028PWNED()", "ﬁ", "class", "__import__('os')", "\\", 'a\\"', "`b${x}",
    "0); PWNED() #",
]  # fmt: skip


def _shown_as(base: type, text: str) -> type:
    return type("Shown", (base,), {"__repr__": lambda self: text, "__str__": lambda self: text})


def _named(text: str) -> type:
    made = type("made", (), {})
    made.__name__ = made.__qualname__ = made.__module__ = text
    return made


def _function(text: str) -> Any:
    def f() -> None:
        pass

    f.__name__ = f.__qualname__ = f.__module__ = text
    return f


def _module(text: str) -> types.ModuleType:
    made = types.ModuleType("m")
    made.__name__ = text
    return made


CONSTANTS: dict[str, Callable[[str], Any]] = {
    "str": lambda t: t,
    "bytes": lambda t: t.encode(),
    "str of a class": lambda t: _shown_as(str, t)("k"),
    "int of a class": lambda t: _shown_as(int, t)(3),
    "bytes of a class": lambda t: _shown_as(bytes, t)(b"k"),
    "tuple of a class": lambda t: _shown_as(tuple, t)((1, 2)),
    "list of a class": lambda t: _shown_as(list, t)([1, 2]),
    "dict of a class": lambda t: _shown_as(dict, t)({"a": 1}),
    "complex of a class": lambda t: _shown_as(complex, t)(3j),
    "float of a class": lambda t: _shown_as(np.float64, t)(2.0),
    "integer of a class": lambda t: _shown_as(np.int64, t)(2),
    "object": lambda t: _shown_as(object, t)(),
    "text of NumPy": np.str_,
    "array of texts": lambda t: np.array([t, "q"]),
    "array of objects": lambda t: np.array([_shown_as(object, t)(), 1], dtype=object),
    "records": lambda t: np.array([(1, 2.0)], dtype=[(t, int), ("q", float)]),
    "dtype": lambda t: np.dtype([(t, int)]),
    "titled dtype": lambda t: np.dtype([((t, "q"), int)]),
    "member": lambda t: enum.Enum("E", {t: 1})[t],
    "path": pathlib.PurePosixPath,
    "pattern": lambda t: re.compile(re.escape(t)),
    "partial": lambda t: functools.partial(_function(t), t),
    "nested": lambda t: (t, [t, {t: (t,)}], {t}, frozenset([t]), slice(t, None)),
    "namespace": lambda t: types.SimpleNamespace(**{t: 1}),
    "class": _named,
    "instance": lambda t: _named(t)(),
    "function": _function,
    "method": lambda t: types.MethodType(_function(t), 3),
    "module": _module,
    "class of a metaclass": lambda t: type("M", (type,), {"__repr__": lambda cls: t})("Q", (), {}),
    "named tuple": lambda t: collections.namedtuple("N", "a b")(t, 1),  # type: ignore[call-arg]
    "mapping": lambda t: types.MappingProxyType({t: 1}),
    "alias": lambda t: list[t],  # type: ignore[valid-type]
    "numbers": lambda t: (decimal.Decimal(1), datetime.date(2020, 1, 1), -float("inf"), complex("nan+infj")),
}
_DOT = re.compile(r'  n\d+ (-> n\d+|\[label="(?:[^"\\\n]|\\.)*", [a-z=,# "0-9A-Z]*\]);')
_MERMAID = re.compile(r'  (n\d+[\[({/]+"[^"<>`\n]*"[\])}/]+|n\d+ --> n\d+|style n\d+ stroke-width:3px)')


def prim(x: float, c: Any) -> float:
    return x * 2.0


wg.rrule(prim)(lambda x, c: (x * 2.0, lambda y_bar: (y_bar * 2.0, None)))


def _checked(source: str) -> None:
    tree = ast.parse(source)
    assert {type(node) for node in tree.body} <= {ast.Import, ast.ImportFrom, ast.Try, ast.FunctionDef}, source
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Lambda), source
        assert not (isinstance(node, ast.Name) and node.id in ("PWNED", "__import__")), source
        assert not (isinstance(node, ast.Attribute) and "PWNED" in node.attr), source


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_constant_is_no_code(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []
    monkeypatch.setattr(builtins, "PWNED", lambda: ran.append(1), raising=False)
    for text in TEXTS:
        c = CONSTANTS[name](text)
        for make in (wg.gradtape, lambda f, x: wg.trace(f, x)[1]):
            tape: wg.Tape = make(lambda x, c=c: prim(x, c), 1.5)
            _checked(tape.to_source(sites=True))
            Html().feed(tape._repr_html_())
            assert len(tape.dump("plain", sites=True).splitlines()) <= len(list(tape)) + 2
            assert all(map(_DOT.fullmatch, tape.to_dot().split("\n")[2:-1]))
            assert all(map(_MERMAID.fullmatch, tape.to_mermaid().split("\n")[1:]))
            tape.compile()(1.5)
    assert not ran
