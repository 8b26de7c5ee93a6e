"""Scoped rules: they hold inside the block, for all that was resolved or cached before, and nothing of them stays."""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import DuplicateRuleError
from wengert.rulebook.registry import Registry


def cube(x: Any) -> Any:
    return x * x * x


def f(x: Any) -> Any:
    return np.sum(np.sin(cube(x)) * x)


X = np.array([0.3, 0.7])
EXACT = np.cos(X**3) * 3 * X**2 * X + np.sin(X**3)
DOUBLED = 2 * np.cos(X**3) * 3 * X**2 * X + np.sin(X**3)  # where the pullback of cube gives twice too much


@contextmanager
def doubled_cube() -> Iterator[None]:
    with wg.rules.scope():

        @wg.rrule(cube)
        def cube_rule(x):
            return x * x * x, lambda y_bar: 6 * y_bar * x * x

        yield


@contextmanager
def without_rule(f: Any) -> Iterator[None]:
    with wg.rules.scope():
        wg.rules.remove(f)
        yield


def gradient() -> Any:
    return wg.grad(f)(X)


def is_close(got: Any, expected: Any) -> bool:
    return bool(np.allclose(got, expected, rtol=1e-12))


def test_a_rule_holds_inside_its_scope_only() -> None:
    assert is_close(gradient(), EXACT)
    for _ in range(2):
        with doubled_cube():
            assert is_close(gradient(), DOUBLED)
        assert is_close(gradient(), EXACT)


def test_after_an_error_inside() -> None:
    with pytest.raises(ZeroDivisionError), doubled_cube():
        1 / 0  # noqa: B018
    assert is_close(gradient(), EXACT) and cube not in wg.rules


def test_a_rule_taken_out_comes_back() -> None:
    with without_rule(np.sin):
        with pytest.raises(wg.NoRuleError):
            gradient()
        with without_rule(operator.mul), pytest.raises(wg.NoRuleError):
            wg.grad(lambda x: x * x)(0.5)
        assert wg.grad(lambda x: x * x)(0.5) == 1.0
    assert is_close(gradient(), EXACT)


def test_operators_follow_the_scope() -> None:
    with wg.rules.scope() as rules:
        rules.remove(operator.mul)

        @wg.partials(operator.mul)
        def mul(y, a, b):
            return 10 * b, 10 * a

        assert wg.grad(lambda x: x * x)(0.5) == 10.0
        assert np.array_equal(wg.grad(lambda x: np.sum(x * x))(X), 20 * X)
    assert wg.grad(lambda x: x * x)(0.5) == 1.0
    assert np.array_equal(wg.grad(lambda x: np.sum(x * x))(X), 2 * X)


def test_scopes_in_scopes() -> None:
    with doubled_cube():
        with wg.rules.scope():
            wg.rules.remove(cube)

            @wg.rrule(cube)
            def other(x):
                return x * x * x, lambda y_bar: 0 * y_bar

            assert is_close(gradient(), np.sin(X**3))
        assert is_close(gradient(), DOUBLED)
        with pytest.raises(ZeroDivisionError), without_rule(cube):  # noqa: PT012 -- what it does is the point
            assert is_close(gradient(), EXACT)
            raise ZeroDivisionError
        assert is_close(gradient(), DOUBLED)
    assert is_close(gradient(), EXACT)


def test_opened_while_tracing() -> None:
    def g(x: Any) -> Any:
        before = f(x)
        with doubled_cube():
            inside = f(x)
        return before + inside + f(x)

    for _ in range(2):
        assert is_close(wg.grad(g)(X), 2 * EXACT + DOUBLED)
        assert is_close(wg.grad(f, X)[1][1], EXACT)


def test_operators_while_tracing() -> None:
    def g(x: Any) -> Any:
        y = x * x
        with wg.rules.scope() as rules:
            rules.remove(operator.mul)

            @wg.partials(operator.mul)
            def mul(y, a, b):
                return 10 * b, 10 * a

            y += x * x
        return y + x * x

    assert wg.grad(g)(0.5) == 12.0
    assert is_close(wg.grad(lambda x: np.sum(g(x)))(X), 24 * X)


