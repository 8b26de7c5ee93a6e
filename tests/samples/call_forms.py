"""The ways to write one call, and the gradient of each against differences along one random direction."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from inspect import Parameter
from typing import Any

import numpy as np
from samples import Sample

import wengert as wg
from wengert.values.specs import is_inexact

VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
WIDE = {"e": np.float64, "f": np.float64, "F": np.complex128}


def forms(sample: Sample) -> Iterator[Sample]:
    """The call as given, with each split into arguments by position and by name, and as a method."""
    yield sample
    yield from _splits(sample)
    if hasattr(sample.f, "__objclass__") and sample.args:
        yield Sample(_as_method(sample.f.__name__), sample.args, sample.kwargs)


def _splits(sample: Sample) -> Iterator[Sample]:
    parameters = _parameters(sample.f)
    try:
        given = inspect.Signature(parameters).bind(*sample.args, **sample.kwargs).arguments
    except TypeError:
        return
    if any(p.kind in VARIADIC and p.name in given for p in parameters):
        return
    first = sum(p.kind is Parameter.POSITIONAL_ONLY for p in parameters)
    last = max((i for i, p in enumerate(parameters) if p.name in given), default=-1) + 1
    for split in range(first, last + 1):
        front = parameters[:split]
        values = [given.get(p.name, p.default) for p in front]
        if any(p.kind is Parameter.KEYWORD_ONLY for p in front) or np._NoValue in map(id_or_value, values):
            return
        yield Sample(sample.f, tuple(values), {p.name: given[p.name] for p in parameters[split:] if p.name in given})


def id_or_value(value: Any) -> Any:
    """A value that can be looked for with `in`."""
    return value if value is np._NoValue else id(value)


def unused_options(sample: Sample) -> Iterator[tuple[Sample, str]]:
    """The call with a float for a parameter that it does not give, and that parameter's name."""
    for p in _parameters(sample.f)[len(sample.args) :]:
        if p.kind not in (*VARIADIC, Parameter.POSITIONAL_ONLY) and p.name not in sample.kwargs:
            yield sample._replace(kwargs={**sample.kwargs, p.name: 0.5}), p.name


def _parameters(f: Callable[..., Any]) -> list[Parameter]:
    try:
        return list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return []


