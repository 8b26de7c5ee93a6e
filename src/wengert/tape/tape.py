"""Tape: a straight-line program of Inputs, Constants and Calls, and the edits that keep its references right.

Ids are positions from 1, printed %7. Edits are noted where they happen and carried out together when a
position is next asked for, so that n edits through bound Variables cost O(n).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from wengert.errors import TapeError
from wengert.tape import dump as _dump
from wengert.tape import graphs, source, usage
from wengert.tape.arguments import Arguments
from wengert.tape.contexts import Context
from wengert.tape.entries import Slot, fill
from wengert.tape.ops import (
    MISSING,
    Call,
    Constant,
    Home,
    Input,
    Op,
    V,
    Variable,
    misplaced,
    mkcall,
    references,
    value_of,
    with_variables,
)
from wengert.tape.play import play
from wengert.tape.subtapes import subtape
from wengert.values.sites import Site

__all__ = [
    "MISSING", "Call", "Constant", "Context", "Input", "Op", "Slot", "Tape", "V", "Variable",
    "bound", "mkcall", "references", "value_of", "verify", "with_variables",
]  # fmt: skip


class Tape:
    """A straight-line program: a list of ops (Inputs, Constants, Calls), numbered from 1, and which is its result.

    `trace` and `gradtape` make tapes; an empty one may be filled by hand, with `push`. `ctx` is the Context under which
    it is recorded.

    >>> tape = wg.Tape()
    >>> tape.inputs = [2.0]
    >>> tape.result = tape.push(wg.mkcall(np.multiply, tape.inputs[0], 2.0))
    >>> print(tape)
    Tape(Context)
      inp %1::float
      %2 = np.multiply(%1, 2.0)::float64
      return %2
    >>> tape.play(3.0)
    np.float64(6.0)

    Parameters named `v`, `at`, `which` and `result` are Variables of this tape, or positions on it, from 1.
    """

    def __init__(self, ctx: Any = None) -> None:
        self.ctx: Any = Context() if ctx is None else ctx
        self.site: Site | None = None
        self.arguments: Arguments | None = None
        self.graphs: dict[Any, Any] = {}  # the backward graphs that were made of it
        self.renumberings = 0
        self._ops: list[Op] = []
        self._before: dict[Op, list[Op]] = {}
        self._after: dict[Op, list[Op]] = {}
        self._gone: set[Op] = set()
        self._count = 0
        self._result: Variable | None = None
        self._ref = Home(self)

    # -- reading

    def settle(self) -> list[Op]:
        """Carry out the edits noted so far; the ops in order, numbered."""
        if self._before or self._after or self._gone:
            self._ops = list(self._in_order())
            self._gone.clear()
            self._ref.edited = False
            self.renumberings += 1
            for position, op in enumerate(self._ops, 1):
                op._id = position
        return self._ops

    def _in_order(self) -> Iterator[Op]:
        for root in self._ops:
            stack = [root]
            while stack:
                op = stack.pop()
                before, after = self._before.pop(op, ()), self._after.pop(op, ())
                if before or after:
                    stack += [*reversed(after), op, *reversed(before)]
                elif op not in self._gone:
                    yield op

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Op]:
        return iter(list(self.settle()))

    def __getitem__(self, which: Variable | int) -> Op:
        op = which.op if isinstance(which, Variable) else None
        if op is not None:
            if op._home is not self._ref:
                raise misplaced(f"{which} is not on this tape", "use a Variable that this tape's push or insert gave")
            return op
        position = which.id if isinstance(which, Variable) else which
        if not 1 <= position <= self._count:
            raise misplaced(f"%{position} is not on this tape", f"positions run from 1 to {self._count}")
        return self.settle()[position - 1]

    def bound(self, v: Variable | int) -> Variable:
        """A Variable for `v` that follows its op through edits, where a position would not."""
        return Variable(self[v])

    @property
    def inputs(self) -> list[Variable]:
        """The inputs, in order. Assigning values gives them these values; on an empty tape it creates them."""
        return [Variable(op) for op in self.settle() if isinstance(op, Input)]

    @inputs.setter
    def inputs(self, values: Iterable[Any]) -> None:
        values, inputs = list(values), self.inputs
        if not self._count:
            inputs = [self.push(Input()) for _ in values]
        if len(values) != len(inputs):
            raise TapeError(f"this tape has {len(inputs)} inputs, {len(values)} values were given")
        for v, value in zip(inputs, values, strict=True):
            self[v].val = value

    @property
    def calls(self) -> list[Call]:
        """The Calls, guards included, in order."""
        return [op for op in self.settle() if isinstance(op, Call)]

    @property
    def result(self) -> Variable:
        """The Variable of what the tape computes; assign it."""
        if self._result is None:
            raise misplaced("this tape has no result", "set tape.result to one of its Variables")
        return self._result

    @result.setter
    def result(self, v: Variable | int) -> None:
        self._result = self.bound(v)

    def find(self, what: Any = None, *, where: Callable[[Op], bool] | None = None) -> list[Variable]:
        """The ops that are `what`, a function that is called or the name of one; `where(op)` may choose among them."""
        return usage.find(self, what, where)

    def uses(self, v: Variable | int) -> list[Variable]:
        """The ops that read `v`, each once."""
        return usage.uses(self, v)

    def use_counts(self) -> dict[Variable, int]:
        """Count the reads of each value; the result counts as one reader."""
        return usage.use_counts(self)

    def liveness(self) -> usage.Lives:
        """Return the values alive at each line, with their bytes; printed, a table."""
        return usage.lives(self)

    subtape = subtape
    generate_adjoints: Callable[..., Tape]  # of `adjoints.py`, which takes derivatives
    optimise: Callable[..., Tape]  # of `compiling/`, as is
    rolled: Callable[..., Tape]
    _repr_html_: Callable[..., str]  # of `api/tape_page.py`, which shows cotangents
    __signature__ = property(usage.tape_signature)

    # -- editing

    def push(self, op: Op) -> Variable:
        """Append `op`; returns its Variable."""
        if op._home is None and all([self._has(v) for v in op.references()]):
            self._join(op)
        else:
            self._adopt([op], lambda: self._count + 1)
        self._ops.append(op)
        op._id = len(self._ops)
        return Variable(op)

    def insert(self, at: Variable | int, *ops: Op) -> list[Variable]:
        """Put `ops` before the one at `at`; positions that they refer to count as they are afterwards."""
        if not isinstance(at, Variable) and at == self._count + 1:
            return [self.push(op) for op in ops]
        anchor = self[at]
        self._adopt(ops, lambda: anchor.id)
        self._before.setdefault(anchor, []).extend(ops)
        self._ref.edited = True
        return [Variable(op) for op in ops]

    def replace(self, which: Variable | int, *ops: Op, rebind_to: int = -1) -> list[Variable]:
        """Put `ops` in the place of the one at `which`; what referred to it refers to `ops[rebind_to]` from now on.

        The old op may itself be among the new ones: references from these to it stay.
        """
        old = self[which]
        if not ops:
            raise misplaced(f"nothing to replace %{old.id} by", "give at least one op, or use delete")
        if not -len(ops) <= rebind_to < len(ops):
            raise misplaced(
                f"rebind_to={rebind_to}, but there are {len(ops)} new ops", "give an index into the new ops"
            )
        ops = tuple(self._keeping(old, ops))
        self._adopt(ops, lambda: old.id, replaced=old)
        self._after[old] = [*ops, *self._after.get(old, ())]
        self._discard(old)
        old._forward = target = ops[rebind_to]
        target._token = old._token
        return [Variable(op) for op in ops]

    @staticmethod
    def _keeping(old: Op, ops: Sequence[Op]) -> Iterator[Op]:
        """The new ops; if the old one is among them, a copy of it to which the others may refer."""
        kept = old.copy() if any(op is old for op in ops) else None
        for op in ops:
            if kept is not None and op is not old:
                op.rewrite(lambda v: Variable(kept) if v.op is old else v)
            yield kept if kept is not None and op is old else op

    def delete(self, *which: Variable | int, rebind_to: Variable | int | None = None) -> None:
        """Take the ops at `which` off the tape; what reads them reads `rebind_to` from now on.

        Errors: TapeError where something reads them and there is no `rebind_to`.
        """
        gone = {self[v] for v in which}
        heir = None if rebind_to is None else self[rebind_to]
        if heir in gone:
            raise misplaced(f"%{heir.id if heir else 0} is itself deleted", "rebind to an op that stays")
        for op in self.settle():
            dangling = [] if op in gone else [v for v in op.references() if v.op in gone]
            if dangling and (heir is None or heir.id >= op.id):
                raise misplaced(
                    f"{dangling[0]} is still read by{self._line(op)}", "delete its readers too, or rebind_to="
                )
        if heir is None and self._result is not None and self._result.op in gone:
            raise misplaced(f"{self._result} is the tape's result", "set another result first")
        for op in gone:
            self._discard(op)
            op._forward = heir

    def rebind(self, changes: Mapping[Variable, Variable]) -> None:
        """Let every reader, and the result, read `changes[v]` in place of v.

        Errors: TapeError where that comes later than its reader.
        """
        table = {self.bound(old): self.bound(new) for old, new in changes.items()}
        ops = self.settle()
        for op in ops:
            for new in (table[v] for v in op.references() if v in table):
                if new.id >= op.id:
                    raise misplaced(f"{new} comes later than its reader{self._line(op)}", "insert it before")
        for op in ops:
            op.rewrite(lambda v: table.get(v, v))
        if self._result is not None:
            self._result = table.get(self._result, self._result)
        if isinstance(self.ctx, Context):
            self.ctx.rebind(table)

    def _discard(self, op: Op) -> None:
        self._gone.add(op)
        self._ref.edited = True
        self._count -= 1
        op._home, op._id = None, 0

    def _adopt(self, ops: Sequence[Op], first: Callable[[], int], replaced: Op | None = None) -> None:
        """Make ops members of this tape; their references must be to ops that are here or come before."""
        for k, op in enumerate(ops):
            if (op._home is not None and op._home() is not None) or any(op is other for other in ops[:k]):
                raise misplaced(f"{op!r} is on a tape already", "push op.copy()")
            op.rewrite(functools.partial(self._here, earlier=ops[:k], first=first, replaced=replaced))
        for op in ops:
            self._join(op)

    def _join(self, op: Op) -> None:
        op._home, op._forward = self._ref, None
        op.site = op.site or self.site
        self._count += 1

    def _has(self, v: Variable) -> bool:
        """Whether a Variable is bound to an op of this tape."""
        op = v._op
        return op is not None and op._home is self._ref

    def _here(self, v: Variable, earlier: Sequence[Op], first: Callable[[], int], replaced: Op | None) -> Variable:
        op = v.op
        if op is None:
            position = v.id - first()
            if position >= len(earlier):
                raise misplaced(f"{v} is not before the op that reads it", "refer to an earlier op")
            op = self[v] if position < 0 else earlier[position]
            v = Variable(op)
        if op is replaced:
            raise misplaced(f"a new op reads {v}, which it replaces", "put the old op among the new ones")
        if op._home is not self._ref and not any(op is other for other in earlier):
            raise misplaced(f"{v} is neither on this tape nor among the ops before its reader", "push it first")
        return v

    def _line(self, op: Op) -> str:
        where = f" ({op.site})" if op.site else ""
        return f"\n  {_dump.line(op)}{where}"

    # -- made from the recording

    @classmethod
    def from_entries(
        cls,
        entries: Sequence[Any],
        result: Any,
        input_names: Sequence[str] | None = None,
        fn: Any = None,
        ctx: Any = None,
        notes: Mapping[int, tuple[str, int]] | None = None,
    ) -> Tape:
        """The tape of the `entries` of a recording, under the Context `ctx`.

        `result` is a Slot, an untraced value, a container of these, or MISSING. `input_names` are the names of the
        inputs, in order; `fn` is the function that was traced, which becomes the first input. `notes` says of entries
        what they are: `{40: ("pullback of", 7)}`.
        """
        tape = cls(ctx)
        tape._result = fill(tape, entries, result, input_names, fn, notes or {})
        return tape

    # -- shown, run, compiled

    def dump(
        self, form: str = "plain", *, types: bool = True, sites: bool = False, notes: bool = True, color: bool = False
    ) -> str:
        """The tape as text, one op a line; with `form` "compact", a call and the parts of its result share a line.

        `types`, `sites` and `notes` say whether each line has its type, the user's line it came from, and what it is on
        a derivative tape; `color` sets terminal colours.
        """
        return _dump.dump(self, form, types=types, sites=sites, notes=notes, color=color)

    def show(self, form: str = "plain", *, types: bool = True, sites: bool = False, notes: bool = True) -> None:
        """Print the tape, in colour where the terminal allows; `form`, `types`, `sites`, `notes` are as in `dump`."""
        _dump.show_tape(self, form, types=types, sites=sites, notes=notes)

    def __str__(self) -> str:
        return self.dump()

    def __repr__(self) -> str:
        return f"<Tape of {len(self)} ops>"

    def __rich__(self) -> Any:
        return _dump.rich_tape(self, "plain", types=True, sites=False, notes=True)

    def to_dot(self) -> str:
        """The tape as a graph for Graphviz."""
        return graphs.to_dot(self)

    def to_mermaid(self) -> str:
        """The tape as a Mermaid flowchart, as Markdown pages draw it."""
        return graphs.to_mermaid(self)

    play = play
    __call__ = play

    def to_source(self, name: str = "f", *, sites: bool = False) -> str:
        """The tape as Python source: imports and one plain NumPy function `name` of the tape's inputs.

        It takes what the traced function took. Values have the names of the variables that they were stored in, where
        that is certain, else v7 for %7; a comment before each block has the user's line, with `sites` each line. What
        repeats is a loop, as on the tape that `rolled` gives. The source imports nothing of wengert that it needs: the
        helpers that it calls stand in it.

        Errors: TapeError for a call that cannot be written without wengert, such as a pullback.
        """
        return source.to_source(self.rolled(), name, sites=sites)

    def compile(self, name: str = "f") -> Callable[..., Any]:
        """The function that `to_source(name)` writes, ready to call."""
        return source.compile_tape(self, name)


def bound(tape: Tape, v: Variable | int) -> Variable:
    """A Variable for `v`, a Variable or a position on `tape`, that follows its op through edits.

    >>> _, tape = wg.trace(lambda x: x + 1, 1.0)
    >>> y = wg.bound(tape, 3)
    >>> _ = tape.insert(3, wg.mkcall(np.sin, tape[2].id))
    >>> y
    %4
    """
    return tape.bound(v)


def verify(tape: Tape) -> Tape:
    """Check that the inputs of `tape` come first, that every reference points back, and that its result is on it.

    >>> _, tape = wg.trace(lambda x: x + 1, 1.0)
    >>> wg.verify(tape) is tape
    True

    Errors: TapeError, with the tape's line.
    """
    seen: set[Op] = set()
    begun = False
    for op in tape:
        begun = begun or not isinstance(op, Input)
        if isinstance(op, Input) and begun:
            raise misplaced(f"an input after other ops:{tape._line(op)}", "put the inputs first")
        for v in op.references():
            if v.op is None:
                raise misplaced(f"{v} is by position in{tape._line(op)}", "put ops on the tape with push or insert")
            if v.op not in seen:
                here = v.op._home is tape._ref
                what = "comes later than" if here else "is not on the tape of"
                raise misplaced(f"{v} {what} its reader{tape._line(op)}", "insert it before, or rebind its readers")
        seen.add(op)
    if tape.result.op not in seen:
        raise misplaced(f"the result {tape.result} is not on the tape", "set tape.result")
    return tape
