"""Text from data is never run: names with newlines, quotes and code in them, wherever they reach source or a file."""

from __future__ import annotations

import ast
import builtins
import itertools
import random
import sys
import types
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pages import Html

import wengert as wg
from wengert.values.names import in_line, is_name

CODE = "PWNED()"
BREAKS = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\\\n", "\0"]
QUOTES = ["'", '"', "'''", '"""', "\\", "\\'", '\\"', *"`])}>;:,{=.", "-->", "%s"]

OTHERS = ["class", "None", "np", "ﬁ", "x²", "ａ", "", " ", "1", "é", "v2", "c1", "float", "\ud800", "StaleTapeError"]
NAMES = [
    *(f"a{end}{CODE}{end}#" for end in BREAKS),
    *(f"a{quote}{CODE}{quote}#" for quote in QUOTES),
    *(f"a{quote}){end}{CODE} #" for quote, end in itertools.product(QUOTES[:6], BREAKS[:2])),
    f"a=({CODE})",
    f"{CODE}.a",
    f"a\nimport os\n{CODE}",
    *OTHERS,
]


def _random_names(count: int) -> Iterator[str]:
    draw = random.Random(5)
    parts = [*BREAKS, *QUOTES, *OTHERS, CODE, "a", " ", "import os", "def f(): "]
    for _ in range(count):
        yield "".join(draw.choices(parts, k=draw.randint(1, 6)))


class Hits:
    count = 0


