"""Products with the Jacobians of a traced function at one example or point after the other, by generated code."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from wengert.api.batch_calls import BatchCall
from wengert.batching.play import DiffersError
from wengert.errors import NoDerivativeError, NoPathWarning, WengertError
from wengert.recording.recording import silent
from wengert.values.sealed import Sealed


class JacobianProducts(Sealed):
    """Products with the Jacobians by the last batch, at each of its examples.

    `calls` compute groups of examples; example k is in group `group_of[k]`.
    Errors: WengertError or DiffersError, when it is made, if no code can be generated.
    """

    def __init__(self, calls: Sequence[BatchCall], group_of: np.ndarray, batches: Sequence[np.ndarray]) -> None:
        self._batches, self._group_of = batches, group_of
        self._groups = [(call, _constants_now(call)) for call in calls]
        self._codes: dict[Any, Callable[..., Any]] = {}
        row = np.zeros((1, batches[-1].shape[1]))
        for group in range(len(calls)):
            k = int(np.argmax(group_of == group))
            for kind in ("push", "pull"):
                self._code(kind, group, self._args(k, row))

    def pushed(self, k: int, rows: np.ndarray) -> np.ndarray:
        """Return J ẏ at example k for each row ẏ."""
        return self._product("push", k, rows)

    def pulled(self, k: int, rows: np.ndarray) -> np.ndarray:
        """Return Jᵀ ȳ at example k for each row ȳ."""
        return self._product("pull", k, rows)

    def _args(self, k: int, rows: np.ndarray) -> list[Any]:
        batches = [batch[k : k + 1] for batch in self._batches]
        if len(rows) != 1:
            batches = [np.repeat(batch, len(rows), axis=0) for batch in batches]
        return [rows, *batches, *self._groups[self._group_of[k]][1]]

    def _product(self, kind: str, k: int, rows: np.ndarray) -> np.ndarray:
        args, group = self._args(k, rows), self._group_of[k]
        with silent():
            try:
                found = self._code(kind, group, args)(*args)
            except WengertError:
                found = np.array(np.nan)
            if not np.isfinite(found).all():  # products of zero and infinity
                found = self._function(kind, group)(*args)
        return np.reshape(found, rows.shape)

    def _function(self, kind: str, group: int) -> Callable[..., Any]:
        call = self._groups[group][0]
        of = (call.count - 1,)
        if kind == "push":
            push = call.push(of)
            return lambda dots, *args: push((dots,), *args)
        pull = call.pull(of)
        return lambda bars, *args: pull(bars, *args)[0]

    def _code(self, kind: str, group: int, args: Sequence[Any]) -> Callable[..., Any]:
        """Return the code of a product for so many rows."""
        key = kind, group, len(args[0])
        if key not in self._codes:
            code = self._groups[group][0].code
            with silent():
                self._codes[key] = code.generated(self._function(kind, group), ("product", kind), args)
        return self._codes[key]


class PointProducts(Sealed):
    """Products with the Jacobians of a traced function by all its arguments: batches, and the constants that it reads.

    Errors: NoDerivativeError if the function takes other branches there than in its trace.
    """

    def __init__(self, call: BatchCall) -> None:
        self._call, self.constants = call, _constants_now(call)
        self._codes: dict[Any, Callable[..., Any]] = {}

    def pushed(self, tangents: Mapping[int, np.ndarray], args: Sequence[Any]) -> np.ndarray:
        """Return the tangents of the results, for the tangents of arguments by place, with directions in front."""
        places = tuple(tangents)
        count = len(tangents[places[0]])
        return self._run(self._call.push(places, count), ("push", places, count), (tuple(tangents.values()), *args))

    def pulled(self, y_bar: np.ndarray, args: Sequence[Any], places: tuple[int, ...]) -> Any:
        """Return the cotangents of the arguments at some places."""
        return self._run(self._call.pull(places), ("pull", places), (y_bar, *args))

    def pulled_in_blocks(self, y_bar: np.ndarray, args: Sequence[Any], places: tuple[int, ...]) -> list[Any]:
        """Return the same for a large batch."""
        return _on_same_branch(self._call.pulled, y_bar, args, places)

    def pushed_in_blocks(self, tangents: Sequence[Any], args: Sequence[Any]) -> np.ndarray:
        """Return the tangents of the results of a large batch, for those of all arguments; None stands for zeros."""
        return _on_same_branch(self._call.pushed, tangents, args)

    def _run(self, f: Callable[..., Any], kind: Any, args: Sequence[Any]) -> Any:
        """Return `f(*args)` by code; interpret f if that fails, or for products of zero and infinity."""
        code = self._codes.get(kind) or self._codes.setdefault(kind, self._generated(f, kind, args))
        try:
            found = code(*args)
            if all([np.isfinite(part).all() for part in (found if isinstance(found, tuple | list) else [found])]):
                return found
        except WengertError:
            pass
        return _on_same_branch(f, *args)

    def _generated(self, f: Callable[..., Any], kind: Any, args: Sequence[Any]) -> Callable[..., Any]:
        """Return the code of f, or f itself if there is none."""
        try:
            return _on_same_branch(self._call.code.generated, f, kind, args)
        except WengertError:
            return partial(_on_same_branch, f)


def _constants_now(call: BatchCall) -> list[Any]:
    """Return copies of the constants of a program."""
    return [copy.copy(constant) for constant in call.code.constants_of(call.program)]


def _on_same_branch(f: Callable[..., Any], *args: Any) -> Any:
    """Return `f(*args)`, without warnings of results that depend on no argument. Errors: NoDerivativeError."""
    try:
        with warnings.catch_warnings(action="ignore", category=NoPathWarning):
            return f(*args)
    except DiffersError:
        raise NoDerivativeError(
            "wg.ode_adjoint: the right-hand side takes other branches than at the start, which only the discrete "
            'derivative supports. Use ode_adjoint("discrete"), or np.where instead of if.'
        ) from None
