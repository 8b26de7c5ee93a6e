"""Derivatives that users declare for their functions: as pullbacks, pushforwards, Jacobians or partials."""

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
from wengert.values.renamed import under_old_name
from wengert.values.specs import is_complex, is_inexact
from wengert.values.trees import leaves, mirror, rebuild

ENTERED = "It calls the user's pullback or pushforward, also on values that an outer derivative traces."

__all__ = ["custom_derivative", "jacobian_rule", "scalar_rule"]

F = TypeVar("F", bound=Callable[..., Any])


@signatures.custom_derivative
def custom_derivative(f: F, registry: Registry = rules) -> F:
    """Return `f`, for which you then declare a derivative by `@f.vjp_rule` or `@f.jvp_rule`.

    `vjp_rule(y_bar, y, *args)` returns the cotangents of the arguments from that of the result y.
    `jvp_rule(tangents, y, *args)` returns the tangent of y from a tuple of the arguments' tangents, None for zero.
    One of the two is enough: the other is its transpose. Second derivatives trace them like any other code. Arguments
    and results may be containers; their tangents and cotangents are containers of the same structure.

    Parameters:
        f (callable): A function written in Python. Its keyword-only parameters are static.
        registry (Registry): The table of rules to add the rule to.
    Returns:
        callable: f, with the attributes `vjp_rule` and `jvp_rule`.
    Raises:
        ArgumentError: f is not a function written in Python.
        DuplicateRuleError: f has another rule.
    See Also:
        rrule, scalar_rule, jacobian_rule

    Examples:
        >>> @wg.custom_derivative
        ... def log1pexp(x):
        ...     return np.log1p(np.exp(x))
        >>> @log1pexp.vjp_rule
        ... def _(y_bar, y, x):
        ...     return y_bar / (1 + np.exp(-x))
        >>> wg.grad(log1pexp)(0.0)
        0.5
    """
    if not isinstance(f, FunctionType):
        raise ArgumentError(
            f"custom_derivative takes a function written in Python, not {callable_name(f)}. To declare a rule for "
            "another callable, use wg.vjp_rule, wg.partials or wg.rrule."
        )
    rule = _UserRule(f, registry)
    f.vjp_rule, f.jvp_rule = rule.vjp_rule, rule.jvp_rule  # type: ignore[attr-defined]
    for old, new in (("pullback", "vjp_rule"), ("pushforward", "jvp_rule")):
        setattr(f, old, under_old_name(f"{f.__name__}.{old}", f"{f.__name__}.{new}", getattr(rule, new)))
    return f


def scalar_rule(f: F, *derivatives: Callable[..., Any], registry: Registry = rules) -> F:
    """Declare the derivative of an elementwise function `f`; return f.

    Parameters:
        f (callable): The function.
        *derivatives (callable): Functions of f's arguments, one for each differentiable argument: ∂f/∂a, ∂f/∂b, ...
            They return an array of the shape of the result, or one that broadcasts to it. They multiply tangents and
            cotangents elementwise: no diagonal matrix is made.
        registry (Registry): The table of rules to add the rule to.
    Returns:
        callable: f.
    Raises:
        RuleError: There are no derivatives.
        DuplicateRuleError: f has another rule.
    See Also:
        custom_derivative, partials, jacobian_rule

    Examples:
        >>> def softplus(x):
        ...     return np.log1p(np.exp(x))
        >>> softplus = wg.scalar_rule(softplus, lambda x: 1 / (1 + np.exp(-x)))
        >>> wg.jacobian(softplus)(np.array([0.0, 50.0]))
        array([[0.5, 0. ],
               [0. , 1. ]])
    """
    if not derivatives:
        raise RuleError(f"scalar_rule needs a derivative: scalar_rule({callable_name(f)}, derivative)")

    def partials(y: Any, *args: Any, **static: Any) -> Any:
        found = [derivative(*args, **static) for derivative in derivatives]
        return found[0] if len(args) == 1 else (*found, *[None] * (len(args) - len(found)))

    partials.__signature__ = _signature_with(("y",), _parameters_of(f, derivatives[0], 0))  # type: ignore[attr-defined]
    registry.add(Rule(callable_name(f), (f,), "partials", partials, place(derivatives[0]), broadcasts=True))
    return f


def jacobian_rule(f: Callable[..., Any], registry: Registry = rules) -> Callable[[F], F]:
    """Declare the Jacobians of a function `f` of arrays, by a function `(y, a, b, ...) -> (∂y/∂a, ∂y/∂b, ...)`.

    y is the result. For a single argument return the Jacobian itself; return None for an argument without derivative.
    The shape of a Jacobian is `y.shape + a.shape`, or that of a matrix with a row for each number of y and a column for
    each of a. Keyword-only parameters are static.

    Parameters:
        f (callable): The function.
        registry (Registry): The table of rules to add the rule to.
    Returns:
        callable: A decorator for the function that returns the Jacobians.
    Raises:
        DuplicateRuleError: f has another rule.
        RuleError: When the rule is used: a Jacobian has another shape.
    See Also:
        custom_derivative, scalar_rule

    Examples:
        >>> def rotated(x, angle):
        ...     return turn(angle) @ x
        >>> def turn(angle):
        ...     return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        >>> @wg.jacobian_rule(rotated)
        ... def rotated_jacobians(y, x, angle):
        ...     return turn(angle), turn(angle + np.pi / 2) @ x
        >>> wg.jacobian(rotated, argnums=1)(np.array([1.0, 0.0]), 0.0).round(9)
        array([0., 1.])
    """

    def declare(jacobians: F) -> F:
        rule = _UserRule(f, registry, jacobians)

        def pullback(y_bar: Any, y: Any, *args: Any, **static: Any) -> Any:
            matrices = rule.matrices(jacobians(y, *args, **static), y, args)
            flat = np.reshape(y_bar, (1, -1))
            pairs = zip(matrices, args, strict=False)
            return tuple([None if m is None else np.reshape(flat @ np.conj(m), np.shape(x)) for m, x in pairs])

        def pushforward(tangents: Any, y: Any, *args: Any, **static: Any) -> Any:
            total = 0.0
            for matrix, tangent in zip(rule.matrices(jacobians(y, *args, **static), y, args), tangents, strict=False):
                if matrix is not None and tangent is not None:
                    total = total + (matrix @ np.reshape(tangent, (-1, 1))).reshape(np.shape(y))
            return total

        rule.vjp_rule(pullback)
        rule.jvp_rule(pushforward)
        return jacobians

    return declare


