"""Warnings under a derivative: those of the plain run, at the user's lines, as often, by the user's filters."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

import wengert as wg

X = np.array([0.0, -1.0, 2.0])


def divided(x):
    return np.sum(1.0 / x)


def logarithm(x):
    return np.sum(np.log(x))


def overflow(x):
    y = np.exp(1e3 * x)
    return np.sum(y)


def in_place(x):
    z = x.copy()
    z /= x
    return np.sum(z)


def into(x):
    z = x.copy()
    np.divide(x, x, out=z)
    return np.sum(z)


def real_part(x):
    return np.sum((x + 0j).astype(float))


def decided(x):
    return np.sum(x) if np.any(1 / x > 3) else np.sum(2 * x)


def chosen(x):
    return np.sum(x[x / x > 3])


def both(x):
    return np.sum(np.where(x > 0, np.sqrt(x), 0.0))


def empty(x):
    return np.sum(x) + np.mean(x[:0])


def deviation(x):
    return np.sum(x) + np.std(x[:1], ddof=1)


def reduced(x):
    return np.multiply.reduce(1e200 * np.abs(x + 3.0)) + x[0]


def norm(x):
    return np.linalg.norm(x / x)


def scalar(x):
    return x[2] + x[0] / x[0]


def caught(x):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        y = 1.0 / x
    return np.sum(y) + len(told) * x[2]


def silenced(x):
    with np.errstate(all="ignore"):
        return np.sum(1.0 / x)


def hidden(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.sum(1.0 / x)


def repeated(x):
    for _ in range(3):
        y = 1.0 / x
    return np.sum(y)


def own(x):
    warnings.warn("mine", stacklevel=1)
    return np.sum(x)


def helper(x):
    warnings.warn("the caller's", DeprecationWarning, stacklevel=2)
    return x


def of_caller(x):
    return np.sum(helper(2 * x))


def from_callback(x):
    return sum(map(lambda v: helper(v * 2), x))  # noqa: C417


def singular(x):
    return np.sum(scipy.linalg.solve(np.diag([1.0, 1e-18]) + 0 * x[0], x[:2]))


def integral(x):
    return scipy.integrate.quad(lambda t: np.cos(300 * t) * x[2], 0.0, 3.0, limit=1)[0]


def of_numpy(x):
    return np.sum(np.linalg.lstsq(np.eye(3), x)[0]) + np.average(x / x)


FUNCTIONS = [
    divided, logarithm, overflow, in_place, into, real_part, decided, chosen, both, empty, deviation, reduced, norm,
    scalar, caught, silenced, hidden, repeated, own, of_caller, from_callback, singular, integral, of_numpy,
]  # fmt: skip


def compiled_twice(f: Callable[..., Any]) -> Any:
    g = wg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        g(X)
    return g(X)


MODES = {
    "grad": lambda f: wg.grad(f)(X),
    "jvp": lambda f: wg.jvp(f, (X,), (np.ones(3),)),
    "trace": lambda f: wg.trace(f, X),
    "compile": lambda f: wg.compile(f)(X),
    "compiled before": compiled_twice,
    "checkpoint": lambda f: wg.grad(wg.checkpoint(f))(X),
    "hessian": lambda f: wg.hessian(f)(X),
    "vjp": lambda f: wg.vjp(f, X)[1](1.0),
}


def told(go: Callable[[], Any], action: str) -> tuple[Counter[Any], str]:
    """The warnings that a call gives, each with its line, and the exception that it raises."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter(action)
        try:
            go()
            error = ""
        except Warning as raised:
            error = repr(raised)
    return Counter((w.category, w.filename, w.lineno, str(w.message)) for w in found), error


@pytest.mark.parametrize("action", ["always", "default", "once", "module", "error"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_warnings_of_the_plain_run_are_given_at_its_lines(f: Any, action: str) -> None:
    wrong = []
    plain, error = told(lambda: f(X.copy()), action)
    for mode, go in MODES.items():
        got, raised = told(lambda go=go: go(f), action)
        lines = {line for _, _, line in f.__code__.co_lines()}
        own = got - plain
        missing = plain.keys() - got.keys() if mode == "compiled before" else plain - got  # that computes once
        right = (not missing and raised == error) or (action == "error" and not error)
        if not right or any(not issubclass(w[0], RuntimeWarning | wg.WengertWarning) for w in own):
            wrong.append(f"{mode}: {[*got]} {raised}, plainly {[*plain]} {error}")
        if any(w[1] == __file__ and w[2] not in lines for w in own if w[0] is RuntimeWarning):
            wrong.append(f"{mode}: {own}")
    assert not wrong, "\n".join(wrong)


def test_warnings_of_ours_have_one_base_and_the_users_line() -> None:
    with pytest.warns(wg.NoPathWarning) as found:
        wg.grad(lambda x: 1.0)(X)
    assert found[0].filename == __file__
    kinds = [kind for kind in vars(wg).values() if isinstance(kind, type) and issubclass(kind, Warning)]
    assert len(kinds) > 6 and all(issubclass(kind, wg.WengertWarning) for kind in kinds)
    assert issubclass(wg.WengertWarning, UserWarning)


def test_a_filter_of_the_users_module_decides() -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", module=__name__)
        with pytest.raises(RuntimeWarning):
            wg.grad(divided)(X)
        warnings.filterwarnings("ignore", module=__name__)
        wg.grad(divided)(X)


def test_each_line_of_a_loop_is_told_once_by_default() -> None:
    """The registry of the user's module remembers, and none of ours."""

    def two(x: Any) -> Any:
        y = 1.0 / x
        z = 1.0 / x
        return np.sum(y + z)

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            wg.grad(two)(X)
    assert len({w.lineno for w in found}) == 2
    assert len({(w.lineno, str(w.message)) for w in found}) == len(found)
