"""Native code of complex numbers computes what NumPy computes, also with inf, nan and zeros of both signs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_by_python import interpret_program
from test_native import by_python, same

import wengert as wg
from wengert.compiling.native.compiled import compile_native
from wengert.compiling.native.values import UnsupportedOp

ODD = [-np.inf, -1.5, -0.0, 0.0, 1e-300, 1e60, np.inf, np.nan]
# and no number whose products overflow: then NumPy's result depends on the position in the array
HOSTILE = np.array([complex(a, b) for a in ODD for b in ODD])
Z = np.random.default_rng(0).normal(size=(4, 6)) @ [[1, 0], [0, 1], [1j, 0], [0, 1j], [0.2, 0.1], [0.3j, 2.0]]
X = np.random.default_rng(1).normal(size=(5, 4))


def encoded(z: Any) -> Any:
    """Return finite floats that tell which parts are infinite or nan, since native code does not return those."""
    parts = np.stack([np.real(z), np.imag(z)])
    known = np.where(np.isfinite(parts), parts, 0.0)
    kind = np.where(np.isnan(parts), 3.0, np.where(parts == np.inf, 1.0, np.where(parts == -np.inf, 2.0, 0.0)))
    return known, kind


def check_alike(found: Any, expected: Any) -> None:
    """Check numbers up to rounding of their sizes, and nan, infinities and the signs of zeros exactly."""
    np.testing.assert_array_equal(found[1], expected[1])
    assert np.all(np.abs(found[0] - expected[0]) <= 1e-15 * np.max(np.abs(expected[0]), axis=0) + 1e-300)
    zeros = (found[0] == 0.0) & (expected[0] == 0.0)
    np.testing.assert_array_equal(np.signbit(found[0][zeros]), np.signbit(expected[0][zeros]))


BINARY: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "==": lambda a, b: np.where(a == b, 1.0 + 0j, 2.0j),
    "!=": lambda a, b: np.where(a != b, a, b),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("operand", ["complex", "real", "number", "complex number"])
@pytest.mark.parametrize("name", BINARY)
def test_arithmetic_of_odd_values_is_numpys(name: str, operand: str) -> None:
    """Each odd number with each other; a real operand has an imaginary part of 0.0, as in NumPy."""
    a = np.repeat(HOSTILE, len(HOSTILE)) if operand != "complex number" else HOSTILE
    arrays: dict[str, list[Any]] = {
        "complex": [np.tile(HOSTILE, len(HOSTILE))],
        "real": [np.resize(np.array(ODD), len(a))],
        "number": ODD[:5],
        "complex number": [*HOSTILE[::5]],
    }
    for b in arrays[operand]:
        for f in (BINARY[name], lambda x, y: BINARY[name](y, x)):
            run = by_python(wg.trace(lambda x, y: encoded(f(x, y)), a, b)[1].optimise())
            check_alike(run(a, b), encoded(f(a, b)))


UNARY: dict[str, Callable[..., Any]] = {
    "conj": np.conj,
    "negative": lambda z: -z,
    "real": np.real,
    "imag": lambda z: z.imag,
    "abs": np.abs,
    "reciprocal": np.reciprocal,
    "square": np.square,
    "cube": lambda z: z**3,
    "fifth": lambda z: z**5,
    "inverse square": lambda z: z**-2,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "isfinite": lambda z: np.where(np.isfinite(z), z, 1.0),
    "isnan": lambda z: np.where(np.isnan(z), 1j, z),
    "angle": np.angle,
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_odd_values_are_numpys(name: str) -> None:
    """Or they fail, so that NumPy runs: but only where a value is odd."""
    f = UNARY[name]
    run = by_python(wg.trace(lambda z: encoded(f(z)), HOSTILE[:1])[1].optimise())
    for z in (*HOSTILE, *Z.flat, 0.3 - 0.95j, -1 + 1e-9j, 3e-200 - 1e-10j, -1000 + 1j, 20 - 3j):
        found = run(np.array([z]))
        if found is not None:
            check_alike(found, encoded(f(np.array([z]))))
        else:
            assert not 1e-3 < abs(z) < 600.0


# -- gradients: those of the derivative that is not compiled, and of differences

T = np.linspace(0.1, 0.9, 6)


def wave(x: np.ndarray) -> Any:
    """Steps of Schroedinger's equation, with a carried complex array."""
    psi = np.exp(-(T**2)) * np.exp(1j * x[0] * T)
    for _ in range(12):
        psi = psi - 0.1j * (np.roll(psi, 1) + np.roll(psi, -1) - 2 * psi + x[1] * T * psi)
    return np.sum(np.abs(psi) ** 2 * T)


