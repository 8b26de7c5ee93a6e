"""Memory that cannot be followed is refused, errors leave what the plain run leaves, and n stores cost n."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import wengert as wg
from wengert.recording.recording import STATE
from wengert.reverse.accumulators import Cotangents


def twice(a: Any, b: Any) -> Any:
    return np.sum(a * b)


def twice_with_write(a: Any, b: Any) -> Any:
    a[0] = 2.0 * b[1]
    return np.sum(a * b)


def test_one_array_as_two_arguments() -> None:
    a = np.arange(1.0, 4.0)
    _, (_, a_bar, b_bar) = wg.grad(twice, a, a)
    assert np.array_equal(a_bar, a) and np.array_equal(b_bar, a)
    for pair in [(a, a), (a, a[::-1]), (np.ones(6)[::2], None)]:
        first, second = pair if pair[1] is not None else (pair[0], pair[0].base[:3])
        with pytest.raises(wg.AliasedArgumentsError, match="two arguments share"):
            wg.grad(twice_with_write, first, second)


def test_a_global_that_is_the_argument() -> None:
    table = np.array([1.0, 2.0, 3.0])

    def f(x: Any) -> Any:
        x[1] = x[0] * 5
        return np.sum(x * x) + table[1] * 0

    value, x_bar = wg.value_and_grad(f)(table)
    assert np.array_equal(table, [1.0, 5.0, 3.0]) and value == 35.0
    assert np.array_equal(x_bar, [52.0, 0.0, 6.0])


def complex_into_real(x: Any) -> Any:
    a = np.zeros(3)
    a[0] = x[0] * 1j
    return a.sum()


def into_integers(x: Any) -> Any:
    a = np.zeros(3, int)
    a[1] = x[0]
    return a.sum() * x[0]


def into_foreign(x: Any) -> Any:
    a = np.frombuffer(bytearray(24))
    a[:] = x
    return a.sum()


def into_overlapping(x: Any) -> Any:
    a = np.zeros(3)
    as_strided(a, (2, 3), (0, 8))[...] = x
    return a.sum()


def through_structured(x: Any) -> Any:
    a = np.zeros(3, [("u", float), ("v", float)])
    a["u"] = x
    return a["u"].sum()


def test_a_field_of_records_is_written() -> None:
    assert np.array_equal(wg.grad(through_structured)(np.array([1.0, 2.0, 3.0])), np.ones(3))


def test_records_whose_field_was_overwritten_hold_nothing_traced() -> None:
    def f(x: Any) -> Any:
        a = np.zeros(3, [("u", float), ("v", float)])
        a["u"] = x
        square = np.sum(a["u"] ** 2)
        a["u"] = 1.0
        return square * np.sort(a).size

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(wg.grad(f)(x), 6 * x)


def records_of(x: Any) -> Any:
    a = np.zeros(3, [("u", float), ("v", float)])
    a["u"] = x
    return a


@pytest.mark.parametrize("result", [records_of, lambda x: (x, records_of(x)[1])])
def test_records_are_no_result(result: Any) -> None:
    x = np.array([1.0, 2.0, 3.0])
    for run in (lambda: wg.vjp(result, x), lambda: wg.jvp(result, (x,), (x,)), lambda: wg.trace(result, x)):
        with pytest.raises(wg.RefusedCallError, match="Return their fields"):
            run()


def through_overlapping_fields(x: Any) -> Any:
    a = np.zeros(3, {"names": ["u", "v"], "formats": [float, float], "offsets": [0, 4]})
    a["u"] = x
    return a["u"].sum()


def through_several_fields(x: Any) -> Any:
    a = np.zeros(3, [("u", float), ("v", float)])
    a["u"] = x
    return a.view(float).sum()


def through_bits_of_fields(x: Any) -> Any:
    a = np.zeros(3, [("u", float), ("v", float)])
    a["u"] = x
    return a.view([("u", np.int64), ("v", float)])["u"].sum() * x[0]


def through_other_dtype(x: Any) -> Any:
    z = x * (1 + 1j)
    r = z.view(float)
    z[0] = x[0]
    return r.sum()


def complex_into_real_part(x: Any) -> Any:
    z = x * 1j
    z.real[0] = z[1]
    return z.real.sum()


def through_an_odd_part(x: Any) -> Any:
    z = np.zeros(3, complex)
    z.view(float)[1:3] = x[:2]
    return z.real.sum()


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("f", [complex_into_real, into_integers, into_foreign, into_overlapping,
                               through_overlapping_fields, through_several_fields, through_bits_of_fields,
                               through_other_dtype, complex_into_real_part, through_an_odd_part])  # fmt: skip
def test_refused(f: Any) -> None:
    with pytest.raises(wg.WengertError, match=f.__name__):
        wg.grad(f, np.array([1.0, 2.0, 3.0]))


def add_to_parts(z: Any) -> Any:
    z.real += 1
    z.imag[1:] *= z.real[:-1]
    return np.sum((z * z * np.arange(1, 4)).real)


def assign_parts(z: Any) -> Any:
    z.real, z.imag = z.imag * 2, z.real.copy()
    return np.sum(np.abs(z) ** 3) + z.real[1]


def parts_of_a_new_array(z: Any) -> Any:
    w = z * z
    r = w.real
    w.imag[0] = r[1] ** 2
    w *= 1j
    return np.sum(r) + np.sum((w * w).imag)


@pytest.mark.parametrize("dtype", ["complex128", "complex64", ">c16"])
@pytest.mark.parametrize("f", [add_to_parts, assign_parts, parts_of_a_new_array])
def test_parts_of_complex_arguments(f: Any, dtype: str) -> None:
    """The gradient is the derivative by the real part, minus i times the one by the imaginary part."""
    z = np.array([1 + 2j, 0.5 - 1j, -0.25 + 0.75j])
    by_real, by_imag = wg.ngradient(lambda x, y: f(x + 1j * y), z.real.copy(), z.imag.copy())
    given = z.astype(dtype)
    value, z_bar = wg.value_and_grad(f)(given)
    plain = z.astype(dtype)
    assert value == f(plain) and np.array_equal(given, plain) and z_bar.dtype == given.dtype.newbyteorder("=")
    tolerance = 1e-5 if dtype == "complex64" else 1e-8
    np.testing.assert_allclose(z_bar, by_real - 1j * by_imag, rtol=tolerance, atol=tolerance)


def test_an_argument_that_shows_a_part_of_another_array_is_not_written() -> None:
    def f(x: Any) -> Any:
        x[0] = 2 * x[1]
        return np.sum(x * x)

    z = np.array([1 + 2j, 0.5 - 1j, -0.25 + 0.75j])
    with pytest.raises(wg.RefusedCallError, match=r"f: this line writes .* views in part .* Pass a copy"):
        wg.grad(f, z.real)
    assert wg.value_and_grad(f)(z.real.copy())[0] == f(z.real.copy())


def test_the_imaginary_part_of_real_numbers_is_not_set() -> None:
    def f(x: Any) -> Any:
        with pytest.raises(TypeError, match="imaginary part"):
            x.imag = x
        x.real = x[::-1] * 2
        return np.sum(x * np.arange(1, 3))

    assert np.array_equal(wg.grad(f)(np.array([1.0, 2.0])), [4.0, 2.0])


def test_read_only_arrays_stay_as_they_are() -> None:
    x = np.arange(3.0)
    x.flags.writeable = False

    def f(x: Any) -> Any:
        y = np.sum(x * x)
        try:
            x[0] = 5.0 * y
        except ValueError:
            return y * 2
        return y

    value, (_, x_bar) = wg.grad(f, x)
    assert value == 10.0 and np.array_equal(x_bar, 4 * np.arange(3.0))


@pytest.mark.parametrize("mode", ["plain", "grad"])
def test_an_exception_in_the_middle(mode: str) -> None:
    x, table = np.arange(3.0), np.ones(3)

    def f(x: Any) -> Any:
        y = np.sum(x * table)
        table[1] = 7.0
        x[2] = y * table[1]
        x[9] = 1.0
        return y

    with pytest.raises(IndexError, match="out of bounds"):
        f(x) if mode == "plain" else wg.grad(f, x)
    assert x.tolist() == [0.0, 1.0, 21.0] and table.tolist() == [1.0, 7.0, 1.0]
    assert STATE.recording is None


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
@pytest.mark.parametrize("key", [..., 0, (0, 0), slice(0, 1)])
@pytest.mark.parametrize("wrapped", [0, 1, 2, 3])
def test_sequences_nested_too_deep_raise_as_untraced(shape: Any, key: Any, wrapped: int) -> None:
    """`z[...] = [x]` is refused by NumPy where z has no dimension, though an array of one element is not."""

    def f(x: float) -> Any:
        z, value = np.zeros(shape), x
        for _ in range(wrapped):
            value = [value]
        z[key] = value
        return np.sum(z)

    plain, traced = outcome(f, 2.0), outcome(wg.value_and_grad(f), 2.0)
    assert traced == (plain if isinstance(plain, str) else (plain, plain / 2))


def outcome(f: Any, x: float) -> Any:
    """What a call gives, or what it raises as text."""
    try:
        return f(x)
    except (ValueError, IndexError, TypeError) as error:
        return repr(error)


def test_arrays_of_the_caller_hold_their_last_values() -> None:
    table = np.ones(3)

    def f(x: Any) -> Any:
        y = np.sum(x * x * table)
        table[:] = [4.0, 5.0, 6.0]
        return y + np.sum(x * table)

    x = np.array([1.0, 2.0, 3.0])
    _, (_, x_bar) = wg.grad(f, x)
    assert np.array_equal(x_bar, 2 * x + [4.0, 5.0, 6.0]) and table.tolist() == [4.0, 5.0, 6.0]


def test_a_traced_array_that_dies_leaves_no_trace() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for _ in range(200):
            scratch = np.empty(2000)
            scratch[:] = x
            view = scratch[...]
            total = total + view[0]
            del scratch, view
            assert not any(v is None for v in [np.ones(3).sum()])
            constant = np.full(2000, 2.0)
            total = total + np.sum(constant) * 0.0
        return total

    assert wg.grad(f, 3.0)[1][1] == 200.0
    gc.collect()


def test_an_attribute_of_an_untraced_array_says_nothing_of_a_traced_one() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.ones((2, 3)).T) + np.sum(x.T * x.T)

    for _ in range(2):
        assert np.array_equal(wg.grad(f)(np.arange(6.0)), 2 * np.arange(6.0))


def sums(x: Any) -> Any:
    return sum(x[i] * 3.0 for i in range(len(x)))


def stores(x: Any) -> Any:
    a = np.zeros(len(x))
    for i in range(len(x)):
        a[i] = x[i] * x[i]
    return a.sum()


def rewrites(x: Any) -> Any:
    a = np.ones(len(x))
    y = 0.0
    for i in range(len(x)):
        y = y + a[i] * x[i]
        a[i] = y * 0.5
    return y + a.sum()


@pytest.mark.parametrize("f", [sums, stores, rewrites])
def test_n_entries_cost_n(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in elements of new cotangents, and in bytes held at once."""
    made: list[int] = []
    for name in ("copy", "zeros"):
        real = getattr(Cotangents, name)
        monkeypatch.setattr(Cotangents, name, lambda self, x, real=real: made.append(np.size(x)) or real(self, x))
    elements, peaks = [], []
    for n in (500, 1000, 4000):
        x = np.linspace(0.5, 1.0, n)
        made.clear()
        tracemalloc.start()
        wg.grad(f, x)
        peaks.append(tracemalloc.get_traced_memory()[1] / n)
        tracemalloc.stop()
        elements.append(sum(made) / n)
    assert max(elements) < 6
    assert peaks[2] < 2 * peaks[0]
