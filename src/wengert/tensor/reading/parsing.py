"""From a Python function and its arguments to a program of the tensor language."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from wengert.errors import TensorLanguageError
from wengert.rulebook.syntax import definition
from wengert.tensor.language.predicates import substituted
from wengert.tensor.language.terms import AffineExpr, Exists, TensorProgram
from wengert.tensor.planning.plan import RelationToMake
from wengert.tensor.reading.arguments import argument
from wengert.tensor.reading.blocks import read_function
from wengert.tensor.reading.holding import holding
from wengert.tensor.reading.meanings import Kind, Meaning, TensorKind, size_of, type_of_kind
from wengert.tensor.reading.reading import as_value
from wengert.tensor.reading.scopes import Building, Scope


@dataclass(frozen=True)
class Parsed:
    """A program, the kind of its result, and for which sizes it was read; `holds` looks at what is around it.

    `values` holds its inputs and relations as they were given; those named in `constants` were found around the
    function, not passed, and may change in place.
    """

    program: TensorProgram
    result: Kind
    sizes: dict[str, int]
    arguments: dict[str, Meaning]
    values: dict[str, Any]
    constants: frozenset[str]
    holds: Callable[[], bool]
    gathers: dict[str, tuple[str, int]]
    tables: dict[str, RelationToMake]


def parse(f: types.FunctionType, arguments: Mapping[str, Any]) -> Parsed:
    """The program of a function for arguments of these shapes. Errors: TensorLanguageError, with the line."""
    tree = definition(f)
    if tree is None:
        raise TensorLanguageError(
            f"the source of {getattr(f, '__name__', f)!r} is not known: the tensor language is read from it. "
            "Define the function with `def` in a file or a notebook (not by exec, and not as a lambda)"
        )
    building = Building()
    scope = Scope(building, f, {})
    if tree.args.vararg or tree.args.kwarg:
        raise scope.refusal(tree, f"{f.__name__} has *args or **kwargs", "Name its parameters.")
    names = {name: argument(name, x, building) for name, x in arguments.items()}
    given = set(building.values)
    value = as_value(read_function(f, tree, names, tree, scope), tree, scope)
    program = TensorProgram(
        tuple((name, type_of_kind(kind)) for name, kind in building.inputs),
        scope.closed(value.expr),
        relations(building),
        tuple(building.bounds.sizes),
    )
    found = frozenset(building.values) - given
    around = holding(f, building.outside.values(), [building.values[name] for name in found])
    tables = {name: tabled(*table, building.bounds.sizes) for name, table in building.tables.items()}
    indexed = {name: (of, building.bounds.value(size) or 0) for name, (of, size) in building.gathers.items()}
    sizes = dict(building.bounds.sizes)
    values, building.values = building.values, {}  # what meanings refer to does not keep the arguments
    return Parsed(program, value.kind, sizes, names, values, found, around, indexed, tables)


def relations(building: Building) -> tuple[tuple[str, tuple[AffineExpr, ...]], ...]:
    """The relations that are given, and those made of arrays of whole numbers and of existentials."""
    given = [(name, tuple(d.named() for d in shape)) for name, shape in building.relations]
    tables = [(name, tuple(size for _, size in indices)) for name, (indices, _) in building.tables.items()]
    return (*given, *gathers(building), *tables)


def gathers(building: Building) -> list[tuple[str, tuple[AffineExpr, ...]]]:
    """The relations of arrays of whole numbers that are used as indices."""
    kinds = dict(building.inputs)
    return [(name, (*sizes_of(kinds[of]), size)) for name, (of, size) in building.gathers.items()]


def tabled(indices: tuple[tuple[str, AffineExpr], ...], p: Exists, sizes: Mapping[str, int]) -> RelationToMake:
    """The relation that a predicate over `indices` is at the sizes of the call."""
    at = substituted(p, sizes)
    return tuple((name, size.substitute(sizes).constant) for name, size in indices), at


def sizes_of(kind: Kind) -> tuple[AffineExpr, ...]:
    return (size_of(kind), *sizes_of(kind.of)) if isinstance(kind, TensorKind) else ()