def numbers(x: np.ndarray) -> Any:
    """Carried complex numbers, some real at first, and constants from a table."""
    s, z = 0j, 50.0 + 0j
    for k in range(20):
        w = 1j * (0.1 + k * k)
        z = w * x[0] + 1.0 / (w * x[1] + 1 / z)
        s = s * 0.9 + np.exp(1j * x[2] * k) * z
    return abs(s) + s.real * s.imag


def stored(x: np.ndarray) -> Any:
    """Stores into complex arrays: of real and complex values, in whole and in part, at places and at masks."""
    a, b = np.zeros((6, 4), complex), np.ones(6, complex) * x[:6]
    for k in range(6):
        a[k] = x[k] * np.exp(1j * x[:4])
        b[k] += a[k, 1] * b[(k + 1) % 6]
    a[1:3, ::2] *= 2.0 - 1j
    a[a.real > 0.5] = 1.0
    b[np.array([0, 3])] = x[6:8]
    return np.sum(np.abs(a - 0.1j) ** 2) + np.sum((b * a[:, 0]).imag)


def products(x: np.ndarray) -> Any:
    a, b = x.reshape(4, 3) + 1j * x.reshape(4, 3)[::-1], np.reshape(x, (3, 4)) ** 2
    c = a @ (b * 1j) - 0.5 * np.einsum("ij,jk->ik", a, b)
    d = np.outer(a[0], c[1, 1:]) + np.diag(c[:3, 0]) + a[1:].conj().T
    return np.real(np.vdot(d, a[:3]) + np.trace(c[:3]) + np.dot(c[0, 1:], d[1])) + np.linalg.norm(c) + np.sum(d.T).imag


def rearranged(x: np.ndarray) -> Any:
    a = np.stack([x * 1j, x]) + np.concatenate([x[:6], 1j * x[6:]])
    b = np.where(x > 0.2, a[0], 2.0)[::-1].reshape(3, 4).T[:, None, :] + np.zeros_like(a[:, :4].T)[..., None]
    c = np.broadcast_to(np.mean(b, axis=1), (2, 4, 3)).ravel() * np.cumsum(np.append(x, x))
    return np.sum(np.abs(np.flip(c)[::2] + 1.0)) + abs(np.array([x[0], 1j])[1]) * (c.sum() / 7).real


def functions(x: np.ndarray) -> Any:
    z = x + 0.3j
    return np.sum(np.abs(np.sin(z) * np.cosh(z) + np.sqrt(z) / np.log(z + 3) - z**3 + 1 / z**2) + np.angle(z).real)


def spectral(x: np.ndarray) -> Any:
    """Steps by transforms of 12, 9 and 7 numbers, along both axes of a matrix, with and without norms."""
    u, v = x, np.outer(x[:9], x[:7])
    for _ in range(4):
        h = np.fft.fft(u) * np.exp(-0.1j * T.sum() * np.arange(12))
        u = np.fft.ifft(h).real + 0.1 * np.fft.irfft(np.fft.rfft(u, norm="ortho") * 1j, norm="forward")
        w = np.fft.irfft(np.fft.rfft(v, axis=0)[:5] * (1 + 0.1j), 9, axis=0)
        v = w - np.abs(np.fft.ifft(v, norm="ortho")) * 0.1
    return np.sum(u**3) + np.sum(v**2 * np.arange(7))