def _as_method(name: str) -> Callable[..., Any]:
    def method(owner: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(owner, name)(*args, **kwargs)

    return method


def gradient_outcome(sample: Sample, keys: tuple[int | str, ...]) -> str:
    """ "right" or "refused" for the gradient with respect to these arguments together; "idle" where there is none.

    Errors: AssertionError where the gradient differs from differences.
    """
    try:
        with np.errstate(all="ignore"):
            y = sample.f(*copied(sample.args), **copied(sample.kwargs))
    except Exception:
        return "idle"  # no such call
    numbers = list(_leaves(y))
    if not numbers or not all(np.all(np.isfinite(leaf)) for leaf in numbers):
        return "idle"
    weights = _map(_random, y, np.random.default_rng(0))
    xs = [copied(_at(sample, key)) for key in keys]
    try:
        value, (_, *bars) = wg.grad(_weighted(sample, keys, weights), *xs)
    except wg.WengertError:
        return "refused"
    assert np.allclose(value, _total(y, weights), rtol=1e-12 if _eps([y, xs]) < 1e-10 else 1e-2)
    directions = [_map(_random, x, np.random.default_rng(1)) for x in xs]
    numeric = _slope(sample, keys, y, weights, directions)
    got = sum(_dot(bar, v) for bar, v in zip(bars, directions, strict=True))
    scale = 1 + abs(numeric) + sum(float(np.sum(np.abs(w))) for w in _leaves(weights))
    assert abs(got - numeric) <= _tolerance(_eps([y, sample.args, xs])) * scale, f"{got} is not {numeric}"
    return "right"


def copied(x: Any) -> Any:
    """A copy of an argument in which no two parts are one object, of the same strides."""
    if isinstance(x, (tuple, list)):
        return type(x)([copied(part) for part in x])
    if isinstance(x, dict):
        return {key: copied(part) for key, part in x.items()}
    return _same_strides(x) if isinstance(x, np.ndarray) else x


def _same_strides(x: np.ndarray) -> np.ndarray:
    owner = x
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if x.dtype.kind not in "fc" or not owner.flags.forc:
        return x
    start = x.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    made = np.ndarray(x.shape, x.dtype, owner.copy("K"), start, x.strides)
    made.flags.writeable = x.flags.writeable
    return made


def _weighted(sample: Sample, keys: tuple[int | str, ...], weights: Any) -> Callable[..., Any]:
    def weighted(*xs: Any) -> Any:
        args, kwargs = list(sample.args), dict(sample.kwargs)
        for key, x in zip(keys, xs, strict=True):
            (kwargs if isinstance(key, str) else args)[key] = x
        return _total(sample.f(*args, **kwargs), weights)

    return weighted


def _total(y: Any, weights: Any) -> Any:
    """Re Σ w y over all inexact parts of a result."""
    if isinstance(y, dict):
        return _total(list(y.values()), list(weights.values()))
    if isinstance(y, (tuple, list)):
        total = 0.0
        for part, w in zip(y, weights, strict=True):
            total = total + _total(part, w)
        return total
    return 0.0 if weights is None else np.sum(np.real(y * weights))


def _slope(sample: Sample, keys: tuple[int | str, ...], y: Any, weights: Any, directions: list[Any]) -> float:
    """The derivative along a direction by Richardson's extrapolation, in double precision where f has it."""
    wide = Sample(sample.f, widened(sample.args), widened(sample.kwargs))
    xs = [widened(_at(sample, key)) for key in keys]
    f = _weighted(wide, keys, weights)
    is_wide = _eps([y, sample.args, sample.kwargs]) < 1e-10
    step = 0.3 * _eps([y if is_wide else wide.f(*copied(wide.args), **copied(wide.kwargs)), xs]) ** 0.2

    def difference(h: float) -> float:
        ends = [f(*[_moved(x, v, t) for x, v in zip(xs, directions, strict=True)]) for t in (h, -h)]
        return float(ends[0] - ends[1]) / (2 * h)

    return (4 * difference(step / 2) - difference(step)) / 3


def _at(sample: Sample, key: int | str) -> Any:
    return sample.kwargs[key] if isinstance(key, str) else sample.args[key]


def keys_of(sample: Sample) -> list[int | str]:
    """The arguments that hold a float or complex number."""
    return [key for key in (*range(len(sample.args)), *sample.kwargs) if any(_leaves(_at(sample, key), True))]


def _leaves(x: Any, true: bool = False) -> Iterator[Any]:
    if isinstance(x, (tuple, list)):
        for part in x:
            yield from _leaves(part, true)
    elif isinstance(x, dict):
        yield from _leaves(list(x.values()), true)
    elif is_inexact(x):
        yield true or x


def _map(f: Callable[..., Any], x: Any, *rest: Any) -> Any:
    """`f` of each inexact part of a structure, None of the others."""
    if isinstance(x, (tuple, list)):
        return [_map(f, part, *rest) for part in x]
    if isinstance(x, dict):
        return {key: _map(f, part, *rest) for key, part in x.items()}
    return f(x, *rest) if is_inexact(x) else None


def _random(x: Any, random: np.random.Generator) -> Any:
    parts = random.uniform(0.3, 1.0, (2, *np.shape(x)))
    return parts[0] - 1j * parts[1] if np.iscomplexobj(x) else parts[0]


def widened(x: Any) -> Any:
    """A copy in double precision."""
    if isinstance(x, (tuple, list)):
        return type(x)([widened(part) for part in x])
    if isinstance(x, dict):
        return {key: widened(part) for key, part in x.items()}
    if not isinstance(x, (np.ndarray, np.generic)) or x.dtype.char not in WIDE:
        return copied(x)
    wide = WIDE[x.dtype.char]
    return x.astype(wide) if isinstance(x, np.ndarray) else wide(x)


def _moved(x: Any, v: Any, step: float) -> Any:
    if isinstance(x, (tuple, list)):
        return type(x)([_moved(part, w, step) for part, w in zip(x, v, strict=True)])
    if v is None:
        return copied(x)
    if not isinstance(x, np.ndarray):
        return type(x)(x + step * v)
    moved = x.copy(order="K")
    moved += step * v
    return moved


def _dot(bar: Any, v: Any) -> float:
    """Σ Re(x̄ v): x̄ is the conjugate of the steepest direction, as JAX has it."""
    if isinstance(v, list):
        return sum(_dot(part, w) for part, w in zip(bar, v, strict=True))
    return 0.0 if v is None else float(np.sum(np.real(np.asarray(bar) * v)))


def _eps(x: Any) -> float:
    """The spacing of the coarsest floats in a structure."""
    return max((float(np.finfo(np.asarray(leaf).dtype).eps) for leaf in _leaves(x)), default=2.3e-16)


def _tolerance(eps: float) -> float:
    return 1e-6 if eps < 1e-10 else 2e-4 if eps < 1e-5 else 3e-2
