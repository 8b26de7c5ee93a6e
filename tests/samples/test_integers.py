"""Integers of NumPy wherever a rule takes Python's, and small ones as constants: like Python's, or the same error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from samples import SAMPLES, Sample

import wengert as wg
from wengert.values.numeric_trees import numbers
from wengert.values.specs import is_inexact

KINDS: list[Callable[[int], Any]] = [np.int64, np.int32, np.uint8, np.array]
X = np.linspace(0.3, 2.1, 6)
M, T = X.reshape(2, 3), np.linspace(-1.0, 1.0, 24).reshape(2, 3, 4)

# Functions of NumPy that are followed into their code; `k` makes an integer of one of the kinds.
FOLLOWED: dict[str, Callable[..., Any]] = {
    "resize": lambda k, x, m, t: np.resize(x, k(8)),
    "resize to a shape": lambda k, x, m, t: np.resize(x, (k(2), k(4))),
    "tile": lambda k, x, m, t: np.tile(x, k(2)),
    "tiles": lambda k, x, m, t: np.tile(x, (k(2), k(1))),
    "repeat": lambda k, x, m, t: np.repeat(m, k(2), axis=k(1)),
    "roll": lambda k, x, m, t: np.roll(m, k(1)),
    "roll along": lambda k, x, m, t: np.roll(m, (k(1), k(2)), axis=(k(0), k(1))),
    "transpose": lambda k, x, m, t: t.transpose(k(2), k(0), k(1)),
    "transpose of one": lambda k, x, m, t: x.transpose(k(0)),
    "moveaxis": lambda k, x, m, t: np.moveaxis(t, k(0), k(2)),
    "rollaxis": lambda k, x, m, t: np.rollaxis(t, k(2)),
    "swapaxes": lambda k, x, m, t: np.swapaxes(t, k(0), k(2)),
    "rot90": lambda k, x, m, t: np.rot90(m, k(1)),
    "pad": lambda k, x, m, t: np.pad(x, k(2)),
    "pad modes": lambda k, x, m, t: np.pad(x, (k(1), k(2)), mode="reflect"),
    "insert": lambda k, x, m, t: np.insert(x, k(2), 7.0),
    "delete": lambda k, x, m, t: np.delete(x, k(2)),
    "split": lambda k, x, m, t: np.split(x, k(3))[1],
    "array_split": lambda k, x, m, t: np.array_split(x, k(4))[1],
    "split at": lambda k, x, m, t: np.split(x, [k(1), k(3)])[1],
    "diff": lambda k, x, m, t: np.diff(x, k(2)),
    "gradient": lambda k, x, m, t: np.gradient(m, axis=k(1)),
    "cross": lambda k, x, m, t: np.cross(m[0], m[1], axis=k(0)),
    "tensordot": lambda k, x, m, t: np.tensordot(t, t, axes=k(3)),
    "tensordot along": lambda k, x, m, t: np.tensordot(t, m, axes=([k(0), k(1)], [k(0), k(1)])),
    "matrix_power": lambda k, x, m, t: np.linalg.matrix_power(m @ m.T, k(3)),
    "trapezoid": lambda k, x, m, t: np.trapezoid(m, axis=k(1)),
    "average": lambda k, x, m, t: np.average(m, axis=k(1)),
    "percentile": lambda k, x, m, t: np.percentile(m, k(30), axis=k(0)),
    "nanmean": lambda k, x, m, t: np.nanmean(m, axis=k(1)),
    "stack": lambda k, x, m, t: np.stack([m, m], axis=k(1)),
    "concatenate": lambda k, x, m, t: np.concatenate([m, m], axis=k(1)),
    "expand_dims": lambda k, x, m, t: np.expand_dims(m, (k(0), k(2))),
    "squeeze": lambda k, x, m, t: np.squeeze(m[None], axis=k(0)),
    "reshape": lambda k, x, m, t: np.reshape(m, (k(3), k(2))),
    "reshape method": lambda k, x, m, t: m.reshape(k(3), k(2)),
    "broadcast_to": lambda k, x, m, t: np.broadcast_to(x, (k(2), k(6))),
    "diag": lambda k, x, m, t: np.diag(x, k(2)),
    "diagonal": lambda k, x, m, t: np.diagonal(t, k(1), k(1), k(2)),
    "trace": lambda k, x, m, t: np.trace(t, k(1), k(1), k(2)),
    "tril": lambda k, x, m, t: np.tril(m, k(1)),
    "eye": lambda k, x, m, t: m @ np.eye(k(3)) * x[k(1)],
    "take": lambda k, x, m, t: np.take(m, k(2), axis=k(1)),
    "take with wrap": lambda k, x, m, t: np.take(np.concatenate([x] * 50), [k(1), k(7)], mode="wrap"),
    "item": lambda k, x, m, t: m.item(k(1)) + m.item(k(1), k(2)),
    "index": lambda k, x, m, t: t[k(1), :, k(2)] + t[k(0), :, k(1) : k(3)][:, k(0)],
    "linspace": lambda k, x, m, t: np.linspace(x[0], x[1], k(4)),
    "vander": lambda k, x, m, t: np.vander(x, k(3)),
    "norm": lambda k, x, m, t: np.linalg.norm(m, k(1), axis=k(1)),
    "power": lambda k, x, m, t: x ** k(3) + k(3) ** x,
    "sliding windows": lambda k, x, m, t: np.lib.stride_tricks.sliding_window_view(m, k(2), axis=k(1)),
    "einsum": lambda k, x, m, t: np.einsum(m, [k(0), k(1)], m, [k(2), k(1)], [k(0), k(2)]),
    "apply_along_axis": lambda k, x, m, t: np.apply_along_axis(np.sum, k(1), m),
    "ldexp": lambda k, x, m, t: np.ldexp(x, k(3)),
    "median": lambda k, x, m, t: np.median(m, axis=k(1)),
    "cumsum": lambda k, x, m, t: np.cumsum(m, axis=k(1)),
    "prod": lambda k, x, m, t: np.prod(t, axis=(k(0), k(2))),
    "split by rows": lambda k, x, m, t: np.vsplit(m, k(2))[1],
    "geomspace": lambda k, x, m, t: x * np.geomspace(1.0, 2.0, k(6)),
}  # fmt: skip


def outcome(f: Callable[..., Any]) -> Any:
    """What a call gives or raises."""
    try:
        return f()
    except Exception as error:
        return type(error)


def gradients(f: Callable[..., Any], args: tuple[Any, ...]) -> list[np.ndarray]:
    y, pull = wg.vjp(f, *args)
    return [np.asarray(x) for part in (y, pull(seed(y))) for x in numbers(part)]


def seed(y: Any) -> Any:
    if isinstance(y, (tuple, list)):
        return [seed(part) for part in y] if isinstance(y, list) else tuple.__new__(type(y), map(seed, y))
    if isinstance(y, np.ndarray):
        return np.cos(np.arange(y.size)).reshape(y.shape).astype(y.dtype)
    return type(y)(0.7) if is_inexact(y) else y


def agree(got: list[np.ndarray], expected: list[np.ndarray]) -> bool:
    def close(a: np.ndarray, b: np.ndarray) -> bool:
        tolerance = 1e-9 if a.dtype.itemsize >= 8 and a.dtype != np.complex64 else 1e-4
        return a.shape == b.shape and np.allclose(a, b, rtol=tolerance, atol=1e-12)

    return len(got) == len(expected) and all(map(close, got, expected))


def changed(x: Any, kind: Callable[[int], Any]) -> Any:
    """A value with its integers exchanged."""
    if type(x) is int:
        return kind(x)
    if type(x) in (tuple, list):
        return type(x)([changed(part, kind) for part in x])
    return {key: changed(part, kind) for key, part in x.items()} if type(x) is dict else x


def holds_integer(x: Any) -> bool:
    if type(x) in (tuple, list):
        return any(map(holds_integer, x))
    return type(x) is int or (type(x) is dict and any(map(holds_integer, x.values())))


def is_own(s: Sample) -> bool:
    """Whether only this package calls it."""
    return (getattr(s.f, "__module__", None) or "").startswith("wengert")


def differentiable(s: Sample) -> list[int]:
    """The places of the arguments to differentiate."""
    rule = wg.rules[s.f]
    positions = rule.plan(len(rule.splat(s.args)), ()).positions if rule.kind != "constant" else ()
    inner = [i for i in range(len(s.args)) if i == rule.sequence or i in positions]
    return [i for i in inner if any(is_inexact(n) for n in numbers(s.args[i]))]


def applied(s: Sample, args: Any, kwargs: Any, places: list[int]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The call as a function of the arguments at these places, and they."""

    def g(*xs: Any) -> Any:
        full = list(args)
        for i, x in zip(places, xs, strict=True):
            full[i] = x
        return s.f(*full, **kwargs)

    return g, tuple([args[i] for i in places])


