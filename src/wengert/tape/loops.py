"""Loops of tapes: a call that stands for many equal iterations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from wengert.tape.interface import AnyRunningTape
from wengert.tape.ops import Call, Input, Op, Variable, reference_error
from wengert.values import functional
from wengert.values.lazy_attribute import computed_once

ENTERED = "It makes the calls of a tape; a tape that is played in traced code is a part of that code."


class Loop:
    """`count` runs of `body`, each on the results of the previous one; a tape calls it, as `Call(loop, args)`.

    The arguments, and the inputs of the body, are in this order:
    - the counters: integers, each with its first value; `steps` says how much each iteration adds;
    - the loop-carried values, with which the first iteration begins;
    - the loop-invariant values.
    The body returns a tuple: the next loop-carried values, in that order, then values of which only the last
    iteration's are read. The result of the loop is the last iteration's tuple, so there is at least one iteration. A
    store in the body into a loop-carried array writes in place, into a copy made once if need be. So a loop fills an
    array, one row at a time.

    `ending` tells how often it runs:
    - "count": always `count` times;
    - "number": as often as its first invariant value says, a float, at most `count` times. With a count of 1 it is an
      `if`, and that value a bool. The results are the loop-carried values. If it is `descending`, the counters run
      backwards;
    - "flag": while its first loop-carried value is true; at most `count` times if that is not None. The results are the
      loop-carried values. `usual` is how often it ran when it was recorded.
    """

    def __init__(
        self,
        body: AnyRunningTape,
        count: Any,
        steps: Sequence[int],
        carried: int,
        ending: str = "count",
        descending: bool = False,
        usual: int = 0,
    ) -> None:
        result = body.result.op
        if not isinstance(result, Call) or result.fn is not functional.make_tuple:
            raise reference_error("the body of a loop does not return a tuple", "make its result a call of make_tuple")
        self.body, self.count, self.steps, self.carried = body, count, tuple(steps), carried
        self.ending, self.descending, self.usual = ending, descending, usual

    def with_body(self, body: AnyRunningTape, steps: Sequence[int] | None = None, carried: int | None = None) -> Loop:
        """Return a loop that runs another body as often."""
        steps = self.steps if steps is None else steps
        carried = self.carried if carried is None else carried
        return Loop(body, self.count, steps, carried, self.ending, self.descending, self.usual)

    @property
    def is_branch(self) -> bool:
        """Whether it runs once or never."""
        return self.ending == "number" and self.count == 1

    @property
    def __name__(self) -> str:
        if self.ending == "count":
            return f"loop of {self.count}"
        return "branch" if self.is_branch else "loop" if self.count is None else f"loop of at most {self.count}"

    @property
    def inputs(self) -> list[Variable]:
        """The inputs of the body."""
        return [v for v in self.body.inputs if not v.op.callee]  # type: ignore[union-attr]

    @property
    def results(self) -> Sequence[Any]:
        """The results of one iteration: the arguments of the body's result."""
        return self.body.result.op.args  # type: ignore[union-attr]

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        return self.run(*args)

    @computed_once
    def run(self) -> Callable[..., tuple[Any, ...]]:
        """All iterations as one compiled function, which does not write into its arguments."""
        whole = type(self.body)()
        whole.result = whole.push(Call(self, [whole.push(Input()) for _ in self.inputs]))
        return whole.compile("loop")

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to copy or pickle, without the compiled function `run`."""
        return {name: value for name, value in vars(self).items() if name != "run"}


def with_bodies(ops: Iterable[Op]) -> Iterator[Op]:
    """Yield the ops, and those of the bodies of loops among them."""
    for op in ops:
        yield op
        if isinstance(op, Call) and isinstance(op.fn, Loop):
            yield from with_bodies(op.fn.body)


def calls_in(ops: Iterable[Op]) -> list[Call]:
    """Return the calls among these ops, and those in the bodies of loops."""
    calls = [op for op in ops if isinstance(op, Call)]
    if any([isinstance(op.fn, Loop) for op in calls]):
        return [op for op in with_bodies(calls) if isinstance(op, Call)]
    return calls


def strides_of_longer_axes(x: Any) -> list[int]:
    """Return the strides of an array but for axes of one element, whose strides mean nothing."""
    return [step for n, step in zip(x.shape, x.strides, strict=True) if n != 1]


def asks_for_strides(ops: Iterable[Op]) -> bool:
    """Whether a call accesses the memory of an array by strides."""
    return any(isinstance(op, Call) and op.fn in functional.WINDOWED for op in with_bodies(ops))
