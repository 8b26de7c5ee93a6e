"""Free loops: what a tape calls where a loop runs until a test ends it, and goes the way that tests choose.

Its derivative keeps the variables at each head, and which way was gone; it walks back over these, and computes each
iteration again on its way: one iteration at a time is all that it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.loops.branch_tree import End, Held, Link, OuterValue, Step, WhileLoop, Within, links_in
from wengert.compiling.loops.deferred_reverse import Reverse
from wengert.compiling.loops.periodicity import constant_key
from wengert.compiling.loops.while_source import Writer, call_of, compiled_part, push_tuple
from wengert.compiling.optimising import optimised
from wengert.compiling.tape_rewriter import Remade
from wengert.errors import RuleError
from wengert.recording.recording import calling
from wengert.recording.session import followed
from wengert.rulebook.rule import Carrier, Rule
from wengert.tape.loops import with_bodies
from wengert.tape.ops import Call, Input, Op, Variable
from wengert.tape.tape import Tape
from wengert.values import functional
from wengert.values.lazy_attribute import computed_once
from wengert.values.specs import is_inexact

WHERE = "compiling/loops/while_call.py"


class FreeLoop(Carrier):
    """A loop that a tape calls with the variables that it begins with, and what it reads from before.

    `actives` says of each argument whether a derivative by it is wanted.
    """

    __name__ = "free_loop"
    is_free_loop = True

    def __init__(self, found: WhileLoop, actives: Sequence[bool], exact: bool) -> None:
        self.held, self.outer = len(found.held), len(found.outer)
        self.exact = exact
        self.writer = Writer(found)
        self.actives = _all_active([*found.ends()], list(actives), self.held)
        self.adjoint = Adjoint(self)
        self.backs = [Back(self, found, *way) for way in found.ends()] if any(self.actives) else []

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        return self.run(None, *args)

    @computed_once
    def run(self) -> Callable[..., tuple[Any, ...]]:
        """The function of a list for the trail, or None, and the arguments."""
        return self.writer.function()

    @computed_once
    def walked(self) -> Callable[..., tuple[Any, ...]]:
        """The function of the trail, what is outside and the cotangents of what the loop gives.

        It gives the cotangents of the active arguments.
        """
        return self.writer.way_back(self.actives, self.backs)

    @property
    def source(self) -> str:
        """The text of the loop and of its parts."""
        return self.run.source + ("\n\n" + self.walked.source if self.backs else "")  # type: ignore[attr-defined]

    def keeping(self, *args: Any) -> tuple[Any, ...]:
        """Run the loop; return its results and its trail: each iteration's branches, and the variables at its head."""
        trail: list[Any] = []
        return (*self.run(trail, *args), trail)

    @computed_once
    def own_rule(self) -> Rule:
        def free_loop_rule(y_bar: Any, y: Any, *args: Any) -> Any:
            found = iter(calling(followed())(self.adjoint, *args, *y_bar))
            return tuple([next(found) if active else None for active in self.actives])

        return Rule("free_loop_rule", (self,), "pullback", free_loop_rule, WHERE)


class Adjoint(Carrier):
    """Called with what a FreeLoop is called with, and the cotangents of what that gives: those of what is active."""

    __name__ = "adjoint of free_loop"

    def __init__(self, loop: FreeLoop) -> None:
        self.loop = loop

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        loop = self.loop
        given, cotangents = args[: loop.held + loop.outer], args[loop.held + loop.outer :]
        return loop.walked(loop.keeping(*given)[-1], *given[loop.held :], *cotangents)

    @computed_once
    def own_rule(self) -> Rule:
        def no_rule(y_bar: Any, y: Any, *args: Any) -> Any:
            raise RuleError("the derivative of a loop that tests end has no derivative here")

        return Rule("no_rule", (self,), "pullback", no_rule, WHERE)


def free_loops_on(tape: Any) -> list[FreeLoop]:
    """The free loops that a tape calls."""
    called = [getattr(op.fn, "__self__", op.fn) for op in with_bodies(tape) if isinstance(op, Call)]
    return list(dict.fromkeys([f.loop if type(f) is Adjoint else f for f in called if type(f) in (FreeLoop, Adjoint)]))


