"""A traced run is the run itself: same values, errors, frames and prints, and nothing is left behind."""

# ruff: noqa (programs are written as a user would)

from __future__ import annotations

import functools
import gc
import math
import sys
import threading
import traceback
import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.recording.recording import C_ONLY_TYPES, STATE, OpenCounts
from wengert.recording.session import SESSION
from wengert.recording.shadow import SHADOW
from wengert.values.garbage import collections_paused


def assert_clean() -> None:
    assert not SHADOW and not SESSION.recordings
    assert STATE.recording is None and STATE.fast is None
    assert OpenCounts.tapes == OpenCounts.contexts == 0 and np.ndarray in C_ONLY_TYPES


def broken(x: Any) -> Any:
    y = x * 2
    return deeper(y, [1, 2])


def deeper(y: Any, items: list) -> Any:
    return y * items[int(y) + 5]


def test_nothing_is_left_behind() -> None:
    code, defaults = broken.__code__, deeper.__defaults__
    for run in (
        lambda: wg.grad(math.sin, 1.0),
        lambda: wg.trace(lambda x: x * x, np.ones(3)),
        lambda: wg.gradtape(math.exp, 1.0),
    ):
        run()
        assert_clean()
    for run in (wg.grad, wg.trace, wg.vjp, wg.gradtape):
        with pytest.raises(IndexError):
            run(broken, 1.0)
        assert_clean()
    assert broken.__code__ is code and deeper.__defaults__ is defaults
    with pytest.raises(KeyboardInterrupt):
        wg.grad(lambda x: (_ for _ in ()).throw(KeyboardInterrupt), 1.0)
    assert_clean()


def test_the_collector_is_as_before_and_a_setting_of_the_functions_stays() -> None:
    before = gc.get_threshold()
    seen: list[tuple[int, int, int]] = []

    def look(x: float) -> float:
        seen.append(gc.get_threshold())
        return wg.grad(lambda y: y * y)(x) * x

    wg.grad(look)(2.0)
    assert gc.get_threshold() == before
    assert seen[0][:2] == before[:2] and seen[0][2] >= before[2]
    with pytest.raises(ZeroDivisionError):
        wg.grad(lambda x: x / 0)(1.0)
    assert gc.get_threshold() == before
    try:
        wg.grad(lambda x: gc.set_threshold(500, 7, 9) or x)(1.0)
        assert gc.get_threshold() == (500, 7, 9)
    finally:
        gc.set_threshold(*before)


def test_containers_are_as_before_after_an_error() -> None:
    inner, array = {"k": 1.5}, np.arange(3.0)
    items = [inner, array, 2.5]
    number = items[2]

    def f(held: list) -> Any:
        held[0]["new"] = held[2] * 2
        raise LookupError("at the end")

    with pytest.raises(LookupError, match="at the end"):
        wg.grad(f, items)
    assert items[0] is inner and items[1] is array and items[2] is number
    assert inner == {"k": 1.5, "new": 5.0} and type(inner["new"]) is float


def frames(f: Any, *args: Any) -> list[tuple[str, int, str]]:
    """(file, line, function) of each frame of an error, from f's own on."""
    try:
        f(*args)
    except Exception as error:
        found = [(s.filename, s.lineno, s.name) for s in traceback.extract_tb(error.__traceback__)]
        return [
            (type(error).__name__, 0, str(error)),
            *(s for s in found if s[2] != "frames" and "wengert" not in s[0]),
        ]
    return []


def raises_in_a_generator(x: Any) -> Any:
    def g():
        yield x
        raise ValueError("inside")

    return sum(g())


class Thing:
    def __init__(self, v):
        self.v = v
        if v > 0:
            raise RuntimeError("in __init__")

    @property
    def bad(self):
        return self.v / 0


def raises_in_init(x: Any) -> Any:
    return Thing(x).v


def raises_in_a_property(x: Any) -> Any:
    thing = object.__new__(Thing)
    thing.v = x
    return thing.bad


