"""Every batching rule against the loop over the examples, on the samples of all functions that have rules."""

from __future__ import annotations

import itertools
import math
import operator
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from samples import BY_FUNCTION, Sample
from sampling import naming

from wengert.errors import DuplicateRuleError, NoBatchingRuleWarning
from wengert.extend import Batch, batching, rules
from wengert.rulebook.batched import batched, stacked
from wengert.values.callables import callable_name

Axes = tuple[Any, ...]
LOOPED = {
    "np.meshgrid", "np.interp", "np.vecdot", "math.remainder", "math.sumprod", "math.fma", "np.linalg.tensorsolve",
    "wengert.values.functional.sumprod", "np.linalg.lstsq", "wengert_rules.special_functions.polygamma",
    "wengert_rules.sorting.given_to_equals",
}  # fmt: skip
"""Functions of which no rule, or one for some calls only, is known."""
UNKNOWN_WHEN_EMPTY = {"np.arange", "np.linalg.tensorsolve", "np.linalg.lstsq", "np.median"}
"""Functions whose shape the numbers decide, and one that NumPy does not have of arrays without elements."""
CHANGES_TYPE = {operator.pow, pow, max, min}
"""Functions that give of Python's numbers one of another type, as the numbers are."""


def call(f: Any, *args: Any, **kwargs: Any) -> Any:
    return f(*args, **kwargs)


def is_numeric(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return len(x) > 0 and all(map(is_numeric, x))
    return isinstance(x, (float, complex, np.inexact)) or (isinstance(x, np.ndarray) and x.dtype.kind in "fc")


def flags(x: Any) -> Any:
    return tuple(map(flags, x)) if isinstance(x, (list, tuple)) else True


def grown(x: Any, size: int) -> Any:
    """A batch of examples like `x`."""
    if isinstance(x, (list, tuple)):
        return type(x)([grown(part, size) for part in x])
    factors = np.reshape(1 - 0.02 * np.arange(size), (size,) + (1,) * np.ndim(x))
    return (np.asarray(x) * factors).astype(np.asarray(x).dtype)


def taken(batch: Any, like: Any, on: Any, i: int) -> Any:
    """Example `i`, of the type of the sample's argument."""
    if type(on) is tuple:
        return type(like)([taken(*parts, i) for parts in zip(batch, like, on, strict=True)])
    if not on:
        return batch
    return np.asarray(batch[i]) if isinstance(like, np.ndarray) else type(like)(batch[i])


def patterns(sample: Sample) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], list[int]]]:
    """The sample's arguments, normalised, and the places of those that the examples have for themselves."""
    rule = rules[sample.f]
    args, kwargs = rule.normalise(sample.args, sample.kwargs)
    assert rule.analysis is not None
    last = len(args) if rule.analysis.variadic and rule.sequence is None else len(rule.analysis.names)
    last = last if rule.sequence is None else rule.sequence + 1
    places = [k for k, x in enumerate(args[:last]) if is_numeric(x)]
    for on in [*[[k] for k in places], *([places] if len(places) > 1 else [])]:
        yield args, kwargs, on


def assert_same(found: Any, expected: Any, mixed: bool) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        assert type(found) is type(expected) or isinstance(expected, tuple)
        for pair in zip(found, expected, strict=True):
            assert_same(*pair, mixed)
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            assert_same(found[key], expected[key], mixed)
    else:
        assert isinstance(found, np.ndarray)
        assert found.shape == expected.shape
        assert mixed or found.dtype == expected.dtype
        tolerance = 1e-9 if expected.dtype.char in "dDgG" else 2e-5
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BY_FUNCTION)
def test_batches_of_samples(name: str) -> None:
    for size in (3, 1):
        with naming(f"batches of {size}"):
            a_batch_gives_what_the_examples_give_one_by_one(name, size)
    if name not in LOOPED:
        with naming("its batching rule"):
            the_examples_are_not_taken_one_by_one(name)
    if name not in UNKNOWN_WHEN_EMPTY:
        with naming("an empty batch"):
            an_empty_batch_has_the_shape_of_an_example(name)


