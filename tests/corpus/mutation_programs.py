"""Programs that change arrays in place: each with its arguments, each compared with plain runs by test_mutation."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from registry import Table


class Program(NamedTuple):
    """A function and a maker of its arguments (new arrays at each call)."""

    f: Callable[..., Any]
    args: Callable[[], tuple[Any, ...]]


def vector(n: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.3, 1.7, n)


def matrix(n: int = 4, m: int = 3, seed: int = 0) -> np.ndarray:
    return vector(n * m, seed).reshape(n, m)


class Programs(Table):
    """`@program(*makers)` enters a function; each maker makes one argument."""

    def __call__(self, *makers: Callable[[], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def add(f: Callable[..., Any]) -> Callable[..., Any]:
            self.enter(f.__name__, Program(f, lambda: tuple(make() for make in makers)))
            return f

        return add


program = Programs()


def weigh(a: Any) -> Any:
    """A sum in which every entry counts otherwise, so that no mix-up of places goes unseen."""
    return np.sum(a * a * np.linspace(1.0, 2.0, np.size(a)).reshape(np.shape(a)))


def leaves(value: Any) -> list[Any]:
    """The numbers and arrays in an argument or a gradient, in order."""
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves(part)]
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


# -- keys of every kind ---------------------------------------------------------------------------------------------


@program(vector)
def store_integer(x):
    a = x.copy()
    a[2] = x[0] * x[1]
    a[-1] = 3.0
    return weigh(a)


@program(matrix)
def store_two_integers(x):
    a = x * 1.0
    a[1, 2] = x[0, 0] ** 2
    a[-1, 0] += x[2, 2]
    return weigh(a)


@program(vector)
def store_slices(x):
    a = np.zeros(9)
    a[1:4] = x[:3]
    a[::-2] = x[:5] * 2
    a[8:3:-3] = x[1] * x[2:4]
    return weigh(a)


@program(matrix)
def store_ellipsis_and_newaxis(x):
    a = x + 0.0
    a[..., 0] = x[:, 1]
    a[1, ...] = x[0] * 2
    a[None, 2] = x[3]
    a[:, None, 2] = x[:, :1]
    a[3, None] = x[1]
    a[...] = a * x
    return weigh(a)


@program(matrix)
def store_broadcast(x):
    a = np.ones((4, 3))
    a[1:] = x[0]
    a[:, 0] = x[2, 2]
    a[2:, 1:] = x[:2, :1]
    return weigh(a)


@program(vector)
def store_mask(x):
    a = x * 2
    a[x > 1.0] = 0.5
    a[a > 1.5] = a[a > 1.5] ** 2
    return weigh(a)


@program(matrix)
def store_mask_rows(x):
    a = x * 2
    a[np.array([True, False, True, False])] = x[1]
    a[np.array([False, True, True, False]), 1] = x[:2, 2]
    a[np.array([False, True, True, False]), 1:] *= 3
    return weigh(a)


@program(vector)
def store_fancy(x):
    a = x * 2
    a[[3, 1]] = x[:2] * x[4]
    a[np.array([[0, 2], [4, 5]])] = x[2:4]
    return weigh(a)


@program(vector)
def store_fancy_last_write_wins(x):
    a = x * 2
    a[[1, 1, 3, 1]] = x[:4]
    a[np.array([0, 0])] = x[5]
    return weigh(a)


@program(matrix)
def store_fancy_mixed(x):
    a = x * 2
    a[[0, 2], 1:] = x[1:3, :2]
    a[1:, [2, 0]] = x[:3, 1:]
    a[[0, 1], [2, 2]] = x[3, :2]
    a[None, [3], :2] += x[0, :2]
    return weigh(a)


@program(vector)
def fancy_augmented_counts_once(x):
    a = x * 2
    a[[1, 1, 3]] += x[:3]
    a[[0, 0]] *= 2
    return weigh(a)


@program(vector)
def add_at_by_bincount_loop(x):
    a = np.zeros(3)
    for i in range(6):
        a[i % 3] += x[i] * x[0]
    return weigh(a)


@program(matrix)
def swap_rows(x):
    a = x * 1.0
    a[[0, 1]] = a[[1, 0]]
    a[:, [0, 2]] = a[:, [2, 0]] * x[:, [1]]
    return weigh(a)


@program(vector)
def swap_entries(x):
    a = x * 1.0
    for i in range(5):
        a[i], a[i + 1] = a[i + 1] * 2, a[i]
    return weigh(a)


@program(vector)
def key_array_changed_later(x):
    a = x * 1.0
    k = np.array([0, 2])
    a[k] = x[3:5]
    y = a[k] * 2
    k[:] = [1, 5]
    m = np.array([True, False] * 3)
    a[m] = x[3:] * x[1]
    m[:] = False
    return weigh(a) + weigh(y) + weigh(a[k])


@program(vector)
def list_of_traced_values(x):
    a = np.zeros(6)
    a[0:2] = [x[0] * 2, x[1]]
    a[2:4] = (x[3], 1.0)
    a[[4, 5]] = [x[2], x[5] ** 2]
    return weigh(a)


@program(vector)
def constants_over_traced(x):
    a = x * x
    a[1:3] = 7.0
    a[4] = 0
    return weigh(a) + weigh(a[1:3])


@program(vector)
def all_overwritten_by_constants(x):
    a = x * x
    y = weigh(a)
    a[:] = 2.0
    b = x * 3
    b[...] = np.arange(6.0)
    b *= 2
    return y + weigh(a) + weigh(b) * x[0]


@program(vector, vector)
def written_by_itself(x, y):
    a = x * 1.0
    a[:] = a
    a[...] = a[::-1]
    a[1:] = a[:-1]
    a[2:] += a[:-2]
    a[:-1] -= a[1:] * y[0]
    return weigh(a)


@program(lambda: 0.7)
def python_float_stored(x):
    a = np.zeros((2, 2))
    a[0, 0] = x
    a[1] = x * x
    a[0, 1] = np.float64(3.0) * x
    return weigh(a)


@program(vector)
def zero_d_stored(x):
    a = np.zeros(4)
    s = np.asarray(x.sum())
    z = np.zeros(())
    z[...] = s * 2
    a[1] = s
    a[2] = z
    a[3] = z[()]
    z += x[0]
    z[()] = z * z
    return weigh(a) * z


@program(lambda: np.array(0.7))
def zero_d_where_masks_say(x):
    y = np.empty_like(x)
    y[x > 3.0] = 1.0
    inside = np.logical_and(x > 0.0, x < 2.0)
    y[inside] = x[inside] ** 2
    y[True] = y * x
    y[()] = np.sin(y)
    return y * 1.0


@program(vector)
def empty_slices(x):
    a = x * 1.0
    a[3:3] = x[0]
    a[[]] = x[1]
    b = np.empty((0, 3))
    b[:] = x[2]
    b += x[0]
    a[0:0] *= 2
    return weigh(a) + b.sum()


# -- whole arrays: in-place operators, out=, fill, copyto -----------------------------------------------------------


@program(vector, lambda: vector(6, 1))
def every_operator(x, y):
    a = x * 1.0
    a += y
    a *= x
    a -= y * y
    a /= y + 2
    a **= 2
    a += 1
    a //= 100.0
    a += x
    a %= 1.3
    return weigh(a)


@program(vector)
def operators_on_parts(x):
    a = x * 1.0
    a[1] *= x[0]
    a[2:5] += x[:3]
    a[::2] /= x[1]
    a[::-3] **= 2
    v = a[1:4]
    v *= a[0]
    v -= 1
    return weigh(a) + weigh(v)


@program(lambda: matrix(3, 3), lambda: matrix(3, 3, 1))
def matmul_in_place(x, y):
    a = x * 1.0
    a @= y
    a[1:] @= y
    return weigh(a)


@program(matrix)
def rows_in_place(x):
    a = x.copy()
    for row in a:
        row *= row.sum()
        row[0] = row[1] * 2
    for i in range(1, 4):
        a[i] -= a[i - 1]
    return weigh(a)


@program(vector, vector)
def out_in_every_form(x, y):
    a, b, c = np.empty(6), np.zeros(6), np.ones(6)
    np.multiply(x, y, out=a)
    np.sin(a, b)
    np.add(a, b, out=(c,))
    np.add(c, c, c)
    np.multiply(a, c, out=a)
    return weigh(a) + weigh(b) + weigh(c)


@program(vector)
def out_in_views(x):
    a = np.zeros((3, 6))
    np.exp(x, out=a[0])
    np.multiply(a[0], x[::-1], out=a[1, ::-1])
    np.add(a[0, :3], 1.0, out=a[2, ::2])
    np.cumsum(a[0], out=a[0])
    return weigh(a)


@program(matrix)
def reductions_with_out(x):
    a = np.zeros(3)
    np.sum(x, axis=0, out=a)
    b = np.zeros((4, 4))
    np.matmul(x, x.T, out=b)
    np.dot(x, x.T, out=b)
    return weigh(a) + weigh(b)


@program(vector)
def out_broadcasts_inputs(x):
    a = np.zeros((3, 6))
    np.add(x, 1.0, out=a)
    np.multiply(a, x[0], out=a)
    a += x
    a *= 2.0
    return weigh(a)


@program(vector)
def fill_and_copyto(x):
    a = np.empty(6)
    a.fill(x[0])
    b = np.empty((2, 6))
    np.copyto(b, x)
    np.copyto(b[1], a)
    np.copyto(a, x * 2, where=x > 1.0)
    np.copyto(a[:2], [x[1], 2.0])
    return weigh(a) + weigh(b)


@program(vector)
def scratch_buffer(x):
    buf = np.ones(6)
    y = np.sum(x * buf)
    buf[:] = 5
    return y + np.sum(x * buf)


@program(vector)
def scratch_buffer_in_loop(x):
    buf = np.empty(6)
    y = 0.0
    for k in range(4):
        np.multiply(np.arange(6.0), k, out=buf)
        buf += 1
        buf[k] = 9.0
        y += np.sum(np.sin(x) * buf)
    return y


@program(vector)
def traced_scratch_buffer(x):
    buf = np.empty(6)
    y = 0.0
    for k in range(3):
        np.multiply(x, k + 1, out=buf)
        np.sin(buf, out=buf)
        y += np.sum(buf * buf * x)
    buf.fill(0.0)
    return y + buf.sum()


@program(vector)
def residuals_overwritten(x):
    a = np.exp(x)
    b = np.sqrt(a)
    c = a * b
    a[:] = 0.0
    b *= 2
    b[1:3] = 5.0
    d = c * c
    c[0] = 7.0
    return weigh(d) + weigh(b) + weigh(c)


@program(vector)
def untraced_global_mutated_after_use(x):
    TABLE[:] = np.arange(6.0)
    y = np.sum(x * x * TABLE)
    TABLE[1:4] *= 3
    z = np.sum(x * TABLE)
    TABLE[[0, 0, 5]] = 8.0
    TABLE.sort()
    return y * z + np.sum(x * TABLE)


@program(vector)
def untraced_arrays_stored_and_then_overwritten(x):
    s, places = np.linspace(0.3, 0.8, 6), np.array([0, 2])
    a, b, c, d = x * x, x * 2, np.sin(x), np.cos(x)
    a[1:3] = s[1:3]
    b[::-1] = s
    c[places] = s[:2]
    np.copyto(d[::2], s[::2])
    s[:] = x
    places[:] = 3
    return weigh(a * a) + weigh(b * s) + weigh(c * c) + weigh(d * d)


@program(vector)
def put_until_an_index_is_out_of_range(x):
    a, b = x[:2] * 1.0, x[:3] * 2.0
    for write in (lambda: np.put(a, [0, -1, 2, 0], x), lambda: b.put([1, 5], x[3])):
        with contextlib.suppress(IndexError):
            write()
    return weigh(a * a) + weigh(b * b)


TABLE = np.zeros(6)
