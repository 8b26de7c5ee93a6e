"""Bugs that were found by use, each with the program that showed it."""

import cmath
import functools
import itertools
import math
import sys
import typing

import numpy as np
import pytest

import wengert as wg


def test_float_stored_into_an_array_of_no_dimension_keeps_the_dtype_of_the_array_on_a_tape():
    def f(s):
        y = np.zeros(())
        y[()] = s
        return np.sum(y * np.float32([0.1, 0.3]))

    tape = wg.trace(f, 1.7)[1]
    for again in (tape.play(2.5), tape.compile()(2.5), wg.gradtape(f, 1.7).compile()(2.5)[0]):
        assert again == f(2.5)
        assert again.dtype == np.float64


def test_float_stored_into_an_array_of_no_dimension_can_be_indexed_on_a_tape():
    def f(s):
        y = np.zeros(())
        y[()] = s
        y[...] *= 2
        return y * 1.0

    tape = wg.trace(f, 1.5)[1]
    assert tape.play(2.0) == tape.compile()(2.0) == f(2.0)
    assert wg.grad(f)(1.5) == wg.gradtape(f, 1.5).play(2.0)[1][1] == 2.0


def test_an_array_of_no_dimension_changed_in_place_stays_an_array_when_played():
    def f(o):
        y = o.copy()
        y += 1
        return y.reshape(1)[0]

    assert wg.trace(f, np.array(1.5))[1].play(np.array(2.5)) == f(np.array(2.5)) == 3.5


def test_reshaping_in_the_order_of_memory():
    def f(a):
        return (a.reshape(6, order="A") * np.arange(6.0)).sum()

    for a in (np.ones((2, 3)), np.asfortranarray(np.ones((2, 3)))):
        np.testing.assert_allclose(wg.grad(f)(a), wg.ngradient(f, a)[0], atol=1e-8)


def test_arrays_of_objects_are_refused_as_arguments():
    with pytest.raises(wg.IntegerInputError, match="array of object"):
        wg.grad(lambda a: a.sum())(np.array([1.0, 2.0], dtype=object))


def test_the_sum_of_numbers_that_are_no_nan_along_an_axis() -> None:
    """`np.nansum` hands its missing keepdims on to `np.sum`, whose rule took it for a true one."""
    x = np.arange(9.0).reshape(3, 3)
    x_bar = wg.grad(lambda x: np.sum(np.nansum(x, axis=1) * np.array([1.0, 2.0, 3.0])))(x)
    assert np.array_equal(x_bar, np.repeat([[1.0], [2.0], [3.0]], 3, axis=1))


def test_a_rule_that_reads_one_of_several_results_has_a_second_derivative() -> None:
    """The pullback of `cmath.polar` divides by the radius; as a number it was no variable to an outer trace."""

    def angle(x: float) -> float:
        return cmath.polar(complex(x, 0.5))[1]

    assert abs(wg.grad(wg.grad(angle))(1.5) - 2 * 1.5 * 0.5 / (1.5**2 + 0.5**2) ** 2) < 1e-15


X = np.array([1.5, 2.5, 3.25])


def of_a_constant_array_and_a_list(x):
    return np.sum(np.ones(3) * [x[0], x[1], 2.0]) + np.arange(3.0) @ (x[2], x[0], 1.0)


def of_a_traced_array_and_a_list(x):
    return x @ [1.0, 2.0, 3.0] + np.dot(x, [1.0, 2.0, 3.0]) + np.sum(np.power(x, [1.0, 2.0, 3.0]) - [x[1], 1.0, x[0]])


def of_a_list_in_place(x):
    a = np.ones((2, 2))
    np.add(a, [[x[0], 2.0], [x[1], 1.0]], out=a)
    a *= [[x[2]], [2.0]]
    np.add(x[:2], [[1.0, 2.0], [3.0, 4.0]], out=a, where=[[True, False], [True, True]])
    return np.sum(a**2)