def a_batch_gives_what_the_examples_give_one_by_one(name: str, size: int) -> None:
    tried = 0
    for sample in BY_FUNCTION[name]:
        for args, kwargs, on in patterns(sample):
            with naming(f"{sample}, a batch of arguments {on}"):
                tried += is_as_one_by_one(sample, args, kwargs, on, size)
    assert tried


def is_as_one_by_one(sample: Sample, args: Any, kwargs: dict[str, Any], on: list[int], size: int) -> bool:
    """Compare a batch with its examples, and give whether the function is defined for them."""
    axes = [flags(x) if k in on else False for k, x in enumerate(args)]
    batch = [grown(x, size) if k in on else x for k, x in enumerate(args)]
    try:
        examples = [[taken(*parts, i) for parts in zip(batch, args, axes, strict=True)] for i in range(size)]
        expected = stacked([sample.f(*example, **kwargs) for example in examples], size)
    except (ValueError, np.linalg.LinAlgError):
        return False
    if sample.f in (pow, operator.pow) and np.iscomplexobj(expected) and not any(map(np.iscomplexobj, batch)):
        return False  # Python's power of a negative float is complex, NumPy's is nan
    assert_same(batched(call, sample.f, batch, kwargs, axes, size), expected, sample.f in CHANGES_TYPE)
    return True


def the_examples_are_not_taken_one_by_one(name: str) -> None:
    """What has a batching rule takes no loop, of its first sample."""
    args, kwargs, on = next(pattern for sample in BY_FUNCTION[name] for pattern in patterns(sample))
    axes = [flags(x) if k in on else False for k, x in enumerate(args)]
    batch = [grown(x, 2) if k in on else x for k, x in enumerate(args)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", NoBatchingRuleWarning)
        batched(call, BY_FUNCTION[name][0].f, batch, kwargs, axes, 2)


def an_empty_batch_has_the_shape_of_an_example(name: str) -> None:
    cases = (pattern for sample in BY_FUNCTION[name] for pattern in patterns(sample))
    for args, kwargs, on in itertools.islice(cases, 3):
        axes = [flags(x) if k in on else False for k, x in enumerate(args)]
        whole, empty = [[grown(x, n) if k in on else x for k, x in enumerate(args)] for n in (1, 0)]
        expected = batched(call, BY_FUNCTION[name][0].f, whole, kwargs, axes, 1)
        found = batched(call, BY_FUNCTION[name][0].f, empty, kwargs, axes, 0)
        assert shapes(found) == [(0, *shape[1:]) for shape in shapes(expected)]


def shapes(value: Any) -> list[tuple[int, ...]]:
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, (tuple, list)):
        return [shape for part in value for shape in shapes(part)]
    return [np.shape(value)]


X = np.arange(24.0).reshape(2, 3, 4)
KEYS: list[tuple[Any, Any]] = [
    (np.array([2, 0]), True),
    ((np.array([2, 0]), slice(1, 3)), (True, False)),
    ((slice(None), np.array([3, 1])), (False, True)),
    ((slice(None), None, np.array([3, 1])), (False, False, True)),
    ((..., np.array([3, 1])), (False, True)),
    (np.array([[0, 1], [2, 2]]), True),
    ((slice(None), np.array([[0, 1, 1], [2, 2, 3]])), (False, True)),
    ((np.array([[0, 1], [2, 2]]), np.array([3, 1])), (True, True)),
    ((np.array([[0, 1], [2, 2]]), 1), (True, False)),
    ((np.array([[0, 1], [2, 2]]), np.array([3, 1])), (True, False)),
    ((np.array([0, 2]), np.array([[3, 1], [0, 0]])), (False, True)),
    ((1, slice(None, 2)), (False, False)),
    (([0, 2, 2], slice(None), None), (False, False, False)),
    ((np.array([True, False, True]),), (False,)),
    ((slice(None), np.array([True, False, True, True])), (False, False)),
]


def example_key(key: Any, on: Any, i: int) -> Any:
    if isinstance(on, tuple):
        return tuple([example_key(part, own, i) for part, own in zip(key, on, strict=True)])
    return key[i] if on else key