def solved(x: np.ndarray) -> Any:
    """Systems with one right side and with several, complex on either side or on both."""
    a, y = np.outer(x[:5], x[5:10]) + 1j * np.eye(5) + np.eye(5), x[:5] + 0j
    for _ in range(4):
        y = np.linalg.solve(a * (1 + 0.1 * np.abs(y[0])), y) + 0.1
    z = np.linalg.solve(a, np.outer(x[:5], x[:2])) + np.linalg.solve(a.real + 3.0 * np.eye(5), np.outer(y, x[:2]))
    return np.sum(np.abs(y) ** 2) + np.sum(z.imag * z.real) + np.sum(np.linalg.inv(a) * y).real


def in_a_while_loop(x: np.ndarray) -> Any:
    z, n = complex(x[0], x[1]), 0
    while abs(z) < 4.0:
        z, n = z * z + x[2] * 1j + 0.3, n + 1
    return abs(z) / 2**n


GRADIENTS = [wave, numbers, stored, products, rearranged, functions, spectral, solved, in_a_while_loop]


@pytest.mark.parametrize("f", GRADIENTS)
@pytest.mark.parametrize("build", ["Python", "LLVM"])
def test_gradients_are_native(f: Callable[..., Any], build: str) -> None:
    x0 = np.random.default_rng(3).uniform(0.3, 0.9, 12)
    tape = wg.trace(wg.value_and_grad(f), x0)[1].optimise()
    if build == "LLVM":
        pytest.importorskip("numba")
    run = by_python(tape) if build == "Python" else compile_native(tape)
    assert run.state == "native code"
    for x in (x0, 1.0001 * x0):
        value, x_bar = run(x)
        assert value == pytest.approx(f(x), rel=1e-12)
        np.testing.assert_allclose(x_bar, wg.grad(f)(x), rtol=1e-11, atol=1e-13)
        d = np.cos(np.arange(12.0))
        slope = [(f(x + h * d) - f(x - h * d)) / (2 * h) for h in (1e-4, 2e-4)]
        assert np.sum(x_bar * d) == pytest.approx((4 * slope[0] - slope[1]) / 3, rel=1e-9)


# -- complex results and arguments

RESULTS: dict[str, Callable[..., Any]] = {
    "arrays, also transposed": lambda z, c: (z * c, (z * 2j).T, z[0] * z[1], np.sum(z)),
    "numbers": lambda z, c: (c * 2, np.exp(c), complex(z[0, 0]), complex(abs(c), 2.0), z[1, 0].imag),
    "carried ones": lambda z, c: sum([z[k] * c for k in range(4)]),
    "of no elements": lambda z, c: (z[:0] + c, z[2:2].sum(), np.exp(z)[0]),
    "without axes": lambda z, c: (np.asarray(z[0, 0]) * np.ones(()), z[1, 1:2].reshape(()) + c, np.real(c)),
    "mixed": lambda z, c: (z.real * 2, z.imag > 0, z == c, np.abs(z), z.conj() + z, z.real + 1j * z.imag),
}


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("number", [0.3 - 2j, np.complex128(1j)])
@pytest.mark.parametrize("array", [Z, Z[:, ::-1], np.asfortranarray(Z), Z.T[:, ::2].T])
def test_results_are_those_of_numpy(name: str, number: complex, array: np.ndarray) -> None:
    f = RESULTS[name]
    array = np.resize(array, (4, 6)) if array.shape != (4, 6) else array
    run: Any = compile_native(wg.trace(f, array, number)[1].optimise(), build=interpret_program)
    same(run(array, number), f(array, number))


