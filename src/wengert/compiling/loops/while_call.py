"""Free loops: a call on a tape of a loop that runs until a test ends it, and whose tests choose the path.

The derivative keeps the loop variables at each head and the path of each iteration. The reverse pass recomputes one
iteration at a time, so it holds the residuals of one iteration only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.loops.branch_tree import (
    Link,
    LoopVariable,
    OuterValue,
    PathEnd,
    PathStep,
    StepValue,
    WhileLoop,
    links_in,
)
from wengert.compiling.loops.deferred_reverse import Reverse
from wengert.compiling.loops.periodicity import constant_key
from wengert.compiling.loops.while_source import LoopWriter, push_tuple, step_call
from wengert.compiling.tape_rewriter import tape_with_ops
from wengert.errors import RuleError
from wengert.recording.recording import calling
from wengert.recording.session import active_recording
from wengert.rulebook.rule import Carrier, Rule
from wengert.tape.loops import with_bodies
from wengert.tape.ops import Call, Input, Op, Variable
from wengert.tape.tape import Tape
from wengert.values import functional
from wengert.values.lazy_attribute import computed_once
from wengert.values.specs import is_inexact

WHERE = "compiling/loops/while_call.py"


class FreeLoop(Carrier):
    """A loop that a tape calls with the initial values of its variables, then the outer values that it reads.

    `actives` says for each argument whether a derivative with respect to it is wanted.
    """

    __name__ = "free_loop"
    is_free_loop = True

    def __init__(self, loop: WhileLoop, actives: Sequence[bool], exact: bool) -> None:
        self.n_variables, self.n_outer = len(loop.variables), len(loop.outer_values)
        self.exact = exact
        self.writer = LoopWriter(loop)
        self.actives = _spread_activity([*loop.paths()], list(actives), self.n_variables)
        self.adjoint = Adjoint(self)
        self.path_adjoints = [PathAdjoint(self, loop, *path) for path in loop.paths()] if any(self.actives) else []

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        return self.run(None, *args)

    @computed_once
    def run(self) -> Callable[..., tuple[Any, ...]]:
        """The compiled loop; its first argument is a list to fill with the trail, or None."""
        return self.writer.function()

    @computed_once
    def reverse(self) -> Callable[..., tuple[Any, ...]]:
        """The compiled reverse pass: a function of the trail, the outer values and the cotangents of the results.

        It returns the cotangents of the active arguments.
        """
        return self.writer.reverse_function(self.actives, self.path_adjoints)

    @property
    def source(self) -> str:
        """The source code of the loop, and of its reverse pass."""
        return self.run.source + ("\n\n" + self.reverse.source if self.path_adjoints else "")  # type: ignore[attr-defined]

    def run_with_trail(self, *args: Any) -> tuple[Any, ...]:
        """Run the loop; return its results and its trail: for each iteration the path and the variables at its head."""
        trail: list[Any] = []
        return (*self.run(trail, *args), trail)

    @computed_once
    def own_rule(self) -> Rule:
        def free_loop_rule(y_bar: Any, y: Any, *args: Any) -> Any:
            cotangents = iter(calling(active_recording())(self.adjoint, *args, *y_bar))
            return tuple([next(cotangents) if active else None for active in self.actives])

        return Rule("free_loop_rule", (self,), "pullback", free_loop_rule, WHERE)


class Adjoint(Carrier):
    """The reverse pass of a FreeLoop, called with its arguments and the cotangents of its results."""

    __name__ = "adjoint of free_loop"

    def __init__(self, loop: FreeLoop) -> None:
        self.loop = loop

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        loop = self.loop
        n = loop.n_variables + loop.n_outer
        trail = loop.run_with_trail(*args[:n])[-1]
        return loop.reverse(trail, *args[loop.n_variables :])

    @computed_once
    def own_rule(self) -> Rule:
        def no_rule(y_bar: Any, y: Any, *args: Any) -> Any:
            raise RuleError("the reverse pass of a free loop has no derivative")

        return Rule("no_rule", (self,), "pullback", no_rule, WHERE)


def free_loops_on(tape: Any) -> list[FreeLoop]:
    """Return the free loops that a tape calls."""
    called = [getattr(op.fn, "__self__", op.fn) for op in with_bodies(tape) if isinstance(op, Call)]
    return list(dict.fromkeys([f.loop if type(f) is Adjoint else f for f in called if type(f) in (FreeLoop, Adjoint)]))


def with_trails(tape: Any) -> Any:
    """Pass the trail of each FreeLoop to its Adjoint, so that the loop does not run again; return the tape."""
    reversed_loops = {_loop_key(op) for op in tape.calls if type(op.fn) is Adjoint}
    trails: dict[Any, Call] = {}
    ops: list[Op] = []
    for op in tape:
        ops.append(op)
        fn = getattr(op, "fn", None)
        key = _loop_key(op)
        if type(fn) is FreeLoop and key in reversed_loops and key not in trails:
            trails[key] = Call(functional.getfield, [Variable(op), len(op.val)], val=[])
            op.fn, op.val = fn.run_with_trail, (*op.val, [])
            ops.append(trails[key])
        elif type(fn) is Adjoint and key in trails:
            op.fn, op.args = fn.loop.reverse, (Variable(trails[key]), *op.args[fn.loop.n_variables :])
    return tape_with_ops(tape, ops) if trails else tape


def _loop_key(op: Any) -> Any:
    """Return a key that is equal for a call of a FreeLoop and that of its Adjoint: the loop and its arguments."""
    fn = getattr(op, "fn", None)
    loop = fn.loop if type(fn) is Adjoint else fn
    if type(loop) is not FreeLoop:
        return None
    return loop, *[a.op if type(a) is Variable else constant_key(a) for a in op.args[: loop.n_variables + loop.n_outer]]


def _spread_activity(paths: Any, actives: list[bool], n_variables: int) -> list[bool]:
    """Mark also the variables that depend on an active argument after some iteration; return `actives`."""
    changed = True
    while changed:
        changed = False
        for steps, end in paths:
            if not end.exits:
                is_active = _activity_test(steps, actives, n_variables)
                for j, link in enumerate(end.outputs):
                    if is_active(link) and not actives[j]:
                        actives[j] = changed = True
    return actives


def _activity_test(steps: Sequence[PathStep], actives: Sequence[bool], n_variables: int) -> Callable[[Link], bool]:
    """Return a function that says whether a link of a path depends on an active argument."""
    found: list[bool] = []

    def is_active(link: Any) -> bool:
        if type(link) is StepValue:
            return found[link.at]
        return bool(actives[link.number if type(link) is LoopVariable else n_variables + link.number])

    for step in steps:
        found.append(any(map(is_active, links_in((step.args, step.kwargs)))))
    return is_active


class PathAdjoint:
    """The reverse pass over one path: a function of the links `inputs`, and the cotangents of some outputs.

    `outputs` are the numbers of these. The function returns the cotangents of the links `wanted`; it is None if no
    output depends on any.
    """

    def __init__(self, loop: FreeLoop, recorded: WhileLoop, steps: list[PathStep], end: PathEnd) -> None:
        is_active = _activity_test(steps, loop.actives, loop.n_variables)
        values: dict[Link, Any] = {LoopVariable(j): op.val for j, op in enumerate(end.variables)}
        values |= {OuterValue(k): op.val for k, op in enumerate(recorded.outer_values)}
        order = [*values]
        values |= {StepValue(at): step.op.val for at, step in enumerate(steps)}
        self.outputs = [k for k, link in enumerate(end.outputs) if is_active(link) and is_inexact(values[link])]
        outputs = [end.outputs[k] for k in self.outputs]
        read = {*outputs, *[link for step in steps for link in links_in((step.args, step.kwargs))]}
        self.wanted = [x for x, active in zip(order, loop.actives, strict=True) if active and x in read]
        self.inputs = [*self.wanted, *[x for x in order if x in read and x not in self.wanted]]
        self.function: Callable[..., Any] | None = None
        if outputs and self.wanted:
            tape, new = Tape(), dict[Any, Variable]()
            for x in self.inputs:
                new[x] = tape.push(Input(values[x]))
            for at, step in enumerate(steps):
                if not step.op.guard:
                    new[StepValue(at)] = tape.push(step_call(step, new))
            pair = [push_tuple(tape, [new[x] for x in some]) for some in (outputs, [])]
            tape.result = push_tuple(tape, pair)
            numbers, seeds = [[fresh_copy(values[x]) for x in some] for some in (self.inputs, outputs)]
            back = Reverse.taped(tape, len(self.wanted), numbers, seeds)
            cotangents = back.result.op.args[2]  # a plain tuple where none of them is computed
            back.result, back.arguments = (
                cotangents if type(cotangents) is Variable else push_tuple(back, cotangents),
                None,
            )
            self.function = with_trails(back).optimise(loop.exact).compile_part("back")


def fresh_copy(value: Any) -> Any:
    """Copy a number or array, so that it becomes an input of its own."""
    return value.copy(order="K") if isinstance(value, np.ndarray) else value * 1.0