def of_masks_of_numbers(x):
    a = np.ones(4)
    np.putmask(a, [0, 0, 1, 0], [x[2]])
    np.copyto(a, x[0], where=[1, 0, 0, 0])
    np.multiply(x[1], 2.0, out=a[1:], where=[0, 0, 1])
    return np.sum(a * np.array([1.0, 2.0, 4.0, 8.0]))


def of_functions_of_numpy_that_a_builtin_calls(x):
    pairs = itertools.starmap(np.dot, [(x, x), (x, 2 * x)])
    return sum(map(np.sum, [x, x * 2])) + sum(map(np.ndarray.sum, [x, x])) + sum(pairs)


def of_arrays_that_a_builtin_hands_on(x):
    product = functools.reduce(lambda a, b: a * b, [x, 2 * x], np.ones(3))
    counted = next(itertools.islice(itertools.count(x[0], x[1]), 2, None))
    return product.sum() + sum(v @ v for v in itertools.repeat(x, 2)) + dict([("a", x)], b=x)["b"][0] + counted


def of_builtins_that_take_lists(x):
    remainders = divmod(np.ones(2) * 3.5, [x[0], x[1]])[1] + np.ones(2).__mul__([x[2], x[1]])
    return remainders @ np.array([1.0, 2.0]) + pow(np.arange(1.0, 3.0), [x[0], x[1]]).sum()


def of_products_made_floats(x):
    return math.sin(float(x @ np.arange(3.0))) * float(np.vecdot(x, x))


def of_several_percentiles(x):
    return np.percentile(x, [10.0, 35.0, 80.0]) @ np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "f",
    [
        of_a_constant_array_and_a_list,
        of_a_traced_array_and_a_list,
        of_a_list_in_place,
        of_masks_of_numbers,
        of_functions_of_numpy_that_a_builtin_calls,
        of_arrays_that_a_builtin_hands_on,
        of_builtins_that_take_lists,
        of_products_made_floats,
        of_several_percentiles,
    ],
)
def test_gradient_and_replay(f) -> None:
    value, (_, x_bar) = wg.grad(f, X)
    assert value == f(X)
    np.testing.assert_allclose(x_bar, wg.ngradient(f, X)[0], rtol=1e-8)
    other = X + 0.125
    assert wg.trace(f, X)[1].play(other) == f(other)
    again, (_, other_bar) = wg.gradtape(f, X).compile()(other)
    assert again == f(other)
    np.testing.assert_allclose(other_bar, wg.ngradient(f, other)[0], rtol=1e-8)


def test_a_product_with_no_numbers_has_the_derivative_0() -> None:
    """`np.einsum` sums no long doubles to what stands in memory where they would be, in some layouts."""
    memory = np.full(3, np.nan, np.longdouble)
    y_bar = np.ndarray((2, 0), np.longdouble, memory, strides=(0, 0))
    _, pullback = wg.rrule(np.einsum, "i,j->ij", np.ones(2), memory[:0])
    assert np.array_equal(pullback(y_bar)[1], [0.0, 0.0])


@pytest.mark.parametrize("mean", [np.ones((1, 3)) + 1j, np.ones((2, 3))])
@pytest.mark.parametrize("f", [np.var, np.std])
def test_a_mean_unlike_the_numbers_is_refused(f, mean) -> None:
    """NumPy broadcasts the numbers against it, or takes complex squares: the result is no variance."""
    message = r"test_regressions\.py:\d+ in .*np\.mean\(a, axis=axis, keepdims=True\)"
    with pytest.raises(wg.NoDerivativeError, match=message):
        wg.grad(lambda x: np.sum(np.real(f(x, axis=0, mean=mean))))(np.ones((1, 3)) * np.arange(3))


