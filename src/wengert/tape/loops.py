"""Loops of tapes: what a tape calls in the place of many equal iterations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from wengert.tape.interface import AnyRunningTape
from wengert.tape.ops import Call, Input, Op, Variable, misplaced
from wengert.values import functional
from wengert.values.lazy_attribute import computed_once

ENTERED = "It makes the calls of a tape; a tape that is played in traced code is a part of that."


class Loop:
    """`count` runs of `body`, each on what the one before gave; a tape calls it, as `Call(loop, args)`.

    The arguments, and the inputs of the body, are in this order
    - the places: ints that are another in each iteration, the first of each; `steps` says what is added to it;
    - what is carried: the values that the first iteration begins with;
    - what is the same in all iterations.
    The body gives a tuple: what is carried on, in that order, then what is read of the last iteration alone. The last
    iteration's tuple is the result of the loop, so there is one iteration at least. An array that is carried and
    written by a store in the body is written in place, be it a copy, which is made once: that is how a loop fills an
    array, a row at a time.
    """

    def __init__(self, body: AnyRunningTape, count: int, steps: Sequence[int], carried: int) -> None:
        result = body.result.op
        if not isinstance(result, Call) or result.fn is not functional.make_tuple:
            raise misplaced("the body of a loop does not give a tuple", "let its result be a call of make_tuple")
        self.body, self.count, self.steps, self.carried = body, count, tuple(steps), carried

    @property
    def __name__(self) -> str:
        return f"loop of {self.count}"

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
        """All iterations as one function, which writes into arrays of its own."""
        whole = type(self.body)()
        whole.result = whole.push(Call(self, [whole.push(Input()) for _ in self.inputs]))
        return whole.compile("loop")

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to copy or pickle, without the compiled function `run`."""
        return {name: value for name, value in vars(self).items() if name != "run"}


def with_bodies(ops: Iterable[Op]) -> Iterator[Op]:
    """The ops, and those of the bodies of loops among them."""
    for op in ops:
        yield op
        if isinstance(op, Call) and isinstance(op.fn, Loop):
            yield from with_bodies(op.fn.body)


def asks_for_strides(ops: Iterable[Op]) -> bool:
    """Whether a call speaks of the memory of an array by strides."""
    return any(isinstance(op, Call) and op.fn in functional.WINDOWED for op in with_bodies(ops))