COUNTED = [s for s in SAMPLES if (holds_integer(s.args) or holds_integer(s.kwargs)) and not is_own(s)]


def is_error(x: Any) -> bool:
    return isinstance(x, type) and issubclass(x, Exception)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("s", COUNTED, ids=str)
def test_integers_of_numpy(s: Sample) -> None:
    """As with Python's where NumPy takes them, in a gradient and in the rule called by hand; else the same error."""
    places = differentiable(s)
    expected = gradients(*applied(s, s.args, s.kwargs, places))
    y, pull = wg.rules.rrule(s.f, *s.args, **s.kwargs)
    bars = [np.asarray(n) for n in numbers(pull(seed(y)))]
    for kind in KINDS:
        args, kwargs = (outcome(lambda part=part, kind=kind: changed(part, kind)) for part in (s.args, s.kwargs))
        if OverflowError in (args, kwargs):
            continue  # a negative number
        untraced = outcome(lambda args=args, kwargs=kwargs: s.f(*args, **kwargs))
        got = outcome(lambda args=args, kwargs=kwargs: gradients(*applied(s, args, kwargs, places)))
        if is_error(untraced):
            assert got is untraced, kind
            continue
        assert not isinstance(got, type) and agree(got, expected), (kind, got)
        _, pull_again = wg.rules.rrule(s.f, *args, **kwargs)
        assert agree([np.asarray(n) for n in numbers(pull_again(seed(y)))], bars), kind