def raises_from(x: Any) -> Any:
    try:
        return {}[x]
    except KeyError as error:
        raise ValueError("from a key") from error


def raises_type_error(x: Any) -> Any:
    return x + "a"


def raises_argument_error(x: Any) -> Any:
    return deeper(x)


def raises_attribute_error(x: Any) -> Any:
    return x.nothing


def raises_unpacking(x: Any) -> Any:
    a, b = [x, x, x]


def raises_not_iterable(x: Any) -> Any:
    for _ in x:
        pass


def raises_not_callable(x: Any) -> Any:
    return x(1)


def raises_math(x: Any) -> Any:
    return math.sqrt(-x)


def raises_division(x: Any) -> Any:
    return x / (x - x)


def raises_shape(x: Any) -> Any:
    return np.ones(3) @ (np.ones(2) * x)


def raises_key(x: Any) -> Any:
    return sorted([x, -x], key=lambda v: {}[v])


RAISING = [
    broken,
    raises_in_a_generator,
    raises_in_init,
    raises_in_a_property,
    raises_from,
    raises_type_error,
    raises_argument_error,
    raises_attribute_error,
    raises_unpacking,
    raises_not_iterable,
    raises_not_callable,
    raises_math,
    raises_division,
    raises_shape,
    raises_key,
]


@pytest.mark.parametrize("f", RAISING, ids=lambda f: f.__name__)
@pytest.mark.parametrize("mode", [wg.grad, wg.trace, wg.vjp], ids=["grad", "trace", "vjp"])
def test_same_error_and_frames(f: Any, mode: Any) -> None:
    assert frames(mode, f, 1.25) == frames(f, 1.25) != []


def depth(f: Any, *modes: Any) -> int:
    """How many levels of recursion f allows before RecursionError."""
    low, high = 1, sys.getrecursionlimit()
    while low < high:
        middle = (low + high + 1) // 2
        try:
            for mode in modes:
                mode(f, 1.5, middle)
            if not modes:
                f(1.5, middle)
            low = middle
        except RecursionError:
            high = middle - 1
    return low


def descend(x: Any, n: Any) -> Any:
    return x if n < 1 else x * 0.99 + descend(x, n - 1) * 0.5


def test_recursion_goes_as_deep() -> None:
    gc.collect()  # at the limit a finalizer of other tests' garbage would raise RecursionError where nothing catches it
    with collections_paused():
        natively = depth(descend)
        assert depth(descend, lambda f, x, n: wg.grad(f, x, n, argnums=0)) > 0.9 * natively


def test_functions_without_source() -> None:
    space: dict[str, Any] = {"math": math}
    exec("def f(x):\n    return math.sin(x) * x\n", space)
    assert wg.grad(space["f"])(1.5) == pytest.approx(math.sin(1.5) + 1.5 * math.cos(1.5), rel=1e-15)
    assert wg.grad(eval("lambda x: x ** 3"))(2.0) == 12.0


class Model:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return self.w * x * x

    def method(self, x):
        return self.w * x

    @classmethod
    def of_class(cls, x):
        return x * 3.0

    @staticmethod
    def static(x):
        return x * x


def test_kinds_of_callable() -> None:
    model = Model(2.0)
    assert wg.grad(model)(3.0) == 12.0
    assert wg.grad(model, 3.0)[1][1] == 12.0 and wg.grad(model, 3.0)[1][0].w == 9.0
    assert wg.grad(model.method)(3.0) == 2.0
    assert wg.grad(Model.of_class)(3.0) == 3.0 and wg.grad(Model.static)(3.0) == 6.0
    assert wg.grad(functools.partial(math.pow, 2.0))(3.0) == pytest.approx(8 * math.log(2))
    assert wg.grad(functools.lru_cache(lambda x: x * x))(3.0) == 6.0
    assert wg.grad(math.sin)(1.0) == math.cos(1.0) and type(wg.grad(math.sin)(1.0)) is float
    assert wg.grad(np.sin)(1.0) == np.cos(1.0)
    assert wg.grad(np.sum)(np.ones(3)).tolist() == [1.0] * 3
    assert wg.grad(abs)(-2.0) == -1.0 and wg.grad(max)(1.0, 2.0) == 0.0 and wg.grad(float)(1.0) == 1.0

    @functools.wraps(math.exp)
    def wrapped(x):
        return math.exp(x)

    assert wg.grad(wrapped)(1.0) == math.e


