"""Tape: edits keep references right, and what would leave one dangling is refused."""

from __future__ import annotations

import gc
import math
import operator
import random
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert_rules  # noqa: F401
from wengert.errors import TapeError
from wengert.recording.primitives import INPUT, Primitive
from wengert.recording.recording import Traced
from wengert.tape.tape import (
    MISSING,
    Call,
    Constant,
    Context,
    Input,
    Slot,
    Tape,
    V,
    Variable,
    bound_variable,
    mkcall,
    verify,
)
from wengert.values import functional
from wengert.values.sites import Site

HERE = Site("program.py", 3, "f")


def example() -> tuple[Tape, list[Variable]]:
    """x * y + sin(x) at (2, 3)."""
    tape = Tape()
    x, y = tape.push(Input(2.0, "x")), tape.push(Input(3.0, "y"))
    m = tape.push(mkcall(operator.mul, x, y))
    s = tape.push(mkcall(math.sin, x))
    a = tape.push(mkcall(operator.add, m, s))
    tape.result = a
    return tape, [x, y, m, s, a]


def fns(tape: Tape) -> list[str]:
    return [op.fn.__name__ for op in tape.calls]


def test_ids_are_positions_from_one() -> None:
    tape, variables = example()
    assert [str(v) for v in variables] == ["%1", "%2", "%3", "%4", "%5"]
    assert len(tape) == 5 and [op.id for op in tape] == [1, 2, 3, 4, 5]
    assert tape[3] is tape[variables[2]] is tape[V(3)]
    assert tape[tape.result].val == 2.0 * 3.0 + math.sin(2.0)


def test_a_free_reference_is_bound_when_pushed() -> None:
    tape, (x, *_rest) = example()
    v = tape.push(mkcall(operator.neg, V(1)))
    tape.insert(1, Input(0.0))
    assert tape[v].args == (x,) and str(tape[v].args[0]) == "%2"
    assert bound_variable(tape, V(2)) == x and V(2) != x and V(2) == V(2)


def test_mkcall_runs_when_the_values_are_known() -> None:
    tape, (x, *_rest) = example()
    assert mkcall(math.pow, x, 3.0).val == 8.0
    assert mkcall(np.concatenate, [np.ones(1), np.zeros(1)], axis=0).val.tolist() == [1, 0]
    assert mkcall(operator.neg, V(1)).val is MISSING
    g = tape.push(mkcall(operator.itemgetter, 0))
    assert mkcall(g, (5, 6)).val == 5


def test_insert_moves_what_follows() -> None:
    tape, (x, y, m, s, a) = example()
    n, d = Call(operator.neg, [x]), Call(operator.mul, [V(4), 2.0])
    made = tape.insert(4, n, d)
    assert [v.id for v in (x, y, m, s, a)] == [1, 2, 3, 6, 7] and [v.id for v in made] == [4, 5]
    assert tape[made[1]].args == (made[0], 2.0)
    assert tape.insert(8, Constant(1.0))[0].id == 8
    before_s = tape.insert(s, Constant(2.0))
    assert before_s[0].id == 6 and s.id == 7
    verify(tape)


@pytest.mark.parametrize(("rebind_to", "expected"), [(0, 6.0 * 2.0), (1, 6.0 * 4.0), (2, -6.0 * 2.0), (-1, -6.0 * 2.0)])
def test_replace_points_old_references_at_the_chosen_op(rebind_to: int, expected: float) -> None:
    tape = Tape()
    tape.inputs = [2.0, 3.0]
    x, y = tape.inputs
    m = tape.push(mkcall(operator.mul, x, y))
    d = tape.push(mkcall(operator.mul, m, 2.0))
    tape.result = d
    first, second = Call(operator.mul, [y, x]), Call(operator.mul, [V(3), 2.0])
    third = Call(operator.neg, [Variable(first)])
    made = tape.replace(m, first, second, third, rebind_to=rebind_to)
    assert [v.id for v in made] == [3, 4, 5] and d.id == 6
    assert m == made[rebind_to] and hash(m) == hash(made[rebind_to])
    assert tape.play() == expected
    verify(tape)


