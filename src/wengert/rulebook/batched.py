"""Calls of a primitive on many examples at once, by its batching rule; without one, once per example.

The batching rules of this package are loaded after this module, at the first lookup: see `wengert_rules`.
"""

from __future__ import annotations

import functools
import itertools
import operator
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.errors import ArgumentError, NoBatchingRuleWarning
from wengert.rulebook.batching import Batch
from wengert.rulebook.registry import rules
from wengert.values.callables import callable_name, named_parameters
from wengert.values.frames import levels_above

ENTERED = "It takes the examples of a batch one by one, also where a derivative watches."

_METHOD_OWNERS = (np.ndarray, np.generic)


def batched(
    call: Callable[..., Any], fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any], axes: Sequence[Any], size: int,
    named: Sequence[str] = (), strides: tuple[int, ...] | None = None, quiet: bool = False,
) -> Any:  # fmt: skip
    """Return `fn(*args, **kwargs)` for a batch of `size` examples, which are the first axis of each leaf.

    `axes`, `named` and `strides` are as in `Batch`. `call(f, *args, **kwargs)` runs each computation, so that an outer
    level can record it. With `quiet`, do not warn that `fn` is called once per example.
    """
    rule, fn = _rule_of(fn)
    if not kwargs and rule is rules.batching_of(np.ufunc) and _stand_aligned(args, axes):
        return call(fn, *args)  # as the rule would; one call, so that an outer derivative records only one
    if fn is operator.getitem and _reads_alike(args, axes):
        key = args[1] if type(args[1]) is tuple else (args[1],)
        return call(fn, args[0], (slice(None), *key))
    batch = Batch(fn, size, tuple(axes), tuple(named), strides)
    value = NotImplemented if rule is None else _by_rule(call, rule, batch, args, kwargs)
    if value is NotImplemented:
        if not quiet:
            _warn(fn)
        value = call(one_by_one, batch, *args, **kwargs)
    return value


def _by_rule(call: Callable[..., Any], rule: Any, batch: Batch, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call a batching rule. Keyword arguments that are its next parameters become positional, in the axes too."""
    if kwargs:
        names = list(itertools.takewhile(kwargs.__contains__, _names_of(rule)[len(args) :]))
        args = [*args, *map(kwargs.__getitem__, names)]
        axes, named = (*batch.axes, *map(batch.named.__contains__, names)), {*batch.named} - {*names}
        batch = batch._replace(axes=axes, named=tuple(sorted(named)))
        kwargs = {name: x for name, x in kwargs.items() if name not in names}
    return call(rule, batch, *args, **kwargs)


@functools.lru_cache
def _names_of(rule: Any) -> list[str]:
    """Return the names of a batching rule's positional parameters, without `batch`."""
    return named_parameters(rule)[1:]


def outcomes(call: Callable[..., Any], batch: Batch, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return the results of all examples: an array if the batching rule returns one, else a list, one call each."""
    rule, fn = _rule_of(batch.fn)
    batch = batch._replace(fn=fn)
    found = NotImplemented if rule is None else _by_rule(call, rule, batch, args, kwargs)
    if isinstance(found, np.ndarray):
        return found
    return call(each, batch, *args, **kwargs)


def _stand_aligned(args: Sequence[Any], axes: Sequence[Any]) -> bool:
    """Whether a ufunc can take the arguments unchanged: the batched ones have equally many axes, and the most."""
    ndims = [np.ndim(x) for x, on in zip(args, axes, strict=True) if on]
    shared = [np.ndim(x) for x, on in zip(args, axes, strict=True) if not on]
    return min(ndims, default=0) > max(shared, default=0) and min(ndims) == max(ndims)


def _reads_alike(args: Sequence[Any], axes: Sequence[Any]) -> bool:
    """Whether a key of integers and slices reads from a batch of arrays."""
    x, key = args
    parts = key if type(key) is tuple else (key,)
    return axes[0] is True and not axes[1] and type(x) is np.ndarray and _PLAIN_KEYS.issuperset(map(type, parts))


_PLAIN_KEYS = {int, slice, type(None), type(Ellipsis)}
"""The types of parts of a key that have no axes of their own."""


def _rule_of(fn: Any) -> tuple[Any, Any]:
    """Return the batching rule of a function, and the function to call on batches."""
    found = rules.batching_of(fn)
    owner = getattr(fn, "__self__", None)
    if found is None and isinstance(owner, np.ufunc):
        found = rules.batching_of(getattr(np.ufunc, fn.__name__))
    elif found is None and isinstance(fn, np.ufunc) and fn.signature is None:
        found = rules.batching_of(np.ufunc)
    elif found is None and getattr(fn, "__objclass__", None) in _METHOD_OWNERS and hasattr(np, fn.__name__):
        return _rule_of(getattr(np, fn.__name__))
    return found, fn


def _warn(fn: Any) -> None:
    warnings.warn(
        f"{callable_name(fn)} has no batching rule for this call, so wengert calls it once per example, which is slow. "
        "Declare a rule with wengert.extend.batching.",
        NoBatchingRuleWarning,
        levels_above(1, sys._getframe()),
    )


def one_by_one(batch: Batch, *args: Any, **kwargs: Any) -> Any:
    """Call the function once per example and stack the results. An empty batch calls it on ones, for the shape."""
    made = each(batch, *args, **kwargs)
    if len({_dtype_or_type(result) for result in made}) > 1:
        raise ArgumentError(
            f"{callable_name(batch.fn)} returns other types or dtypes for some examples. Return the same for all"
        )
    return stacked(made, batch.size)


def each(batch: Batch, *args: Any, **kwargs: Any) -> list[Any]:
    """Call the function once per example and return the list of results."""
    return [batch.fn(*given, **named) for given, named in examples(batch, args, kwargs)]


def _dtype_or_type(result: Any) -> Any:
    """Return the dtype of a number or array, and the type of any other object."""
    is_number = isinstance(result, np.ndarray | np.generic | float | complex | int)
    return np.result_type(result) if is_number else type(result)


def examples(
    batch: Batch, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Yield the positional and keyword arguments for each example; for an empty batch, one set of ones."""
    whole = getattr(batch.fn, "__objclass__", None) is np.ndarray  # its methods do not take scalars
    for i in range(batch.size or 1):
        given = [example(x, on, i, whole) for x, on in zip(args, batch.axes, strict=False)]
        named = {name: example(x, name in batch.named, i, whole) for name, x in kwargs.items()}
        yield [*given, *args[len(given) :]], named


def example(x: Any, on: Any, i: int, whole: bool) -> Any:
    """Return example `i` of an argument. With `whole`, a scalar example is an array of no axes, not a number."""
    if type(on) is tuple:
        return type(x)([example(part, has, i, whole) for part, has in zip(x, on, strict=True)])
    if not on:
        return x
    if type(x) is tuple:
        return tuple([example(part, True, i, whole) for part in x])
    if type(x) is not np.ndarray:
        return x
    if not len(x):
        return np.ones(x.shape[1:], x.dtype) if x.ndim > 1 or whole else x.dtype.type(1)
    return x[i, ...] if whole else x[i]


def stacked(made: list[Any], size: int) -> Any:
    """Stack the results of the examples into one: each leaf gets a leading axis of examples."""
    first = made[0]
    if isinstance(first, tuple | list):
        parts = [stacked([result[k] for result in made], size) for k in range(len(first))]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if isinstance(first, dict):
        return {key: stacked([result[key] for result in made], size) for key in first}
    return None if first is None else np.stack(made)[:size]
