"""Native code for functions in Python: each is run on stand-ins for arrays, which emit each operation on them."""

from __future__ import annotations

import functools
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.native.scipy_linalg import INSTEAD_BY_MODULE
from wengert.compiling.native.sequences import emit_convolution
from wengert.compiling.native.stand_ins import Emitted, natives_of, stand_in
from wengert.compiling.native.values import Splat, UnsupportedOp, is_known_whole, is_native_array
from wengert.compiling.ops import info
from wengert.tape.ops import Call
from wengert.values.callables import TOLD_APART

MOST_SHIFTS = 16  # that are written out


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    if b is not None or return_sign:
        raise UnsupportedOp("weights of logsumexp")
    top = np.max(a, axis=axis, keepdims=True)
    is_top, powers = a == top, np.exp(a - np.where(np.isfinite(top), top, 0.0))
    n = np.sum(np.where(is_top, 1.0, 0.0), axis=axis, keepdims=True)
    total = np.log1p(np.sum(np.where(is_top, 0.0, powers), axis=axis, keepdims=True) / n) + np.log(n) + top
    return total if keepdims else np.sum(total, axis=axis)


def softmax(x: Any, axis: Any = None) -> Any:
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return powers / np.sum(powers, axis=axis, keepdims=True)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    axis = 0 if axis is None and a.ndim == 1 else axis
    for k, by in zip(*[x if isinstance(x, tuple) else (x,) for x in (axis, shift)], strict=True):
        n, before = a.shape[k], (slice(None),) * (k % a.ndim)
        first = n - by % n if n else 0
        a = np.concatenate([a[(*before, slice(first, n))], a[(*before, slice(0, first))]], axis=k)
    return a


def flip(m: Any, axis: Any = None) -> Any:
    axes = range(m.ndim) if axis is None else [k % m.ndim for k in (axis if isinstance(axis, tuple) else (axis,))]
    return m[tuple([slice(None, None, -1 if k in axes else 1) for k in range(m.ndim)])]


def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    if a.ndim != 1 or not isinstance(repeats, (int, np.integer)):
        raise UnsupportedOp("np.repeat but of the elements of a vector, each as often")
    return a[np.repeat(np.arange(a.shape[0]), repeats)]


def any_of(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.sum(np.where(a, 1.0, 0.0), axis=axis, keepdims=keepdims) > 0.0


def all_of(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.sum(np.where(a, 0.0, 1.0), axis=axis, keepdims=keepdims) == 0.0


def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    if a.ndim == 0 or dtype not in (None, float, a.dtype) or a.dtype != np.float64:
        raise UnsupportedOp("np.ascontiguousarray with these arguments")
    return a.apply(np.array, a)


def arange(start: Any, stop: Any, step: Any = 1.0) -> Any:
    """The native function fails for another number of elements."""
    emitted: Any = next(x for x in (start, stop, step) if isinstance(x, Emitted))
    known = [float(x.val if isinstance(x, Emitted) else x) for x in (start, stop, step)]
    n = len(np.arange(*known))
    count = np.ceil((stop - start) / step)
    emitted.body.level.guard(f"{{0}} != {float(n)}", count.native)
    return np.arange(float(n)) * step + start


def linspace(start: Any, stop: Any, num: int = 50) -> Any:
    """The last number is `stop` itself."""
    steps = np.arange(float(num))
    return np.where(steps < num - 1, steps * ((stop - start) / max(num - 1, 1)) + start, stop if num > 1 else start)


def interp(x: Any, xp: Any, fp: Any) -> Any:
    n = xp.shape[0]
    k = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, max(n - 2, 0))
    left, after = xp[k], np.minimum(k + 1, n - 1)
    inside = (fp[after] - fp[k]) / (xp[after] - left) * (x - left) + fp[k]
    return np.where(x < xp[0], fp[0], np.where(x >= xp[n - 1], fp[n - 1], inside))


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    indices = indices.array if is_known_whole(indices) else None
    if axis is None or indices is None or indices.ndim != arr.ndim:
        raise UnsupportedOp("np.take_along_axis with these arguments")
    places: list[Any] = np.indices(indices.shape, sparse=True)  # type: ignore[assignment]
    return arr[tuple([indices if k == axis % arr.ndim else at for k, at in enumerate(places)])]


def clip(a: Any, a_min: Any = None, a_max: Any = None) -> Any:
    a = a if a_min is None else np.maximum(a, a_min)
    return a if a_max is None else np.minimum(a, a_max)


def vander(x: Any, N: Any = None, increasing: Any = False) -> Any:
    powers = [np.ones(x.shape)]
    for _ in range((x.shape[0] if N is None else N) - 1):
        powers.append(powers[-1] * x)
    return np.stack(powers if increasing else powers[::-1], axis=1)


def cross(a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None) -> Any:
    is_last = axis == -1 or (axis is None and {axisa, axisb, axisc} == {-1})
    if not is_last or {a.shape[-1:], b.shape[-1:]} != {(3,)}:
        raise UnsupportedOp("np.cross but of vectors of three numbers along the last axis")
    (a0, a1, a2), (b0, b1, b2) = ([x[..., k] for k in range(3)] for x in (a, b))
    return np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1)


