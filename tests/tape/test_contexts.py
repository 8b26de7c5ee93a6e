"""Contexts: the function runs as without one, its tape is the tape, and what they count, replace or refuse holds."""

from __future__ import annotations

import copy
import gc
import math
import operator
import weakref
from typing import Any

import numpy as np
import programs
import pytest
from tapes import assert_close, same_bits
from view_programs import FOLLOWED

import wengert as wg
from wengert.tape.rrules import append_reverse_pass

PROGRAMS: list[tuple[str, Any, Any]] = [
    *((p.name, p.f, lambda p=p: copy.deepcopy(p.args)) for p in programs.PROGRAMS),
    *((p.f.__name__, p.f, p.args) for p in FOLLOWED),
]
each = pytest.mark.parametrize(("f", "args"), [p[1:] for p in PROGRAMS], ids=[p[0] for p in PROGRAMS])


def given(tape: wg.Tape) -> list[Any]:
    return [op.val for op in tape if isinstance(op, wg.Input) and not op.callee]


def traced(f: Any, args: Any, context: wg.Context) -> Any:
    try:
        return wg.trace(f, *args(), ctx=context)
    except wg.RefusedCallError as error:
        if f.__module__ != "record_programs" or "under a context" not in str(error):
            raise
        pytest.skip("arrays of records are refused under a context")


@each
def test_a_context_changes_nothing(f: Any, args: Any) -> None:
    plain, (_, bars) = f(*args()), wg.grad(f, *args())
    value, tape = traced(f, args, wg.Context())
    assert same_bits(value, plain)
    assert same_bits(wg.verify(tape).play(*given(tape)), plain)
    reverse = wg.rrule_tape(tape)
    assert_close(list(reverse[reverse.result].val[1]), list(bars[1:]), 1e-12, 1e-13)


@each
def test_rrules_recorded_while_running(f: Any, args: Any) -> None:
    expected, bars = wg.grad(f, *args())
    value, tape = traced(f, args, wg.RRuleContext())
    assert same_bits(value, expected)
    append_reverse_pass(tape)
    assert_close(list(tape[tape.result].val[1]), list(bars[1:]), 1e-12, 1e-13)


def cubes(x: Any) -> Any:
    return np.sum(x**3 * np.exp(x))


def written(x: Any) -> Any:
    scratch = np.ones(3)
    y = x.copy()
    y[0] = x[1] ** 2
    z = y * scratch
    scratch[:] = 2.0
    y[1:] *= x[:2]
    return np.sum(y * x * scratch + z)


def ruled(x: Any) -> Any:
    return np.sum(np.sin(x))


@pytest.mark.parametrize("inner", [cubes, written, ruled])
def test_a_gradient_inside(inner: Any) -> None:
    def f(x: Any) -> Any:
        bar = wg.grad(inner)(x * x)
        bar[0] += x[2]
        return np.sum(bar * bar * x)

    x = np.array([0.5, 1.0, -0.3])
    with wg.rules.scope():
        wg.rrule(ruled)(lambda x: (np.sum(np.sin(x)), lambda y_bar: y_bar * np.cos(x)))
        expected, bar = wg.value_and_grad(f)(x)
        value, tape = wg.trace(f, x, ctx=wg.Context())
        assert value == tape.play(x) == f(x) == expected
        value, tape = wg.trace(f, x, ctx=wg.RRuleContext())
        append_reverse_pass(tape)
    assert value == expected
    np.testing.assert_allclose(tape[tape.result].val[1][0], bar, rtol=1e-13)


class Counting(wg.Context):
    def __init__(self) -> None:
        self.calls: dict[str, int] = {}

    def record_primitive(self, tape: wg.Tape, v_f: Any, *v_args: Any, **v_kwargs: Any) -> wg.Variable:
        self.calls[v_f.__name__] = self.calls.get(v_f.__name__, 0) + 1
        return super().record_primitive(tape, v_f, *v_args, **v_kwargs)


