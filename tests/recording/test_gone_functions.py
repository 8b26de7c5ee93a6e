"""Functions that are gone leave nothing behind: those of notebooks, of `exec`, made anew in each call."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

TEXT = """
def f(x):
    y = np.sin(x) * x
    for i in range(3):
        y = y * x + {k}.5
    return y

def g(x):
    return x * {k}.0

class Square:
    def __init__(self, x):
        self.x = x
    def area(self):
        return self.x * self.x

def h(x):
    class Half(Square):
        def area(self):
            return super().area() / 2
    return Square(x).area() + Half(x).area()
"""


def _made(k: int) -> dict[str, Any]:
    namespace: dict[str, Any] = {"np": np}
    exec(TEXT.format(k=k % 7 + 1), namespace)
    return namespace


def _gradient(k: int) -> None:
    wg.grad(_made(k)["f"])(1.5)


def _class(k: int) -> None:
    assert wg.grad(_made(k)["h"])(1.5) == 4.5


def _tape(k: int) -> None:
    _, tape = wg.trace(_made(k)["f"], 1.5)
    tape.play(1.5)


def _compiled(k: int) -> None:
    wg.gradtape(_made(k)["f"], 1.5).compile()(1.5)


def _rule(k: int) -> None:
    g = _made(k)["g"]
    wg.rrule(g)(lambda x: (g(x), lambda y_bar: y_bar * (k % 7 + 1.0)))
    assert wg.grad(lambda x: g(x) * x)(1.0) == 2.0 * (k % 7 + 1)
    wg.rules.remove(g)


USES = [(_gradient, 200), (_class, 400), (_tape, 200), (_compiled, 400), (_rule, 400)]


@pytest.mark.usefixtures("small_heap")
@pytest.mark.parametrize(("use", "most"), USES)
def test_memory_does_not_grow(use: Callable[[int], None], most: int) -> None:
    """In one of thirty rounds at least: what other tests left behind goes in the first, a leak grows in each."""
    for k in range(30):
        use(k)
    tracemalloc.start(1)
    try:
        assert any(_growth(use, 30) < most for _ in range(30))  # it was 2,000 to 20,000
    finally:
        tracemalloc.stop()


def _growth(use: Callable[[int], None], count: int) -> float:
    """Bytes that stay of each use."""
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for k in range(count):
        use(k)
    gc.collect()
    return (tracemalloc.get_traced_memory()[0] - before) / count


def test_code_and_its_twin_go_together() -> None:
    f = _made(1)["f"]
    code = weakref.ref(f.__code__)
    wg.grad(f)(1.5)
    del f
    wg.grad(lambda x: x * x)(1.0)  # the next trace forgets the functions of the last
    gc.collect()
    assert code() is None


def test_a_generator_outlives_its_function() -> None:
    """A twin that still runs when its original is gone runs on, and is not instrumented again."""
    kept = []

    def f(x: float) -> float:
        namespace: dict[str, Any] = {}
        exec("def steps(x):\n    while True:\n        yield x * x", namespace)
        made = namespace["steps"](x)
        del namespace
        kept.append(made)
        return next(made) + next(made)

    assert wg.grad(f)(3.0) == 12.0
    gc.collect()
    assert next(kept[0]) == 9.0
    assert wg.grad(lambda x: x * next(kept[0]))(2.0) == 9.0


AT_EXIT = """
import atexit
import wengert as wg

def f(x):
    return x * x

class Square:
    def __init__(self, x):
        self.x = f(x)

class Kept:
    def __del__(self):
        print("gone", wg.grad(f)(2.0))

kept = Kept()
atexit.register(lambda: print("exit", wg.grad(f)(3.0)))
wg.grad(lambda x: Square(x).x * f(x))(1.0)
"""


def test_what_a_module_holds_is_finalised_with_the_interpreter() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", AT_EXIT]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, timeout=120)
    assert done.stdout.splitlines() == ["exit 6.0", "gone 4.0"], done.stderr


@pytest.mark.parametrize("backend", ["numpy", "reference"])
def test_tensor_functions_go_with_all_that_is_derived(backend: str) -> None:
    def made() -> Any:
        def norm(x: Any) -> Any:
            return sum(v * v for v in x)

        return wg.tensor.function(norm, backend=backend)

    def used(f: Any) -> list[weakref.ref[Any]]:
        x = np.array([1.0, 2.0])
        second = f.grad().differential()
        np.testing.assert_array_equal(second(x, x), 2 * x)
        np.testing.assert_array_equal(wg.grad(lambda x: f(x) * 3.0)(x), 6 * x)
        wg.gradtape(lambda x: f(x * x), x).play(x)
        wg.trace(lambda x: f(x) + f.grad()(x)[0], x)[1].play(x)
        assert wg.rules[f] is f.own_rule and f in wg.rules
        return [weakref.ref(it) for it in (f, f.plain, second, f.grad(), f.own_rule)]

    before = len(wg.rules), wg.rules.version
    gone = used(made())
    assert (len(wg.rules), wg.rules.version) == before  # nothing that others remember is forgotten
    wg.grad(lambda x: x * x)(1.0)
    gc.collect()
    assert [ref() for ref in gone] == [None] * len(gone)


def test_the_rule_of_a_tensor_function_stays() -> None:
    def norm(x: Any) -> Any:
        return sum(v * v for v in x)

    f, x = wg.tensor.function(norm, backend="numpy"), np.array([1.0, 2.0])
    with pytest.raises(wg.RuleError, match="part of that object"):
        wg.rules.remove(f)
    with pytest.raises(wg.DuplicateRuleError):
        wg.rrule(f)(lambda x: (f(x), lambda y_bar: y_bar * x))
    np.testing.assert_array_equal(wg.grad(lambda x: f(x))(x), 2 * x)
