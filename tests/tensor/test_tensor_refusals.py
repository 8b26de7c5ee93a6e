"""What the tensor language has not is refused, with the user's line and what to write instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tensor_checks import read

import wengert as wg

X = np.array([0.7, -1.2, 2.5, 0.3, 1.1])
A = np.ones((3, 4))
WHICH = np.array([2, 0, 1])


def unguarded(x: Any) -> Any:
    return [x[i + 1] - x[i] for i in range(len(x))]


def wraps(x: Any) -> Any:
    return [x[i - 1] for i in range(len(x))]


def product_form(x: Any) -> Any:
    return [(i + 1 < len(x)) * x[i + 1] for i in range(len(x))]


def other_size(x: Any, a: Any) -> Any:
    return [x[i] * a[i, 0] for i in range(len(x))]


def wrong_guard(x: Any) -> Any:
    return [x[i + 1] if i < len(x) else 0.0 for i in range(len(x))]


def relation_outside(r: Any, x: Any) -> Any:
    return sum(x[i] for i in range(len(x)) if r[i + 1])


def from_the_end(x: Any, k: int) -> Any:
    return x[-k]


def ragged(x: Any) -> Any:
    return [[x[j] for j in range(i)] for i in range(len(x))]


def filtered(x: Any) -> Any:
    return [x[i] for i in range(len(x)) if i > 1]


def flattened(x: Any) -> Any:
    return [x[i] * x[j] for i in range(len(x)) for j in range(len(x))]


def parity(x: Any) -> Any:
    return sum(x[i] for i in range(len(x)) if i * i == 4)


def by_value(x: Any) -> Any:
    return sum(v for v in x if v > 0)


def product_of_indices(x: Any) -> Any:
    return [x[i * j] for i in range(2) for j in range(2)] if False else [[x[i * j] for i in range(2)] for j in range(2)]


def index_as_number(x: Any) -> Any:
    return sum(i * x[i] for i in range(len(x)))


def truth_as_number(x: Any) -> Any:
    return sum(x[i] + (i > 2) for i in range(len(x)))


def whole_arrays(x: Any) -> Any:
    return x + x


def whole_function(x: Any) -> Any:
    return np.sin(x)


def not_scalar(x: Any) -> Any:
    return np.sort(x)


def slices(x: Any) -> Any:
    return sum(x[1:])


def writes(x: Any) -> Any:
    y = [2.0 * v for v in x]
    y[0] = 1.0
    return y


def loops(x: Any) -> Any:
    while True:
        return x


def appends(x: Any) -> Any:
    y = 0.0
    for v in x:
        y = y * v
    return y


def changes_sometimes(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        t = x[i]
        if i > 2:
            t = 2.0 * t
        s += t
    return s


def index_after_loop(x: Any) -> Any:
    s, i = 0.0, 0
    for i in range(len(x)):
        s += x[i]
    return s * x[i]


def walrus_leaks(x: Any) -> Any:
    t = 0.0
    return sum((t := v) for v in x) + t


def reads_running(x: Any) -> Any:
    s = 0.0
    for v in x:
        s += v * s
    return s


def recursive(x: Any) -> Any:
    return recursive(x)


def nothing(x: Any) -> Any:
    y = x[0]  # noqa: F841


def unknown_name(x: Any) -> Any:
    return x[0] * nowhere  # noqa: F821


def gathers(x: Any) -> Any:
    return [x[x[i]] for i in range(len(x))]


def computed_index(x: Any, index: Any) -> Any:
    return [x[2 * index[i]] for i in range(len(index))]


def sum_of_rows(a: Any) -> Any:
    return sum(a[i] for i in range(len(a)))


def attribute(a: Any) -> Any:
    return a.T


def complexes(x: Any) -> Any:
    return x[0] * 1j


def lambdas(x: Any) -> Any:
    return (lambda v: v)(x[0])


def stars(*x: Any) -> Any:
    return x[0]


def shapes_differ(x: Any, a: Any) -> Any:
    return [x[i] if i > 0 else a[i] for i in range(3)]


RELATION = np.eye(5, dtype=bool)

REFUSED: list[tuple[Any, tuple[Any, ...], str]] = [
    (unguarded, (X,), "x[i + 1] is not known to stay inside its array"),
    (wraps, (X,), "x[i - 1] is not known to stay inside its array"),
    (product_form, (X,), "the form `(p) * e` evaluates e where p is false"),
    (other_size, (X, A), "a[i, 0] is not known to stay inside"),
    (wrong_guard, (X,), "x[i + 1] is not known to stay inside"),
    (relation_outside, (RELATION[0], X), "r[i + 1] is not known to stay inside"),
    (from_the_end, (X, 1), "x[-k] is not known to stay inside"),
    (ragged, (X,), "loop over the longest"),
    (filtered, (X,), "[e if p else 0.0 for i in range(n)]"),
    (flattened, (X,), "Nest: [[e for j in range(m)] for i in range(n)]"),
    (parity, (X,), "i * i is not affine in the indices"),
    (by_value, (X,), "numbers are compared"),
    (product_of_indices, (X,), "i * j is not affine"),
    (index_as_number, (X,), "an index is used as a number"),
    (truth_as_number, (X,), "a condition is used as a number"),
    (whole_arrays, (X,), "an array is used where a single number is needed"),
    (whole_function, (X,), "an array is used where a single number is needed"),
    (not_scalar, (X,), "np.sort is not known to the tensor language"),
    (slices, (X,), "a slice"),
    (writes, (X,), "an assignment to an element"),
    (loops, (X,), "the statement `while`"),
    (appends, (X,), "a loop over a size does more than add up"),
    (changes_sometimes, (X,), "more than add up"),
    (index_after_loop, (X,), "it changes i"),
    (walrus_leaks, (X,), "t is assigned a second time"),
    (reads_running, (X,), "s is read inside the loop that adds to it"),
    (recursive, (X,), "recursive calls itself"),
    (nothing, (X,), "returns nothing"),
    (unknown_name, (X,), "nowhere is not defined here"),
    (computed_index, (X, WHICH), "an index or size is computed from array elements"),
    (gathers, (X,), "an index or size is computed from array elements"),
    (sum_of_rows, (A,), "an array is used where a single number is needed"),
    (attribute, (A,), "the other way round"),
    (complexes, (X,), "a complex number"),
    (lambdas, (X,), "a Lambda is not in the tensor language"),
    (stars, (X,), "*args"),
    (shapes_differ, (X, A), "the branches differ in shape"),
]  # fmt: skip


@pytest.mark.parametrize(("f", "args", "what"), REFUSED, ids=lambda x: getattr(x, "__name__", ""))
def test_what_is_not_in_the_language_is_refused_at_its_line(f: Any, args: tuple[Any, ...], what: str) -> None:
    with pytest.raises(wg.TensorLanguageError) as error:
        read(f, *args)
    first, line, marks, *remedy = str(error.value).split("\n")
    assert what in str(error.value)
    assert first.startswith(f"{__file__}:") and f" in {f.__name__}: " in first
    assert set(marks) == {" ", "^"} and len(marks.rstrip()) <= len(line) and remedy


def test_out_of_range_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        read(unguarded, X)


def test_the_place_is_underlined() -> None:
    with pytest.raises(wg.TensorLanguageError) as error:
        read(unguarded, X)
    _, line, marks, _ = str(error.value).split("\n")
    assert line[marks.index("^") : marks.rindex("^") + 1] == "x[i + 1]"


def test_a_function_without_source_is_refused_by_name() -> None:
    namespace: dict[str, Any] = {}
    exec("def made(x):\n    return x[0]", namespace)
    with pytest.raises(wg.TensorLanguageError, match="the source of 'made' was not found"):
        read(namespace["made"], X)


def test_a_ragged_argument_is_refused() -> None:
    with pytest.raises(wg.TensorLanguageError, match="Its rows must all have one length"):
        read(attribute, [[1.0], [1.0, 2.0]])


def test_complex_arguments_are_refused() -> None:
    with pytest.raises(wg.TensorLanguageError, match="real numbers"):
        read(attribute, X * 1j)


def test_a_set_of_other_things_is_no_relation() -> None:
    with pytest.raises(wg.TensorLanguageError, match="tuples of indices"):
        read(relation_outside, {"a"}, X)