class _UserRule:
    """The derivatives declared for a function, and the rule made of them. `jacobians` is set by `jacobian_rule`."""

    def __init__(self, f: Callable[..., Any], registry: Registry, jacobians: Callable[..., Any] | None = None) -> None:
        self.f, self.registry, self.jacobians = f, registry, jacobians
        self.back: Callable[..., Any] | None = None
        self.forward: Callable[..., Any] | None = None
        self.rule: Rule | None = None

    def vjp_rule(self, function: F) -> F:
        """Declare the pullback: `(y_bar, y, *args, **static) -> cotangents`."""
        self.back = function
        self._register(function)
        return function

    def jvp_rule(self, function: F) -> F:
        """Declare the pushforward: `(tangents, y, *args, **static) -> y_dot`."""
        self.forward = function
        self._register(function)
        return function

    def _register(self, function: Callable[..., Any]) -> None:
        """Put the rule into the registry, in place of the one that an earlier declaration made."""
        parameters = _parameters_of(self.f, self.jacobians or function, 1 if self.jacobians else 2)
        defaults = [p.default for p in parameters if p.kind in _BY_POSITION]
        back, forward, f = self.back or self._transpose, self.forward, self.f

        def body(*args: Any, **static: Any) -> Any:
            y = f(*args, **static)
            whole = (*args, *defaults[len(args) :])

            def pullback(y_bar: Any) -> Any:
                return back(y_bar, y, *whole, **static)

            return y, pullback

        body.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        if self.rule is not None and self.registry.get(f) is self.rule:
            self.registry.remove(f)
        self.rule = self.registry.add(Rule(callable_name(f), (f,), "rrule", body, place(self.jacobians or function)))
        if forward is not None:

            def push(tangents: Any, y: Any, *args: Any, **static: Any) -> Any:
                whole = (*args, *defaults[len(args) :])
                return forward((*tangents, *[None] * (len(whole) - len(tangents))), y, *whole, **static)

            self.registry.push_by(f, Pushforward("declared", functools.wraps(forward)(push)))

    def _transpose(self, y_bar: Any, y: Any, *args: Any, **static: Any) -> Any:
        """Return the cotangents of the arguments by transposing the pushforward, if that alone was declared."""
        forward = self.forward
        assert forward is not None
        places = [k for k, x in enumerate(args) if leaves(x)]

        def y_dot(*tangents: Any) -> Any:
            by_position = dict(zip(places, tangents, strict=True))
            return forward(tuple([by_position.get(k) for k in range(len(args))]), y, *args, **static)

        _, pull = vjp(y_dot, *[mirror(args[k], _zeros_like) for k in places])
        cotangents = dict(zip(places, pull(conjugate(y_bar)), strict=True))
        return tuple([conjugate(cotangents.get(k)) for k in range(len(args))])

    def matrices(self, found: Any, y: Any, args: tuple[Any, ...]) -> list[Any]:
        """Return Jacobians as matrices. Errors: RuleError if their number or shapes do not fit y and the arguments."""
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) < len([x for x in args if is_inexact(x)]):
            raise RuleError(
                f"{self._source()} returned {len(found)} Jacobians for {len(args)} arguments. Return one for each, or "
                "None."
            )
        matrices = []
        for k, (jacobian, x) in enumerate(zip(found, args, strict=False)):
            shapes = (*np.shape(y), *np.shape(x)), (np.size(y), np.size(x))
            if jacobian is not None and np.shape(jacobian) not in shapes:
                raise RuleError(
                    f"{self._source()} returned a Jacobian of shape {np.shape(jacobian)} for argument {k + 1}, "
                    f"of shape {np.shape(x)}. Return one of shape {shapes[0]} or, as a matrix, {shapes[1]}."
                )
            matrices.append(None if jacobian is None else np.reshape(jacobian, shapes[1]))
        return matrices

    def _source(self) -> str:
        return f"the jacobian_rule of {callable_name(self.f)} ({place(self.jacobians)})"


_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _parameters_of(f: Callable[..., Any], function: Callable[..., Any], leading: int) -> list[inspect.Parameter]:
    """Return the parameters of f or, if they are not known, those of its rule's `function` after the `leading` ones."""
    try:
        return [*signature(f).parameters.values()]
    except (TypeError, ValueError):
        return [*signature(function).parameters.values()][leading:]


def _signature_with(names: tuple[str, ...], parameters: list[inspect.Parameter]) -> inspect.Signature:
    return inspect.Signature([*[inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in names], *parameters])


def _zeros_like(leaf: Any) -> Any:
    return np.zeros_like(leaf) if isinstance(leaf, np.ndarray) else type(leaf)(0)


def conjugate(value: Any) -> Any:
    """Return a value with the conjugates of its numbers."""
    if not any([is_complex(leaf) for _, leaf in leaves(value)]):
        return value
    return np.conj(value) if is_inexact(value) else rebuild(value, lambda leaf, _: np.conj(leaf))
