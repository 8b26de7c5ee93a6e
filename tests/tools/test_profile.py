"""A profile: what is spent counts once, for the line and the primitive that it is spent on, and nothing is lost."""

from __future__ import annotations

import collections
import functools
import inspect
import json
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import wengert as wg
from wengert.api.gradient import measured_gradients
from wengert.api.profiling import Spent
from wengert.tools import lines
from wengert.tools.lines import is_user_file
from wengert.tools.meters import Seconds
from wengert.tools.timing import TimedEntries

X = np.linspace(0.1, 1.0, 8)
LARGE = np.ones(1_000_000)


def line_of(f: Callable[..., Any], after: int) -> int:
    return f.__code__.co_firstlineno + after


def found_at(profile: wg.Profile, number: int) -> Spent:
    return next(row for row in profile.lines if row.what and row.what[:2] == (__file__, number))


def slow(x):
    return x * 2.0


@pytest.fixture(autouse=True, scope="module")
def slow_rule() -> Any:
    with wg.rules.scope():

        @wg.rrule(slow)
        def slow_rule(x):
            def pullback(y_bar):
                time.sleep(0.15)
                return y_bar * 2.0

            return x * 2.0, pullback

        yield


def program(x):
    y = np.sin(x)
    time.sleep(0.15)
    z = slow(y)
    for k in range(3):
        z = z * y + k
    return np.sum(z)


@pytest.fixture(scope="module")
def profile(slow_rule: Any) -> wg.Profile:
    return wg.profile(program, X)


def test_the_line_that_is_known_to_take_the_time_is_said_to(profile: wg.Profile) -> None:
    asleep = found_at(profile, line_of(program, 2))
    assert asleep.forward >= 0.15 and asleep.plain >= 0.15 and asleep.reverse == 0
    assert max(profile.lines, key=lambda row: row.forward) == asleep
    back = found_at(profile, line_of(program, 3))
    assert back.reverse >= 0.15 and max(profile.lines, key=lambda row: row.reverse) == back
    assert max(profile.primitives, key=lambda row: row.reverse).what == "slow"
    assert profile.gradient >= 0.3 and profile.plain >= 0.15


def test_calls_are_counted_as_by_hand(profile: wg.Profile) -> None:
    calls = {row.what[1] - line_of(program, 0): (row.calls, row.steps) for row in profile.lines if row.calls}
    assert calls == {1: (1, 1), 3: (1, 1), 5: (6, 6), 6: (1, 1)}
    assert {row.what: row.calls for row in profile.primitives if row.calls} == {
        "np.sin": 1,
        "slow": 1,
        "mul": 3,
        "add": 3,
        "np.sum": 1,
    }


class Counting(Seconds):
    """A meter of which all laps are known."""

    total = 0.0

    def lap(self) -> float:
        self.total += 1.0
        return 1.0


def in_place(x):
    y = x.copy()
    for i in range(1, len(y)):
        y[i] += np.sin(y[i - 1])
    return np.sum(y * y)


def with_a_gradient_inside(x):
    return np.sum(wg.grad(lambda x: np.sum(np.tanh(x) * x))(x) ** 2)


def stretch(x):
    for _ in range(4):
        x = np.sin(x) * x
    return x


def with_a_checkpoint(x):
    return np.sum(wg.checkpoint(stretch)(x) * x)


def of_numbers(x):
    a = float(x[0])
    for _ in range(50):
        a = a * 0.9 + x[1]
    return a


def by_a_generator(x):
    return sum(np.sum(part * part) for part in (x[:3], x[3:]))


@pytest.mark.parametrize(
    "f", [in_place, with_a_gradient_inside, with_a_checkpoint, of_numbers, by_a_generator, program]
)
def test_nothing_is_lost_or_counted_twice_and_the_gradient_is_the_same(f: Any) -> None:
    meter, taken = Counting(), []
    laps = TimedEntries(meter).over(lambda begin: taken.append(measured_gradients(f, (X.copy(),), {}, None, begin)))
    assert sum(amount for amount, _ in laps.spent.values()) + laps.rest == meter.total
    value, (_, gradient) = taken[0]
    assert value == f(X)
    np.testing.assert_array_equal(gradient, wg.grad(f)(X))
    assert all(is_user_file(line[0]) for key in laps.spent for line in key.stack)
    assert sum(count for key, (_, count) in laps.spent.items() if key.back) > 3


def test_a_step_back_counts_for_the_line_of_its_call_and_stands_below_the_same_callers() -> None:
    found = wg.profile(with_a_gradient_inside, X)
    back = [row.what for row in found.rows if row.steps]
    assert back and {row.what for row in found.rows if row.calls} >= set(back)
    assert ((line_in(with_a_gradient_inside, 1),), "np.sum") in back


def line_in(f: Callable[..., Any], after: int) -> tuple[str, int, str]:
    return __file__, line_of(f, after), f.__qualname__


def test_what_a_checkpoint_runs_again_counts_for_its_lines() -> None:
    profile = wg.profile(with_a_checkpoint, X)
    row = found_at(profile, line_of(stretch, 2))
    assert row.calls == 8 and row.steps == 16  # of each, once more while it is walked back


