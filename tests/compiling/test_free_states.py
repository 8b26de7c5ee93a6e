"""What tells two iterations of a loop apart, though the variables of the function do not, or do by chance."""

from __future__ import annotations

import contextlib
import sys
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import wengert as wg
from wengert.compiling.watched.loop_heads import Heads, LoopRun
from wengert.rewrite.loop_head import LoopHead

STACK: list[int] = []


class Holder:
    kept: ClassVar[list[int]] = []


class Asked:
    __slots__ = ("__dict__", "never")

    def __getattr__(self, name):
        self.asked = self.__dict__.get("asked", 0) + 1
        return self.asked


def _set(*items):
    return {*items}


def _tuple(*items):
    return items


def swaps(x, y, n):
    a, b = x, y
    while n > 1.0:
        a, b = b, a
        n = n * 0.5
    return a * 2.0 + b * b


def is_what_it_was_when_the_loop_ends(x, z, r):
    best, current = x, x
    while True:
        if current < 1.0:
            return best * z
        if current > 5.0:
            best = current * 2.0
        else:
            best = x
        current = current * r


def is_by_chance_another_variable(x, z, r):
    best, current, sign = x, x, 1.0 * r
    while True:
        if z < 1.0:
            return best * best
        if sign > 0.0:
            best, current = current, z * 0.7
        else:
            current = x
        z, sign = z * 0.9, sign * r


def one_and_true(x, z, r):
    found, sign = {1}, 1.0 * r
    while True:
        if z < 1.0:
            return x
        if sign > 0.0:
            x, found = x * (0.5 if next(iter(found)) is True else 0.7), {True}
        else:
            found = {1}
        z, sign = z * 0.8, sign * r


def order_of_a_set(x, z, r):
    found, sign = {8, 0}, 1.0 * r
    while True:
        if z < 1.0:
            return x
        if sign > 0.0:
            x, found = x * (0.5 if next(iter(found)) == 0 else 0.7), _set(0, 8)
        else:
            found = _set(8, 0)
        z, sign = z * 0.8, sign * r


def names_of_a_data_type(x, z, r):
    kind, sign = np.dtype([("a", float)]), 1.0 * r
    while True:
        if z < 1.0:
            return x
        if sign > 0.0:
            x, kind = x * (0.5 if kind.names == ("a",) else 0.7), np.dtype([("b", float)])
        else:
            kind = np.dtype([("a", float)])
        z, sign = z * 0.8, sign * r


def which_of_two_equal_tuples(x, z, r):
    old, new, sign = (0, 1), _tuple(0, 1), 1.0 * r
    while True:
        if z < 1.0:
            return x
        if sign > 0.0:
            x, new = x * (0.5 if new is old else 0.7), old
        else:
            new = _tuple(0, 1)
        z, sign = z * 0.8, sign * r


def which_of_two_equal_cells(x, z, r):
    def made():
        n = 0

        def add(k):
            nonlocal n
            n += k

        return add, lambda: n

    add, get, sign = made()[0], made()[1], 1.0 * r
    while True:
        if z < 1.0:
            return x
        if sign > 0.0:
            add(1)
            x = x * (0.5 if get() else 0.7)
            add(-1)
            add, get = made()
        else:
            add, get = made()[0], made()[1]
        z, sign = z * 0.8, sign * r


def list_that_is_emptied(x, z, r):
    while z > 1.0:
        STACK.append(0)
        z = z * r
    count = len(STACK)
    STACK.clear()
    return x * count


def list_of_a_class(x, z, r):
    holder = Holder()
    while z > 1.0:
        holder.kept.append(0)
        z = z * r
    count = len(holder.kept)
    holder.kept.clear()
    return x * count


def function_behind_a_ufunc(x, z, r):
    def counter():
        count = [0]

        def counted(_):
            count[0] += 1
            return count[0]

        return np.frompyfunc(counted, 1, 1)

    count = counter()
    while z > 1.0:
        count(1)
        z = z * r
    return x * count(1)


def length_of_a_comprehension(x, z, r):
    return x * len([0 for _ in range(12) if (z := z * r) > 1.0])


def generator(x, z, r):
    def steps(z):
        while z > 1.0:
            z = z * r
            yield 0

    return x * len(list(steps(z))) + len([*steps(z)]) + len([0 for _ in steps(z)])


def slot_that_is_asked_for(x, z, r):
    asked = Asked()
    while z > 1.0:
        z = z * r
    return x * asked.never