def each_integer(x: Any, kind: Callable[[int], Any]) -> Any:
    """A value with its 0 and 1 exchanged."""
    if type(x) is int:
        return kind(x) if x in (0, 1) else x
    if type(x) in (tuple, list):
        return type(x)([each_integer(part, kind) for part in x])
    return {key: each_integer(part, kind) for key, part in x.items()} if type(x) is dict else x


def each_sequence(x: Any, kind: Callable[[Any], Any]) -> Any:
    """A value with its lists and tuples of integers exchanged."""
    if type(x) in (tuple, list):
        whole = bool(x) and all(type(part) is int for part in x)
        return kind(x) if whole else type(x)([each_sequence(part, kind) for part in x])
    return {key: each_sequence(part, kind) for key, part in x.items()} if type(x) is dict else x


FORMS = [(each_integer, bool), (each_integer, np.bool_), *[(each_sequence, kind) for kind in (tuple, list, np.array)]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("s", COUNTED, ids=str)
def test_other_forms_of_integers(s: Sample) -> None:
    """Bools are integers, and several of them stand in a tuple, a list or an array, wherever NumPy takes them so."""
    places = differentiable(s)
    plain = [np.asarray(n) for n in numbers(s.f(*s.args, **s.kwargs))]
    expected = gradients(*applied(s, s.args, s.kwargs, places))
    for form, kind in FORMS:
        args, kwargs = tuple([form(a, kind) for a in s.args]), form(dict(s.kwargs), kind)
        untraced = outcome(lambda args=args, kwargs=kwargs: s.f(*args, **kwargs))
        got = outcome(lambda args=args, kwargs=kwargs: gradients(*applied(s, args, kwargs, places)))
        if is_error(untraced):
            assert got is untraced, kind
        elif agree([np.asarray(n) for n in numbers(untraced)], plain):
            assert not isinstance(got, type) and agree(got, expected), (kind, got)


def test_a_bool_as_exponent() -> None:
    x = np.array([0.5, 2.0, 0.0])
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(x ** (x > 1)))(x), [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(wg.grad(lambda x: x[1] ** (x[1] > 1) + x[0] ** np.False_)(x), [0.0, 1.0, 0.0])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FOLLOWED)
def test_in_functions_that_are_followed(name: str) -> None:
    f = FOLLOWED[name]
    expected = gradients(lambda x, m, t: f(int, x, m, t), (X, M, T))
    for kind in KINDS:
        untraced = outcome(lambda kind=kind: f(kind, X, M, T))
        got = outcome(lambda kind=kind: gradients(lambda x, m, t: f(kind, x, m, t), (X, M, T)))
        if is_error(untraced):
            assert got is untraced, kind
        else:
            assert not isinstance(got, type) and agree(got, expected), (kind, got)


