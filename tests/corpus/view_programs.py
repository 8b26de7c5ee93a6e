"""Programs in which memory is written and read through views, and arguments are written: more of mutation_programs."""

from __future__ import annotations

import warnings

import mutation_programs
import numpy as np
from mutation_programs import Programs, matrix, vector, weigh
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from registry import gathered

program = Programs()

# -- views ----------------------------------------------------------------------------------------------------------


@program(vector)
def views_made_before(x):
    a = x * 2
    v, w, r = a[1:4], a[::2], a.reshape(2, 3)
    v[1] = x[0]
    r[1, :2] *= 3
    w += x[:3]
    return weigh(a) + weigh(v) + weigh(w) + weigh(r)


@program(vector)
def views_made_after(x):
    a = x * 2
    a[2] = x[0] ** 2
    v = a[1:5]
    w = v[::-2]
    w[0] = 4.0
    y = weigh(v)
    v[:] = a[:4] * x[2]
    return y + weigh(w) + weigh(a.reshape(3, 2).T)


@program(lambda: matrix(3, 4))
def transposes(x):
    a = x * 1.0
    t = a.T
    t[1] = x[:, 0] * 2
    a[2, 1:3] = x[0, :2]
    t[2:, ::-1] *= x[0, :3]
    s = a.swapaxes(0, 1)[1:3]
    s += 1
    return weigh(t) + weigh(t @ a)


@program(lambda: vector(12))
def reshapes_and_ravels(x):
    a = x * 1.0
    m = a.reshape(3, 4)
    m[1] = x[:4]
    r = m.ravel()
    r[5:7] = x[0] * x[1]
    f = m.T.ravel()
    f[:] = 0.0
    m.reshape(2, 6)[:, 1] *= x[:2]
    q = m.reshape(2, 2, 3)
    q[:, 1] -= q[:, 0]
    return weigh(a) + weigh(m) + f.sum()


@program(lambda: matrix(4, 4))
def diagonals(x):
    a = x * 1.0
    d = a.reshape(-1)[::5]
    d[:] = x[0] * 2
    d += 1
    y = weigh(np.diagonal(a))
    a[1, 1] = 5.0
    a.ravel()[3:-1:3] = x[1]
    return y + weigh(np.trace(a) * a) + weigh(np.diag(a))


@program(vector)
def diagonal_of_strides(x):
    a = np.zeros((6, 6))
    as_strided(a, (6,), (a.strides[0] + a.strides[1],))[:] = x
    as_strided(a[1:], (3, 3), (a.strides[0] * 2, a.strides[1] * 2))[0] += x[:3]
    return weigh(a)


@program(lambda: matrix(4, 3))
def reversed_views(x):
    a = x * 1.0
    r = a[::-1, ::-1]
    r[0] = x[1] * x[2]
    r[1:3, 1] += r[0, :2]
    a[0, 0] *= 3
    q = np.flip(a, 0)
    q[1] *= 2
    return weigh(r) + weigh(np.rot90(a))


@program(lambda: vector(8))
def views_of_views(x):
    a = np.zeros((4, 4))
    b = a[1:]
    c = b[:, ::2]
    d = c.T
    d[0] = x[:3]
    c[1, 1] = x[3] * x[4]
    b[2] += x[4:]
    e = d[::-1][0][1:]
    e *= 2
    return weigh(a) + weigh(e) + weigh(d)


@program(vector)
def new_axes_and_squeezes(x):
    a = x * 1.0
    v = a[:, None]
    w = v[None, 1:4]
    w[0, 1, 0] = x[5] ** 2
    np.squeeze(w)[:1] = x[0]
    np.expand_dims(a, 0)[0, -1] *= 2
    s = a[2:3]
    s[...] = s * x[3]
    return weigh(a) + weigh(v)


@program(vector)
def single_entry_views(x):
    a = x * 1.0
    a[2, ...] = x[1] * 2
    a[3, ...] *= x[0]
    v = a[4, ...]
    v[()] = x[2]
    v += x[3]
    return weigh(a) * v


@program(vector)
def overlapping_slices(x):
    a = x * 1.0
    a[1:] = a[:-1]
    a[1:] += a[:-1]
    a[:-2] *= a[2:]
    a[::-1] -= a * x
    return weigh(a)


