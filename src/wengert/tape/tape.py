"""Tape: a straight-line program of Inputs, Constants and Calls, and the edits that keep its references valid.

Ids are positions from 1, printed %7. An edit is only noted at first. All noted edits are carried out together when a
position is next read, so n edits through bound Variables cost O(n).
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
from wengert.tape.entries import Slot, push_entries
from wengert.tape.ops import (
    MISSING,
    Call,
    Constant,
    Home,
    Input,
    Op,
    V,
    Variable,
    mkcall,
    reference_error,
    references,
    value_of,
    with_variables,
)
from wengert.tape.play import play
from wengert.tape.subtapes import subtape
from wengert.values.completion import hides
from wengert.values.lazy_attribute import imported_when_read
from wengert.values.renamed import under_old_name
from wengert.values.sites import Site

__all__ = [
    "MISSING", "Call", "Constant", "Context", "Input", "Op", "Slot", "Tape", "V", "Variable",
    "bound_variable", "mkcall", "references", "value_of", "verify", "with_variables",
]  # fmt: skip


@hides("append", "arguments", "bound", "from_entries", "graphs", "renumberings", "settle")
class Tape:
    """A straight-line program: a list of ops (Inputs, Constants, Calls), numbered from 1, and which is its result.

    `trace` and `gradtape` make tapes. You can also fill an empty one by hand, with `push`. The parameters `v`, `at`,
    `which` and `result` of the methods are Variables of this tape, or positions from 1.

    Parameters:
        ctx (Context | None): The object under which the tape is recorded.
    See Also:
        trace, gradtape, show, verify

    Examples:
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
    """

    def __init__(self, ctx: Any = None) -> None:
        self.ctx: Any = Context() if ctx is None else ctx
        self.site: Site | None = None
        self.arguments: Arguments | None = None
        self.graphs: dict[Any, Any] = {}  # its backward graphs
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
        """Carry out the noted edits, number the ops, and return them in order."""
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
                raise reference_error(
                    f"{which} is not on this tape", "use a Variable that this tape's push or insert gave"
                )
            return op
        position = which.id if isinstance(which, Variable) else which
        if not 1 <= position <= self._count:
            raise reference_error(f"%{position} is not on this tape", f"positions run from 1 to {self._count}")
        return self.settle()[position - 1]

    def bound_variable(self, v: Variable | int) -> Variable:
        """Return a Variable for `v` that follows its op through edits, as a position does not."""
        return Variable(self[v])

    bound = under_old_name("Tape.bound", "Tape.bound_variable", bound_variable)

    @property
    def inputs(self) -> list[Variable]:
        """The inputs, in order. Assign values to set theirs; on an empty tape this creates the inputs."""
        return [Variable(op) for op in self.settle() if isinstance(op, Input)]

    @inputs.setter
    def inputs(self, values: Iterable[Any]) -> None:
        values, inputs = list(values), self.inputs
        if not self._count:
            inputs = [self.push(Input()) for _ in values]
        if len(values) != len(inputs):
            raise TapeError(f"this tape has {len(inputs)} inputs, but {len(values)} values were given")
        for v, value in zip(inputs, values, strict=True):
            self[v].val = value

    @property
    def calls(self) -> list[Call]:
        """The Calls, guards included, in order."""
        return [op for op in self.settle() if isinstance(op, Call)]

    @property
    def result(self) -> Variable:
        """The Variable of the value that the tape returns; you may assign it."""
        if self._result is None:
            raise reference_error("this tape has no result", "set tape.result to one of its Variables")
        return self._result

    @result.setter
    def result(self, v: Variable | int) -> None:
        self._result = self.bound_variable(v)

    def find(self, what: Any = None, *, where: Callable[[Op], bool] | None = None) -> list[Variable]:
        """Find the ops that call `what`, a function or its name, or the input of that name, and satisfy `where(op)`."""
        return usage.find(self, what, where)

    def uses(self, v: Variable | int) -> list[Variable]:
        """List the ops that read `v`, each once."""
        return usage.uses(self, v)

    def use_counts(self) -> dict[Variable, int]:
        """Count the reads of each value; the result counts as one reader."""
        return usage.use_counts(self)

    def liveness(self) -> usage.LivenessTable:
        """Return the values alive at each line, with their bytes; printed, a table."""
        return usage.liveness_table(self)

    subtape = subtape
    generate_adjoints: Callable[..., Tape] = imported_when_read("wengert.api.adjoints", "generate_adjoints")
    optimise: Callable[..., Tape] = imported_when_read("wengert.compiling.optimising", "optimised")
    rolled: Callable[..., Tape] = imported_when_read("wengert.compiling.loops.rolling", "rolled")
    _repr_html_: Callable[..., str] = imported_when_read("wengert.api.tape_page", "notebook_html")
    __signature__ = property(usage.tape_signature)

    # -- editing

    def push(self, op: Op) -> Variable:
        """Append `op`, and return its Variable."""
        ref = self._ref
        if op._home is not None or any([v._op is None or v._op._home is not ref for v in op.references()]):
            self._check_new([op], lambda: self._count + 1)
        return self.append(op)

    def append(self, op: Op) -> Variable:
        """Append a new `op` without a check that it reads ops on this tape; `verify` checks that later."""
        self._join(op)
        self._ops.append(op)
        op._id = len(self._ops)
        return Variable(op)

    def insert(self, at: Variable | int, *ops: Op) -> list[Variable]:
        """Insert `ops` before the op at `at`. If they refer to ops by position, that is the position afterwards."""
        if not isinstance(at, Variable) and at == self._count + 1:
            return [self.push(op) for op in ops]
        anchor = self[at]
        self._adopt(ops, lambda: anchor.id)
        self._before.setdefault(anchor, []).extend(ops)
        self._ref.edited = True
        return [Variable(op) for op in ops]

    def replace(self, which: Variable | int, *ops: Op, rebind_to: int = -1) -> list[Variable]:
        """Replace the op at `which` by `ops`; what referred to it refers to `ops[rebind_to]` from now on.

        The old op may itself be among the new ones. References from the new ops to it stay.
        """
        old = self[which]
        if not ops:
            raise reference_error(f"no ops to replace %{old.id} by", "pass at least one op, or use delete")
        if not -len(ops) <= rebind_to < len(ops):
            raise reference_error(
                f"rebind_to={rebind_to}, but there are {len(ops)} new ops", "pass an index into the new ops"
            )
        ops = tuple(self._with_copy_kept(old, ops))
        self._adopt(ops, lambda: old.id, replaced=old)
        self._after[old] = [*ops, *self._after.get(old, ())]
        self._discard(old)
        old._replaced_by = target = ops[rebind_to]
        target._token = old._token or old
        return [Variable(op) for op in ops]

    @staticmethod
    def _with_copy_kept(old: Op, ops: Sequence[Op]) -> Iterator[Op]:
        """Yield the new ops; if the old one is among them, yield a copy of it, to which the others may refer."""
        kept = old.copy() if any(op is old for op in ops) else None
        for op in ops:
            if kept is not None and op is not old:
                op.rewrite(lambda v: Variable(kept) if v.op is old else v)
            yield kept if kept is not None and op is old else op

    def delete(self, *which: Variable | int, rebind_to: Variable | int | None = None) -> None:
        """Take the ops at `which` off the tape; the ops that read them read `rebind_to` from now on.

        Errors: TapeError if an op reads them and there is no `rebind_to`.
        """
        gone = {self[v] for v in which}
        heir = None if rebind_to is None else self[rebind_to]
        if heir in gone:
            raise reference_error(f"%{heir.id if heir else 0} is itself deleted", "rebind to an op that stays")
        for op in self.settle():
            dangling = [] if op in gone else [v for v in op.references() if v.op in gone]
            if dangling and (heir is None or heir.id >= op.id):
                raise reference_error(
                    f"{dangling[0]} is still read by{self._line(op)}", "delete its readers too, or rebind_to="
                )
        if heir is None and self._result is not None and self._result.op in gone:
            raise reference_error(f"{self._result} is the tape's result", "set another result first")
        for op in gone:
            self._discard(op)
            op._replaced_by = heir

    def rebind(self, changes: Mapping[Variable, Variable]) -> None:
        """Make every reader of v, and the result, read `changes[v]` instead.

        Errors: TapeError if `changes[v]` comes after one of these readers.
        """
        table = {self.bound_variable(old): self.bound_variable(new) for old, new in changes.items()}
        ops = self.settle()
        for op in ops:
            for new in (table[v] for v in op.references() if v in table):
                if new.id >= op.id:
                    raise reference_error(f"{new} comes later than its reader{self._line(op)}", "insert it before")
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
        """Make ops members of this tape."""
        self._check_new(ops, first, replaced)
        for op in ops:
            self._join(op)

    def _check_new(self, ops: Sequence[Op], first: Callable[[], int], replaced: Op | None = None) -> None:
        """Check that ops are new, and refer only to earlier ops on this tape, or to earlier new ops."""
        for k, op in enumerate(ops):
            if (op._home is not None and op._home() is not None) or any(op is other for other in ops[:k]):
                raise reference_error(f"{op!r} is already on a tape", "push op.copy()")
            op.rewrite(functools.partial(self._check_reference, earlier=ops[:k], first=first, replaced=replaced))

    def _join(self, op: Op) -> None:
        op._home, op._replaced_by = self._ref, None
        op.site = op.site or self.site
        self._count += 1

    def _check_reference(
        self, v: Variable, earlier: Sequence[Op], first: Callable[[], int], replaced: Op | None
    ) -> Variable:
        op = v.op
        if op is None:
            position = v.id - first()
            if position >= len(earlier):
                raise reference_error(f"{v} is not before the op that reads it", "refer to an earlier op")
            op = self[v] if position < 0 else earlier[position]
            v = Variable(op)
        if op is replaced:
            raise reference_error(f"a new op reads {v}, which it replaces", "put the old op among the new ones")
        if op._home is not self._ref and not any(op is other for other in earlier):
            raise reference_error(f"{v} is neither on this tape nor among the ops before its reader", "push it first")
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
        """Make the tape of a recording's `entries`, under the Context `ctx`.

        `result` is a Slot, an untraced value, a container of these, or MISSING. `input_names` are the names of the
        inputs, in order. `fn` is the traced function, which becomes the first input. `notes` describes entries:
        `{40: ("pullback of", 7)}`.
        """
        tape = cls(ctx)
        tape._result = push_entries(tape, entries, result, input_names, fn, notes or {})
        return tape

    # -- shown, run, compiled

    def dump(
        self, form: str = "plain", *, types: bool = True, sites: bool = False, notes: bool = True, color: bool = False
    ) -> str:
        """Format the tape, one op a line; with `form` "compact", a call and the parts of its result share a line.

        `types` adds each op's type, `sites` the user's line, `notes` its role on a derivative tape, and `color`
        terminal colours.
        """
        return _dump.dump(self, form, types=types, sites=sites, notes=notes, color=color)

    def show(self, form: str = "plain", *, types: bool = True, sites: bool = False, notes: bool = True) -> None:
        """Print the tape, in colour if the terminal allows; `form`, `types`, `sites`, `notes` are as in `dump`."""
        _dump.show_tape(self, form, types=types, sites=sites, notes=notes)

    def __str__(self) -> str:
        return self.dump()

    def __repr__(self) -> str:
        return f"<Tape of {len(self)} ops>"

    def __rich__(self) -> Any:
        return _dump.rich_tape(self, "plain", types=True, sites=False, notes=True)

    def to_dot(self) -> str:
        """Return the tape as a Graphviz graph."""
        return graphs.to_dot(self)

    def to_mermaid(self) -> str:
        """Return the tape as a Mermaid flowchart, for Markdown pages."""
        return graphs.to_mermaid(self)

    play = play
    __call__ = play

    def to_source(self, name: str = "f", *, sites: bool = False) -> str:
        """Write the tape as Python source: imports and one plain NumPy function `name`.

        The function takes the arguments of the traced function. A value has the name of the variable it was stored in,
        if that is certain, else v7 for %7. A comment before each block shows the user's line; with `sites`, each line
        shows it. Repeated ops become loops, as on the tape that `rolled` returns. The source runs without wengert: the
        helpers that it calls are part of it. Values that it cannot write (large arrays, functions and classes that
        cannot be imported) are keyword arguments c1, c2, ..., which a comment describes.

        Errors: TapeError for a call that cannot be written without wengert, such as a pullback, and for a result in a
        container of a class written in C.
        """
        return source.to_source(self.rolled(), name, sites=sites)

    def compile(self, name: str = "f") -> Callable[..., Any]:
        """Compile the function that `to_source(name)` writes."""
        return source.compile_tape(self, name)


def bound_variable(tape: Tape, v: Variable | int) -> Variable:
    """Return a Variable for `v` (a Variable or a position on `tape`) that follows its op through edits.

    Parameters:
        tape (Tape): The tape.
        v (Variable | int): The Variable or the position.
    Returns:
        Variable: A Variable of the same op.
    See Also:
        Variable, Tape

    Examples:
        >>> _, tape = wg.trace(lambda x: x + 1, 1.0)
        >>> y = wg.bound_variable(tape, 3)
        >>> _ = tape.insert(3, wg.mkcall(np.sin, tape[2].id))
        >>> y
        %4
    """
    return tape.bound_variable(v)


def verify(tape: Tape) -> Tape:
    """Check that the inputs of `tape` come first, that each reference points backwards, and that the result is on it.

    Parameters:
        tape (Tape): The tape.
    Returns:
        Tape: The same tape.
    Raises:
        TapeError: The tape breaks one of these conditions; the error names its line.
    See Also:
        Tape, fold_constants

    Examples:
        >>> _, tape = wg.trace(lambda x: x + 1, 1.0)
        >>> wg.verify(tape) is tape
        True
    """
    seen: set[Op] = set()
    begun = False
    for op in tape:
        begun = begun or not isinstance(op, Input)
        if isinstance(op, Input) and begun:
            raise reference_error(f"an input comes after other ops:{tape._line(op)}", "put the inputs first")
        for v in op.references():
            if v.op is None:
                problem = f"{v} is a position, not an op, in{tape._line(op)}"
                raise reference_error(problem, "put ops on the tape with push or insert")
            if v.op not in seen:
                how = "comes later than" if v.op._home is tape._ref else "is not on the tape of"
                raise reference_error(
                    f"{v} {how} its reader{tape._line(op)}", "insert it before, or rebind its readers"
                )
        seen.add(op)
    if tape.result.op not in seen:
        raise reference_error(f"the result {tape.result} is not on the tape", "set tape.result")
    return tape
