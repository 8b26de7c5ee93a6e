"""Bugs in following what is written, each found by a random program, with the smallest that showed it."""

from typing import Any

import numpy as np
import pytest

import wengert as wg


def overwrites_its_argument(x: Any) -> Any:
    places = (x > 0.5).astype(int)
    y = np.sum(x * x)
    x[0] = y
    x[places[1:]] *= 3.0
    places[:] = 0
    return np.sum(x * y)


def test_a_tape_shows_an_argument_as_it_was_on_entry() -> None:
    """A reverse pass appended to the tape began from the overwritten argument."""
    x = np.array([1.0, 2.0, 0.25])
    value, tape = wg.trace(overwrites_its_argument, x.copy())
    reverse = wg.rrule_tape(tape)
    exact = wg.ngradient(overwrites_its_argument, x.copy())[0]
    for shown, (found,) in (reverse[reverse.result].val, reverse.play(x.copy())):
        assert shown == value
        np.testing.assert_allclose(found, exact, rtol=1e-9)


def test_place_from_the_memory_that_it_writes() -> None:
    """`np.place` reads values that it has replaced by then; what was recorded read them before."""

    def f(x: Any) -> Any:
        np.place(x, x > 0.4, x)
        return np.sum(x * np.arange(1.0, 5.0))

    with pytest.raises(wg.RefusedCallError, match=r"Pass vals\.copy"):
        wg.grad(f, np.array([0.3, 0.9, 0.8, 0.1]))


def test_flat_from_the_memory_that_it_writes() -> None:
    """NumPy goes on with entries that it has replaced; what was recorded read them before."""

    def whole(x: Any) -> Any:
        x.flat = x[1:4]
        return np.sum(x * np.arange(1.0, 7.0))

    def part(x: Any) -> Any:
        x.flat[1:] = x[:3]
        return np.sum(x * np.arange(1.0, 7.0))

    def copied(x: Any) -> Any:
        x.flat = x[1:4].copy()
        return np.sum(x * np.arange(1.0, 7.0))

    for f in (whole, part):
        with pytest.raises(wg.RefusedCallError, match="Assign a copy"):
            wg.grad(f, np.arange(6.0))
    assert np.array_equal(wg.grad(copied)(np.arange(6.0)), [0.0, 5.0, 7.0, 9.0, 0.0, 0.0])


def test_take_of_an_array_of_no_dimension_along_an_axis() -> None:
    """The rule divided by the number of dimensions."""
    f = lambda x: np.sum(np.take(x[1, ...], [0, 0, 0], axis=0) * np.array([1.0, 2.0, 3.0]))
    assert np.array_equal(wg.grad(f)(np.arange(3.0)), [0.0, 6.0, 0.0])


def test_a_number_as_an_array_to_write_is_the_error_that_it_is_untraced() -> None:
    x = np.array([0.3, 0.9])
    for f in (lambda x: x[0].__setitem__(0, 1.0), lambda x: store(x[0]), lambda x: np.sum(x, out=x[0])):
        with pytest.raises((TypeError, AttributeError)) as plain:
            f(x)
        with pytest.raises(plain.type) as traced:
            wg.grad(f, x)
        assert str(traced.value) == str(plain.value)


def store(number: Any) -> None:
    number[0] = 1.0


def test_a_pullback_that_fails_leaves_memory_as_it_was() -> None:
    table = np.array([1.0, 2.0, 3.0])

    def fails(v: Any) -> Any:
        return v * 1.0

    with wg.rules.scope():

        @wg.rrule(fails)
        def fails_rule(v: Any) -> Any:
            def fails_pullback(y_bar: Any) -> Any:
                raise LookupError("in the pullback")

            return v * 1.0, fails_pullback

        def f(x: Any) -> Any:
            y = fails(x[0]) * np.sum(x * table)
            table[1] = 7.0
            x[2] = y
            table[0] = 5.0
            return y + np.sum(x * table)

        plain, x = np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 4.0])
        f(plain)
        written = table.copy()
        for _ in range(2):
            table[:] = [1.0, 2.0, 3.0]
            x[:] = [1.0, 2.0, 4.0]
            with pytest.raises(LookupError, match="in the pullback"):
                wg.grad(f, x)
            assert np.array_equal(x, plain) and np.array_equal(table, written)

        table[:] = [1.0, 2.0, 3.0]
        _, pullback = wg.vjp(f, np.array([1.0, 2.0, 4.0]))
        for _ in range(2):
            with pytest.raises(LookupError, match="in the pullback"):
                pullback(1.0)
            assert np.array_equal(table, written)


def test_a_number_stored_in_an_array_of_no_dimension_of_another_dtype() -> None:
    """On the tape of rrules the number was no array any more, and had no method of arrays."""

    def f(z: Any, x: Any) -> Any:
        place = z[1, ...]
        np.multiply(np.cos(x[1]), 1.5 + np.sin(x[0]), place)
        return np.sum(z.real)

    args = np.arange(3) * 1j, np.array([0.3, 0.9])
    exact = np.array([np.cos(0.9) * np.cos(0.3), -np.sin(0.9) * (1.5 + np.sin(0.3))])
    reverse = wg.rrule_tape(wg.trace(f, *[a.copy() for a in args])[1])
    _, (_, x_bar) = reverse.play(*[a.copy() for a in args])
    np.testing.assert_allclose(x_bar, exact, rtol=1e-14)
    np.testing.assert_allclose(reverse[reverse.result].val[1][1], exact, rtol=1e-14)


@pytest.mark.filterwarnings("ignore:Setting the shape")
def test_an_array_is_reshaped_while_its_content_is_constant() -> None:
    def f(a: float) -> Any:
        y = np.zeros(4)
        y[0] = a
        y[:] = np.ones(4)
        y.shape = (2, 2)
        y[0] = a
        return np.sum(y[0] * 2.0)

    assert wg.grad(f)(3.0) == 4.0
