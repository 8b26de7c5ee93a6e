"""Reading a function as a program of the tensor language, and running both."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.tensor.language.evaluation import evaluate
from wengert.tensor.language.relations import Relation
from wengert.tensor.planning.enumeration import tabulated
from wengert.tensor.reading.arguments import as_float_array, runtime_form
from wengert.tensor.reading.gathers import relation_of_index_array
from wengert.tensor.reading.parsing import Parsed, parse


def bound(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name."""
    found = inspect.signature(f).bind(*args, **kwargs)
    found.apply_defaults()
    return found.arguments


def read(f: Any, *args: Any) -> Parsed:
    """The program for these arguments."""
    return parse(f, bound(f, args, {}))


def given(parsed: Parsed) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The inputs and the relations of a program by name."""
    values = {name: runtime_form(name, x) for name, x in parsed.values.items()}
    values |= {name: relation_of_index_array(of, values[of], size) for name, (of, size) in parsed.gathers.items()}
    relations = {name: x.entries for name, x in values.items() if isinstance(x, Relation)}
    for name, table in parsed.tables.items():
        relations[name] = tabulated(*table, relations)
        values[name] = Relation(relations[name], closed=False)
    inputs = {name: x for name, x in values.items() if not isinstance(x, Relation)}
    return inputs, {name: x.dense for name, x in values.items() if isinstance(x, Relation)}


def meant(f: Callable[..., Any], *args: Any, number: Callable[[Any], Any] = float, **kwargs: Any) -> Any:
    """What the program of `f` evaluates to; tuples are pairs nested to the right."""
    parsed = parse(f, bound(f, args, kwargs))
    inputs, relations = given(parsed)
    return evaluate(parsed.program, inputs, parsed.sizes, relations, number)


def nested(result: Any) -> Any:
    """A result of plain Python, its tuples as pairs nested to the right."""
    if not isinstance(result, tuple):
        return as_float_array("result", result)
    first, *rest = result
    return (nested(first), nested(tuple(rest))) if len(rest) > 1 else (nested(first), *map(nested, rest))


def leaves(value: Any) -> list[np.ndarray]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [np.asarray(value)]


def agrees(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """The program means what the undecorated function gives."""
    found, stated = leaves(meant(f, *args, **kwargs)), leaves(nested(f(*args, **kwargs)))
    assert len(found) == len(stated)
    for mine, plain in zip(found, stated, strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-13, atol=1e-13)