def test_replace_keeps_dicts_keyed_by_variables() -> None:
    tape, (_x, _y, m, _s, _a) = example()
    notes = {m: "product"}
    made = tape.replace(m, Call(operator.mul, [V(2), V(1)]))
    again = tape.replace(made[0], Call(operator.mul, [V(1), V(2)]))
    assert notes[made[0]] == notes[again[0]] == notes[m] == "product"


def test_replace_moves_the_result() -> None:
    tape, (*_rest, a) = example()
    tape.replace(a, Call(operator.sub, [V(3), V(4)]), Call(operator.neg, [V(5)]))
    assert tape.result.id == 6 and tape.play() == -(6.0 - math.sin(2.0))


def test_the_old_op_may_be_among_the_new() -> None:
    tape, (_x, _y, m, _s, a) = example()
    old = tape[m]
    made = tape.replace(m, old, Call(operator.mul, [m, 10.0]))
    assert tape[made[1]].args == (made[0], 10.0)
    assert tape.play() == 60.0 + math.sin(2.0)
    made = tape.replace(a, Constant(1.0), tape[a], rebind_to=0)
    assert tape.play() == 1.0
    verify(tape)


def test_a_new_op_may_not_read_the_one_it_replaces() -> None:
    tape, (_x, _y, m, *_rest) = example()
    with pytest.raises(TapeError, match="which it replaces"):
        tape.replace(m, Call(operator.neg, [m]))
    assert tape.play() == 6.0 + math.sin(2.0)


@pytest.mark.parametrize("bad", [0, 6, -1])
def test_positions_outside_are_refused(bad: int) -> None:
    tape, _ = example()
    with pytest.raises(TapeError, match="not on this tape"):
        tape[bad]
    with pytest.raises(TapeError):
        tape.push(Call(operator.neg, [V(bad)]))


def test_strangers_are_refused() -> None:
    tape, (x, *_rest) = example()
    other, (foreign, *_rest) = example()
    with pytest.raises(TapeError, match="neither on this tape"):
        tape.push(Call(operator.neg, [foreign]))
    with pytest.raises(TapeError, match="not on this tape"):
        tape.result = foreign
    with pytest.raises(TapeError, match="already on a tape"):
        other.push(tape[x])
    op = Call(operator.neg, [x])
    with pytest.raises(TapeError, match="already on a tape"):
        tape.insert(3, op, op)
    with pytest.raises(TapeError, match="rebind_to=1"):
        tape.replace(3, Constant(1.0), rebind_to=1)
    with pytest.raises(TapeError, match="use delete"):
        tape.replace(3)


def test_a_later_op_is_refused_when_inserted_by_position() -> None:
    tape, _ = example()
    with pytest.raises(TapeError, match="before the op that reads it"):
        tape.insert(3, Call(operator.neg, [V(3)]))
    with pytest.raises(TapeError, match="before the op that reads it"):
        tape.replace(3, Call(operator.neg, [V(4)]))


def test_delete_refuses_to_leave_a_dangling_reference() -> None:
    tape, (_x, _y, m, _s, a) = example()
    with pytest.raises(TapeError, match=r"%3 is still read by\n  %5 = add\(%3, %4\)"):
        tape.delete(m)
    with pytest.raises(TapeError, match="is the tape's result"):
        tape.delete(a)
    assert len(tape) == 5
    verify(tape)


def test_delete_with_an_heir_before() -> None:
    tape, (_x, _y, m, s, a) = example()
    tape.delete(s, rebind_to=m)
    assert a.id == 4 and s == m and tape.play() == 12.0
    verify(tape)


def test_delete_with_an_heir_behind_the_deleted_op() -> None:
    """Umlaut's deleteat! was off by one here."""
    tape, (_x, _y, m, s, a) = example()
    n = tape.push(mkcall(operator.neg, a))
    tape.result = n
    with pytest.raises(TapeError, match="still read by"):
        tape.delete(m, rebind_to=a)
    tape, (_x, _y, m, s, a) = example()
    t = tape.insert(s, Call(operator.neg, [V(1)]))[0]
    tape.delete(m, rebind_to=s)
    assert [v.id for v in (t, s, a)] == [3, 4, 5] and tape[a].args == (s, s)
    assert tape.play() == 2 * math.sin(2.0)
    verify(tape)