@program(lambda: vector(4))
def view_of_untraced_base(x):
    base = np.arange(12.0).reshape(3, 4)
    row, column = base[1], base[:, 2]
    row[:] = x
    column *= x[0]
    return weigh(base) + weigh(column)


BASE = np.arange(12.0)
BASE_ROWS = BASE.reshape(3, 4)


@program(lambda: vector(4))
def base_made_before_tracing(x):
    BASE[:] = 1.5
    BASE_ROWS[2] = x * x
    BASE[::4] += x[:3]
    y = weigh(BASE)
    BASE[:] = 0.0
    return y + weigh(BASE)


@program(vector)
def sliding_windows_read(x):
    a = x * 1.0
    w = sliding_window_view(a, 3)
    y = weigh(w)
    a[2] = x[0] * 5
    return y + weigh(w) + weigh(sliding_window_view(a, 2))


@program(vector)
def strided_windows_read(x):
    a = x * 1.0
    a[1:3] = x[3] * x[4:]
    return weigh(as_strided(a, (4, 3), (8, 8))) + weigh(as_strided(a[1:], (2, 2), (16, 8)))


@program(lambda: vector(3))
def broadcast_views_read(x):
    a = x * 1.0
    b = np.broadcast_to(a, (4, 3))
    y = weigh(b)
    a[1] = x[2] ** 2
    return y + weigh(b) + weigh(np.broadcast_to(a[:, None], (3, 2)))


@program(vector)
def column_order(x):
    a = np.zeros((2, 3), order="F")
    a[0] = x[:3]
    a[:, 1] = x[3:5]
    a *= x[5]
    v = a.ravel("K")
    v[2:4] = x[0]
    b = np.asfortranarray(x.reshape(3, 2))
    b[1] *= 2
    b.T[1, 1:] += x[:2]
    return weigh(a) + weigh(b) + weigh(a.T)


@program(vector)
def empty_then_filled(x):
    a = np.empty((3, 2))
    for i in range(3):
        for j in range(2):
            a[i, j] = x[i] * x[3 + j]
    return weigh(a)


@program(vector)
def recurrence(x):
    a = np.empty(20)
    a[0], a[1] = x[0], x[1]
    for i in range(2, 20):
        a[i] = np.sin(a[i - 1]) * x[i % 6] + a[i - 2] * 0.5
    return weigh(a)


@program(vector)
def prefix_products(x):
    a = np.zeros(8)
    w = np.linspace(0.1, 0.9, 8)
    a[0] = x[0]
    for i in range(1, 8):
        a[i] = a[:i] @ w[:i] + x[i % 6] * a[i - 1]
    return weigh(a)


@program(lambda: matrix(6, 5))
def heat_in_place(x):
    u = x.copy()
    for _ in range(3):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        u[0] = u[1]
        u[:, -1] = 0.0
    return weigh(u)


@program(lambda: matrix(3, 3))
def gauss_elimination(x):
    a = x + 3 * np.eye(3)
    for k in range(3):
        for i in range(k + 1, 3):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return weigh(a)


@program(lambda: matrix(3, 4))
def roots_of_hidden_owners(x):
    q = np.linalg.inv(x @ x.T + np.eye(3))
    q[0] = x[0, :3]
    s = np.concatenate([x, x * 2])
    s[1:3, 1] *= 2
    m = np.where(x > 1, x, 2.0).T
    m[2] = x[:, 3]
    e = np.einsum("ij->ji", x * 1.0)
    e[1] += 1
    c = np.cumsum(x, axis=1)[:, ::2]
    c[0] = 4.0
    return weigh(q) + weigh(s) + weigh(m) + weigh(e) + weigh(c)


@program(lambda: vector(12))
def pieces_of_split(x):
    a = x * 1.0
    p, q, r = np.split(a, 3)
    p += q
    q[1:] = r[1:] * p[0]
    s, t = a.reshape(2, 6)
    s *= t
    return weigh(a) + weigh(q)


@program(vector)
def arrays_in_lists_and_dicts(x):
    rows = [x * k for k in (1.0, 2.0, 3.0)]
    table = {"a": rows[0], "b": np.zeros(6)}
    table["a"][1:3] = x[0]
    table["b"] += rows[1]
    rows[0] *= 2
    rows[2][:] = table["a"]
    table["b"][rows[1] > 2] = 1.0
    return sum(weigh(r) for r in rows) + weigh(table["b"])


