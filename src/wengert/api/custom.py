"""Derivatives that a user states for a function of their own: as a pullback, a pushforward, Jacobians or slopes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from wengert.api.gradient import vjp
from wengert.errors import ArgumentError, RuleError
from wengert.rulebook.registry import Registry, rules
from wengert.rulebook.rule import Pushforward, Rule
from wengert.values import signatures
from wengert.values.callables import callable_name, place, signature
from wengert.values.specs import is_complex, is_inexact
from wengert.values.trees import leaves, mirror, rebuild

ENTERED = "It calls what the user stated, also on values that an outer derivative watches."

__all__ = ["custom", "jacobian_rule", "scalar_rule"]

F = TypeVar("F", bound=Callable[..., Any])


@signatures.custom
def custom(f: F, registry: Registry = rules) -> F:
    """Let a derivative be stated for a function `f` of the user's, below it, by `@f.pullback` and `@f.pushforward`.

    `pullback(y_bar, y, *args)` returns the cotangents of the arguments from that of the result y,
    `pushforward(tangents, y, *args)` the tangent of y from a tuple of those of the arguments, None where one is zero.
    One of both is enough: the other is its transpose. Arguments and results may be containers, whose tangents and
    cotangents are containers like them. Parameters of f after a `*` are static. `registry` is the table that the rule
    goes into. It returns f.

    >>> @wg.custom
    ... def log1pexp(x):
    ...     return np.log1p(np.exp(x))
    >>> @log1pexp.pullback
    ... def _(y_bar, y, x):
    ...     return y_bar / (1 + np.exp(-x))
    >>> wg.grad(log1pexp)(0.0)
    0.5

    Derivatives of second order go through what is stated, which is traced as any other code.
    Errors: ArgumentError for what is no function written in Python; DuplicateRuleError where f has another rule.
    """
    if not isinstance(f, FunctionType):
        raise ArgumentError(
            f"custom takes a function written in Python, not {callable_name(f)}. A rule for any callable is declared "
            "by wg.pullback, wg.partials or wg.rrule."
        )
    stated = _Stated(f, registry)
    f.pullback, f.pushforward = stated.pullback, stated.pushforward  # type: ignore[attr-defined]
    return f


def scalar_rule(f: F, *derivatives: Callable[..., Any], registry: Registry = rules) -> F:
    """State the derivative of an elementwise function `f`; returns f.

    `derivatives` are functions of f's arguments, one for each of them that has a derivative: ∂f/∂a, ∂f/∂b, ... They
    multiply tangents and cotangents, number by number: no diagonal matrix is made. `registry` is the table that the
    rule goes into.

    >>> def softplus(x):
    ...     return np.log1p(np.exp(x))
    >>> softplus = wg.scalar_rule(softplus, lambda x: 1 / (1 + np.exp(-x)))
    >>> wg.jacobian(softplus)(np.array([0.0, 50.0]))
    array([[0.5, 0. ],
           [0. , 1. ]])

    Shapes: a derivative has the shape of the result, or one that broadcasts to it.
    Errors: RuleError without derivatives; DuplicateRuleError where f has another rule.
    """
    if not derivatives:
        raise RuleError(f"scalar_rule needs the derivative: scalar_rule({callable_name(f)}, derivative)")

    def slopes(y: Any, *args: Any, **static: Any) -> Any:
        found = [derivative(*args, **static) for derivative in derivatives]
        return found[0] if len(args) == 1 else (*found, *[None] * (len(args) - len(found)))

    slopes.__signature__ = _with_leading(("y",), _parameters(f, derivatives[0], 0))  # type: ignore[attr-defined]
    registry.add(Rule(callable_name(f), (f,), "partials", slopes, place(derivatives[0]), broadcasts=True))
    return f


def jacobian_rule(f: Callable[..., Any], registry: Registry = rules) -> Callable[[F], F]:
    """Declare the Jacobians of a function `f` of arrays: below it stands `(y, a, b, ...) -> (∂y/∂a, ∂y/∂b, ...)`.

    y is the result; a single argument has a bare Jacobian, and None stands for one without derivative. What stands
    after `*` is static. `registry` is the table that the rule goes into.

    >>> def rotated(x, angle):
    ...     return turn(angle) @ x
    >>> def turn(angle):
    ...     return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    >>> @wg.jacobian_rule(rotated)
    ... def rotated_jacobians(y, x, angle):
    ...     return turn(angle), turn(angle + np.pi / 2) @ x
    >>> wg.jacobian(rotated, argnums=1)(np.array([1.0, 0.0]), 0.0).round(9)
    array([0., 1.])

    Shapes: `y.shape + a.shape`, or a matrix with a row for each number of y and a column for each of a.
    Errors: DuplicateRuleError where f has another rule; RuleError, when it is used, for Jacobians of other shapes.
    """

    def declare(jacobians: F) -> F:
        stated = _Stated(f, registry, jacobians)

        def pullback(y_bar: Any, y: Any, *args: Any, **static: Any) -> Any:
            found = stated.matrices(jacobians(y, *args, **static), y, args)
            flat = np.reshape(y_bar, (1, -1))
            pairs = zip(found, args, strict=False)
            return tuple([None if m is None else np.reshape(flat @ np.conj(m), np.shape(x)) for m, x in pairs])

        def pushforward(tangents: Any, y: Any, *args: Any, **static: Any) -> Any:
            total = 0.0
            for matrix, tangent in zip(stated.matrices(jacobians(y, *args, **static), y, args), tangents, strict=False):
                if matrix is not None and tangent is not None:
                    total = total + (matrix @ np.reshape(tangent, (-1, 1))).reshape(np.shape(y))
            return total

        stated.pullback(pullback)
        stated.pushforward(pushforward)
        return jacobians

    return declare


class _Stated:
    """The derivatives stated for a function, and the rule made of them. `text` has its parameters, if f has not."""

    def __init__(self, f: Callable[..., Any], registry: Registry, text: Callable[..., Any] | None = None) -> None:
        self.f, self.registry, self.text = f, registry, text
        self.back: Callable[..., Any] | None = None
        self.forward: Callable[..., Any] | None = None
        self.rule: Rule | None = None

    def pullback(self, function: F) -> F:
        """Take `function` for the pullback: `(y_bar, y, *args, **static) -> cotangents`."""
        self.back = function
        self._enter(function)
        return function

    def pushforward(self, function: F) -> F:
        """Take `function` for the pushforward: `(tangents, y, *args, **static) -> y_dot`."""
        self.forward = function
        self._enter(function)
        return function

    def _enter(self, function: Callable[..., Any]) -> None:
        parameters = _parameters(self.f, self.text or function, 1 if self.text else 2)
        defaults = [p.default for p in parameters if p.kind in _BY_POSITION]
        back, forward, f = self.back or self._transposed, self.forward, self.f

        def body(*args: Any, **static: Any) -> Any:
            y = f(*args, **static)
            whole = (*args, *defaults[len(args) :])

            def pullback(y_bar: Any) -> Any:
                return back(y_bar, y, *whole, **static)

            return y, pullback

        body.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        if self.rule is not None and self.registry.get(f) is self.rule:
            self.registry.remove(f)
        self.rule = self.registry.add(Rule(callable_name(f), (f,), "rrule", body, place(self.text or function)))
        if forward is not None:

            def push(tangents: Any, y: Any, *args: Any, **static: Any) -> Any:
                whole = (*args, *defaults[len(args) :])
                return forward((*tangents, *[None] * (len(whole) - len(tangents))), y, *whole, **static)

            self.registry.push_by(f, Pushforward("declared", functools.wraps(forward)(push)))

    def _transposed(self, y_bar: Any, y: Any, *args: Any, **static: Any) -> Any:
        """The cotangents of the arguments, where a pushforward alone is stated."""
        forward = self.forward
        assert forward is not None
        places = [k for k, x in enumerate(args) if leaves(x)]

        def pushed(*tangents: Any) -> Any:
            given = dict(zip(places, tangents, strict=True))
            return forward(tuple([given.get(k) for k in range(len(args))]), y, *args, **static)

        _, pull = vjp(pushed, *[mirror(args[k], _zeros_like) for k in places])
        cotangents = dict(zip(places, pull(_conjugated(y_bar)), strict=True))
        return tuple([_conjugated(cotangents.get(k)) for k in range(len(args))])

    def matrices(self, found: Any, y: Any, args: tuple[Any, ...]) -> list[Any]:
        """Jacobians as matrices, checked."""
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) < len([x for x in args if is_inexact(x)]):
            raise RuleError(f"{self._said()} gave {len(found)} Jacobians for {len(args)} arguments: one for each.")
        made = []
        for k, (jacobian, x) in enumerate(zip(found, args, strict=False)):
            shapes = (*np.shape(y), *np.shape(x)), (np.size(y), np.size(x))
            if jacobian is not None and np.shape(jacobian) not in shapes:
                raise RuleError(
                    f"{self._said()} gave a Jacobian of shape {np.shape(jacobian)} for argument {k + 1}, "
                    f"of shape {np.shape(x)}. It has the shape {shapes[0]}, or, as a matrix, {shapes[1]}."
                )
            made.append(None if jacobian is None else np.reshape(jacobian, shapes[1]))
        return made

    def _said(self) -> str:
        return f"the jacobian_rule of {callable_name(self.f)} ({place(self.text)})"


_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _parameters(f: Callable[..., Any], function: Callable[..., Any], leading: int) -> list[inspect.Parameter]:
    """The parameters of f, or, where that does not tell, those of what is stated for it, after the `leading` ones."""
    try:
        return [*signature(f).parameters.values()]
    except (TypeError, ValueError):
        return [*signature(function).parameters.values()][leading:]


def _with_leading(names: tuple[str, ...], parameters: list[inspect.Parameter]) -> inspect.Signature:
    return inspect.Signature([*[inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in names], *parameters])


def _zeros_like(leaf: Any) -> Any:
    return np.zeros_like(leaf) if isinstance(leaf, np.ndarray) else type(leaf)(0)


def _conjugated(value: Any) -> Any:
    """The conjugates of what a value holds."""
    if not any([is_complex(leaf) for _, leaf in leaves(value)]):
        return value
    return np.conj(value) if is_inexact(value) else rebuild(value, lambda leaf, _: np.conj(leaf))
