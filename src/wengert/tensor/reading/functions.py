"""Scalar functions as black boxes. Their derivatives come from their rules, and are black boxes again.

So ∂f/∂x costs one call, as f does, whatever its formula. If the body of the rule can be read, all orders exist.
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
    multiply_folded,
    partial_derivative,
    power_of,
    substitute_variables,
)
from wengert.tensor.running.spelling import number_source
from wengert.values.callables import callable_name

Partial = Callable[..., Expr]

BOX_CACHE_SIZE = 2**10  # powers and derivatives: equal ones are the same box; bounded, since functions come and go


def larger_share(a: Any, b: Any) -> Any:
    """Return ∂max(a, b)/∂a: 1, 0, or a half at a tie."""
    return 1.0 * (a > b) + 0.5 * (a == b)


def smaller_share(a: Any, b: Any) -> Any:
    """Return ∂min(a, b)/∂a: 1, 0, or a half at a tie."""
    return 1.0 * (a < b) + 0.5 * (a == b)


def _zero_partial(*args: Expr) -> Expr:
    return Const(0)


_LARGER = BlackBox("larger", larger_share, (_zero_partial, _zero_partial))
_SMALLER = BlackBox("smaller", smaller_share, (_zero_partial, _zero_partial))


def _share_partials(box: BlackBox) -> tuple[Partial, Partial]:
    return (lambda a, b: Apply(box, (a, b))), (lambda a, b: Apply(box, (b, a)))


def first_larger(a: Any, b: Any) -> Any:
    """Return Python's max of two numbers: the first, unless the second is larger."""
    return np.where(b > a, b, a)


def first_smaller(a: Any, b: Any) -> Any:
    """Return Python's min of two numbers: the first, unless the second is smaller."""
    return np.where(b < a, b, a)


_BOXES: dict[Any, BlackBox] = {
    f: BlackBox(name, fn, _share_partials(share))
    for f, name, fn, share in (
        (np.maximum, "max", np.maximum, _LARGER), (np.minimum, "min", np.minimum, _SMALLER),
        (np.fmax, "fmax", np.fmax, _LARGER), (np.fmin, "fmin", np.fmin, _SMALLER),
        (builtins.max, "max", first_larger, _LARGER), (builtins.min, "min", first_smaller, _SMALLER),
    )
} | {
    f: BlackBox(f.__name__, fn, (_zero_partial,))
    for f, fn in (
        (np.sign, np.sign), (np.floor, np.floor), (np.ceil, np.ceil), (np.trunc, np.trunc), (np.rint, np.rint),
        (np.round, np.rint),
    )
}  # fmt: skip

# functions of math under their name in NumPy, where that is another
_NUMPY_NAMES = {"acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2", "acosh": "arccosh",
              "asinh": "arcsinh", "atanh": "arctanh", "pow": "power"}  # fmt: skip
_SAME_IN_NUMPY = {
    *("cos", "sin", "tan", "cosh", "sinh", "tanh", "exp", "expm1", "log10", "log1p", "log2", "sqrt", "fabs", "fmod"),
    *("copysign", "degrees", "radians", "exp2", "cbrt", "nextafter", *_NUMPY_NAMES),
}


def black_box(f: Any, count: int | None = None) -> BlackBox | None:
    """Return the black box of a scalar function with a rule of partials; None if it has no such rule.

    `count` is the number of arguments in a call, by default all that it can take.
    """
    try:
        known = _BOXES.get(f)
    except TypeError:  # not hashable, so that no table has it
        return None
    if isinstance(f, Power):
        return _power_box(f)
    rule = rules.get(f) if known is None and callable(f) else None
    if rule is None or rule.kind != "partials" or rule.analysis is None or _is_complex(f):
        return known
    names, defaults = rule.analysis.names, rule.analysis.defaults
    fewest = sum(name not in defaults for name in names)
    count = min(max(len(names) if count is None else count, fewest), len(names))
    found = vars(rule).setdefault("black_boxes", {})  # freed with the rule
    key = (f, count)
    if key not in found:
        found[key] = _box_of_rule(rule, f, names[:count])
    return found[key]


def _is_complex(f: Any) -> bool:
    return getattr(f, "__module__", None) == cmath.__name__


