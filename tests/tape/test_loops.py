"""Loops on tapes: as source, played, differentiated; numbers are those of plain Python loops, to the bit."""

from __future__ import annotations

import copy
import operator
import re
from typing import Any

import numpy as np
import pytest
from loop_programs import (
    cell,
    cell_by_hand,
    halving,
    heat,
    heat_by_hand,
    orbit,
    orbit_by_hand,
    table,
    table_by_hand,
)
from loop_tapes import arguments, itself, random_tape, tape_of
from tapes import plainly, same_bits

import wengert as wg
from wengert.tape.loops import Loop
from wengert.values.functional import additem, getfield, setitem

PROGRAMS = {
    "heat": (heat(9, 6), lambda u, rate: heat_by_hand(u, rate, 6)),
    "orbit": (orbit(7), lambda x, a: orbit_by_hand(x, a, 7)),
    "cell": (cell(3, 5), cell_by_hand),
    "table": (table(3, 4), table_by_hand),
    "halving": (halving(5), lambda x: x * 0.5**5),
}
each = pytest.mark.parametrize("name", PROGRAMS)


def given(tape: Any) -> list[Any]:
    """Arguments that are not those the tape was made on."""
    return [v.op.val * 0.75 for v in tape.inputs]


def body_of(source: str) -> str:
    """The lines inside of loops."""
    return "\n".join(re.findall(r"^ {8,}.*$", source, re.MULTILINE))


@each
def test_played_compiled_and_written(name: str) -> None:
    tape, by_hand = PROGRAMS[name]
    expected = by_hand(*given(tape))
    namespace: dict[str, Any] = {}
    exec(tape.to_source(), namespace)
    for run in (tape.play, tape.compile(), namespace["f"], lambda *args: plainly(tape, *args)):
        args = given(tape)
        for _ in range(2):
            assert same_bits(run(*args), expected)
        assert same_bits(args, given(tape))


@each
def test_stores_in_loops_copy_nothing(name: str) -> None:
    source = PROGRAMS[name][0].to_source()
    assert "copy" not in body_of(source)
    assert source.count("copy") == (name == "heat")


def test_source_reads_as_a_loop() -> None:
    text = table(3, 4).to_source()
    assert (
        text[text.index("    total") :].rstrip()
        == """\
    total = np.zeros(3)
    sums = np.zeros(4)
    a1 = np.float64(0.0)
    for i in range(3):
        s = a1
        for j in range(4):
            v4_5_6 = x[i, j]
            v4_5_7 = v4_5_6 * s
            s = s + v4_5_6
            sums[j] += v4_5_7
        total[i] = s
    return (total, sums)"""
    )


def test_printed_with_the_body_below_the_call() -> None:
    tape = table(3, 4)
    text = tape.dump(types=False)
    assert (
        text[text.index("  %4") :]
        == """\
  %4 = loop of 3(0, %2, %3, %1)
    inp %4.1 = i from 0 by 1
    inp %4.2 = total from %2, then %4.7
    inp %4.3 = sums from %3, then %4.8
    inp %4.4, always %1
    %4.5 = loop of 4(0, 0.0, %4.3, %4.1, %4.4)
      inp %4.5.1 = j from 0 by 1
      inp %4.5.2 = s from 0.0, then %4.5.8
      inp %4.5.3 = sums from %4.3, then %4.5.9
      inp %4.5.4 = i, always %4.1
      inp %4.5.5 = x, always %4.4
      %4.5.6 = getitem(%4.5.5, (%4.5.4, %4.5.1))
      %4.5.7 = mul(%4.5.6, %4.5.2)
      %4.5.8 = add(%4.5.2, %4.5.6)
      %4.5.9 = additem(%4.5.3, %4.5.1, %4.5.7)
      %4.5.10 = make_tuple(%4.5.8, %4.5.9)
      return %4.5.10
    %4.6 = getfield(%4.5, 0)
    %4.7 = setitem(%4.2, %4.1, %4.6)
    %4.8 = getfield(%4.5, 1)
    %4.9 = make_tuple(%4.7, %4.8)
    return %4.9
  %5 = getfield(%4, 0)
  %6 = getfield(%4, 1)
  %7 = make_tuple(%5, %6)
  return %7"""
    )
    assert "  %5, %6 = [%4] = loop of 3(0, %2, %3, %1)\n    inp %4.1" in tape.dump("compact")
    assert "%4.5.9" in tape._repr_html_()
    assert tape.to_mermaid().count("loop of") == tape.to_dot().count("loop of") == 1


def test_guards_in_loops_hold_in_each_iteration() -> None:
    tape = halving(5)
    for run in (tape.play, tape.compile()):
        assert run(33.0) == 33.0 / 32
        with pytest.raises(wg.StaleTapeError, match=r"> 1\.0 was True when recorded"):
            run(15.0)


