"""Methods from which C code takes an integer, in functions that count: `__len__`, `__index__`, `__hash__`."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

import wengert as wg


class History:
    def __init__(self):
        self.seen, self.count = [], 0

    def loss(self, x):
        for _ in range(5):
            x = np.sin(x) * 1.1
            self.seen.append(float(x))
        self.count += 1
        return self.read(x)

    def read(self, x):
        return x


class WithLength(History):
    def __len__(self):
        return 12


class ReadsLength(History):
    def __len__(self):
        return len(self.seen)

    def read(self, x):
        return x * len(self)


class ByLambda(History):
    __len__ = lambda self: self.count

    def read(self, x):
        return x * len(self)


class AsIndex(History):
    def __index__(self):
        return self.count

    def read(self, x):
        return x * np.arange(100.0)[self] + len(range(self))


class Hashed(History):
    def __hash__(self):
        return self.count

    def read(self, x):
        return x * (hash(self) + len({self: 1}))


class ByProperty(History):
    @property
    def n(self):
        return self.count

    def __len__(self):
        return self.n + 1

    def read(self, x):
        return x * len([0] * len(self))


class Truth(History):
    def __len__(self):
        return self.count - 2

    def read(self, x):
        return x if self else 2.0 * x


@pytest.mark.parametrize("kind", [WithLength, ReadsLength, ByLambda, AsIndex, Hashed, ByProperty])
def test_a_count_behind_a_method_is_never_a_constant(kind: Any) -> None:
    plain, compiled = kind(), kind()
    g = wg.compile(wg.grad(compiled.loss), quiet=True)
    for k in range(7):
        x = 0.3 + 0.1 * k
        assert g(x) == pytest.approx(wg.grad(plain.loss)(x), rel=1e-14)
        assert compiled.seen == plain.seen
        assert compiled.count == plain.count


def test_an_object_with_a_constant_length_may_count() -> None:
    counted = WithLength()
    g = wg.compile(wg.grad(counted.loss), strict=True)
    for k in range(4):
        g(0.3 + k)
    assert len(counted.seen) == 20
    assert g.status.startswith("compiled")


def test_a_truth_by_a_length_that_counts() -> None:
    def run(loss, history):
        history.count = 2
        return [loss(0.3 + 0.1 * k) for k in range(6)]

    plain, compiled = Truth(), Truth()
    g = wg.compile(wg.grad(compiled.loss), quiet=True)
    assert run(g, compiled) == pytest.approx(run(wg.grad(plain.loss), plain), rel=1e-14)


class OfATable(History):
    """It calls a weak reference to an object that has no hash, as pandas does."""

    __hash__ = None

    def read(self, x):
        self.count += 1
        return x * weakref.ref(self)().count


def test_a_weak_reference_to_an_object_without_a_hash_is_called() -> None:
    counted = OfATable()
    g = wg.compile(wg.grad(counted.read), strict=True)
    assert [g(0.5) for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]
