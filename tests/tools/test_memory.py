"""What a gradient holds: as much as tracemalloc says, and made by the lines that are known to have made it."""

from __future__ import annotations

import dataclasses
import gc
import json
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.api.memory_profile import HeldMemory
from wengert.tools import lines

MB = 1_000_000
X = np.ones(MB // 8)  # of one megabyte


def plain_peak(f: Callable[..., Any], *args: Any) -> int:
    """What tracemalloc says of a gradient that nobody follows."""
    wg.grad(f, *args)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        wg.grad(f, *args)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def held_by(found: wg.MemoryUse, f: Callable[..., Any], after: int) -> dict[str, HeldMemory]:
    """What a line has made, by kind."""
    number = f.__code__.co_firstlineno + after
    return {row.kind: row for row in found.lines if row.line is not None and row.line[1] == number}


def chain(x):
    for _ in range(10):
        x = np.sin(x)
    return np.sum(x)


def stretch(x):
    for _ in range(5):
        x = np.sin(x) * x
    return x


def checkpointed(x):
    for _ in range(6):
        x = wg.checkpoint(stretch)(x)
    return np.sum(x)


def overwritten(x):
    y = x.copy()
    for k in range(4):
        z = np.exp(y)
        y[:] = z * 0.1
    return np.sum(y)


def untraced(x):
    noise = np.random.default_rng(0).normal(size=x.shape)
    return np.sum(x * noise * x)


def of_views(x):
    rows = x.reshape(5, -1)
    return sum(np.sum(np.exp(row)) for row in rows)


def orbit(x):
    for _ in range(2500):
        x = x + 0.01 * np.sin(x)
    return x


@pytest.mark.parametrize("f", [chain, checkpointed, overwritten, untraced, of_views])
def test_the_peak_and_what_is_followed_are_what_tracemalloc_says(f: Any) -> None:
    """Two measures: what was followed array by array, and the memory of the process."""
    for _ in range(25):
        wg.grad(f, X)  # after a hundred uses a step back is another function
    found, peak = wg.memory(f, X), plain_peak(f, X)
    assert found.peak == pytest.approx(peak, rel=0.01)
    assert found.total.max() == pytest.approx(peak, rel=0.02)
    assert sum(row.nbytes for row in found.lines) == pytest.approx(found.peak, rel=0.01)


def test_a_loop_of_numbers_holds_what_is_written_down_of_it() -> None:
    found, peak = wg.memory(orbit, 1.0), plain_peak(orbit, 1.0)
    assert found.peak == pytest.approx(peak, rel=0.05)
    row = held_by(found, orbit, 2)["recording"]
    assert 0.65 * peak < row.nbytes < peak
    assert row.pieces == pytest.approx(7500, rel=0.1)
    assert sum(row.nbytes for row in found.lines) == found.peak  # numbers that calls share count once


def test_residuals_count_for_the_line_that_made_them() -> None:
    """Each sine's pullback reads its argument, of one megabyte: nine are kept, and the sum's argument is not."""
    found = wg.memory(chain, X)
    assert held_by(found, chain, 2)["array"].nbytes == pytest.approx(9 * MB, abs=MB)
    assert found.held.max() == pytest.approx(10 * MB, abs=1.1 * MB)
    assert np.all(found.held >= 0) and found.held[-1] < 2.1 * MB
    assert 0 < found.turned < len(found.total)


def test_what_a_checkpoint_saves_is_seen() -> None:
    def bare(x):
        for _ in range(6):
            x = stretch(x)
        return np.sum(x)

    assert wg.memory(checkpointed, X).peak < 0.5 * wg.memory(bare, X).peak


def test_what_was_saved_before_a_write_is_seen() -> None:
    """Each product's pullback reads y as it was, before four writes; the last is put back before most is held."""

    def squares(x):
        y = x.copy()
        total = 0.0
        for _ in range(4):
            total = total + np.sum(y * y)
            y *= 0.5
        return total

    saved = held_by(wg.memory(squares, X), squares, 5)["saved before a write"]
    assert saved.nbytes == MB * saved.pieces and saved.pieces in (3, 4)


def test_what_one_step_takes_for_itself_is_at_work_in_its_line() -> None:
    def f(x):
        return np.sum(np.linalg.inv(x))

    (row,) = (row for row in wg.memory(f, np.eye(300)).lines if row.kind == "at work")
    assert row.line is not None and row.line[1] == f.__code__.co_firstlineno + 1
    assert row.nbytes >= 2 * 300 * 300 * 8


def test_arguments_count_for_nothing_and_stay_as_they_are() -> None:
    def f(x):
        x *= 2.0
        return np.sum(x)

    x = X.copy()
    found = wg.memory(f, x)
    np.testing.assert_array_equal(x, X)
    assert found.peak < 2.2 * MB


def test_the_memory_that_was_traced_before_goes_on_being_traced() -> None:
    tracemalloc.start()
    try:
        wg.memory(chain, X)
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()
    wg.memory(chain, X)
    assert not tracemalloc.is_tracing()


def test_where_too_few_frames_are_traced_no_line_is_told() -> None:
    """What is not known is not named another thing; with enough of them it is."""
    for frames, kind in ((1, "too deep"), (64, "array")):
        tracemalloc.start(frames)
        try:
            rows = {row.kind: row for row in wg.memory(chain, X).lines}
        finally:
            tracemalloc.stop()
        assert 8.9 * MB < rows[kind].nbytes < 10.1 * MB  # of the residuals, and of one cotangent
        assert (rows[kind].line is None) == (frames == 1)
    assert "too deep" not in rows


@pytest.mark.parametrize("run", [1, 2, 3])
def test_an_error_leaves_nothing_behind(run: int) -> None:
    """In the run that loads, the one that counts and the one that looks; then it is measured as ever."""
    runs = []

    def f(x):
        runs.append(1)
        return np.sum(x) if len(runs) != run else x

    def state():
        tools = [sys.monitoring.get_tool(k) for k in lines.MONITORING_IDS] if lines.monitoring else []
        return sys.gettrace(), tools, tracemalloc.is_tracing(), gc.isenabled()

    before = state()
    with pytest.raises(wg.NonScalarOutputError):
        wg.memory(f, X)
    assert len(runs) == run and state() == before
    assert wg.memory(f, X).peak < 2.2 * MB


@pytest.mark.parametrize("sizes", [(1, 8, 1), (1, 1, 8), (1, 8, 0)])
def test_a_function_that_does_something_else_each_time_has_rows_of_one_peak(sizes: tuple[int, ...]) -> None:
    left = [*sizes]

    def f(x):
        size = left.pop(0)
        if not size:
            return np.sum(x)
        kept = np.ones(size * MB // 8)
        return np.sum(x * x) * kept[0]

    found = wg.memory(f, X)
    assert sum(row.nbytes for row in found.lines) == found.peak >= sizes[1] * MB  # of the run that counted
    assert all(row.nbytes >= 0 for row in found.lines)


@pytest.mark.filterwarnings("ignore::wengert.NoPathWarning")
def test_a_function_of_which_nothing_is_recorded() -> None:
    found = wg.memory(lambda: 3.0)
    assert len(found.held) == len(found.total) == found.turned + 1
    number, name = (found.at, "forward") if found.at < found.turned else (found.at - found.turned, "reverse")
    assert f"in the {name} pass, at moment {number + 1} of " in str(found)


def test_the_moment_of_the_peak_is_told_in_its_pass() -> None:
    def f(x):
        return np.sum(np.exp(np.linalg.inv(x)))

    found = wg.memory(f, np.eye(200))
    back = len(found.total) - found.turned
    assert found.at >= found.turned
    assert f"in the reverse pass, at moment {found.at - found.turned + 1} of {back}" in str(found).splitlines()[0]


def test_gradients_inside_are_the_function_s() -> None:
    def f(x):
        return np.sum(wg.grad(lambda x: np.sum(np.tanh(x)))(x) ** 2)

    found = wg.memory(f, X)
    assert found.peak == pytest.approx(plain_peak(f, X), rel=0.02)
    assert found.total.max() > 0.9 * found.peak


@pytest.mark.parametrize("width", [80, 140])
def test_it_is_printed_beside_the_source(width: int) -> None:
    from rich.console import Console

    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(wg.memory(chain, X))
    first, *lines = capture.get().splitlines()
    assert "chain: " in first and "MB at the most" in first
    row = next(line for line in lines if "x = np.sin(x)" in line and "array" in line)
    assert f"test_memory.py:{chain.__code__.co_firstlineno + 2}" in row and "█" in row


def test_the_page_has_the_curves(tmp_path: Path) -> None:
    found = wg.memory(orbit, 1.0)
    text = found.html(tmp_path / "m.html").read_text(encoding="utf-8")
    told = json.loads(text.split('type="application/json">')[1].split("</script>")[0])["memory"]
    assert max(told["held"]) == found.held.max() and max(told["total"]) == found.total.max()
    assert len(told["held"]) == len(told["total"]) < 4001 and told["moments"] == len(found.held)
    assert sum(row["bytes"] for row in told["lines"]) == sum(row.nbytes for row in found.lines)


def bytes_of(found: wg.MemoryUse, f: Callable[..., Any], after: int) -> int:
    """All that a line has made."""
    return sum(row.nbytes for row in held_by(found, f, after).values())


def of_untraced_numpy(x):
    table = np.arange(MB).reshape(8, -1)  # of eight megabytes: no recorded call makes it, or is given it
    scale = float(table[0, 1])
    return np.sum(x * scale) * (table.size / MB)


def of_a_list(x):
    texts = [str(k) * 300 for k in range(1000, 2000)]  # 1200 bytes each
    total = np.sum(x[:10])
    return total * len(texts)


def of_a_c_function(x):
    buffer = bytearray(8 * MB)
    return np.sum(x[:10]) * len(buffer)


def of_a_line_without_calls(x):
    y = x * 2.0
    np.empty(MB).fill(0.0)  # eight megabytes, gone when the line ends
    return np.sum(y)


def of_a_library(x):
    table = np.tile(np.ones(1000), 1000)  # eight megabytes
    more = np.ones(2 * MB // 8)
    return np.sum(x[:10]) * table[0] * more[0]


@pytest.mark.parametrize(
    ("f", "after", "kind", "nbytes"),
    [
        (of_untraced_numpy, 1, "array", 8 * MB),
        (of_a_list, 1, "object", 1000 * 1250),
        (of_a_c_function, 1, "object", 8 * MB),
        (of_a_line_without_calls, 2, "at work", 8 * MB),
        (of_a_library, 1, "array", 8 * MB),
    ],
)
def test_memory_that_no_recorded_call_made_counts_for_the_line_that_did(
    f: Any, after: int, kind: str, nbytes: int
) -> None:
    wg.grad(f)(X)  # what the engine imports at the first string, say, is not the line's
    found = wg.memory(f, X)
    assert held_by(found, f, after)[kind].nbytes == pytest.approx(nbytes, rel=0.05)
    assert found.peak == pytest.approx(plain_peak(f, X), rel=0.02)


def of_a_comprehension(x):
    parts = [
        np.exp(part)
        for part in x.reshape(5, -1)
    ]  # fmt: skip
    return sum([np.sum(part * part) for part in parts])


def recursive(x, n):
    y = np.sin(x)
    return recursive(y, n - 1) if n else np.sum(y)


@pytest.mark.parametrize("f", [checkpointed, overwritten, of_a_comprehension, lambda x: recursive(x, 6), of_a_list])
def test_a_line_has_one_row_of_a_kind_and_the_rows_are_the_peak(f: Any) -> None:
    found = wg.memory(f, X)
    assert sum(row.nbytes for row in found.lines) == found.peak
    assert all(row.nbytes >= 0 and row.pieces >= 0 for row in found.lines)
    keys = [(row.line and row.line[:2], row.kind) for row in found.lines]
    assert len(set(keys)) == len(keys)


def test_code_of_no_file_counts() -> None:
    """A text that is run, and a cell of a notebook."""
    for name in ("<string>", "<ipython-input-3-f00>"):
        space: dict[str, Any] = {"np": np}
        exec(compile("def f(x):\n    y = np.exp(x)\n    return np.sum(y * y)\n", name, "exec"), space)
        rows = {(row.line[:2], row.kind): row.nbytes for row in wg.memory(space["f"], X).lines if row.line}
        assert rows[(name, 2), "array"] == pytest.approx(MB, rel=0.01)


@dataclasses.dataclass
class Pair:
    """What is made by code of no file."""

    values: Any
    double: Any = dataclasses.field(default_factory=lambda: np.ones(MB // 8))


def test_what_a_library_makes_of_a_text_counts_for_the_line_that_calls_it() -> None:
    def f(x):
        pair = Pair(np.exp(x))
        return np.sum(pair.values * pair.double)

    files = {row.line[0] for row in wg.memory(f, X).lines if row.line}
    assert files == {__file__}


def test_an_exception_a_thread_and_a_generator_do_not_confuse_the_lines() -> None:
    def failing():
        raise ZeroDivisionError

    def parts(x):
        for k in range(3):
            yield np.exp(x * k)

    def f(x):
        with pytest.raises(ZeroDivisionError):
            failing()
        thread = threading.Thread(target=lambda: [None for _ in range(100)])
        thread.start()
        thread.join()
        kept = list(parts(x))
        return np.sum(kept[0] * kept[1] * kept[2])

    found = wg.memory(f, X)
    assert held_by(found, parts, 2)["array"].nbytes == pytest.approx(3 * MB, rel=0.4)
    assert bytes_of(found, failing, 1) < 10_000


def test_numbers_of_bytes_and_seconds_have_three_digits() -> None:
    from wengert.tools.tables import bytes_text, seconds_text

    assert [bytes_text(n) for n in (999, 1000, 999_400, 999_700, 8_000_000, 1e9, 2.5e12)] == [
        "", "1 kB", "999 kB", "1 MB", "8 MB", "1 GB", "2.5 TB",
    ]  # fmt: skip
    assert [seconds_text(t) for t in (0.0, 2e-7, 0.9997e-3, 0.25, 0.99971, 4000.0)] == [
        "", "0.2 µs", "1 ms", "250 ms", "1 s", "4000 s",
    ]  # fmt: skip
