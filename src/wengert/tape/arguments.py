"""The inputs of a tape, found in the arguments of the traced function, which are taken apart row by row."""

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

Told = tuple[list["Row"], list[Any]] | None

_CHECKED = (int, str, bytes, type(None), np.integer, np.bool_, np.ndarray, np.dtype, slice, range, type(...))
_MOST = 1000  # parts that are told in rows


class Row(NamedTuple):
    """A part of the arguments: item or attribute (`how` is "[]" or ".") `key` of the part at row `parent`.

    An argument itself has no parent, and its `key` is its parameter. `what` is the number of the input for a leaf, a
    Held for a container, an Again for one that was met before, and else the value.
    """

    parent: int | None
    how: str
    key: Any
    path: str
    what: Any = None


class Leaf(NamedTuple):
    """A number or an array: the input of the tape of this number."""

    number: int


class Again(NamedTuple):
    """The very object that stands at another row."""

    row: int


class Held(NamedTuple):
    """A container of this class, with these keys, indices or names of attributes."""

    cls: type
    keys: tuple[Any, ...]

    @classmethod
    def by(cls, value: Any) -> Held:
        """Describe `value` as a container: its class, and its keys, positions or attributes."""
        kind = type(value)
        if issubclass(kind, dict):
            return cls(kind, tuple(value))
        return cls(kind, tuple(range(len(value))) if issubclass(kind, (list, tuple)) else tuple(namespace(value)))

    def __str__(self) -> str:
        return f"a {self.cls.__name__} of {', '.join(map(repr, self.keys)) if self.cls is dict else len(self.keys)}"


class Arguments(NamedTuple):
    """The `rows` of the arguments that a function was traced on, the parameters' names, and the tape's inputs.

    `names` are of those given by position; `words` of those by keyword only.
    """

    rows: tuple[Row, ...]
    names: tuple[str, ...]
    words: tuple[str, ...]
    inputs: tuple[Variable, ...]

    @property
    def are_leaves(self) -> bool:
        """Whether each argument is an input itself, given by position."""
        return all(type(row.what) is Leaf for row in self.rows) and not self.words

    @property
    def signature(self) -> inspect.Signature:
        """That of a function which takes them."""
        of = inspect.Parameter
        by_position = [of(name, of.POSITIONAL_OR_KEYWORD) for name in self.names]
        return inspect.Signature([*by_position, *(of(name, of.KEYWORD_ONLY) for name in self.words)])

    def leaves_of(self, args: tuple[Any, ...], words: Mapping[str, Any]) -> tuple[Any, ...]:
        """The inputs of the tape that stand in these arguments.

        Errors: StaleTapeError where they are of another structure, or a value without derivative is another one.
        """
        try:
            given = self.signature.bind(*args, **words).arguments
        except TypeError as error:
            raise StaleTapeError(f"the tape takes its function's arguments, {self.signature}: {error}") from None
        found: list[Any] = []
        for row in self.rows:
            found.append(given[row.key] if row.parent is None else _part_of(found[row.parent], row))
            _check(row, found[-1])
        for row, value in zip(self.rows, found, strict=True):
            if type(row.what) is Again and value is not found[row.what.row]:
                raise StaleTapeError(f"{row.path} was the object {self.rows[row.what.row].path} when recorded")
        leaves = {row.what.number: value for row, value in zip(self.rows, found, strict=True) if type(row.what) is Leaf}
        return tuple(leaves[k] for k in range(len(self.inputs)))


def _part_of(value: Any, row: Row) -> Any:
    """The part of a container that a row speaks of."""
    try:
        return value[row.key] if row.how == "[]" else getattr(value, row.key)
    except (LookupError, AttributeError):
        raise StaleTapeError(f"{row.path} was there when recorded, now it is missing") from None


def _check(row: Row, value: Any) -> None:
    now = Held.by(value) if type(row.what) is Held else value
    if (type(row.what) is Held or is_checked(row)) and not _same(now, row.what):
        raise StaleTapeError(
            f"{row.path} was {said(row.what)} when recorded, now it is {said(now)}\n"
            "  fix: trace the function again on these arguments"
        )


def _same(value: Any, recorded: Any) -> bool:
    if isinstance(recorded, np.ndarray):
        return type(value) is type(recorded) and value.dtype == recorded.dtype and np.array_equal(value, recorded)
    return type(value) is type(recorded) and bool(value == recorded)


def said(recorded: Any) -> str:
    """A value, or a container, in a message."""
    return in_line(str(recorded) if type(recorded) is Held else value_text(recorded))


