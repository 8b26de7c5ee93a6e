"""Products with the Jacobians of a traced function at one example after the other, by the code of its derivatives."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.api.batch_calls import BatchCall
from wengert.api.example_code import constants_of
from wengert.errors import WengertError
from wengert.recording.recording import silent
from wengert.values.sealed import Sealed


class JacobianProducts(Sealed):
    """Products with the Jacobians by the last batch, at each of its examples.

    `calls` compute groups of examples; example k is in group `group_of[k]`.
    Errors: WengertError or DiffersError, when it is made, if no code can be generated.
    """

    def __init__(self, calls: Sequence[BatchCall], group_of: np.ndarray, batches: Sequence[np.ndarray]) -> None:
        self._batches, self._group_of = batches, group_of
        self._groups = [(call, [copy.copy(constant) for constant in constants_of(call.program)]) for call in calls]
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