def test_delete_several_that_read_each_other() -> None:
    tape, (x, *_rest) = example()
    n = tape.push(mkcall(operator.neg, x))
    k = tape.push(mkcall(operator.neg, n))
    tape.delete(n, k)
    assert len(tape) == 5 and n.id == 0 and str(k) == "%?"
    with pytest.raises(TapeError, match="not on this tape"):
        tape[n]
    with pytest.raises(TapeError):
        tape.push(Call(operator.neg, [k]))
    verify(tape)


def test_rebind_changes_readers_and_result() -> None:
    tape, (x, _y, m, s, a) = example()
    tape.rebind({s: m})
    assert tape.play() == 12.0
    tape.rebind({a: m})
    assert tape.result == m
    before = str(tape)
    with pytest.raises(TapeError, match=r"%5 comes later than its reader\n  %3 = mul"):
        tape.rebind({m: x, x: a})
    assert str(verify(tape)) == before


def test_ten_thousand_replaces_renumber_once() -> None:
    tape = Tape()
    v = x = tape.push(Input(1.0, "x"))
    variables = [v := tape.push(Call(operator.add, [v, x])) for _ in range(10_000)]
    tape.result = v
    for v in variables:
        op = tape[v]
        half = Call(operator.mul, [op.args[1], 0.5])
        tape.replace(v, half, Call(operator.add, [op.args[0], Variable(half)]))
    assert tape.renumberings == 0
    verify(tape)
    assert tape.renumberings == 1 and len(tape) == 20_001
    assert variables[-1].id == 20_001 and tape.play() == 1.0 + 10_000 * 0.5


def test_one_op_replaced_ten_thousand_times() -> None:
    tape, (x, _y, m, *_rest) = example()
    for k in range(10_000):
        tape.replace(m, Call(operator.mul, [x, float(k)]))
    assert tape[m].args == (x, 9999.0) and len(tape) == 5 and tape.renumberings <= 1
    verify(tape)


def test_random_edits_against_a_model() -> None:
    """Edits that keep the value keep it, whatever their order; every reference stays in its place."""
    rng = random.Random(7)
    tape, _ = example()
    expected = tape.play()
    for _ in range(400):
        position = rng.randrange(3, len(tape) + 1)
        op = tape[position]
        if rng.random() < 0.3:
            tape.insert(position, Call(operator.neg, [V(rng.randrange(1, position))]))
        elif rng.random() < 0.5:
            plus = Call(operator.mul, [V(position), 1.0])
            tape.replace(position, op.copy(), plus)
        elif rng.random() < 0.5:
            tape.replace(tape.bound_variable(position), op, Constant(5.0), rebind_to=0)
        else:
            copy = op.copy()
            tape.replace(position, copy, Call(operator.neg, [Variable(copy)]), rebind_to=rng.choice([0, -2]))
        if rng.random() < 0.2:
            verify(tape)
    assert verify(tape).play() == expected and len(tape) > 300
    assert [op.id for op in tape] == list(range(1, len(tape) + 1))


def test_inputs_are_settable() -> None:
    tape, (x, y, *_rest) = example()
    assert tape.inputs == [x, y]
    tape.inputs = [5.0, 7.0]
    assert tape.play() == 35.0 + math.sin(5.0)
    with pytest.raises(TapeError, match="2 inputs, but 1 values"):
        tape.inputs = [1.0]
    with pytest.raises(TapeError, match="no result"):
        _ = Tape().result


def test_verify_names_the_line() -> None:
    tape, (x, _y, m, *_rest) = example()
    op = tape[m]
    op.site = HERE
    op.args = (V(1), 1.0)
    with pytest.raises(
        TapeError, match=r"%1 is a position, not an op, in\n  %3 = mul\(%1, 1.0\)::float \(program.py:3 in f\)"
    ):
        verify(tape)
    op.args = (tape.result, x)
    with pytest.raises(TapeError, match="%5 comes later than"):
        verify(tape)
    op.args = (Variable(Constant(1.0)), x)
    with pytest.raises(TapeError, match="not on the tape of its reader"):
        verify(tape)
    tape, _ = example()
    tape.push(Input(1.0))
    with pytest.raises(TapeError, match="an input comes after other ops"):
        verify(tape)


