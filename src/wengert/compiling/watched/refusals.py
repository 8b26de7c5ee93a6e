"""Refusals of what compiled code cannot do: an error, and arrays that raise it unless their ends alone are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import NotNativeError
from wengert.recording.recording import STATE
from wengert.values.structures import direct_parts, is_structure

ENTERED = "It indexes traced arrays."

KNOWN: tuple[Any, ...] = (0, -1, slice(-1, None))
"""The indices along the axis that are known."""


def refuse_native(reason: str) -> None:
    """Have the function that `wg.compile` traces now run uncompiled from its start, for a `reason`.

    User code cannot swallow the error.

    Parameters:
        reason (str): Words for the warning: "it reads the clock".
    Raises:
        NotNativeError: A trace is open.
    See Also:
        not_native

    Examples:
        >>> wg.extend.refuse_native("it reads the clock")  # outside of a trace this does nothing
    """
    if STATE.recording is not None:
        raise STATE.recording.refuse(NotNativeError(reason))


class KnownEnds(np.lib.mixins.NDArrayOperatorsMixin):
    """An array whose first and last item along an axis are known; where code reads another one, it runs uncompiled.

    Parameters:
        ends (array): The first and the last item, joined along the axis.
        whole (callable): A function that returns the array.
        reason (str): Words for the warning if code reads another item: "it reads the steps".
        axis (int): The axis.
    See Also:
        partly_known, refuse_native

    Examples:
        >>> wg.extend.KnownEnds(np.array([0.0, 2.0]), lambda: np.arange(3.0), "it reads the steps")[-1:]
        array([2.])
    """

    def __init__(self, ends: Any, whole: Callable[[], Any], reason: str, axis: int = -1) -> None:
        self._ends, self._whole, self._reason, self._axis = ends, whole, reason, axis % ends.ndim

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # what isinstance asks
        return np.ndarray

    @property
    def T(self) -> KnownEnds:
        return KnownEnds(np.transpose(self._ends), lambda: self._whole().T, self._reason, -1 - self._axis)

    def __getitem__(self, key: Any) -> Any:
        parts, count = key if type(key) is tuple else (key,), self._ends.ndim
        if parts and parts[0] is Ellipsis:
            parts = (slice(None),) * (count + 1 - len(parts)) + parts[1:]
        parts += (slice(None),) * (count - len(parts))
        if len(parts) == count and all([type(part) in (int, slice) for part in parts]):
            if parts[self._axis] in KNOWN:
                return self._ends[parts]
            if parts[self._axis] == slice(None):
                dropped = len([part for part in parts[: self._axis] if type(part) is int])
                axis = self._axis - dropped
                return KnownEnds(self._ends[parts], lambda: self._whole()[parts], self._reason, axis)
        return self.all()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.all()[key] = value

    def all(self) -> Any:
        """Return the whole array."""
        refuse_native(self._reason)
        return self._whole()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.all(), name)

    def __array__(self, *args: Any, **words: Any) -> Any:
        return np.array(self.all(), *args, **words)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **words: Any) -> Any:
        return getattr(ufunc, method)(*_as_arrays(inputs), **words)

    def __array_function__(self, f: Any, _: Any, args: Any, words: Any) -> Any:
        return f(*_as_arrays(args), **{name: _as_arrays(word) for name, word in words.items()})

    def __len__(self) -> int:
        return len(self._ends if self._axis else self.all())

    def __iter__(self) -> Any:
        return iter([self[k] for k in range(len(self._ends))] if self._axis else self.all())

    def __reduce__(self) -> Any:
        return np.array, (self.all(),)


def _as_arrays(value: Any) -> Any:
    """Return an argument with arrays for all KnownEnds in it."""
    if isinstance(value, tuple | list):
        return type(value)(map(_as_arrays, value))
    return value.all() if isinstance(value, KnownEnds) else value


def check_result(result: Any) -> None:
    """Have a function whose result holds a KnownEnds run uncompiled. Errors: NotNativeError."""
    stack, seen = [result], set[int]()
    while stack:
        thing = stack.pop()
        if isinstance(thing, KnownEnds):
            thing.all()
        elif id(thing) not in seen and is_structure(thing):
            seen.add(id(thing))
            stack.extend(direct_parts(thing))
