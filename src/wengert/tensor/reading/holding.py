"""The guard of a cached program: one generated expression, true while all that the program was read from is unchanged.

For each outer name of the function it tests that the name is bound to the same object, and that those properties of the
object are unchanged on which the program depends: the shape of an array, the code of a helper function.
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
from wengert.tensor.reading.scopes import OuterName


def validity_check(f: types.FunctionType, outside: Collection[OuterName], inputs: Iterable[Any]) -> Callable[[], bool]:
    """Return a function that checks that the code of `f`, its outer names and the inputs among them are unchanged."""
    tests = ValidityTests()
    tests.add(f"{tests.pin(f)}.__code__ is {tests.pin(f.__code__)}")
    for found in outside:
        tests.check_name(found.node, found.function, found.value)
    for x in {id(x): x for x in (*[found.value for found in outside], *inputs)}.values():
        tests.check_object(x)
    return tests.compiled()


class ValidityTests:
    """The tests of a guard, as expressions without repetition, and the objects in them by name."""

    def __init__(self) -> None:
        self.conditions: dict[str, None] = {}
        self.pins: dict[int, tuple[str, Any]] = {}

    def add(self, text: str) -> None:
        self.conditions[text] = None

    def pin(self, x: Any) -> str:
        """Return the name of an object in the expressions."""
        return self.pins.setdefault(id(x), (f"k{len(self.pins)}", x))[0]

    def check_name(self, node: ast.expr, function: types.FunctionType, value: Any) -> None:
        """Test that a name in the body of a function, or an attribute of a module, is bound to `value`."""
        if isinstance(node, ast.Attribute):
            base = named_object(node.value, function)
            self.check_name(node.value, function, base)
            lookup = f"{self.pin(base)}.{node.attr}"
        else:
            assert isinstance(node, ast.Name)
            lookup = self.lookup(node.id, function)
        self.add(f"{lookup} is {self.pin(value)}")

    def lookup(self, name: str, function: types.FunctionType) -> str:
        """Return the expression that looks a name up as `named_object` does: in cells, then globals, then builtins."""
        if name in cells_of(function):
            return f"{self.pin(cells_of(function)[name])}.cell_contents"
        space = self.pin(function.__globals__)
        if name in function.__globals__:
            return f"{space}[{name!r}]"
        self.add(f"{name!r} not in {space}")
        return f"{self.pin(vars(builtins))}[{name!r}]"

    def check_object(self, x: Any) -> None:
        """Test that `signature_of_argument` of an object is unchanged."""
        name = self.pin(x)
        if type(x) is np.ndarray and x.dtype != np.bool_:
            self.add(f"{name}.shape == {x.shape}")
            self.add(f"{name}.dtype == {self.pin(x.dtype)}")
        elif type(x) is tuple:
            for part in x:
                self.check_object(part)
        elif type(x) is types.FunctionType and x.__kwdefaults__ is None:
            for attribute in ("__code__", "__defaults__", "__kwdefaults__"):
                self.add(f"{name}.{attribute} is {self.pin(getattr(x, attribute))}")
        elif not is_fixed(x):
            self.add(f"{self.pin(signature_of_argument)}({name}) == {self.pin(signature_of_argument(x))}")

    def compiled(self) -> Callable[[], bool]:
        tests = "\n            and ".join(self.conditions)
        text = f"def is_valid():\n    try:\n        return ({tests})\n    except MISSING:\n        return False\n"
        space: dict[str, Any] = {"MISSING": _LOOKUP_ERRORS, **dict(self.pins.values())}
        exec(compile(text, "<guard of a tensor program>", "exec"), space)
        is_valid: Callable[[], bool] = space.pop("is_valid")  # popped: else it would keep itself alive
        return is_valid


_LOOKUP_ERRORS = (KeyError, AttributeError, ValueError)  # of a global, of an attribute, of an empty cell


def is_fixed(x: Any) -> bool:
    """Whether a program depends on nothing but the identity of an object."""
    if isinstance(x, (numbers.Real, np.bool_)):
        return True
    signature = signature_of_argument(x)
    return type(x) is not types.FunctionType and isinstance(signature, tuple) and signature[:1] == ("known",)