def test_writes_are_counted_too() -> None:
    def f(x: Any) -> Any:
        y = np.exp(x)
        y[0] = x[1]
        y *= 2.0
        y[1:] += x[0]
        return y.sum()

    counting = Counting()
    wg.trace(f, np.ones(3), ctx=counting)
    assert counting.calls == {"exp": 1, "getitem": 3, "setitem": 2, "mul": 1, "add": 1, "sum": 1}


def test_a_test_is_a_guard() -> None:
    def f(x: Any) -> Any:
        return np.sum(x) if x[0] > 0 and len(x) == 2 else np.prod(x)

    _, tape = wg.trace(f, np.array([1.0, 2.0]), ctx=wg.Context())
    assert [op.val for op in tape.calls if op.guard] == [True]
    with pytest.raises(wg.StaleTapeError, match=r"test_contexts\.py"):
        tape.play(np.array([-1.0, 2.0]))


def test_calls_are_replaced() -> None:
    class Expm1(wg.Context):
        def record_primitive(self, tape: wg.Tape, v_f: Any, *v_args: Any, **v_kwargs: Any) -> wg.Variable:
            return super().record_primitive(tape, np.expm1 if v_f is np.exp else v_f, *v_args, **v_kwargs)

    value, tape = wg.trace(lambda x: 3.0 * np.exp(x), 1e-20, ctx=Expm1())
    assert value == tape.play(1e-20) == pytest.approx(3e-20, rel=1e-15) and not tape.find(np.exp)


def test_a_call_is_refused_at_the_users_line() -> None:
    class NoPowers(wg.Context):
        def record_primitive(self, tape: wg.Tape, v_f: Any, *v_args: Any, **v_kwargs: Any) -> wg.Variable:
            if v_f is operator.pow:
                raise ValueError(f"{tape.site}: a power")
            return super().record_primitive(tape, v_f, *v_args, **v_kwargs)

    def f(x: Any) -> Any:
        return np.sum(x**2)

    with pytest.raises(ValueError, match=rf"test_contexts.py:{f.__code__.co_firstlineno + 1} in .*f: a power"):
        wg.trace(f, np.ones(2), ctx=NoPowers())


class Taking(wg.Context):
    """Takes one function for a primitive."""

    def __init__(self, f: Any) -> None:
        self.f = f

    def is_primitive(self, f: Any, *args: Any) -> bool:
        return f is self.f or super().is_primitive(f, *args)


def test_a_python_function_as_one_call() -> None:
    def scale(pair: Any, by: Any = 1.0) -> Any:
        return pair[0] * by, pair[1] / by

    def f(x: Any) -> Any:
        a, b = scale((x, x + 1.0), by=x[0])
        return np.sum(a * b)

    x = np.array([2.0, 3.0])
    value, tape = wg.trace(f, x, ctx=Taking(scale))
    (v,) = tape.find(scale)
    assert str(tape.dump(types=False)).count("scale((%2, %3), by=%4)") == 1
    assert value == f(x) and tape.play(x * 1.5) == f(x * 1.5)
    assert len(tape.uses(v)) == 2


def test_a_function_inside_a_gradient_and_outside() -> None:
    def square(x: Any) -> Any:
        return x * x

    def f(x: Any) -> Any:
        return wg.grad(square)(x) + square(x)

    value, tape = wg.trace(f, 3.0, ctx=Taking(square))
    assert value == tape.play(3.0) == 15.0 and len(tape.find(square)) == 1