def with_trails(tape: Any) -> Any:
    """The tape, in which what walks back over a FreeLoop has the trail of it, instead of running it again."""
    walked = {_loop_key(op) for op in tape.calls if type(op.fn) is Adjoint}
    trails: dict[Any, Call] = {}
    ops: list[Op] = []
    for op in tape:
        ops.append(op)
        fn = getattr(op, "fn", None)
        key = _loop_key(op)
        if type(fn) is FreeLoop and key in walked and key not in trails:
            trails[key] = Call(functional.getfield, [Variable(op), len(op.val)], val=[])
            op.fn, op.val = fn.keeping, (*op.val, [])
            ops.append(trails[key])
        elif type(fn) is Adjoint and key in trails:
            op.fn, op.args = fn.loop.walked, (Variable(trails[key]), *op.args[fn.loop.held :])
    return tape_of(tape, ops) if trails else tape


def tape_of(tape: Any, ops: Sequence[Op]) -> Tape:
    """A tape of copies of these ops, some of which are of `tape`, with its result and inputs."""
    made = Remade(tape)
    for op in ops:
        made.push(op)
    return made.finished(())


def _loop_key(op: Any) -> Any:
    """Return a key that is equal for a call of a FreeLoop and that of its Adjoint: the loop and its arguments."""
    fn = getattr(op, "fn", None)
    loop = fn.loop if type(fn) is Adjoint else fn
    if type(loop) is not FreeLoop:
        return None
    return loop, *[a.op if type(a) is Variable else constant_key(a) for a in op.args[: loop.held + loop.outer]]


def _all_active(ways: Any, actives: list[bool], held: int) -> list[bool]:
    """Which arguments are active: variables that become so in some iteration are, too."""
    changed = True
    while changed:
        changed = False
        for steps, end in ways:
            if not end.leaves:
                depends = _dependence(steps, actives, held)
                for j, link in enumerate(end.gives):
                    if depends(link) and not actives[j]:
                        actives[j] = changed = True
    return actives


def _dependence(steps: Sequence[Step], actives: Sequence[bool], held: int) -> Callable[[Link], bool]:
    """Tells of the links of a way whether what they stand for depends on what is active."""
    found: list[bool] = []

    def depends(link: Link) -> bool:
        if type(link) is Within:
            return found[link.at]
        return actives[link.number if type(link) is Held else held + link.number]  # type: ignore[union-attr]

    for step in steps:
        found.append(any(map(depends, links_in((step.args, step.kwargs)))))
    return depends


class Back:
    """The way back over one way: a function of what is `given`, and of cotangents of some of what the way `gives`.

    It gives the cotangents of what is `wanted`; there is none where nothing depends on that.
    """

    def __init__(self, loop: FreeLoop, found: WhileLoop, steps: list[Step], end: End) -> None:
        depends = _dependence(steps, loop.actives, loop.held)
        values: dict[Link, Any] = {Held(j): op.val for j, op in enumerate(end.held)}
        values |= {OuterValue(k): op.val for k, op in enumerate(found.outer)}
        order = [*values]
        values |= {Within(at): step.op.val for at, step in enumerate(steps)}
        self.gives = [k for k, link in enumerate(end.gives) if depends(link) and is_inexact(values[link])]
        gives = [end.gives[k] for k in self.gives]
        read = {*gives, *[link for step in steps for link in links_in((step.args, step.kwargs))]}
        self.wanted = [x for x, active in zip(order, loop.actives, strict=True) if active and x in read]
        self.given = [*self.wanted, *[x for x in order if x in read and x not in self.wanted]]
        self.function: Callable[..., Any] | None = None
        if gives and self.wanted:
            tape, new = Tape(), dict[Any, Variable]()
            for x in self.given:
                new[x] = tape.push(Input(values[x]))
            for at, step in enumerate(steps):
                if not step.op.guard:
                    new[Within(at)] = tape.push(call_of(step, new))
            pair = [push_tuple(tape, [new[x] for x in some]) for some in (gives, [])]
            tape.result = push_tuple(tape, pair)
            numbers, seeds = [[apart(values[x]) for x in some] for some in (self.given, gives)]
            back = Reverse.taped(tape, len(self.wanted), numbers, seeds)
            cotangents = back.result.op.args[2]  # a plain tuple where none of them is computed
            back.result, back.arguments = (
                cotangents if type(cotangents) is Variable else push_tuple(back, cotangents),
                None,
            )
            self.function = compiled_part(optimised(with_trails(back), loop.exact), "back")


def apart(value: Any) -> Any:
    """The same number or array as an object of its own, which is an input of its own."""
    return value.copy(order="K") if isinstance(value, np.ndarray) else value * 1.0