@pytest.fixture(autouse=True)
def _trap(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    Hits.count = 0

    def hit() -> None:
        Hits.count += 1

    monkeypatch.setattr(builtins, "PWNED", hit, raising=False)
    yield
    assert Hits.count == 0


def _function_in(name: str) -> Any:
    """A function whose file, name and qualified name are the text."""

    def f(x: Any) -> Any:
        return np.sin(x) * x if x > 0 else x

    f.__code__ = f.__code__.replace(co_filename=name, co_name=name, co_qualname=name)
    f.__name__ = f.__qualname__ = name
    return f


def _named_argument(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    return lambda **named: named[name] * 2.0, (), {name: 1.5}


def _key(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    return lambda d: d[name] * 2.0, ({name: 1.5},), {}


class Holder:
    pass


def _attribute(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    holder = Holder()
    setattr(holder, name, 1.5)
    return lambda o: getattr(o, name) * 2.0, (holder,), {}


def _class(name: str, base: type) -> Any:
    made = type("made", (base,), {})
    made.__name__ = made.__qualname__ = name
    made.__module__ = name
    return made


def _number(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    c = _class(name, np.float64)(3.0)
    return lambda x: np.hypot(x, c), (1.5,), {}


def _numbers(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    c = np.arange(9.0).view(_class(name, np.ndarray))
    return lambda x: np.sum(np.asarray(c) * x), (1.5,), {}


def _argument_of_class(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    return lambda x: x * 2.0, (_class(name, np.float64)(1.5),), {}


def _rule(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """A primitive that says it stands in a module of that name, under that name."""

    def f(x: Any) -> Any:
        return x * 2.0

    f.__name__ = f.__qualname__ = f.__module__ = name
    module = types.ModuleType("m")
    setattr(module, name, f)
    sys.modules[name] = module
    wg.rrule(f)(lambda x: (x * 2.0, lambda y_bar: y_bar * 2.0))
    return lambda x: f(x) * x, (1.5,), {}


def _tuple(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    made: Any = namedtuple("made", "a b")  # type: ignore[misc]
    made.__name__ = made.__qualname__ = name
    return lambda x: made(x, x * 2.0), (1.5,), {}


def _file(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    return _function_in(name), (1.5,), {}


def _text(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    return lambda x, text: x * 2.0 if text == name else x, (1.5, name), {}


PLACES = [
    _named_argument, _key, _attribute, _number, _numbers, _argument_of_class, _rule, _tuple, _file, _text
]  # fmt: skip


def _checked(source: str, name: str = "") -> None:
    """Only imports, the class of the error, the function and its helper; no name and no attribute from the data."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        assert not (isinstance(node, ast.Name) and node.id == "PWNED")
        assert not (isinstance(node, ast.Attribute) and node.attr == "PWNED")
        assert not (isinstance(node, ast.alias) and node.name not in ("numpy", "StaleTapeError", __name__, name))
    kinds = {ast.Import, ast.Try, ast.FunctionDef}
    assert {type(node) for node in tree.body} <= kinds, source
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert len(names - {"build_container"}) == 1


def _texts(tape: Any, name: str) -> None:
    """Every text that a tape gives."""
    count = len(list(tape))
    for form in ("plain", "compact"):
        text = tape.dump(form, sites=True)
        assert len(text.splitlines()) <= count + 2
    assert len(tape.to_dot().splitlines()) == len(tape.to_dot().split("\n"))
    assert len(tape.to_mermaid().splitlines()) == len(tape.to_mermaid().split("\n"))
    Html().feed(tape._repr_html_())
    source = tape.to_source(sites=True)
    _checked(source, name)


def _run(place: Any, name: str) -> None:
    try:
        f, args, kwargs = place(name)
    except (TypeError, ValueError, UnicodeEncodeError):  # Python itself refuses such a name there
        return
    try:
        value, tape = wg.trace(f, *args, **kwargs)
        tapes = [tape] if kwargs else [tape, wg.gradtape(lambda *args: _total(f(*args)), *args)]
        for made in tapes:
            _texts(made, name)
            made.compile()
        if isinstance(value, float) and all(type(arg) is float for arg in args):
            by_name = tape.to_source().count(", *, ") + tape.to_source().count("f(*, ")
            played = tape.compile()(*args, **kwargs) if by_name else tape.compile()(*args, *kwargs.values())
            assert played == value
    finally:
        if getattr(sys.modules.get(name), "__name__", "") == "m":
            del sys.modules[name]


def _total(result: Any) -> Any:
    return result[0] * result[1] if isinstance(result, tuple) else result


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_a_name_is_no_code(place: Any) -> None:
    for name in NAMES:
        if place is _rule and name in ("np", "", "float"):
            continue
        _run(place, name)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_random_names_are_no_code(place: Any) -> None:
    for name in _random_names(60):
        _run(place, name)


@pytest.mark.parametrize("name", NAMES)
def test_names_of_the_emitted_function_are_checked(name: str) -> None:
    _, tape = wg.trace(lambda x: np.sin(x) * x, 1.5)
    if is_name(name) and name not in ("np", "float", "StaleTapeError"):
        _checked(tape.to_source(name))
        return
    with pytest.raises(wg.TapeError, match="name="):
        tape.to_source(name)
    with pytest.raises(wg.TapeError, match="name="):
        tape.compile(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_text_in_a_line_stays_in_it(name: str) -> None:
    line = in_line(name)
    assert len(line.splitlines()) <= 1
    ast.parse(f"pass  # {line}".encode())
    assert line == name or not name.isprintable()


@pytest.mark.parametrize("word", ["type", "float", "np", "getattr", "error", "Exception", "abs", "bool", "int"])
def test_parameters_do_not_hide_what_the_text_uses(word: str) -> None:
    namespace: dict[str, Any] = {"numpy": np}
    exec(f"def f({word}, n): return abs({word}) * 2.0 if n > 0 else numpy.sum(numpy.array([{word}, n]))", namespace)
    if word == "abs":
        exec("def f(abs, n): return abs * 2.0 if n > 0 else n", namespace)
    value, tape = wg.trace(namespace["f"], -1.5, 1.0)
    assert tape.compile()(-1.5, 1.0) == value


def test_a_stub_to_paste_is_one_rule() -> None:
    def f(x: Any) -> Any:
        return x

    f.__name__ = f.__qualname__ = f"a\n{CODE}"
    f.__module__ = "nowhere"
    from wengert.values.callables import stub

    tree = ast.parse(stub(f))
    assert len(tree.body) == 1
    assert not any(isinstance(node, ast.Name) and node.id == "PWNED" for node in ast.walk(tree))
