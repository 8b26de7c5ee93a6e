"""Results of functions with rules: any tree of numbers and arrays, whatever objects it is made of, in every mode."""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from modes import MODES, F, declare

import wengert as wg


@pytest.fixture(autouse=True)
def scoped() -> Iterator[None]:
    with wg.rules.scope():
        yield


def squares_of_gradient(f: F) -> F:
    return lambda x: np.sum(wg.grad(f)(x) ** 2)


def differences(f: F, x: Any) -> Any:
    """∂f/∂x by central differences, extrapolated once (Richardson)."""

    def at(step: float, place: tuple[int, ...]) -> Any:
        moved = np.array(x, float)
        moved[place] += step
        return f(moved[()].item() if type(x) is float else moved)

    def slope(h: float, place: tuple[int, ...]) -> Any:
        return (at(h, place) - at(-h, place)) / (2 * h)

    found = np.zeros(np.shape(x))
    for place in np.ndindex(found.shape):
        found[place] = (4 * slope(1e-4, place) - slope(2e-4, place)) / 3
    return found


def assert_right(f: F, x: Any, modes: Any = MODES, known: Any = None) -> None:
    """Every mode gives what differences (or `known`) say, and so does the gradient of the gradient."""
    expected = differences(f, x) if known is None else known
    for mode in modes:
        np.testing.assert_allclose(MODES[mode](f, x), expected, rtol=1e-6, atol=1e-9, err_msg=mode)
    again = squares_of_gradient(f)
    np.testing.assert_allclose(wg.grad(again)(x), differences(again, x), rtol=1e-5, atol=1e-6)


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass
class Data:
    a: Any
    b: Any
    n: int = 3

    def total(self) -> Any:
        return self.a * self.b * self.n


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    a: Any
    b: Any


class Plain:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, [b]


class Items(list[Any]):
    scale = 2.0


# (what the function gives of 2x and 3x, how both are read from it)
TREES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any], tuple[Any, Any]]]] = {
    "list": (lambda a, b: [a, b], lambda t: (t[0], t[1])),
    "tuple": (lambda a, b: (a, b), lambda t: (t[0], t[1])),
    "unpacked": (lambda a, b: [a, [b]], lambda t: (lambda a, c: (a, *c))(*t)),
    "tuple with others": (lambda a, b: (a, 3, None, "text", b), lambda t: (t[0], t[4])),
    "dict": (lambda a, b: {"a": a, ("b", 1): b}, lambda t: (t["a"], t["b", 1])),
    "nested": (lambda a, b: {"u": [(a,), {"v": (b,)}]}, lambda t: (t["u"][0][0], t["u"][1]["v"][0])),
    "nested tuple": (lambda a, b: (a, (b, ())), lambda t: (t[0], t[1][0])),
    "empty beside": (lambda a, b: ([], [a, b], {}), lambda t: (t[1][0], t[1][1])),
    "named tuple": (Pair, lambda t: (t.a, t.b)),
    "named tuples": (lambda a, b: Pair(Pair(a, 1), [b]), lambda t: (t.a.a, t.b[0])),
    "dataclass": (Data, lambda t: (t.a, t.b)),
    "frozen": (Frozen, lambda t: (t.a, t.b)),
    "object": (Plain, lambda t: (t.a, t.b[0])),
    "object in a list": (lambda a, b: [Plain(a, b)], lambda t: (t[0].a, t[0].b[0])),
    "ordered": (lambda a, b: collections.OrderedDict(a=a, b=b), lambda t: (t["a"], t["b"])),
    "default": (lambda a, b: collections.defaultdict(list, a=a, b=[b]), lambda t: (t["a"], t["b"][0])),
    "of list": (lambda a, b: Items([a, b]), lambda t: (t[0] * t.scale / 2, t[1])),
    "iterated": (lambda a, b: {"a": a, "b": b}, lambda t: tuple(v for _, v in sorted(t.items()))),
}


def ruled(make: Callable[[Any, Any], Any], read: Callable[[Any], tuple[Any, Any]]) -> F:
    """A function with a rule that gives a tree of 2x and 3x."""

    def tree(x: Any) -> Any:
        return make(2 * x, 3 * x)

    @wg.rrule(tree)
    def tree_rule(x: Any) -> Any:
        def tree_pullback(y_bar: Any) -> Any:
            a_bar, b_bar = read(y_bar)
            return 2 * a_bar + 3 * b_bar

        return tree(x), tree_pullback

    return tree


