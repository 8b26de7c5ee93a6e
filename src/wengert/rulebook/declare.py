"""The forms in which a rule is written, as decorators; each enters the rule in the registry."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from wengert.errors import RuleError
from wengert.rulebook.bodies import times
from wengert.rulebook.registry import Registry, rules
from wengert.rulebook.rule import Accumulator, Rule
from wengert.values.callables import callable_name, place
from wengert.values.specs import is_complex

__all__ = ["accumulates", "adjoint", "non_differentiable", "partials", "pullback", "rrule", "times"]

F = TypeVar("F", bound=Callable[..., Any])


def partials(
    *targets: Callable[..., Any], broadcasts: bool = True, view: bool = False, identity: bool = False,
    names: Mapping[str, str] | None = None, registry: Registry = rules,
) -> Callable[[F], F]:  # fmt: skip
    """`(y, a, b, ...) -> (∂y/∂a, ∂y/∂b, ...)` of an elementwise function.

    `view`: the result may share memory with argument 0; `identity`: it may be its argument itself;
    `names`: further keywords for arguments (`{"min": "a_min"}`).
    """
    options = {"broadcasts": broadcasts, "view": view, "identity": identity, "names": names}
    return _declare("partials", targets, registry, **options)


def pullback(
    *targets: Callable[..., Any], broadcasts: bool = False, view: bool = False, identity: bool = False,
    sequence: int | None = None, parts: bool = False, names: Mapping[str, str] | None = None,
    registry: Registry = rules,
) -> Callable[[F], F]:  # fmt: skip
    """`(y_bar, y, a, b, ...) -> (a_bar, b_bar, ...)`; options as in `partials`.

    `sequence`: the argument of the call that is a sequence of arrays, which the rule takes one by one. `parts`: of a
    result that is a tuple, the cotangent holds None for each part that nothing used. A rule with `*args` may ask by a
    keyword `wanted` which of its arguments are; it gives None for the others.
    """
    options = {"broadcasts": broadcasts, "view": view, "identity": identity, "names": names}
    return _declare("pullback", targets, registry, sequence=sequence, parts=parts, **options)


def rrule(f: Callable[..., Any], *args: Any, registry: Registry = rules, **kwargs: Any) -> Any:
    """The general form of a rule, above `(*args, **kwargs) -> (y, pullback)`; `pullback(y_bar)` gives one
    cotangent per argument, or None where there is none.

    With the arguments of a call: its `(y, pullback)`, by whichever form of rule `f` has.
    """
    return registry.rrule(f, *args, **kwargs) if args or kwargs else _declare("rrule", (f,), registry)


def non_differentiable(*targets: Callable[..., Any], registry: Registry = rules) -> Any:
    """Declare that the results of `targets` are constant as far as derivatives go.

    With one function, gives it back, so that `@non_differentiable` can stand above its definition.
    """
    if not targets:
        return lambda f: non_differentiable(f, registry=registry)
    caller = sys._getframe(1)
    where = f"{caller.f_code.co_filename}:{caller.f_lineno}"
    for f in targets:
        registry.add(Rule(callable_name(f).rpartition(".")[2], (f,), "constant", None, where))
    return targets[0] if len(targets) == 1 else lambda f: f


def accumulates(
    *targets: Callable[..., Any], arg: int, scatters: bool = False, above: int = 0, registry: Registry = rules
) -> Callable[[F], F]:
    """`(x_bar, y_bar, y, *args) -> x_bar` that adds to the cotangent of argument `arg` in place.

    The engine calls it on a buffer that it owns, in place of the rule, from the second contribution on; where it
    returns NotImplemented, having changed nothing, the rule goes on. It reads no more of the arguments than the rule.
    `scatters`: what it adds is zero in most places, so that the first contribution too is added, to zeros. `above`:
    how many elements x̄ has at least for it to pay.
    """

    def declare(function: F) -> F:
        for f in targets:
            registry.accumulate(f, arg, Accumulator(function, scatters, above))
        return function

    return declare


def adjoint(a: Any) -> Any:
    """Aᴴ of the last two axes."""
    transposed = a.T if isinstance(a, np.ndarray) and a.ndim == 2 else np.swapaxes(a, -1, -2)
    return np.conj(transposed) if is_complex(a) else transposed


def _declare(
    kind: str, targets: tuple[Callable[..., Any], ...], registry: Registry, **options: Any
) -> Callable[[F], F]:
    if not targets:
        raise RuleError(f"@{kind} needs the functions that the rule is for: @{kind}(np.sin, math.sin)")

    def declare(function: F) -> F:
        registry.add(Rule(function.__name__, targets, kind, function, place(function), **options))
        return function

    return declare