def test_a_library_s_work_counts_for_the_line_that_called_it() -> None:
    def f(x):
        return np.var(x) + np.linalg.norm(x)

    profile = wg.profile(f, X)
    assert {row.what[0] for row in profile.lines if row.what} == {__file__}
    assert found_at(profile, line_of(f, 1)).calls > 2


def test_bytes_are_those_of_the_arrays_that_a_line_makes() -> None:
    def f(x):
        y = np.exp(x)
        return np.sum(y * y)

    profile = wg.profile(f, LARGE)
    exp, square = (found_at(profile, line_of(f, k)) for k in (1, 2))
    assert exp.forward_bytes == pytest.approx(8e6, rel=0.01)
    assert square.forward_bytes == pytest.approx(8e6, rel=0.01)
    assert exp.reverse_bytes == pytest.approx(8e6, rel=0.01)  # ȳ · y
    assert 16e6 <= square.reverse_bytes < 33e6  # a ȳ for each factor, and their sum


def test_arguments_that_are_written_stay_as_they_are() -> None:
    def f(x):
        x *= 2.0
        return np.sum(x * x)

    x = X.copy()
    wg.profile(f, x)
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("error", [ZeroDivisionError, wg.NonScalarOutputError])
def test_errors_come_out_and_nobody_is_followed_any_more(error: type[Exception]) -> None:
    def f(x):
        return x * (1 / 0) if error is ZeroDivisionError else x

    before = sys.gettrace()
    with pytest.raises(error):
        wg.profile(f, X)
    assert sys.gettrace() is before
    with pytest.raises(error):
        TimedEntries(Seconds()).over(lambda begin: measured_gradients(f, (X,), {}, None, begin))
    assert sys.gettrace() is before
    np.testing.assert_array_equal(wg.grad(np.sum)(X), np.ones(8))


def test_a_function_of_c_and_keywords() -> None:
    profile = wg.profile(np.sum, X)
    assert profile.primitives[0].what == "np.sum" or {row.what for row in profile.primitives} >= {"np.sum"}
    assert wg.profile(lambda x, k: np.sum(x) * k, X, k=2.0, argnums=0).rows


@pytest.mark.parametrize("width", [80, 120, 200])
def test_it_is_printed_beside_the_source(profile: wg.Profile, width: int) -> None:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(profile)
    text = capture.get()
    assert "time.sleep" in text and "slow" in text and "█" in text and "▓" in text
    assert all(len(line) <= width for line in text.splitlines())
    asleep = next(line for line in text.splitlines() if "time.sleep" in line)
    assert asleep.split()[0] == str(line_of(program, 2)) and " ms" in asleep


