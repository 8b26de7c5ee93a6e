"""Programs over arrays taken apart, made of what is no array, shown in strides and changed in place."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import copy
import math

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from program_table import A, V, Programs

program = Programs()
Y = np.arange(1.0, 9.0) / 3


@program(V)
def arrays_tolist(x):
    return sum(v * v for v in x.tolist())


@program(A)
def arrays_tolist2(a):
    rows = (a * 2).tolist()
    assert type(rows[0][0]) is float
    return rows[0][1] * rows[1][2] + sum(map(sum, rows))


@program(V)
def arrays_tolist0(x):
    return x[0].tolist() * 2 + np.sum(x).tolist()


@program(V)
def arrays_tolist_written(x):
    y = x.copy()
    y[0] = y[1] * 2
    return sum(v**2 for v in y.tolist())


@program(A)
def arrays_item(a):
    return a.item(1) * a.item(0, 2) + a[0].item(0) + a[1, 1].item() + a.item((1, 0))


@program(V)
def arrays_fromiter(x):
    return np.sum(np.fromiter((v * v for v in x), float) * x)


@program(V)
def arrays_fromiter_count(x):
    return np.sum(np.fromiter((v * v for v in x), dtype=np.float64, count=2))


@program(V)
def arrays_fromiter_map(x):
    return np.fromiter(map(math.sin, x), float, len(x)).sum() + np.fromiter(x, float).prod()


@program(0.5, 2.25, 0.5)
def arrays_arange(a, b, s):
    return np.sum(np.arange(a, b, s) ** 2) + np.arange(b)[1] + np.arange(a, b).sum()


@program(0.5, 2.25)
def arrays_linspace(a, b):
    y, step = np.linspace(a, b, 5, retstep=True)
    return np.sum(y**2) * step + np.linspace(a, b, 4, endpoint=False).sum()


@program(0.5, 2.25)
def arrays_logspace(a, b):
    return np.logspace(a, b, 4).sum() + np.geomspace(a, b, 5)[2] + np.logspace(a, b, 3, base=2.0, endpoint=False)[1]


@program(V)
def arrays_linspace_arrays(x):
    return np.sum(np.linspace(x, 2 * x[::-1], 3) ** 2) + np.geomspace(x, 2 + x, 3)[1].sum()


@program(V)
def arrays_namespace(x):
    xp = x.__array_namespace__()
    return xp.sum(xp.sin(x) * xp.asarray(x)) + float(xp.linalg.vector_norm(x))


@program(V)
def arrays_namespace_more(x):
    xp = x.__array_namespace__(api_version="2023.12") if hasattr(x, "__array_namespace__") else np
    y = xp.permute_dims(xp.reshape(x, (1, 3)), (1, 0))
    z = xp.concat([y[:, 0], xp.astype(x, xp.float64)])
    return (
        xp.sum(xp.matmul(xp.reshape(z, (2, 3)), xp.matrix_transpose(xp.reshape(z, (2, 3)))))
        + xp.mean(z)
        + xp.acos(x[2])
        + xp.pow(x[0], 2.0)
    )


@program(V)
def arrays_is_integer(x):
    return x[0] * (2 if float(x[0]).is_integer() else 3) + (x[1] if x[1].is_integer() else 0)


@program(A)
def arrays_ndenumerate(a):
    return sum(v * (i + 1) * (j + 2) for (i, j), v in np.ndenumerate(a))


@program(A)
def arrays_ndindex(a):
    return sum(a[i] ** 2 for i in np.ndindex(a.shape)) + sum(a[i] for i in np.ndindex(2, 3))


@program(V)
def arrays_dunder_array(x):
    class H:
        def __init__(self, v):
            self.v = v

        def __array__(self, dtype=None, copy=None):
            return self.v * 2

    h = H(x)
    return np.sum(np.asarray(h)) + np.array(h)[0] + np.sin(h).sum() + np.sum(h) + (np.ones(3) * np.asarray(h)).sum()


@program(V)
def arrays_copies(x):
    return np.sum(copy.copy(x) * copy.deepcopy(x)) + copy.deepcopy({"a": [x]})["a"][0][1] + copy.copy(x[0])


@program(Y)
def arrays_set_shape_const(y):
    b = np.arange(8.0)
    b.shape = (2, 4)
    return (b * y.reshape(2, 4)).sum()


@program(Y)
def arrays_set_strides(y):
    b = y * 1
    s = b.strides
    return b[::2].sum() * s[0]


@program(Y)
def arrays_set_flat(y):
    b = np.zeros((2, 4))
    b.flat = y
    b.flat[3] = y[0] ** 2
    b.flat[[1, 2]] = y[5] * y[6:8]
    b.flat[::3] *= 2
    return (b**2).sum()


@program(V)
def arrays_set_imag(x):
    z = np.zeros(3, complex)
    z.real = x
    z.imag = x**2
    z.imag[1] = 3 * x[0]
    return np.sum(np.abs(z) ** 2)


@program(V)
def arrays_set_real(x):
    b = x * 2
    b.real = x**2
    return b.sum()


@program(V)
def arrays_sort_in_place(x):
    b = x * 2
    b.sort()
    c = x.copy()
    c.partition(1)
    return b[0] * 3 + b[2] ** 2 + c[1]


@program(A)
def arrays_sort_axis(a):
    b = a.copy()
    b.sort(axis=0, kind="stable")
    b[0].sort()
    return (b * np.arange(6.0).reshape(2, 3)).sum()


@program(V)
def arrays_fill_put(x):
    b = np.zeros(4)
    b.fill(x[0])
    b.put([0, 5], x[:2], mode="wrap")
    np.put(b, [2], x[2])
    np.put_along_axis(b, np.array([3]), x[1:2], 0)
    return (b**2).sum()


@program(Y)
def arrays_view_f8(y):
    return y.view("f8").sum() + y.view(np.float64)[1] + y.view(dtype=float)[0]


@program(Y)
def arrays_strided(y):
    s = y.strides[0]
    w = as_strided(y, (6, 3), (s, s))
    return (w**2).sum() + as_strided(y, shape=(2, 2), strides=(2 * s, s))[1, 0]


@program(Y)
def arrays_strided_zero(y):
    return (as_strided(y[:4], (3, 4), (0, y.itemsize)) * np.arange(12.0).reshape(3, 4)).sum()


@program(Y)
def arrays_strided_of_view(y):
    b = (y * 2)[::-1]
    return (as_strided(b, (3, 2), (b.strides[0] * 2, b.strides[0])) ** 2).sum()


@program(Y)
def arrays_strided_write(y):
    b = y * 1
    d = as_strided(b, (4,), (2 * b.itemsize,))
    d[...] = d * 3
    return (b**2).sum()


@program(A)
def arrays_strided_diag(a):
    b = a[:, :2].copy()
    d = as_strided(b, (2,), (b.strides[0] + b.strides[1],))
    d += 1
    return np.linalg.det(b)


@program(Y)
def arrays_windows(y):
    return (
        (sliding_window_view(y, 3) ** 2).sum()
        + sliding_window_view(y.reshape(2, 4), (2, 2)).mean(axis=(-1, -2))[0, 1]
        + sliding_window_view(y, 2, subok=True)[::2, 0].sum()
    )


@program(Y)
def arrays_windows_read_later(y):
    b = y * 1
    w = sliding_window_view(b, 3)
    b[2] = y[0] ** 2
    return (w**2).sum()


@program(Y)
def arrays_ndarray_ctor(y):
    return np.ndarray((2, 2), float, buffer=y * 2, offset=8).sum() + np.ndarray(shape=(2,), buffer=y, strides=(16,))[1]


@program(A)
def arrays_apply_along(a):
    return (
        np.apply_along_axis(lambda r: r[0] * r**2, 1, a).sum()
        + np.apply_along_axis(np.sum, 0, a)[1]
        + np.apply_over_axes(np.sum, a, [0, 1])[0, 0]
    )


@program(V)
def arrays_piecewise(x):
    return (
        np.piecewise(x, [x < 0.5, x >= 0.5], [lambda v: v**2, lambda v: 3 * v]).sum()
        + np.piecewise(x, [x > 1], [lambda v, k: k * v, 0.5], 2.0).sum()
        + np.select([x < 0.5, x > 1], [x, x**2], 7.0).sum()
    )


@program(V)
def arrays_fromfunction(x):
    return np.fromfunction(lambda i, j: x[0] * i + x[1] * j, (2, 2)).sum()


@program(V)
def arrays_array_of_traced(x):
    return (
        np.array([x[0], x[1] * 2]).sum()
        + np.array([[x[0], 1.0], [2, x[1]]])[1, 1]
        + np.asarray((x, x))[1, 0]
        + np.array([list(x), [1, 2, 3]]).sum()
        + np.array(x[0]) * 1.0
    )


@program(V)
def arrays_unpack(x):
    a, b, c = x.tolist()
    d, *e = x * 2
    return a * b + c + d + sum(e)


@program(V)
def arrays_memmap_const(x):
    import tempfile, os

    with tempfile.NamedTemporaryFile() as f:
        np.arange(3.0).tofile(f.name)
        m = np.memmap(f.name, dtype=float, mode="r")
        return (m * x).sum() + np.sum(np.sin(m) * x) + float(np.sum(m)) * x[0]
