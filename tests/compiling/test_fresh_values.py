"""Times and identifiers as objects: a compiled function may hold one, and makes no use of one of its trace."""

from __future__ import annotations

import copy
import datetime
import uuid
from collections.abc import Callable
from datetime import datetime as time_of
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wengert as wg

OUTSIDE = SimpleNamespace(last=None)


class Fit:
    def __init__(self, x: float) -> None:
        self.x, self.made, self.id = x, time_of.now(datetime.UTC), uuid.uuid4()

    def loss(self) -> float:
        return self.x**2


def leaves(x: float) -> float:
    OUTSIDE.last = Fit(x)
    return x


HELD: list[Callable[[float], float]] = [
    lambda x: Fit(x).loss(),
    lambda x: x * isinstance(time_of.now(), datetime.date),
    lambda x: x * (type(time_of.now()) is time_of) * (uuid.uuid1().__class__ is uuid.UUID),
    lambda x: x * len(type("Made", (), {}).__name__ + type(uuid.uuid4()).__name__),
    lambda x: x * (datetime.date.today().year > 2000),
]
USED: list[Callable[[float], float]] = [
    leaves,
    lambda x: x * time_of.now().year,
    lambda x: x * time_of.today().timestamp(),
    lambda x: x * len(str(uuid.uuid4()) + f"{uuid.uuid4()}" + uuid.uuid4().hex),
    lambda x: x * len("%s" % time_of.now()),  # noqa: UP031
    lambda x: x * (time_of.now() - time_of(2020, 1, 1)).days,
    lambda x: x * (time_of(2020, 1, 1) - time_of.utcnow()).days,
    lambda x: x if time_of(2020, 1, 1) < time_of.now() else -x,
    lambda x: x * len({uuid.uuid4(): 1}) * len({uuid.uuid4()}),
    lambda x: x * bool(copy.deepcopy(Fit(x))),
    lambda x: x * (np.datetime64(time_of.now()) > np.datetime64("2020")),
    lambda x: x * max(time_of.now(), time_of(2020, 1, 1)).year,
]


@pytest.mark.parametrize("f", HELD)
def test_one_that_is_held(f: Callable[[float], float]) -> None:
    g = wg.compile(wg.grad(f), strict=True)
    assert [g(x) for x in (2.0, 3.0)] == [pytest.approx(wg.ngradient(f, x)[0]) for x in (2.0, 3.0)]


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning", "ignore:datetime.datetime.utcnow")
@pytest.mark.parametrize("f", USED)
def test_one_that_is_used(f: Callable[[float], float]) -> None:
    g = wg.compile(f, quiet=True)
    assert [g(2.0), g(3.0)] == [pytest.approx(f(2.0)), pytest.approx(f(3.0))]
    assert g.status == "not compiled"


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
def test_what_leaves_the_function_is_no_stand_in() -> None:
    g = wg.compile(Fit, quiet=True)
    found: list[Any] = [g(2.0), g(2.0)]
    g = wg.compile(leaves, quiet=True)
    for _ in range(2):
        g(2.0)
        found.append(OUTSIDE.last)
    assert {type(each.made) for each in found} == {time_of}
    assert len({each.id for each in found}) == 4
