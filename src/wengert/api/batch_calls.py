"""Calls of programs on batches of examples: primitives whose values and first derivatives generated code computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.api.example_code import ProgramCode, block_size, filled, with_constants
from wengert.api.gradient import conjugates, vjp_of_call
from wengert.api.tangents import jvp_of_call
from wengert.batching.example import Program
from wengert.batching.play import DiffersError
from wengert.errors import WengertError
from wengert.hooks.solver_callbacks import is_traced, unseen
from wengert.recording.recording import calling
from wengert.recording.session import active_recording
from wengert.rulebook.declare import jvp_rule, vjp_rule

Play = Callable[[Program, Sequence[np.ndarray]], np.ndarray]
"""A function that interprets a program on batches."""


class BatchCall:
    """A program, its code, the number of its batches, and the function that interprets it."""

    def __init__(self, code: ProgramCode, program: Program, count: int, play: Play) -> None:
        self.code, self.program, self.count, self.play = code, program, count, play

    def played(self, *args: Any) -> Any:
        """Interpret the program on batches and constants."""
        with with_constants(self.program, args[self.count :]):
            return self.play(self.program, args[: self.count])

    def values(self, args: Sequence[Any]) -> Any:
        """Return the results. Errors: WengertError or DiffersError if the code does not run on these arguments."""
        blocks = [self.code.run(self.played, "values", some) for some, _ in self.blocks(args)]
        return np.concatenate(blocks)[: len(args[0])]

    def pull(self, places: tuple[int, ...]) -> Callable[..., Any]:
        """Return the function from ȳ and the arguments to the cotangents, those of a rule, of some arguments."""

        def pull(y_bar: Any, *args: Any) -> tuple[Any, ...]:
            pullback = vjp_of_call(self.played, args, {}, places, False, quiet=True)[1]
            return conjugates(pullback(*conjugates([y_bar])))

        return pull

    def push(self, places: tuple[int, ...], count: int | None = None) -> Callable[..., Any]:
        """Return the function from the tangents of the arguments at some places, and the arguments, to ẏ."""
        return lambda dots, *args: jvp_of_call(self.played, args, {}, places, dots, size=count, quiet=True)[1]

    def pulled(self, y_bar: np.ndarray, args: Sequence[Any], places: tuple[int, ...]) -> list[Any]:
        """Return the cotangents of the arguments at some places."""
        pull = self.pull(places)
        if is_traced((y_bar, *args)):
            return list(pull(y_bar, *args))
        size, parts = len(args[0]), []
        for some, rows in self.blocks(args):
            bar = np.zeros((len(some[0]), *y_bar.shape[1:]), y_bar.dtype)
            bar[: rows.stop - rows.start] = y_bar[rows]
            parts.append(self.run(pull, ("pull", places), (bar, *some)))
        found = zip(places, zip(*parts, strict=True), strict=True)
        return [np.concatenate(bars)[:size] if k < self.count else sum(bars[1:], bars[0]) for k, bars in found]

    def pushed(self, tangents: Sequence[Any], args: Sequence[Any]) -> Any:
        """Return the tangent of the results, in all directions if these lie in front; None stands for zeros."""
        places = tuple([k for k, tangent in enumerate(tangents) if tangent is not None])
        first = places[0]
        in_front = np.shape(tangents[first])[:1] if np.ndim(tangents[first]) > np.ndim(args[first]) else ()
        dots = tuple([tangents[k] for k in places])
        if in_front:  # others may have axes between, to broadcast
            call = calling(active_recording())
            dots = tuple([call(np.reshape, tangents[k], (*in_front, *np.shape(args[k]))) for k in places])
        push, axis = self.push(places, *in_front), len(in_front)
        if is_traced((dots, *args)):
            return push(dots, *args)
        blocks = []
        for some, rows in self.blocks(args, *in_front):
            at = (slice(None),) * axis + (rows,)
            of_some = [filled(dot[at], len(some[0]), axis) if k < self.count else dot
                       for k, dot in zip(places, dots, strict=True)]  # fmt: skip
            blocks.append(self.run(push, ("push", places), (tuple(of_some), *some)))
        return np.concatenate(blocks, axis=axis)[(slice(None),) * axis + (slice(len(args[0])),)]

    def run(self, f: Callable[..., Any], kind: Any, args: Sequence[Any]) -> Any:
        """Return `f(*args)` by code; interpret f if that fails, or for products of zero and infinity."""
        try:
            found = unseen(self.code.run, f, kind, args)
        except WengertError:
            return unseen(f, *args)
        parts = found if isinstance(found, tuple | list) else [found]
        return found if all([np.all(np.isfinite(part)) for part in parts]) else unseen(f, *args)

    def blocks(self, args: Sequence[Any], directions: int = 1) -> list[tuple[list[Any], slice]]:
        """Return the arguments in blocks, all of one size, each with the rows that are the batch's own."""
        batches, constants = args[: self.count], args[self.count :]
        size = len(batches[0])
        block = block_size(directions * batches[-1][0].size, size)
        rows = [slice(start, min(start + block, size)) for start in range(0, size, block)]
        return [([*[filled(batch[some], block) for batch in batches], *constants], some) for some in rows]


def of_batches(*args: Any, batch_call: BatchCall) -> Any:
    """Return the results of a program for batches and constants."""
    return unseen(batch_call.values, args)


@vjp_rule(of_batches)
def of_batches_(y_bar, y, *args, batch_call, wanted):  # type: ignore[no-untyped-def]
    places = tuple([k for k, asked in enumerate(wanted) if asked])
    bars = dict(zip(places, batch_call.pulled(y_bar, args, places), strict=True))
    return tuple([bars.get(k) for k in range(len(args))])


@jvp_rule(of_batches, broadcasts=True)
def push_of_batches(tangents, y, *args, batch_call):  # type: ignore[no-untyped-def]
    return batch_call.pushed(tangents, args)


def called_by_code(call: Callable[..., Any], batch_call: BatchCall, args: Sequence[Any]) -> Any:
    """Return the results, by a call of one primitive; None if the code does not run on these arguments."""
    try:
        return call(of_batches, *args, batch_call=batch_call)
    except (WengertError, DiffersError):
        return None
