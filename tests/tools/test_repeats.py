"""The repeats that a page folds: every iteration equal, loops in loops, and nothing that does not repeat."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.api.tape_page import page_data
from wengert.tools.repeats import Repeat, repeats


def iterations(found: Iterable[Repeat], steps: Sequence[Any]) -> Iterator[list[Sequence[Any]]]:
    """The iterations of each repeat, as the steps in them; those of inner repeats for each iteration around them."""
    for repeat in found:
        starts = [repeat.first + k * repeat.period for k in range(repeat.times)]
        parts = [steps[start : start + repeat.period] for start in starts]
        yield parts
        for part in parts:
            yield from iterations(repeat.inner, part)


def test_a_run_is_found_with_its_period() -> None:
    assert repeats("a" + "bcd" * 5 + "e") == (Repeat(1, 3, 5),)


def test_a_loop_in_a_loop_is_a_repeat_in_a_repeat() -> None:
    assert repeats("<" + ("x" + "ab" * 10 + "y") * 6 + ">") == (Repeat(1, 22, 6, (Repeat(1, 2, 10),)),)
    assert repeats(("ab" * 10 + "y") * 6) == (Repeat(0, 21, 6, (Repeat(0, 2, 10),)),)


@pytest.mark.parametrize("steps", ["", "a", "abcdefgh", "abab", "abcabcabc", "aaaa"])
def test_what_repeats_little_is_no_repeat(steps: str) -> None:
    assert repeats(steps) == ()


@pytest.mark.parametrize("seed", range(20))
def test_iterations_are_equal_in_whatever_is_drawn(seed: int) -> None:
    draw = random.Random(seed)
    steps = "".join("".join(draw.choices("abc", k=draw.randrange(1, 4))) * draw.randrange(1, 9) for _ in range(30))
    for parts in iterations(repeats(steps), steps):
        assert len(parts) >= 4 and len(set(parts)) == 1 and parts[0]


@pytest.mark.parametrize(
    "steps",
    [[*range(5000)] * 3, random.Random(1).choices(range(4), k=10_000), [k // 2 for k in range(10_000)]],
    ids=["three long ones", "noise", "pairs"],
)
def test_ten_thousand_steps_take_little_time(steps: list[int]) -> None:
    start = time.perf_counter()
    repeats(steps)
    assert time.perf_counter() - start < 5


def orbit(x: Any, v: Any) -> Any:
    for _ in range(50):
        v = v - 0.1 * np.sin(x)
        x = x + 0.1 * v
    return x * x


def filled(x: Any) -> Any:
    y = x.copy()
    for i in range(1, 30):
        y[i] += np.sin(y[i - 1])
    return np.sum(y)


def test_the_loop_of_a_trace_is_folded() -> None:
    _, tape = wg.trace(orbit, 1.0, 0.0)
    columns = page_data(tape)["tape"]
    (repeat,) = columns["folds"]
    body = len(list(tape.calls)) - 1  # all but the product
    assert repeat.times == 50 and repeat.times * repeat.period == body


def test_a_counter_is_no_difference() -> None:
    (repeat,) = page_data(wg.trace(filled, np.ones(30))[1])["tape"]["folds"]
    assert repeat.times == 29


def test_both_passes_of_a_gradient_are_folded() -> None:
    columns = page_data(wg.gradtape(orbit, 1.0, 0.0))["tape"]
    assert [repeat.times for repeat in columns["folds"]] == [50, 49]


def test_the_body_of_a_rolled_loop_has_a_group_and_carries_its_values() -> None:
    tape = wg.trace(orbit, 1.0, 0.0)[1].rolled()
    data = page_data(tape)
    columns = data["tape"]
    ((op, group),) = columns["bodies"]
    assert "= loop of" in columns["text"][op] and data["groups"][group][1].endswith("loop × 49")
    carried = [(columns["id"][a], columns["text"][b]) for a, b in columns["carried"]]
    assert len(carried) == 2 and all(text.endswith(f"then {name}") for name, text in carried)
    assert {columns["depth"][b] for _, b in columns["carried"]} == {1}
