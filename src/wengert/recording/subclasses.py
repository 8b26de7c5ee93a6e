"""Arrays of classes made from `np.ndarray`: a rule is that of plain arrays, and must meet no methods of their own.

What the methods of a class compute is followed, wherever NumPy calls them. What C makes of such arrays by itself is
what it makes of plain ones, shown as an array of the class, of which NumPy calls `__array_finalize__`. Where the engine
has an array made, to keep one, it is plain.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.recording.recording import C_ONLY_TYPES, Recording, silent, users_line
from wengert.recording.slots import flat
from wengert.values.callables import callable_name
from wengert.values.results import with_leaves
from wengert.values.specs import fresh, same_numbers


def is_of_subclass(a: Any) -> bool:
    """Whether `a` is an array of a class made from `np.ndarray`."""
    return type(a) not in C_ONLY_TYPES and type(a) is not np.ndarray and issubclass(type(a), np.ndarray)


def takes_over(a: Any) -> bool:
    """Whether `a` is such an array, whose class has methods in Python that NumPy calls instead of its functions."""
    return is_of_subclass(a) and any([name in space for space in _class_namespaces(a) for name in _TAKING_OVER])


_TAKING_OVER = ("__array_ufunc__", "__array_function__")


def has_own_methods(a: Any) -> bool:
    """Whether `a` is such an array, whose class answers in Python what arrays are asked."""
    if not is_of_subclass(a):
        return False
    return any(
        [
            type(f) is types.FunctionType and name in _ASKED
            for space in _class_namespaces(a)
            for name, f in space.items()
        ]
    )


_ASKED = set(dir(np.ndarray)) - set(dir(object)) - {"__array_finalize__"}


def _class_namespaces(a: Any) -> list[Any]:
    """Return the namespaces of the classes of an array, down to `np.ndarray`."""
    mro = type(a).__mro__
    return [vars(base) for base in mro[: mro.index(np.ndarray)]]


def plain(a: Any) -> Any:
    """Such an array as a plain one; anything else as it is."""
    return np.ndarray.view(a, np.ndarray) if is_of_subclass(a) else a  # `np.ma` has a view of its own


def viewed_plain(x: Any, call: Callable[..., Any]) -> Any:
    """Such an array, or those of a tuple of results, as plain ones, by `call(fn, *args)`."""
    if isinstance(x, tuple):
        return with_leaves(x, lambda _, part: viewed_plain(part, call))
    return call(np.ndarray.view, x, np.ndarray) if is_of_subclass(x) else x


def renewed(x: Any) -> Any:
    """A new object with the bits of x: a copy of a number; a view of an array, of its class and with its attributes."""
    if type(x) is np.ndarray:
        return x.view()
    if not isinstance(x, np.ndarray):
        return fresh(x)
    with silent():
        made = np.ndarray.view(x)
    if hasattr(x, "__dict__"):
        made.__dict__ = x.__dict__  # what is set on one is seen on the other
    return made


def of_plain(
    recording: Recording, fn: Callable[..., Any], value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a NumPy function, which gave `value` for such arrays, on plain ones: the same, or in another shape.

    Errors: RefusedCallError where it is something else.
    """
    made = _of_plain(fn, args, kwargs)
    if is_same(made, value):
        return value
    both = isinstance(made, (np.ndarray, np.generic)) and isinstance(value, np.ndarray) and made.size == value.size
    if both and same_numbers(made, plain(value).reshape(made.shape)):
        return made
    raise recording.refuse(_own_value(fn, args))


def _of_plain(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function on plain arrays; None where it raises."""
    try:
        with np.errstate(all="ignore"):
            return fn(*[type(a)(map(plain, a)) if type(a) in (list, tuple) else plain(a) for a in args], **kwargs)
    except Exception:
        return None


def is_same(made: Any, value: Any) -> bool:
    """Whether two results, numbers or arrays or tuples of these, are the same numbers, whatever their classes say."""
    if isinstance(made, tuple) and isinstance(value, tuple):
        return len(made) == len(value) and all(map(same_numbers, made, value))
    return made is not None and not isinstance(value, tuple) and same_numbers(made, value)


def _own_value(fn: Callable[..., Any], args: tuple[Any, ...]) -> RefusedCallError:
    names = " and ".join(sorted({type(a).__name__ for a in flat(args) if is_of_subclass(a)}))
    return RefusedCallError(
        f"{users_line()}: {callable_name(fn)} returns another result for {names} than for a plain array, to which "
        "its rule applies. Convert the argument first: np.asarray(x)."
    )
