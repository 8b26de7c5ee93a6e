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
    "accumulation_options": lambda **words: wg.accumulation_options(**words),
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
        ({"argnum": 1}, r"Write argnums=1\."),
        ({"wrt": (0, 1)}, r"Write argnums=\(0, 1\)\."),
        ({"args": "x"}, r"Write argnums='x'\."),
        ({"hasaux": True}, r"Write has_aux=True\."),
        ({"allow_integers": True}, r"Write allow_int=True\."),
        ({"scale": 3.0}, r"grad\(f\)\(\.\.\., scale=\.\.\.\)"),
        ({"y": 3.0}, r"It is a parameter of test_arguments.two: write grad\(f\)\(\.\.\., y=\.\.\.\)"),
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


# Functions that take any keyword, and callables of every kind


def greedy(x: Any, **options: Any) -> Any:
    return x * x * options.get("scale", 1.0)


def wrapper(*args: Any, **words: Any) -> Any:
    return greedy(*args, **words)


class Greedy:
    def __call__(self, x: Any, **options: Any) -> Any:
        return greedy(x, **options)

    def method(self, x: Any, **options: Any) -> Any:
        return greedy(x, **options)

    @classmethod
    def of_class(cls, x: Any, **options: Any) -> Any:
        return greedy(x, **options)

    @staticmethod
    def of_none(x: Any, **options: Any) -> Any:
        return greedy(x, **options)


GREEDY: dict[str, Any] = {
    "function": greedy,
    "wrapper": wrapper,
    "wrapped": functools.wraps(greedy)(lambda *args, **words: greedy(*args, **words)),
    "object": Greedy(),
    "method": Greedy().method,
    "class method": Greedy.of_class,
    "static method": Greedy.of_none,
    "partial": functools.partial(greedy, extra=3.0),
    "lambda": lambda x, **options: greedy(x, **options),
    "checkpoint": wg.checkpoint(greedy),
}
SWALLOWED = ["argnums", "argnum", "arg_nums", "has_aux", "hasaux", "holomorphic", "holomorph", "allow_int"]
TAKERS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "grad": lambda f, words: wg.grad(f)(1.5, **words),
    "grad by name": lambda f, words: wg.grad(f, argnums=(0,))(1.5, **words)[0],
    "value_and_grad": lambda f, words: wg.value_and_grad(f)(1.5, **words)[1],
    "at once": lambda f, words: wg.grad(f, 1.5, **words)[1][1],
    "trace": lambda f, words: wg.gradtape(f, 1.5, **words).play(1.5, *words.values())[1][1],
    "check_grads": lambda f, words: wg.check_grads(f, 1.5, **words),
    "ngradient": lambda f, words: wg.ngradient(f, 1.5, **words),
}


@pytest.mark.parametrize("word", SWALLOWED)
@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("kind", GREEDY)
def test_no_function_swallows_what_is_meant_for_grad(kind: str, taker: str, word: str) -> None:
    if taker in ("at once", "trace", "ngradient") and word in ("argnums", "has_aux", "holomorphic", "allow_int"):
        pytest.skip("it is its own, or passed on to grad")
    advice = r"(grad\(f, (arg|has|hol|allow)_?[a-z]*=|check_grads has no option .* functools\.partial\(f, )"
    with pytest.raises(wg.ArgumentError, match=rf"{word}= would go to .*{advice}"):
        TAKERS[taker](GREEDY[kind], {word: 0})


@pytest.mark.parametrize("taker", ["grad", "grad by name", "value_and_grad", "at once"])
@pytest.mark.parametrize("kind", GREEDY)
def test_other_keywords_reach_it(kind: str, taker: str) -> None:
    for word in ("options", "args", "index", "allowed", "hash", "hollow", "arguments", "tol"):
        assert TAKERS[taker](GREEDY[kind], {"scale": 2.0, word: 1}) == 6.0


def test_a_parameter_that_is_called_as_an_option_of_grad_is_its_own() -> None:
    def own(x: Any, argnum: int = 1, *, has_aux: bool = False, **rest: Any) -> Any:
        return x * x * argnum * (3.0 if has_aux else 1.0)

    assert wg.grad(own)(1.5, argnum=2, has_aux=True) == 18.0
    assert wg.grad(functools.partial(greedy, argnum=2))(1.5) == 3.0


# Kinds of parameters


def kinds(a: Any, b: Any = 2.0, /, c: Any = 3.0, *rest: Any, d: Any = 4.0, e: Any, **more: Any) -> Any:
    return a + 2 * b + 3 * c + 4 * sum(rest) + 5 * d + 6 * e + 7 * sum(more.values())


CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any], dict[Any, float]]] = {
    "fewest": ((1.0,), {"e": 1.0}, {0: 1, "a": 1, "e": 6, -1: 1}),
    "by position": ((1.0, 1.0, 1.0, 1.0, 1.0), {"e": 1.0}, {1: 2, "b": 2, "c": 3, 2: 3, 3: 4, 4: 4, -1: 4}),
    "by name": ((1.0, 1.0), {"e": 1.0, "c": 1.0, "d": 1.0}, {"c": 3, "d": 5, "e": 6, "a": 1, -1: 2, 2: 3}),
    "the name of a positional one": ((1.0,), {"e": 1.0, "b": 1.0, "x": 1.0}, {"a": 1, "b": 7, "x": 7}),
}
ABSENT: dict[str, tuple[Any, ...]] = {
    "fewest": (1, 2, -2, "b", "c", "d", "rest", "more", "x"),
    "by position": (5, 6, -6, "d", "rest", "more"),
    "by name": (3, -3, "rest", "more", "x"),
    "the name of a positional one": (2, -2, "c", "d", "rest"),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("given", [kinds, functools.partial(kinds), lambda *args, **words: kinds(*args, **words)])
def test_argnums_names_what_the_call_gives(given: Any, call: str) -> None:
    args, words, slopes = CALLS[call]
    for key, slope in slopes.items():
        if (type(key) is int and key < len(args)) or key in words or getattr(given, "__name__", "") != "<lambda>":
            assert wg.grad(given, argnums=key)(*args, **words) == slope
            assert wg.grad(given, *args, argnums=key, **words)[1][1] == slope
            assert wg.gradtape(given, *args, argnums=key, **words).play(*args, *words.values())[1][1] == slope
    for key in ABSENT[call]:
        with pytest.raises(wg.ArgumentError):
            wg.grad(given, argnums=key)(*args, **words)
        with pytest.raises(wg.ArgumentError):
            wg.grad(given, *args, argnums=key, **words)


@pytest.mark.parametrize("args", [(), (1,), ([1, 2],), ("x",), (None, {"n": 3})])
def test_a_check_without_anything_to_check_is_refused(args: tuple[Any, ...]) -> None:
    with pytest.raises(wg.ArgumentError, match="nothing to check"):
        wg.check_grads(lambda *args, x=1.0: x * x, *args, x=2.0)


@pytest.mark.parametrize("length", [0, -1, -7])
def test_stretches_have_steps(length: int) -> None:
    with pytest.raises(wg.ArgumentError, match=f"length must be at least 1, not {length}"):
        wg.checkpoint_loop(lambda s, i: s + 1, 1.0, 3, length)
    assert wg.checkpoint_loop(lambda s, i: s + 1, 1.0, -3) == 1.0
    assert wg.grad(lambda x: wg.checkpoint_loop(lambda s, i: s * x, x, 0))(2.0) == 1.0