@program(vector)
def swapped_names(x):
    new, old = np.empty(6), x.copy()
    for _ in range(5):
        new[1:-1] = old[:-2] * 0.3 + old[2:] * old[1:-1]
        new[0], new[-1] = old[-1], x[1]
        new, old = old, new
    return weigh(old)


# -- dtypes ---------------------------------------------------------------------------------------------------------


@program(vector)
def untraced_integer_arrays(x):
    k = np.zeros(4, int)
    k[1:] = [3, 2, 5]
    k[0] += 1
    m = np.zeros(6, bool)
    m[::2] = True
    y = np.sum(x * m)
    m |= x > 1.0
    return weigh(x[k]) + y * weigh(x[m])


@program(lambda: vector(6).astype(np.float32))
def single_precision(x):
    a = x * np.float32(2)
    a[1] = x[0] * x[2]
    a[2:4] *= x[1]
    a += 0.5
    return np.sum(a * a)


@program(lambda: vector(4))
def cast_on_store(x):
    a = np.zeros(4, np.float32)
    a[:2] = x[:2]
    a[3] = x[2] * 2.0
    a += x
    np.multiply(x, a, out=a)
    return np.sum(a.astype(float) ** 2)


@program(lambda: vector(4))
def integers_stored_in_floats(x):
    a = x * x
    a[0] = 3
    a[1:3] = np.arange(2)
    a += np.arange(4)
    a[3] = True
    return weigh(a)


@program(lambda: vector(4))
def complex_arrays(x):
    z = np.zeros(4, complex)
    z[0] = x[0] + 1j * x[1]
    z[1:3] = x[2:] * 1j
    z *= x * (1 + 2j)
    z[3] = np.exp(1j * x[3])
    z[::2] = z[1::2].conj() * z[::2]
    return np.sum(np.abs(z) ** 2 * np.arange(1.0, 5))


@program(lambda: vector(4))
def real_stored_in_complex(x):
    z = np.full(4, 1j)
    z[:2] = x[:2]
    z += x
    z[3] = x[3]
    return np.sum((z * z * (1 + 1j)).imag)


# -- real and imaginary parts


def parted(x):
    """Six numbers as three complex ones."""
    return x[:3] * (1 + 0.5j) + x[3:] * 1j


def weigh_complex(z):
    z = np.asarray(z)
    return weigh(z.real) + np.sum(z.imag**2) + np.sum((z * z).imag)


@program(vector)
def parts_added_to(x):
    z = parted(x)
    z.real += 1
    z.imag *= x[:3]
    z.real -= z.imag
    z.imag /= z.real[1] + 5
    return weigh_complex(z)


@program(vector)
def parts_assigned(x):
    z = parted(x)
    z.real = x[3:]
    z.imag = z.real * x[0]
    z.real = 2.0
    z.imag = z.imag[::-1].copy()
    z.real, z.imag = z.imag.copy(), z.real.copy()
    return weigh_complex(z)


@program(vector)
def entries_of_parts(x):
    z = parted(x)
    z.real[0] = x[3] ** 2
    z.imag[1:] = z.real[:2] * x[0]
    z.imag[::-2] -= x[:2]
    z.real[[0, 2]] *= x[4:]
    z.real[np.array([True, False, True])] += 1.5
    z.imag[z.real > 100] = 0.0
    for k in range(1, 3):
        z.real[k] += z.imag[k - 1] * z.real[k - 1]
    return weigh_complex(z)


@program(vector)
def parts_seen_before_and_after(x):
    z = parted(x)
    r, i = z.real, z.imag
    z *= 2j
    y = weigh(r) + weigh(i)
    r[1] = x[1] * i[0]
    i += r
    z[2] = x[5] * (1 - 2j)
    return y + weigh(r) + weigh(i) + weigh_complex(z)


@program(lambda: matrix(3, 4))
def parts_of_views(x):
    z = x * (1 + 2j) + 1j
    z.T.real[1] += x[:, 0]
    z[::-1, 1:].imag[0] = x[0, :3] ** 2
    z[1].real = x[2]
    z.reshape(-1)[2:9:3].imag *= x[0, :3]
    z.diagonal().real.sum()
    np.fliplr(z).imag[:, 0] -= x[:, 1]
    return weigh(z.real) + np.sum(z.imag**3) + np.sum(z.T.imag[0])