@pytest.mark.parametrize(("key", "on"), KEYS, ids=str)
@pytest.mark.parametrize("on_x", [True, False])
def test_keys_of_each_example(key: Any, on: Any, on_x: bool) -> None:
    own = any(on) if isinstance(on, tuple) else on
    if not (own or on_x):
        return
    x = X if on_x else X[0]
    found = batched(call, operator.getitem, (x, key), {}, (on_x, on if own else False), 2)
    expected = np.stack([(x[i] if on_x else x)[example_key(key, on, i)] for i in range(2)])
    np.testing.assert_array_equal(found, expected)
    for value in (0.5, expected[0] + 0.5, expected + 0.5):
        has = isinstance(value, np.ndarray) and value.shape == expected.shape and value.ndim > expected[0].ndim
        stores(x, key, on if own else False, value, (on_x, has))


def stores(x: np.ndarray, key: Any, on: Any, value: Any, has: tuple[bool, bool]) -> None:
    """A write, and a sum at places that may be named twice, at a key of each example."""
    from wengert.extend import additem, setitem

    for store in (setitem, additem):
        expected = np.stack(
            [store(x[i] if has[0] else x, example_key(key, on, i), value[i] if has[1] else value) for i in range(2)]
        )
        found = batched(call, store, (x, key, value), {}, (has[0], on, has[1]), 2)
        np.testing.assert_array_equal(found, expected)


def test_axes_of_arrays_that_something_stands_between_come_first() -> None:
    x = np.arange(120.0).reshape(2, 3, 4, 5)
    for key in [(0, slice(None), np.array([1, 2, 2])), (np.array([0, 1]), slice(1, 3), np.array([1, 2]))]:
        found = batched(call, operator.getitem, (x, key), {}, (True, False), 2)
        np.testing.assert_array_equal(found, np.stack([x[i][key] for i in range(2)]))


X3 = np.array([[0.3, -1.5, 2.0], [1.5, 2.5, 2.5], [-0.5, -0.5, 0.0]])
CONSTANTS: list[tuple[Any, ...]] = [
    (np.argmax, X), (np.argmax, X, 0), (np.argmin, X, 1), (np.ndarray.argmin, X, -1), (np.argsort, X),
    (np.argsort, X, 0), (np.argsort, X, None), (np.argpartition, X, 1), (np.any, X), (np.all, X, 1),
    (np.ndarray.any, X, 0),
    (np.count_nonzero, X), (np.count_nonzero, X, 0), (np.round, X, 1), (np.fix, X), (np.floor, X), (np.sign, X),
    (np.isnan, X), (np.isclose, X, 3.0), (np.allclose, X, 3.0), (np.array_equal, X, X[0]), (np.zeros_like, X),
    (np.ones_like, X), (np.greater, X, 3.0), (operator.gt, X, 3.0), (operator.not_, X3[:, 0]), (bool, X3[:, 2]),
    (int, X3[:, 0]), (math.floor, X3[:, 0]), (math.ceil, X3[:, 1]), (math.trunc, X3[:, 0]), (round, X3[:, 0]),
    (math.isnan, X3[:, 0]), (np.digitize, X3, np.array([0.0, 1.0])), (np.isreal, X), (np.signbit, X3),
    (np.logical_and.reduce, X3), (np.logical_or.accumulate, X3), (np.maximum.outer, X3, X3[0]),
    (np.floor_divide, X3, 0.4), (operator.floordiv, X3, 0.4), (np.isposinf, X), (np.ndarray.round, X, 1),
]  # fmt: skip


@pytest.mark.parametrize("case", CONSTANTS, ids=lambda case: callable_name(case[0]))
def test_functions_without_a_derivative(case: tuple[Any, ...]) -> None:
    f, x, *others = case
    on = (True, *[False] * len(others))
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoBatchingRuleWarning)
        found = batched(call, f, (x, *others), {}, on, len(x))
    expected = np.stack([f(part, *others) for part in x])
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_places_in_an_array_that_all_share() -> None:
    edges = np.array([0.0, 1.0, 2.0])
    found = batched(call, np.searchsorted, (edges, X3, "right"), {}, (False, True, False), 3)
    np.testing.assert_array_equal(found, [np.searchsorted(edges, x, "right") for x in X3])


