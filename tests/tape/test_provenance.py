"""Emitted source goes by the user's names and lines, and never by a wrong one.

The oracle is CPython: the plain run, followed line by line, tells which values each variable had. A name in the source
that is a variable's has one of these when it is bound.
"""

from __future__ import annotations

import copy
import functools
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import programs
import pytest

import wengert as wg
from wengert.values.numeric_trees import bits

X = np.array([0.5, 1.25])


def followed(f: Callable[..., Any], files: Callable[[str], bool], *args: Any) -> dict[str, dict[Any, Any]]:
    """The values that the variables of functions in these files had at any line, by name and bits."""
    seen: dict[str, dict[Any, Any]] = defaultdict(dict)

    def note(frame: Any) -> None:
        for name, value in frame.f_locals.items():
            if isinstance(value, np.ndarray | float | complex | np.generic):
                seen[name][bits(value)] = np.array(value)

    def local(frame: Any, event: str, _: Any) -> Any:
        note(frame)
        return local

    sys.settrace(lambda frame, *_: local if files(frame.f_code.co_filename) else None)
    try:
        f(*args)
    finally:
        sys.settrace(None)
    return seen


def bound(source: str, *args: Any) -> dict[str, Any]:
    """What each name of the emitted function was bound to first."""
    first: dict[str, Any] = {}
    names: dict[str, Any] = {}
    exec(compile(source, "<emitted>", "exec"), names)

    def local(frame: Any, event: str, _: Any) -> Any:
        for name, value in frame.f_locals.items():
            if name not in first and isinstance(value, np.ndarray | float | complex | np.generic):
                first[name] = np.array(value)
        return local

    sys.settrace(lambda frame, *_: local if frame.f_code.co_filename == "<emitted>" else None)
    try:
        names["f"](*args)
    finally:
        sys.settrace(None)
    return first


def is_one(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two values are one; C code may round sums of lists and of arrays in another order."""
    if a.dtype.names is not None or b.dtype.names is not None:
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-14, atol=0, equal_nan=True)


def variables(source: str) -> list[str]:
    function = source[source.index("def f(") :]  # behind the helpers that it calls
    return [name for name in re.findall(r"^    (\w+) = ", function, re.MULTILINE) if not re.fullmatch(r"v\d+", name)]


def assert_named_rightly(f: Callable[..., Any], *args: Any, files: Callable[[str], bool] | None = None) -> list[str]:
    """Check each name that the tape of a call gives; returns the names."""
    tape = wg.trace(f, *copy.deepcopy(args))[1]
    source = tape.to_source()
    if "*, c1" in source:
        return []
    had = followed(f, files or (lambda file: file == f.__code__.co_filename), *copy.deepcopy(args))
    given = bound(source, *copy.deepcopy(args))
    named = [name for name in variables(source) if name in given]
    for name in named:
        own = next((n for n in (name, re.sub(r"\d+$", "", name)) if n in had), None)
        if own is None:  # an argument's part
            assert any(name.startswith(n) for n in f.__code__.co_varnames), name
        else:
            assert any(is_one(given[name], value) for value in had[own].values()), f"{name} in\n{source}"
    return named


def spring(x, k):
    stretch = x[1:] - x[:-1]
    energy = np.sum(stretch**2)
    energy *= k
    a = b = np.exp(x)
    total = energy + b[0]
    for _ in range(2):
        total = total * a[1]
    if (kinetic := np.sum(x * x)) > 0:
        total += kinetic
    return total * 1.0


def helper(u):
    scaled = u * 3.0
    return scaled, u + 1.0


def with_helper(x):
    first, second = helper(x)
    largest = max(x[0], x[1])
    copied = copy.deepcopy(first)
    both = np.array([largest, x[0]])
    norm = np.linalg.norm(second)
    parts = [x[0] * 2.0, copied[0]]
    q = sum(parts)
    root = np.sqrt(norm) if norm > 1.0 else x[0]
    third = (lambda v: v * 5.0)(root)
    return third + q + np.sum(both)


def with_cells(x):
    shift = x * 2.0

    def inner(y):
        moved = y + shift
        return moved.sum()

    result = inner(x)
    return result * result


class Sine:
    def __init__(self, x):
        self.value = np.sin(x)

    def __mul__(self, other):
        product = self.value * other
        return product


def with_objects(x):
    s = Sine(x)
    p = s * 2.0
    sin = s.value + p
    return np.sum(sin)


def unpacked(x):
    a, b = x
    c, d = np.sin(a), np.cos(b)
    return a * b * c + d


@pytest.mark.parametrize(
    ("f", "args", "names"),
    [
        (spring, (np.array([0.5, 1.25, 2.0]), 3.0), {"stretch", "energy", "a", "kinetic"}),
        (with_helper, (X,), {"scaled", "both", "norm"}),
        (with_cells, (X,), {"shift", "moved"}),
        (with_objects, (X,), {"product", "sin"}),
        (unpacked, (X,), set()),
    ],
)
def test_names_are_those_of_variables_that_had_the_value(f: Any, args: Any, names: set[str]) -> None:
    assert names <= {*assert_named_rightly(f, *args)}


@pytest.mark.skipif(sys.version_info[:2] == (3, 13), reason="its f_locals crash in inlined comprehensions with cells")
@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda program: program.name)
def test_no_program_has_a_wrong_name(program: Any) -> None:
    files = lambda file: "/tests/" in file.replace("\\", "/")
    assert_named_rightly(program.f, *program.args, files=files)


def test_many_names_are_found() -> None:
    found = [
        name for program in programs.PROGRAMS[:60]
        for name in variables(wg.trace(program.f, *copy.deepcopy(program.args))[1].to_source())
    ]  # fmt: skip
    assert len(found) > 30


def test_each_block_has_the_users_line() -> None:
    source = wg.gradtape(spring, np.array([0.5, 1.25, 2.0]), 3.0).to_source()
    first = spring.__code__.co_firstlineno
    assert f"    # test_provenance.py:{first + 1}  stretch = x[1:] - x[:-1]\n    v" in source
    assert f"    # pullback of test_provenance.py:{first + 2}  energy = np.sum(stretch**2)\n" in source
    assert "wengert_rules" not in "".join(line for line in source.splitlines() if line.strip().startswith("#"))
    by_line = wg.gradtape(spring, np.array([0.5, 1.25, 2.0]), 3.0).to_source(sites=True)
    assert not re.search(r"^    # ", by_line, re.MULTILINE)


def test_a_push_has_the_line_of_its_call() -> None:
    source = wg.jvptape(lambda x: np.sum(np.tanh(x)), (X,), (X,)).to_source()
    assert re.search(r"# pushforward of test_provenance.py:\d+  source = wg.jvptape\(", source)


def test_a_line_without_source_is_named_by_its_function() -> None:
    names: dict[str, Any] = {"np": np}
    exec(compile("def g(x):\n    y = np.sin(x) * x\n    return y.sum()", "<nowhere>", "exec"), names)
    source = wg.trace(names["g"], X)[1].to_source()
    assert "# <nowhere>:2 in g\n" in source and "    y = " in source


def test_names_do_not_hide_others() -> None:
    def f(x, v3):
        np_ = x * 2.0
        sum = np_ + v3
        c1 = np.exp(sum)
        v7 = c1 * sum
        type = v7 * v7
        return np.sum(type) + np.sum(np_)

    run = functools.partial(f, X)
    assert wg.trace(f, X, 2.0)[1].compile()(X, 2.0) == run(2.0)
    assert wg.gradtape(f, X, 2.0).compile()(X, 2.0)[0] == run(2.0)