def odd(text: str) -> Any:
    """A program that sets `u` in a loop by an odd way to what v was, which is what u was in the first iteration."""
    space: dict[str, Any] = {"np": np, "contextlib": contextlib, "Holder": Holder}
    lines = "".join([f"        {line}\n" for line in text.splitlines()])
    exec(
        "def program(x, z, r):\n    u = v = x\n    f = True\n    while z > 1.0:\n        z = z * r\n        w = v\n"
        f"        v = 0.9 * v + 0.2 * u\n{lines}    return v * u + v\n",
        space,
    )
    return space["program"]


ODD = [odd(text) for text in (
    "u = w", "[u := w for _ in (0,)]", "for u in (w,): pass", "for u, f in ((w, f),): pass",
    "with contextlib.nullcontext(w) as u: pass",
    "try:\n    raise KeyError\nexcept KeyError:\n    u = w", "try:\n    pass\nfinally:\n    u = w",
    "def g():\n    nonlocal u\n    u = w\ng()", "match [w]:\n    case [u]: pass", "del u\nu = w", "u += w - u",
    "(u, f) = (w, f)", "if f:\n    u = w\nelse:\n    raise ValueError", "while True:\n    u = w\n    break",
)]  # fmt: skip


RATES = [(2.0, 1.81, 0.8), (2.0, 1.19, 0.97), (20.0, 7.0, 0.7), (6.0, 7.0, 0.15), (20.0, 20.0, 0.04), (3.0, 9.0, 0.6)]
SIGNS = [(2.0, 3.0, -1.0), (2.0, 3.0, -2.0), (2.0, 1.3, 1.0), (3.0, 5.0, -1.0), (2.0, 3.0, 1.0), (2.0, 3.0, 0.9)]
PROGRAMS = [
    (swaps, [(2.0, 3.0, n) for n in (20.0, 5.0, 9.0, 3.0, 40.0, 100.0)]), (is_what_it_was_when_the_loop_ends, RATES),
    (is_by_chance_another_variable, SIGNS), (one_and_true, SIGNS), (order_of_a_set, SIGNS),
    (names_of_a_data_type, SIGNS), (which_of_two_equal_tuples, SIGNS), (which_of_two_equal_cells, SIGNS),
    (list_that_is_emptied, RATES), (list_of_a_class, RATES), (function_behind_a_ufunc, RATES),
    (length_of_a_comprehension, RATES), (generator, RATES), (slot_that_is_asked_for, RATES),
    *[(program, [(0.7, z, 0.5) for z in (3.5, 12.0, 40.0, 2.5, 5.0, 1.9)]) for program in ODD],
]  # fmt: skip


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize(("program", "calls"), PROGRAMS, ids=lambda f: getattr(f, "__name__", ""))
def test_code_is_that_of_the_program_whatever_it_saw_first(program: Any, calls: Any, first: int) -> None:
    for derivative in (lambda f: f, wg.value_and_grad):
        plain = derivative(program)
        compiled = wg.compile(plain)
        for args in calls[first:] + calls[:first]:
            np.testing.assert_allclose(compiled(*args), plain(*args), rtol=1e-12, err_msg=str(args))


def test_a_loop_that_gives_only_what_was_before_it_has_no_derivative_to_keep() -> None:
    compiled = wg.compile(wg.grad(is_by_chance_another_variable))
    assert [compiled(*args) for args in ((20.0, 7.0, -1.0), (20.0, 6.0, 1.0))] == [40.0, 0.0]


def delayed(x, z, r):
    n = 2
    last = before = v = x
    while z > 1.0:
        z = z * r
        last = before
        before = v
        v = 0.9 * v
    return v * last * n


def test_a_variable_that_was_set_to_what_it_was_is_not_one_that_no_iteration_sets() -> None:
    """In two iterations `last` is x, by chance."""
    for plain in (delayed, wg.value_and_grad(delayed)):
        compiled = wg.compile(plain)
        for z in (3.0, 12.0, 40.0, 5.0):
            np.testing.assert_allclose(compiled(0.7, z, 0.5), plain(0.7, z, 0.5), rtol=1e-12)


def test_a_generator_whose_frame_has_the_address_of_an_earlier_one() -> None:
    """Its loop, whose items C code takes, is not taken for the loop of the earlier frame."""
    recording = SimpleNamespace(memory=SimpleNamespace(written_like=None))
    heads, frame = Heads(SimpleNamespace(draws={}, recording=recording)), sys._getframe()
    head = LoopHead(
        5, 5, 5, frozenset(), True, False, frozenset(), (), frozenset(), frozenset(), fills=-1, breaks=False
    )
    heads.loops[id(frame), head.number] = LoopRun(0, None), None
    heads.enter_loop(frame, head, [iter(())])
    assert not heads.loops