def small(x: Any, dtype: Any) -> Any:
    """Small whole numbers, to stand as a constant in the place of other numbers."""
    whole = np.clip(np.round(np.asarray(x) * 3), 1 if dtype is np.uint8 else -100, 100).astype(dtype)
    return whole if isinstance(x, np.ndarray) else dtype(whole)


def as_constants() -> Iterator[Any]:
    """Samples, and the place of an argument in each."""
    for s in SAMPLES:
        places = differentiable(s)
        for i in places if len(places) > 1 and not is_own(s) else ():
            if isinstance(s.args[i], (float, np.ndarray)) and np.asarray(s.args[i]).dtype == float:
                yield pytest.param(s, i, id=f"{s} {i}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("s", "i"), list(as_constants()))
def test_small_integers_as_constants(s: Sample, i: int) -> None:
    """The gradient of the others is that beside the same numbers as floats: nothing overflows, no half precision."""
    compared = [constants_agree(s, i, dtype) for dtype in (np.uint8, np.int8)]
    if not any(compared):
        pytest.skip("another function of integers")


def constants_agree(s: Sample, i: int, dtype: Any) -> bool:
    """Whether the call takes such constants as the same function; then its gradients are compared."""
    constant = small(s.args[i], dtype)
    places = [k for k in differentiable(s) if k != i]
    as_float = constant.astype(float) if isinstance(constant, np.ndarray) else float(constant)
    calls = [(*s.args[:i], value, *s.args[i + 1 :]) for value in (constant, as_float)]
    ys = [outcome(lambda args=args: s.f(*args, **s.kwargs)) for args in calls]
    dtypes = [[np.asarray(n).dtype for n in numbers(y)] for y in ys]
    if dtypes[0] != dtypes[1] or type(ys[0]) is not type(ys[1]) or isinstance(ys[0], type):
        return False
    got, expected = (outcome(lambda args=args: gradients(*applied(s, args, s.kwargs, places))) for args in calls)
    if isinstance(expected, type):
        assert got is expected, dtype
    else:
        assert not isinstance(got, type) and agree(got, expected), dtype
    return True


REPEATED: list[Callable[..., Any]] = [
    lambda x, n: np.concatenate((x,) * n),
    lambda x, n: np.concatenate(n * [x, 2 * x]),
    lambda x, n: np.stack([x * x] * n),
]


def grown(x: Any, n: Any) -> Any:
    items = kept = [x]
    items *= n
    return np.concatenate([*items, *kept])


@pytest.mark.parametrize("f", [*REPEATED, grown])
@pytest.mark.parametrize("n", [np.int64(2), np.uint8(3), np.intp(1)])
def test_sequences_repeated(f: Callable[..., Any], n: Any) -> None:
    """A list times an integer of NumPy is a longer list, and `items *= n` makes it so."""
    untraced = f(X, n)
    y, pull = wg.vjp(lambda x: f(x, n), X)
    np.testing.assert_array_equal(y, untraced)
    other = f(X + 1e-6, n)
    np.testing.assert_allclose(np.sum(pull(np.ones(y.shape))), np.sum(other - untraced) / 1e-6, rtol=1e-5)


def test_a_list_times_a_float_of_numpy_is_refused_as_by_numpy() -> None:
    with pytest.raises(TypeError, match="non-int"):
        wg.grad(lambda x: np.sum([x] * np.float64(2.0)))(1.0)
