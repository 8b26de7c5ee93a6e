"""Calls on a tape are entered: primitives remain, values agree, and Variables stay bound."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from tapes import same_bits

import wengert as wg
from wengert.extend import getfield, make_tuple

LOG: list[float] = []


def f(x: Any) -> Any:
    return 2.0 * x - 1.0


def g(x: Any) -> Any:
    return f(x) + 5.0


def calling(fn: Any, *inputs: Any, **kwargs: Any) -> tuple[wg.Tape, wg.Variable]:
    """A tape of one call, and one more that reads it twice."""
    tape = wg.Tape()
    tape.inputs = inputs
    v = tape.push(wg.mkcall(fn, *tape.inputs, **kwargs))
    tape.result = tape.push(wg.mkcall(operator.mul, v, v)) if isinstance(tape[v].val, float) else v
    return tape, v


def names(tape: wg.Tape) -> list[str]:
    return [op.fn.__name__ for op in tape.calls]


def test_nested_functions() -> None:
    tape, v = calling(g, 3.0)
    expected = tape.play(4.0)
    assert wg.primitivize(tape) is tape
    assert names(tape) == ["mul", "sub", "add", "mul"]
    assert v.id == 4 and tape[5].args == (v, v) and tape.play(4.0) == expected == 144.0
    assert wg.rrule_tape(tape).play(4.0) == (144.0, (48.0,))


def test_branches_become_guards() -> None:
    def clipped(x: Any) -> Any:
        return f(x) if x > 0 else 0.0 * x

    tape = wg.primitivize(calling(clipped, 3.0)[0])
    assert names(tape) == ["gt", "mul", "sub", "mul"] and tape.calls[0].guard
    assert "test_primitivize.py" in str(tape.calls[0].site)
    with pytest.raises(wg.StaleTapeError):
        tape.play(-1.0)


def test_several_arguments_containers_and_keywords() -> None:
    def h(pair: Any, table: Any, by: Any = 1.0) -> Any:
        a, (b, c) = pair
        return {"s": np.sum(a * b) * by, "t": [table["c"] - c, a]}

    tape = wg.Tape()
    tape.inputs = [np.ones(2), 3.0, 4.0]
    x, y, z = tape.inputs
    pair = tape.push(wg.mkcall(make_tuple, x, tape.push(wg.mkcall(make_tuple, y, z))))
    tape.result = tape.push(wg.mkcall(h, pair, {"c": y}, by=z))
    again = np.array([2.0, 5.0]), 7.0, 0.5
    expected = h((again[0], again[1:]), {"c": again[1]}, by=again[2])
    wg.primitivize(tape)
    assert not tape.find(h) and tape.find(getfield)
    found = tape.play(*again)
    assert found["s"] == expected["s"] and same_bits(found["t"], expected["t"])


def test_a_function_that_gives_back_its_argument() -> None:
    tape, _ = calling(lambda x: x, 3.0)
    wg.primitivize(tape)
    assert len(tape) == 2 and tape[2].args == (tape.inputs[0],) * 2 and tape.play(5.0) == 25.0


def test_a_function_that_gives_a_constant() -> None:
    tape, v = calling(lambda x: 7.0, 3.0)
    wg.primitivize(tape)
    assert isinstance(tape[v], wg.Constant) and tape.play(5.0) == 49.0


def test_an_edited_tape_is_entered_too() -> None:
    tape, v = calling(g, 3.0)
    tape.replace(v, wg.mkcall(operator.mul, tape.inputs[0], 10.0), tape[v].copy())
    tape[3].args = (wg.Variable(tape[2]),)
    expected = tape.play(4.0)
    assert expected == 84.0**2 and wg.primitivize(tape).play(4.0) == expected


def test_a_tape_called_as_a_function() -> None:
    inner, _ = calling(g, 1.0)
    tape = wg.Tape()
    tape.inputs = [3.0]
    (x,) = tape.inputs
    v = tape.push(wg.mkcall(inner, x))
    tape.result = tape.push(wg.mkcall(inner, v))
    expected = inner(inner(3.5))
    assert tape.play(3.5) == expected
    wg.primitivize(tape)
    assert set(names(tape)) == {"mul", "sub", "add"} and len(tape) == 9
    assert tape.play(3.5) == expected and inner.find(g)
    tape.push(wg.Call(calling(operator.mul, 1.0, 2.0)[0], [x], val=1.0))
    with pytest.raises(wg.TapeError, match="the tape has 2 inputs"):
        wg.primitivize(tape)


def test_writes_inside_are_stores() -> None:
    def smooth(x: Any) -> Any:
        y = x.copy()
        y[1:-1] = (x[:-2] + x[2:]) / 2
        return y

    tape = wg.primitivize(calling(smooth, np.arange(5.0) ** 2)[0])
    again = np.array([1.0, 5.0, 2.0, 8.0, 3.0])
    assert tape.find("setitem") and same_bits(tape.play(again), smooth(again))


def test_what_a_context_takes_for_a_primitive_stays() -> None:
    class Whole(wg.Context):
        def is_primitive(self, fn: Any, *args: Any) -> bool:
            return fn is f or super().is_primitive(fn, *args)

    tape = wg.primitivize(calling(g, 3.0)[0], Whole())
    assert names(tape) == ["f", "add", "type", "mul"] and tape.play(4.0) == 144.0


def test_a_tape_of_primitives_stays_as_it_is() -> None:
    _, tape = wg.trace(lambda x: np.sum(np.exp(x)) * 2.0, np.ones(3))
    before = tape.dump()
    assert wg.primitivize(tape).dump() == before


def writes(x: Any) -> Any:
    x[0] = 5.0
    return x.sum()


def counts(x: float) -> float:
    LOG.append(x)
    return x * len(LOG)


def picks(x: Any, order: Any) -> Any:
    return x[order]


@pytest.mark.parametrize(("fn", "inputs", "said"), [
    (writes, (np.array([5.0, 2.0]),), None),
    (writes, (np.ones(2),), "it writes into its arguments"),
    (counts, (1.0,), "it returns another result"),
    (picks, (np.ones(2), np.array([1, 0])), r"%2 is int64\[2\], which a trace would make constant"),
    (lambda x: object(), (1.0,), "it returns another result"),
])  # fmt: skip
def test_what_cannot_be_entered(fn: Any, inputs: Any, said: str | None) -> None:
    tape = wg.Tape()
    tape.inputs = inputs
    tape.result = tape.push(wg.Call(fn, tape.inputs, val=fn(*[np.copy(x) if np.ndim(x) else x for x in inputs])))
    before = tape.dump()
    if said is None:
        assert wg.primitivize(tape).play(np.array([5.0, 3.0])) == 8.0
        return
    with pytest.raises(wg.TapeError, match=said) as caught:
        wg.primitivize(tape)
    assert "cannot inline `%" in str(caught.value) and "fix:" in str(caught.value)
    assert tape.dump() == before


def test_a_call_without_value() -> None:
    tape = wg.Tape()
    x = tape.push(wg.Input())
    tape.result = tape.push(wg.Call(f, [x]))
    with pytest.raises(wg.TapeError, match="%1 has no value"):
        wg.primitivize(tape)


def test_code_that_cannot_be_seen_is_named_with_the_tapes_line() -> None:
    def through_text(x: Any) -> Any:
        return float(repr(x))

    with pytest.raises(wg.WengertError) as caught:
        wg.primitivize(calling(through_text, 1.0)[0])
    assert caught.value.__notes__ == ["in `%2 = through_text(%1)::float`"]


def test_the_steps_of_a_reverse_pass_are_refused() -> None:
    _, tape = wg.trace(lambda x: x * x, 3.0)
    with pytest.raises(wg.TapeError, match="use gradtape"):
        wg.primitivize(wg.rrule_tape(tape))
