"""Functions with `functools.lru_cache`: the user's cache is used and filled as in the plain function."""

from __future__ import annotations

import enum
import functools
import threading
from typing import Any, NewType

import numpy as np
import pytest

import wengert as wg

WAYS: dict[str, Any] = {
    "value_and_grad": lambda f, x: wg.value_and_grad(f)(x),
    "value_and_jvp": lambda f, x: wg.jvp(f, (x,), (1.0,)),
    "compiled": lambda f, x: wg.compile(wg.value_and_grad(f), quiet=True)(x),
}


class Kind(enum.Enum):
    ONE = 1


class Model:
    def __init__(self, k: float) -> None:
        self.k = k

    @functools.lru_cache(maxsize=8)  # noqa: B019
    def scale(self) -> float:
        return self.k * 2.0


def counted(size: int | None) -> Any:
    """A cached function, and the arguments with which it ran."""
    ran: list[Any] = []

    @functools.lru_cache(size)
    def scale(*key: Any) -> float:
        ran.append(key)
        return 2.0 * len(ran)

    return scale, ran


KEYS: dict[str, Any] = {
    "no key": (), "an int": (1,), "a string": ("a",), "two keys": (1, "a"), "a bool": (True,), "None": (None,),
    "a tuple": ((1, "b"),), "a member": (Kind.ONE,), "a class": (Model,), "an object": (Model(1.0),), "a float": (0.5,),
}  # fmt: skip


@pytest.mark.parametrize("way", ["value_and_grad", "value_and_jvp"])
@pytest.mark.parametrize("size", [None, 128, 2])
@pytest.mark.parametrize("words", KEYS)
def test_what_is_cached_is_the_result_and_what_is_not_is_cached(words: str, size: Any, way: str) -> None:
    (scale, ran), key = counted(size), KEYS[words]
    f = lambda x: x * scale(*key)
    assert WAYS[way](f, 3.0) == (6.0, 2.0)
    assert [f(3.0), WAYS[way](f, 3.0), ran, scale.cache_info().misses] == [6.0, (6.0, 2.0), [key], 1]
    scale.cache_clear()
    assert [f(3.0), WAYS[way](f, 3.0), ran] == [12.0, (12.0, 4.0), [key, key]]


def test_a_cached_value_stays_as_in_the_plain_function() -> None:
    model = Model(1.0)
    assert model.scale() == 2.0
    model.k = 5.0
    for way in ("value_and_grad", "compiled"):
        assert WAYS[way](lambda x: x * model.scale(), 3.0) == (6.0, 2.0)


def test_what_depends_on_traced_values_is_not_left_in_the_cache() -> None:
    model = Model(1.0)

    def f(x: Any) -> Any:
        model.k = x
        return model.scale() * x

    for x in (2.0, 3.0):
        assert wg.value_and_grad(f)(x) == (2 * x * x, 4 * x)
    assert Model.scale.cache_info().currsize == Model.scale.cache_info().misses
    assert f(4.0) == 32.0


def test_another_thread_runs_the_function_while_its_result_is_kept() -> None:
    scale, ran = counted(None)
    seen: list[float] = []
    stop = threading.Event()

    def other() -> None:
        while not stop.is_set():
            seen.append(scale.__wrapped__("other"))

    thread = threading.Thread(target=other)
    thread.start()
    for k in range(50):
        wg.grad(lambda x, k=k: x * scale(k))(1.0)
    stop.set()
    thread.join()
    assert len(seen) == ran.count(("other",)) and seen == sorted({*seen})


def test_a_result_of_the_trace_goes_before_one_that_another_thread_caches() -> None:
    model, asked, answered = Model(1.0), threading.Event(), threading.Event()

    def other() -> None:
        for _ in range(2):
            asked.wait(60)
            asked.clear()
            model.scale()
            answered.set()

    def f(x: Any) -> Any:
        model.k = x
        first = model.scale()
        asked.set()
        answered.wait(60)
        answered.clear()
        return first + model.scale()

    thread = threading.Thread(target=other)
    thread.start()
    assert wg.value_and_grad(f)(3.0) == (12.0, 4.0)
    Model.scale.cache_clear()
    assert wg.compile(wg.value_and_grad(f), quiet=True)(3.0) == (12.0, 4.0)
    thread.join()


def test_arrays_and_traced_keys_have_a_cache_of_the_trace() -> None:
    @functools.cache
    def squared(x: float) -> float:
        return x * x

    assert squared(3.0) == 9.0
    assert wg.value_and_grad(lambda x: squared(x) * squared(3.0))(3.0) == (81.0, 54.0)
    table = functools.cache(lambda n: np.arange(float(n)))
    assert wg.value_and_grad(lambda x: np.sum(x * table(4)))(2.0) == (12.0, 6.0)
    assert table(4) is table(4)


@pytest.mark.parametrize("size", [None, 128])
def test_words_are_keys_as_in_the_plain_function(size: int | None) -> None:
    ran: list[Any] = []

    @functools.lru_cache(size)
    def scale(a: int, b: str = "b", c: int = 1) -> float:
        ran.append((a, b, c))
        return 2.0 * len(ran)

    f = lambda x: x * scale(1, b="c") + scale(1, c=2) * scale(a=1)
    assert f(1.0) == 2.0 + 4.0 * 6.0
    assert wg.value_and_grad(f)(1.0) == (26.0, 2.0)
    scale.cache_clear()
    assert wg.value_and_grad(f)(1.0) == (8.0 + 10.0 * 12.0, 8.0)
    assert f(1.0) == 128.0 and ran == [(1, "c", 1), (1, "b", 2), (1, "b", 1)] * 2


def test_new_types_return_their_argument() -> None:
    Length = NewType("Length", float)
    assert wg.grad(lambda x: Length(x) ** 2)(3.0) == 6.0
    assert wg.compile(wg.grad(lambda x: Length(x) ** 2))(3.0) == 6.0


@pytest.mark.parametrize("size", [None, 128, 3, 0])
@pytest.mark.parametrize("way", WAYS)
def test_a_cache_that_the_function_makes_counts_as_in_the_plain_function(way: str, size: int | None) -> None:
    def f(x: Any) -> Any:
        @functools.lru_cache(size)
        def product(k: int, by: float = 1.0) -> Any:
            return k * x * by if k < 2 else product(k - 1) + product(k - 2, x) + product(len("ab") - 1)

        @functools.lru_cache(size)
        def constant(k: int) -> int:
            return 1 if k < 2 else constant(k - 1) + constant(k - 2)

        total = product(6) + constant(6) * x
        counts = (*product.cache_info(), *constant.cache_info())
        product.cache_clear()
        counts += (*product.cache_info(), product(3) * 0.0, *product.cache_info())
        return total + sum(k * n for k, n in enumerate(counts) if n is not None) * x**3

    value, slope = WAYS[way](f, 1.5)
    assert value == f(1.5)
    assert slope == pytest.approx((f(1.5 + 1e-6) - f(1.5 - 1e-6)) / 2e-6, rel=1e-6)
