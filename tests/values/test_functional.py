"""Functional primitives, values made anew, and cotangents brought back to their primals."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from wengert.errors import RuleError
from wengert.recording.subclasses import renewed
from wengert.values import functional as fn
from wengert.values.projection import project, unbroadcast
from wengert.values.specs import Spec, fresh, is_complex, is_inexact, spec_of


def bits(x: Any) -> bytes:
    return struct.pack("dd", x.real, x.imag) if isinstance(x, complex) else struct.pack("d", x)


NAN_WITH_PAYLOAD = struct.unpack("d", struct.pack("Q", 0xFFF8_0000_DEAD_BEEF))[0]


@pytest.mark.parametrize(
    "x",
    [0.1, -0.0, math.inf, NAN_WITH_PAYLOAD, complex(-0.0, math.inf), complex(NAN_WITH_PAYLOAD, -0.0),
     np.float64(-0.0), np.float64(NAN_WITH_PAYLOAD), np.complex128(complex(-0.0, math.inf))],
)  # fmt: skip
def test_fresh_number_has_the_same_bits_in_a_new_object(x: Any) -> None:
    y = fresh(x)
    assert y is not x and type(y) is type(x)
    assert bits(y) == bits(x)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, np.complex64, np.clongdouble])
def test_fresh_numpy_scalar_keeps_its_type(kind: type) -> None:
    x = kind(-0.0)
    y = fresh(x)
    assert y is not x and type(y) is kind and y.tobytes() == x.tobytes()


def test_a_renewed_array_is_a_view_never_a_copy() -> None:
    class Mine(np.ndarray):
        pass

    x = np.arange(6.0).reshape(2, 3).T[::2].view(Mine)
    y = renewed(x)
    assert y is not x and type(y) is Mine and y.strides == x.strides and np.shares_memory(x, y)


def test_fresh_keeps_a_subclass_of_float_and_refuses_what_has_no_bits() -> None:
    class Metres(float):
        pass

    x = Metres(2.5)
    x.note = "tape"
    y = fresh(x)
    assert y is not x and type(y) is Metres and y == 2.5 and y.note == "tape"
    with pytest.raises(TypeError, match="str"):
        fresh("x")


def test_spec_answers_as_the_value_would() -> None:
    s = spec_of(np.ones((2, 3), np.float32))
    assert (np.shape(s), np.ndim(s), np.size(s), s.dtype) == ((2, 3), 2, 6, np.float32)
    assert not is_complex(s) and is_complex(spec_of(1j)) and is_complex(1j) and not is_complex(1.0)
    assert spec_of(2.0) == Spec((), np.float64, float) and spec_of(s) is s
    assert spec_of([1.0, 2.0]).shape == (2,)


def test_is_inexact() -> None:
    assert all(map(is_inexact, [1.0, 1j, np.float32(1), np.ones(2), np.ones(2, complex)]))
    assert not any(map(is_inexact, [1, True, None, "x", np.arange(2), np.int64(1), [1.0], np.array([None])]))


@pytest.mark.parametrize(
    "x", [np.arange(12.0).reshape(3, 4), np.arange(24.0).reshape(3, 8)[:, ::2].T, np.arange(3.0)[::-1]]
)
def test_setitem_and_additem_leave_their_argument_alone(x: np.ndarray) -> None:
    before = x.copy()
    expected = x.copy()
    expected[1] = 7.0
    got = fn.setitem(x, 1, 7.0)
    assert np.array_equal(got, expected) and got.strides == x.strides
    expected = x.copy()
    expected[1] += 7.0
    assert np.array_equal(fn.additem(x, 1, 7.0), expected)
    assert np.array_equal(x, before)


@pytest.mark.parametrize(
    ("key", "value"),
    [([0, 0, 2], np.array([1.0, 2.0, 3.0])), (np.array([True, False, True]), 2.0),
     (slice(None, None, -1), np.arange(3.0)), ((Ellipsis, np.array([1, 1])), 1.0), ([], 1.0), (None, 1.0)],
)  # fmt: skip
def test_additem_adds_to_a_repeated_index_each_time(key: Any, value: Any) -> None:
    expected = np.zeros(3)
    np.add.at(expected, key, value)
    assert np.array_equal(fn.additem(np.zeros(3), key, value), expected)


OWNERS = [
    np.arange(12.0).reshape(3, 4),
    np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    np.arange(12.0).reshape(3, 4)[::-1, ::-1],
    np.arange(24.0).reshape(3, 8)[:, ::2],
]
VIEWS = [lambda x: x[1:, ::2], lambda x: x[::-1].T, lambda x: x[1, 2], lambda x: x[:, 1:1]]


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("view", VIEWS)
def test_a_lens_is_the_view_it_describes(owner: np.ndarray, view: Any) -> None:
    seen = np.asarray(view(owner)) if np.ndim(view(owner)) else owner[1:2, 2:3].reshape(())
    offset = seen.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    place = (offset, seen.shape, seen.strides)
    assert np.array_equal(fn.lens(owner, *place), seen)
    before, expected = owner.copy(), owner.copy()
    if seen.ndim:
        view(expected)[...] = -5.0
    else:
        expected[1, 2] = -5.0
    assert np.array_equal(fn.setlens(owner, *place, -5.0), expected)
    assert np.array_equal(fn.addlens(owner, *place, -5.0), owner - 5.0 * (expected == -5.0))
    assert np.array_equal(owner, before)


def test_a_lens_on_overlapping_windows_adds_to_a_place_once_per_window() -> None:
    x = np.zeros(6)
    windows = sliding_window_view(x, 3)
    value = np.arange(12.0).reshape(4, 3)
    expected = np.zeros(6)
    np.add.at(expected, np.arange(4)[:, None] + np.arange(3), value)
    assert np.array_equal(fn.addlens(x, 0, windows.shape, windows.strides, value), expected)
    repeated = np.broadcast_to(x[:1], (5,))
    assert fn.addlens(x, 0, repeated.shape, repeated.strides, 1.0)[0] == 5.0
    assert np.array_equal(fn.addlens(x[::-1], 0, (6,), (-8,), np.arange(6.0)), np.arange(6.0))


def test_a_lens_that_leaves_the_array_is_refused() -> None:
    x = np.arange(4.0)
    for place in [(8, (4,), (8,)), (-8, (1,), (8,)), (0, (3,), (-8,)), (4, (1,), (8,))]:
        with pytest.raises(ValueError, match="window"):
            fn.lens(x, *place)
    assert fn.lens(x, 0, (0, 3), (99, 99)).shape == (0, 3)
    assert as_strided(x, (2,), (8,)).tolist() == fn.lens(x, 0, (2,), (8,)).tolist()


def test_containers_are_built_and_read() -> None:
    assert fn.make_tuple(1, 2) == (1, 2) and fn.make_list(1, 2) == [1, 2]
    assert fn.make_dict(("a", "b"), 1, 2) == {"a": 1, "b": 2}
    assert fn.getfield({"a": 1}, "a") == 1 and fn.getfield((3, 4), 1) == 4
    assert fn.getitem(np.arange(3), 1) == 1


@pytest.mark.parametrize(
    ("have", "shape"),
    [((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 3), ()), ((4, 2, 3), (1, 3)), ((0,), (1,)), ((2,), (2,))],
)
def test_unbroadcast_is_the_transpose_of_broadcasting(have: tuple[int, ...], shape: tuple[int, ...]) -> None:
    x_bar = np.arange(float(np.prod(have))).reshape(have)
    x = np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape)
    got = unbroadcast(x_bar, shape)
    assert np.shape(got) == shape
    assert np.sum(got * x) == np.sum(x_bar * np.broadcast_to(x, have))  # <x̄, Bx> = <Bᵀx̄, x>


def test_unbroadcast_names_both_shapes_where_they_do_not_fit() -> None:
    for have, shape in [((3,), (2,)), ((3,), (2, 3))]:
        with pytest.raises(RuleError, match=r"\(3,\).*\(2"):
            unbroadcast(np.ones(have), shape)


def test_project_leaves_a_fitting_cotangent_as_it_is() -> None:
    x_bar = np.ones((2, 3))
    assert project(x_bar, spec_of(np.zeros((2, 3)))) is x_bar
    number = 1.5
    assert project(number, spec_of(2.0)) is number


def test_project_brings_back_realness_precision_and_shape() -> None:
    single = spec_of(np.zeros((2, 1), np.float32))
    got = project(np.full((2, 3), 1 + 2j), single)
    assert got.dtype == np.float32 and got.shape == (2, 1) and got[0, 0] == 3
    assert project(np.ones(2), single).shape == (2, 1)
    assert project(np.ones(2), spec_of(np.ones(2, complex))).dtype == complex
    assert isinstance(project(np.float32(2), spec_of(1.0)), float)
    assert isinstance(project(np.array([[2.0]]), spec_of(1.0)), float)
    assert isinstance(project(np.array(2.0), spec_of(np.float64(1))), np.float64)
    assert isinstance(project(2, spec_of(1.0)), float) and project(2 + 1j, spec_of(1.0)) == 2
    assert project(2.0, spec_of(np.float32(1))).dtype == np.float32
    assert project(np.ones(3), spec_of(1)) == 3


def test_project_sums_only_where_the_rule_broadcasts() -> None:
    with pytest.raises(RuleError, match=r"\(2, 3\).*\(3,\)"):
        project(np.ones((2, 3)), spec_of(np.ones(3)), broadcasts=False)
