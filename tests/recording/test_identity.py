"""Whether an argument is an object of the caller's: as untraced, in every derivative, with every way to ask."""

from __future__ import annotations

import copy
import functools
import math
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

DEFAULT = float("2.5")
NUMPY = np.float64(2.5)
ARRAY = np.array([2.0, 3.0])
SMALL = np.float32(2.5)
COMPLEX = complex(2.5, 1.0)
PAIR = (float("2.5"), 1.0)


class Settings:
    default = DEFAULT


GIVEN = {
    "float": (DEFAULT, float("2.5")),
    "np.float64": (NUMPY, np.float64(2.5)),
    "np.float32": (SMALL, np.float32(2.5)),
    "array": (ARRAY, ARRAY.copy()),
    "view": (ARRAY, ARRAY[:]),
    "nan": (math.nan, float("nan")),
    "np.nan": (np.nan, float("nan")),
}
SENTINELS = (DEFAULT, NUMPY, SMALL, ARRAY, math.nan, np.nan)

ASKED: dict[str, Callable[[Any, Any], bool]] = {
    "is": lambda x, y: x is y,
    "turned round": lambda x, y: y is x,
    "is not": lambda x, y: not (x is not y),
    "not is": lambda x, y: not x is not y,
    "operator.is_": lambda x, y: operator.is_(x, y),
    "operator.is_not": lambda x, y: not operator.is_not(y, x),
    "any": lambda x, y: any(x is each for each in (None, "a", y)),
    "in a helper": lambda x, y: _helper(x, y),
    "chained": lambda x, y: x is y is x,
    "as a value": lambda x, y: [x is y][0],
    "a lambda": lambda x, y: (lambda a: a is y)(x),
    "a partial": lambda x, y: functools.partial(operator.is_, y)(x),
}


def _helper(x: Any, y: Any) -> bool:
    if x is None or y is None or x is True or x is ...:
        return False
    return x is y


DERIVATIVES: dict[str, Callable[[Any, Any], Any]] = {
    "value_and_grad": lambda f, x: wg.value_and_grad(f)(x)[0],
    "at once": lambda f, x: wg.grad(f, x)[0],
    "vjp": lambda f, x: wg.vjp(f, x)[0],
    "trace": lambda f, x: wg.trace(f, x)[0],
    "gradtape": lambda f, x: (lambda tape: tape[tape.result].val[0])(wg.gradtape(f, x)),
    "nested": lambda f, x: wg.value_and_grad(lambda z: z * wg.value_and_grad(f)(x)[0])(1.0)[0],
    "twice": lambda f, x: wg.value_and_grad(lambda x: wg.value_and_grad(f)(x)[0])(x)[0],
    "beside another": lambda f, x: wg.value_and_grad(lambda y, x: f(x) * y, argnums=(0, 1))(1.0, x)[0],
    "in a list": lambda f, x: wg.value_and_grad(lambda p: f(p[0]))([x])[0],
    "in a tuple": lambda f, x: wg.value_and_grad(lambda p: f(p[0]["a"]))(({"a": x},))[0],
}


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("ask", ASKED)
@pytest.mark.parametrize("kind", GIVEN)
def test_an_argument_is_the_object_that_was_given(kind: str, ask: str, derivative: str) -> None:
    same, other = GIVEN[kind]
    asked = ASKED[ask]

    def f(x: Any) -> Any:
        return np.sum(x) * (2.0 if asked(x, same) else 3.0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wg.CacheWarning)  # the closure might be a cache's
        for x in (same, other):
            np.testing.assert_array_equal(DERIVATIVES[derivative](f, x), f(x))


def test_sentinels_are_no_caches() -> None:
    def of_module(x: Any) -> Any:
        return x * 2.0 if x is DEFAULT else x * 3.0

    def of_default(x: Any, default: Any = DEFAULT) -> Any:
        return x * 2.0 if x is default else x * 3.0

    def of_numpy(x: Any) -> Any:
        return x * 2.0 if x is np.nan else x * 3.0

    def of_closure(x: Any) -> Any:
        return x * 2.0 if x is sentinel else x * 3.0

    sentinel = DEFAULT
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for f in (of_module, of_default, of_closure):
            assert wg.grad(f)(DEFAULT) == 2.0
            assert wg.grad(f)(float("2.5")) == 3.0
        assert wg.grad(of_numpy)(np.nan) == 2.0
        assert wg.grad(of_numpy)(float("nan")) == 3.0


