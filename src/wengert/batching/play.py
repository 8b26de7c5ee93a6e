"""Play a program on all examples at once: run each call of its tape on the batch, by its batching rule."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.batching.agreement import all_equal_recorded, all_finite, each_is_complex
from wengert.batching.axes import Examples, Shared
from wengert.batching.example import Program
from wengert.errors import WengertError
from wengert.rulebook.batched import batched, example, outcomes
from wengert.rulebook.batching import Batch
from wengert.tape.ops import Call, Constant, Input, Variable, references, substituted, value_of
from wengert.tape.schedules import schedule
from wengert.values.functional import WINDOWED, Path, getfield, raises
from wengert.values.sites import Site
from wengert.values.structures import is_structure, keyed_parts, with_parts


class DiffersError(Exception):
    """The examples do not all run like the first one; `site` is the user's line that finds it.

    `agree` says for each example whether it takes the first one's branch there; None if that is not what differs.
    """

    def __init__(self, why: str, site: Site | None, agree: np.ndarray | None = None) -> None:
        super().__init__(why if site is None else f"{site}: {why}")
        self.agree = agree


def play_batched(program: Program, size: int, call: Callable[..., Any]) -> Any:
    """Return the result of a program, with an Examples or a Shared for each leaf; `call` runs its computations.

    Errors: DiffersError if an example runs differently from the first.
    """
    ops, _, _, dead, _ = schedule(program.tape, ())
    sources = iter(program.sources)
    table = _Table(size, call)
    kept = {v.id for v in _result_variables(program.result)}
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
    return _marked_result(program.result, table)


def _result_variables(result: Any) -> list[Variable]:
    if isinstance(result, Variable):
        return [result]
    if isinstance(result, Shared) or not is_structure(result):
        return []
    return [v for _, _, part in keyed_parts(result) for v in _result_variables(part)]


def _marked_result(result: Any, table: _Table) -> Any:
    """Return the result with marks for its leaves."""
    if isinstance(result, Variable):
        value, is_batch = table.values[result.id]
        return Examples(table.own(value)) if is_batch else Shared(value)
    if isinstance(result, Shared) or not is_structure(result):
        return result
    return with_parts(result, [_marked_result(part, table) for _, _, part in keyed_parts(result)])


class _Table:
    """The values of a tape's ops, each with a bool: whether the examples are on its first axis."""

    def __init__(self, size: int, call: Callable[..., Any]) -> None:
        self.size, self.call = size, call
        self.values: dict[int, tuple[Any, bool]] = {}
        self.batches: list[np.ndarray] = []

    def put(self, position: int, value: Any, is_batch: bool) -> None:
        """Store the value of an op."""
        self.values[position] = value, is_batch
        if is_batch:
            self.batches.append(value)

    def own(self, value: np.ndarray) -> np.ndarray:
        """Copy a value if it is read-only or may share memory with the arguments."""
        if value.flags.owndata and value.flags.writeable and not any([value is batch for batch in self.batches]):
            return value
        made: np.ndarray = self.call(np.copy, value)
        return made

    def value_at(self, v: Variable) -> Any:
        """Return the value of a Variable."""
        return self.values[v.id][0]

    def is_batch_at(self, tree: Any) -> Any:
        """Whether an argument has the examples on its first axis; a tuple of answers if an item of a sequence has."""
        if isinstance(tree, Variable):
            return self.values[tree.id][1]
        if isinstance(tree, slice):
            tree = (tree.start, tree.stop, tree.step)
        if not isinstance(tree, tuple | list):
            return any([self.values[v.id][1] for v in references(tree)])
        parts = tuple([self.is_batch_at(part) for part in tree])
        return parts if any(parts) else False

    def run(self, position: int, op: Call) -> None:
        """Run one op on the batch, or once if it does not depend on the examples."""
        if isinstance(op.fn, Variable):
            raise DiffersError("the code computes the function that it calls here", op.site)
        _, args, kwargs = substituted(op, self.value_at)
        axes = tuple([self.is_batch_at(arg) for arg in op.args])
        batch_keywords = tuple([name for name, arg in op.kwargs.items() if self.is_batch_at(arg)])
        if op.guard:
            self._check_guard(op, args, kwargs, axes, batch_keywords)
            self.values[position] = op.val, False
        elif any(axes) or batch_keywords:
            try:
                self.values[position] = self._on_batch(op, args, kwargs, axes, batch_keywords), True
            except (TypeError, ValueError) as error:  # a shape or dtype is another one for some examples
                if isinstance(error, WengertError):
                    raise
                raise DiffersError(str(error), op.site) from None
        else:
            self.values[position] = self.call(op.fn, *args, **kwargs), False

    def _on_batch(self, op: Call, args: Any, kwargs: Any, axes: Any, batch_keywords: Any) -> Any:
        strides = value_of(op.args[0]).strides if op.fn in WINDOWED else None
        made = batched(self.call, op.fn, args, kwargs, axes, self.size, batch_keywords, strides)
        if op.fn in (np.linalg.eig, np.linalg.eigvals):
            self._all_complex(made, op)
        return self._as_recorded(made, op)

    def _all_complex(self, made: Any, op: Call) -> None:
        """Check that each example has complex eigenvalues, if one has: the batch has a single dtype."""
        values = made if isinstance(made, np.ndarray) else made[0]
        if np.iscomplexobj(values) and not self.call(each_is_complex, values):
            raise DiffersError("the values here have different shapes or types for different examples", op.site)

    def _as_recorded(self, made: Any, op: Call) -> Any:
        """Convert a batched value to the dtype of the recorded example: NumPy promotes Python numbers differently."""
        if not isinstance(made, np.ndarray) or not isinstance(op.val, np.ndarray | np.generic | float | complex | int):
            return made
        recorded = np.asarray(op.val)
        if made.shape[1:] != recorded.shape or (made.dtype.kind == "c") != (recorded.dtype.kind == "c"):
            raise DiffersError("the values here have different shapes or types for different examples", op.site)
        if (
            isinstance(op.val, float | complex | int)
            and not isinstance(op.val, np.generic)
            and not self.call(all_finite, made)
        ):
            raise DiffersError("a Python number becomes infinite or nan, for which Python may raise an error", op.site)
        return made if made.dtype == recorded.dtype else self.call(np.ndarray.astype, made, recorded.dtype)

    def _check_guard(self, op: Call, args: Any, kwargs: Any, axes: Any, batch_keywords: Any) -> None:
        """Check a guard for each example. Shapes and kinds are the same for all, since each op checks them."""
        if op.fn is getattr or (op.fn is getfield and type(op.args[1]) is Path):
            found = args[0].flags.writeable if op.fn is getfield else args[0].strides[1 if axes[0] else 0 :]
            if found != op.val:
                raise DiffersError("the code reads an array's memory layout", op.site)
            return
        if op.fn is np.shares_memory:  # the same for all examples, which have the same memory layout
            return
        if op.fn in (operator.is_, operator.is_not) or (op.fn is raises and op.val is None):
            raise DiffersError("the code tests whether objects are identical, or whether arithmetic raises", op.site)
        if not any(axes) and not batch_keywords:
            found = [self.call(op.fn, *args, **kwargs)]
        elif op.fn in _OF_KIND and axes[0] is True:
            if op.fn is not type and op.fn(example(args[0], True, 0, True)) != op.val:
                raise DiffersError("the values here have different shapes or types for different examples", op.site)
            return
        else:
            found = outcomes(self.call, Batch(op.fn, self.size, axes, batch_keywords), args, kwargs)
        if not all([self.call(all_equal_recorded, x, op.val) for x in (found if isinstance(found, list) else [found])]):
            why = "the examples take different branches here. Use np.where instead of `if`"
            agree = np.array([all_equal_recorded(x, op.val) for x in found])
            raise DiffersError(why, op.site, agree if len(agree) == self.size else None)


_OF_KIND = {type, np.shape, np.ndim, np.result_type, np.iscomplexobj, np.isrealobj}