def test_other_types_of_complex_numbers_are_numpys() -> None:
    for z in (Z.astype(np.complex64), Z.astype(np.clongdouble)):
        with pytest.raises(UnsupportedOp):
            compile_native(wg.trace(lambda z: np.abs(z * z), z)[1].optimise(), build=interpret_program)


TRANSFORMS: dict[str, Callable[..., Any]] = {
    "fft": np.fft.fft,
    "ifft": np.fft.ifft,
    "fft of floats": lambda z, **k: np.fft.fft(z.real, **k),
    "rfft": lambda z, **k: np.fft.rfft(z.real, **k),
    "irfft": np.fft.irfft,
    "irfft of odd length": lambda z, **k: np.fft.irfft(z, 2 * z.shape[k["axis"]] - 1, **k),
}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_transforms_are_numpys(name: str, norm: Any) -> None:
    """For all short lengths, along both axes of a matrix, of parts of arrays."""
    mixed = np.array([[1, 1j, 0.5, 2, 1j, 0]] * 3 + [[1j, 1, 2, 0, 3, 1]] * 3)
    for n in (*range(1 + (name == "irfft"), 26), 33, 64 if name in ("fft", "rfft") else 32):
        z = np.random.default_rng(n).normal(size=(2 * n, 6)) @ mixed
        for array, axis in ((z[::2, 1], -1), (z[:n, :3], 0), (z.T[1:3, ::2], 1)):
            tape = wg.trace(lambda z, axis=axis: TRANSFORMS[name](z, axis=axis, norm=norm), array)[1].optimise()
            run: Any = compile_native(tape, build=interpret_program)
            assert run.state == "native code"
            found, expected = run(array), TRANSFORMS[name](array, axis=axis, norm=norm)
            assert found.dtype == expected.dtype and found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15 * 10 * np.max(np.abs(expected)))


def test_transforms_of_other_lengths_are_numpys() -> None:
    """Also long ones, or such with large prime factors."""
    for f in (lambda z: np.fft.fft(z, 3), lambda z: np.fft.rfft(z.real, 8), lambda z: np.fft.irfft(z, 4)):
        with pytest.raises(UnsupportedOp):
            compile_native(wg.trace(f, Z[0])[1].optimise(), build=interpret_program)
    for n in (4099, 8192, 997):
        with pytest.raises(UnsupportedOp):
            compile_native(wg.trace(np.fft.fft, np.ones(n, complex))[1].optimise(), build=interpret_program)


def test_a_singular_matrix_is_numpys() -> None:
    run = by_python(wg.trace(np.linalg.solve, np.eye(2) * 1j, np.ones(2))[1].optimise())
    np.testing.assert_allclose(run(np.eye(2) * 2j, np.ones(2)), [-0.5j, -0.5j])
    assert run(np.ones((2, 2)) * 1j, np.ones(2)) is None


@pytest.mark.parametrize("name", ["+", "-", "*", "/"])
@pytest.mark.parametrize("swapped", [False, True])
def test_arithmetic_of_pythons_numbers_is_pythons(name: str, swapped: bool) -> None:
    """Of a complex number and a float, also with zeros of both signs, whose sum depends on the version of Python."""

    def f(z: complex, x: Any) -> Any:
        return BINARY[name](x, z) if swapped else BINARY[name](z, x)

    numbers = [-1.5, -0.0, 0.0, 2.0]
    for other in (float, complex):
        run = by_python(wg.trace(f, 1.0 + 2.0j, other(3.0))[1].optimise())
        for z in [complex(a, b) for a in numbers for b in numbers]:
            for x in numbers if other is float else [complex(a, b) for a in numbers for b in numbers]:
                found = run(z, x)
                try:
                    expected = f(z, x)
                except ZeroDivisionError:
                    assert found is None
                    continue
                assert type(found) is complex and abs(found - expected) <= 1e-15 * abs(expected)
                if found == expected and (name != "/" or other is float):
                    assert repr(found) == repr(expected), (z, x)
