"""Compute selections such as x[mask] on all items, so that one code serves each number of chosen items.

A selection is replaced by the whole array, in which the items that are not chosen are copies of a chosen one: where a
function of the chosen items is defined, that of the others is, too. Sums leave the others out. The guard on the number
of chosen items goes.

A selection that is used in other ways stays as recorded, with its guard, and so do all that are made at its line.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from wengert.compiling.constants import outcome_key
from wengert.compiling.guard_check import check_guards_kept, count_guards
from wengert.compiling.loops import lowering
from wengert.compiling.loops.adjoint_loops import dependents
from wengert.compiling.loops.deferred_reverse import Reverse
from wengert.compiling.ops import info
from wengert.compiling.selections.calls import BEGINNING, TESTS, SelectionHandler, handler_of
from wengert.compiling.selections.values import (
    ChosenPlaces,
    KeptAsRecordedError,
    Lines,
    Selection,
    SelectionCode,
    chosen_lines,
)
from wengert.compiling.tape_rewriter import inputs_first
from wengert.compiling.watched.marks import Head, Join
from wengert.tape.ops import Call, Variable, value_of
from wengert.values.sites import Site
from wengert.values.specs import is_inexact


def lengths_by_line(tape: Any) -> dict[Site | None, tuple[int, ...]]:
    """Return the lengths of the selections on a tape, by the lines that make them."""
    found: dict[Site | None, tuple[int, ...]] = {}
    for op in tape.calls:
        if op.guard and op.fn is np.shape and op.val and _is_choice(op.args[0].op):
            line = op.args[0].op.site
            found[line] = (*found.get(line, ()), op.val[0])
    return found


def lines_with_lengths(tape: Any) -> set[Site | None]:
    """Return the lines whose selections have several lengths on a tape, by masks that depend on its parameters."""
    lines = {line for line, found in lengths_by_line(tape).items() if len({*found}) > 1}
    if not lines:
        return lines
    active = {v.op for op in tape.calls if type(op.fn) is Reverse for v in op.args[: op.fn.inputs]}
    active = dependents([*tape], active)
    masks = [(op.site, v.op) for op in tape.calls if _is_choice(op) for v in op.references()]
    return lines & {line for line, op in masks if op in active and not is_inexact(op.val)}


def _is_choice(op: Any) -> bool:
    return isinstance(op, Call) and info(op.fn).name in ("getitem", "getfield", "flatnonzero")


def make_whole(tape: Any, lines: Collection[Site | None]) -> Any:
    """Return a tape without the selections of these lines where possible, and without the guards on their lengths."""
    lengths = lengths_by_line(tape)
    kept = lengths.keys() - lines
    changing: dict[Any, Lines] = {}
    while not kept.issuperset(lengths):
        whole = {line: frozenset(found) for line, found in lengths.items() if line not in kept}
        made = _WholeTape(tape, kept, whole, changing)
        try:
            with np.errstate(all="ignore"):
                return check_guards_kept([*tape], made.run(), made.answered)
        except _MaskChangesError:
            continue
        except KeptAsRecordedError as error:
            if kept.issuperset(error.lines):
                break
            kept |= error.lines
        except Exception as error:
            lowering.warn_of_bug(error)
            break
    return tape


class _MaskChangesError(Exception):
    """A loop changes the mask of a selection in its state."""


class _WholeTape(SelectionCode):
    """The new tape: `table` has what stands for it in place of the variable of a selection.

    The selections of the lines `kept` stay as recorded; those of the others have these `lengths`. The loops change the
    masks of the variables `changing`, chosen at these lines.
    """

    def __init__(
        self,
        tape: Any,
        kept: set[Site | None],
        lengths: Mapping[Site | None, frozenset[int]],
        changing: dict[Any, Lines],
    ) -> None:
        super().__init__(tape)
        self.changing = changing
        self.kept, self.lengths, self.answered = kept, lengths, Counter[Any]()
        self.read_by_marks: dict[Any, tuple[int, Lines]] = {}  # how many variables, and where these were chosen
        self.kinds_at_heads: dict[Any, type] = {}
        self.masks_at_heads: dict[Any, int] = {}  # of selections in the state of a loop

    def run(self) -> Any:
        """Return the new tape."""
        for op in inputs_first(self.old):
            if not isinstance(op, Call):
                self.push(op)
            elif op.guard:
                self._guard(op)
            else:
                self._call(op)
        self._refuse([self.old.result])
        return self.finished()

    def _call(self, op: Call) -> None:
        handler, selections = handler_of(op), self._selections(op.references())
        made = None
        if selections or (handler in BEGINNING and op.site not in self.kept):
            made = handler and self._handled(op, handler)
            if (made is None and selections) or (made is not None and not _may_stand_for(made, op.val)):
                raise KeptAsRecordedError(chosen_lines([*selections, made]) or frozenset([op.site]))
        if made is None:
            self._copy(op)
        else:
            self.table[op] = made

    def _handled(self, op: Call, handler: SelectionHandler) -> Any:
        args, kwargs = self._argument(op.args), {name: self._argument(a) for name, a in op.kwargs.items()}
        try:
            inspect.signature(handler).bind(self, op, *args, **kwargs)
        except TypeError:  # another argument, such as `out`
            return None
        try:
            return handler(self, op, *args, **kwargs)
        except (TypeError, ValueError, IndexError):  # NumPy does not take whole arrays here
            return None

    def _argument(self, a: Any) -> Any:
        """Return what replaces an argument; a Mask for an array of bools."""
        if type(a) in (tuple, list):
            return type(a)(map(self._argument, a))
        if type(a) is not Variable:
            return a
        op: Any = a.op
        found = self.table[op]
        is_mask = isinstance(op.val, np.ndarray) and op.val.dtype == bool and op.val.ndim
        return self.mask(found) if is_mask and type(found) is Variable else found

    def _guard(self, op: Call) -> None:
        """Append a guard, or a mark; leave out one on the shape of a selection."""
        selections = self._selections(op.references())
        if not selections:
            self.push(op)
        elif op.fn is np.shape:
            self.answered += count_guards([op])
        elif isinstance(op.fn, Join):
            self._join(op)
        elif isinstance(op.fn, Head):
            self._begin(op)
        else:
            handler = handler_of(op)
            made: Any = self._handled(op, handler) if handler in TESTS else None
            if made is None or outcome_key(value_of(made)) != outcome_key(op.val):
                raise KeptAsRecordedError(chosen_lines(selections))
            made.op.guard = True

    def _begin(self, op: Call) -> None:
        """Append a mark where an iteration begins; the masks that the loop changes are among the variables, too."""
        read, masks = list[Any](), list[Any]()
        for k, v in enumerate(op.references()):
            x, place = self.table[v.op], (op.fn.loop.key, op.fn.form, k)
            if self.kinds_at_heads.setdefault(place, type(x)) is not type(x):
                raise KeptAsRecordedError(self.changing.get(place, frozenset()) | chosen_lines([x]))
            if isinstance(x, (Selection, ChosenPlaces)) and x.mask.places is not None:
                masks.append(x.mask.places)
            if type(x) is Selection:
                if place in self.changing:
                    masks.append(x.mask.array)
                elif self.masks_at_heads.setdefault((op.fn.loop, *place[1:]), x.mask.number) != x.mask.number:
                    self.changing[place] = x.lines
                    raise _MaskChangesError
            read += self._arrays(x)[:1]
        end = len(read) - bool(op.fn.number)
        self._append_mark(op, [*read[:end], *masks, *read[end:]])

    def _arrays(self, x: Any) -> list[Any]:
        """Return the arrays of which a selection is made, or places are; a variable itself."""
        if type(x) not in (Selection, ChosenPlaces):
            return [x]
        whole = [x.whole] if type(x) is Selection else []
        return [*whole, x.mask.array, *([] if x.mask.places is None else [x.mask.places])]

    def _append_mark(self, op: Call, read: list[Any]) -> None:
        if not all([type(x) is Variable for x in read]):
            self._refuse(op.references())
        self.table[op] = self.new.push(Call(op.fn, read, val=None, site=op.site, guard=True))

    def _join(self, op: Call) -> None:
        """Append a mark where paths join, with the arrays of which a selection is made in place of it."""
        read = [array for v in op.references() for array in self._arrays(self.table[v.op])]
        lines = chosen_lines(self._selections(op.references()))
        usual, others = self.read_by_marks.setdefault((op.fn.loop, op.fn.key), (len(read), lines))
        if len(read) != usual:
            raise KeptAsRecordedError(lines | others)
        self._append_mark(op, read)

    def _copy(self, op: Call) -> None:
        self.push(op)
        if info(op.fn).name in _TAKING_SIZES:  # which may be the length of a selection
            parts = [part for a in (*op.args, *op.kwargs.values()) for part in (a if type(a) is tuple else (a,))]
            unexplained = {n for n in parts if type(n) is int}.intersection(np.shape(op.val))
            lines = frozenset([line for line, lengths in self.lengths.items() if not lengths.isdisjoint(unexplained)])
            if lines:
                raise KeptAsRecordedError(lines)

    def _selections(self, variables: Any) -> list[Any]:
        """Return what stands for the selections among these variables."""
        found = [self.table[v.op] for v in variables]
        parts = [x for each in found for x in (each if type(each) is tuple else (each,))]
        return [x for x in parts if type(x) is not Variable]

    def _refuse(self, variables: Any) -> None:
        """Keep the selections among these variables as recorded."""
        if selections := self._selections(variables):
            raise KeptAsRecordedError(chosen_lines(selections))


_TAKING_SIZES = {"broadcast_to", "full", "zeros", "ones", "empty", "reshape"}


def _may_stand_for(made: Any, value: Any) -> bool:
    """Whether what stands for a value has its type, and its shape but for the length of a selection."""
    if type(made) not in (Selection, Variable):
        return True
    found = value_of(made.whole if type(made) is Selection else made)
    of_items = len(made.mask.shape) if type(made) is Selection else 0
    is_alike = np.shape(found)[of_items:] == np.shape(value)[of_items > 0 :]
    is_alike &= getattr(found, "dtype", None) == getattr(value, "dtype", None)
    return is_alike and type(found) is type(value)
