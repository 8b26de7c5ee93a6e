"""Optimisations between the body of a loop and the code around it."""

from __future__ import annotations

from typing import Any

from wengert.compiling.graphs.ownership import own_results
from wengert.compiling.loops.dead_code import bypass_loops, drop_dead_code
from wengert.compiling.loops.hoisting import hoist
from wengert.compiling.loops.open_loops import Region, close_region
from wengert.compiling.loops.rematerialise import recompute


def optimise_across_loops(tape: Any) -> Any:
    """Return a tape that computes the same to the bit, and whose loops call, store, carry and read less."""
    region = Region(tape)
    bypass_loops(region)
    drop_dead_code(region)
    hoist(region)
    recompute(region)
    hoist(region)
    drop_dead_code(region)
    made = close_region(region)
    own_results(tape, made)
    return made
