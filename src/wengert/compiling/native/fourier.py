"""Native code for Fourier transforms along one axis: Stockham's algorithm for lengths with small prime factors.

The sums have another order than NumPy's. Long transforms are left to NumPy, whose code is faster for them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from wengert.compiling.native.complex_numbers import as_pair
from wengert.compiling.native.helper_calls import call_helper
from wengert.compiling.native.values import (
    ComplexPair,
    Scalar,
    UnsupportedOp,
    View,
    real_parts,
)
from wengert.compiling.native.views import array_of_parts
from wengert.compiling.ops import info
from wengert.tape.ops import Call, value_of

LONGEST_TRANSFORM = 1 << 12
MOST_ODD_STEPS = 3000  # for each number one per odd prime factor, times that; NumPy is faster for more

STEP = """
def part_of_fourier(y, z, a, b, t, u, n, f, m, s):
    # one step of a transform of n complex numbers: m transforms of f numbers for each of s sequences
    if f == 4:
        for j in range(m):
            p1, p2, p3 = t[j * s], t[2 * j * s], t[3 * j * s]
            q1, q2, q3 = u[j * s], u[2 * j * s], u[3 * j * s]
            e, r = j * s, 4 * j * s
            for i0 in range(s):
                c0 = a[i0 + e] + a[i0 + e + 2 * m * s]
                d0 = b[i0 + e] + b[i0 + e + 2 * m * s]
                c1 = a[i0 + e] - a[i0 + e + 2 * m * s]
                d1 = b[i0 + e] - b[i0 + e + 2 * m * s]
                c2 = a[i0 + e + m * s] + a[i0 + e + 3 * m * s]
                d2 = b[i0 + e + m * s] + b[i0 + e + 3 * m * s]
                c3 = b[i0 + e + m * s] - b[i0 + e + 3 * m * s]
                d3 = a[i0 + e + 3 * m * s] - a[i0 + e + m * s]
                y[i0 + r] = c0 + c2
                z[i0 + r] = d0 + d2
                y[i0 + r + s] = (c1 + c3) * p1 - (d1 + d3) * q1
                z[i0 + r + s] = (c1 + c3) * q1 + (d1 + d3) * p1
                y[i0 + r + 2 * s] = (c0 - c2) * p2 - (d0 - d2) * q2
                z[i0 + r + 2 * s] = (c0 - c2) * q2 + (d0 - d2) * p2
                y[i0 + r + 3 * s] = (c1 - c3) * p3 - (d1 - d3) * q3
                z[i0 + r + 3 * s] = (c1 - c3) * q3 + (d1 - d3) * p3
        return False
    for j in range(m):
        for h in range(f):
            p, q = t[j * h * s], u[j * h * s]
            for i0 in range(s):
                c, d = a[i0 + j * s], b[i0 + j * s]
                for k in range(1, f):
                    v, w = t[k * h % f * (n // f)], u[k * h % f * (n // f)]
                    g, l = a[i0 + (j + k * m) * s], b[i0 + (j + k * m) * s]
                    c += g * v - l * w
                    d += g * w + l * v
                y[i0 + (f * j + h) * s] = c * p - d * q
                z[i0 + (f * j + h) * s] = c * q + d * p
    return False
"""

TRANSFORM = """
def fourier(x, o, a, p, p0, p1, b, q, q0, q1, t, u, u0, u1, rows, n):
    # the transform of each row, real parts before imaginary ones, and as much work space behind it
    for i in range(rows):
        here = o + 4 * n * i
        for j in range(n):
            x[here + j] = a[p + i * p0 + j * p1]
            x[here + n + j] = b[q + i * q0 + j * q1]
        now = here
        other = here + 2 * n
        left = n
        s = 1
        while left > 1:
            f = 4 if left % 4 == 0 else 2
            while left % f != 0:
                f += 1
            left = left // f
            y, z = x[other:other + n], x[other + n:other + 2 * n]
            v, w = x[now:now + n], x[now + n:now + 2 * n]
            part_of_fourier(y, z, v, w, t[u:u + n], t[u + n:u + 2 * n], n, f, left, s)
            s = s * f
            now, other = other, now
        if now != here:
            for j in range(2 * n):
                x[here + j] = x[now + j]
    return False
"""


def emit_fft(body: Any, op: Call, x: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    """Emit np.fft.fft or np.fft.ifft."""
    pair, length = as_pair(body, array_of_parts(body, x)), op.val.shape[axis]
    if n not in (None, length) or np.shape(value_of(op.args[0])) != op.val.shape:
        raise UnsupportedOp("a Fourier transform of another length than its argument")
    is_inverse = info(op.fn).name == "ifft"
    return _times_factor(body, _transform(body, pair, axis, is_inverse), _factor(norm, length, is_inverse))


def emit_rfft(body: Any, op: Call, x: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    """Emit np.fft.rfft, by the transform of complex numbers."""
    length = np.shape(value_of(op.args[0]))[axis]
    if n not in (None, length):
        raise UnsupportedOp("a Fourier transform of another length than its argument")
    whole = _transform(body, as_pair(body, array_of_parts(body, x)), axis, False)
    half = ComplexPair(*[replace(part, shape=op.val.shape) for part in real_parts(whole)])
    return _times_factor(body, half, _factor(norm, length, False))


def emit_irfft(body: Any, op: Call, x: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    """Emit np.fft.irfft: the other half of the spectrum is the conjugate of the first; the ends of it are real."""
    pair, length = as_pair(body, array_of_parts(body, x)), op.val.shape[axis]
    half, along = np.shape(value_of(op.args[0]))[axis], axis % op.val.ndim
    if length // 2 + 1 != half or length < 1:
        raise UnsupportedOp("a Fourier transform of another length than its argument")
    parts = []
    for part, template in zip(real_parts(pair), ("{0}", "-{0}"), strict=True):
        whole, first = body.level.new_array(op.val.shape), body.view(part)
        body.level.store(_sliced(whole, along, 0, half, 1), "=", first)
        rest = length - half
        if rest:
            mirrored = body.level.let(
                template, [_sliced(first, along, rest, rest, -1)], _with(op.val.shape, along, rest)
            )
            body.level.store(_sliced(whole, along, half, rest, 1), "=", mirrored)
        if template == "-{0}":
            for k in [0] + [length // 2] * (length % 2 == 0):
                body.level.store(_sliced(whole, along, k, 1, 1), "=", Scalar("0.0"))
        parts.append(whole)
    found = _transform(body, ComplexPair(*parts), axis, True).real
    return _times_factor(body, found, _factor(norm, length, True))


def _with(shape: tuple[int, ...], axis: int, n: int) -> tuple[int, ...]:
    """Return a shape with another length along an axis."""
    return (*shape[:axis], n, *shape[axis + 1 :])


def _sliced(view: View, axis: int, first: int, n: int, step: int) -> View:
    """Return n elements of each line along an axis, from `first` on."""
    stride = view.strides[axis]
    strides = _with(view.strides, axis, stride * step)
    return replace(view, offset=view.offset + first * stride, strides=strides, shape=_with(view.shape, axis, n))


def _transform(body: Any, pair: ComplexPair, axis: int, is_inverse: bool) -> ComplexPair:
    """Return the transform along an axis; the inverse one, but for its factor, is that of the parts exchanged."""
    views = [body.view(x) for x in real_parts(pair)]
    shape = views[0].shape
    n = shape[axis]
    if len(shape) > 2 or not 0 < n <= LONGEST_TRANSFORM or n * sum(_odd_factors(n)) > MOST_ODD_STEPS or 0 in shape:
        raise UnsupportedOp("a long Fourier transform, or of a length with large prime factors")
    order = (1, 0) if len(shape) == 2 and axis % 2 == 0 else range(len(shape))
    views = [view.transposed(order) for view in views]
    lines = [view.as_rows() for view in views]
    angles = np.arange(n, dtype=np.longdouble) * (2 * np.arccos(np.longdouble(-1)) / n)
    table = np.stack([np.cos(angles), -np.sin(angles)]).astype(float)
    turns = body.program.parameter((table.tobytes(), "turns"), table, table)
    rows = lines[0].shape[0]
    given = [*lines[::-1], turns] if is_inverse else [*lines, turns]
    made = call_helper(body, "fourier", (STEP, TRANSFORM), given, (rows, n), (rows, 4, n))
    strides = (4 * n, 1) if len(shape) == 2 else (1,)
    parts = [View(made.memory, made.offset + k * n, strides, views[0].shape).transposed(order) for k in range(2)]
    return ComplexPair(*(parts[::-1] if is_inverse else parts))


def _odd_factors(n: int) -> list[int]:
    """Return the odd prime factors of a number."""
    n //= n & -n
    found, p = list[int](), 3
    while n > 1:
        while n % p == 0:
            found.append(p)
            n //= p
        p += 2
    return found


def _factor(norm: Any, n: int, is_inverse: bool) -> float:
    """Return the factor of a transform for a norm, as NumPy computes it."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise UnsupportedOp("a Fourier transform with this norm")
    if norm == "ortho":
        return 1.0 / math.sqrt(n)
    return 1.0 / n if is_inverse == (norm != "forward") else 1.0


def _times_factor(body: Any, x: Any, factor: float) -> Any:
    if factor == 1.0:
        return x
    parts = [body.level.let(f"{{0}} * {factor!r}", [part], part.shape) for part in real_parts(x)]
    return ComplexPair(*parts) if len(parts) == 2 else parts[0]
