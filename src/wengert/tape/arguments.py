"""The inputs of a tape, found in the arguments of the traced function: one row for each part of an argument."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CellType
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import StaleTapeError
from wengert.tape.dump import value_text
from wengert.tape.ops import Input, Op, Variable
from wengert.values.callables import named_parameters
from wengert.values.names import in_line, is_name
from wengert.values.specs import is_inexact
from wengert.values.trees import form_of, namespace, shelves, tuple_steps

RowsAndValues = tuple[list["ArgumentRow"], list[Any]] | None

_CHECKED = (int, str, bytes, type(None), np.integer, np.bool_, np.ndarray, np.dtype, slice, range, type(...))
_MAX_ROWS = 1000  # above this, no rows are made


class ArgumentRow(NamedTuple):
    """A part of the arguments: the item or attribute `key` (`access` "[]" or ".") of the part at row `parent`.

    An argument itself has no parent, and its `key` is its parameter. `content` is an InputLeaf for an input, a
    ContainerForm for a container, a SameObject for an object in an earlier row, and otherwise the value.
    """

    parent: int | None
    access: str
    key: Any
    path: str
    content: Any = None


class InputLeaf(NamedTuple):
    """A float or an array that is an input of the tape: the one with this number."""

    number: int


class SameObject(NamedTuple):
    """The same object as at another row."""

    row: int


class ContainerForm(NamedTuple):
    """The class of a container, and its keys, indices or attribute names."""

    cls: type
    keys: tuple[Any, ...]

    @classmethod
    def by(cls, value: Any) -> ContainerForm:
        """Describe the container `value`: its class, and its keys, indices or attribute names."""
        kind = type(value)
        if issubclass(kind, dict):
            return cls(kind, tuple(value))
        return cls(kind, tuple(range(len(value))) if issubclass(kind, (list, tuple)) else tuple(namespace(value)))

    def __str__(self) -> str:
        return f"a {self.cls.__name__} of {', '.join(map(repr, self.keys)) if self.cls is dict else len(self.keys)}"


class Arguments(NamedTuple):
    """The `rows` of the arguments that a function was traced on, the parameters' names, and the tape's inputs.

    `names` are the parameters passed by position, `keyword_only` those passed by keyword only.
    """

    rows: tuple[ArgumentRow, ...]
    names: tuple[str, ...]
    keyword_only: tuple[str, ...]
    inputs: tuple[Variable, ...]

    @property
    def are_leaves(self) -> bool:
        """Whether each argument is itself an input, passed by position."""
        return all(type(row.content) is InputLeaf for row in self.rows) and not self.keyword_only

    @property
    def signature(self) -> inspect.Signature:
        """The signature of a function that takes these arguments."""
        of = inspect.Parameter
        by_position = [of(name, of.POSITIONAL_OR_KEYWORD) for name in self.names]
        return inspect.Signature([*by_position, *(of(name, of.KEYWORD_ONLY) for name in self.keyword_only)])

    def leaves_of(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Find the inputs of the tape in these arguments.

        Errors: StaleTapeError if the arguments have another structure, or a value without derivative has changed.
        """
        try:
            given = self.signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise StaleTapeError(f"the tape takes its function's arguments, {self.signature}: {error}") from None
        found: list[Any] = []
        for row in self.rows:
            found.append(given[row.key] if row.parent is None else _part_of(found[row.parent], row))
            _check_row(row, found[-1])
        for row, value in zip(self.rows, found, strict=True):
            if type(row.content) is SameObject and value is not found[row.content.row]:
                raise StaleTapeError(f"{row.path} was the object {self.rows[row.content.row].path} when recorded")
        pairs = zip(self.rows, found, strict=True)
        leaves = {row.content.number: value for row, value in pairs if type(row.content) is InputLeaf}
        return tuple(leaves[k] for k in range(len(self.inputs)))


def _part_of(value: Any, row: ArgumentRow) -> Any:
    """Read the part of the container `value` that a row describes."""
    try:
        return value[row.key] if row.access == "[]" else getattr(value, row.key)
    except (LookupError, AttributeError):
        raise StaleTapeError(f"{row.path} was there when recorded, now it is missing") from None


def _check_row(row: ArgumentRow, value: Any) -> None:
    now = ContainerForm.by(value) if type(row.content) is ContainerForm else value
    if (type(row.content) is ContainerForm or is_checked(row)) and not _equals_recorded(now, row.content):
        raise StaleTapeError(
            f"{row.path} was {describe_recorded(row.content)} when recorded, now it is {describe_recorded(now)}\n"
            "  fix: trace the function again on these arguments"
        )


def _equals_recorded(value: Any, recorded: Any) -> bool:
    if isinstance(recorded, np.ndarray):
        return type(value) is type(recorded) and value.dtype == recorded.dtype and np.array_equal(value, recorded)
    return type(value) is type(recorded) and bool(value == recorded)


def describe_recorded(recorded: Any) -> str:
    """Describe a value, or a container, for a message."""
    return in_line(str(recorded) if type(recorded) is ContainerForm else value_text(recorded))


def is_checked(row: ArgumentRow) -> bool:
    """Whether a row's value must be equal when the tape is played; other objects without floats are not checked."""
    return isinstance(row.content, _CHECKED)


