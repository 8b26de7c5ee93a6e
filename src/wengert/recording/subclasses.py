"""Arrays of classes made from `np.ndarray`: a rule is that of plain arrays, and must meet no methods of their own.

NumPy calls `__array_finalize__` of each array that is made, and `__array_wrap__` of results. Where the user's code has
an array made, these are traced; where the engine does, to keep one, they are not: it keeps plain arrays. What
`__array_ufunc__` and `__array_function__` make of a call that has a rule is recorded as that call, if it is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.recording.decisions import decided
from wengert.recording.recording import PLAIN, Recording, here, silent
from wengert.recording.rule_reads import reads_traced
from wengert.recording.slots import flat
from wengert.values.callables import callable_name
from wengert.values.names import home_of
from wengert.values.specs import fresh, same_numbers
from wengert.values.views import owner_of


def is_of_subclass(a: Any) -> bool:
    """Whether `a` is an array of a class made from `np.ndarray`."""
    return type(a) not in PLAIN and type(a) is not np.ndarray and issubclass(type(a), np.ndarray)


def is_called_back(a: Any) -> bool:
    """Whether `a` is such an array, whose class has methods in Python that NumPy calls."""
    return _defines(a, (*_TAKING_OVER, "__array_finalize__", "__array_wrap__"))


def computes(a: Any) -> bool:
    """Whether `a` is such an array, whose class has methods in Python, not NumPy's, that make what a call gives."""
    return _defines(a, (*_TAKING_OVER, "__array_wrap__"), "numpy")


def takes_over(a: Any) -> bool:
    """Whether `a` is such an array, whose class has methods in Python that NumPy calls instead of its functions."""
    return _defines(a, _TAKING_OVER)


_TAKING_OVER = ("__array_ufunc__", "__array_function__")


def _defines(a: Any, names: tuple[str, ...], but: str = "") -> bool:
    if not is_of_subclass(a):
        return False
    own = type(a).__mro__[: type(a).__mro__.index(np.ndarray)]
    return any([name in vars(base) for base in own for name in names if home_of(base).partition(".")[0] != but])


def run_by_numpy(recording: Recording, fn: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
    """What runs a function of such arrays: what they take over is recorded as one call, not as what it consists of.

    Refused where methods of theirs can read traced values, from which they may make what they give.
    """
    for a in filter(computes, flat(args)):
        if reads_traced(recording, (getattr(a, "__dict__", None), type(a))):
            raise recording.refuse(
                RefusedCallError(
                    f"{here()}: {callable_name(fn)} is taken over by {type(a).__name__}, an array whose attributes "
                    "or class lead to traced values: what becomes of these cannot be seen. Convert it first: "
                    "np.asarray(x)."
                )
            )
    if not any(map(takes_over, flat(args))):
        return fn

    def run(*given: Any, **words: Any) -> Any:
        with silent():
            return fn(*given, **words)

    return run


def plain(a: Any) -> Any:
    """Such an array as a plain one; anything else as it is."""
    return np.ndarray.view(a, np.ndarray) if is_of_subclass(a) else a  # `np.ma` has a view of its own


def renewed(x: Any) -> Any:
    """A new object with the bits of x: a copy of a number; a view of an array, of its class and with its attributes."""
    if type(x) is np.ndarray:
        return x.view()
    if not isinstance(x, np.ndarray):
        return fresh(x)
    with silent():
        made = x.view()
    if hasattr(x, "__dict__"):
        made.__dict__ = x.__dict__  # what is set on one is seen on the other
    return made


def refuse_own_value(
    recording: Recording, fn: Callable[..., Any], value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Refuse what a function of NumPy gave of such arrays, by methods of theirs, if it is not what plain ones give."""
    if not _is_of_plain(value, fn, args, kwargs):
        raise recording.refuse(_own_value(fn, args))


def guard_as_plain(recording: Recording, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Guard that a function gives of such arrays what it gives of plain ones: methods of theirs may decide by numbers.

    A tape plays with plain arrays where these were made by calls: they are given their classes again.
    """
    if recording.keep and any(map(computes, flat(args))):
        decided(recording, partial(_is_as_plain, fn, _likes(args)), args, True, kwargs)


def _likes(a: Any) -> Any:
    """The class and the attributes of such an array; of a list or tuple, those of its items."""
    if type(a) in (list, tuple):
        return [*map(_likes, a)]
    return (type(a), dict(getattr(a, "__dict__", {}))) if is_of_subclass(a) else None


def _is_as_plain(fn: Callable[..., Any], likes: Any, *args: Any, **kwargs: Any) -> bool:
    with silent():
        value = fn(*[_made_like(a, like) for a, like in zip(args, likes, strict=True)], **kwargs)
        return _is_of_plain(value, fn, args, kwargs)


def _made_like(a: Any, like: Any) -> Any:
    if type(like) is list:
        return type(a)([_made_like(item, kind) for item, kind in zip(a, like, strict=True)])
    if like is None:
        return a
    made = np.asarray(a).view(like[0])
    if like[1]:
        made.__dict__.update(like[1])
    return made


def written_as_plain(
    recording: Recording,
    fn: Callable[..., Any],
    run: Callable[[], Any],
    target: np.ndarray,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """What `run` gives, which writes what `fn` gives into `target`; refused if plain arrays would give another."""
    made, expected = _of_plain(fn, args, kwargs), np.empty(target.shape, target.dtype)
    if made is not None:
        np.copyto(expected, made, casting="unsafe")
    with silent():
        played = fn(*args, **kwargs) if recording.keep and made is not None else made
    value = run_by_numpy(recording, run, (target, *args))()
    if made is None or not (_shows(value, target) and same_numbers(expected, target) and same_numbers(played, made)):
        raise recording.refuse(_own_value(fn, (*args, target)))
    return value


def _shows(value: Any, target: np.ndarray) -> bool:
    """Whether `value` is the array that was written, or a view of all of it."""
    if value is target:
        return True
    if not isinstance(value, np.ndarray) or owner_of(value) is not owner_of(target):
        return False
    places = [(a.ctypes.data, a.shape, a.strides, a.dtype) for a in (value, target)]
    return places[0] == places[1]


def _of_plain(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function gives for plain arrays; None where it raises."""
    try:
        with np.errstate(all="ignore"):
            return fn(*[[*map(plain, a)] if type(a) in (list, tuple) else plain(a) for a in args], **kwargs)
    except Exception:
        return None


def _is_of_plain(value: Any, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a value is what a function gives for plain arrays."""
    made = _of_plain(fn, args, kwargs)
    if isinstance(made, tuple) and isinstance(value, tuple):
        return len(made) == len(value) and all(map(same_numbers, made, value))
    return made is not None and not isinstance(value, tuple) and same_numbers(made, value)


def _own_value(fn: Callable[..., Any], args: tuple[Any, ...]) -> RefusedCallError:
    names = " and ".join(sorted({type(a).__name__ for a in flat(args) if is_of_subclass(a)}))
    return RefusedCallError(
        f"{here()}: {callable_name(fn)} of {names} gives something else than of a plain array, for which its rule "
        "is. Convert it first: np.asarray(x)."
    )