def test_threads_have_traces_of_their_own() -> None:
    def f(x: float, n: int) -> float:
        y = x
        for _ in range(n):
            y = math.sin(y) * x + y
        return y

    expected = {k: wg.grad(f)(0.1 * k, 40) for k in range(1, 9)}
    found: dict[int, list[float]] = {k: [] for k in expected}
    start = threading.Barrier(len(expected))

    def work(k: int) -> None:
        start.wait()
        for _ in range(15):
            found[k].append(wg.grad(f)(0.1 * k, 40))

    threads = [threading.Thread(target=work, args=(k,)) for k in expected]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert found == {k: [value] * 15 for k, value in expected.items()}
    assert_clean()


def test_what_outlives_the_trace_goes_on() -> None:
    kept: list[Any] = []

    def f(x: float) -> float:
        def generator():
            yield x * 2
            yield math.exp(x) + len(kept)
            yield sum(map(lambda v: v * x, [1.0, 2.0]))

        g = generator()
        first = next(g)
        kept.extend([g, lambda v: v * x, map(lambda v: v + x, [1.0])])
        return first

    assert wg.grad(f)(1.5) == 2.0
    g, product, mapped = kept
    assert_clean()
    assert list(g) == [math.exp(1.5) + 3, 4.5] and product(2.0) == 3.0 and list(mapped) == [2.5]
    assert_clean()


def test_called_once_and_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[int] = []

    def f(x: float) -> float:
        calls.append(1)
        print("x is", x, f"{x:.2f}", repr([x]), flush=True)
        sys.stdout.write(f"{x}\n")
        return x * x

    for mode in (wg.grad, wg.trace, wg.gradtape, wg.vjp):
        calls.clear()
        mode(f, 1.25)
        assert calls == [1]
        assert capsys.readouterr().out == "x is 1.25 1.25 [1.25]\n1.25\n"


def warns(x: Any) -> Any:
    warnings.warn(f"x is {x}", UserWarning, stacklevel=2)
    return np.log(x - x) * 0.0 + helper_warns(x)


def helper_warns(x: Any) -> Any:
    warnings.warn("deprecated", DeprecationWarning, stacklevel=2)
    return x


def warned(f: Any, *args: Any) -> list[tuple[str, str, str, int]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f(*args)
    return [(w.category.__name__, str(w.message), w.filename, w.lineno) for w in caught]


def test_same_warnings_at_the_same_lines() -> None:
    natively, traced = warned(warns, np.float64(1.5)), warned(wg.trace, warns, np.float64(1.5))
    assert [w[:2] for w in traced] == [w[:2] for w in natively]
    placed = [[w for w in found[1:] if w[0] != "RuntimeWarning"] for found in (natively, traced)]
    assert placed[0] == placed[1]  # the first names the caller; NumPy's own name the engine's call of NumPy


def test_locals_and_frames_are_the_functions_own() -> None:
    def f(x):
        y = x * 2
        names, here = sorted(locals()), sys._getframe().f_code.co_name
        if names != ["x", "y"] or here != "f":
            return 0.0
        return eval("x * y", {"y": y}, locals()) + vars(Model(y))["w"]

    assert wg.grad(f)(1.5) == 8.0


def test_the_result_is_the_callers_own_object() -> None:
    a = np.arange(3.0)
    value, _ = wg.trace(lambda x: x, a)
    assert value is a
    value, _ = wg.trace(lambda x: [x, {"k": x}], a)
    assert value[0] is a and value[1]["k"] is a
