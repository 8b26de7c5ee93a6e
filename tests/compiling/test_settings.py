"""Each setting that a call may be made under: a compiled function gives, or raises, what the plain one does there."""

from __future__ import annotations

import contextlib
import contextvars
import decimal
import locale
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import special

import wengert as wg

VARIABLE = contextvars.ContextVar("VARIABLE", default=1)


@contextlib.contextmanager
def until(change: Callable[[], Any], back: Callable[[], Any]) -> Iterator[None]:
    change()
    try:
        yield
    finally:
        back()


@contextlib.contextmanager
def warning_of(action: Any, category: type[Warning] = Warning) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter(action, category)
        warnings.simplefilter("ignore", wg.NotCompiledWarning)
        yield


@contextlib.contextmanager
def one_more_rule() -> Iterator[None]:
    with wg.rules.scope():
        wg.rules.remove(np.float_power)
        wg.partials(np.float_power)(lambda y, p, q: (7.0, 7.0))
        yield


def digits(n: int) -> Any:
    before = sys.get_int_max_str_digits()
    return until(lambda: sys.set_int_max_str_digits(n), lambda: sys.set_int_max_str_digits(before))


def bound(value: int) -> Any:
    tokens: list[Any] = []
    return until(lambda: tokens.append(VARIABLE.set(value)), lambda: VARIABLE.reset(tokens.pop()))


def in_locale(name: str) -> Any:
    before = locale.setlocale(locale.LC_ALL)
    return until(lambda: locale.setlocale(locale.LC_ALL, name), lambda: locale.setlocale(locale.LC_ALL, before))


OURS: dict[str, Callable[[], Any]] = {
    "debug_nans": wg.debug_nans,
    "debug": wg.debug,
    "accumulation_options": lambda: wg.accumulation_options(add="plus", strategy="pass through"),
    "debug_callbacks": wg.debug_callbacks,
    "rules": wg.rules.scope,
}
SETTINGS: dict[str, Callable[[], Any]] = {
    **OURS,
    "a rule": one_more_rule,
    "errstate raise": lambda: np.errstate(all="raise"),
    "errstate ignore": lambda: np.errstate(all="ignore"),
    "special errstate": lambda: special.errstate(all="raise"),
    "warnings as errors": lambda: warning_of("error"),
    "warnings of a kind as errors": lambda: warning_of("error", UserWarning),
    "no warnings": lambda: warning_of("ignore"),
    "printed digits": lambda: np.printoptions(precision=1, legacy="1.13"),
    "digits of integers": lambda: digits(700),
    "decimal": lambda: decimal.localcontext(prec=2),
    "context variable": lambda: bound(3),
    "locale": lambda: in_locale("C.UTF-8"),
}


def warned(x: Any) -> Any:
    warnings.warn("a warning", UserWarning, stacklevel=2)
    return x[0] * 2.0


def caught(x: Any) -> Any:
    try:
        return np.sum(x / (x - 1.0))
    except FloatingPointError:
        return x[0] * 5.0


def caught_warning(x: Any) -> Any:
    try:
        return np.sum(x / (x - 1.0))
    except RuntimeWarning:
        return x[0] * 5.0


def printed(x: Any) -> Any:
    return x[0] * len(str(np.array([1.23456789, 2.0]))) + x[1] * len(repr(np.float64(1.5)))