def test_the_same_argument_twice() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(x * y) if x is y else np.sum(x)

    for x in (DEFAULT, NUMPY, ARRAY):
        np.testing.assert_array_equal(wg.value_and_grad(f)(x, x)[0], f(x, x))
        np.testing.assert_array_equal(wg.value_and_grad(f, argnums=(0, 1))(x, x)[0], f(x, x))
        np.testing.assert_array_equal(wg.grad(f, x, x)[0], f(x, x))
        other = x.copy() if isinstance(x, np.ndarray) else type(x)(float(str(x)))
        np.testing.assert_array_equal(wg.value_and_grad(f, argnums=(0, 1))(x, other)[0], f(x, other))


def test_a_tuple_is_the_one_that_was_given() -> None:
    def f(p: Any) -> Any:
        return p[0] * 2.0 if p is PAIR else p[0] * 3.0

    assert wg.value_and_grad(f)(PAIR) == (5.0, (2.0, 0.0))
    assert wg.value_and_grad(f)((2.5, float("1"))) == (7.5, (3.0, 0.0))


@pytest.mark.parametrize("x", [np.ones(2), np.ones(4)[::2], np.ones((2, 2)).T, np.ones((2, 3), order="F")])
def test_flags_are_those_of_the_array_that_was_given(x: Any) -> None:
    names = ("owndata", "writeable", "c_contiguous", "f_contiguous", "aligned")

    def f(x: Any) -> Any:
        return np.sum(x) * sum([k for k, name in enumerate(names, 1) if getattr(x.flags, name)])

    for derivative in DERIVATIVES.values():
        assert derivative(f, x) == f(x)
    assert wg.value_and_grad(lambda x: np.sum(x) if x.flags["OWNDATA"] else 0.5 * np.sum(x))(x)[0] == (
        np.sum(x) if x.flags["OWNDATA"] else 0.5 * np.sum(x)
    )


def test_a_cache_by_identity_is_told() -> None:
    class Cached:
        last: Any = None

        def __call__(self, x: Any) -> Any:
            if x is not self.last:
                self.last, self.value = x, x**3
            return self.value

    f = Cached()
    f(DEFAULT)
    with pytest.warns(wg.CacheWarning):
        value, _ = wg.value_and_grad(lambda x: f(x) + x)(DEFAULT)
    assert value == f(DEFAULT) + DEFAULT
    assert wg.grad(lambda x: f(x) + x)(float("2.5")) == 3 * 2.5**2 + 1


def test_a_tape_that_took_an_argument_for_an_object_is_stale_on_others() -> None:
    def f(x: Any) -> Any:
        return x * 2.0 if x is DEFAULT else x * 3.0

    tape = wg.trace(f, DEFAULT)[1]
    assert tape.play() == tape.play(DEFAULT) == tape.compile()(DEFAULT) == 5.0
    for other in (3.5, float("2.5")):
        with pytest.raises(wg.StaleTapeError):
            tape.play(other)
    assert wg.trace(f, float("2.5"))[1].play(3.5) == 10.5


# What a call gives back of its arguments

FLOOR = 1.5


def _rule_gives_its_argument(x: Any) -> Any:
    return x if x > 2.0 else FLOOR


@wg.rrule(_rule_gives_its_argument)
def _its_rule(x: Any) -> Any:
    return _rule_gives_its_argument(x), lambda y_bar: 3.0 * y_bar


