"""Scalar functions as black boxes. Their derivatives come from the rules of `wengert.rules`, each a black box again.

So ∂f/∂x costs one call as f does, whatever its formula, and every order exists where the rule's body can be read.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.binding import Rule
from wengert.callables import callable_name
from wengert.errors import TensorLanguageError
from wengert.registry import rules
from wengert.tensor.rule_bodies import Power, as_function, body_partials, derivative, raised, substituted, times
from wengert.tensor.terms import Apply, BlackBox, Const, Expr, Var

Partial = Callable[..., Expr]

_found: dict[tuple[str, str], BlackBox] = {}
_powers: dict[Power, BlackBox] = {}
_derived: dict[tuple[str, tuple[str, ...], Expr], BlackBox] = {}


def larger_share(a: Any, b: Any) -> Any:
    """∂ max(a, b)/∂a; ties share equally."""
    return 1.0 * (a > b) + 0.5 * (a == b)


def smaller_share(a: Any, b: Any) -> Any:
    """∂ min(a, b)/∂a; ties share equally."""
    return 1.0 * (a < b) + 0.5 * (a == b)


def _nothing(*args: Expr) -> Expr:
    return Const(0)


_LARGER = BlackBox("larger", larger_share, (_nothing, _nothing))
_SMALLER = BlackBox("smaller", smaller_share, (_nothing, _nothing))


def _share(box: BlackBox) -> tuple[Partial, Partial]:
    return (lambda a, b: Apply(box, (a, b))), (lambda a, b: Apply(box, (b, a)))


_MAXIMUM = BlackBox("max", np.maximum, _share(_LARGER))
_MINIMUM = BlackBox("min", np.minimum, _share(_SMALLER))
_SIGN = BlackBox("sign", np.sign, (_nothing,))

_GIVEN: dict[Any, BlackBox] = {
    np.maximum: _MAXIMUM, np.fmax: _MAXIMUM, builtins.max: _MAXIMUM,
    np.minimum: _MINIMUM, np.fmin: _MINIMUM, builtins.min: _MINIMUM,
    np.sign: _SIGN,
}  # fmt: skip


def black_box(f: Any) -> BlackBox | None:
    """The black box of a scalar function that has a rule by its partials; None where it has none."""
    try:
        given = _GIVEN.get(f)
    except TypeError:  # not hashable: no function of ours
        return None
    if isinstance(f, Power):
        return _power(f)
    rule = rules.get(f) if given is None and callable(f) else None
    if rule is None or rule.kind != "partials":
        return given
    key = (rule.where, rule.name)
    if key not in _found:
        _found[key] = _of_rule(rule)
    return _found[key]


def _of_rule(rule: Rule) -> BlackBox:
    """The black box of a rule; what its body says is read when a derivative is asked for."""
    assert rule.analysis is not None
    names = rule.analysis.names
    params = tuple(f"x{m}" for m in range(len(names))) if len(names) > 1 else ("x",)
    read: list[list[Expr]] = []
    name = _short(rule.name)

    def partial(m: int) -> Partial:
        def of(*args: Expr) -> Expr:
            if not read:
                read.append(_partials(rule, box, params))
            return _called(f"{name}'{_place(m, params)}", params, read[0][m], args)

        return of

    box = BlackBox(name, rule.targets[0], tuple(map(partial, range(len(params)))))
    return box


def _short(name: str) -> str:
    return {"reciprocal": "recip", "power": "pow", "absolute": "abs"}.get(name.strip("_"), name.strip("_"))


def _place(m: int, params: tuple[str, ...]) -> str:
    return "" if len(params) == 1 else "₀₁₂₃₄₅₆₇₈₉"[m]


def _partials(rule: Rule, box: BlackBox, params: tuple[str, ...]) -> list[Expr]:
    """The partials as expressions; where the body says more than the language can, as functions without derivative."""
    y = Apply(box, tuple(map(Var, params)))
    found = body_partials(rule.body, y, params, black_box) if rule.body is not None else None
    return found or [_opaque(rule, m, params) for m in range(len(params))]


def _opaque(rule: Rule, m: int, params: tuple[str, ...]) -> Expr:
    primitive, body, name = rule.targets[0], rule.body, rule.name
    assert body is not None

    def fn(*args: Any) -> Any:
        results = body(primitive(*args), *args)
        return results[m] if isinstance(results, tuple) else results

    def refused(*args: Expr) -> Expr:
        raise TensorLanguageError(
            f"the second derivative of {callable_name(primitive)} is not in the tensor language, as the body of its "
            f"rule ({rule.where}) is no plain scalar formula. Take wengert.grad of the undecorated function"
        )

    box = BlackBox(f"{_short(name)}'{_place(m, params)}", fn, (refused,) * len(params))
    return Apply(box, tuple(map(Var, params)))


def _called(name: str, params: tuple[str, ...], e: Expr, args: tuple[Expr, ...]) -> Expr:
    """`e` at the arguments, as at most one call of a black box."""
    free = isinstance(e, (Const, Var)) or (
        isinstance(e, Apply) and all(isinstance(a, (Const, Var)) for a in e.args)
    )  # fmt: skip
    if free:
        return substituted(e, dict(zip(params, args, strict=True)))
    return Apply(_derived_box(name, params, e), args)


def _derived_box(name: str, params: tuple[str, ...], e: Expr) -> BlackBox:
    """The black box that computes `e`; its partials are derived in turn, when they are asked for."""
    key = (name, params, e)
    if key not in _derived:

        def partial(m: int) -> Partial:
            where = f"{name}'{_place(m, params)}"
            return lambda *args: _called(where, params, derivative(e, params[m]), args)

        _derived[key] = BlackBox(name, as_function(name, params, e), tuple(map(partial, range(len(params)))))
    return _derived[key]


def _power(f: Power) -> BlackBox:
    """x**c, with the partial c·x**(c-1)."""
    if f not in _powers:
        name = f"pow{f.exponent}"

        def partial(*args: Expr) -> Expr:
            formula = times(Const(f.exponent), raised(Var("x"), f.exponent - 1, black_box))
            return _called(f"{name}'", ("x",), formula, args)

        _powers[f] = BlackBox(name, _function(f"lambda x: x ** {f.exponent!r}"), (partial,))
    return _powers[f]


def _function(text: str) -> Callable[..., Any]:
    """Written out, so that what compiles Python can compile it."""
    return eval(compile(text, "<power>", "eval"))


def reciprocal() -> BlackBox:
    """1/x."""
    box = black_box(np.reciprocal)
    assert box is not None
    return box
