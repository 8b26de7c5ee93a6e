"""Objects that refer to more others than are searched for traced values: a result is right, or an error says why."""

# ruff: noqa (programs are written as a user would)

from __future__ import annotations

import collections
import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.hooks import search


class Large:
    """An object with many parts, which C code asks for a text, a number or an item."""

    def __init__(self) -> None:
        self.parts = [[k, (k,)] for k in range(40)]

    def __repr__(self) -> str:
        return "large"

    def __format__(self, spec: str) -> str:
        return "large"

    def __float__(self) -> float:
        return 2.0

    def __index__(self) -> int:
        return 2

    def __iter__(self) -> Any:
        return iter([1.0, 2.0])


USES: dict[str, Callable[[Any], Any]] = {
    "str": str, "repr": repr, "f-string": lambda o: f"{o}", "percent": lambda o: "%s" % (o,), "format": "{}".format,
    "join": lambda o: "".join([str(o)]), "print": lambda o: print(o, file=io.StringIO()), "equal": lambda o: o == o,
    "in": lambda o: o in [1, o], "index": lambda o: [1, o].index(o), "count": lambda o: [o, 1].count(o), "bool": bool,
    "list": list, "copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": pickle.dumps, "sorted": lambda o: sorted([o], key=id),
    "map": lambda o: [*map(str, [o])], "zip": lambda o: [*zip(o, o)],
    "a stream": lambda o: (lambda s: (s.write(str(o)), s.getvalue()))(io.StringIO()), "lines": lambda o: [*io.StringIO(str(o))],
    "count words": lambda o: collections.Counter([str(o)]), "startswith": lambda o: str(o).startswith("b"), "any": any,
    "split": lambda o: str(o).split(","), "strip": lambda o: str(o).strip("x"), "array": lambda o: np.array(o, dtype=object),
}  # fmt: skip


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", [Large, lambda: Large().parts, lambda: {k: (k, [k]) for k in range(40)}], ids="oad")
def test_uses_in_a_function(monkeypatch: pytest.MonkeyPatch, use: str, kind: Callable[[], Any]) -> None:
    monkeypatch.setattr(search, "MAX_SEARCHED", 20)
    large = kind()

    def beside(x: float) -> float:
        USES[use](large)
        return x * x

    def inside(x: float) -> float:
        mine = copy.copy(large)
        if isinstance(mine, Large):
            mine.x = x
        else:
            mine.update(x=x) if isinstance(mine, dict) else mine.append(x)
        USES[use](mine)
        return x * x

    for f in (beside, inside):
        for way in (
            wg.grad(f),
            lambda x: wg.gradtape(f, x).play(x)[1][1],
            wg.compile(wg.grad(f), quiet=True, native=False),
        ):
            try:
                found = way(1.5)
            except wg.WengertError:
                continue
            assert found == 3.0


def test_a_long_list_is_printed() -> None:
    lines = [[k, str(k)] for k in range(10_001)]
    assert wg.grad(lambda x: x * x * len(str(lines)))(1.5) == 3.0 * len(str(lines))
    with pytest.raises(wg.RefusedCallError, match="more than 10000 others"):
        wg.trace(lambda x: x * x * len(str(lines)), 1.5)