def test_accumulators_are_undone() -> None:
    table = Registry()

    @wg.vjp_rule(np.sin, registry=table)
    def sin(y_bar, y, x):
        return y_bar * np.cos(x)

    def first(x_bar, y_bar, y, x):
        return x_bar

    def second(x_bar, y_bar, y, x):
        return x_bar

    with table.scope():
        wg.accumulates(np.sin, arg=0, registry=table)(first)
        with table.scope(), pytest.raises(DuplicateRuleError):
            wg.accumulates(np.sin, arg=0, registry=table)(second)
        assert table[np.sin].accumulators[0].add is first
    assert table[np.sin].accumulators == {}
    wg.accumulates(np.sin, arg=0, registry=table)(second)
    with table.scope():
        wg.accumulates(np.sin, arg=0, registry=table)(second)
    assert table[np.sin].accumulators[0].add is second


def test_accumulators_of_the_engine_follow_the_scope() -> None:
    called = []
    gather = lambda x: x[0] * x[1] + x[0]
    with wg.rules.scope():
        wg.rules.remove(operator.matmul)

        @wg.vjp_rule(np.matmul, operator.matmul)
        def matmul(y_bar, y, a, b):
            return y_bar * b, y_bar * a

        @wg.accumulates(np.matmul, arg=0)
        def add(x_bar, y_bar, y, a, b):
            called.append(1)
            x_bar += y_bar * b
            return x_bar

        g = lambda x: x @ X + x @ (2 * X) + x @ X
        assert is_close(wg.grad(g)(X), 4 * X)
    inside = len(called)
    assert is_close(wg.grad(lambda x: x @ X + x @ (2 * X) + x @ X)(X), 4 * X) and len(called) == inside
    assert is_close(wg.grad(gather)(X), [X[1] + 1, X[0]])


def test_tapes_keep_the_rules_that_they_were_made_with() -> None:
    plain = wg.gradtape(f, X)
    value, recorded = wg.trace(f, X)
    with doubled_cube():
        inside = wg.gradtape(f, X)
        compiled = inside.compile()
        source: dict[str, Any] = {}
        assert is_close(plain.play(X)[1][1], EXACT) and recorded.play(X) == value
    exec(inside.to_source("df"), source)
    for run in (inside.play, compiled, source["df"]):
        assert is_close(run(X)[1][1], DOUBLED)
    assert is_close(wg.gradtape(f, X).play(X)[1][1], EXACT)


def test_other_threads_see_a_scope_and_keep_what_they_change() -> None:
    seen = []

    def other() -> None:
        seen.append(gradient())
        wg.non_differentiable(test_after_an_error_inside)

    with doubled_cube():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert is_close(seen[0], DOUBLED) and is_close(gradient(), EXACT)
    assert test_after_an_error_inside in wg.rules
    wg.rules.remove(test_after_an_error_inside)


def test_a_scope_undoes_its_own_change_only() -> None:
    table, mine, other = Registry(), lambda x: x, lambda x: x

    def replace() -> None:
        table.remove(np.floor)
        wg.non_differentiable(np.floor, np.ceil, registry=table)

    with table.scope():
        wg.non_differentiable(np.floor, mine, other, registry=table)
        thread = threading.Thread(target=replace)
        thread.start()
        thread.join()
    assert set(table) == {np.floor, np.ceil}


def test_many_threads_in_scopes_of_their_own() -> None:
    table = Registry()
    functions = [eval(f"lambda x: x + {i}") for i in range(8)]
    left: list[Any] = []

    def work(g: Any) -> None:
        for _ in range(200):
            with table.scope():
                wg.non_differentiable(g, registry=table)
                if g not in table:
                    left.append(g)
            if g in table:
                left.append(g)

    threads = [threading.Thread(target=work, args=(g,)) for g in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not left and len(table) == 0