@pytest.mark.parametrize("x", [np.ones(2, np.complex64), np.ones(2, ">f8"), np.ones(2, np.float32)])
def test_the_bytes_of_numbers_have_no_derivative(x) -> None:
    """The tracer refuses such a view; the rule by itself gave the cotangent as it was."""
    with pytest.raises(wg.WengertError, match=r"viewed as float64: convert it with \.astype"):
        wg.rrule(np.ndarray.view, x, float)[1](np.ones(x.nbytes // 8))


def test_a_gradient_is_no_memory_that_a_rule_or_the_caller_keeps() -> None:
    buffer = np.empty(3)

    def total(x):
        return float(np.sum(x * x))

    with wg.rules.scope():

        @wg.rrule(total)
        def total_rule(x):
            return total(x), lambda y_bar: np.multiply(x, 2 * y_bar, out=buffer)

        for gradient in (wg.grad(total), lambda x: wg.grad(total, x)[1][1], lambda x: wg.vjp(total, x)[1](1.0)[0]):
            first = gradient(X)
            second = gradient(X + 1)
            np.testing.assert_array_equal(first, 2 * X)
            np.testing.assert_array_equal(second, 2 * X + 2)
    seed = np.ones(3)
    for f in (lambda x: x, lambda x: x + 1, lambda x: x[::-1][::-1]):
        assert not np.shares_memory(wg.vjp(f, X)[1](seed)[0], seed)


def test_a_copied_residual_does_not_lend_its_name() -> None:
    """Where a residual gave way to a copy, a later array that got the freed one's id was taken for it."""
    x = np.arange(7.0)
    for _ in range(5):
        tape = wg.gradtape(lambda x, q: np.quantile(x, q, method="closest_observation"), x, 0.33)
        assert np.array_equal(tape.play(x, 0.33)[1][1], x == 1)


def test_a_context_is_asked_at_each_call_whatever_was_traced_before() -> None:
    """What stood for a C function since an earlier trace, or since its first call in this one, was called unasked."""

    def f(x):
        return np.sum(np.exp(np.exp(x))) + np.exp(x[0])

    asked: list[object] = []

    class Asked(wg.Context):
        def is_primitive(self, f, *args):
            asked.append(f)
            return super().is_primitive(f, *args)

    wg.grad(f)(X)
    for _ in range(2):
        asked.clear()
        wg.trace(f, X, ctx=Asked())
        assert asked.count(np.exp) == 3 and asked.count(np.sum) == 1
    wg.grad(f)(X)
    assert asked.count(np.exp) == 3


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint64, np.int64])
def test_indices_of_small_integers_do_not_overflow(dtype):
    x, index = np.linspace(0.0, 1.0, 600).reshape(300, 2), np.array([3, 7, 3], dtype)

    def f(x):
        y = np.zeros(300)
        np.add.at(y, index, x[index, 0] ** 2)
        return np.sum(x[index] ** 2) + np.sum(y * x[:, 1])

    np.testing.assert_allclose(wg.grad(f)(x), wg.ngradient(f, x)[0], atol=1e-8)


PAIR = [2.0, 3.0]


def test_the_elements_of_a_global_as_arguments():
    """Python 3.14 loads the global and the empty place of a mapping by one instruction."""
    multiply = lambda a, b: a * b
    assert wg.grad(lambda x: multiply(*PAIR) * x)(2.0) == 6.0
    assert wg.grad(lambda x: max(*PAIR) * x)(2.0) == 3.0


def test_annotations_are_not_evaluated():
    """Python 3.14 makes them when they are asked for: by code of the user's, which may fail."""
    space = {"wg": wg, "ran": []}
    source = "def f(x: ran.append(1) or Undefined, y: Missing = 2.0): return x * y\n"
    if sys.version_info < (3, 14):
        source = "from __future__ import annotations\n" + source
    exec(source, space)
    f, x = space["f"], np.array(3.0)
    assert wg.grad(f, argnums="y")(3.0, 4.0) == 3.0
    assert tuple(wg.grad(f, 3.0, 4.0)[1])[1:] == (4.0, 3.0)
    assert "y" in str(wg.trace(f, x, 2.0)[1]) and space["ran"] == []


def test_type_variables_are_of_the_module_that_makes_them():
    def f(x):
        names.append([make("T").__module__ for make in (typing.TypeVar, typing.ParamSpec)])
        return x

    names = []
    wg.grad(f)(1.0)
    assert names == [[__name__, __name__]]
