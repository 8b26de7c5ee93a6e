"""Loops on optimised tapes: bodies are optimised, and their results have places; numbers are those of plain calls."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from loop_programs import cell, cell_by_hand, heat, heat_by_hand, orbit, orbit_by_hand, table, table_by_hand
from loop_tapes import arguments, random_tape, tape_of
from tapes import assert_close, plainly

import wengert as wg
from wengert.compiling import placement
from wengert.tape.loops import Loop
from wengert.values.functional import additem, getfield, make_tuple, setitem

PROGRAMS = {
    "heat": (heat(9, 6), lambda u, rate: heat_by_hand(u, rate, 6)),
    "orbit": (orbit(7), lambda x, a: orbit_by_hand(x, a, 7)),
    "cell": (cell(3, 5), cell_by_hand),
    "table": (table(3, 4), table_by_hand),
}


def given(tape: Any) -> list[Any]:
    """Arguments that are not those the tape was made on."""
    return [v.op.val * 0.75 for v in tape.inputs]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    tape, by_hand = PROGRAMS[name]
    made = tape.optimise()
    expected = by_hand(*given(tape))
    for run in (made.play, made.compile(native=False)):
        assert_close(run(*given(tape)), expected, 1e-12, 1e-12)


@pytest.mark.parametrize("block", range(8))
def test_random_loops(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "LEAST_BYTES", 0)  # small arrays have places, too
    for seed in range(1000 + 25 * block, 1025 + 25 * block):
        tape = random_tape(seed)
        made = tape.optimise()
        for run in (made.play, made.compile(native=False)):
            args = arguments(seed + 7)
            expected = plainly(tape, *args)
            for _ in range(2):
                poison(getattr(run, "pool", None))
                found = run(*args)
                assert_close(found, expected, 1e-12, 1e-12)
                assert_close(args, arguments(seed + 7), 0.0, 0.0)
        for k, part in enumerate(found):
            for other, plain in [*zip(found[:k], expected[:k], strict=True), *((arg, arg) for arg in args)]:
                assert np.may_share_memory(expected[k], plain) or not np.may_share_memory(part, other), seed


def test_what_a_loop_keeps_is_kept_in_a_buffer() -> None:
    def f(x: np.ndarray, w: np.ndarray) -> Any:
        for _ in range(600):
            x = np.sin(x) @ w
        return np.sum(x * x)

    x, w = SQUARE[:4, :8], 8.0 * SQUARE[:8, :8]
    eager = wg.value_and_grad(f, argnums=(0, 1))
    compiled = wg.compile(eager, native=False, strict=True)
    compiled(x, w)
    ((entry,),) = compiled._entries.values()
    assert any([len(buffer.shape) == 3 for buffer in entry.run.pool.buffers])
    assert "zeros((600" not in entry.run.source
    assert "fill" not in entry.run.source
    for factor in (1.0, 1.5, 1.0):
        poison(entry.run.pool)
        assert_close(compiled(factor * x, w), eager(factor * x, w), 1e-12, 1e-12)


M = 64
SQUARE = np.random.default_rng(0).normal(size=(M, M)) / M  # 32 kB
STACK = np.zeros((4, M, M))


def carried_in_turns(call: Any, i: Any, c: Any, kept: Any, w: Any) -> Any:
    return [call(np.matmul, w, c), kept]


def read_later_too(call: Any, i: Any, c: Any, kept: Any, w: Any) -> Any:
    new = call(np.matmul, w, c)
    return [new, call(setitem, kept, i, call(np.subtract, new, c))]


def two_back(call: Any, i: Any, c: Any, kept: Any, w: Any) -> Any:
    return [call(np.matmul, w, c), call(setitem, kept, i, c), c]


def row_in_place(call: Any, i: Any, c: Any, kept: Any, w: Any) -> Any:
    v = call(np.sin, call(np.matmul, w, c))
    return [call(np.matmul, w, v), call(setitem, kept, i, v)]


def row_overwritten(call: Any, i: Any, c: Any, kept: Any, w: Any) -> Any:
    v = call(np.sin, call(np.matmul, w, c))
    kept = call(setitem, call(setitem, kept, i, v), i, 3.0)
    return [call(np.matmul, w, v), kept]


def row_read_between(call: Any, i: Any, c: Any, kept: Any, w: Any) -> Any:
    v = call(np.sin, call(np.matmul, w, c))
    old = call(np.copy, call(operator.getitem, kept, 0))
    return [call(np.matmul, w, old), call(setitem, kept, 0, v)]


def row_changed(call: Any, i: Any, c: Any, kept: Any, w: Any) -> Any:
    v = call(np.sin, call(np.matmul, w, c))
    kept = call(setitem, kept, i, v)
    return [call(np.matmul, w, call(setitem, v, 0, 3.0)), kept]


def row_carried(call: Any, i: Any, c: Any, kept: Any, w: Any) -> Any:
    v = call(np.sin, call(np.matmul, w, c))
    return [v, call(setitem, kept, i, v)]


def added_up(call: Any, i: Any, c: Any, kept: Any, w: Any) -> Any:
    return [call(np.add, c, call(np.matmul, w, call(np.cos, c))), kept]


def read_after_it_is_added_to(call: Any, i: Any, c: Any, kept: Any, w: Any) -> Any:
    more = call(np.add, c, w)
    return [more, call(setitem, kept, i, call(np.multiply, c, more))]


def swapped(call: Any, i: Any, c: Any, kept: Any, d: Any, w: Any) -> Any:
    return [call(np.subtract, call(np.multiply, c, 0.5), d), kept, c]


def lagging(call: Any, i: Any, c: Any, kept: Any, d: Any, w: Any) -> Any:
    new = call(np.matmul, w, c)
    return [new, call(setitem, kept, i, call(np.sin, d)), c]


STEPS = [
    carried_in_turns, read_later_too, two_back, row_in_place, row_overwritten, row_read_between, row_changed,
    row_carried, added_up, read_after_it_is_added_to, swapped, lagging,
]  # fmt: skip


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
@pytest.mark.parametrize("escapes", [False, True])
def test_places_of_large_arrays(step: Any, escapes: bool) -> None:
    """Each result is where nobody reads what was there, in each iteration, in loops in loops, and after the loop."""
    more = [SQUARE] * (step in (swapped, lagging))
    inner = Loop(tape_of([0, SQUARE, STACK, *more, SQUARE], step), 4, [1], 2 + len(more))

    def twice(call: Any, c: Any, kept: Any, w: Any) -> Any:
        found = call(inner, 0, c, kept, *[w] * len(more), w)
        return [call(np.add, call(getfield, found, 0), w), call(getfield, found, 1)]

    outer = Loop(tape_of([SQUARE, STACK, SQUARE], twice), 2, [], 2)

    def f(call: Any, x: Any, w: Any) -> Any:
        results = []
        for loop in (inner, outer):
            starts = [0] if loop is inner else []
            also = [w] * len(more) if loop is inner else []
            found = call(loop, *starts, x, call(np.zeros, STACK.shape), *also, w)
            parts = [call(getfield, found, k) for k in range(len(loop.results))]
            busy = call(np.sin, call(np.multiply, x, 2.0))
            results += parts if escapes else [call(np.sum, call(np.multiply, part, part)) for part in parts]
            results.append(call(np.sum, call(np.multiply, busy, parts[0])))
        return results

    run: Any = tape_of([SQUARE, SQUARE], f).optimise().compile(native=False)
    args = [SQUARE + 1.0, SQUARE.T.copy()]
    expected = plainly(tape_of([SQUARE, SQUARE], f), *args)
    for _ in range(3):
        poison(getattr(run, "pool", None))
        found = run(*args)
        assert_close(found, expected, 1e-11, 1e-11)
    assert_close(args, [SQUARE + 1.0, SQUARE.T], 0.0, 0.0)
    for k, part in enumerate(found):
        owned = [buffer for buffers in run.pool.free for buffer in buffers]
        assert not any(np.may_share_memory(part, other) for other in [*args, *owned, *found[:k]])


def test_source_of_large_arrays() -> None:
    """Temporaries are in buffers, sums are added up in place, what is carried takes turns, rows are written at once."""

    def step(call: Any, i: Any, c: Any, total: Any, kept: Any, w: Any) -> Any:
        v = call(np.tanh, call(np.matmul, w, c))
        new = call(np.matmul, call(np.multiply, v, 2.0), w)
        return [new, call(np.add, total, call(np.multiply, v, c)), call(setitem, kept, i, v)]

    loop = Loop(tape_of([0, SQUARE, SQUARE, STACK, SQUARE], step, ["i", "c", "total", "kept"]), 4, [1], 3)

    def f(call: Any, x: Any, w: Any) -> Any:
        found = call(loop, 0, x, call(np.zeros, (M, M)), call(np.empty, STACK.shape), w)
        return [call(getfield, found, k) for k in range(3)]

    text = tape_of([SQUARE, SQUARE], f, ["x", "w"]).optimise().compile(native=False).source
    body = [line.strip() for line in text[text.index("for i") : text.index("return")].strip().splitlines()]
    assert body == [
        "for i in range(4):",
        "v5_6 = kept[i]",
        "np.matmul(w, c, v5_6)",
        "np.tanh(v5_6, v5_6)",
        "v5_8 = np.multiply(2.0, v5_6, b1)",
        "v5_9 = v5_8 @ w",
        "np.multiply(c, v5_6, c)",
        "np.add(total, c, total)",
        "c = v5_9",
    ]


def test_a_row_that_goes_to_more_and_more_places() -> None:
    """As long as one row is all that a store takes in the iteration that was recorded, it might be computed there."""

    def step(call: Any, i: Any, kept: Any, x: Any) -> Any:
        row = call(operator.getitem, x, slice(i, call(operator.add, i, 1)))
        return [call(setitem, kept, slice(i, None), call(np.matmul, row, x))]

    loop = Loop(tape_of([2, np.zeros((3, M)), SQUARE], step), 3, [-1], 1)
    tape = tape_of([SQUARE], lambda call, x: call(getfield, call(loop, 2, call(np.zeros, (3, M)), x), 0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement, "LEAST_BYTES", 0)
        found = tape.optimise().compile(native=False)(SQUARE * 2.0)
    assert_close(found, np.repeat(4.0 * SQUARE[:1] @ SQUARE, 3, axis=0), 1e-12, 1e-12)  # of the last iteration


def poison(pool: Any) -> None:
    for buffers in pool.free if pool else ():
        for buffer in buffers:
            buffer.fill(np.nan)


def test_bodies_are_optimised() -> None:
    def step(call: Any, x: Any, y: Any) -> Any:
        return [call(np.add, call(np.multiply, x, 1.0), call(np.multiply, call(np.multiply, y, 2.0), 3.0))]

    def f(call: Any, x: Any, y: Any) -> Any:
        return call(getfield, call(Loop(tape_of([x.op.val] * 2, step), 3, [], 1), x, y), 0)

    tape = tape_of([np.ones(3)] * 2, f)
    (made,) = [op.fn for op in tape.optimise().calls if isinstance(op.fn, Loop)]
    assert [op.fn for op in made.body.calls] == [operator.add, make_tuple]  # 6·y is computed before the loop
    x, y = np.arange(3.0), np.arange(3.0) + 0.5
    np.testing.assert_allclose(tape.optimise().play(x, y), x + 18.0 * y, rtol=1e-15)


def test_an_argument_that_a_rule_gives_back_is_not_written() -> None:
    """With 1.0 * y taken as y, what is carried is the user's array."""

    def step(call: Any, i: Any, u: Any, y: Any) -> Any:
        return [call(setitem, call(np.multiply, u, 1.0), i, 7.0), call(np.multiply, y, 1.0)]

    def f(call: Any, x: Any) -> Any:
        found = call(Loop(tape_of([0, *[x.op.val] * 2], step), 2, [1], 1), 0, x, x)
        return [call(getfield, found, 0), call(getfield, found, 1)]

    run = tape_of([np.ones(3)], f).optimise().compile(native=False)
    x = np.arange(3.0)
    first, second = run(x)
    np.testing.assert_array_equal(first, [7.0, 7.0, 2.0])
    np.testing.assert_array_equal(second, [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(x, [0.0, 1.0, 2.0])
    assert not np.may_share_memory(second, x)


def test_a_decision_in_a_later_iteration_is_as_recorded() -> None:
    """What a guard of the next iteration reads is computed as it was recorded, to the bit."""

    def step(call: Any, x: Any, y: Any) -> Any:
        call(operator.lt, x, 10.0, guard=True)
        return [call(operator.add, call(operator.mul, call(operator.mul, x, 0.1), 3.0), y)]

    values = [0.3, 0.7]
    loop = Loop(tape_of(values, step), 4, [], 1)
    made = tape_of(values, lambda call, x, y: call(getfield, call(loop, x, y), 0)).optimise()
    x = 0.9
    for _ in range(4):
        x = x * 0.1 * 3.0 + 0.7
    assert made.compile(native=False)(0.9, 0.7) == x
    with pytest.raises(wg.StaleTapeError):
        made.compile(native=False)(11.0, 0.7)


def test_a_view_does_not_keep_its_array_from_being_written() -> None:
    """What is read of an array before it is written is copied, and not the array in each iteration."""

    def step(call: Any, u: Any, r: Any) -> Any:
        inner = call(operator.getitem, u, slice(1, -1))
        cleared = call(setitem, u, slice(1, -1), 0.0)
        return [call(additem, cleared, slice(2, None), call(np.multiply, inner, r))]

    values = [np.ones(5000), 0.5]
    tape = tape_of(values, lambda call, u, r: call(getfield, call(Loop(tape_of(values, step), 6, [], 1), u, r), 0))
    made = tape.optimise()
    u = np.random.default_rng(0).normal(size=5000)
    run = made.compile(native=False)
    assert_close(run(u, 0.75), plainly(tape, u, 0.75), 0.0, 0.0)
    assert_close(made.play(u, 0.75), plainly(tape, u, 0.75), 0.0, 0.0)
    assert run.source.count(".copy()") == 1 and "np.copyto(b1, " in run.source
