"""`missing` finds the calls without a rule in one run: those that `grad` names one by one."""

from __future__ import annotations

import ctypes
import ctypes.util
import decimal
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.hooks.policy import Kind
from wengert.recording.recording import STATE
from wengert.recording.session import SESSION
from wengert.recording.shadow import SHADOW


@pytest.fixture(autouse=True)
def transforms_without_rules() -> Iterator[None]:
    """As of other functions of NumPy's, their text in Python ends in C code."""
    with wg.rules.scope():
        for f in (np.fft.fft, np.fft.rfft):
            wg.rules.remove(f)
        yield


def scattered(x, p):
    total = 0.0
    for _ in range(3):
        total = total + float(decimal.Decimal(float(p["w"])))
    spectrum = np.fft.rfft(x)
    text = x.tobytes()
    return np.sum(np.abs(spectrum)) * p["w"] + total + len(text)


ARGS = np.ones(4), {"w": 2.5}


def one_by_one(f: Callable[..., Any], *args: Any) -> list[str]:
    """The calls that `grad` refuses, each of which is declared constant before it is asked again."""
    found: list[str] = []
    names = {"np.ndarray.tobytes": np.ndarray.tobytes, "decimal.Decimal": decimal.Decimal, "np.fft.rfft": np.fft.rfft}
    with wg.rules.scope():
        while True:
            try:
                wg.grad(f, *args)
            except wg.NoRuleError as error:
                place, said = str(error).splitlines()[0].split(": ", 1)
                found.append(f"{said.split(' ')[0]} at {place.split(' ')[0]}")
                wg.non_differentiable(names[said.split(" ")[0]])
            else:
                return found


def test_they_are_those_that_grad_names_one_after_the_other() -> None:
    calls = wg.find_missing_rules(scattered, *ARGS)
    found = [f"{wg.explain_call(call.f).name} at {call.site.file}:{call.site.line}" for call in calls]
    assert found == one_by_one(scattered, *ARGS) and len(found) == 3


def test_each_says_how_often_and_has_a_stub_that_is_a_rule() -> None:
    found = wg.find_missing_rules(scattered, *ARGS)
    assert [call.times for call in found] == [3, 1, 1]
    assert all(wg.explain_call(call.f).kind == Kind.SEARCHED.value for call in found if call.f is not np.fft.rfft)
    names: dict[str, Any] = {"wg": wg, "np": np, "decimal": decimal}
    with wg.rules.scope():
        exec(found[0].stub.replace("...", "1.0"), names)
        assert decimal.Decimal in wg.rules
    assert found.stopped is None and not found.constant


def test_an_object_has_the_name_that_the_users_line_calls_it_by() -> None:
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    library.atan2.argtypes, library.atan2.restype = [ctypes.c_double, ctypes.c_double], ctypes.c_double
    sine, cosine = np.zeros(1), np.zeros(1)
    pointer = np.ctypeslib.ndpointer(float)
    library.sincos.argtypes, library.sincos.restype = [ctypes.c_double, pointer, pointer], None

    def f(x: float) -> Any:
        library.sincos(x, sine, cosine)
        return library.atan2(x, 2.0) + cosine[0]

    found = wg.find_missing_rules(f, 0.5, argnums=0)
    assert [call.name for call in found] == ["library.sincos", "library.atan2"]
    assert "library.atan2 at " in str(found) and "ctypes." not in str(found)
    assert wg.explain_call(library.atan2).name == "atan2"
    assert "def sincos_result(x1):" in found[0].stub  # it writes into two arrays
    rule = found[1].stub.replace("y_bar * ...", "y_bar * x2 / (x1**2 + x2**2)", 1).replace("y_bar * ...", "None")
    with wg.rules.scope():
        exec(rule, {"wg": wg, "np": np, "library": library})
        slope = wg.grad(lambda x: library.atan2(x, 2.0))(0.5)
    assert slope == pytest.approx(2.0 / (0.5**2 + 2.0**2), rel=1e-14)


