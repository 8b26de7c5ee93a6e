"""The generated steps on real arrays against the general step, bit for bit, on every sample that may take them."""

from __future__ import annotations

import itertools
import threading
from functools import cache
from typing import Any

import numpy as np
import pytest
from samples import BY_FUNCTION, Sample

import wengert as wg
from wengert.extend import rules
from wengert.recording.primitives import Bound, primitive_of
from wengert.reverse import walk
from wengert.reverse.accumulators import Cotangents
from wengert.rulebook.array_steps import array_step
from wengert.rulebook.rule_variants import RuleBody
from wengert.rulebook.steps import scalar_step
from wengert.rulebook.syntax import DERIVING
from wengert.values.specs import is_inexact


def may_be_simple(name: str) -> bool:
    rule = rules[BY_FUNCTION[name][0].f]
    return rule.kind in ("partials", "pullback") and rule.sequence is None


def forms(sample: Sample) -> list[Bound]:
    """The simple forms of a call: each set of its inexact arguments may be wanted."""
    primitive = primitive_of(sample.f)
    assert primitive is not None
    if sample.kwargs or not is_inexact(sample.f(*sample.args)):
        return []
    choices = [(True, False) if is_inexact(a) else (False,) for a in sample.args]
    masks = [mask for mask in itertools.product(*choices) if any(mask)]
    bounds = [primitive.bound(len(mask), mask, ()) for mask in masks]
    return [bound for bound in bounds if bound.is_simple]


def stepped(step: Any, bound: Bound, sample: Sample, before: list[Any]) -> list[Any]:
    y = sample.f(*sample.args)
    ins = tuple(k if want else None for k, want in enumerate(bound.wanted))
    bars = Cotangents(len(ins))
    bars.table[:] = before
    y_bar = np.ones_like(y) * 0.7 if isinstance(y, np.ndarray) else type(y)(0.7)
    with np.errstate(all="ignore"):
        step(bars, bars.table, y_bar, (bound, y, ins, sample.args, None, None))
    return bars.table


FUNCTIONS = list(filter(may_be_simple, BY_FUNCTION))


@cache
def cases(name: str) -> list[tuple[Sample, Bound]]:
    return [(sample, bound) for sample in BY_FUNCTION[name] for bound in forms(sample)]


@cache
def generated(bound: Bound) -> Any:
    fit = walk._fit if bound.rule.broadcasts else walk._fit_whole
    assert bound.rule.analysis is not None
    reads_y = bound.reads_y == "value"
    return array_step(bound.rule.analysis, bound.wanted, reads_y, bound.above, walk._simple_step, fit)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_generated_step_is_the_general_one(name: str) -> None:
    if not cases(name):
        pytest.skip("no simple form of call")
    for sample, bound in cases(name):
        step = generated(bound)
        nothing = [None] * len(bound.wanted)
        something = [np.ones_like(a) if is_inexact(a) else None for a in sample.args[: len(nothing)]]
        for before in (nothing, something):
            expected = stepped(walk._simple_step, bound, sample, list(before))
            for ours, theirs in zip(stepped(step, bound, sample, list(before)), expected, strict=True):
                assert type(ours) is type(theirs), sample
                np.testing.assert_array_equal(ours, theirs, err_msg=str(sample))


def test_most_forms_get_a_step_of_their_own() -> None:
    bounds = {bound for name in FUNCTIONS for _, bound in cases(name)}
    fallen_back = {bound for bound in bounds if generated(bound) is walk._simple_step}
    assert 0 < len(bounds) and len(fallen_back) < len(bounds) / 4


def rebinding(y: Any, x: Any) -> Any:
    x = 2 * x
    return x


def test_a_body_that_rebinds_its_parameters_keeps_the_general_step() -> None:
    slow = lambda *args: None
    assert array_step(RuleBody(rebinding, "partials"), (True,), False, None, slow, walk._fit) is slow


def weighted(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    return x * x * w


def test_a_form_of_call_gets_its_step_after_some_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "WARM_USES", 2)
    x, w = np.linspace(0.1, 1, 6).reshape(2, 3), np.linspace(1, 2, 3)
    with wg.rules.scope():

        @wg.vjp_rule(weighted, broadcasts=True)
        def weighted_(y_bar: Any, y: Any, x: Any, w: Any) -> Any:
            return 2 * x * w * y_bar, x * x * y_bar

        gradient = wg.grad(lambda x, w: np.sum(weighted(x, w)), argnums=(0, 1))
        bound = primitive_of(weighted).bound(2, (True, True), ())  # type: ignore[union-attr]
        rounds = [(gradient(x, w), bound.array_step) for _ in range(4)]
    assert [step is None for _, step in rounds] == [True, False, False, False]
    for (x_bar, w_bar), _ in rounds:
        np.testing.assert_array_equal(x_bar, 2 * x * w)
        np.testing.assert_array_equal(w_bar, np.sum(x * x, axis=0))


@pytest.mark.parametrize(
    "derive",
    [
        lambda body: body.variant((True, True)),
        lambda body: scalar_step(body, (True, True)),
        lambda body: array_step(body, (True, True), False, None, walk._simple_step, walk._fit),
    ],
    ids=["variant", "scalar step", "array step"],
)
def test_one_thread_at_a_time_reads_a_body(derive: Any) -> None:
    """CPython 3.11 raises SystemError where two threads are in `ast.parse`."""
    body = rules[np.multiply].analysis
    thread = threading.Thread(target=derive, args=(body,))
    with DERIVING:
        thread.start()
        thread.join(0.2)
        assert thread.is_alive()
    thread.join()
