"""What is asked for and said in a call: every kind of number, every misspelt keyword. Nothing is dropped in silence."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import wengert as wg


class Mode(IntEnum):
    THREE = 3


def square(x: Any) -> Any:
    return x * x * 0.5


WHOLE = [3, 0, -7, 2**60, *[np.dtype(code).type(3) for code in "bBhHiIlLqQ"]]
OTHERS = [
    True, False, np.True_, Mode.THREE, np.array(3), np.array(True), np.arange(3), Fraction(1, 2), Decimal("0.5"),
    2**60 + 1, 10**400, np.int64(2**62 + 1), np.timedelta64(3), [1, 2], (3,), {"n": 3}, [[1], {"a": (np.int64(2),)}],
]  # fmt: skip


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "position": lambda f, x: wg.grad(f)(x),
    "among others": lambda f, x: wg.grad(lambda y, x: f(x) * y, argnums=(0, 1))(1.0, x)[1],
    "name": lambda f, x: wg.grad(f, argnums="x")(x),
    "keyword": lambda f, x: wg.grad(f, argnums=("x",))(x=x)[0],
    "value": lambda f, x: wg.value_and_grad(f)(x)[1],
    "named at once": lambda f, x: wg.grad(f, x, argnums=0)[1][1],
    "nested": lambda f, x: wg.value_and_grad(lambda y: wg.grad(f)(x) * y)(1.0)[0],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("x", WHOLE, ids=lambda x: f"{type(x).__name__} {x}")
def test_whole_numbers_count_as_floats(x: Any, way: str) -> None:
    found = WAYS[way](square, x)
    assert isinstance(found, float)
    assert found == int(x)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("x", OTHERS, ids=lambda x: f"{type(x).__name__} {x}"[:40])
def test_other_numbers_are_refused(x: Any, way: str) -> None:
    with pytest.raises(wg.IntegerInputError, match=r"argument 'x' .* has no derivative"):
        WAYS[way](lambda x: 1.0, x)


@pytest.mark.parametrize("x", OTHERS, ids=lambda x: f"{type(x).__name__} {x}"[:40])
def test_other_numbers_have_none_where_nothing_is_named(x: Any) -> None:
    """At once, of a pullback, and with allow_int: the structure, with None for each number."""
    at_once = wg.grad(lambda x, y: y * y, x, 3.0)[1]
    pulled = wg.vjp(lambda x, y: y * y, x, 3.0)[1](1.0)
    allowed = wg.grad(lambda x, y: y * y, argnums=(0, 1), allow_int=True)(x, 3.0)
    for found, at_y in (at_once[1:], pulled, allowed):
        assert at_y == 6.0
        assert not any(isinstance(leaf, (float, int, np.ndarray)) for leaf in _flat(found))


def _flat(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        tree = list(tree.values())
    return [leaf for part in tree for leaf in _flat(part)] if isinstance(tree, (list, tuple)) else [tree]


def test_whole_numbers_beside_floats_stay_what_they_are() -> None:
    def f(p: Any) -> Any:
        return p["w"] * sum([1.0 for _ in range(p["n"])])

    assert wg.grad(f)({"w": 2.0, "n": 3}) == {"w": 3.0, "n": None}


@pytest.mark.parametrize("x", WHOLE, ids=lambda x: f"{type(x).__name__} {x}")
def test_differences_count_as_the_gradient_does(x: Any) -> None:
    assert wg.ngradient(square, x, argnums=0) == pytest.approx(float(x), rel=1e-6, abs=1e-9)
    assert wg.vjp(square, x)[1](1.0) == (float(x),)


# What is said of them


def two(x: Any, y: Any, scale: Any = 1.0) -> Any:
    return scale * x * x * y


MISSPELT = [
    "argnum", "argnumber", "arg_nums", "args", "wrt", "argname", "hasaux", "has_auxiliary", "aux", "holomorph",
    "allow_ints", "allowint", "seeds", "scale", "x", "nothing_like_it", "ctx", "strategy", "rtol",
]  # fmt: skip
MAKERS: dict[str, Any] = {
    "grad": lambda **words: wg.grad(two, **words),
    "grad as decorator": lambda **words: wg.grad(**words),
    "value_and_grad": lambda **words: wg.value_and_grad(two, **words),
    "value_and_grad as decorator": lambda **words: wg.value_and_grad(**words),
    "vjp": lambda **words: wg.vjp(functools.partial(two, 1.0, 2.0), **words),
    "checkpoint": lambda **words: wg.checkpoint(two, **words),
    "checkpoint_loop": lambda **words: wg.checkpoint_loop(lambda s, i: s, 1.0, 3, **words),
    "stop_gradient": lambda **words: wg.stop_gradient(1.0, **words),
    "accumulation": lambda **words: wg.accumulation(**words),
    "non_differentiable": lambda **words: wg.non_differentiable(two, **words),
    "primitivize": lambda **words: wg.primitivize(wg.trace(two, 1.0, 2.0)[1], **words),
    "fold_constants": lambda **words: wg.fold_constants(wg.trace(two, 1.0, 2.0)[1], **words),
    "to_source": lambda **words: wg.gradtape(two, 1.0, 2.0).to_source(**words),
}
RUNNERS: dict[str, Any] = {
    "grad at once": lambda **words: wg.grad(two, 1.0, 2.0, **words),
    "gradtape": lambda **words: wg.gradtape(two, 1.0, 2.0, **words),
    "trace": lambda **words: wg.trace(two, 1.0, 2.0, **words),
    "check_grads": lambda **words: wg.check_grads(two, 1.0, 2.0, **words),
    "ngradient": lambda **words: wg.ngradient(two, 1.0, 2.0, **words),
}
"""These hand the keywords that are not theirs to the function."""


def _own(name: str) -> set[str]:
    return set(inspect.signature(getattr(wg, name.partition(" ")[0], getattr(wg.Tape, name, None))).parameters)


@pytest.mark.parametrize("word", MISSPELT)
@pytest.mark.parametrize("caller", MAKERS)
def test_no_keyword_is_dropped(caller: str, word: str) -> None:
    if word in _own(caller):
        pytest.skip("it is its own")
    with pytest.raises(TypeError, match=word):
        MAKERS[caller](**{word: 1})


@pytest.mark.parametrize("word", MISSPELT)
@pytest.mark.parametrize("caller", RUNNERS)
def test_keywords_of_the_function_reach_it(caller: str, word: str) -> None:
    if word in _own(caller):
        pytest.skip("it is its own")
    if word == "scale":
        RUNNERS[caller](scale=2.0)
        return
    with pytest.raises(TypeError, match=f"{word!r}"):
        RUNNERS[caller](**{word: 1.0})


@pytest.mark.parametrize(
    ("words", "spelling"),
    [
        ({"argnum": 1}, r"Say argnums=1\."),
        ({"wrt": (0, 1)}, r"Say argnums=\(0, 1\)\."),
        ({"args": "x"}, r"Say argnums='x'\."),
        ({"hasaux": True}, r"Say has_aux=True\."),
        ({"allow_integers": True}, r"Say allow_int=True\."),
        ({"scale": 3.0}, r"grad\(f\)\(\.\.\., scale=\.\.\.\)"),
        ({"y": 3.0}, r"It is one of test_arguments.two: grad\(f\)\(\.\.\., y=\.\.\.\)"),
        ({"gamma": 3.0}, r"grad\(f\)\(\.\.\., gamma=\.\.\.\)"),
        ({"seed": 3.0}, r"grad\(f, x, seed=\.\.\.\)"),
    ],
)
def test_the_right_spelling_is_told(words: dict[str, Any], spelling: str) -> None:
    with pytest.raises(wg.ArgumentError, match=spelling):
        wg.grad(two, **words)


@pytest.mark.parametrize("said", [1, 0, -1, (0, 1), [0, 1], "y", ("x", "y"), (0, "y")])
def test_positions_are_no_arguments(said: Any) -> None:
    with pytest.raises(wg.ArgumentError, match="argnums="):
        wg.grad(two, said)


def test_a_function_with_floats_of_its_own_takes_whole_numbers_at_once() -> None:
    weights = np.array([1.0, 2.0, 3.0])

    def f(n: int) -> Any:
        return np.sum(weights[:n] ** 2)

    value, (of_f, of_n) = wg.grad(f, 2)
    assert value == 5.0
    np.testing.assert_array_equal(of_f["weights"], [2.0, 4.0, 0.0])
    assert of_n is None


@pytest.mark.parametrize("said", [2.0, None, True, np.arange(2.0), (0, 1.0), [None]])
def test_what_names_no_argument_is_refused(said: Any) -> None:
    with pytest.raises(wg.ArgumentError, match="names no argument"):
        wg.value_and_grad(two, said)
    if said is not None:
        with pytest.raises(wg.ArgumentError, match="names no argument"):
            wg.grad(two, argnums=said)


@pytest.mark.parametrize("said", [(0, 0), (0, -2), ("x", 0), ("y", "y")])
def test_an_argument_named_twice_is_refused(said: Any) -> None:
    with pytest.raises(wg.ArgumentError, match="twice"):
        wg.grad(two, argnums=said)(1.0, 2.0)


def test_an_option_that_is_an_argument_of_the_function_too() -> None:
    def noisy(x: Any, seed: int = 0) -> Any:
        return x * x + np.random.default_rng(seed).normal()

    with pytest.raises(wg.ArgumentError, match=r"seed= is an argument of grad and of .*noisy"):
        wg.grad(noisy, 2.0, seed=3)
    assert wg.grad(functools.partial(noisy, seed=3), 2.0)[1][1] == 4.0
    assert wg.grad(lambda x: noisy(x), 2.0, seed=3.0)[1][1] == 12.0
    assert wg.grad(noisy)(2.0, seed=3) == 4.0
