"""Compiled functions that draw by Python's `random`: they draw what the plain function draws, in the same order."""

from __future__ import annotations

import math
import random
import warnings
from random import gauss
from typing import Any

import numpy as np
import pytest

import wengert as wg

OWN = random.Random(3)


class Walk:
    """An object with a generator of its own."""

    def __init__(self) -> None:
        self.rng = random.Random(5)

    def step(self, x: Any) -> Any:
        return x * x + self.rng.uniform(-0.1, 0.1) * x


WALK = Walk()


def a_number(x: Any) -> Any:
    return x * random.random()


def with_constants(x: Any) -> Any:
    return x * random.uniform(1.0, 2.0) + random.triangular(0.0, 1.0, 0.3) * random.betavariate(2.0, 3.0) * x


def imported(x: Any) -> Any:
    return x * gauss(0.0, 1.0) + x**2 * random.normalvariate(1.0, 2.0)


def of_its_own(x: Any) -> Any:
    return x**2 * OWN.random() + x * OWN.lognormvariate(0.0, 0.25)


def by_a_method(x: Any) -> Any:
    return WALK.step(x) + WALK.step(2.0 * x)


def moved_uniform(x: Any) -> Any:
    return random.uniform(x, x**2) * x


def moved_gauss(x: Any) -> Any:
    return random.gauss(mu=x * 2.0, sigma=x**2) ** 2 + random.normalvariate(x, 0.5)


def of_a_rate(x: Any) -> Any:
    return random.expovariate(1.0 + x * x) * x


def integers(x: Any) -> Any:
    return x ** random.randint(1, 4) + x * random.randrange(0, 10, 2)


def rows(x: Any) -> Any:
    data = np.arange(12.0).reshape(6, 2)
    return sum(np.sum(data[k]) * x**2 for k in random.sample(range(6), 3))


def choices(x: Any) -> Any:
    return x * random.choice([1.0, 2.0, 3.0]) + x**2 * random.choice((4.0, 5.0))


def with_weights(x: Any) -> Any:
    return x * random.choices([1.0, 2.0, 3.0], [0.2, 0.5, 0.3], k=2)[1]


def many(x: Any) -> Any:
    total = 0.0
    for _ in range(20):
        total += math.exp(-x) * random.gauss(0.0, 1.0) ** 2
    return total


def a_branch(x: Any) -> Any:
    return x * random.random() if random.random() < 0.5 else x**3 * random.random()


def metropolis(x: Any) -> Any:
    found = x
    for _ in range(4):
        proposed = found + random.gauss(0.0, 0.5)
        if random.random() < math.exp(min(0.0, found**2 - proposed**2)):
            found = proposed
    return found**2


def with_a_seed(x: Any) -> Any:
    rng = random.Random(7)
    return x * rng.random() + x**2 * rng.uniform(0.0, 1.0)


COMPILED = [
    a_number, with_constants, imported, of_its_own, by_a_method, moved_uniform, moved_gauss, of_a_rate, integers, rows,
    choices, with_weights, many, a_branch, metropolis,
]  # fmt: skip


def runs(f: Any, seed: int) -> list[Any]:
    """The results of calls with the arguments 0.5, 0.6, ..., and all states after them."""
    random.seed(seed)
    OWN.seed(seed + 1)
    WALK.rng.seed(seed + 2)
    results = [f(0.5 + 0.1 * k) for k in range(12)]
    return [results, random.getstate(), OWN.getstate(), WALK.rng.getstate()]


def differences(f: Any, x: float) -> float:
    """The derivative of a function at the draws of the present state, by Richardson's differences."""
    state = [rng.getstate() for rng in (random, OWN, WALK.rng)]

    def at(shift: float) -> Any:
        for rng, kept in zip((random, OWN, WALK.rng), state, strict=True):
            rng.setstate(kept)
        return f(x + shift)

    coarse, fine = ((at(h) - at(-h)) / (2.0 * h) for h in (1e-3, 5e-4))
    return (4.0 * fine - coarse) / 3.0


@pytest.mark.parametrize("f", COMPILED, ids=lambda f: f.__name__)
def test_compiled_functions_draw_what_the_plain_function_draws(f: Any) -> None:
    for seed in range(3):
        plain, compiled = runs(f, seed), runs(wg.compile(f, strict=True), seed)
        assert compiled == plain
        assert runs(wg.compile(wg.value_and_grad(f), strict=True), seed)[1:] == plain[1:]


@pytest.mark.parametrize("f", [f for f in COMPILED if f is not metropolis], ids=lambda f: f.__name__)
def test_gradients_are_those_at_the_same_draws(f: Any) -> None:
    gradient = wg.compile(wg.grad(f), strict=True)
    for seed in range(12):
        for rng in (random, OWN, WALK.rng):
            rng.seed(seed)
        wanted = differences(f, 0.7)
        for rng in (random, OWN, WALK.rng):
            rng.seed(seed)
        assert gradient(0.7) == pytest.approx(wanted, rel=1e-7, abs=1e-7)


def of_pairs(x: Any) -> Any:
    a, b = random.choice([(1.0, 2.0), (3.0, 4.0)])
    return x * a + b


def bytes_of(x: Any) -> Any:
    return x * random.randbytes(2)[0]


def cached_normal(x: Any) -> Any:
    random.gauss(0.0, 1.0)
    return x if OWN.gauss_next is None else x * 2.0


def seeds(x: Any) -> Any:
    random.seed("four")
    return x * random.random()


def shuffles(x: Any) -> Any:
    order = [1.0, 2.0, 3.0]
    random.shuffle(order)
    return x * order[0]


def of_the_system(x: Any) -> Any:
    return x * (random.SystemRandom().random() < 2.0)


def by_vectorize(x: Any) -> Any:
    return x * np.vectorize(random.uniform)([0.0, 1.0], [1.0, 2.0]).sum()


def by_a_ufunc(x: Any) -> Any:
    return x * np.frompyfunc(OWN.uniform, 2, 1)([0.0, 1.0], [1.0, 2.0]).sum()


def by_c_code(x: Any) -> Any:
    return x * np.frompyfunc(OWN.random, 0, 1)() + x * OWN.random()


def by_a_function_of_a_ufunc(x: Any) -> Any:
    return x * np.frompyfunc(lambda v: v * OWN.random(), 1, 1)(np.ones(2)).sum()


UNCOMPILED = [
    by_vectorize, by_a_ufunc, by_c_code, by_a_function_of_a_ufunc, of_pairs, bytes_of, cached_normal, seeds, shuffles,
    of_the_system, with_a_seed,
]  # fmt: skip


@pytest.mark.parametrize("f", UNCOMPILED, ids=lambda f: f.__name__)
def test_other_draws_run_uncompiled(f: Any) -> None:
    with warnings.catch_warnings(record=True, action="always") as issued:
        assert runs(wg.compile(f), 1) == runs(f, 1)
    assert [w.category for w in issued] == [wg.NotCompiledWarning]