def test_the_function_runs_once_to_its_end_on_its_own_numbers() -> None:
    seen = []

    def f(x):
        y = json.loads(json.dumps(list(x)))
        seen.append((y, float(np.sum(x))))
        return x[0] * y[1]

    x = np.array([1.0, 2.0])
    before = x.copy()
    assert len(wg.find_missing_rules(f, x)) == 1
    assert seen == [([1.0, 2.0], 3.0)] and (x == before).all()


def test_nothing_is_left_behind() -> None:
    args = np.ones(4), {"w": 2.5}
    code = scattered.__code__
    wg.find_missing_rules(scattered, *args)
    assert type(args[1]["w"]) is float and not SESSION.recordings and not SHADOW
    assert scattered.__code__ is code and STATE.recording is None
    with pytest.raises(wg.NoRuleError):
        wg.grad(scattered)(*args)


def test_what_gives_constants_is_told_apart() -> None:
    def f(x):
        return np.floor(x) * x + wg.stop_gradient(x) + np.zeros_like(x) + (x > 1)

    found = wg.find_missing_rules(f, np.array([1.5, 2.5]))
    assert not found and [call.f for call in found.constant] == [np.floor]
    assert "no derivative passes through these calls:\n  np.floor at " in str(found)


def test_it_says_where_it_could_not_go_on() -> None:
    def f(x):
        json.dumps(list(x))
        k = np.zeros(3, int)
        k[:2] = x
        decimal.Decimal(float(x[0]))
        return x[0]

    found = wg.find_missing_rules(f, np.ones(2))
    assert len(found) == 1 and isinstance(found.stopped, wg.RefusedCallError)
    first = f.__code__.co_firstlineno
    assert re.search(rf"the run stopped.*:\n  .*:{first + 3} in ", str(found))


def test_an_error_of_the_functions_own_comes_out() -> None:
    def f(x):
        json.dumps(x)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        wg.find_missing_rules(f, 1.0)
    assert not SESSION.recordings


class Model:
    def __init__(self) -> None:
        self.w = np.ones(3)

    def loss(self, x):
        return np.sum(np.abs(np.fft.fft(self.w))) * x


def test_the_arguments_are_those_that_grad_would_differentiate() -> None:
    assert [call.f for call in wg.find_missing_rules(Model().loss, 2.0)] == [np.fft.fft]
    assert not wg.find_missing_rules(Model().loss, 2.0, argnums=0)
    assert not wg.find_missing_rules(scattered, *ARGS, argnums=0).constant
    with pytest.raises(wg.ArgumentError, match="names 'z'"):
        wg.find_missing_rules(scattered, *ARGS, argnums="z")


def test_where_all_have_rules_it_says_so() -> None:
    found = wg.find_missing_rules(lambda x, scale: np.sum(x * scale), np.ones(2), scale=2.0)
    assert not found and found == () and str(found) == "no calls without a rule"


def test_shown_it_is_a_table_with_rules_to_paste(capsys: pytest.CaptureFixture[str]) -> None:
    wg.find_missing_rules(scattered, *ARGS).show()
    shown = capsys.readouterr().out
    assert "call" in shown and "np.fft.rfft" in shown and "@wg.rrule(np.fft.rfft)" in shown


def test_code_of_no_file_is_not_taken_for_a_librarys() -> None:
    """As in doctest and some notebooks, whose own code calls it."""
    names: dict[str, Any] = {"json": json}
    exec(compile("def f(x):\n    return json.dumps(x)", "<cell 1>", "exec"), names)
    assert wg.find_missing_rules(names["f"], 2.0)[0].f is json.dumps
    with pytest.raises(wg.NoRuleError, match=r"json\.dumps"):
        wg.grad(names["f"])(2.0)


def test_inside_a_trace_it_looks_at_its_own_function() -> None:
    counts = []

    def f(x):
        counts.append(len(wg.find_missing_rules(lambda y: json.dumps(y), 2.0)))
        return x * x

    assert wg.grad(f)(3.0) == 6.0 and counts == [1]
