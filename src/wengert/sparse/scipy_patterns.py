"""Sparsity rules for functions of SciPy: products of a sparse matrix and recursive filters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.sparse.dependences import Dependences, RuleDoesNotApply, united_by
from wengert.values.names import home_of

PatternRule = Callable[[Dependences, tuple[Any, ...], Any], Any]
"""A function of the dependences, the arguments of a call and its recorded result."""


def pattern_rule_of(fn: Any) -> PatternRule | None:
    """Return the sparsity rule of a function, by its name: SciPy may not be installed."""
    return _BY_NAME.get(f"{home_of(fn).partition('.')[0]}.{getattr(fn, '__name__', '')}")


def _by_rows(deps: Dependences, args: tuple[Any, ...], result: Any) -> Any:
    return _matrix_product(deps, args, result, is_by_rows=True)


def _by_columns(deps: Dependences, args: tuple[Any, ...], result: Any) -> Any:
    return _matrix_product(deps, args, result, is_by_rows=False)


def _matrix_product(deps: Dependences, args: tuple[Any, ...], result: Any, is_by_rows: bool) -> Any:
    """Unite, for each element of a CSR or CSC matrix, the sets of this element and of the row that it multiplies."""
    shape, indptr, indices, data, x = args
    if any(deps.known(arg) is not None for arg in (shape, indptr, indices)):
        raise RuleDoesNotApply
    starts, inner = deps.value(indptr), deps.value(indices)
    outer = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    rows, columns = (outer, inner) if is_by_rows else (inner, outer)
    width = result.size // max(len(result), 1)
    of_data = np.reshape(deps.array(data), (-1, 1))
    members = deps.sets.union(of_data, np.reshape(deps.array(x), (-1, width))[columns])
    groups = rows[:, np.newaxis] * width + np.arange(width)
    return deps.sets.unions(groups.ravel(), members.ravel(), result.size).reshape(result.shape)


def _filter(deps: Dependences, args: tuple[Any, ...], result: Any) -> Any:
    """Let an element of a filtered signal depend on the signal up to there, within the filter's reach if it has one."""
    b, a, x, axis, zi = (*args, -1, None)[:5] if len(args) == 3 else (*args, None)[:5]
    if any(deps.known(arg) is not None for arg in (b, a, axis)):
        raise RuleDoesNotApply
    axis, signal = deps.value(axis), deps.array(x)
    signal = np.moveaxis(signal, axis, 0)
    n, taps = len(signal), np.atleast_1d(deps.value(b))
    lag = np.subtract.outer(np.arange(n), np.arange(n))
    is_recursive = np.any(np.atleast_1d(deps.value(a))[1:])
    reaches = lag >= np.flatnonzero([*taps, 1])[0] if is_recursive else np.isin(lag, np.flatnonzero(taps))
    values = united_by(deps, reaches, signal)
    if zi is None:
        return np.moveaxis(values, 0, axis)
    state = np.moveaxis(np.broadcast_to(deps.array(zi), np.shape(result[1])), axis, 0)
    before = united_by(deps, np.ones((1, len(state))), state)
    whole = deps.sets.union(united_by(deps, np.ones((1, n)), signal), before)
    final = np.broadcast_to(whole, state.shape).copy()
    return [np.moveaxis(deps.sets.union(values, before), 0, axis), np.moveaxis(final, 0, axis)]


_BY_NAME: dict[str, PatternRule] = {
    "wengert_rules.by_rows": _by_rows,
    "wengert_rules.by_columns": _by_columns,
    "scipy.lfilter": _filter,
}
