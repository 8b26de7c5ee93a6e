"""What the tables of samples are written with: a call, and arrays to call with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wengert.rulebook.registry import callable_name, rules


class Sample(NamedTuple):
    f: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __str__(self) -> str:
        return f"{callable_name(self.f)}({', '.join([*map(kind, self.args), *self.kwargs])})"


def kind(x: Any) -> str:
    """A short name of an argument for the names of tests."""
    if isinstance(x, np.ndarray):
        return f"{x.dtype.str[1:]}{list(x.shape)}".replace(" ", "")
    return f"[{','.join(map(kind, x))}]" if isinstance(x, (list, tuple)) else type(x).__name__


def call(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Sample:
    return Sample(f, args, kwargs)


def is_of_numpy(f: Callable[..., Any]) -> bool:
    """Whether the rule of f is one of ours for Python or NumPy: those for further libraries stand in folders below."""
    return Path(rules[f].where.rpartition(":")[0]).parent.name == "wengert_rules"


@contextmanager
def naming(case: Any) -> Iterator[None]:
    """Say in what an error reports of which `case` it is: for a test that has many."""
    try:
        yield
    except Exception as error:
        error.add_note(f"the case: {case}")
        raise


def values(*shape: int, low: float = 0.3, high: float = 2.1, dtype: Any = float) -> np.ndarray:
    """Numbers between `low` and `high`, well apart from one another, in no particular order."""
    n = math.prod(shape)
    order = np.random.default_rng(n).permutation(n)
    x = low + (high - low) * (order + 0.5) / max(n, 1)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * (0.4 - 0.7 * x[::-1])
    return x.reshape(shape).astype(dtype)
