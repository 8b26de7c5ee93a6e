"""Pushforwards of all sampled calls: the dot test against the pullbacks, which are tested against numbers."""

from __future__ import annotations

import operator
import statistics
from typing import Any

import numpy as np
import pytest
from samples import BY_FUNCTION, Sample
from sampling import call, naming, values

import wengert as wg
from wengert.extend import setitem
from wengert.rulebook.pushforwards import push
from wengert.values.projection import plainly, project
from wengert.values.specs import is_inexact, light, spec_of

RULED = {name: s for name, s in BY_FUNCTION.items() if wg.rules[s[0].f].kind in ("partials", "pullback")}
GROUPS = [
    *[pytest.param(samples[:1], id=name) for name, samples in RULED.items()],
    *[pytest.param(s[1:], id=f"{name}-more") for name, s in RULED.items() if s[1:]],
]
"""The first sample of each function, and all others of it."""


def random_like(x: Any, random: np.random.Generator) -> Any:
    """Random numbers in the form of `x`, and None for what has no derivative."""
    if isinstance(x, tuple):
        return tuple([random_like(part, random) for part in x])
    if isinstance(x, list):
        return [random_like(part, random) for part in x] if any(leaves(x)) else None
    if isinstance(x, dict):
        return {key: random_like(part, random) for key, part in x.items()}
    if not is_inexact(x):
        return None
    made = random.uniform(-1, 1, np.shape(x)) + 1j * random.uniform(-1, 1, np.shape(x))
    return project(made, spec_of(x), False)


def inner(a: Any, b: Any) -> float:
    """Re⟨a, b⟩ over all parts."""
    if a is None or b is None:
        return 0.0
    if isinstance(a, (list, tuple)):
        return sum(map(inner, a, b))
    if isinstance(a, dict):
        return sum(inner(a[key], b[key]) for key in a)
    return float(np.sum(np.real(np.conj(a) * b)))


def as_recorded(argument: Any) -> Any:
    """A list of numbers as the array that NumPy makes of it; a trace records it so."""
    is_list = isinstance(argument, list) and all(map(is_inexact, argument))
    return np.array(argument) if is_list and {np.shape(x) for x in argument} in ({()}, {(3,)}) else argument


def directions(sample: Sample, random: np.random.Generator) -> tuple[Any, tuple[Any, ...], dict[str, Any], Any]:
    """The rule of a call, its arguments as an entry has them, and a tangent for each."""
    rule = wg.rules[sample.f]
    given = [a if k == rule.sequence else as_recorded(a) for k, a in enumerate(sample.args)]
    args, kwargs = rule.normalise(tuple(given), sample.kwargs)
    count = len(rule.plan(len(rule.splat(args)), tuple(kwargs)).positions)
    held = sample.f is wg.extend.getfield
    dots = [random_like(a, random) if k == rule.sequence or held or is_inexact(a) else None for k, a in enumerate(args)]
    return rule, args, kwargs, tuple([dot if k < count else None for k, dot in enumerate(dots)])


def the_dot_test(sample: Sample) -> None:
    random = np.random.default_rng(1)
    rule, args, kwargs, dots = directions(sample, random)
    y, pullback = wg.rrule(sample.f, *args, **kwargs)
    y_bar = random_like(y, random)
    if y_bar is None:
        assert push(plainly, sample.f, rule, y, args, kwargs, dots) is None
        return
    bars = pullback(y_bar if not isinstance(y, tuple) else tuple(0.0 if bar is None else bar for bar in y_bar))
    y_dot = push(plainly, sample.f, rule, y, args, kwargs, dots)
    left, right = inner(dots, bars), inner(y_bar, y_dot)
    eps = max([float(np.finfo(np.asarray(x).dtype).eps) for x in leaves((args, y), True)])
    assert left == pytest.approx(right, rel=1e3 * eps, abs=1e3 * eps)


def leaves(x: Any, as_is: bool = False) -> Any:
    """The numbers and arrays in a structure, or True for each."""
    if isinstance(x, (list, tuple)):
        for part in x:
            yield from leaves(part, as_is)
    elif isinstance(x, dict):
        yield from leaves(tuple(x.values()), as_is)
    elif is_inexact(x):
        yield x if as_is else True


def row(x: Any, k: int) -> Any:
    """The tangents of direction `k`."""
    if isinstance(x, (tuple, list)):
        return type(x)([row(part, k) for part in x])
    if isinstance(x, dict):
        return {key: row(part, k) for key, part in x.items()}
    return None if x is None else x[k]


def stack_of(rows: list[Any]) -> Any:
    """The inverse of `row`."""
    first = rows[0]
    if isinstance(first, (tuple, list)):
        return type(first)([stack_of(list(parts)) for parts in zip(*rows, strict=True)])
    if isinstance(first, dict):
        return {key: stack_of([part[key] for part in rows]) for key in first}
    return None if first is None else np.stack(rows)


def several_directions_are_as_one_by_one(sample: Sample) -> None:
    random = np.random.default_rng(1)
    parts = [directions(sample, random) for _ in range(3)]
    rule, args, kwargs, _ = parts[0]
    rows = [dots for *_, dots in parts]
    y = sample.f(*args, **kwargs)
    expected = [push(plainly, sample.f, rule, y, args, kwargs, dots) for dots in rows]
    got = push(plainly, sample.f, rule, y, args, kwargs, stack_of(rows), 3)
    eps = max([float(np.finfo(np.asarray(x).dtype).eps) for x in leaves((args, y), True)])
    for a, b in zip(leaves(got, True), leaves(stack_of(expected), True), strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e3 * eps, atol=1e2 * eps * (1 + np.max(np.abs(b), initial=0)))