def rows_of(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> RowsAndValues:
    """Make the rows of a call's arguments, and list their values.

    None if only user code can read a part, or there are too many parts.
    """
    keys: list[Any] = [*range(len(args)), *kwargs]
    rows = [ArgumentRow(None, "", key, key if isinstance(key, str) else f"argument {key + 1}") for key in keys]
    values: list[Any] = [*args, *kwargs.values()]
    seen: dict[int, int] = {}
    for k, value in enumerate(values):  # which grows
        form = None if is_inexact(value) else form_of(type(value))
        if form is None:
            rows[k] = rows[k]._replace(content=value)
            continue
        if id(value) in seen:
            rows[k] = rows[k]._replace(content=SameObject(seen[id(value)]))
            continue
        seen[id(value)] = k
        if not _reads_without_user_code(type(value)) or len(values) > _MAX_ROWS:
            return None
        rows[k] = rows[k]._replace(content=ContainerForm.by(value))
        for text, access, key, part in _keyed_parts(value, form):
            rows.append(ArgumentRow(k, access, key, rows[k].path + text))
            values.append(part)
    return rows, values


def _reads_without_user_code(cls: type) -> bool:
    """Whether reading items and attributes of a class runs no user code."""
    names = {
        name
        for base in cls.__mro__
        if base.__module__ not in ("builtins", "collections", "types")
        for name in vars(base)
    }
    reading = {"__getitem__", "__len__", "__iter__"} if issubclass(cls, (list, tuple, dict)) else set()
    return cls is not CellType and not names & {"__getattribute__", *reading}


def _keyed_parts(value: Any, form: Any) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield the parts of a container: each one's text in a path, "[]" or ".", its key, and the part."""
    if form.items is tuple:
        for k, ((write, key), part) in enumerate(zip(tuple_steps(value), tuple.__iter__(value), strict=False)):
            yield write(key), "[]", k, part
        return
    for shelf in shelves(value, form):
        for key in shelf.keys:
            text = shelf.write(key)
            attribute = text.startswith(".")
            yield text, "." if attribute else "[]", text[1:] if attribute else key, shelf.load(shelf.holder, key)


def arguments_of(
    f: Callable[..., Any], rows_before: RowsAndValues, paths: Iterable[str], ops: Iterable[Op]
) -> Arguments | None:
    """Make the Arguments of a tape, from the result of `rows_of` before the call and the inputs' `paths`.

    None if the rows do not lead to all inputs.
    """
    if rows_before is None:
        return None
    rows, values = rows_before
    numbers = {path: k for k, path in enumerate(paths)}
    arrays: dict[int, int] = {}
    for k, (row, value) in enumerate(zip(rows, values, strict=True)):
        if is_inexact(value) and row.path in numbers:
            rows[k] = row._replace(content=InputLeaf(numbers[row.path]))
            arrays[id(value)] = k
    for k, (row, value) in enumerate(zip(rows, values, strict=True)):
        if is_inexact(value) and type(row.content) is not InputLeaf:
            if id(value) not in arrays:
                return None
            rows[k] = row._replace(content=SameObject(arrays[id(value)]))
    inputs = tuple(map(Variable, _input_ops(ops)))
    found = sorted(row.content.number for row in rows if type(row.content) is InputLeaf)
    return _with_parameter_names(f, rows, inputs) if found == [*range(len(inputs))] else None


def _with_parameter_names(
    f: Callable[..., Any], rows: list[ArgumentRow], inputs: tuple[Variable, ...]
) -> Arguments | None:
    """Make the Arguments, named by f's parameters; a keyword argument is positional, too, if f has it so.

    None if a name is not a valid identifier.
    """
    keys = [row.key for row in rows if row.parent is None]
    parameters, given = named_parameters(f), [key for key in keys if isinstance(key, str)]
    names = [parameters[k] if k < len(parameters) else f"x{k + 1}" for k in range(len(keys) - len(given))]
    for name in parameters[len(names) :]:
        if name not in given:
            break
        names.append(name)
    if not all(map(is_name, (*names, *given))):
        return None
    rows = [row._replace(path=re.sub(r"^argument (\d+)", lambda k: names[int(k[1]) - 1], row.path)) for row in rows]
    rows = [row._replace(key=names[row.key]) if row.parent is None and type(row.key) is int else row for row in rows]
    return Arguments(tuple(rows), tuple(names), tuple(name for name in given if name not in names), inputs)


def current_arguments(arguments: Arguments | None, ops: Iterable[Op]) -> Arguments | None:
    """Return `arguments` if they are those of a tape of these ops; None if the tape's inputs have changed since."""
    return None if arguments is None or [v.op for v in arguments.inputs] != _input_ops(ops) else arguments


def _input_ops(ops: Iterable[Op]) -> list[Op]:
    return [op for op in ops if isinstance(op, Input) and not op.callee]


def bind_inputs(
    arguments: Arguments | None, ops: Iterable[Op], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Return the inputs of a tape of these ops, passed as its function's arguments or one by one.

    They are taken one by one if all are floats or arrays, without keywords.
    """
    arguments = current_arguments(arguments, ops)
    if arguments is None or (not kwargs and (arguments.are_leaves or all(map(is_inexact, args)))):
        if kwargs:
            raise StaleTapeError(f"the tape takes its inputs by position, not {', '.join(kwargs)}=")
        return args
    return arguments.leaves_of(args, kwargs)
