"""The comparison of a gradient with differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.differences import copies, ngradient
from wengert.errors import ArgumentError, GradientCheckError
from wengert.gradient import quiet_gradients
from wengert.values.callables import callable_name, signature
from wengert.values.trees import Leaf, leaves
from wengert.wanted import refuse_swallowed

ENTERED = "It computes with the results of the user's function."


def _own_gradient(g: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    places = [k for k, x in enumerate(args) if leaves(x)]
    found = quiet_gradients(g, args, kwargs, tuple(places))
    table = dict(zip(places, found, strict=True))
    return tuple(table.get(k) for k in range(len(args)))


def check_grads(
    f: Callable[..., Any],
    *args: Any,
    gradient: Callable[..., tuple[Any, ...]] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    **kwargs: Any,
) -> float:
    """Compare the gradient of `f(*args, **kwargs)` with differences, and return the largest relative error.

    The result of `f` may have any shape: fixed random weights reduce it to one number. Each float and array among the
    arguments by position is checked; arguments by keyword are constants. `gradient(f, *args)` is another way to compute
    the gradient, to be checked in place of wengert's own; it returns a tuple with a gradient for each argument by
    position. `rtol` and `atol` are the relative and the absolute tolerance, by default eps^(1/3) and eps^(1/2) of each
    leaf's dtype.

    >>> wg.check_grads(np.sin, np.array([0.5, 2.0])) < 1e-9
    True

    Errors: GradientCheckError, which names the leaf, both numbers and their error; ArgumentError where there is
    nothing to check.
    """
    if not leaves(args):
        raise ArgumentError(
            f"check_grads has nothing to check: no float is among the arguments by position of {callable_name(f)}. "
            "A number to differentiate at is a float: 1.0; an argument by keyword is a constant."
        )
    refuse_swallowed(f, kwargs)
    g = _scalarised(f, args, kwargs)
    actual = (_own_gradient if gradient is None else gradient)(g, *args, **kwargs)
    expected = ngradient(g, *args, **kwargs)
    if not isinstance(actual, tuple) or len(actual) != len(args):
        raise GradientCheckError(f"expected a tuple of {len(args)} gradients, one per argument, got {actual!r}")
    worst = 0.0
    for name, x, found, wanted in zip(_names(f, len(args)), args, actual, expected, strict=True):
        found_at, wanted_at = dict(leaves(found, name)), dict(leaves(wanted, name))
        for path, leaf in leaves(x, name):
            if path not in found_at:
                raise GradientCheckError(f"there is no gradient at {path}: the gradient's structure differs")
            _check_form(path, found_at[path], leaf)
            worst = max(worst, _compare(path, found_at[path], wanted_at[path], rtol, atol))
        for path in sorted(found_at.keys() - wanted_at.keys()):
            raise GradientCheckError(f"there is a gradient at {path}, where the argument has no leaf")
    return worst


def _names(f: Callable[..., Any], count: int) -> list[str]:
    """The parameters' names, as far as they are known."""
    try:
        bound = signature(f).bind(*range(count)).arguments
    except (TypeError, ValueError):
        return [f"args[{i}]" for i in range(count)]
    names: list[str] = []
    for name, value in bound.items():
        names += [f"{name}[{i}]" for i in range(len(value))] if isinstance(value, tuple) else [name]
    return names


def _scalarised(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
    """f itself, or the sum of its result with fixed random weights."""
    result = np.asarray(f(*copies(args), **copies(kwargs)))
    if result.size == 1 and result.dtype.kind == "f":
        return f
    weights = np.random.default_rng(0).standard_normal(result.shape)
    if result.dtype.kind == "c":
        weights = weights + 1j * np.random.default_rng(1).standard_normal(result.shape)

    def weighted_sum(*args: Any, **kwargs: Any) -> Any:
        return np.sum(np.real(f(*args, **kwargs) * weights))

    return weighted_sum


def _check_form(path: str, found: Any, leaf: Leaf) -> None:
    """A gradient has its leaf's shape and dtype."""
    for what, has, needs in (
        ("shape", np.shape(found), np.shape(leaf)),
        ("dtype", np.asarray(found).dtype, np.asarray(leaf).dtype),
    ):
        if has != needs:
            raise GradientCheckError(f"the gradient at {path} has {what} {has}, the argument {needs}")


def _compare(path: str, found: Any, wanted: Any, rtol: float | None, atol: float | None) -> float:
    """The largest relative error at one leaf; raises where it is too large."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    if not wanted.size:
        return 0.0
    eps = float(np.finfo(wanted.dtype).eps)
    rtol = eps ** (1 / 3) if rtol is None else rtol
    atol = eps ** (1 / 2) if atol is None else atol
    with np.errstate(all="ignore"):
        gap = np.abs(found - wanted)
        relative = np.where(gap <= atol, 0.0, gap / np.abs(wanted))
        wrong = ~(gap <= atol + rtol * np.abs(wanted))  # so that a nan is wrong
    if not wrong.any():
        return float(relative.max())
    severity = np.where(wrong, np.nan_to_num(relative, nan=np.inf), -1.0)
    index = tuple(int(i) for i in np.unravel_index(int(severity.argmax()), severity.shape))
    at = path + (f"[{', '.join(map(str, index))}]" if index else "")
    raise GradientCheckError(
        f"the gradient disagrees with differences at {at}\n"
        f"    gradient:       {found[index]!s}\n"
        f"    differences:    {wanted[index]!s}\n"
        f"    relative error: {relative[index]:.2g}, allowed {rtol:.2g}\n"
        f"{int(wrong.sum())} of {wrong.size} numbers at {path} disagree"
    )