NUMBERS: dict[str, Callable[[Any, Any], bool]] = {
    "max": lambda a, b: max(a, b) is b,
    "max, turned round": lambda a, b: a is max(a, b),
    "max is not": lambda a, b: max(a, b) is not a,
    "min": lambda a, b: min(a, b) is a,
    "min of three": lambda a, b: min(a, b, b + 1.0) is b,
    "max of a list": lambda a, b: max([a, b, a]) is b,
    "max with a key": lambda a, b: max([a, b], key=lambda t: -t) is a,
    "max of a pair": lambda a, b: max((a, 1.0), (b, 2.0))[0] is b,
    "max of max": lambda a, b: max(max(a, b), a) is b,
    "max is min": lambda a, b: max(a, b) is min(b, a),
    "max with a number": lambda a, b: max(a, FLOOR) is a,
    "a number of max": lambda a, b: max(a, FLOOR) is FLOOR,
    "min with a number": lambda a, b: min(FLOOR, b) is b,
    "one of these": lambda a, b: any(max(a, b) is t for t in (None, a, 1.0)),
    "reduce": lambda a, b: functools.reduce(max, [a, b]) is a,
    "sorted": lambda a, b: sorted([b, a])[0] is a,
    "plus": lambda a, b: +a is a,
    "float": lambda a, b: float(a) is a,
    "abs": lambda a, b: abs(a) is a,
    "next": lambda a, b: next(iter([a])) is a,
    "conjugate": lambda a, b: a.conjugate() is a,
    "real": lambda a, b: a.real is a,
    "copied": lambda a, b: max(copy.copy(a) if type(a) is float else a, b) is a,
    "a rule": lambda a, b: _rule_gives_its_argument(a) is a,
    "a rule's constant": lambda a, b: _rule_gives_its_argument(a) is FLOOR,
    "a rule of max": lambda a, b: _rule_gives_its_argument(max(a, b)) is b,
}
ARRAYS: dict[str, Callable[[Any, Any], bool]] = {
    "conj": lambda a, b: np.conj(a) is a,
    "method conj": lambda a, b: a.conj() is b,
    "asarray": lambda a, b: np.asarray(a) is a,
    "ascontiguousarray": lambda a, b: np.ascontiguousarray(a) is a,
    "atleast_1d": lambda a, b: np.atleast_1d(a) is a,
    "astype": lambda a, b: a.astype(float, copy=False) is a,
    "squeeze": lambda a, b: np.squeeze(a) is a,
    "a view": lambda a, b: a[:] is a,
    "max with a key": lambda a, b: max([a, b], key=np.sum) is b,
    "out": lambda a, b: (lambda y: np.add(a, b, out=y) is y)(np.zeros(2)),
    "its flags": lambda a, b: bool(np.conj(a).flags.owndata),
}
CHOICES = [(name, ask, float("1.25"), float("2.5")) for name, ask in NUMBERS.items()]
CHOICES += [(f"{name} of NumPy's", ask, np.float64(1.25), np.float64(2.5)) for name, ask in NUMBERS.items()]
CHOICES += [(f"{name} of arrays", ask, np.array([1.0, 2.0]), np.array([3.0, 4.0])) for name, ask in ARRAYS.items()]


@pytest.mark.parametrize(("name", "ask", "a", "b"), CHOICES, ids=[name for name, *_ in CHOICES])
def test_a_result_that_is_an_argument_is_that_argument(name: str, ask: Any, a: Any, b: Any) -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(x * y) * (2.0 if ask(x, y) else 3.0)

    def of_made(x: Any, y: Any) -> Any:
        return f(1.0 * x, 1.0 * y)

    def checkpointed(x: Any, y: Any) -> Any:
        return wg.checkpoint(of_made)(x, y)

    for g in (f, of_made, checkpointed):
        value, gradients = wg.value_and_grad(g, argnums=(0, 1))(a, b)
        assert value == g(a, b)
        np.testing.assert_allclose(gradients[0], b * (value / np.sum(a * b)), rtol=1e-12)
        assert wg.value_and_grad(lambda z, g=g: z * wg.value_and_grad(g)(a, b)[0])(1.0)[0] == value


@pytest.mark.parametrize("form", ["play", "compile", "gradient"])
@pytest.mark.parametrize(("name", "ask", "a", "b"), CHOICES, ids=[name for name, *_ in CHOICES])
def test_a_tape_knows_which_argument_was_chosen(name: str, ask: Any, a: Any, b: Any, form: str) -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(x * y) * (2.0 if ask(x, y) else 3.0)

    if form == "gradient":
        tape = wg.gradtape(f, a, b)
        run = lambda *given: tape.play(*given)[0]
    else:
        tape = wg.trace(f, a, b)[1]
        run = tape.compile() if form == "compile" else tape.play
    assert run(a, b) == f(a, b)
    stale = 0
    for given in ((b, a), (a + 0.125, b), (a, b + 0.5), (a + 5.0, b), (a * 1.0, b * 1.0)):
        try:
            value = run(*given)
        except wg.StaleTapeError:
            stale += 1
        else:
            assert value == f(*given)
    assert stale < 5  # it is not stale for every other argument
