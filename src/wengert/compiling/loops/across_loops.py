"""Optimisations across the borders of loops: between a body and the code around it."""

from __future__ import annotations

from typing import Any

from wengert.compiling.graphs.from_tape import looks_at_memory
from wengert.compiling.graphs.ownership import own_results
from wengert.compiling.loops.dead_code import drop_unread
from wengert.compiling.loops.hoisting import hoist
from wengert.compiling.loops.open_loops import Region, closed
from wengert.compiling.loops.rematerialise import recompute
from wengert.tape.tape import Tape, verify


def across_loops(tape: Any) -> Any:
    """A tape that computes what `tape` does, to the bit, in which loops do, keep, carry and read less."""
    if looks_at_memory(list(tape)):
        return tape
    region = Region(tape)
    drop_unread(region)
    hoist(region)
    recompute(region)
    hoist(region)
    drop_unread(region)
    made = closed(region, tape, Tape(tape.ctx))
    own_results(tape, made)
    return verify(made)