@pytest.mark.parametrize("keepdims", [False, True])
def test_places_of_extremes_keep_axes(keepdims: bool) -> None:
    for axis in (None, 0, -1):
        found = batched(call, np.argmax, (X,), {"axis": axis, "keepdims": keepdims}, (True,), 2)
        np.testing.assert_array_equal(found, [np.argmax(x, axis=axis, keepdims=keepdims) for x in X])


@pytest.mark.parametrize(
    ("f", "name", "other"),
    [
        (np.take, "indices", np.array([1, 0, 1])), (np.take_along_axis, "indices", np.array([[1], [0], [1]])),
        (np.linalg.solve, "b", np.array([1.0, 2.0, 4.0])), (np.outer, "b", np.array([1.0, 2.0])),
        (np.kron, "b", np.array([1.0, 2.0])), (np.searchsorted, "v", np.array([1.0, 2.0])),
        (math.prod, "start", 2.0),
    ],
)  # fmt: skip
def test_arguments_by_name_are_those_by_position(f: Any, name: str, other: Any) -> None:
    x = X3[:, 0] if f is math.prod else np.sort(X3[0]) if f is np.searchsorted else X3 + np.eye(3)
    words = {"axis": 0} if f in (np.take, np.take_along_axis) else {}
    both = np.stack([other, other])
    for on, given in (((True,), np.stack([x, x[::-1]])), ((False,), x)):
        for named, word in (((name,), both), ((), other)):
            if any(on) or named:
                found = batched(call, f, (given,), {name: word, **words}, on, 2, named, quiet=True)
                for i in range(2):
                    own = {name: word[i] if named else word}
                    expected = f(given[i] if on[0] else given, **own, **words)
                    np.testing.assert_allclose(found[i], expected, rtol=1e-12, atol=1e-12)


def test_masks_of_each_example_are_written_through() -> None:
    from wengert.extend import setitem

    mask = X > 11
    mask[0, 0, 0] = True
    for value, on in [(0.5, False), (np.array([1.0, 2.0]), True)]:
        expected = np.stack([setitem(X[i], mask[i], value[i] if on else value) for i in range(2)])  # type: ignore[index]
        np.testing.assert_array_equal(batched(call, setitem, (X, mask, value), {}, (True, True, on), 2), expected)


def test_masks_of_each_example_in_a_reduction() -> None:
    found = batched(call, np.sum, (X,), {"axis": 0, "where": X > 5}, (True,), 2, ("where",))
    np.testing.assert_array_equal(found, [np.sum(x, axis=0, where=x > 5) for x in X])


def test_pythons_errors_are_those_of_the_examples() -> None:
    with pytest.warns(NoBatchingRuleWarning), pytest.raises(ValueError, match=r"math domain error|expected"):
        batched(call, math.sqrt, (np.array([1.0, -1.0]),), {}, (True,), 2)


def test_a_function_without_a_rule_takes_the_examples_one_by_one() -> None:
    def pair(x: Any, factor: Any) -> Any:
        assert isinstance(x, np.float64)
        return {"sum": x + factor, "both": (x, [x * factor])}

    with pytest.warns(NoBatchingRuleWarning, match="pair has no batching rule"):
        found = batched(call, pair, (np.array([1.0, 2.0]), 3.0), {}, (True, False), 2)
    assert {key: repr(part) for key, part in found.items()} == {
        "sum": "array([4., 5.])",
        "both": "(array([1., 2.]), [array([3., 6.])])",
    }


def test_a_batching_rule_of_the_users() -> None:
    def norm2(x: Any) -> Any:
        return np.sum(x * x)

    with rules.scope():

        @batching(norm2)
        def batched_norm2(batch: Batch, x: Any) -> Any:
            assert batch.first
            return np.einsum("bi,bi->b", x, x)

        x = np.arange(6.0).reshape(2, 3)
        np.testing.assert_allclose(batched(call, norm2, (x,), {}, (True,), 2), [5.0, 50.0])
        with pytest.raises(DuplicateRuleError, match="norm2 already has a batching rule"):
            batching(norm2)(lambda batch, x: x)
    assert rules.batching_of(norm2) is None


def test_names_in_the_list_of_loops_have_samples() -> None:
    named = {name for name in LOOPED if not name.startswith("math.") and "sumprod" not in name}
    assert named <= {callable_name(f) for f in rules}