def it_reads_no_more_than_the_pullback(sample: Sample) -> None:
    """Of what a pullback does not read, the entry has no more than shape and dtype."""
    rule, args, kwargs, dots = directions(sample, np.random.default_rng(1))
    y = sample.f(*args, **kwargs)
    flat = rule.splat(args)
    plan = rule.plan(len(flat), tuple(kwargs))
    places = [k for k in plan.positions if is_inexact(flat[k])]
    for some in {(k,) for k in places} | {tuple(places)} - {()}:
        reads = rule.variant(tuple([k in some for k in plan.positions])).reads
        kept = [x if k >= len(reads) or reads[k] == "value" else light(x) for k, x in enumerate(flat)]
        moved = tuple([dot if k in some else None for k, dot in enumerate(rule.splat(dots))])
        given = (
            (moved, tuple(kept)) if rule.sequence is None else (rejoined(moved, args, rule), rejoined(kept, args, rule))
        )
        got = push(plainly, sample.f, rule, y, given[1], kwargs, given[0])
        expected = push(plainly, sample.f, rule, y, args, kwargs, given[0])
        for a, b in zip(leaves(got, True), leaves(expected, True), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("samples", GROUPS)
def test_pushforwards_of_samples(samples: list[Sample]) -> None:
    for sample in samples:
        with naming(sample):
            the_dot_test(sample)
            several_directions_are_as_one_by_one(sample)
            it_reads_no_more_than_the_pullback(sample)


def rejoined(flat: Any, args: Any, rule: Any) -> Any:
    """Values for the arguments one by one, with those of the items of the sequence in a tuple."""
    k = rule.sequence
    if rule.is_single(args[k]):
        return tuple(flat)
    return (*flat[:k], tuple(flat[k : k + len(args[k])]), *flat[k + len(args[k]) :])


TIED = np.array([2.0, 0.5, 2.0, 2.0, -1.0, 0.5])
TIES = np.array([[1.0, 3.0, 3.0], [3.0, 0.0, 0.0]])
ZEROS = np.zeros(3)
KINKS = [  # and long accumulations, which are taken in blocks
    call(np.maximum, TIED, 0.5), call(np.minimum, TIED, TIED[::-1].copy()), call(np.fmax, TIED, np.full(6, 2.0)),
    call(np.clip, TIED, 0.5, 2.0), call(np.clip, TIED, 2.0, 0.5), call(np.abs, np.array([0.0, 1.0, 0j])),
    call(np.sign, np.array([0j, 1j])), call(np.max, TIED), call(np.max, TIES, axis=0), call(np.min, TIES, axis=1),
    call(np.max, TIED, initial=2.0), call(np.max, TIED, where=TIED < 1, initial=-3.0), call(np.nanmax, TIES, axis=1),
    call(np.maximum.reduce, TIES), call(np.maximum.accumulate, TIED), call(np.minimum.accumulate, TIES, axis=1),
    call(np.sort, TIED), call(np.sort, TIES, axis=0), call(np.sort, TIES, axis=None), call(np.partition, TIED, 2),
    call(np.median, TIED), call(np.median, TIES, axis=1), call(np.linalg.norm, ZEROS),
    call(np.linalg.norm, TIES, 1), call(np.linalg.norm, TIES, np.inf), call(np.linalg.norm, TIED, -np.inf),
    call(np.linalg.norm, ZEROS, 3), call(np.std, ZEROS),
    call(np.hypot, ZEROS, ZEROS), call(np.arctan2, ZEROS, ZEROS), call(np.prod, ZEROS),
    call(np.prod, np.array([2.0, 0.0, 3.0])), call(np.cumprod, np.array([2.0, 0.0, 3.0, 0.0])),
    call(np.cumprod, values(40)), call(np.cumprod, values(2, 40), axis=1), call(np.hypot.accumulate, values(40)),
    call(np.maximum.accumulate, values(2, 40), axis=1), call(max, 1.0, 1.0, 0.5),
    call(np.heaviside, ZEROS, 0.5), call(np.interp, np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 2.0]), TIED[:3]),
    call(np.power, np.array([0.0, 0.0, 2.0]), np.array([0.0, 2.0, 0.0])), call(statistics.stdev, [1.0, 1.0, 1.0]),
    call(np.linalg.svd, np.diag([2.0, 0.0]), compute_uv=False), call(np.where, TIED > 1, TIED, 0.5),
    call(operator.getitem, TIED, np.array([1, 1, 4])), call(setitem, TIED, np.array([1, 1]), np.array([5.0, 6.0])),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sample", KINKS, ids=str)
def test_it_chooses_as_the_pullback(sample: Sample) -> None:
    the_dot_test(sample)
    several_directions_are_as_one_by_one(sample)


def test_what_is_infinite_and_does_not_move_gives_nothing() -> None:
    x = np.array([2.0, 3.0, np.inf])
    for f, expected in ((np.prod, np.inf), (np.cumprod, [1.0, 3.0, np.inf])):
        y_dot = wg.jvp(f, (x,), (np.array([1.0, 0.0, 0.0]),))[1]
        np.testing.assert_array_equal(y_dot, expected)
    rows = np.array([[2.0, 3.0], [np.inf, 0.0]])
    with np.errstate(all="ignore"):
        y_dot = wg.jvp(lambda x: np.prod(x, axis=1)[0], (rows,), (np.array([[1.0, 0.0], [0.0, 0.0]]),))[1]
    assert y_dot == 3.0