def test_what_a_primitive_reaches_otherwise_is_refused() -> None:
    def helper(table: Any) -> Any:
        return table["x"] * 2.0

    with pytest.raises(wg.RefusedCallError, match="inside a dictionary"):
        wg.trace(lambda x: helper({"x": x}), 1.0, ctx=Taking(helper))

    def part(pair: Any, rest: Any = ()) -> Any:
        return pair[0] * 2.0

    for call in (lambda x: part((x, {"x": x})), lambda x: part((x, 1.0), rest=[x])):
        with pytest.raises(wg.RefusedCallError, match="Pass that value as a separate argument"):
            wg.trace(call, 1.0, ctx=Taking(part))

    def f(x: Any) -> Any:
        def inner() -> Any:
            return x * x

        class Only(wg.Context):
            pass

        return inner()

    class Inner(wg.Context):
        def is_primitive(self, g: Any, *args: Any) -> bool:
            return getattr(g, "__name__", "") == "inner" or super().is_primitive(g, *args)

    with pytest.raises(wg.RefusedCallError, match="a closure"):
        wg.trace(f, 1.0, ctx=Inner())


def test_a_primitive_gives_numbers() -> None:
    def table(x: Any) -> Any:
        return {"x": x}

    with pytest.raises(wg.RefusedCallError, match="returned a dict"):
        wg.trace(lambda x: table(x)["x"], 1.0, ctx=Taking(table))


def test_a_primitive_may_not_write_its_arguments_nor_hand_out_views_to_write() -> None:
    def clear(a: Any) -> Any:
        a[0] = 0.0
        return a.sum()

    def front(a: Any) -> Any:
        return a[:1]

    def f(x: Any) -> Any:
        y = x * 2.0
        front(y)[0] = 5.0
        return y.sum()

    with pytest.raises(ValueError, match="read-only"):
        wg.trace(lambda x: clear(x * 1.0), np.ones(2), ctx=Taking(clear))
    with pytest.raises(ValueError, match="read-only"):
        wg.trace(f, np.ones(2), ctx=Taking(front))


def test_a_write_cannot_be_replaced() -> None:
    class Nothing(wg.Context):
        def record_primitive(self, tape: wg.Tape, v_f: Any, *v_args: Any, **v_kwargs: Any) -> wg.Variable:
            if v_f.__name__ in ("setitem", "getitem"):
                return tape.push(wg.mkcall(operator.mul, v_args[0], 1.0))
            return super().record_primitive(tape, v_f, *v_args, **v_kwargs)

    def write(x: Any) -> Any:
        y = x * 2.0
        y[0] = 1.0
        return np.sum(y)

    for f in (write, lambda x: x[:2].sum()):
        with pytest.raises(wg.RefusedCallError, match="but not replace them"):
            wg.trace(f, np.ones(3), ctx=Nothing())


def test_a_record_of_nothing_is_refused() -> None:
    class Forgets(wg.Context):
        def record_primitive(self, tape: wg.Tape, v_f: Any, *v_args: Any, **v_kwargs: Any) -> Any:
            super().record_primitive(tape, v_f, *v_args, **v_kwargs)

    with pytest.raises(wg.TapeError, match="record_primitive of Forgets returned None"):
        wg.trace(math.sin, 1.0, ctx=Forgets())


def test_a_scratch_array_is_kept_as_it_was() -> None:
    def f(x: Any) -> Any:
        buffer = np.ones(2)
        y = np.sum(x * buffer)
        buffer[:] = 5.0
        return y + np.sum(x * buffer)

    value, tape = wg.trace(f, np.ones(2), ctx=wg.RRuleContext())
    append_reverse_pass(tape)
    assert value == 12.0 and tape[tape.result].val[1][0].tolist() == [6.0, 6.0]


@pytest.mark.usefixtures("small_heap")
def test_nothing_is_left_behind() -> None:
    array = np.ones(10_000)
    gone = weakref.ref(array)
    wg.trace(lambda x: np.sum(x * 2.0), array, ctx=wg.Context())
    del array
    gc.collect()
    assert gone() is None


def test_a_method_asks_its_base_under_a_context() -> None:
    class Base:
        def __init__(self, v: Any) -> None:
            self.v = v

    class Derived(Base):
        def __init__(self, v: Any) -> None:
            super().__init__(v)
            found = super()
            found.__init__(self.v * v)

    value, tape = wg.trace(lambda x: Derived(x).v * 3.0, 1.5, ctx=wg.Context())
    assert value == 6.75 and tape.play(2.0) == 12.0
