"""Dumps, by exact text."""

from __future__ import annotations

import io
import math
import operator
from typing import Any

import numpy as np
import pytest

import wengert_rules  # noqa: F401
from wengert.errors import TapeError
from wengert.tape.dump import type_text, value_text
from wengert.tape.rrules import rrule_tape
from wengert.tape.tape import Call, Constant, Input, Tape, V, mkcall
from wengert.values.names import display
from wengert.values.sites import Site
from wengert.values.specs import Spec


def f(x1: float, x2: float) -> float:
    return x1 * x2 + math.sin(x1)


def example() -> Tape:
    tape = Tape()
    tape.push(Input(f, "f", callee=True))
    x1, x2 = tape.push(Input(2.0, "x1")), tape.push(Input(3.0, "x2"))
    tape.site = Site("program.py", 12, "f")
    product = tape.push(mkcall(operator.mul, x1, x2))
    tape.result = tape.push(mkcall(operator.add, product, tape.push(mkcall(math.sin, x1))))
    tape.site = None
    return tape


def arrays() -> Tape:
    tape = Tape()
    x = tape.push(Input(np.ones((3, 4)), "x"))
    n = tape.push(Input(np.float32(2)))
    tape.push(Call(operator.lt, [n, 0.0], val=False, guard=True, site=Site("program.py", 4, "g")))
    row = tape.push(mkcall(operator.getitem, x, (slice(1, None), None, slice(None, None, -1))))
    tape.push(mkcall(np.ndarray.sum, x, axis=(0, 1), keepdims=True))
    both = tape.push(mkcall(np.concatenate, [x, np.zeros((1, 4)), np.ones((2, 4))]))
    mask = tape.push(mkcall(np.greater, row, np.float64(1)))
    tape.push(Constant(np.arange(3)))
    tape.push(Constant(np.zeros(10_000), note="buffer"))
    tape.push(Call(np.where, [mask, row, row]))
    tape.result = both
    return tape


def test_plain() -> None:
    assert (
        str(example())
        == """\
Tape(Context)
  inp %1 = f::function
  inp %2 = x1::float
  inp %3 = x2::float
  %4 = mul(%2, %3)::float
  %5 = math.sin(%2)::float
  %6 = add(%4, %5)::float
  return %6"""
    )


def test_arrays_guards_and_keywords() -> None:
    assert (
        str(arrays())
        == """\
Tape(Context)
  inp %1 = x::float64[3, 4]
  inp %2::float32
  guard lt(%2, 0.0) is False
  %4 = getitem(%1, (1:, None, ::-1))::float64[2, 1, 4]
  %5 = ndarray.sum(%1, axis=(0, 1), keepdims=True)::float64[1, 1]
  %6 = np.concatenate([%1, [[0.0, 0.0, 0.0, 0.0]], float64[2, 4]])::float64[6, 4]
  %7 = np.greater(%4, 1.0)::bool[2, 1, 4]
  const %8 = [0, 1, 2]::int64[3]
  const %9 = float64[10000]::float64[10000]  # buffer
  %10 = np.where(%7, %4, %4)
  return %6"""
    )


def test_sites_and_types_on_demand() -> None:
    assert (
        example().dump(types=False, sites=True)
        == """\
Tape(Context)
  inp %1 = f
  inp %2 = x1
  inp %3 = x2
  %4 = mul(%2, %3)  # program.py:12 in f
  %5 = math.sin(%2)  # program.py:12 in f
  %6 = add(%4, %5)  # program.py:12 in f
  return %6"""
    )


def test_compact_is_the_seeds() -> None:
    shown = rrule_tape(example()).dump("compact")
    assert (
        shown.splitlines()[:12]
        == """\
Tape(RRuleContext)
  inp %1 = f
  inp %2 = x1
  inp %3 = x2
  %5, %6 = [%4] = rrule(mul, %2, %3)
  %8, %9 = [%7] = rrule(math.sin, %2)
  %11, %12 = [%10] = rrule(add, %5, %8)
  const %13 = 1.0  # seed
  %15, %16 = [%14] = %12(%13)  # pullback of %11; x̄ of %5; x̄ of %8
  %17 = %9(%16)  # pullback of %8
  %18 = getfield(%17, 0)  # x̄ of %2
  %19 = %6(%15)  # pullback of %5""".splitlines()
    )


def test_notes_follow_edits() -> None:
    tape = example()
    tape.push(Call(operator.neg, [V(6)], note=("x̄ of", tape.bound_variable(4))))
    tape.insert(4, Constant(1.0))
    assert tape.dump().splitlines()[-2] == "  %8 = neg(%7)  # x̄ of %5"
    assert tape.dump(notes=False).splitlines()[-2] == "  %8 = neg(%7)"


def test_forms_are_named_in_the_error() -> None:
    with pytest.raises(TapeError, match="'plain' or 'compact'"):
        example().dump("pretty")


def test_a_tape_without_result_can_be_shown() -> None:
    assert str(Tape()) == "Tape(Context)"
    assert repr(example()) == "<Tape of 6 ops>"


def test_colours() -> None:
    coloured = example().dump(color=True)
    assert "\x1b[" in coloured and "\x1b[36m%4\x1b[0m = \x1b[1mmul\x1b[0m(%2, %3)" in coloured
    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=200).print(example())
    assert out.getvalue().rstrip() == str(example())


def test_show_prints(capsys: pytest.CaptureFixture[str]) -> None:
    example().show(types=False)
    assert "%4 = mul(%2, %3)\n" in capsys.readouterr().out


@pytest.mark.parametrize(("fn", "name"), [
    (np.sin, "np.sin"), (operator.mul, "mul"), (math.exp, "math.exp"), (np.ndarray.sum, "ndarray.sum"),
    (f, "f"),
    (np.linalg.inv, "np.linalg.inv"), (np.sum, "np.sum"), (abs, "abs"), (float, "float"),
    (np.float64, "np.float64"), (np.add.at, "np.add.at"), (lambda x: x, "<lambda>"),
    (operator.itemgetter(1), "itemgetter"), (Tape.push, "push"),
])  # fmt: skip
def test_function_names(fn: Any, name: str) -> None:
    assert display(fn) == name


@pytest.mark.parametrize(("value", "shown", "typed"), [
    (1.5, "1.5", "float"), (np.float64(0.1), "0.1", "float64"), (True, "True", "bool"),
    (None, "None", "None"),
    ("x" * 99, None, "str"), ((1, 2.0), "(1, 2.0)", "(int, float)"), ((1,), "(1,)", "(int,)"),
    ({"a": [1]}, "{'a': [1]}", "dict"),
    (list(range(99)), "<list of 99>", "list"), (np.zeros((2, 5), np.int8), "int8[2, 5]", "int8[2, 5]"),
    (np.array(1.0), "1.0", "float64[]"), (slice(None), ":", "slice"), (Ellipsis, "...", "ellipsis"),
    (Spec((2,), np.float32), "?", "float32[2]"), (object(), "<object>", "object"),
    (np.dtype(float), "float64", None),
])  # fmt: skip
def test_values_are_short(value: Any, shown: str | None, typed: str | None) -> None:
    assert len(value_text(value)) < 60
    assert shown is None or value_text(value) == shown
    assert typed is None or type_text(value) == typed