def inverse_by_solve(a: Any) -> Any:
    return np.linalg.solve(a, np.eye(a.shape[-1]))


def pseudo_inverse(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = 1e-15) -> Any:
    rcond = rtol if rcond is None else rcond
    rcond = max(a.shape[-2:]) * np.finfo(np.float64).eps if rcond is None else rcond
    u, s, vt = np.linalg.svd(a, full_matrices=False, hermitian=hermitian)
    is_large = s > rcond * np.max(s, axis=-1, keepdims=True)
    inverses = np.where(is_large, 1.0 / np.where(is_large, s, 1.0), 0.0)
    return np.matmul(np.swapaxes(vt, -1, -2), inverses[..., None] * np.swapaxes(u, -1, -2))


def tril(m: Any, k: Any = 0) -> Any:
    return np.where(np.tri(m.shape[-2], m.shape[-1], k, dtype=bool), m, 0.0)


def triu(m: Any, k: Any = 0) -> Any:
    return np.where(np.tri(m.shape[-2], m.shape[-1], k - 1, dtype=bool), 0.0, m)


def smallest(array: Any, axis: Any = 0) -> Any:
    return np.min(_stacked(array), axis=axis)


def largest(array: Any, axis: Any = 0) -> Any:
    return np.max(_stacked(array), axis=axis)


def _stacked(array: Any) -> Any:
    return np.stack(array) if isinstance(array, (list, tuple)) else array


def share_of(cotangent: Any, factor: Any, both: bool = False) -> Any:
    counts = (cotangent != 0.0) & (factor != 0.0) if both else cotangent != 0.0
    return np.where(counts, cotangent * factor, 0.0)


def others_product(a: Any) -> Any:
    """For each place the product of all others; rules divide the product of all where that loses nothing."""
    one = np.ones((*a.shape[:-1], 1))
    before = np.concatenate([one, np.cumprod(a[..., :-1], a.ndim - 1)], axis=-1)
    after = np.concatenate([one, np.cumprod(a[..., :0:-1], a.ndim - 1)], axis=-1)
    return before * after[..., ::-1]


