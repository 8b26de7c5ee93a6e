"""ProjectTo: bring a cotangent to its primal's shape, dtype and realness, on behalf of all rules."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import RuleError
from wengert.values.cotangents import AbstractTangent, NoTangent, Tangent, Thunk, ZeroTangent, force, is_zero
from wengert.values.specs import Spec, has_dtype, is_complex, is_inexact, spec_of

ENTERED = "Pullbacks call this module, also with values that an outer derivative traces."


def plainly(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return `fn(*args, **kwargs)`: a `call` for derivatives that no outer derivative records."""
    return fn(*args, **kwargs)


def unbroadcast(x_bar: Any, shape: tuple[int, ...], call: Callable[..., Any] = plainly) -> Any:
    """Apply the transpose of broadcasting from `shape`: sum over the axes that it added or stretched.

    A store also removes leading axes of length 1 from what it stores.
    """
    have = np.shape(x_bar)
    if have == shape:
        return x_bar
    lead = len(have) - len(shape)
    if lead == 1 and have[1:] == shape:  # a bias: the most frequent case, in half the time
        return call(x_bar.sum, axis=0)
    if lead < 0:
        if any([n != 1 for n in shape[:-lead]]):
            raise RuleError(_misfit(have, shape))
        return call(np.reshape, unbroadcast(x_bar, shape[-lead:], call), shape)
    axes = list(range(lead))
    for axis, n in enumerate(shape, lead):
        if have[axis] != n:
            if n != 1:
                raise RuleError(_misfit(have, shape))
            axes.append(axis)
    total = call(x_bar.sum, axis=tuple(axes))
    return total if np.shape(total) == shape else call(np.reshape, total, shape)


class ProjectTo:
    """A projection of cotangents onto the shape, dtype and realness of `x`: `ProjectTo(x)(x_bar)`.

    The engine projects the results of rules, so a rule may ignore broadcasting and dtypes. A certain zero becomes
    ZeroTangent. The value of a thunk is projected when it is computed.

    Parameters:
        x (float | array): The argument. Only its shape and dtype are kept.
        broadcasts (bool): Sum the axes along which x was stretched; otherwise only axes of length 1 may be added or
            removed.
    Raises:
        RuleError: When it is called: the shapes do not fit.
    See Also:
        rrule, Tangent

    Examples:
        >>> wg.ProjectTo(np.ones(2))(np.array([[1j, 2.0], [3.0, 4.0]]))
        array([3., 6.])
    """

    __slots__ = ("broadcasts", "spec")

    def __init__(self, x: Any, broadcasts: bool = True) -> None:
        self.spec = spec_of(x) if is_inexact(x) else None
        self.broadcasts = broadcasts

    def __call__(self, x_bar: Any) -> Any:
        spec = self.spec
        if spec is None:
            return NoTangent()
        if x_bar is None or is_zero(x_bar):
            return ZeroTangent()
        if isinstance(x_bar, Thunk):
            return Thunk(lambda: project(x_bar, spec, self.broadcasts))
        return project(x_bar, spec, self.broadcasts)

    def __repr__(self) -> str:
        return f"ProjectTo({self.spec})"


def project(x_bar: Any, spec: Spec, broadcasts: bool = True, call: Callable[..., Any] = plainly) -> Any:
    """Bring the cotangent `x_bar` to the shape, dtype and realness of `spec`; return itself if nothing changes.

    A thunk is evaluated. Axes of length 1 may be added or removed; with `broadcasts`, other axes are summed.
    `call` makes the calls that compute, so that an outer derivative can record them.
    Errors: RuleError if the shapes do not fit.
    """
    if isinstance(x_bar, np.ndarray):
        if x_bar.dtype == spec.dtype and x_bar.shape == spec.shape != ():
            return x_bar
    elif isinstance(x_bar, AbstractTangent):
        x_bar = call(_number, x_bar, spec)
    if np.shape(x_bar) != spec.shape:
        x_bar = _to_shape(x_bar, spec.shape, broadcasts, call)
    if spec.dtype.kind != "c" and is_complex(x_bar):
        x_bar = call(np.real, x_bar)
    return _to_dtype(x_bar, spec, call)


def _number(x_bar: Any, spec: Spec) -> Any:
    """Convert a cotangent other than an array to an array or a number."""
    x_bar = force(x_bar)
    if is_zero(x_bar) or x_bar is None:
        return np.zeros(spec.shape, spec.dtype) if spec.shape else 0.0
    if isinstance(x_bar, Tangent):
        raise RuleError(f"the cotangent of a number or an array must be a number or an array, not {x_bar!r}")
    return x_bar


def _to_shape(x_bar: Any, shape: tuple[int, ...], broadcasts: bool, call: Callable[..., Any]) -> Any:
    have = np.shape(x_bar)
    if [n for n in have if n != 1] == [n for n in shape if n != 1]:
        return call(np.reshape, x_bar, shape)
    if not broadcasts:
        raise RuleError(_misfit(have, shape))
    return unbroadcast(x_bar, shape, call)


def _to_dtype(x_bar: Any, spec: Spec, call: Callable[..., Any]) -> Any:
    if spec.dtype.kind in "fc":
        if not has_dtype(x_bar):  # a Python number
            return x_bar if isinstance(x_bar, spec.pytype) else call(_number_of_dtype, x_bar, spec.dtype)
        if x_bar.dtype != spec.dtype:
            x_bar = call(x_bar.astype, spec.dtype)
    if not spec.shape and not issubclass(spec.pytype, np.ndarray) and isinstance(x_bar, np.ndarray):
        return call(operator.getitem, x_bar, ())  # the cotangent of a number is a number
    return x_bar


def _number_of_dtype(x: Any, dtype: np.dtype) -> Any:
    return np.asarray(x, dtype)[()]


def _misfit(have: tuple[int, ...], shape: tuple[int, ...]) -> str:
    return f"a cotangent of shape {have} does not fit an argument of shape {shape}. Return one of that shape"