@pytest.mark.parametrize("x", [1.5, np.array([0.5, 1.5])], ids=["float", "array"])
@pytest.mark.parametrize("name", TREES)
def test_each_leaf_of_a_result_is_a_variable(name: str, x: Any) -> None:
    make, read = TREES[name]
    tree = ruled(make, read)

    def both(x: Any) -> Any:
        a, b = read(tree(x))
        return np.sum(a * a * b)

    def one(x: Any) -> Any:  # what nothing uses has the cotangent zero
        return np.sum(read(tree(x))[1] ** 2 * x)

    assert_right(both, x)
    assert_right(one, x)
    assert type(tree(x)) is type(wg.vjp(tree, x)[0])


@pytest.mark.parametrize("of", [Plain, Data, Frozen])
@pytest.mark.parametrize("x", [1.5, np.array([0.5, 1.5])], ids=["float", "array"])
def test_a_class_may_have_a_rule(of: Any, x: Any) -> None:
    @wg.rrule(of)
    def rule(a: Any, b: Any) -> Any:
        return of(a, b), lambda y: (y.a, y.b[0] if type(y.b) is list else y.b)

    def f(x: Any) -> Any:
        made = of(x * x, 3 * x)
        assert type(made) is of
        return np.sum(made.a * (made.b[0] if type(made.b) is list else made.b))

    assert_right(f, x)


def test_an_object_that_holds_results_goes_on_like_any_other() -> None:
    make, read = TREES["dataclass"]
    data, items = ruled(make, read), ruled(*TREES["list"])

    def f(x: Any) -> Any:
        made = data(x)
        made.a = made.a * made.b  # assigned
        found = items(made.total())
        found.append(x)  # changed
        found[0] *= found.pop()
        return np.sum(found[0] + found[1])

    assert_right(f, 1.5)
    assert_right(f, np.array([0.5, 1.5]))


def test_a_result_is_given_on_to_other_rules() -> None:
    tree = ruled(*TREES["list"])

    def total(items: Any) -> Any:
        return items[0] * items[1]

    @wg.rrule(total)
    def total_rule(items: Any) -> Any:
        return total(items), lambda y_bar: ([y_bar * items[1], y_bar * items[0]],)

    def f(x: Any) -> Any:
        return total(tree(x)) * x

    assert_right(f, 1.5)


def test_one_array_in_two_places_is_two_variables() -> None:
    def twice(x: Any) -> Any:
        a = 2 * x
        return [a, a]

    wg.rrule(twice)(lambda x: (twice(x), lambda y: 2 * (y[0] + y[1])))
    assert_right(lambda x: np.sum(twice(x)[0] * twice(x)[1] ** 2), np.array([0.5, 1.5]))


def test_the_branch_by_what_stands_beside_the_numbers_is_guarded() -> None:
    def sized(x: Any) -> Any:
        return [2 * x] * (1 if x < 1 else 2), "small" if x < 1 else "large"

    wg.rrule(sized)(lambda x: (sized(x), lambda y: 2 * sum(y[0])))

    def f(x: Any) -> Any:
        numbers, word = sized(x)
        return sum(numbers) if word == "small" else numbers[0] * numbers[1]

    assert wg.grad(f)(0.5) == 2 and wg.grad(f)(3.0) == 24
    for play in (wg.gradtape(f, 0.5).play, wg.gradtape(f, 0.5).compile(), wg.trace(f, 0.5)[1].play):
        play(0.7)
        with pytest.raises(wg.StaleTapeError):
            play(3.0)


def _closure(x: Any) -> Any:
    return lambda: 2 * x


class _Holder:
    def __init__(self, x: Any) -> None:
        self.inside = {2 * x}


