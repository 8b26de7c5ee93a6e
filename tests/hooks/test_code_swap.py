"""Functions run their twins' code while anything is traced, and their own again afterwards, however that ended."""

from __future__ import annotations

import dis
import inspect
import sys
import threading
import types
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from wengert.recording import trace_state
from wengert.values.codes import original


def twice(v: Any) -> Any:
    return v * 2.0


class Vector:
    unit = 1.0

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __add__(self, other: Vector) -> Vector:
        return Vector(*[a + b for a, b in zip(self.parts, other.parts, strict=True)])

    @property
    def norm(self) -> Any:
        return sum([a * a for a in self.parts])

    @staticmethod
    def scaled(a: Any) -> Any:
        return twice(a)

    @classmethod
    def of(cls, a: Any) -> Vector:
        return cls(a, cls.scaled(a))


METHODS = [Vector.__init__, Vector.__add__, Vector.norm.fget, Vector.scaled, Vector.of.__func__]  # type: ignore[attr-defined]
FUNCTIONS: list[Any] = [twice, *METHODS]


def walks(x: Any) -> Any:
    return (Vector.of(x) + Vector(x, 1.0)).norm


@pytest.fixture(autouse=True)
def all_is_given_back() -> Iterator[None]:
    before = [f.__code__ for f in FUNCTIONS]
    yield
    assert [f.__code__ for f in FUNCTIONS] == before
    assert [original(f.__code__) for f in FUNCTIONS] == [None] * len(FUNCTIONS)
    assert not trace_state.exchanged and not trace_state._born
    assert not (trace_state.prepared or trace_state.twins)
    assert not (trace_state.methods or trace_state.plain_names_of_classes)
    assert trace_state.plain_names == trace_state.of_values


def test_values_and_gradients() -> None:
    assert wg.value_and_grad(walks)(1.5) == (walks(1.5), 8 * 1.5 + 4 * (2 * 1.5 + 1.0))


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, GeneratorExit, wg.WengertError])
def test_after_exceptions(error: type[BaseException]) -> None:
    def f(x: Any) -> Any:
        walks(x)
        raise error

    with pytest.raises(error):
        wg.grad(f)(1.5)


def test_after_a_generator_that_is_left_open() -> None:
    kept = []

    def numbers(x: Any) -> Iterator[Any]:
        while True:
            yield walks(x)

    def f(x: Any) -> Any:
        kept.append(numbers(x))
        return next(kept[0])

    assert wg.grad(f)(1.5) == wg.grad(walks)(1.5)
    assert next(kept[0]) == walks(1.5)


def test_functions_made_inside_are_given_back_too() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        def inner(v: Any) -> Any:
            return (lambda w: w * w)(v)

        class Inner:
            def method(self, v: Any) -> Any:
                return v * 3.0

        kept.extend([inner, Inner.method, lambda v: v * 4.0])
        return inner(x) + Inner().method(x)

    assert wg.grad(f)(1.5) == 2 * 1.5 + 3.0
    assert [original(g.__code__) for g in kept] == [None] * 3
    assert kept[0](3.0) == 9.0 and kept[2](3.0) == 12.0


def test_functions_made_inside_may_go() -> None:
    gone = []

    def f(x: Any) -> Any:
        for k in range(5):
            g = lambda v, k=k: v * k
            gone.append(weakref.ref(g))
            x = g(x) + 1.0
        del g
        assert sum([r() is not None for r in gone]) <= 1
        return x

    wg.grad(f)(1.5)


def test_another_thread_gets_what_it_would() -> None:
    inside, out = threading.Event(), threading.Event()
    found = []

    def f(x: Any) -> Any:
        y = walks(x)
        inside.set()
        assert out.wait(20)
        return y

    def other() -> None:
        assert inside.wait(20)
        found.append((walks(2.5), Vector(1.0) + Vector(2.0)))
        made = [lambda v: v * 2.0, walks]
        found.append([g(3.0) for g in made])
        out.set()

    thread = threading.Thread(target=other)
    thread.start()
    assert wg.grad(f)(1.5) == wg.grad(walks)(1.5)
    thread.join()
    assert found[0][0] == walks(2.5) and found[0][1].parts == (3.0,) and found[1] == [6.0, walks(3.0)]


