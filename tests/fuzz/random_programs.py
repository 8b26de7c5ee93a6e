"""Random programs that read and write arrays in every way NumPy has: the operations, how to draw them, how to run them."""

# ruff: noqa: E501 (one operation a line)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided, sliding_window_view

ARRAYS = 7
"""Two arguments, a complex argument, a scratch array, a view, an array of the module, and a column-order scratch."""
TABLE = np.zeros(6)
ERRORS = (
    ValueError,
    IndexError,
    TypeError,
    ZeroDivisionError,
    AttributeError,
    FloatingPointError,
    NotImplementedError,
    BufferError,
)


def table(dtype: np.dtype) -> np.ndarray:
    """The array of the module, as long as the others: a long double needs one of its own."""
    return LONG_TABLE if dtype == np.longdouble else TABLE


LONG_TABLE = np.zeros(6, np.longdouble)


def distinct(a: Any) -> bool:
    """No two entries so close that an order is a kink."""
    return a.size < 2 or float(np.min(np.diff(np.sort(a.real, axis=None)))) > 1e-4


def entry(b: Any, n: int) -> Any:
    return b[tuple(np.array(np.unravel_index(n % b.size, b.shape)).tolist())] if b.size else 0.25


def real_like(a: Any, b: Any) -> Any:
    """b, real where a is: nothing complex goes into a real array."""
    return b.real + b.imag * 0.5 if np.iscomplexobj(b) and not np.iscomplexobj(a) else b


def fit(a: Any, b: Any, n: int) -> Any:
    """Something of b that can be stored into a: itself, a part, something computed from it, or an entry."""
    b = real_like(a, b)
    if b.shape == a.shape or (b.ndim == 1 and a.ndim > 1 and b.shape == a.shape[-1:]):
        return [b, np.sin(b), b[::-1] * 0.5, b * 0.5][n % 4] if b.ndim else b
    return [entry(b, n), np.tanh(entry(b, n)), 0.5, [entry(b, n)], np.sum(b) * 0.1][n % 5]


def key(a: Any, n: int) -> Any:
    """An index of a of one of the kinds that NumPy has."""
    keys: list[Any] = [..., (), None]
    if a.ndim:
        keys += [
            0,
            -1,
            slice(None),
            slice(1, None),
            slice(None, None, 2),
            slice(None, None, -1),
            slice(2, 0, -1),
            slice(1, 1),
        ]
        keys += [
            [0, -1],
            [0, 0, 1],
            np.array([1, 0]),
            np.array([[0, 1], [1, 0]]),
            a.real > 0.517,
            np.arange(len(a)) % 2 == 0,
        ]
        keys += [(slice(None), None), (..., 0), (None, 0), (..., slice(None, None, -1)), np.int64(1), []]
    if a.ndim > 1:
        keys += [
            (0, 1),
            (slice(None), 0),
            (slice(None), [0, -1]),
            ([0, 1], [1, 1]),
            (1, slice(None, None, -2)),
            ([1, 0], slice(1, None)),
        ]
        keys += [(np.array([[0], [1]]), [0, 1]), (a[:, 0].real > 0.417, 1)]
    return keys[n % len(keys)]


View = Callable[[Any, int], Any]
VIEWS: list[View] = [
    lambda a, n: a[1:],
    lambda a, n: a[::2],
    lambda a, n: a[::-1],
    lambda a, n: a.T,
    lambda a, n: a.reshape(-1),
    lambda a, n: a.reshape(2, -1),
    lambda a, n: a.reshape(-1, 2).T,
    lambda a, n: a.ravel(["C", "F", "K"][n % 3]),
    lambda a, n: a[..., None],
    lambda a, n: a[None],
    lambda a, n: np.swapaxes(a, 0, -1),
    lambda a, n: np.flip(a, -1),
    lambda a, n: np.rot90(a, n % 4),
    lambda a, n: np.squeeze(a),
    lambda a, n: np.asarray(a),
    lambda a, n: np.atleast_2d(a),
    lambda a, n: a.view(),
    lambda a, n: a[..., 1:2],
    lambda a, n: a[key(a, n)],
    lambda a, n: np.split(a, 2)[n % 2],
    lambda a, n: np.moveaxis(a, 0, -1),
    lambda a, n: np.diagonal(a),
    lambda a, n: np.broadcast_to(a, (2, *a.shape)),
    lambda a, n: sliding_window_view(a, 2, axis=0),
    lambda a, n: a.real,
    lambda a, n: a[n % len(a), ...],
    lambda a, n: [*a][n % len(a)],
    lambda a, n: np.array(a, copy=None),
    lambda a, n: np.require(a, requirements="W"),
    lambda a, n: a.astype(a.dtype, copy=False),
]
COPIES: list[View] = [
    lambda a, n: a.copy("KCF"[n % 3]),
    lambda a, n: np.sin(a),
    lambda a, n: a * a,
    lambda a, n: np.array(a),
    lambda a, n: a.flatten("F"),
    lambda a, n: np.concatenate([a, a[::-1] * 0.5]),
    lambda a, n: np.where(a.real > 0.517, a, a * 0.3),
    lambda a, n: np.cumsum(a, axis=-1) * 0.3,
    lambda a, n: np.roll(a, 1),
    lambda a, n: a[np.argsort(a.real, axis=None) % len(a)] if distinct(a) else a * 2,
    lambda a, n: np.asfortranarray(a) * 1.0,
    lambda a, n: np.zeros_like(a),
    lambda a, n: np.array([entry(a, k) for k in range(n % 4 + 1)]),
]