def test_speedscope_gets_stacks_that_sum_to_what_was_measured(profile: wg.Profile, tmp_path: Path) -> None:
    told = json.loads(profile.speedscope(tmp_path / "p.json").read_text())
    frames, (times, sizes) = told["shared"]["frames"], told["profiles"]
    assert told["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    for its in (times, sizes):
        assert its["type"] == "sampled" and len(its["samples"]) == len(its["weights"])
        assert its["endValue"] == pytest.approx(sum(its["weights"]))
        assert all(0 <= k < len(frames) for sample in its["samples"] for k in sample)
    assert times["endValue"] == pytest.approx(sum(row.seconds for row in profile.lines))
    assert times["unit"] == "seconds" and sizes["unit"] == "bytes"
    names = [frame["name"] for frame in frames]
    assert len(set(map(str, frames))) == len(frames) and {"forward", "reverse", "Python", "np.sin"} <= set(names)


FRAME = {"name": str, "file": str, "line": (int, float), "col": (int, float)}
SAMPLED = {
    "type": str,
    "name": str,
    "unit": str,
    "startValue": (int, float),
    "endValue": (int, float),
    "samples": list,
    "weights": list,
}


def test_speedscope_s_schema_is_kept(profile: wg.Profile, tmp_path: Path) -> None:
    """The rules of https://www.speedscope.app/file-format-schema.json for a file with sampled profiles.

    What is no rule there and its importer asks for: as many weights as samples, indices of frames that are there.
    """
    nothing = wg.Profile("nothing", 0.0, 0.0, 0.0, [])
    for found in (profile, nothing):
        text = found.speedscope(tmp_path / "p.json").read_text(encoding="utf-8")
        told = json.loads(text, parse_constant=pytest.fail)  # JSON has no NaN
        assert {"$schema", "profiles", "shared"} <= set(told)
        assert told["$schema"] == "https://www.speedscope.app/file-format-schema.json"
        assert isinstance(told["name"], str) and isinstance(told["exporter"], str)
        assert told["activeProfileIndex"] in range(len(told["profiles"]))
        for frame in told["shared"]["frames"]:
            assert "name" in frame and all(isinstance(value, FRAME[key]) for key, value in frame.items())
        for its in told["profiles"]:
            assert set(its) == set(SAMPLED) and all(isinstance(its[key], kind) for key, kind in SAMPLED.items())
            assert its["type"] == "sampled" and its["unit"] in ("seconds", "bytes")
            assert its["endValue"] >= its["startValue"] and len(its["samples"]) == len(its["weights"])
            assert all(type(weight) in (int, float) and weight > 0 for weight in its["weights"])
            assert {k for sample in its["samples"] for k in sample} <= set(range(len(told["shared"]["frames"])))


def by_calls(x):
    def doubled(y):
        time.sleep(0.03)
        return y * 2.0

    def parts():
        for k in range(2):
            time.sleep(0.03)
            yield x * k

    def failing():
        time.sleep(0.03)
        raise KeyError

    try:
        failing()
    except KeyError:
        time.sleep(0.03)
    thread = threading.Thread(target=lambda: [sum(range(9)) for _ in range(9)])
    thread.start()
    thread.join()
    time.sleep(0.03)
    total = sum(np.sum(part) for part in parts())
    return total + np.sum(doubled(doubled(x)))


def rested(x):
    y = np.sin(x)
    time.sleep(0.03)
    return y * y


def of_a_rested_checkpoint(x):
    return np.sum(wg.checkpoint(rested)(x))


def descending(x, n=2):
    time.sleep(0.03)
    return descending(x * 2.0, n - 1) if n else np.sum(x)


class Model:
    """What has a method with a decorator."""

    @functools.cache  # noqa: B019
    def size(self):
        return 2.0

    def loss(self, x):
        time.sleep(0.03)
        return np.sum(x * self.size())


@pytest.mark.parametrize("tools", ["free", "taken"])
@pytest.mark.parametrize(
    ("f", "naps"),
    [
        (by_calls, {2: 2, 7: 2, 11: 1, 17: 1, 21: 1}),
        (descending, {1: 3}),
        (Model().loss, {1: 1}),
        (wg.compile(descending), {1: 3}),
    ],
)
def test_each_nap_counts_for_its_own_line(f: Any, naps: dict[int, int], tools: str, monkeypatch: Any) -> None:
    """Through calls, generators, exceptions, threads, recursion, methods and compiled functions."""
    if tools == "taken":
        monkeypatch.setattr(lines, "MONITORING_IDS", ())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wg.NotCompiledWarning)
        found = wg.profile(f, X)
    first = inspect.unwrap(getattr(f, "__func__", f)).__code__.co_firstlineno
    for name in ("plain", "forward"):
        told = {row.what[1] - first: getattr(row, name) for row in found.lines if row.what}
        assert all(0.03 * count <= told[after] for after, count in naps.items())
        asleep = 0.03 * sum(naps.values())
        assert sum(told.values()) < asleep + 0.5 * found.gradient + 1.0  # and for no other one, too


def test_what_a_checkpoint_waits_for_again_counts_for_the_line_that_waits() -> None:
    row = found_at(wg.profile(of_a_rested_checkpoint, X), line_of(rested, 2))
    assert row.forward >= 0.03 and row.reverse >= 0.03


def test_a_line_has_one_row_whatever_code_objects_it_has() -> None:
    def f(x):
        parts = [np.sin(part) for part in x]
        a = lambda y: y * 2.0
        b = lambda y: y * 3.0
        total = a(b(sum(parts)))
        return total

    rows = [row.what for row in wg.profile(f, X).lines if row.what]
    assert len({what[:2] for what in rows}) == len(rows)
    assert {what[2] for what in rows} == {f.__qualname__}


def test_code_of_no_file_counts_where_no_file_led_to_it() -> None:
    space: dict[str, Any] = {"np": np}
    exec(compile("def f(x):\n    return np.sum(x * x)\n", "<string>", "exec"), space)
    assert ("<string>", 2, "f") in [row.what for row in wg.profile(space["f"], X).lines]
    point = collections.namedtuple("point", "x y")
    found = wg.profile(lambda x: np.sum(point(x, x).y), X)
    assert {row.what[0] for row in found.lines if row.what} == {__file__}, found.rows


def test_the_page_has_what_was_measured_and_the_tape(profile: wg.Profile, tmp_path: Path) -> None:
    text = profile.html(tmp_path / "p.html", wg.gradtape(program, X)).read_text(encoding="utf-8")
    data = json.loads(text.split('type="application/json">')[1].split("</script>")[0])
    spent = {data["lines"][row["line"]][1]: row["forward"] for row in data["profile"]["lines"] if row["line"] >= 0}
    assert spent == {row.what[1]: row.forward for row in profile.lines if row.what}
    assert len(data["tape"]["id"]) > 20


@pytest.mark.parametrize("measure", [wg.profile, wg.memory])
def test_inside_a_trace_nothing_is_measured(measure: Any) -> None:
    with pytest.raises(wg.WengertError, match="measure it outside"):
        wg.grad(lambda x: np.sum(x) + 0.0 * len(measure(np.sum, np.ones(3)).lines))(X)
    np.testing.assert_array_equal(wg.grad(np.sum)(X), np.ones(8))
