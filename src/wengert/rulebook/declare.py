"""Decorators that declare rules; each adds a rule to the registry."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from wengert.errors import RuleError
from wengert.rulebook.registry import Registry, rules
from wengert.rulebook.rule import Accumulator, Pushforward, Rule
from wengert.rulebook.runtime import times
from wengert.values import signatures
from wengert.values.callables import callable_name, place
from wengert.values.specs import is_complex

ENTERED = "Pullbacks compute with it, also on values that an outer derivative watches."

__all__ = [
    "accumulates",
    "adjoint",
    "jvp_rule",
    "linear",
    "multilinear",
    "non_differentiable",
    "partials",
    "rrule",
    "times",
    "vjp_rule",
]

F = TypeVar("F", bound=Callable[..., Any])
_DECORATORS = {"pullback": "vjp_rule"}
"""The decorator for a kind of rule, if it is not called like the kind."""
_NAMED = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, type, np.ufunc, type(np.sum),
)  # fmt: skip
"""Types of callables whose dotted names end with their own: to search all modules for the rest takes up to 1 ms."""


def partials(
    *targets: Callable[..., Any], broadcasts: bool = True, view: bool = False, identity: bool = False,
    names: Mapping[str, str] | None = None, registry: Registry = rules,
) -> Callable[[F], F]:  # fmt: skip
    """Declare the rule of elementwise functions, by decorating a function `(y, a, b, ...) -> (∂y/∂a, ∂y/∂b, ...)`.

    y is the result. For a single argument, return the partial without a tuple. A partial has the shape of y, or one
    that broadcasts to it. The parameters are those of the call; parameters after `*` are not differentiated.

    Parameters:
        *targets (callable): The functions that the rule is for.
        broadcasts (bool): The arguments broadcast against each other, so the engine sums cotangents back to their
            shapes.
        view (bool): The result may share memory with argument 0.
        identity (bool): The result may be argument 0 itself.
        names (Mapping[str, str] | None): Further keyword arguments of the targets, and the parameters of the rule that
            they mean, as in `{"min": "a_min"}`.
        registry (Registry): The table of rules to add the rule to.
    Returns:
        callable: A decorator for the function that returns the partials.
    Raises:
        DuplicateRuleError: A target has another rule.
        RuleError: There are no targets.
    See Also:
        scalar_rule, vjp_rule, rrule, test_rrule

    Examples:
        >>> def softplus(x):
        ...     return np.log1p(np.exp(x))
        >>> @wg.partials(softplus)
        ... def softplus_rule(y, x):
        ...     return 1 / (1 + np.exp(-x))
        >>> wg.grad(softplus)(0.0)
        0.5
    """
    options = {"broadcasts": broadcasts, "view": view, "identity": identity, "names": names}
    return _declare("partials", targets, registry, **options)


def vjp_rule(
    *targets: Callable[..., Any], broadcasts: bool = False, view: bool = False, identity: bool = False,
    sequence: int | None = None, parts: bool = False, names: Mapping[str, str] | None = None,
    registry: Registry = rules,
) -> Callable[[F], F]:  # fmt: skip
    """Declare the rule of any functions, by decorating a function `(y_bar, y, a, b, ...) -> (a_bar, b_bar, ...)`.

    `y_bar` is the cotangent of the result y and has its shape. For a single argument, return the cotangent without a
    tuple; return None for an argument without derivative. A cotangent has the shape of its argument. A rule with
    `*args` and a keyword `wanted` gets a flag for each argument; return None for those not wanted.

    Parameters:
        *targets (callable): The functions that the rule is for.
        broadcasts (bool): A cotangent may have the shape of y instead of its argument's; the engine sums it.
        view (bool): The result may share memory with argument 0.
        identity (bool): The result may be argument 0 itself.
        sequence (int | None): The position of an argument that is a sequence of arrays; the rule takes its items one by
            one.
        parts (bool): If y is a tuple, `y_bar` has None, not zeros, for each part that is not used.
        names (Mapping[str, str] | None): Further keyword arguments of the targets, as in `partials`.
        registry (Registry): The table of rules to add the rule to.
    Returns:
        callable: A decorator for the function that returns the cotangents.
    Raises:
        DuplicateRuleError: A target has another rule.
        RuleError: There are no targets.
    See Also:
        rrule, partials, jvp_rule, test_rrule

    Examples:
        >>> def norm2(x):
        ...     return np.sum(x * x)
        >>> @wg.vjp_rule(norm2)
        ... def norm2_rule(y_bar, y, x):
        ...     return 2 * y_bar * x
        >>> wg.grad(norm2)(np.array([1.0, 2.0]))
        array([2., 4.])
    """
    options = {"broadcasts": broadcasts, "view": view, "identity": identity, "names": names}
    return _declare("pullback", targets, registry, sequence=sequence, parts=parts, **options)


@signatures.rrule
def rrule(f: Callable[..., Any], *args: Any, registry: Registry = rules, **kwargs: Any) -> Any:
    """Declare the rule of `f` in its general form, by decorating a function `(*args, **kwargs) -> (y, pullback)`.

    y is the value of `f(*args, **kwargs)`. `pullback(y_bar)` takes the cotangent of y and returns one for each
    positional argument, or None if it has none. With arguments, `rrule(f, *args)` calls the rule of f, in whichever
    form it is declared; the pullback that it returns always returns a tuple.

    Parameters:
        f (callable): The function.
        *args (Any): Its positional arguments, to call its rule.
        registry (Registry): The table of rules.
        **kwargs (Any): Its keyword arguments, to call its rule.
    Returns:
        callable | tuple: A decorator for the rule; with arguments `(y, pullback)`.
    Raises:
        DuplicateRuleError: f has another rule.
        NoRuleError: With arguments: f has no rule.
    See Also:
        vjp_rule, partials, custom_derivative, test_rrule

    Examples:
        >>> def square(x):
        ...     return x * x
        >>> @wg.rrule(square)
        ... def square_rule(x):
        ...     return x * x, lambda y_bar: y_bar * 2 * x
        >>> wg.grad(square)(3.0)
        6.0

        >>> y, pullback = wg.rrule(square, 3.0)
        >>> y, pullback(10.0)
        (9.0, (60.0,))
    """
    return registry.rrule(f, *args, **kwargs) if args or kwargs else _declare("rrule", (f,), registry)


@signatures.non_differentiable
def non_differentiable(*targets: Callable[..., Any], registry: Registry = rules) -> Any:
    """Declare that the results of the functions `targets` are constants, whose derivative is zero.

    Parameters:
        *targets (callable): The functions.
        registry (Registry): The table of rules to add the rules to.
    Returns:
        callable: The function, if there is one, so that you can use it as a decorator.
    Raises:
        DuplicateRuleError: A target has another rule.
    See Also:
        stop_gradient, rrule

    Examples:
        >>> @wg.non_differentiable
        ... def scale(x):
        ...     return float(np.max(np.abs(x)))
        >>> wg.grad(lambda x: np.sum(x) / scale(x))(np.array([1.0, 4.0]))
        array([0.25, 0.25])
    """
    if not targets:
        return lambda f: non_differentiable(f, registry=registry)
    caller = sys._getframe(1)
    where = f"{caller.f_code.co_filename}:{caller.f_lineno}"
    for f in targets:
        name = f.__name__ if isinstance(f, _NAMED) else callable_name(f).rpartition(".")[2]
        registry.add(Rule(name, (f,), "constant", None, where))
    return targets[0] if len(targets) == 1 else lambda f: f


def accumulates(
    *targets: Callable[..., Any], arg: int, scatters: bool = False, above: int = 0, registry: Registry = rules
) -> Callable[[F], F]:
    """Declare how to add the cotangent of argument `arg` in place: `(x_bar, y_bar, y, *args) -> x_bar`.

    The decorated function does `x_bar += ...` and returns `x_bar`, which has the shape and dtype of its argument. The
    engine calls it instead of the rule if x̄ already holds a sum, in a buffer of the engine's own; no array is made for
    the summand. The function may read no more of the arguments than the rule does. If it returns NotImplemented, it
    must not have changed `x_bar`; the engine then calls the rule.

    Parameters:
        *targets (callable): The functions; they already have a rule.
        arg (int): The position of the argument.
        scatters (bool): Most added elements are zero, so the engine adds the first contribution in place too, to zeros.
        above (int): The smallest number of elements of x̄ for which the engine calls the function.
        registry (Registry): The table of rules that has the rules.
    Returns:
        callable: A decorator for the function that adds.
    Raises:
        NoRuleError: A target has no rule.
        DuplicateRuleError: `arg` is accumulated already.
    See Also:
        vjp_rule, add_inplace, debug

    Examples:
        >>> def first(x):
        ...     return x[:1].copy()
        >>> @wg.vjp_rule(first)
        ... def first_rule(y_bar, y, x):
        ...     return np.concatenate([y_bar, np.zeros(len(x) - 1)])
        >>> @wg.accumulates(first, arg=0)
        ... def add_first(x_bar, y_bar, y, x):
        ...     x_bar[:1] += y_bar
        ...     return x_bar
        >>> wg.grad(lambda x: np.sum(x * x) + np.sum(first(x)))(np.array([1.0, 2.0]))
        array([3., 4.])
    """

    def declare(function: F) -> F:
        for f in targets:
            registry.accumulate(f, arg, Accumulator(function, scatters, above))
        return function

    return declare


def jvp_rule(*targets: Callable[..., Any], broadcasts: bool = False, registry: Registry = rules) -> Callable[[F], F]:
    """Declare how to push tangents through the functions `targets`: `(tangents, y, a, b, ...) -> y_dot`.

    `tangents` is a tuple with the tangent of each of the rule's arguments, or None for zero; it has the items of a
    sequence one by one, as the rule does. y is the result; a, b, ... are the arguments. A tangent has the shape of its
    argument; the result has that of y, or one that broadcasts to it. Parameters after `*` are static, as in the rule.

    Without this declaration forward mode uses the partials of a rule, or transposes its pullback, which costs more.

    Parameters:
        *targets (callable): The functions; they already have a rule.
        broadcasts (bool): Tangents may have one more, leading, axis, for several directions at once, and the formula
            keeps it. Tangents of fewer axes are then reshaped to one axis more than y has.
        registry (Registry): The table of rules that has the rules.
    Returns:
        callable: A decorator for the function that returns the tangent.
    Raises:
        NoRuleError: A target has no rule.
        DuplicateRuleError: A target has a pushforward.
    See Also:
        vjp_rule, rrule, jvp

    Examples:
        >>> def cube(x):
        ...     return x * x * x
        >>> @wg.vjp_rule(cube)
        ... def cube_rule(y_bar, y, x):
        ...     return y_bar * 3 * x * x
        >>> @wg.jvp_rule(cube)
        ... def push_cube(tangents, y, x):
        ...     return 3 * x * x * tangents[0]
        >>> wg.test_rrule(cube, 2.0)
    """

    def declare(function: F) -> F:
        for f in targets:
            registry.push_by(f, Pushforward("declared", function, broadcasts=broadcasts))
        return function

    return declare


def linear(
    *targets: Callable[..., Any], args: tuple[int, ...] | None = None, without: tuple[str, ...] = (),
    registry: Registry = rules,
) -> None:  # fmt: skip
    """Declare that the functions `targets`, which have a rule, are linear in all differentiable arguments together.

    Forward mode then calls the function on the tangents.

    Parameters:
        *targets (callable): The functions.
        args (tuple[int, ...] | None): The positions of the linear arguments, by default all positional ones of the
            rule.
        without (tuple[str, ...]): Static arguments that only add a constant.
        registry (Registry): The table of rules that has the rules.
    Raises:
        NoRuleError: A target has no rule.
        DuplicateRuleError: A target has a pushforward.
    See Also:
        multilinear, jvp_rule

    Examples:
        >>> def swapped(x):
        ...     return x[::-1].copy()
        >>> @wg.vjp_rule(swapped)
        ... def swapped_rule(y_bar, y, x):
        ...     return y_bar[::-1]
        >>> wg.extend.linear(swapped)
    """
    for f in targets:
        registry.push_by(f, Pushforward("linear", linear, args, without))


def multilinear(*targets: Callable[..., Any], registry: Registry = rules) -> None:
    """Declare that the functions `targets`, which have a rule, are linear in each differentiable argument.

    The tangent of the result is then a sum: in each term, one argument is replaced by its tangent.

    Parameters:
        *targets (callable): The functions.
        registry (Registry): The table of rules that has the rules.
    Raises:
        NoRuleError: A target has no rule.
        DuplicateRuleError: A target has a pushforward.
    See Also:
        linear, jvp_rule

    Examples:
        >>> def scaled(c, x):
        ...     return c * x
        >>> @wg.vjp_rule(scaled)
        ... def scaled_rule(y_bar, y, c, x):
        ...     return np.sum(y_bar * x), c * y_bar
        >>> wg.extend.multilinear(scaled)
    """
    for f in targets:
        registry.push_by(f, Pushforward("multilinear", multilinear))


def adjoint(a: Any) -> Any:
    """Return Aᴴ, the conjugate transpose of `a` in its last two axes.

    Parameters:
        a (array): A matrix, or several on the last two axes.
    Returns:
        array: The conjugate transpose.
    See Also:
        times

    Examples:
        >>> wg.extend.adjoint(np.array([[1.0, 2j]]))
        array([[1.-0.j],
               [0.-2.j]])
    """
    transposed = a.T if isinstance(a, np.ndarray) and a.ndim == 2 else np.swapaxes(a, -1, -2)
    return np.conj(transposed) if is_complex(a) else transposed


def _declare(
    kind: str, targets: tuple[Callable[..., Any], ...], registry: Registry, **options: Any
) -> Callable[[F], F]:
    if not targets:
        raise RuleError(
            f"name the functions that the rule is for, as in @{_DECORATORS.get(kind, kind)}(np.sin, math.sin)"
        )
    given: tuple[Any, ...] = targets
    for f in given:
        if not callable(f) and not hasattr(f, "__get__"):  # of class methods and properties
            raise RuleError(
                f"a rule is for functions, and {f!r:.60} is a {type(f).__name__}. Pass the function itself, as in "
                f"@{_DECORATORS.get(kind, kind)}(np.sin)."
            )

    def declare(function: F) -> F:
        registry.add(Rule(function.__name__, targets, kind, function, place(function), **options))
        return function

    return declare