def median(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    if a.ndim != 1 or keepdims:
        raise UnsupportedOp("np.median but of a vector")
    n, rising = a.shape[0], np.sort(a)
    return rising[n // 2] if n % 2 else (rising[n // 2 - 1] + rising[n // 2]) / 2.0


def nanvar(a: Any, axis: Any = None, *, ddof: Any = 0, keepdims: bool = False) -> Any:
    squares, freedom = _squares_of_deviations(a, axis, ddof, keepdims, np.logical_not(np.isnan(a)))
    return squares / np.where(freedom > 0.0, freedom, np.nan)


def nanstd(a: Any, axis: Any = None, **kwargs: Any) -> Any:
    return np.sqrt(nanvar(a, axis, **kwargs))


def var(a: Any, axis: Any = None, *, ddof: Any = 0, keepdims: bool = False, where: Any = True) -> Any:
    squares, freedom = _squares_of_deviations(a, axis, ddof, keepdims, where)
    return squares / np.maximum(freedom, 0.0)


def std(a: Any, axis: Any = None, **kwargs: Any) -> Any:
    return np.sqrt(var(a, axis, **kwargs))


def _squares_of_deviations(a: Any, axis: Any, ddof: Any, keepdims: bool, where: Any) -> tuple[Any, Any]:
    """Return the sums of the squares of deviations from the mean, and their degrees of freedom."""
    deviations = np.where(where, a - np.mean(a, axis=axis, keepdims=True, where=where), 0.0)
    counts = np.sum(np.where(where, np.ones(a.shape), 0.0), axis=axis, keepdims=keepdims)
    return np.sum(deviations * deviations, axis=axis, keepdims=keepdims), counts - ddof


def inner(a: Any, b: Any) -> Any:
    if np.ndim(a) < 1 or not 0 < np.ndim(b) <= 2:
        raise UnsupportedOp("np.inner of these arrays")
    return np.matmul(a, b if np.ndim(b) == 1 else np.transpose(b))


def hstack(tup: Any) -> Any:
    return np.concatenate(tup, axis=0 if np.ndim(tup[0]) == 1 else 1)


def vstack(tup: Any) -> Any:
    return np.stack(tup) if np.ndim(tup[0]) == 1 else np.concatenate(tup, axis=0)


def tile(A: Any, reps: Any) -> Any:
    if A.ndim != 1 or not isinstance(reps, (int, np.integer)) or reps < 1:
        raise UnsupportedOp("np.tile but of a vector")
    return np.concatenate([A] * int(reps))


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Add up shifted arrays, one for each element of the shorter one."""
    (n, a), (m, v) = sorted([(np.size(x), x) for x in (a, v)], key=lambda pair: -pair[0])
    if mode not in ("full", "same", "valid"):
        raise UnsupportedOp("np.convolve with this mode")
    first, count = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n), "valid": (m - 1, n - m + 1)}[mode]
    if m > MOST_SHIFTS:
        body, long, short = natives_of(a, v)
        return Emitted(body, emit_convolution(body, long, short), np.zeros(n + m - 1))[first : first + count]
    terms = [np.concatenate([np.zeros(j), v[j] * a, np.zeros(m - 1 - j)])[first : first + count] for j in range(m)]
    return functools.reduce(operator.add, terms)


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    return convolve(a, v[::-1], mode) if np.size(a) >= np.size(v) else convolve(v, a[::-1], mode)[::-1]


_INSTEAD: dict[Any, Callable[..., Any]] = {
    np.roll: roll, np.flip: flip, np.repeat: repeat, np.any: any_of, np.all: all_of, np.linspace: linspace,
    np.arange: arange,
    np.interp: interp, np.take_along_axis: take_along_axis, np.minimum.reduce: smallest, np.maximum.reduce: largest,
    np.clip: clip, np.ndarray.clip: clip, np.vander: vander, np.cross: cross, np.linalg.inv: inverse_by_solve,
    np.linalg.pinv: pseudo_inverse, np.tril: tril, np.triu: triu, np.median: median, np.inner: inner, np.hstack: hstack,
    np.ascontiguousarray: ascontiguousarray, np.ndarray.any: any_of, np.ndarray.all: all_of,
    np.vstack: vstack, np.tile: tile, np.convolve: convolve, np.correlate: correlate,
    np.nanvar: nanvar, np.nanstd: nanstd,
    np.var: var, np.ndarray.var: var, np.std: std, np.ndarray.std: std,
}  # fmt: skip

_INSTEAD_BY_MODULE: dict[str, dict[str, Callable[..., Any]]] = {
    "wengert_rules.recurrences": {"share": share_of, "products_of_others": others_product},
    "scipy.special": {"logsumexp": logsumexp, "softmax": softmax},
    **INSTEAD_BY_MODULE,
}
"""Functions to run instead of others, and of those of SciPy and of rules by module: none is imported for them."""


def expansion(fn: Any) -> Any:
    """Return a pure function in Python of NumPy operations that computes the same as another; None if there is none."""
    name = getattr(fn, "__name__", "")
    for module, instead in _INSTEAD_BY_MODULE.items():
        if name in instead and getattr(sys.modules.get(module), name, None) is fn:
            return instead[name]
    if isinstance(fn, types.FunctionType) and fn.__module__.startswith("wengert_rules.") and not info(fn).name:
        return fn
    return _INSTEAD.get(fn) if type(fn) in TOLD_APART else None


def emit_expansion(body: Any, op: Call, function: Callable[..., Any], args: list[Any]) -> Any:
    """Emit a call by running a function in Python on stand-ins for the arrays and numbers among the arguments."""
    given = [stand_in(body, x, recorded) for x, recorded in zip(args, op.args, strict=True)]
    words = {name: stand_in(body, body.value(x), x) for name, x in op.kwargs.items()}
    try:
        found = function(*given, **words)
    except (AttributeError, TypeError, ValueError) as error:
        raise UnsupportedOp(f"{function.__name__} with these arguments") from error
    if isinstance(op.val, tuple):
        if type(found) is not tuple or len(found) != len(op.val):
            raise UnsupportedOp(f"{function.__name__} with these arguments")
        return tuple([_native_result(function, part, val) for part, val in zip(found, op.val, strict=True)])
    return _native_result(function, found, op.val)


def _native_result(function: Callable[..., Any], found: Any, val: Any) -> Any:
    """Return the native value of what a function gave; a constant as it is."""
    if type(found) is type(val) and isinstance(val, bool) and found == val:
        return val
    if not isinstance(found, Emitted) or found.shape != np.shape(val):
        raise UnsupportedOp(f"{function.__name__} with these arguments")
    is_array = is_native_array(found.native)
    if isinstance(val, np.ndarray) and not is_array:
        return Splat(found.native, ())
    return found.body.item(found.native) if is_array and not isinstance(val, np.ndarray) else found.native