@pytest.mark.parametrize("block", range(8))
def test_random_loops(block: int) -> None:
    """Arrays that are carried at two places, swapped, returned, shown by views, kept by unknown functions."""
    for seed in range(25 * block, 25 * block + 25):
        tape = random_tape(seed)
        for run in (tape.play, tape.compile()):
            args = arguments(seed + 7)
            expected = plainly(tape, *args)
            for _ in range(2):
                found = run(*args)
                assert same_bits(found, expected), seed
            assert same_bits(args, arguments(seed + 7)), seed
            assert_apart(found, expected, args, seed)


def assert_apart(found: Any, expected: Any, args: Any, seed: int) -> None:
    """Results share memory with arguments, and with each other, only where those of plain calls do."""
    for k, part in enumerate(found):
        others = [*zip(found[:k], expected[:k], strict=True), *((arg, arg) for arg in args)]
        for other, plain in others:
            if np.may_share_memory(part, other):
                assert np.may_share_memory(expected[k], plain), seed


def carrying_two(second: Any) -> Any:
    """A loop that writes into the first array that it carries, and goes on with what `second` says."""

    def step(call: Any, i: Any, u: Any, v: Any) -> Any:
        return second(call, call(setitem, u, i, 5.0), u, v)

    zeros = np.zeros(3)
    return Loop(tape_of([0, zeros, zeros], step), 3, [1], 2)


@pytest.mark.parametrize(
    "second",
    [
        lambda call, u1, u, v: [u1, v],
        lambda call, u1, u, v: [v, u1],
        lambda call, u1, u, v: [u1, u],
        lambda call, u1, u, v: [u1, u1],
        lambda call, u1, u, v: [u1, call(operator.getitem, u1, slice(None, None, -1))],
        lambda call, u1, u, v: [call(itself, u1, v), call(operator.add, v, u)],
        lambda call, u1, u, v: [call(additem, v, 0, 1.0), u1],
        lambda call, u1, u, v: [v, u, u1],
        lambda call, u1, u, v: [np.ones(3), u1, u],
    ],
)
def test_aliases(second: Any) -> None:
    loop = carrying_two(second)
    x, y = np.arange(3.0), np.arange(3.0, 6.0)
    for f in (
        lambda call, x, y: call(loop, 0, x, y),
        lambda call, x, y: call(loop, 0, x, x),
        lambda call, x, y: call(loop, 0, *[call(np.negative, x)] * 2),
        lambda call, x, y: call(loop, 0, (n := call(np.negative, x)), call(operator.getitem, n, slice(None, None, -1))),
        lambda call, x, y: [call(getfield, call(loop, 0, (n := call(np.negative, x)), y), 0), n],
    ):
        tape = tape_of([x, y], f)
        expected = plainly(tape, x, y)
        assert same_bits(tape.compile()(x, y), expected)
        assert same_bits(tape.play(x, y), expected)
        assert same_bits([x, y], [np.arange(3.0), np.arange(3.0, 6.0)])


@pytest.mark.parametrize("name", ["heat", "orbit", "cell", "table"])
def test_derivatives_trace_the_iterations(name: str) -> None:
    tape = PROGRAMS[name][0]
    args = given(tape)

    def total(*args: Any) -> Any:
        found = tape(*args)
        return sum([np.sum(np.sin(part)) for part in (found if isinstance(found, tuple) else [found])])

    gradients = wg.grad(total, argnums=tuple(range(len(args))))(*args)
    for k, gradient in enumerate(gradients):
        direction = np.cos(10.0 * args[k]) if isinstance(args[k], np.ndarray) else 1.0
        ends = [total(*[a + h * direction if j == k else a for j, a in enumerate(args)]) for h in (1e-6, -1e-6)]
        assert np.sum(gradient * direction) == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-8)
    assert same_bits(wg.gradtape(total, *args).play(*args)[1][1:], tuple(gradients))
    dots = wg.jvp(total, tuple(args), tuple([np.ones_like(a) if isinstance(a, np.ndarray) else 1.0 for a in args]))
    assert dots[1] == pytest.approx(sum([np.sum(gradient) for gradient in gradients]))


@each
def test_copies(name: str) -> None:
    tape, by_hand = PROGRAMS[name]
    tape.play(*given(tape))
    assert same_bits(copy.deepcopy(tape).play(*given(tape)), by_hand(*given(tape)))
    assert wg.verify(tape) is tape


@pytest.mark.parametrize("name", ["heat", "orbit", "cell", "table"])
def test_primitivize_unrolls(name: str) -> None:
    tape, by_hand = copy.deepcopy(PROGRAMS[name][0]), PROGRAMS[name][1]
    wg.primitivize(tape)
    assert not tape.find(where=lambda op: isinstance(getattr(op, "fn", None), Loop))
    assert same_bits(tape.play(*given(tape)), by_hand(*given(tape)))


def test_a_body_gives_a_tuple() -> None:
    with pytest.raises(wg.TapeError, match="make_tuple"):
        Loop(tape_of([1.0], lambda call, x: call(operator.neg, x)), 3, [], 1)
