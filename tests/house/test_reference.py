"""The docstring of each public name lists its parameters, its result and its errors, and has an example that runs."""

from __future__ import annotations

import builtins
import doctest
import inspect
import re
import types
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import wengert as wg

MODULES = [wg, wg.extend, wg.optim, wg.tensor, *([wg.dask] if find_spec("dask") else [])]
HEADERS = ("Parameters", "Returns", "Yields", "Raises", "Warns", "See Also", "Examples")
PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in MODULES
    for name in module.__all__
    if module is wg or getattr(wg, name, None) is not getattr(module, name)
}
SHOWN = {
    name: value
    for name, value in PUBLIC.items()
    if not isinstance(value, types.ModuleType)
    and not (isinstance(value, type) and issubclass(value, Exception))
    and value is not wg.extend.getitem  # Python's own
}
WITH_PARAMETERS = {
    name: value
    for name, value in SHOWN.items()
    if inspect.isroutine(value) or (isinstance(value, type) and {"__init__", "__new__"} & vars(value).keys())
}


def sections(value: Any) -> dict[str, str]:
    """The sections of a docstring, with their indented lines."""
    text = inspect.getdoc(value) or ""
    return dict(re.findall(rf"^({'|'.join(HEADERS)}):\n((?:    .*\n|\n(?=    ))*(?:    .*$)?)", f"{text}\n", re.M))


def entries(section: str) -> list[str]:
    return [line[4:] for line in section.splitlines() if re.match(r"    \S", line)]


def parameters(value: Any) -> list[str]:
    """The names of the parameters of a function, or of the constructor of a class."""
    signature = inspect.signature(value.__init__ if isinstance(value, type) and "__init__" in vars(value) else value)
    return [name for name in signature.parameters if name not in ("self", "cls")]


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_the_parameters_are_those_of_the_signature(name: str) -> None:
    """In its order, each with a type and a text."""
    listed = entries(sections(SHOWN[name]).get("Parameters", ""))
    heads = [re.match(r"\*{0,2}(\w+) \((.+?)\): \S", entry) for entry in listed]
    assert None not in heads, listed
    assert [head[1] for head in heads if head] == parameters(SHOWN[name])


@pytest.mark.parametrize("name", [name for name in WITH_PARAMETERS if not isinstance(SHOWN[name], type)])
def test_a_function_says_what_it_returns(name: str) -> None:
    """Unless that is None."""
    found = sections(SHOWN[name])
    returned = [*entries(found.get("Returns", "")), *entries(found.get("Yields", ""))]
    assert bool(returned) == (inspect.signature(SHOWN[name]).return_annotation not in ("None", None))
    assert all([re.match(r"\S.*: \S", entry) for entry in returned])


@pytest.mark.parametrize("name", SHOWN)
def test_errors_and_related_names_exist(name: str) -> None:
    found = sections(SHOWN[name])
    for entry in [*entries(found.get("Raises", "")), *entries(found.get("Warns", ""))]:
        error = entry.partition(": ")[0]
        assert hasattr(wg, error) or hasattr(wg.errors, error) or hasattr(builtins, error), error
    module = name.rpartition(".")[0]
    related = re.findall(r"[\w.]*\w", found["See Also"])
    assert related and not [each for each in related if {f"wengert.{each}", f"{module}.{each}"}.isdisjoint(PUBLIC)]


@pytest.mark.parametrize("name", SHOWN)
def test_the_examples_run(name: str) -> None:
    names = {"wg": wg, "np": np, "__name__": "__main__"}
    examples = doctest.DocTestParser().get_doctest(sections(SHOWN[name])["Examples"], names, name, None, None)
    assert examples.examples
    with wg.rules.scope():
        assert doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF | doctest.ELLIPSIS).run(examples).failed == 0


def test_sections_are_found() -> None:
    def function() -> None:
        """Do nothing.

        Parameters:
            x (int): The one,
                which is 1.
            *y (Any): Others.
        Returns:
            None: Nothing.

        Examples:
            >>> 1
            1

            >>> 2
            2
        """

    found = sections(function)
    assert [*found] == ["Parameters", "Returns", "Examples"]
    assert entries(found["Parameters"]) == ["x (int): The one,", "*y (Any): Others."]
    assert found["Examples"].count(">>>") == 2
