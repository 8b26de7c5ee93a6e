"""Functions that the generated variants of rules call at run time."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import RuleError
from wengert.values.cotangents import Thunk, force
from wengert.values.results import with_leaves
from wengert.values.specs import is_complex
from wengert.values.trees import is_container

ENTERED = "Pullbacks compute with it, also on values that an outer derivative watches."


def times(y_bar: Any, p: Any) -> Any:
    """Return ȳ · conj(∂y/∂x), with the partial `p` for ∂y/∂x: the pullback of an elementwise function.

    Parameters:
        y_bar (float | array): The cotangent ȳ.
        p (float | array): The partial ∂y/∂x.
    Returns:
        float | array: The cotangent of x.
    See Also:
        partials, adjoint

    Examples:
        >>> wg.extend.times(np.array([1.0, 2.0]), 3.0)  # `y_bar`, `p`
        array([3., 6.])
    """
    if isinstance(p, Thunk):
        p = force(p)
    return y_bar * np.conj(p) if is_complex(p) else y_bar * p


def whole(
    function: Callable[..., Any],
    multiply: Callable[[Any, Any], Any] | None,
    wanted: tuple[bool, ...],
    most: int,
    asked: dict[str, Any],
) -> Callable[..., tuple[Any, ...]]:
    """Return the pullback that calls a whole `function`, and drops those of its `most` results that are not `wanted`.

    `asked` are further keyword arguments. `multiply(y_bar, p)` is for a function of partials, and None otherwise.
    """

    def call(y_bar: Any, y: Any, *args: Any, **static: Any) -> tuple[Any, ...]:
        static |= asked
        got = function(y, *args, **static) if multiply else function(y_bar, y, *args, **static)
        if not isinstance(got, (tuple, list)):
            got = (got,)
        if len(got) > most:
            raise RuleError(
                f"{function.__name__} returned {len(got)} results for {len(wanted)} arguments. Return one for each"
            )
        cotangents: list[Any] = []
        for i in range(len(wanted)):
            if not wanted[i] or i >= len(got) or got[i] is None:
                cotangents.append(None)
            else:
                cotangents.append(multiply(y_bar, got[i]) if multiply else got[i])
        return tuple(cotangents)

    return call


def whole_sum(
    function: Callable[..., Any], wanted: tuple[bool, ...], multiply: Callable[[Any, Any], Any] = operator.mul
) -> Callable[..., Any]:
    """Return `(tangents, y, *args) -> ẏ`, which calls a whole `function` of partials: Σ pₖ ẋₖ over the `wanted`."""

    def call(tangents: Any, y: Any, *args: Any, **static: Any) -> Any:
        got = function(y, *args, **static)
        terms = zip(got if isinstance(got, (tuple, list)) else (got,), tangents, wanted, strict=False)
        found = [multiply(tangent, p) for p, tangent, want in terms if want and p is not None]
        return functools.reduce(operator.add, found) if found else None

    return call


def own(x: Any) -> Any:
    """Copy a cotangent and its arrays, so that a body may write into them."""
    if isinstance(x, np.ndarray):
        return x.copy(order="K")
    if isinstance(x, tuple):
        return tuple.__new__(type(x), [own(part) for part in x])
    if type(x) is dict:  # of the parts of a result that were used
        return {key: own(part) for key, part in x.items()}
    return with_leaves(x, lambda _, leaf: own(leaf)) if is_container(x) else x


def given_own(call: Callable[..., Any], place: int = 0) -> Callable[..., Any]:
    """Wrap the function `call`, so that it gets a copy of the cotangent at position `place` and may write into it."""

    @functools.wraps(call)
    def call_with_own(*args: Any, **static: Any) -> Any:
        return call(*args[:place], own(args[place]), *args[place + 1 :], **static)

    return call_with_own


def apart(call: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function `call` of a body that may write into ȳ, or later into its result: copy both."""
    call = given_own(call)

    @functools.wraps(call)
    def call_apart(*args: Any, **static: Any) -> Any:
        return own(call(*args, **static))

    return call_apart


def retrying(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function `(error, *args)` that calls `call` with NumPy's floats for Python's, or raises `error`."""

    def retry(error: ArithmeticError, *args: Any, **static: Any) -> Any:
        if not any(type(a) in _REAL for a in args):
            raise error
        return call(*[_numpy_float(a) if type(a) in _REAL else a for a in args], **static)

    return retry


_REAL = {float, int, bool}


def _numpy_float(number: Any) -> Any:
    """Return NumPy's float nearest to a number: infinity for an integer beyond all floats."""
    try:
        return np.float64(number)
    except OverflowError:
        return np.float64(math.copysign(math.inf, number))
