"""Print a rule: its functions, its place, its source, and a sample call with its derivative."""

from __future__ import annotations

import inspect
import textwrap
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.errors import NoDerivativeError
from wengert.rulebook.calling import rrule
from wengert.rulebook.interface import AnyRule
from wengert.values.callables import callable_name
from wengert.values.specs import is_inexact

_FLOATS = (0.6, 1.7, 2.3)
_OF_ORDERS = (2, 1.7, 2.3)
_VECTORS = (np.array([0.6, 1.7]), np.array([2.3, 0.9]), np.array([1.1, 3.1]))
_MATRICES = (np.array([[0.6, 0.2], [0.1, 1.7]]), np.array([[2.3, 0.3], [0.4, 0.9]]), np.eye(2))
_PYTHON = (types.FunctionType, types.MethodType)


def parts_of_rule(rule: AnyRule) -> Iterator[tuple[str, str]]:
    """Yield pairs (kind, text): the "head" of a rule, its "source" if available, a "sample" if a call can be run."""
    yield "head", f"{rule.name}: {rule.kind} rule of {', '.join(map(callable_name, rule.targets))}\n{_where(rule)}"
    if rule.body is not None:
        try:
            yield "source", textwrap.dedent(inspect.getsource(rule.body)).rstrip()
        except (OSError, TypeError):
            yield "head", "(its source is not available)"
    sample = _sample(rule)
    if sample:
        yield "sample", sample


def rule_text(rule: AnyRule) -> str:
    """Format a rule as plain text."""
    return "\n\n".join(part for _, part in parts_of_rule(rule))


def rich_rule(rule: AnyRule) -> Any:
    """Format a rule for the rich package, with its source in colour."""
    from rich.console import Group
    from rich.syntax import Syntax
    from rich.text import Text

    made = [Syntax(part, "python", background_color="default") if kind == "source" else Text(f"{part}\n")
            for kind, part in parts_of_rule(rule)]  # fmt: skip
    return Group(*made)


def show_rule(rule: AnyRule) -> None:
    """Print a rule, in colour if the output is a terminal."""
    from rich.console import Console

    console = Console()
    console.print(
        rich_rule(rule) if console.is_terminal else rule_text(rule), soft_wrap=True, markup=False, highlight=False
    )


def _where(rule: AnyRule) -> str:
    flags = [name for name in ("broadcasts", "view", "identity") if getattr(rule, name)]
    if rule.sequence is not None:
        flags.append(f"argument {rule.sequence} is a sequence")
    flags += [f"{name} is {parameter}" for name, parameter in rule.names.items()]
    flags += [f"adds to the cotangent of argument {k} in place" for k in rule.accumulators]
    return "; ".join([rule.where, *flags])


def _sample(rule: AnyRule) -> str:
    """Describe a call of the function and its pullback for ȳ = 1; return "" if no guess at its arguments works.

    Only functions written in C are called: a user's function may have side effects.
    """
    f = rule.targets[0]
    if rule.analysis is None or isinstance(f, _PYTHON):
        return ""
    for args in _guesses(rule):
        try:
            with np.errstate(all="raise"):
                y = f(*args)
        except Exception:  # C functions raise all kinds of errors for arguments that they do not take
            continue
        derivative = _derivative(rule, f, args) if is_inexact(y) else ""
        if derivative:
            return f"{callable_name(f)}({', '.join(map(_short, args))}) = {_short(y)}; {derivative}"
    return ""


def _derivative(rule: AnyRule, f: Any, args: tuple[Any, ...]) -> str:
    """Describe the cotangents that the pullback returns for ȳ = 1, or its error; return "" if there are none."""
    try:
        y, pullback = rrule(rule, f, args, {})
        cotangents = pullback(np.ones_like(y) if isinstance(y, np.ndarray) else type(y)(1))
    except NoDerivativeError:
        return ""
    except Exception as error:
        return f"its rule raises {type(error).__name__}: {error}"
    return f"its pullback takes 1 to {_short(cotangents)}" if any(x_bar is not None for x_bar in cotangents) else ""


def _guesses(rule: AnyRule) -> Iterator[tuple[Any, ...]]:
    assert rule.analysis is not None
    count = 2 if rule.analysis.variadic else len(rule.analysis.names)
    fewest = count - len(rule.analysis.defaults)
    of_floats = _FLOATS, _OF_ORDERS, _VECTORS, _MATRICES
    for values in of_floats if rule.kind == "partials" else (_VECTORS, _MATRICES, _FLOATS):
        for n in range(count, fewest - 1, -1):
            yield ([*values[:n]],) if rule.sequence == 0 else values[:n]


def _short(x: Any) -> str:
    """Format numbers to four digits, and arrays as lists."""
    if isinstance(x, (tuple, list)):
        inside = ", ".join(map(_short, x))
        return f"({inside}{',' * (len(x) == 1)})" if isinstance(x, tuple) else f"[{inside}]"
    return str(np.round(x, 4).tolist()) if is_inexact(x) else str(x)
