"""Whichever copy of a test a pass forgets to be one, it is missed: what was made would be stale, and not say so."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiling import entries
from wengert.compiling.watched.marks import Mark
from wengert.tape.ops import Call
from wengert.tape.source import LostGuardError


def straight(x: Any) -> Any:
    return x * 2.0 if x > 0.5 else x * math.frexp(x)[1]


def in_a_loop(x: Any) -> Any:
    for _ in range(60):
        x = x * 1.01 if x > 0.5 else x + np.floor(x).astype(int) * 0.25
    return x


def in_inner_loops(x: Any) -> Any:
    for _ in range(12):
        for _ in range(12):
            x = x * 1.0001 if x > 0.5 else x * 0.999
        x = np.tanh(x) + 0.5
    return x


def free(x: Any) -> Any:
    while x > 1.0:
        x = x * 0.5 if x < 50.0 else x / 3.0
    return x


def free_in_a_loop(x: Any) -> Any:
    for k in range(5):
        x = free(x * 40.0) + 0.1 if x > 0.0 else x * k
    return x


def on_rows(x: Any) -> Any:
    y = np.exp(x * np.linspace(0.0, 1.0, 300_000))
    y = np.sqrt(y * y + 1.0) / (y + 2.0) - y * np.cos(y)
    return np.sum(y) * (2.0 if x > 0.5 else 1.0)


def partly_native(x: Any) -> Any:
    y = np.sort(np.array([x, 1.0 - x, x * x]))
    return in_a_loop(y[0]) * (2.0 if y[2] > 0.5 else 1.0)


FUNCTIONS: dict[Any, tuple[float, ...]] = {
    straight: (0.75, 0.3, 1.5),
    in_a_loop: (0.75, 0.3, -2.5),
    in_inner_loops: (0.75, 0.3, -1.0),
    free: (70.0, 0.5, 300.0),
    free_in_a_loop: (0.75, -1.0, 300.0),
    on_rows: (0.75, 0.3),
    partly_native: (0.75, 0.4, 0.6),
}


class Forgetting:
    """Has the guard of this number that is made, once there is a trace, be none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number, self.made, self.is_on = 0, 0, False
        make, optimised_by = Call.__init__, entries.optimised_by

        def init(op: Call, *args: Any, **words: Any) -> None:
            make(op, *args, **words)
            if self.is_on and op.guard and not isinstance(op.fn, Mark):
                self.made += 1
                op.guard = self.made != self.number

        def begun(*args: Any) -> Any:
            self.is_on = True
            return optimised_by(*args)

        monkeypatch.setattr(Call, "__init__", init)
        monkeypatch.setattr(entries, "optimised_by", begun)

    def run(self, f: Callable[..., Any], number: int, native: bool) -> None:
        """Call a compiled function, where the guard of this number is forgotten, as the plain one is called."""
        self.number, self.made, self.is_on = number, 0, False
        plain = wg.value_and_grad(f)
        g = wg.compile(plain, native=native)
        for x in FUNCTIONS[f]:
            np.testing.assert_allclose(g(x), plain(x), rtol=1e-11)
            self.number = 0


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_no_pass_forgets_a_test(monkeypatch: pytest.MonkeyPatch, f: Any, native: bool) -> None:
    if native:
        pytest.importorskip("numba")
    forgetting = Forgetting(monkeypatch)
    forgetting.run(f, 0, native)
    missed, some = 0, max(1, forgetting.made // 12)
    for number in range(1, forgetting.made + 1, some):
        try:
            forgetting.run(f, number, native)  # it may be one that nothing is made of
        except LostGuardError:
            missed += 1
    assert missed


@pytest.mark.parametrize("fn", [np.max, np.min, lambda b: np.vdot(b, b), lambda b: np.einsum("i,i", b, b)])
def test_a_test_by_a_function_that_never_raises_stays_a_test(fn: Any) -> None:
    def f(x: Any) -> Any:
        return np.sum(x) * (2.0 if fn(x > 0.0) else 3.0)

    g = wg.compile(wg.grad(f), strict=True)
    for x in ([1.0, -2.0], [-1.0, -2.0], [1.0, 2.0]):
        np.testing.assert_array_equal(g(np.array(x)), g.wrapped(np.array(x)))


@pytest.mark.parametrize(
    ("f", "arguments"),
    [
        (lambda x: x * (0.999 + 0.0001 * math.frexp(x)[1]), (0.3, 0.301, 0.299)),
        (lambda x: x * 1.0001 if str(x)[0] == "0" else x * 0.9, (0.9, 0.9882, 0.98828)),
    ],
)
def test_a_part_by_which_the_last_iteration_decides_is_tested(f: Any, arguments: tuple[float, ...]) -> None:
    def repeated(x: Any) -> Any:
        for _ in range(600):
            x = f(x)
        return x

    g = wg.compile(wg.grad(repeated))
    for x in arguments:
        assert g(x) == pytest.approx(g.wrapped(x), rel=1e-12)


def test_a_tape_that_is_played_may_test_in_other_words() -> None:
    def f(x: Any) -> Any:
        factors = {1.0: 2.0, 3.0: 1.0}
        for _ in range(400):
            x = x + 0.001 * factors.get(float(np.floor(x)), 0.5) * x
        return x

    g = wg.compile(wg.grad(f))
    for x in (1.2, 0.3, 1.2):
        np.testing.assert_allclose(g(x), g.wrapped(x), rtol=1e-12)