def test_traced_code_finds_the_code_that_was_written() -> None:
    own = twice.__code__

    def f(x: Any) -> Any:
        y = twice(x)
        assert twice.__code__ is own and Vector.scaled.__code__ is METHODS[3].__code__
        assert getattr(twice, "__code__") == own and hash(twice.__code__) == hash(own)  # noqa: B009
        inner = lambda v: v
        assert inner.__code__.co_firstlineno == sys._getframe().f_lineno - 1
        assert sys._getframe().f_code.co_consts is not None and (lambda: (yield))().gi_code.co_name == "<lambda>"
        return y

    assert wg.grad(f)(1.5) == 2.0


def test_a_function_given_other_code_inside_keeps_it() -> None:
    def g(v: Any) -> Any:
        return v * 2.0

    def f(x: Any) -> Any:
        y = g(x)
        g.__code__ = (lambda v: v * 5.0).__code__
        return y + g(x)

    assert wg.grad(f)(1.5) == 7.0
    assert g(1.0) == 5.0 and original(g.__code__) is None


def test_signatures_sources_and_lines_are_those_of_the_function() -> None:
    def f(x: Any) -> Any:
        twice(x)
        assert str(inspect.signature(twice)) == signature and inspect.getsource(twice) == source
        assert next(iter(dis.findlinestarts(twice.__code__))) == start
        return x

    signature, source = str(inspect.signature(twice)), inspect.getsource(twice)
    start = next(iter(dis.findlinestarts(twice.__code__)))
    wg.grad(f)(1.5)


