"""A program on all examples at once: each call of its tape is made on the batch, as batching rules have it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.batching.agreement import agree, are_complex, are_finite
from wengert.batching.axes import Examples, Shared, like, parts_of
from wengert.batching.example import Program
from wengert.rulebook.batching import Batch, batched, example, outcomes
from wengert.tape.ops import Call, Constant, Input, Variable, references, value_of, with_variables
from wengert.tape.schedules import schedule
from wengert.values.functional import WINDOWED, Path, getfield, raises
from wengert.values.sites import Site

Caller = Callable[..., Any]


class DiffersError(Exception):
    """The examples do not all run as the first one did; `site` is the user's line where that shows."""

    def __init__(self, why: str, site: Site | None) -> None:
        super().__init__(why if site is None else f"{site}: {why}")


def play_batched(program: Program, size: int, call: Caller) -> Any:
    """The result of a program, with an Examples or a Shared for each leaf; `call` runs what is computed.

    Errors: DiffersError.
    """
    ops, _, _, dead, _ = schedule(program.tape, ())
    sources = iter(program.sources)
    table = _Table(size, call)
    kept = {v.id for v in _variables(program.result)}
    for position, op in enumerate(ops, 1):
        if isinstance(op, Input):
            table.put(position, *next(sources))
        elif isinstance(op, Constant):
            table.put(position, op.val, False)
        elif isinstance(op, Call) and op is not program.tape.result.op:
            table.run(position, op)
        for k in dead[position]:
            if k not in kept:
                del table.values[k]
    return _result(program.result, table)


def _variables(result: Any) -> list[Variable]:
    if isinstance(result, Variable):
        return [result]
    if isinstance(result, Shared) or not isinstance(result, list | tuple | dict):
        return []
    return [v for _, _, part in parts_of(result) for v in _variables(part)]


def _result(result: Any, table: _Table) -> Any:
    """The result with marks for its leaves."""
    if isinstance(result, Variable):
        value, on = table.values[result.id]
        return Examples(table.own(value)) if on else Shared(value)
    if isinstance(result, Shared) or not isinstance(result, list | tuple | dict):
        return result
    return like(result, [_result(part, table) for _, _, part in parts_of(result)])


class _Table:
    """The values of a tape's ops, each with whether it has the examples on its first axis."""

    def __init__(self, size: int, call: Caller) -> None:
        self.size, self.call = size, call
        self.values: dict[int, tuple[Any, bool]] = {}
        self.given: list[np.ndarray] = []

    def put(self, position: int, value: Any, on: bool) -> None:
        """Note the value of an op."""
        self.values[position] = value, on
        if on:
            self.given.append(value)

    def own(self, value: np.ndarray) -> np.ndarray:
        """A value that shares no memory with the arguments, and can be written."""
        if value.flags.owndata and value.flags.writeable and not any([value is given for given in self.given]):
            return value
        made: np.ndarray = self.call(np.copy, value)
        return made

    def value_at(self, v: Variable) -> Any:
        """The value of a Variable."""
        return self.values[v.id][0]

    def on_at(self, tree: Any) -> Any:
        """Whether an argument has the examples on its first axis; a tuple for the parts of a sequence that does."""
        if isinstance(tree, Variable):
            return self.values[tree.id][1]
        if isinstance(tree, slice):
            tree = (tree.start, tree.stop, tree.step)
        if not isinstance(tree, tuple | list):
            return any([self.values[v.id][1] for v in references(tree)])
        parts = tuple([self.on_at(part) for part in tree])
        return parts if any(parts) else False

    def run(self, position: int, op: Call) -> None:
        """Run one op on the batch, or once where nothing in it depends on the example."""
        if isinstance(op.fn, Variable):
            raise DiffersError("a function that it computes is called", op.site)
        args, kwargs = with_variables(op.args, self.value_at), with_variables(op.kwargs, self.value_at)
        axes = tuple([self.on_at(arg) for arg in op.args])
        named = tuple([name for name, arg in op.kwargs.items() if self.on_at(arg)])
        if op.guard:
            self._ask(op, args, kwargs, axes, named)
            self.values[position] = op.val, False
        elif any(axes) or named:
            self.values[position] = self._on_batch(op, args, kwargs, axes, named), True
        else:
            self.values[position] = self.call(op.fn, *args, **kwargs), False

    def _on_batch(self, op: Call, args: Any, kwargs: Any, axes: Any, named: Any) -> Any:
        strides = value_of(op.args[0]).strides if op.fn in WINDOWED else None
        made = batched(self.call, op.fn, args, kwargs, axes, self.size, named, strides)
        if op.fn in (np.linalg.eig, np.linalg.eigvals):
            self._all_complex(made, op)
        return self._as_recorded(made, op)

    def _all_complex(self, made: Any, op: Call) -> None:
        """Check that the eigenvalues are complex for each example, if for one: together they have one dtype."""
        values = made if isinstance(made, np.ndarray) else made[0]
        if np.iscomplexobj(values) and not self.call(are_complex, values):
            raise DiffersError("the shapes or kinds of its values differ between the examples", op.site)

    def _as_recorded(self, made: Any, op: Call) -> Any:
        """The value of an op in the dtype that it has for one example: a float of Python's leaves that of others."""
        if not isinstance(made, np.ndarray) or not isinstance(op.val, np.ndarray | np.generic | float | complex | int):
            return made
        recorded = np.asarray(op.val)
        if made.shape[1:] != recorded.shape or (made.dtype.kind == "c") != (recorded.dtype.kind == "c"):
            raise DiffersError("the shapes or kinds of its values differ between the examples", op.site)
        if (
            isinstance(op.val, float | complex | int)
            and not isinstance(op.val, np.generic)
            and not self.call(are_finite, made)
        ):
            raise DiffersError("numbers of Python's leave what is finite, where Python may raise an error", op.site)
        return made if made.dtype == recorded.dtype else self.call(np.ndarray.astype, made, recorded.dtype)

    def _ask(self, op: Call, args: Any, kwargs: Any, axes: Any, named: Any) -> None:
        """Ask a guard for each example. Shapes and kinds, which each op is checked for, are the same for all."""
        if op.fn is getattr or (op.fn is getfield and type(op.args[1]) is Path):
            raise DiffersError("how an array lies in memory is asked for", op.site)
        if op.fn in (operator.is_, operator.is_not) or (op.fn is raises and op.val is None):
            raise DiffersError(
                "whether things are the same object, or raise errors of arithmetic, is asked for", op.site
            )
        if op.fn is np.shares_memory:  # as views and copies of examples that lie alike do alike
            return
        if not any(axes) and not named:
            found = [self.call(op.fn, *args, **kwargs)]
        elif op.fn in _OF_KIND and axes[0] is True:
            if op.fn is not type and op.fn(example(args[0], True, 0, True)) != op.val:
                raise DiffersError("the shapes or kinds of its values differ", op.site)
            return
        else:
            found = outcomes(self.call, Batch(op.fn, self.size, axes, named), args, kwargs)
        if not all([self.call(agree, x, op.val) for x in (found if isinstance(found, list) else [found])]):
            raise DiffersError("the examples decide differently here", op.site)


_OF_KIND = {type, np.shape, np.ndim, np.result_type, np.iscomplexobj, np.isrealobj}
