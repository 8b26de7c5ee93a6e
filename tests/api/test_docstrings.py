"""What users call explains itself: every public name has an example that runs, and says what each parameter means."""

from __future__ import annotations

import doctest
import functools
import inspect
import re
import types
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import tensor

HAS_DASK = find_spec("dask") is not None

NAMES = {
    **{f"wg.{name}": getattr(wg, name) for name in wg.__all__},
    **{f"wg.extend.{name}": getattr(wg.extend, name) for name in wg.extend.__all__ if name not in wg.__all__},
    **{f"wg.tensor.{name}": value for name, value in vars(tensor).items() if name in tensor.__all__},
    **({f"wg.dask.{name}": getattr(wg.dask, name) for name in wg.dask.__all__} if HAS_DASK else {}),
}
SHOWN = {
    name: value
    for name, value in NAMES.items()
    if not isinstance(value, types.ModuleType)
    and not (isinstance(value, type) and issubclass(value, Exception))
    and value is not wg.extend.getitem  # Python's own
}
CLASSES = [v if isinstance(v, type) else type(v) for v in SHOWN.values() if not inspect.isroutine(v)]


def methods(of: type) -> Iterator[tuple[str, Any]]:
    """The public functions that a class defines, with the class, whose docstring speaks of what it is made of."""
    yield of.__name__, of
    for name, member in vars(of).items():
        function = getattr(member, "__func__", member)
        if inspect.isfunction(function) and not name.startswith("_"):
            yield f"{of.__name__}.{name}", function


CALLED = {
    **{name: value for name, value in SHOWN.items() if inspect.isroutine(value)},
    **dict(pair for of in CLASSES for pair in methods(of)),
}


@functools.cache
def parameters(f: Any) -> tuple[str, ...]:
    """The names of what is given to a function, but for `self` and what is passed on as it is."""
    try:
        signature = inspect.signature(f.__init__ if isinstance(f, type) else f)
    except (TypeError, ValueError):
        return ()
    return tuple(p.name for p in signature.parameters.values() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL))


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_in_the_docstring_runs(name: str) -> None:
    f = SHOWN[name]
    names = {"wg": wg, "np": np, "__name__": "__main__"}
    examples = doctest.DocTestParser().get_doctest(inspect.getdoc(f) or "", names, name, None, None)
    assert examples.examples
    with wg.rules.scope():
        assert doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF | doctest.ELLIPSIS).run(examples).failed == 0


@pytest.mark.parametrize("name", CALLED)
def test_a_docstring_says_what_each_parameter_means(name: str) -> None:
    said = inspect.getdoc(CALLED[name]) or ""
    quoted = {word for code in re.findall(r"`[^`]*`", said) for word in re.findall(r"\w+", code)}
    quoted |= {*re.findall(r"^    \*{0,2}(\w+) \(.+\): ", said, re.MULTILINE)}  # entries of "Parameters:"
    assert not {*parameters(CALLED[name])} - {"self", "cls"} - quoted
    assert said.splitlines()[0].endswith((".", "`"))