def test_a_trace_function_sees_the_lines_of_the_function() -> None:
    seen = []

    def tracer(frame: types.FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_name == "twice":
            seen.append((event, frame.f_lineno - frame.f_code.co_firstlineno))
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        wg.grad(walks)(1.5)
    finally:
        sys.settrace(before)
    assert seen == [("call", 0), ("line", 1), ("return", 1)]


def test_what_has_a_rule_runs_plain_with_all_that_it_calls() -> None:
    with wg.rules.scope():

        def ruled(v: Any) -> Any:
            return twice(v) + Vector(v).norm

        @wg.rrule(ruled)
        def ruled_rule(v: Any) -> Any:
            return ruled(v), lambda y_bar: (100.0 * y_bar,)

        def constant(v: Any) -> Any:
            return twice(v) * Vector(v).norm

        wg.non_differentiable(constant)

        def f(x: Any) -> Any:
            return twice(x) + Vector(x).norm + ruled(x) + constant(x)

        assert wg.value_and_grad(f)(1.5) == (f(1.5), 2.0 + 3.0 + 100.0)
        _, tape = wg.trace(f, 1.5)
        assert tape.play(2.5) == f(2.5)


def test_methods_that_a_container_overrides_and_asks_of_its_base() -> None:
    class Lower(dict):  # type: ignore[type-arg]
        def __getitem__(self, key: str) -> Any:
            return dict.__getitem__(self, key.lower())

        def __contains__(self, key: object) -> bool:
            return dict.__contains__(self, str(key).lower())

        def get(self, key: str, *default: Any) -> Any:
            return dict.get(self, key.lower(), *default)

    def f(x: Any) -> Any:
        held = Lower(a=x)
        return held["A"] * held.get("A") if "A" in held else 0.0

    assert wg.value_and_grad(f)(1.5) == (2.25, 3.0)


def test_a_gradient_inside_what_has_a_rule_is_its_own() -> None:
    with wg.rules.scope():

        def ruled(v: Any) -> Any:
            return wg.grad(lambda u: twice(u) * u)(v) + twice(v)

        @wg.rrule(ruled)
        def ruled_rule(v: Any) -> Any:
            return ruled(v), lambda y_bar: (7.0 * y_bar,)

        def f(x: Any) -> Any:
            return twice(x) + ruled(x) * np.sin(x)

        x = 1.5
        assert wg.grad(f)(x) == pytest.approx(2.0 + 7.0 * np.sin(x) + 6.0 * x * np.cos(x))


def test_what_is_made_where_nothing_records_runs_its_own_code() -> None:
    begun, inside, out = threading.Event(), threading.Event(), threading.Event()
    kept: list[Any] = []

    def made(x: Any, waiting: bool = False) -> Any:
        if waiting:
            inside.set()
            assert out.wait(20)
        return [lambda v: v * x, lambda v: v * 2.0]

    def numbers(x: Any) -> Iterator[Any]:
        while True:
            yield lambda v, k=2.0, *, m=1.0: v * x * k * m

    def f(x: Any) -> Any:
        kept.append(numbers(x))
        a, b = made(x)
        begun.set()
        assert inside.wait(20)
        return a(x) * b(x) * next(kept[0])(x)

    thread = threading.Thread(target=lambda: begun.wait(20) and kept.extend(made(5.0, True)))
    thread.start()
    assert wg.grad(f)(1.5) == pytest.approx(5 * 4.0 * 1.5**4)
    out.set()
    thread.join()
    functions = [*kept[1:], next(kept[0])]
    assert [original(g.__code__) for g in functions] == [None] * 3
    assert [g(3.0) for g in functions] == [15.0, 6.0, 9.0]


def test_defaults_exchanged_inside_count_where_a_method_has_a_rule() -> None:
    class Scaled:
        def __add__(self, v: Any, k: float = 2.0) -> Any:
            return v * k

    def slope() -> float:
        return Scaled.__add__.__defaults__[0]  # type: ignore[index]

    def f(x: Any) -> Any:
        y = Scaled() + x
        Scaled.__add__.__defaults__ = (5.0,)
        return y + (Scaled() + x) + (Scaled() + 3.0)

    with wg.rules.scope():

        @wg.rrule(Scaled.__add__)
        def rule(a: Any, v: Any) -> Any:
            k = slope()
            return v * k, lambda y_bar: (None, k * y_bar)

        assert wg.value_and_grad(f)(1.5) == (2.0 * 1.5 + 5.0 * 1.5 + 15.0, 2.0 + 5.0)


def test_an_interrupt_between_two_steps_of_falling_silent_is_no_zero() -> None:
    def interrupted(at: int) -> Any:
        steps = 0

        def tracer(frame: types.FrameType, event: str, arg: Any) -> Any:
            nonlocal steps
            if not frame.f_code.co_qualname.startswith("silent."):
                return None
            frame.f_trace_opcodes = True
            steps += event == "opcode"
            if event == "opcode" and steps == at:
                raise KeyboardInterrupt
            return tracer

        def f(x: Any) -> Any:
            try:
                ruled(x)
            except KeyboardInterrupt:
                pass
            return ruled(x) + twice(x)

        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            return wg.grad(f)(1.5)
        except (KeyboardInterrupt, wg.WengertError):
            return None
        finally:
            sys.settrace(before)
            assert wg.grad(walks)(1.5) == 28.0

    def ruled(v: Any) -> Any:
        return twice(v)

    with wg.rules.scope():
        wg.rrule(ruled)(lambda v: (ruled(v), lambda y_bar: (2.0 * y_bar,)))
        assert {interrupted(at) for at in range(1, 120)} == {4.0, None}


class Steps:
    def __init__(self, *items: Any) -> None:
        self.items, self.place = [*items], 0

    def __next__(self) -> Any:
        self.place += 1
        if self.place > len(self.items):
            raise StopIteration
        return self.items[self.place - 1] * self.place


class Stepping(Steps):
    def __iter__(self) -> Any:
        return self

    send = Steps.__next__


class Gives:
    """Gives C an object that was made before the trace, by methods that C calls."""

    def __init__(self, it: Any) -> None:
        self.it = it

    def __iter__(self) -> Any:
        return self.it

    __await__ = __iter__


def unpacked(given: Any) -> Any:
    a, b = given
    return a + b


def yielded(given: Any) -> Any:
    def items() -> Iterator[Any]:
        yield from given

    return sum(items())


def awaited(given: Any) -> Any:
    async def once() -> Any:
        return await given

    made = once()
    return made.send(None) + made.send(None)


class Asked:
    """Notes what is computed where C asks it."""

    def __init__(self, value: Any) -> None:
        self.value, self.notes = value, NOTES

    def __eq__(self, other: object) -> bool:
        self.notes.append(self.value * 2.0)
        return self is other

    def __hash__(self) -> int:
        self.notes.append(self.value * 3.0)
        return 1

    def __lt__(self, other: Any) -> bool:
        self.notes.append(self.value * 5.0)
        return id(self) < id(other)


NOTES: list[Any] = []


class Named(NamedTuple):
    value: Any

    def __eq__(self, other: object) -> bool:
        NOTES.append(self.value * 2.0)
        return self is other


@pytest.mark.parametrize(
    ("ask", "made", "slope"),
    [
        (lambda a, b: b in [a], Asked, 2.0),
        (lambda a, b: [a] == [b], Asked, 2.0),
        (lambda a, b: {a: 1}, Asked, 3.0),
        (lambda a, b: {a}, Asked, 3.0),
        (lambda a, b: frozenset((a,)), Asked, 3.0),
        (lambda a, b: [a] == [b], Named, 2.0),
    ],
)
def test_objects_that_are_differentiated_are_seen_where_only_c_asks_them(ask: Any, made: Any, slope: float) -> None:
    def f(objects: Any) -> Any:
        NOTES.clear()
        ask(*objects)
        return sum(NOTES)

    gradient = wg.grad(f)([made(1.5), made(2.5)])
    assert sum([g.value for g in gradient]) == slope


USES = [
    (lambda given: sum([1.0 * v for v in given]), Steps),
    (unpacked, Steps),
    (sum, Steps),
    (lambda given: (lambda a, b: a + b)(*given), Steps),
    (lambda given: sum([a for (a,) in zip(given, strict=True)]), Steps),
    (lambda given: sum(map(float, given)), Steps),
    (lambda given: sum(dict(enumerate(given)).values()), Steps),
    (lambda given: np.sum(np.array(list(given))), Steps),
    (yielded, Steps),
    (awaited, Stepping),
]


@pytest.mark.parametrize(("use", "made"), USES)
def test_what_methods_give_to_c_is_seen(use: Any, made: Any) -> None:
    assert wg.grad(use)(Gives(made(1.5, 2.5))).it.items == [1.0, 2.0]


class Counted(type):
    changes = 0

    def __setattr__(cls, name: str, value: Any) -> None:
        if name != "changes":
            cls.changes += 1
        super().__setattr__(name, value)


class Changed(metaclass=Counted):
    def __call__(self, x: float) -> float:
        return x


OF_CHANGED = Changed.__call__
FACTOR: list[Any] = []


def doubled(self: Any, x: float) -> Any:
    return FACTOR[0] * 2.0


@pytest.mark.parametrize("change", [setattr, type.__setattr__])
def test_methods_that_a_class_gets_past_its_metaclass_are_entered(change: Any) -> None:
    def f(x: float) -> Any:
        FACTOR[:] = [x]
        obj = Changed()
        before = obj(x)
        change(Changed, "__call__", doubled)
        try:
            return before * obj(1.0)
        finally:
            change(Changed, "__call__", OF_CHANGED)

    assert wg.grad(f)(1.5) == 6.0
    assert wg.grad(f)(1.5) == 6.0


def test_what_other_hooks_swap_is_undone_and_what_they_know_is_kept_apart() -> None:
    def f(v: Any) -> Any:
        return v

    def lazy(v: Any) -> Any:
        return v

    own, other, others = f.__code__, twice.__code__, trace_state.OtherTwins()
    trace_state.exchange(lazy, lazy.__code__, other)
    trace_state.twins[f] = "around"
    with others:
        assert f not in trace_state.twins
        trace_state.twins[f] = "other"
        for each in (f, lazy):
            trace_state.exchange(each, each.__code__, doubled.__code__)
        trace_state.prepared[id(Vector)] = Vector
    assert (f.__code__, lazy.__code__, trace_state.twins[f]) == (own, other, "around")
    assert id(Vector) not in trace_state.prepared
    with others:
        assert trace_state.twins[f] == "other"
        trace_state.clear_caches()
    with others:
        assert not trace_state.twins
    assert not trace_state.twins
    trace_state.give_back()
    assert lazy(1.0) == 1.0
