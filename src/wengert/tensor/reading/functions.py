"""Scalar functions as black boxes. Their derivatives come from the rules of `wengert.rules`, each a black box again.

So ∂f/∂x costs one call as f does, whatever its formula, and every order exists where the rule's body can be read.
"""

from __future__ import annotations

import builtins
import cmath
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from wengert.errors import TensorLanguageError
from wengert.rulebook.registry import rules
from wengert.rulebook.rule import Rule
from wengert.tensor.elementwise import Elementwise
from wengert.tensor.language.terms import Apply, BlackBox, Const, Expr, Var
from wengert.tensor.reading.rule_bodies import (
    Power,
    as_function,
    body_partials,
    partial_derivative,
    powered,
    substituted,
    times_folded,
)
from wengert.tensor.running.spelling import number_text
from wengert.values.callables import callable_name

Partial = Callable[..., Expr]

REMEMBERED = 2**10  # powers and derivatives, so that equal ones are one; they are few, but functions come and go


def larger_share(a: Any, b: Any) -> Any:
    """∂ max(a, b)/∂a; where both are equal, a half."""
    return 1.0 * (a > b) + 0.5 * (a == b)


def smaller_share(a: Any, b: Any) -> Any:
    """∂ min(a, b)/∂a; where both are equal, a half."""
    return 1.0 * (a < b) + 0.5 * (a == b)


def _nothing(*args: Expr) -> Expr:
    return Const(0)


_LARGER = BlackBox("larger", larger_share, (_nothing, _nothing))
_SMALLER = BlackBox("smaller", smaller_share, (_nothing, _nothing))


def _share(box: BlackBox) -> tuple[Partial, Partial]:
    return (lambda a, b: Apply(box, (a, b))), (lambda a, b: Apply(box, (b, a)))


def first_larger(a: Any, b: Any) -> Any:
    """Python's max of two numbers: the first, unless the second is larger."""
    return np.where(b > a, b, a)


def first_smaller(a: Any, b: Any) -> Any:
    """Python's min of two numbers: the first, unless the second is smaller."""
    return np.where(b < a, b, a)


_GIVEN: dict[Any, BlackBox] = {
    f: BlackBox(name, fn, _share(share))
    for f, name, fn, share in (
        (np.maximum, "max", np.maximum, _LARGER), (np.minimum, "min", np.minimum, _SMALLER),
        (np.fmax, "fmax", np.fmax, _LARGER), (np.fmin, "fmin", np.fmin, _SMALLER),
        (builtins.max, "max", first_larger, _LARGER), (builtins.min, "min", first_smaller, _SMALLER),
    )
} | {
    f: BlackBox(f.__name__, fn, (_nothing,))
    for f, fn in (
        (np.sign, np.sign), (np.floor, np.floor), (np.ceil, np.ceil), (np.trunc, np.trunc), (np.rint, np.rint),
        (np.round, np.rint),
    )
}  # fmt: skip

# of which NumPy has the same: what NumPy calls otherwise is named
_OTHERWISE = {"acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2", "acosh": "arccosh",
              "asinh": "arcsinh", "atanh": "arctanh", "pow": "power"}  # fmt: skip
_ALIKE = {
    *("cos", "sin", "tan", "cosh", "sinh", "tanh", "exp", "expm1", "log10", "log1p", "log2", "sqrt", "fabs", "fmod"),
    *("copysign", "degrees", "radians", "exp2", "cbrt", "nextafter", *_OTHERWISE),
}


def black_box(f: Any, count: int | None = None) -> BlackBox | None:
    """The black box of a scalar function that has a rule by its partials; None where it has no such rule.

    `count` is how many arguments it is called with, where that is fewer than it can take.
    """
    try:
        given = _GIVEN.get(f)
    except TypeError:  # not hashable: no function of ours
        return None
    if isinstance(f, Power):
        return _power(f)
    rule = rules.get(f) if given is None and callable(f) else None
    if rule is None or rule.kind != "partials" or rule.analysis is None or _is_complex(f):
        return given
    names, defaults = rule.analysis.names, rule.analysis.defaults
    fewest = sum(name not in defaults for name in names)
    count = min(max(len(names) if count is None else count, fewest), len(names))
    found = vars(rule).setdefault("black_boxes", {})  # with the rule they go
    key = (f, count)
    if key not in found:
        found[key] = _of_rule(rule, f, names[:count])
    return found[key]


def _is_complex(f: Any) -> bool:
    return getattr(f, "__module__", None) == cmath.__name__


