"""Marks on a watched tape: where iterations of loops begin, where paths through them may join, and earlier traces."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from wengert.compiling.watched.lifting import LoopKey, VariableName
from wengert.values.sites import Site


class LoopRun:
    """One execution of a loop. The `kind` of loop that generated code has for it is empty if it has none.

    A "free" loop runs any number of iterations, a "branching" or "counted" one the traced number; in each iteration of
    a branching one it takes any of the traced branches.

    `begin` and `end` are the slots of its first and last head, `seen` those after which its places where paths meet
    were passed; `key` is its place in the code.
    """

    kind = ""

    def __init__(self, begin: int, key: LoopKey) -> None:
        self.begin = self.end = begin
        self.seen: dict[int, int] = {}
        self.key = key
        self.keeps_types = True  # whether constants keep their types where they are lifted
        self.grows = (
            False  # whether it may end before its iterator, so that a list to which it appends may have any length
        )
        self.is_over = False  # whether a `for` is exhausted
        self.length = 0  # how many iterations its iterator was to give
        self.makes_lists = False  # whether it appends to lists or writes items of them
        self.jumps = False  # whether it writes items at constant indices that do not follow each other
        self.iterations = 0  # after which lifts might have freed it
        self.has_test = False  # whether there are guards in it, up to entry number `searched`
        self.searched = begin
        self.asked: Any = None  # the lifts for which it was last asked whether the trace begins again
        self.irregular = 0  # the number of last heads that differed in more than the variables
        self.sizes: list[int] = []  # the number of entries between its heads
        self.counted_by: Any = None  # the symbolic iterator that counts its iterations
        self.counters: set[int | None] = set()  # the slots of its counters at its last head
        self.grown: dict[str, int] = {}  # the variables with lists to which it only appends
        self.lengths: dict[str, int] = {}  # of the lists to which it appends, at its last head

    @property
    def forks(self) -> bool:
        """Whether later iterations record different numbers of calls: they branch on constants, such as bools."""
        return len({*self.sizes[2:]}) > 1


class LoopState(NamedTuple):
    """The state at the head of a loop: the form of each variable, and the slots of the traced values in them, in order.

    `fixed` are the positions of the slots in variables that the loop does not set, `given` those of inputs that are
    arrays. `grown` are those of the last items of lists to which it only appends; None if there are no such
    lists, and `unread` those of them that no iteration reads. `past` are those in variables that nothing reads after a
    `for` is exhausted.
    """

    forms: dict[VariableName, Any]
    slots: tuple[int, ...]
    fixed: frozenset[int] = frozenset()
    grown: frozenset[int] | None = None
    given: frozenset[int] = frozenset()
    past: frozenset[int] = frozenset()
    unread: frozenset[int] = frozenset()


def describe_difference(a: LoopState, b: LoopState) -> str:
    """Describe the variables that differ between two states."""
    changed = [key for key in {**a.forms, **b.forms} if a.forms.get(key, a) != b.forms.get(key, a)]
    names = [f"{name} of {function}" if depth else name for depth, function, name in changed]
    return ", ".join(names) and f"it changes {', '.join(names)}"


class Mark:
    """A guard on the tape that always holds; its arguments are the variables of a loop at a place in it."""

    __name__ = "mark"
    loop: Any = None
    heads: Any = None  # those of the trace, and the derivatives that were open
    levels: Sequence[Any] = ()

    def __call__(self, *variables: Any) -> None:
        pass

    @property
    def ran_back_once(self) -> bool:
        """Whether each open derivative ran backward over the code once, and nothing else tells how that ran."""
        return not self.heads.compares_identity and all(
            [self.heads.reversed_levels.count(level) == 1 for level in self.levels]
        )


class Earlier(Mark):
    """The mark before the calls of earlier traces, and after each trace's.

    `joined`: a loop has iterations of these, or their straight code is joined; `paths` are the numbers of those traces.
    """

    def __init__(self) -> None:
        self.joined = False
        self.paths: Any = None


class Join(Mark):
    """A mark at the beginning of a statement, where paths through an iteration may join.

    Marks of a loop at one place have the same `form` if their states differ in the variables alone.
    """

    def __init__(self, loop: LoopRun, place: int, form: int) -> None:
        self.loop, self.key = loop, (place, form)


class StraightJoin(Join):
    """A mark at the beginning of a statement outside of loops, where paths through straight code may join."""

    def __init__(self, loop: LoopRun, place: Any, form: int, heads: Any) -> None:
        self.loop, self.key = loop, (place, form)
        self.levels, self.heads = heads.reads.recording.levels[1:], heads


class Ending(Mark):
    """The mark where the straight code of a trace ends; its arguments are the values that are read later."""


class Head(Mark):
    """A mark at the beginning of an iteration.

    `difference` describes what differs from the head before, besides the values of the variables; empty if `same`.
    `left` is the number of iterations left of a `for`; `fixed` are the positions of variables that the loop never sets,
    `given` those of inputs that are arrays, `integers` those of floats that were lifted from integers, `grown` those of
    the last items of lists to which it only appends. With `number`, the last variable is the number of iterations of a
    `for`. `alone` are the positions of constants that were lifted here, which only one variable holds. Heads of a loop
    have the same `form` if their states differ in the variables alone.
    """

    def __init__(
        self,
        loop: LoopRun,
        difference: str,
        left: int | None,
        heads: Any,
        state: LoopState,
        number: bool,
        lifted: Collection[int | None],
    ) -> None:
        self.loop, self.difference, self.left = loop, difference, left
        self.fixed, self.given, self.grown, self.number = state.fixed, state.given, state.grown, number
        self.past, self.unread = state.past, state.unread
        self.integers = frozenset([k for k, slot in enumerate(state.slots) if slot in heads.integers])
        self.alone = frozenset([k for k, slot in enumerate(state.slots) if slot in lifted])
        self.form = heads.number_of_forms(loop.key, state.forms)
        loop.irregular = loop.irregular + 1 if difference else 0
        self.levels, self.heads = heads.reads.recording.levels[1:], heads

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not self.difference

    @property
    def description(self) -> str:
        """Tell how often the generated loop runs, and why not more often."""
        if self.loop.kind == "free":
            return "until its condition ends it"
        if self.loop.kind == "branching" or (self.loop.kind == "counted" and self.number):
            count = "at most the traced number" if self.number else "the traced number"
            return f"{count} of iterations{', and takes either branch in each' * (self.loop.kind == 'branching')}"
        why: Any = f"{self.difference}{self.heads.refusal}" if self.difference else ""
        why = why or (self.heads.draws and "random numbers are drawn")
        why = why or (self.heads.compares_identity and "it compares the identity of equal objects")
        why = why or (not self.ran_back_once and "a reverse pass depends on their number")
        return f"the traced number of iterations: {why or 'these do not tell what further ones compute'}"


def loops_ended_by_guards(tape: Any) -> dict[Site, Head]:
    """Return the last heads of the loops on a tape that a guard may end, by their lines."""
    guards = [op for op in tape.calls if op.guard]
    heads: dict[LoopRun, list[int]] = {}
    for k, op in enumerate(guards):
        if type(op.fn) is Head:
            heads.setdefault(op.fn.loop, []).append(k)
    found = {}
    for first, *_, last in [(k[0], *k) for k in heads.values()]:
        op = guards[last]
        if op.fn.left is None or op.fn.number or any([not isinstance(guard.fn, Mark) for guard in guards[first:last]]):
            found[op.site] = op.fn
    return found