@program(vector)
def parts_of_scratch(x):
    z = np.zeros(3, complex)
    z.real = x[:3]
    z.imag[:] = x[3:] * z.real
    w = np.ones((2, 3), np.complex128)[:, ::-1]
    w.imag[1] = z.imag
    w.real[:, 0] += x[:2]
    return weigh_complex(z) + np.sum(np.abs(w) ** 2 * np.arange(1.0, 4))


@program(vector)
def parts_written_by_functions(x):
    z = parted(x)
    np.multiply(z.real, x[:3], out=z.imag)
    np.add.at(z.real, [0, 0, 2], x[3:])
    np.copyto(z.imag[:2], x[:2], where=[True, False])
    z.real.flat[1] = x[0]
    np.exp(x[0], out=z.imag[1, ...])
    z.imag[2:].fill(x[5])
    z.real.sort()
    return weigh_complex(z)


@program(vector)
def parts_seen_as_each_other(x):
    z = parted(x)
    weights = np.exp(1j * np.arange(4.0)).reshape(2, 2)
    return np.sum(np.real(as_strided(z, (2, 2), (8, 8)) * weights))


@program(vector)
def part_of_a_single_number(x):
    z = np.array(x[0] + 1j * x[1])
    z.real += x[2]
    z.imag[...] *= x[3]
    w = parted(x)
    w[1, ...].imag = z.real
    return np.abs(z * z) + weigh_complex(w)


@program(vector)
def nothing_stored_by_flat(x):
    y = x.reshape(2, 3) * x[0]
    y.flat[:4:2] = x[:0]
    y.T.flat = np.zeros(0) * x[1]
    np.copyto(y, y, where=[True, False])  # copies nothing either: the mask does not even fit
    return weigh(y)


@program(vector)
def broadcast_arrays_written(x):
    y = x * 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy's
        whole, row = np.broadcast_arrays(y[:1] * x[1], y[None, 3:])
        row[0, 1] = x[0]
        np.broadcast_arrays(y[:0], y[0])[1][...] *= 2.0
    return weigh(y) + np.sum(whole * row)


# -- arguments ------------------------------------------------------------------------------------------------------


@program(vector)
def argument_mutated(x):
    y = np.sum(x * x)
    x[1:3] = x[0] * 2
    x *= 3
    return y + weigh(x)


@program(vector, lambda: vector(6, 1))
def one_argument_into_another(x, y):
    x[:] = y * x
    y[2] = 5.0
    return weigh(x) + weigh(y * y)


@program(vector)
def argument_wiped(x):
    y = np.sum(np.exp(x))
    x[:] = 0.0
    return y + x.sum()


@program(lambda: vector(12)[::-2])
def strided_argument(x):
    x[1] = x[0] * x[2]
    v = x[::2]
    v += x[1]
    return weigh(x)


@program(lambda: np.asfortranarray(matrix(3, 4)))
def column_order_argument(x):
    x[1] *= x[0]
    x.T[2, 1:] = x[0, :2]
    return weigh(x) + weigh(x.T)


@program(lambda: np.broadcast_to(vector(3), (2, 3)).copy()[:, 1:])
def window_argument(x):
    x[0] += x[1]
    x[:, 0] = x[0, 1] ** 2
    return weigh(x)


@program(lambda: np.array(0.7))
def zero_d_argument(x):
    y = x * x
    x += y
    x[...] = x * 3
    return x * y


@program(lambda: [vector(3), vector(3, 1)], lambda: {"w": vector(3, 2)})
def containers_of_arrays(rows, table):
    rows[0][1] = rows[1][0] * table["w"][2]
    table["w"] *= rows[0]
    rows[1] += 1
    rows.append(rows[0] * 2)
    return weigh(rows[2]) + weigh(table["w"]) + weigh(rows[1])


@program(vector)
def argument_returned_through_view(x):
    v = x[2:]
    v[0] = x[0] ** 2
    x = x.reshape(2, 3)
    x[0] -= x[1]
    return weigh(v)


FOLLOWED = [*gathered(mutation_programs.program, program).values()]