def _elementwise_function(f: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return f as an elementwise function of arrays. It must be f itself: one rule can serve several functions."""
    if isinstance(f, np.ufunc):
        return f
    name = getattr(f, "__name__", "")
    if getattr(math, name, None) is not f:
        return Elementwise(f, count)
    alike = name in _SAME_IN_NUMPY or (name == "log" and count == 1)
    ufunc = getattr(np, _NUMPY_NAMES.get(name, name), None) if alike else None
    return ufunc if isinstance(ufunc, np.ufunc) else Elementwise(f, count, whole=False)


def _box_of_rule(rule: Rule, f: Any, names: tuple[str, ...]) -> BlackBox:
    """Return the black box of a function by its rule, whose body is read when a derivative is first needed."""
    params = tuple(f"x{m}" for m in range(len(names))) if len(names) > 1 else ("x",)
    read: list[list[Expr]] = []
    name = _short_rule_name(rule.name)

    def partial(m: int) -> Partial:
        def of(*args: Expr) -> Expr:
            if not read:
                read.append(_partials(rule, box, params))
            return _apply_box(f"{name}'{_argument_suffix(m, params)}", params, read[0][m], args)

        return of

    box = BlackBox(name, _elementwise_function(f, len(names)), tuple(map(partial, range(len(params)))))
    return box


def _short_rule_name(name: str) -> str:
    return {"reciprocal": "recip", "power": "pow", "absolute": "abs"}.get(name.strip("_"), name.strip("_"))


def _argument_suffix(m: int, params: tuple[str, ...]) -> str:
    return "" if len(params) == 1 else "₀₁₂₃₄₅₆₇₈₉"[m]


def _partials(rule: Rule, box: BlackBox, params: tuple[str, ...]) -> list[Expr]:
    """Return a rule's partials as expressions; if its body cannot be read, as black boxes without derivative."""
    y = Apply(box, tuple(map(Var, params)))
    found = body_partials(rule.body, y, params, black_box) if rule.body is not None else None
    return found or [_opaque_partial(rule, box, m, params) for m in range(len(params))]


def _opaque_partial(rule: Rule, of: BlackBox, m: int, params: tuple[str, ...]) -> Expr:
    body, name = rule.body, rule.name
    assert body is not None

    def fn(*args: Any) -> Any:
        results = body(of.fn(*args), *args)
        return results[m] if isinstance(results, tuple) else results

    def refused(*args: Expr) -> Expr:
        raise TensorLanguageError(
            f"the tensor language has no second derivative of {callable_name(rule.targets[0])}: the body of its rule "
            f"({rule.where}) is not a plain scalar formula. Use wengert.grad of the undecorated function"
        )

    whole = Elementwise(fn, len(params))  # the rule of a function of math may itself take single numbers only
    box = BlackBox(f"{_short_rule_name(name)}'{_argument_suffix(m, params)}", whole, (refused,) * len(params))
    return Apply(box, tuple(map(Var, params)))


def _apply_box(name: str, params: tuple[str, ...], e: Expr, args: tuple[Expr, ...]) -> Expr:
    """Return `e` at these arguments, as at most one call of a black box."""
    is_at_most_one_call = isinstance(e, (Const, Var)) or (
        isinstance(e, Apply) and all(isinstance(a, (Const, Var)) for a in e.args)
    )  # fmt: skip
    if is_at_most_one_call:
        return substitute_variables(e, dict(zip(params, args, strict=True)))
    return Apply(_derived_box(name, params, e), args)


@lru_cache(maxsize=BOX_CACHE_SIZE)
def _derived_box(name: str, params: tuple[str, ...], e: Expr) -> BlackBox:
    """Return the black box that computes `e`; its partials are derived when they are first needed."""

    def partial(m: int) -> Partial:
        where = f"{name}'{_argument_suffix(m, params)}"
        return lambda *args: _apply_box(where, params, partial_derivative(e, params[m]), args)

    return BlackBox(name, as_function(name, params, e), tuple(map(partial, range(len(params)))))


@lru_cache(maxsize=BOX_CACHE_SIZE)
def _power_box(f: Power) -> BlackBox:
    """Return the black box x**c, with the partial c·x**(c-1)."""
    name = f"pow{f.exponent}"

    def partial(*args: Expr) -> Expr:
        formula = multiply_folded(Const(f.exponent), power_of(Var("x"), f.exponent - 1, black_box))
        return _apply_box(f"{name}'", ("x",), formula, args)

    return BlackBox(name, _compiled_lambda(f"lambda x: x ** {number_source(f.exponent)}"), (partial,))


def _compiled_lambda(text: str) -> Callable[..., Any]:
    """Define a lambda from its source, with the exponent as a literal, so that numba can compile it."""
    return eval(compile(text, "<power>", "eval"))


def known_black_box(f: Any) -> BlackBox:
    """Return the black box of a function that has one."""
    box = black_box(f)
    assert box is not None
    return box