def counted_digits(x: Any) -> Any:
    try:
        return x[0] * len(str(10**800))
    except ValueError:
        return x[1] * 3.0


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "a pole": lambda x: np.sum(1.0 / (x - 1.0)),
    "a root": lambda x: np.sum(np.sqrt(x - 1.0)),
    "a logarithm in a loop": lambda x: sum([np.log(a - 1.0) for a in x]),
    "a pole that is masked": lambda x: np.sum(np.where(x == 1.0, 0.0, 1.0 / (x - 1.0))),
    "a power": lambda x: np.sum(np.float_power(x, 2.0)),
    "a sum of several uses": lambda x: np.sum(x * x) + np.sum(x[:1]) * x[1],
    "a special function": lambda x: np.sum(special.loggamma(x - 1.0)),
    "a caught error": caught,
    "a caught warning": caught_warning,
    "an error in what the gradient drops": lambda x: x[1] * 2.0 + np.sum(np.exp(800.0 * x)[:0]) + np.sum(1.0 / x) * 0.0,
    "a warning": warned,
    "a printed array": printed,
    "printed in an f-string": lambda x: x[0] * len(f"{ARRAY} {ARRAY!r} {ARRAY[0]}"),
    "printed in containers": lambda x: x[0] * len(str([ARRAY])) + x[1] * len(repr({"a": ARRAY})),
    "printed by %": lambda x: x[0] * len("%s %r" % (ARRAY, ARRAY)),  # noqa: UP031
    "printed by format": lambda x: x[0] * len("{} {a}".format(ARRAY, a=ARRAY)),  # noqa: UP032
    "printed by NumPy": lambda x: x[0] * len(np.array2string(ARRAY)) + x[1] * len(np.array_repr(ARRAY)),
    "printed by a method": lambda x: x[0] * len(ARRAY.__str__()) + x[1] * len(ARRAY.__repr__()),
    "printed by map": lambda x: x[0] * len("".join(map(str, [ARRAY]))) + x[1] * len(next(map(repr, [ARRAY]))),
    "digits": counted_digits,
    "a context variable": lambda x: x[0] * VARIABLE.get(),
    "decimal": lambda x: x[0] * float(decimal.Decimal(1) / 3),
    "a number in the words of the place": lambda x: x[0] * len(f"{1234567:n}"),
}
ARRAY = np.array([1.23456789, 2.0])
POINT = np.array([1.0, 2.0])


def outcome(g: Any, x: Any) -> Any:
    try:
        return g(x)
    except Exception as error:
        return type(error)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, type) or isinstance(b, type):
        return a is b
    return np.allclose(a, b, 1e-12, equal_nan=True)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_compiled_call_follows_the_settings_around_it(name: str) -> None:
    failed = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for words, f in PROGRAMS.items():
            for first in (contextlib.nullcontext, SETTINGS[name]):
                g = wg.compile(wg.grad(f))
                for inside in (first, contextlib.nullcontext, SETTINGS[name], contextlib.nullcontext, SETTINGS[name]):
                    with inside():
                        expected, found = outcome(wg.grad(f), POINT), outcome(g, POINT)
                    if not same(expected, found):
                        failed.append((words, first is inside, expected, found))
    assert not failed


@pytest.mark.parametrize("name", ["errstate raise", "warnings as errors"])
def test_errors_of_calls_that_nobody_reads_are_raised(name: str) -> None:
    def f(x: Any) -> Any:
        np.exp(800.0 * x)
        return np.sum(x * x)

    g = wg.compile(wg.grad(f))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(g(POINT), 2.0 * POINT)
    with SETTINGS[name](), pytest.raises((FloatingPointError, RuntimeWarning), match="overflow"):
        g(POINT)


def test_every_setting_of_the_package_is_tried() -> None:
    """Each public name that makes a context manager without arguments is a setting."""
    found = {"rules"}
    for name in wg.__all__:
        with contextlib.suppress(Exception):
            found |= {name} if hasattr(getattr(wg, name)(), "__exit__") else set()
    assert found == {*OURS}


def test_what_changes_where_a_warning_is_shown_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    box = types.SimpleNamespace(scale=2.0)

    def f(x: Any) -> Any:
        before = box.scale * x
        np.log(0.0 * x)
        return before + box.scale * x

    compiled, x = wg.compile(f), np.array([1.0, 2.0])
    with warning_of("always"):
        monkeypatch.setattr(warnings, "showwarning", lambda *args, **kwargs: vars(box).update(scale=3.0))
        for _ in range(2):
            box.scale = 2.0
            np.testing.assert_array_equal(compiled(x), 5 * x)
