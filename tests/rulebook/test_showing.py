"""Rules as text: what they are for, where, their source, and a call with its derivative."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import scipy.special
from rich.console import Console

import wengert as wg
from wengert.rulebook import showing
from wengert.rulebook.registry import Registry

called = []


def squared(x: Any) -> Any:
    called.append(x)
    return x * x


def test_a_rule_prints_its_targets_place_source_and_a_sample() -> None:
    text = str(wg.rules[np.multiply])
    assert "multiply: partials rule of np.multiply, operator.mul\n" in text and "elementwise.py:" in text
    assert "def multiply(y, a, b):\n    return b, a\n" in text
    assert text.endswith("np.multiply(0.6, 1.7) = 1.02; its pullback takes 1 to (1.7, 0.6)")
    assert repr(wg.rules[np.multiply]).startswith("<partials rule multiply of np.multiply, ")


def test_samples_of_other_forms() -> None:
    assert str(wg.rules[np.sum]).endswith("np.sum([0.6, 1.7]) = 2.3; its pullback takes 1 to ([1.0, 1.0],)")
    assert "np.matmul([0.6, 1.7], [2.3, 0.9]) = 2.91" in str(wg.rules[np.matmul])
    assert "takes 1 to ([[1.0, 1.0], [1.0, 1.0]],)" in str(wg.rules[np.concatenate])
    assert "argument 0 is a sequence" in str(wg.rules[np.concatenate])
    assert "view; adds to the cotangent of argument 0 in place" in str(wg.rules[np.ndarray.__getitem__])
    assert "min is a_min; max is a_max" in str(wg.rules[np.clip])
    constant = str(wg.rules[np.floor])
    assert constant.startswith("floor: constant rule of np.floor\n") and len(constant.splitlines()) == 2


@pytest.mark.parametrize("f", list(wg.rules))
def test_every_rule_can_be_printed(f: Any) -> None:
    rule = wg.rules[f]
    assert rule.name in str(rule) and rule.where in str(rule)


def test_functions_of_the_user_are_not_run() -> None:
    table = Registry()

    @wg.rrule(squared, registry=table)
    def squared_rule(x):
        return x * x, lambda y_bar: 2 * y_bar * x

    assert str(table[squared]).endswith("return x * x, lambda y_bar: 2 * y_bar * x") and not called


def test_a_rule_that_raises_says_so() -> None:
    table = Registry()

    @wg.rrule(scipy.special.wrightomega, registry=table)
    def wrong_rule(x):
        y = scipy.special.wrightomega(x)
        return y, lambda y_bar: y_bar * {}["slope"]

    assert str(table[scipy.special.wrightomega]).endswith("= [0.8103, 1.3788]; its rule raises KeyError: 'slope'")


def test_no_rule_of_the_package_raises() -> None:
    assert not [f for f in wg.rules if "its rule raises" in str(wg.rules[f])]


def test_a_rule_without_source_says_so() -> None:
    table, names = Registry(), {}
    exec(compile("def rule(y, x):\n    return 2 * x", "<no file>", "exec"), names)  # a worker runs "<string>"
    wg.partials(np.square, registry=table)(names["rule"])
    text = str(table[np.square])
    assert "(its source is not available)" in text and "np.square(0.6) = 0.36; its pullback takes 1 to (1.2,)" in text


def test_show_is_plain_in_a_file_and_coloured_on_a_terminal(capsys: Any) -> None:
    rule = wg.rules[np.sin]
    rule.show()
    assert capsys.readouterr().out == f"{rule}\n"
    terminal = Console(file=io.StringIO(), force_terminal=True, width=120)
    terminal.print(rule)
    shown = terminal.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[" in shown and "sin: partials rule of np.sin, math.sin" in shown
    assert [kind for kind, _ in showing.parts_of_rule(rule)] == ["head", "source", "sample"]
