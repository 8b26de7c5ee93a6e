"""Whether all that a program was read from is still as it was: one expression for each program, true as long as it is.

The expression has one test for each name from around the function, that it stands for the same object, and those of
what the program depends on of these objects: the shape of an array, the code of a helper.
"""

from __future__ import annotations

import ast
import builtins
import numbers
import types
from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np

from wengert.rulebook.syntax import cells_of, named_object
from wengert.tensor.reading.arguments import signature_of_argument
from wengert.tensor.reading.scopes import Outside


def holding(f: types.FunctionType, outside: Collection[Outside], inputs: Iterable[Any]) -> Callable[[], bool]:
    """The function that tells whether `f` has its code, and the names and inputs from around it are what they were."""
    tests = Tests()
    tests.add(f"{tests.pin(f)}.__code__ is {tests.pin(f.__code__)}")
    for found in outside:
        tests.name(found.node, found.function, found.it)
    for x in {id(x): x for x in (*[found.it for found in outside], *inputs)}.values():
        tests.state(x)
    return tests.made()


class Tests:
    """Expressions that have to be true, each once, and the objects that they are about, by name."""

    def __init__(self) -> None:
        self.texts: dict[str, None] = {}
        self.pins: dict[int, tuple[str, Any]] = {}

    def add(self, text: str) -> None:
        self.texts[text] = None

    def pin(self, thing: Any) -> str:
        return self.pins.setdefault(id(thing), (f"k{len(self.pins)}", thing))[0]

    def name(self, node: ast.expr, function: types.FunctionType, it: Any) -> None:
        """A name in the body of a function, or an attribute of a module, stands for `it`."""
        if isinstance(node, ast.Attribute):
            base = named_object(node.value, function)
            self.name(node.value, function, base)
            place = f"{self.pin(base)}.{node.attr}"
        else:
            assert isinstance(node, ast.Name)
            place = self.place(node.id, function)
        self.add(f"{place} is {self.pin(it)}")

    def place(self, name: str, function: types.FunctionType) -> str:
        """Where `named_object` finds a name: in a cell, among the globals, or the builtins that these do not hide."""
        if name in cells_of(function):
            return f"{self.pin(cells_of(function)[name])}.cell_contents"
        space = self.pin(function.__globals__)
        if name in function.__globals__:
            return f"{space}[{name!r}]"
        self.add(f"{name!r} not in {space}")
        return f"{self.pin(vars(builtins))}[{name!r}]"

    def state(self, x: Any) -> None:
        """Test that `signature_of_argument` of an object is as it was."""
        place = self.pin(x)
        if type(x) is np.ndarray and x.dtype != np.bool_:
            self.add(f"{place}.shape == {x.shape}")
            self.add(f"{place}.dtype == {self.pin(x.dtype)}")
        elif type(x) is tuple:
            for part in x:
                self.state(part)
        elif type(x) is types.FunctionType and x.__kwdefaults__ is None:
            for name in ("__code__", "__defaults__", "__kwdefaults__"):
                self.add(f"{place}.{name} is {self.pin(getattr(x, name))}")
        elif not is_fixed(x):
            self.add(f"{self.pin(signature_of_argument)}({place}) == {self.pin(signature_of_argument(x))}")

    def made(self) -> Callable[[], bool]:
        tests = "\n            and ".join(self.texts)
        text = f"def holds():\n    try:\n        return ({tests})\n    except MISSING:\n        return False\n"
        space: dict[str, Any] = {"MISSING": _MISSING, **dict(self.pins.values())}
        exec(compile(text, "<what a tensor program was read from>", "exec"), space)
        holds: Callable[[], bool] = space.pop("holds")  # which else would hold itself
        return holds


_MISSING = (KeyError, AttributeError, ValueError)  # a global, an attribute, what is in a cell


def is_fixed(x: Any) -> bool:
    """Whether a program depends on nothing of an object but which it is."""
    if isinstance(x, (numbers.Real, np.bool_)):
        return True
    signature = signature_of_argument(x)
    return type(x) is not types.FunctionType and isinstance(signature, tuple) and signature[:1] == ("known",)