def is_checked(row: Row) -> bool:
    """Whether a row tells a value that has to be the same again; of other objects without floats nothing is asked."""
    return isinstance(row.what, _CHECKED)


def rows_of(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Told:
    """The rows of the arguments of a call, with the values; None where these cannot be told by items and attributes."""
    keys: list[Any] = [*range(len(args)), *kwargs]
    rows = [Row(None, "", key, key if isinstance(key, str) else f"argument {key + 1}") for key in keys]
    values: list[Any] = [*args, *kwargs.values()]
    seen: dict[int, int] = {}
    for k, value in enumerate(values):  # which grows
        form = None if is_inexact(value) else form_of(type(value))
        if form is None:
            rows[k] = rows[k]._replace(what=value)
            continue
        if id(value) in seen:
            rows[k] = rows[k]._replace(what=Again(seen[id(value)]))
            continue
        seen[id(value)] = k
        if not _is_open(type(value)) or len(values) > _MOST:
            return None
        rows[k] = rows[k]._replace(what=Held.by(value))
        for text, how, key, part in _parts(value, form):
            rows.append(Row(k, how, key, rows[k].path + text))
            values.append(part)
    return rows, values


def _is_open(cls: type) -> bool:
    """Whether items and attributes are read as they lie there, by no code of the user's."""
    names = {
        name
        for base in cls.__mro__
        if base.__module__ not in ("builtins", "collections", "types")
        for name in vars(base)
    }
    reading = {"__getitem__", "__len__", "__iter__"} if issubclass(cls, (list, tuple, dict)) else set()
    return cls is not CellType and not names & {"__getattribute__", *reading}


def _parts(value: Any, form: Any) -> Iterator[tuple[str, str, Any, Any]]:
    """The parts of a container: how a path writes each, whether it is an item or an attribute, its key, and itself."""
    if form.items is tuple:
        for k, ((write, key), part) in enumerate(zip(tuple_steps(value), tuple.__iter__(value), strict=False)):
            yield write(key), "[]", k, part
        return
    for shelf in shelves(value, form):
        for key in shelf.keys:
            text = shelf.write(key)
            attribute = text.startswith(".")
            yield text, "." if attribute else "[]", text[1:] if attribute else key, shelf.load(shelf.holder, key)


def arguments_of(f: Callable[..., Any], told: Told, paths: Iterable[str], ops: Iterable[Op]) -> Arguments | None:
    """The Arguments of a tape of these ops: as `rows_of` told them before the call, the inputs being at these paths.

    None where the rows do not lead to all inputs.
    """
    if told is None:
        return None
    rows, values = told
    numbers = {path: k for k, path in enumerate(paths)}
    arrays: dict[int, int] = {}
    for k, (row, value) in enumerate(zip(rows, values, strict=True)):
        if is_inexact(value) and row.path in numbers:
            rows[k] = row._replace(what=Leaf(numbers[row.path]))
            arrays[id(value)] = k
    for k, (row, value) in enumerate(zip(rows, values, strict=True)):
        if is_inexact(value) and type(row.what) is not Leaf:
            if id(value) not in arrays:
                return None
            rows[k] = row._replace(what=Again(arrays[id(value)]))
    inputs = tuple(map(Variable, _inputs(ops)))
    found = sorted(row.what.number for row in rows if type(row.what) is Leaf)
    return _named(f, rows, inputs) if found == [*range(len(inputs))] else None


def _named(f: Callable[..., Any], rows: list[Row], inputs: tuple[Variable, ...]) -> Arguments | None:
    """The Arguments with the parameters' names; what was given by keyword goes by position, too, where f has it so.

    None where a name is none that can be written.
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


def fitting(arguments: Arguments | None, ops: Iterable[Op]) -> Arguments | None:
    """The Arguments of a tape of these ops; None where it has other inputs by now."""
    return None if arguments is None or [v.op for v in arguments.inputs] != _inputs(ops) else arguments


def _inputs(ops: Iterable[Op]) -> list[Op]:
    return [op for op in ops if isinstance(op, Input) and not op.callee]


def inputs_given(
    arguments: Arguments | None, ops: Iterable[Op], args: tuple[Any, ...], words: Mapping[str, Any]
) -> tuple[Any, ...]:
    """The inputs of a tape of these ops, which are given as its function's arguments or one by one.

    Given one by one they are all leaves; then so are the arguments, or there is another one among these.
    """
    arguments = fitting(arguments, ops)
    if arguments is None or (not words and (arguments.are_leaves or all(map(is_inexact, args)))):
        if words:
            raise StaleTapeError(f"the tape takes its inputs by position, not {', '.join(words)}=")
        return args
    return arguments.leaves_of(args, words)
