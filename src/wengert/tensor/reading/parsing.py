"""Read a Python function, for given arguments, as a program of the tensor language."""

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
from wengert.tensor.reading import calls as calls  # registers the readers of calls
from wengert.tensor.reading.arguments import read_argument
from wengert.tensor.reading.blocks import read_function
from wengert.tensor.reading.holding import validity_check
from wengert.tensor.reading.meanings import Meaning, TensorKind, ValueKind, size_of, type_of_kind
from wengert.tensor.reading.reading import as_value
from wengert.tensor.reading.scopes import ProgramBuilder, Scope


@dataclass(frozen=True)
class Parsed:
    """A program that was read for these `sizes`, with the kind of its result; `is_valid` is its guard.

    `values` are its inputs and relations as passed. Those named in `constants` are not passed but read from outer names
    of the function, and may change in place.
    """

    program: TensorProgram
    result: ValueKind
    sizes: dict[str, int]
    arguments: dict[str, Meaning]
    values: dict[str, Any]
    constants: frozenset[str]
    is_valid: Callable[[], bool]
    gathers: dict[str, tuple[str, int]]
    tables: dict[str, RelationToMake]


def parse(f: types.FunctionType, arguments: Mapping[str, Any]) -> Parsed:
    """Read the program of a function for arguments of these shapes. Errors: TensorLanguageError, with the line."""
    tree = definition(f)
    if tree is None:
        raise TensorLanguageError(
            f"the source of {getattr(f, '__name__', f)!r} was not found; a tensor function is read from its source. "
            "Define the function with `def` in a file or a notebook (not by exec, and not as a lambda)"
        )
    builder = ProgramBuilder()
    scope = Scope(builder, f, {})
    if tree.args.vararg or tree.args.kwarg:
        raise scope.refusal(tree, f"{f.__name__} has *args or **kwargs", "Name each parameter.")
    names = {name: read_argument(name, x, builder) for name, x in arguments.items()}
    given = set(builder.values)
    value = as_value(read_function(f, tree, names, tree, scope), tree, scope)
    program = TensorProgram(
        tuple((name, type_of_kind(kind)) for name, kind in builder.inputs),
        scope.with_lets(value.expr),
        relation_shapes(builder),
        tuple(builder.bounds.sizes),
    )
    found = frozenset(builder.values) - given
    around = validity_check(f, builder.outer_names.values(), [builder.values[name] for name in found])
    tables = {name: relation_to_make(*table, builder.bounds.sizes) for name, table in builder.tables.items()}
    indexed = {name: (of, builder.bounds.value(size) or 0) for name, (of, size) in builder.gathers.items()}
    sizes = dict(builder.bounds.sizes)
    values, builder.values = builder.values, {}  # meanings keep the builder: it must not keep the arguments
    return Parsed(program, value.kind, sizes, names, values, found, around, indexed, tables)


def relation_shapes(builder: ProgramBuilder) -> tuple[tuple[str, tuple[AffineExpr, ...]], ...]:
    """Return the relations of a program with their shapes: those passed, of integer arrays and of existentials."""
    given = [(name, tuple(d.named() for d in shape)) for name, shape in builder.relations]
    tables = [(name, tuple(size for _, size in indices)) for name, (indices, _) in builder.tables.items()]
    return (*given, *gather_relations(builder), *tables)


def gather_relations(builder: ProgramBuilder) -> list[tuple[str, tuple[AffineExpr, ...]]]:
    """Return the relations of integer arrays that are used as indices, with their shapes."""
    kinds = dict(builder.inputs)
    return [(name, (*sizes_of(kinds[of]), size)) for name, (of, size) in builder.gathers.items()]


def relation_to_make(
    indices: tuple[tuple[str, AffineExpr], ...], p: Exists, sizes: Mapping[str, int]
) -> RelationToMake:
    """Return the ranges of `indices` and the predicate over them, at the sizes of the call."""
    at = substituted(p, sizes)
    return tuple((name, size.substitute(sizes).constant) for name, size in indices), at


def sizes_of(kind: ValueKind) -> tuple[AffineExpr, ...]:
    return (size_of(kind), *sizes_of(kind.of)) if isinstance(kind, TensorKind) else ()
