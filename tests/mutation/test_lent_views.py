"""Rules whose functions give memory that stood there before, and writes to it: right, or refused where it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from modes import MODES, declare

import wengert as wg

X = np.array([0.5, 1.5, 2.5])
FORMS = ["rrule", "pullback", "partials"]


@pytest.fixture(autouse=True)
def scoped() -> Iterator[None]:
    with wg.rules.scope():
        yield


def reversal(form: str) -> Callable[[Any], Any]:
    """y = x, the very same array; x̄ = -ȳ."""
    return declare(form, lambda x: x, -1.0)


def stored(rev: Any, x: Any) -> Any:
    y = x * 1.0
    y[:] = rev(y)
    return np.sum(y * x)  # y counts -1


def stored_in_a_part(rev: Any, x: Any) -> Any:
    y = x * 1.0
    y[1:] = rev(y[1:])
    return np.sum(y * x)


def stored_and_kept(rev: Any, x: Any) -> Any:
    y = x * 1.0
    r = rev(y)
    y[...] = r
    return np.sum(r * y)


def added(rev: Any, x: Any) -> Any:
    y = x * 1.0
    y += rev(y)
    return np.sum(y * x)


def changed_as_a_whole(rev: Any, x: Any) -> Any:
    y = rev(x * 1.0)
    y *= 3.0
    return np.sum(y * x)


def changed_when_gone(rev: Any, x: Any) -> Any:
    y = x * 1.0
    total = np.sum(rev(y) * x)
    y[0] = 2.0
    return total + np.sum(y * x)


def only_read(rev: Any, x: Any) -> Any:
    y = x * 1.0
    r = rev(y)
    return np.sum(r * y * x + r[::-1])


RIGHT: dict[str, tuple[Any, Any]] = {
    "stored": (stored, X - X),
    "stored in a part": (stored_in_a_part, X + [X[0], -X[1], -X[2]]),
    "stored and kept": (stored_and_kept, -2 * X),
    "added": (added, 2 * X + 0 * X),
    "changed as a whole": (changed_as_a_whole, 3 * X - 3 * X),
    "changed when gone": (changed_when_gone, (X - X) + [2.0, *(2 * X[1:])]),
    "only read": (only_read, X * X + X * X - X * X - 1),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", RIGHT)
def test_what_a_view_shows_keeps_the_derivative_of_the_rule(name: str, mode: str, form: str) -> None:
    program, expected = RIGHT[name]
    rev = reversal(form)
    np.testing.assert_allclose(MODES[mode](lambda x: program(rev, x), X), expected, rtol=1e-12, atol=1e-12)


def other_place(rev: Any, x: Any) -> Any:
    y = x * 1.0
    r = rev(y)
    y[0] = 5.0
    return np.sum(r)


def through_the_view(rev: Any, x: Any) -> Any:
    r = rev(x * 1.0)
    r[0] = 5.0
    return np.sum(r)


def part_of_the_view(rev: Any, x: Any) -> Any:
    y = x * 1.0
    r = rev(y)[1:]
    y[0] = 5.0
    return np.sum(r)


def part_by_a_call(rev: Any, x: Any) -> Any:
    y = x * 1.0
    r = np.reshape(rev(y), (3, 1))
    y[2] = x[0]
    return np.sum(r)


def masked(rev: Any, x: Any) -> Any:
    y = x * 1.0
    r = rev(y)
    y[y > 1] = 0.0
    return np.sum(r)


def in_a_loop(rev: Any, x: Any) -> Any:
    y = x * 1.0
    r = rev(y)
    for k in range(3):
        y[k] = y[k] * 2
    return np.sum(r)


def sorted_in_place(rev: Any, x: Any) -> Any:
    y = x[::-1] * 1.0
    r = rev(y)
    y[1:].sort()
    return np.sum(r)


WRITTEN = [other_place, through_the_view, part_of_the_view, part_by_a_call, masked, in_a_loop, sorted_in_place]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", sorted(MODES.keys() - {"with a context"}))  # there the function gives a copy
@pytest.mark.parametrize("program", WRITTEN, ids=lambda f: f.__name__)
def test_a_view_that_was_partly_overwritten_is_refused(program: Any, mode: str, form: str) -> None:
    rev = reversal(form)
    with pytest.raises(wg.RefusedCallError, match=r"test_lent_views\.py:\d+ in .*reads a view that a function"):
        MODES[mode](lambda x: program(rev, x), X)


CONSTANTS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "itself": lambda x: (x, lambda y: y),
    "list": lambda x: ([x], lambda y: y[0]),
    "tuple": lambda x: ((x, 1), lambda y: y[0]),
    "nested": lambda x: ({"a": (x, [x])}, lambda y: y["a"][1][0]),
}


class Held:
    def __init__(self, x: Any) -> None:
        self.x = x


CONSTANTS["object"] = lambda x: (Held(x), lambda y: y.x)
CONSTANTS["view"] = lambda x: (x[:] if np.ndim(x) else x, lambda y: y)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CONSTANTS)
@pytest.mark.parametrize("x", [1.5, np.float64(1.5), X], ids=["float", "NumPy's", "array"])
def test_what_is_declared_constant_gives_constants(x: Any, name: str, mode: str) -> None:
    @wg.non_differentiable
    def constant(x: Any) -> Any:
        return CONSTANTS[name](x)[0]

    def f(x: Any) -> Any:
        y = CONSTANTS[name](0.0)[1](constant(x))
        z = CONSTANTS[name](0.0)[1](constant(x * 2.0))
        return np.sum(y * x + z * x)

    np.testing.assert_allclose(MODES[mode](f, x), 3 * x)


@pytest.mark.parametrize("mode", MODES)
def test_a_constant_of_written_memory_stays_constant(mode: str) -> None:
    @wg.non_differentiable
    def constant(x: Any) -> Any:
        return [x[1:]]

    def f(x: Any) -> Any:
        y = x * 1.0
        y[0] = x[1]
        return np.sum(constant(y)[0] * x[1:] ** 2)

    np.testing.assert_allclose(MODES[mode](f, X), [0, *(2 * X[1:] ** 2)])


@pytest.mark.parametrize("mode", sorted(MODES.keys() - {"with a context"}))
def test_constants_with_traced_values_out_of_sight_are_refused(mode: str) -> None:
    @wg.non_differentiable
    def constant(x: Any) -> Any:
        return 1, lambda: x

    with pytest.raises(
        wg.WengertError, match=r"constant, which is declared constant, returned a function|returned a tuple"
    ):
        MODES[mode](lambda x: constant(x)[1]() * x, 1.5)


def test_a_large_constant_is_given_as_it_is() -> None:
    made = [(k, [k]) for k in range(20_000)]
    constant = wg.non_differentiable(lambda x: made)
    assert wg.grad(lambda x: x * x * len(constant(x)))(1.5) == 3 * 20_000
    seen = []
    wg.grad(lambda x: (seen.append(constant(x)), x)[1])(1.5)
    assert seen[0] is made


# Writes that nothing sees: a workspace that a function gives again and again, an argument that it writes


def doubling(form: str, space: Any = None) -> Callable[[Any], Any]:
    """y = 2x, always in the same memory."""
    space = np.zeros(3) if space is None else space

    def double(x: Any) -> Any:
        np.multiply(x, 2.0, out=space)
        return space

    return declare(form, double, 2.0)


def each_summed(double: Any, x: Any) -> Any:
    return np.sum(double(x) * 3) + np.sum(double(x * x) * 3)


def each_squared(double: Any, x: Any) -> Any:
    total = np.sum(double(x) ** 2)
    return total + np.sum(double(x * x) ** 2)


def one_into_the_next(double: Any, x: Any) -> Any:
    for _ in range(3):
        x = double(x) * x
    return np.sum(x)


def changed_in_between(double: Any, x: Any) -> Any:
    y = double(x)
    y *= x
    total = np.sum(y * y)
    return total + np.sum(double(x * x) ** 2)


def with_constants_in_between(double: Any, x: Any) -> Any:
    y = double(x)
    total = np.sum(y * y)
    double(np.ones(3))
    return total


IN_TURN = {
    "each summed": (each_summed, 6 + 12 * X),
    "each squared": (each_squared, 8 * X + 16 * X**3),
    "one into the next": (one_into_the_next, 8 * 2**7 * X**7),
    "changed in between": (changed_in_between, 16 * X**3 + 16 * X**3),
    "with constants in between": (with_constants_in_between, 8 * X),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", IN_TURN)
def test_a_workspace_used_in_turn_is_right_or_refused(name: str, mode: str, form: str) -> None:
    program, expected = IN_TURN[name]
    double = doubling(form)
    if mode in ("grad", "vjp"):
        found = MODES[mode](lambda x: program(double, x), X)
    else:
        try:
            found = MODES[mode](lambda x: program(double, x), X)
        except wg.RefusedCallError:
            return
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def both_at_once(double: Any, x: Any) -> Any:
    return np.sum(double(x) * double(x * x))


def the_first_after_the_second(double: Any, x: Any) -> Any:
    first = double(x)
    double(x * x)
    return np.sum(first)


def a_part_of_the_first(double: Any, x: Any) -> Any:
    first = double(x)[1:]
    double(x * x)
    return np.sum(first * first)


OVERWRITTEN = [both_at_once, the_first_after_the_second, a_part_of_the_first]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", sorted(MODES.keys() - {"with a context"}))
@pytest.mark.parametrize("program", OVERWRITTEN, ids=lambda f: f.__name__)
def test_a_result_that_gave_way_to_the_next_is_refused(program: Any, mode: str, form: str) -> None:
    for space in (np.zeros(3), np.zeros(5)[1:4]):
        double = doubling(form, space)
        with pytest.raises(wg.RefusedCallError, match=r"(test_\w+|modes)\.py:\d+ in .*(reads a view|overwrote)"):
            MODES[mode](lambda x, double=double: program(double, x), X)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", sorted(MODES.keys() - {"with a context"}))
def test_a_function_with_a_rule_that_writes_its_argument_is_refused(mode: str, form: str) -> None:
    def scale(x: Any) -> Any:
        x *= 2.0
        return np.sum(x)

    declare(form, scale, 2.0)
    with pytest.raises(wg.RefusedCallError, match=r"(test_\w+|modes)\.py:\d+ in .*scale wrote into its argument"):
        MODES[mode](lambda x: scale(x * 1.0) + np.sum(x), X)
    with pytest.raises(wg.GradientCheckError):
        wg.test_rrule(scale, X.copy())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", ["grad", "vjp", "checkpoint"])
def test_a_function_with_a_rule_may_write_what_no_derivative_passes(mode: str, form: str) -> None:
    """Memory to work in, that another residual shows: the reverse pass finds it as it was."""

    def double(x: Any, work: Any) -> Any:
        work[...] = 2.0 * x
        return work.copy()

    if form == "rrule":
        wg.rrule(double)(lambda x, work: (double(x, work), lambda y_bar: (2 * y_bar, None)))
    elif form == "pullback":
        wg.vjp_rule(double)(lambda y_bar, y, x, work: (2 * y_bar, None))
    else:
        wg.partials(double)(lambda y, x, work: (2.0, None))

    def f(x: Any) -> Any:
        work = np.ones(3)
        total = np.sum(x * work)
        return total + np.sum(double(x, work))

    def reads(x: Any) -> Any:
        work = np.ones(3)
        return np.sum(double(x, work)) + np.sum(x * work)

    np.testing.assert_allclose(MODES[mode](f, X), np.full(3, 1.0 + 2.0))
    with pytest.raises(wg.RefusedCallError, match="wrote into its argument"):
        MODES[mode](reads, X)