def _elementwise(f: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The function itself, applied to arrays; a rule may be of several functions, which are not the same."""
    if isinstance(f, np.ufunc):
        return f
    name = getattr(f, "__name__", "")
    if getattr(math, name, None) is not f:
        return Elementwise(f, count)
    alike = name in _ALIKE or (name == "log" and count == 1)
    same = getattr(np, _OTHERWISE.get(name, name), None) if alike else None
    return same if isinstance(same, np.ufunc) else Elementwise(f, count, whole=False)


def _of_rule(rule: Rule, f: Any, names: tuple[str, ...]) -> BlackBox:
    """The black box of a function by its rule, whose body is read when a derivative is asked for."""
    params = tuple(f"x{m}" for m in range(len(names))) if len(names) > 1 else ("x",)
    read: list[list[Expr]] = []
    name = _short(rule.name)

    def partial(m: int) -> Partial:
        def of(*args: Expr) -> Expr:
            if not read:
                read.append(_partials(rule, box, params))
            return _called(f"{name}'{_place(m, params)}", params, read[0][m], args)

        return of

    box = BlackBox(name, _elementwise(f, len(names)), tuple(map(partial, range(len(params)))))
    return box


def _short(name: str) -> str:
    return {"reciprocal": "recip", "power": "pow", "absolute": "abs"}.get(name.strip("_"), name.strip("_"))


def _place(m: int, params: tuple[str, ...]) -> str:
    return "" if len(params) == 1 else "₀₁₂₃₄₅₆₇₈₉"[m]


def _partials(rule: Rule, box: BlackBox, params: tuple[str, ...]) -> list[Expr]:
    """The partials as expressions; as functions without derivative where the body says more than the language can."""
    y = Apply(box, tuple(map(Var, params)))
    found = body_partials(rule.body, y, params, black_box) if rule.body is not None else None
    return found or [_opaque(rule, box, m, params) for m in range(len(params))]


def _opaque(rule: Rule, of: BlackBox, m: int, params: tuple[str, ...]) -> Expr:
    body, name = rule.body, rule.name
    assert body is not None

    def fn(*args: Any) -> Any:
        results = body(of.fn(*args), *args)
        return results[m] if isinstance(results, tuple) else results

    def refused(*args: Expr) -> Expr:
        raise TensorLanguageError(
            f"the second derivative of {callable_name(rule.targets[0])} is not in the tensor language, as the body of "
            f"its rule ({rule.where}) is no plain scalar formula. Take wengert.grad of the undecorated function"
        )

    whole = Elementwise(fn, len(params))  # a rule of a function of math may itself be of single numbers
    box = BlackBox(f"{_short(name)}'{_place(m, params)}", whole, (refused,) * len(params))
    return Apply(box, tuple(map(Var, params)))


def _called(name: str, params: tuple[str, ...], e: Expr, args: tuple[Expr, ...]) -> Expr:
    """The value of `e` at these arguments, as at most one call of a black box."""
    free = isinstance(e, (Const, Var)) or (
        isinstance(e, Apply) and all(isinstance(a, (Const, Var)) for a in e.args)
    )  # fmt: skip
    if free:
        return substituted(e, dict(zip(params, args, strict=True)))
    return Apply(_derived_box(name, params, e), args)


@lru_cache(maxsize=REMEMBERED)
def _derived_box(name: str, params: tuple[str, ...], e: Expr) -> BlackBox:
    """The black box that computes `e`; its partials are derived in turn when they are asked for."""

    def partial(m: int) -> Partial:
        where = f"{name}'{_place(m, params)}"
        return lambda *args: _called(where, params, partial_derivative(e, params[m]), args)

    return BlackBox(name, as_function(name, params, e), tuple(map(partial, range(len(params)))))


@lru_cache(maxsize=REMEMBERED)
def _power(f: Power) -> BlackBox:
    """The black box x**c, with the partial c·x**(c-1)."""
    name = f"pow{f.exponent}"

    def partial(*args: Expr) -> Expr:
        formula = times_folded(Const(f.exponent), powered(Var("x"), f.exponent - 1, black_box))
        return _called(f"{name}'", ("x",), formula, args)

    return BlackBox(name, _function(f"lambda x: x ** {number_text(f.exponent)}"), (partial,))


def _function(text: str) -> Callable[..., Any]:
    """The function that a text defines, so that what compiles Python can compile it."""
    return eval(compile(text, "<power>", "eval"))


def reciprocal() -> BlackBox:
    """The black box 1/x."""
    box = black_box(np.reciprocal)
    assert box is not None
    return box