def test_a_tape_is_freed_without_the_garbage_collector() -> None:
    gc.disable()
    try:
        tape, variables = example()
        tape.replace(variables[2], Constant(1.0))
        tape.settle()
        gone = weakref.ref(tape)
        del tape
        assert gone() is None and variables[0].id == 1
    finally:
        gc.enable()


def test_context_decides_what_is_recorded() -> None:
    class Twice(Context):
        def record_primitive(self, tape: Tape, v_f: Any, *v_args: Any, **v_kwargs: Any) -> Variable:
            v = super().record_primitive(tape, v_f, *v_args, **v_kwargs)
            return tape.push(mkcall(operator.mul, v, 2.0))

    tape = Tape(Twice())
    tape.site = HERE
    x = tape.push(Input(3.0, "x"))
    v = tape.ctx.record_primitive(tape, math.pow, x, 2.0)
    assert tape[v].val == 18.0 and fns(tape) == ["pow", "mul"] and tape[v].site == HERE
    assert Context().is_primitive(np.sin, 1.0) and not Context().is_primitive(example)


# -- from the recording


MUL, ADD = Primitive(operator.mul, None), Primitive(operator.add, None)
LESS = Primitive(operator.lt, None, "guard")


def entry(prim: Primitive, value: Any, ins: Any = (), args: Any = (), kwargs: Any = None) -> tuple[Any, ...]:
    return prim, value, ins, args, kwargs, HERE


def f(x: float) -> float:
    return x


def test_from_entries() -> None:
    entries = [
        entry(INPUT, 2.0),
        entry(INPUT, 3.0),
        entry(LESS, True, (0, None), (2.0, 9.0)),
        None,
        entry(INPUT, 2.0, (0,)),
        entry(MUL, 6.0, (4, 1), (2.0, 3.0)),
    ]
    tape = verify(Tape.from_entries(entries, Slot(5), ["x", "y"], fn=f))
    inp, x, y = tape.inputs
    assert tape[inp].callee and tape[inp].name == "f" and tape[inp].val is f
    assert [tape[v].name for v in (x, y)] == ["x", "y"]
    guard, product = tape.calls
    assert guard.guard and guard.args == (x, 9.0) and guard.val is True and guard.site == HERE
    assert product.args == (x, y) and tape.result.id == 5 and tape.play() == 6.0


def test_from_entries_with_sequences_and_keywords() -> None:
    a, b = np.ones(2), np.zeros(1)
    joined = np.concatenate([a, b])
    entries = [
        entry(INPUT, a),
        entry(INPUT, b),
        entry(Primitive(np.concatenate, None), joined, ((0, 1),), ([a, b],), {"axis": 0}),
        entry(Primitive(np.concatenate, None), joined, ((0, None),), (None,)),
        entry(Primitive(np.sum, None), 2.0, (2,), (joined,), {"initial": Traced(1, b)}),
    ]
    tape = Tape.from_entries(entries, Slot(4))
    x, y = tape.inputs
    assert tape.calls[0].args == ([x, y],) and tape.calls[0].kwargs == {"axis": 0}
    assert tape.calls[1].args == ((x, None),)
    assert tape.calls[2].kwargs == {"initial": y}


class Pair(NamedTuple):
    first: Any
    second: Any


def test_from_entries_builds_nested_results() -> None:
    entries = [entry(INPUT, 2.0), entry(ADD, 3.0, (0, None), (2.0, 1.0))]
    result = {"a": (Slot(0), [Slot(1), 5]), "b": (1, 2), "c": Pair(Slot(1), None)}
    tape = verify(Tape.from_entries(entries, result))
    assert tape[tape.result].val == tape.play() == {"a": (2.0, [3.0, 5]), "b": (1, 2), "c": Pair(3.0, None)}
    assert tape[tape.result].fn is functional.make_dict
    constant = Tape.from_entries(entries, (1, "a"))
    assert isinstance(constant[constant.result], Constant) and constant.play() == (1, "a")
    passed = Tape.from_entries(entries, Slot(0))
    assert passed.result == passed.inputs[0]
