"""NumPy's random numbers: draws are constant; location, scale and shuffled arrays are differentiable.

NumPy draws each distribution here as `location + scale * standard draw`, so writing it that way changes no bit.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks.classes import as_traced
from wengert.hooks.policy import stand_in_for
from wengert.hooks.search import guarded
from wengert.hooks.standins import plain
from wengert.hooks.writes import record_store
from wengert.recording.record import as_array
from wengert.recording.recording import STATE
from wengert.recording.slots import holds_traced


def _runs_natively(parameters: tuple[Any, ...], scale: Any) -> bool:
    """Whether nothing is traced, or NumPy has an error to raise."""
    if STATE.recording is None or not holds_traced(parameters):
        return True
    return any(np.iscomplexobj(a) for a in parameters) or bool(np.any(np.signbit(scale)))


def _arrays_and_shape(parameters: tuple[Any, ...], size: Any) -> tuple[list[Any], Any]:
    """Convert the parameters to arrays, or to floats for one draw; return them with the shape of the sample."""
    parameters = tuple([as_array(a) if type(a) in (list, tuple) else a for a in parameters])
    shape = np.broadcast_shapes(*map(np.shape, parameters))
    if size is None and shape == ():
        return [as_traced(float)(a) for a in parameters], None
    return list(parameters), shape if size is None else size


def _located(f: Any) -> Callable[..., Any]:
    """The stand-in of `normal` and its like, with a location and a scale."""

    def sample(rng: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        if _runs_natively((loc, scale), scale):
            return guarded(f)(rng, loc, scale, size)
        (loc, scale), size = _arrays_and_shape((loc, scale), size)
        return as_traced(plain.located)(loc, scale, f(rng, 0.0, 1.0, size))

    return sample


def _scaled_sampler(f: Any) -> Callable[..., Any]:
    """The stand-in of `exponential` and `rayleigh`, with a scale."""

    def sample(rng: Any, scale: Any = 1.0, size: Any = None) -> Any:
        if _runs_natively((scale,), scale):
            return guarded(f)(rng, scale, size)
        (scale,), size = _arrays_and_shape((scale,), size)
        return as_traced(operator.mul)(scale, f(rng, 1.0, size))

    return sample


def _gamma(f: Any) -> Callable[..., Any]:
    def sample(rng: Any, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        if holds_traced((shape,)) or _runs_natively((scale,), scale):
            return guarded(f)(rng, shape, scale, size)
        (scale, shape), size = _arrays_and_shape((scale, shape), size)
        return as_traced(operator.mul)(scale, f(rng, shape, 1.0, size))

    return sample


def _uniform(f: Any) -> Callable[..., Any]:
    def sample(rng: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        if _runs_natively((low, high), 1.0) or not np.all(np.isfinite(np.subtract(high, low))):
            return guarded(f)(rng, low, high, size)
        (low, high), size = _arrays_and_shape((low, high), size)
        return as_traced(plain.between)(low, high, f(rng, 0.0, 1.0, size))

    return sample


def _of_vectors(f: Any) -> Callable[..., Any]:
    """The stand-in of `multivariate_normal`: the covariance is not differentiated."""

    def sample(rng: Any, mean: Any, cov: Any, *args: Any, **kwargs: Any) -> Any:
        if holds_traced((cov, args)) or _runs_natively((mean,), 1.0):
            return guarded(f)(rng, mean, cov, *args, **kwargs)
        mean = _as_traced_array(mean)
        return as_traced(operator.add)(mean, f(rng, np.zeros(np.shape(mean)), cov, *args, **kwargs))

    return sample


def _as_traced_array(a: Any) -> Any:
    return as_array(a) if type(a) in (list, tuple) and holds_traced(a) else a


def _permutation(f: Any) -> Callable[..., Any]:
    def permute(rng: Any, x: Any, **axis: Any) -> Any:
        x = _as_traced_array(x)
        if STATE.recording is None or not holds_traced((x,)) or not isinstance(x, np.ndarray):
            return guarded(f)(rng, x, **axis)
        return as_traced(np.take)(x, f(rng, np.shape(x)[axis.get("axis", 0)]), axis.get("axis", 0))

    return permute


def _shuffle(f: Any) -> Callable[..., Any]:
    def shuffle(rng: Any, x: Any, **axis: Any) -> None:
        if STATE.recording is None or type(x) is list:
            return f(rng, x, **axis)  # a list's items are moved as they are
        if not isinstance(x, np.ndarray) or not holds_traced((x,)):
            return guarded(f)(rng, x, **axis)
        order = np.arange(x.shape[axis.get("axis", 0)])
        f(rng, order)
        return record_store(x, ..., as_traced(np.take)(x, order, axis.get("axis", 0)))

    return shuffle


def _choice(f: Any) -> Callable[..., Any]:
    def choose(rng: Any, a: Any, size: Any = None, *args: Any, axis: int = 0, **kwargs: Any) -> Any:
        a = _as_traced_array(a)
        if STATE.recording is None or not isinstance(a, np.ndarray) or not holds_traced((a,)) or holds_traced(args):
            return guarded(f)(rng, a, size, *args, **kwargs, **({"axis": axis} if axis else {}))
        chosen = guarded(f)(rng, a.shape[axis], size, *args, **kwargs)
        return as_traced(operator.getitem)(a, (slice(None),) * (axis % a.ndim) + (chosen,))

    return choose


FAMILIES: dict[str, Callable[[Any], Callable[..., Any]]] = {
    **dict.fromkeys(("normal", "laplace", "gumbel", "logistic"), _located),
    **dict.fromkeys(("exponential", "rayleigh"), _scaled_sampler),
    "gamma": _gamma,
    "uniform": _uniform,
    "multivariate_normal": _of_vectors,
    "permutation": _permutation,
    "shuffle": _shuffle,
    "choice": _choice,
}

for _generator in (np.random.Generator, np.random.RandomState):
    for _name, _make in FAMILIES.items():
        _fn = getattr(_generator, _name)
        stand_in_for(_fn)(_make(_fn))