HIDDEN: dict[str, F] = {
    "set": lambda x: {2 * x},
    "frozenset": lambda x: [frozenset([2 * x])],
    "deque": lambda x: collections.deque([2 * x]),
    "generator": lambda x: (k * x for k in range(3)),
    "iterator": lambda x: iter([2 * x]),
    "map": lambda x: map(abs, [2 * x]),
    "closure": _closure,
    "partial": lambda x: functools.partial(max, 2 * x),
    "beside a number": lambda x: (2 * x, {3 * x}),
    "in an object": _Holder,
    "objects in an array": lambda x: np.array([2 * x, None]),
    "view of a dict": lambda x: {"a": 2 * x}.values(),
    "fraction": lambda x: Fraction(x),
    "decimal": lambda x: [Decimal(x)],
    "method": lambda x: [2 * x].index,
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", HIDDEN)
def test_floats_where_no_variable_can_stand_are_refused(name: str, mode: str) -> None:
    f = HIDDEN[name]
    wg.rrule(f)(lambda x: (f(x), lambda y_bar: 0.0))
    with pytest.raises(wg.WengertError, match=r"test_fresh_results\.py:\d+ in .* returned an? "):
        MODES[mode](lambda x: (f(x), x * x)[1], 1.5)


CONSTANT: dict[str, F] = {
    "None": lambda x: None,
    "int": lambda x: 3,
    "text": lambda x: "text",
    "integers": lambda x: np.array([1, 2]),
    "others": lambda x: ([1, None, {"a": "b"}], {1, 2}, np.int64, len),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CONSTANT)
def test_results_without_floats_are_constant(name: str, mode: str) -> None:
    f = CONSTANT[name]
    wg.rrule(f)(lambda x: (f(x), lambda y_bar: 0.0))
    assert MODES[mode](lambda x: (f(x), x * x * 3)[1], 1.5) == 9


@pytest.mark.parametrize("form", ["pullback", "partials"])
def test_rules_of_other_forms_give_several_values_in_tuples_only(form: str) -> None:
    def tree(x: Any) -> Any:
        return [2 * x, 3 * x]

    if form == "pullback":
        wg.vjp_rule(tree)(lambda y_bar, y, x: 2 * y_bar[0] + 3 * y_bar[1])
    else:
        wg.partials(tree)(lambda y, x: 5)
    with pytest.raises(wg.NoRuleError, match=r"tree returned a list, but its rule .* is not an @rrule"):
        wg.grad(lambda x: tree(x)[0])(1.5)


# What was there before: a variable is the result of one call, and all else that is the same object stays constant

ONE = 1.0
TWO = np.float64(2.0)
THREE = 3 + 0j
KEPT: dict[str, Any] = {}


class Attribute:
    value = 4.0


@functools.lru_cache
def _kept(name: str) -> float:
    return float(len(name))


# (what the function gives of x, where it comes from)
BEFORE: dict[str, tuple[F, Callable[[], Any]]] = {
    "global": (lambda x: ONE, lambda: ONE),
    "literal": (lambda x: 1.0 if x > 0 else 0.0, lambda: 1.0),
    "NumPy's": (lambda x: TWO, lambda: TWO),
    "complex": (lambda x: THREE, lambda: THREE),
    "attribute": (lambda x: Attribute.value, lambda: Attribute.value),
    "kept": (lambda x: _kept("abc"), lambda: _kept("abc")),
    "kept in a dictionary": (lambda x: KEPT.setdefault("a", 5.0), lambda: KEPT["a"]),
}


@pytest.mark.parametrize("form", ["rrule", "pullback", "partials"])
@pytest.mark.parametrize("name", BEFORE)
def test_a_number_that_was_there_before_stays_constant(name: str, form: str) -> None:
    def given(x: Any) -> Any:
        return BEFORE[name][0](x)

    declare(form, given, 7.0)
    there = BEFORE[name][1]

    def f(x: Any) -> Any:
        y = given(x)
        return np.real(y * x + there() * x + given(2 * x) * there())

    given(0.0)
    value = np.real(there())
    for mode, run in MODES.items():
        found = run(f, 1.5)
        assert found == pytest.approx(7 * 1.5 + value + value + 14 * value), mode


@pytest.mark.parametrize("form", ["rrule", "pullback", "partials"])
@pytest.mark.parametrize("x", [1.5, np.float64(1.5), np.array([0.5, 1.5])], ids=["float", "NumPy's", "array"])
@pytest.mark.parametrize("mode", MODES)
def test_a_function_may_give_its_argument(mode: str, x: Any, form: str) -> None:
    """Reversal of gradients: y = x, x̄ = -ȳ."""
    reverse = declare(form, lambda x: x, -1.0)

    def f(x: Any) -> Any:
        y = reverse(x)
        return np.sum(3 * reverse(y * x) + 2 * y + 10 * x)

    np.testing.assert_allclose(MODES[mode](f, x), 3 * (-x + x) - 2 + 10)


@pytest.mark.parametrize("mode", MODES)
def test_arrays_that_were_there_before_stay_constant(mode: str) -> None:
    table = np.array([2.0, 3.0])
    whole, part = declare("pullback", lambda x: table, 5.0), declare("rrule", lambda x: table[::-1], 7.0)
    x = np.array([0.5, 1.5])

    def f(x: Any) -> Any:
        return np.sum(whole(x) * x + part(x) * table + table * x + whole(x * x) * whole(x))

    t = table
    expected = t + 5 * x + 7 * t + t + t * 5 * 2 * x + t * 5
    np.testing.assert_allclose(MODES[mode](f, x), expected)
    assert table.tolist() == [2, 3]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("x", [1.5, np.float64(1.5), np.array(1.5), np.array([0.5, 1.5])], ids=repr)
def test_unary_plus_is_a_new_value(x: Any, mode: str) -> None:
    np.testing.assert_allclose(MODES[mode](lambda x: np.sum(+x * 3 + x * (+x) * +x), x), 3 + 3 * x * x)


@pytest.mark.parametrize("mode", MODES)
def test_what_python_calls_through_numpy_is_new_too(mode: str) -> None:
    one = np.frompyfunc(lambda x: ONE, 1, 1)
    declare("partials", one, 7.0)
    assert MODES[mode](lambda x: float(one(x)) * ONE + ONE * x, 1.5) == 8
    some = functools.partial(lambda a, x: ONE, 0)
    declare("pullback", some, 7.0)
    assert MODES[mode](lambda x: some(x) * ONE + ONE * x, 1.5) == 8


# Functions as users have them: of no module, objects, with attributes


NAMED: dict[str, Any] = {"None": None, "a number": 3, "another's": "numpy", "nobody's": "no.such.module"}


@pytest.mark.parametrize("form", ["rrule", "pullback", "partials"])
@pytest.mark.parametrize("module", NAMED)
def test_a_function_may_say_that_it_is_of_any_module(module: str, form: str) -> None:
    def square(x: Any) -> Any:
        return x * x

    square.__module__ = NAMED[module]
    if form == "rrule":
        wg.rrule(square)(lambda x: (square(x), lambda y_bar: y_bar * 2 * x))
    elif form == "pullback":
        wg.vjp_rule(square)(lambda y_bar, y, x: y_bar * 2 * x)
    else:
        wg.partials(square)(lambda y, x: 2 * x)
    for x in (1.5, np.array([0.5, 1.5])):
        for mode, run in MODES.items():
            np.testing.assert_allclose(run(lambda x: np.sum(square(x) * x), x), 3 * x * x, err_msg=mode)
    wg.test_rrule(square, 1.5)
    assert "square" in str(wg.rules[square]) and "square" in repr(wg.rules[square])
    text = wg.trace(lambda x: square(x) * x, 1.5)[1]
    assert "square" in str(text) and "def f" in text.to_source("f")
    wg.rules.remove(square)
    assert wg.grad(square)(1.5) == 3


def applied(f: Any, x: Any) -> Any:
    return (f[0] if isinstance(f, (list, tuple)) else f)(x)


def _attribute_of(p: Any) -> Any:
    def f(x: Any) -> Any:
        return f.k * x  # type: ignore[attr-defined]

    f.k = p  # type: ignore[attr-defined]
    return f


def _class_of(p: Any) -> Any:
    class Line:
        k = p

        def __call__(self, x: Any) -> Any:
            return self.k * x

    return Line()


def _default_of(p: Any) -> Any:
    return lambda x, k=p: k * x


class _Line:
    def __init__(self, k: Any) -> None:
        self.k = k

    def of(self, x: Any) -> Any:
        return self.k * x


HIDING: dict[str, F] = {
    "attribute": _attribute_of,
    "attribute in a list": lambda p: [_attribute_of(p)],
    "class": _class_of,
    "default": _default_of,
    "closure": lambda p: lambda x: p * x,
    "partial": lambda p: functools.partial(lambda k, x: k * x, p),
    "method": lambda p: _Line(p).of,
    "wrapped": lambda p: functools.wraps(_attribute_of(p))(lambda x: p * x),
}


@pytest.mark.parametrize("form", ["rrule", "pullback"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", HIDING)
def test_traced_values_that_an_argument_hides_from_a_rule_are_refused(name: str, mode: str, form: str) -> None:
    if form == "rrule":
        wg.rrule(applied)(lambda f, x: (applied(f, x), lambda y_bar: (None, y_bar)))
    else:
        wg.vjp_rule(applied)(lambda y_bar, y, f, x: (None, y_bar))
    with pytest.raises(wg.WengertError, match=r"test_fresh_results\.py:\d+ in "):
        MODES[mode](lambda p: applied(HIDING[name](p), 2 * p), 1.5)
    assert wg.grad(lambda p: applied(HIDING[name](3.0), 2 * p))(1.5) == 2