Write = Callable[[Any, Any, int], Any]


def store(a: Any, b: Any, n: int) -> None:
    a[key(a, n)] = fit(a[key(a, n)], b, n // 7)


def add(a: Any, b: Any, n: int) -> None:
    a[key(a, n)] += fit(a[key(a, n)], b, n // 7) * 0.5 if np.ndim(fit(a[key(a, n)], b, n // 7)) else 0.25


def multiply_by(a: Any, b: Any, n: int) -> None:
    a *= np.sin(fit(a, b, n))


def multiply_part(a: Any, b: Any, n: int) -> None:
    a[key(a, n)] *= fit(a, b, 1 + 4 * (n // 7)) if n % 2 else 0.5


def subtract(a: Any, b: Any, n: int) -> None:
    a -= 0.3 * real_like(a, b)


def power(a: Any, b: Any, n: int) -> None:
    a **= 2
    a *= 0.7


def divide(a: Any, b: Any, n: int) -> None:
    a /= 2 + np.cos(fit(a, b, n).real if isinstance(fit(a, b, n), np.ndarray) else 1.0)


def swap(a: Any, b: Any, n: int) -> None:
    a[0], a[-1] = a[-1], a[0]


def rows(a: Any, b: Any, n: int) -> None:
    for k, row in enumerate(a):
        row *= 1.0 + 0.1 * k


def assign_part(a: Any, b: Any, n: int) -> None:
    if n % 2:
        a.real = np.sin(b.real) if b.shape == a.shape else entry(b, n).real
    else:
        a.imag = b.real * 0.5 if b.shape == a.shape else entry(b, n).real


def sort_in_place(a: Any, b: Any, n: int) -> None:
    if distinct(a):
        a.sort(axis=-1)


def with_where(a: Any, b: Any, n: int) -> None:
    b = fit(a, b, n)
    [np.multiply, np.add, np.subtract][n % 3](
        np.sin(a), b, out=a, where=[a.real > 0.317, np.True_, np.arange(a.size).reshape(a.shape) % 2 == 0][n % 3]
    )


def with_out(a: Any, b: Any, n: int) -> None:
    b = fit(a, b, 3 * n)
    [np.multiply, np.add, np.subtract, np.true_divide][n % 4](np.cos(b), 1.5 + np.sin(a.real), a)


def matrix_out(a: Any, b: Any, n: int) -> None:
    [np.matmul, np.dot][n % 2](np.eye(a.shape[0], dtype=a.dtype) * 0.5 + 0.1, np.array(real_like(a, b)), out=a)


def reduce_out(a: Any, b: Any, n: int) -> None:
    b = real_like(a, b)
    if n % 4 == 0:
        np.sum(b, axis=0, out=a[0])
    elif n % 4 == 1:
        np.mean(b, axis=-1, out=a)
    elif n % 4 == 2:
        np.cumsum(b, axis=0, out=a)
    else:
        np.add.accumulate(b * 0.3, axis=-1, out=a)


def at(a: Any, b: Any, n: int) -> None:
    places = [np.array([0, 1, 0]), [1, -1], slice(1, None), 0][n % 4]
    if n % 5 == 4:
        np.negative.at(a, places)
    else:
        [np.add, np.subtract, np.multiply, np.add][n % 5].at(a, places, entry(real_like(a, b), n) * 0.5)


def copy_to(a: Any, b: Any, n: int) -> None:
    if n % 2:
        np.copyto(a, fit(a, b, n), where=a.real > 0.317)
    else:
        np.copyto(a, fit(a, b, n))


def put(a: Any, b: Any, n: int) -> None:
    b = real_like(a, b)
    [np.put, lambda a, k, v: a.put(k, v)][n % 2](a, [0, -1, 1, 0][: n % 4 + 1], b if n % 3 else entry(b, n))


def put_mask(a: Any, b: Any, n: int) -> None:
    [np.putmask, np.place][n % 2](a, a.real > 0.417, real_like(a, b) if n % 3 else [entry(real_like(a, b), n)])


def put_along(a: Any, b: Any, n: int) -> None:
    np.put_along_axis(a, np.zeros((*a.shape[:-1], 1), int) + n % 2, entry(real_like(a, b), n), -1)


def flat_store(a: Any, b: Any, n: int) -> None:
    b = real_like(a, b)
    if n % 3 == 0:
        a.flat = b
    else:
        a.flat[[0, slice(1, 3), slice(None, None, 2)][n % 3]] = entry(b, n) if n % 2 else np.sin(b).ravel()[:2]


def fill_diagonal(a: Any, b: Any, n: int) -> None:
    np.fill_diagonal(a, entry(real_like(a, b), n) * 0.5)


def clip(a: Any, b: Any, n: int) -> None:
    if float(np.min(np.abs(a - 0.31))) > 1e-4 and float(np.min(np.abs(a - 0.77))) > 1e-4:
        np.clip(a, 0.31, 0.77, out=a) if n % 2 else a.clip(0.31, 0.77, out=a)


def take_out(a: Any, b: Any, n: int) -> None:
    np.take(real_like(a, b), [0] * len(a), axis=0, out=a)


def overlap(a: Any, b: Any, n: int) -> None:
    if n % 3 == 0:
        a[1:] = a[:-1]
    elif n % 3 == 1:
        a[:-1] += 0.5 * a[1:]
    else:
        np.add(a[1:], a[:-1], out=a[:-1])
        a *= 0.5


def half_done(a: Any, b: Any, n: int) -> None:
    a[0] = entry(real_like(a, b), n)
    a[99] = 1.0


def raising(a: Any, b: Any, n: int) -> None:
    try:
        a[0] = entry(real_like(a, b), n)
        raise KeyError(n)
    except KeyError:
        a[-1] *= 0.5
    finally:
        a[...] = a * 0.9


def strided(a: Any, b: Any, n: int) -> None:
    if len(a) > 2:
        as_strided(a, (2, 2), (a.strides[0], a.strides[0]))[0] = entry(real_like(a, b), n)


def memory_view(a: Any, b: Any, n: int) -> None:
    np.asarray(memoryview(a))[0] = 0.5


def structured(a: Any, b: Any, n: int) -> None:
    s = np.zeros(len(a), [("u", a.dtype), ("v", int)])
    s["u"] = a
    a[...] = s["u"] * 0.5


def integers(a: Any, b: Any, n: int) -> None:
    k = np.zeros(4, int)
    k[1:3] = (a.reshape(-1)[:2].real > 0.417).astype(int) + n % 2
    a[k[:2]] *= 0.5
    k[...] = 0
    a[k] = entry(real_like(a, b), n)


def through_part(a: Any, b: Any, n: int) -> None:
    part = a.imag if n % 2 and np.iscomplexobj(a) else a.real
    writes = [store, add, multiply_by, multiply_part, subtract, power, divide, with_out, sort_in_place]
    writes[n // 2 % len(writes)](part, real_like(part, b), n)


WRITES: list[Write] = [
    store, store, store, store, add, add, multiply_by, multiply_part, subtract, power, divide, swap, rows, assign_part,
    sort_in_place, with_where, with_out, with_out, matrix_out, reduce_out, at, copy_to, put, put_mask, put_along,
    flat_store, fill_diagonal, clip, take_out, overlap, half_done, raising, integers,
    through_part, through_part,
    lambda a, b, n: a.fill(entry(real_like(a, b), n)),
    lambda a, b, n: a.__setitem__(..., np.arange(a.size).reshape(a.shape) * 0.1),
    lambda a, b, n: np.nan_to_num(a, copy=False),
    lambda a, b, n: np.einsum("i,i->i", a, real_like(a, b), out=a),
    lambda a, b, n: np.conjugate(a, out=a),
]  # fmt: skip
REFUSED: list[Write] = [strided, memory_view, structured, lambda a, b, n: np.random.default_rng(n).shuffle(a)]

places = st.integers(0, ARRAYS - 1)
numbers = st.integers(0, 200)


def kind(name: str, functions: int, first: int = 0) -> Any:
    return st.tuples(st.just(name), places, places, st.integers(first, first + functions - 1), numbers)


def ops() -> Any:
    """Made anew at each use: `one_of` takes the same strategy into account but once."""
    views, copies, reads = kind("view", len(VIEWS)), kind("copy", len(COPIES)), kind("read", 1)
    return st.one_of(views, copies, reads, *[kind("write", len(WRITES)) for _ in range(3)])


op, refused = ops(), kind("write", len(REFUSED), len(WRITES))
branch = st.tuples(st.just("if"), places, st.lists(op, max_size=4), st.lists(op, max_size=4), numbers)
loop = st.tuples(st.just("repeat"), st.integers(0, 3), st.lists(op, max_size=4), st.just(()), numbers)
programs = st.lists(st.one_of(*[ops() for _ in range(6)], branch, loop, refused), min_size=1, max_size=14)


def weigh(a: Any) -> Any:
    """A real number in which every entry counts otherwise, also the imaginary parts."""
    w = np.linspace(1.0, 2.0, a.size).reshape(a.shape)
    return np.sum(np.sin(a.real) * w) + (np.sum(a.imag * a.real * w) if np.iscomplexobj(a) else 0.0)


def run(ops: list[Any], names: list[Any], total: Any) -> Any:
    """Carry out operations on the arrays; a sum of what was read. What NumPy refuses is noted and passed over."""
    for kind, i, j, which, n in ops:
        if kind == "if":
            total = run(j if np.sum(names[i]).real > 0.913 else which, names, total)
        elif kind == "repeat":
            for _ in range(i):
                total = run(j, names, total)
        else:
            try:
                if kind == "view":
                    names[j] = VIEWS[which](names[i], n)
                elif kind == "copy":
                    names[j] = COPIES[which](names[i], n)
                elif kind == "write":
                    (WRITES + REFUSED)[which](names[i], names[j], n)
                else:
                    total = total + weigh(names[i]) * 0.1
            except ERRORS:
                total = total + 0.01 * n
    return total


def program(ops: list[Any]) -> Callable[..., Any]:
    """The function that carries out the operations on its arguments and a few arrays of its own."""

    def f(x: Any, y: Any, z: Any) -> Any:
        held = table(x.dtype)
        held[:] = np.arange(6) * 0.15
        names = [x, y, z, np.full(6, 0.3, x.dtype), x[1:5], held, np.zeros((2, 3), x.dtype, order="F")]
        total = run(ops, names, x[0] * y[1, 0])
        return total + sum(weigh(a) for a in (x, y, z, *names[3:]))

    return f


def arguments(dtype: Any = float) -> tuple[np.ndarray, ...]:
    """New arguments: a vector, a matrix and a complex vector."""
    x, y = np.linspace(0.2, 0.9, 6).astype(dtype), np.cos(np.arange(6) * 1.1).reshape(2, 3).astype(dtype)
    return x, y, np.sin(np.arange(4) + 0.3).astype(dtype) + 1j * np.cos(np.arange(4) * 0.7).astype(dtype)


def gradients(f: Callable[..., Any], make: Callable[[Any], tuple[np.ndarray, ...]]) -> list[np.ndarray]:
    """By central differences in long doubles; of a complex number z = u + iv: ∂f/∂u - i ∂f/∂v."""
    h = np.longdouble(1e-6)

    def slope(k: int, place: Any, step: Any) -> Any:
        values = []
        for sign in (1, -1):
            args = make(np.longdouble)
            args[k][place] += sign * step
            values.append(f(*args))
        return float((values[0] - values[1]) / (2 * h))

    found = []
    for k, arg in enumerate(make(float)):
        out = np.zeros_like(arg)
        for place in np.ndindex(arg.shape):
            out[place] = slope(k, place, h)
            if np.iscomplexobj(arg):
                out[place] -= 1j * slope(k, place, h * 1j)
        found.append(out)
    return found
