"""Apply rewrite rules to a tape and to the bodies of its loops."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert.compiling.graphs.from_tape import DecidingOps, deciding_in_loop, graph_of
from wengert.compiling.graphs.graph import Rules
from wengert.compiling.graphs.to_tape import to_tape
from wengert.compiling.rules import shifts, stores, structures, sums  # noqa: F401 -- importing registers their rules
from wengert.compiling.rules.rewriting import EXACT
from wengert.tape.interface import AnyTape
from wengert.tape.loops import Loop
from wengert.tape.tape import Tape


def apply_rules(tape: AnyTape, rules: Rules, loop: Loop | None = None, wanted: Iterable[int] = ()) -> Tape:
    """Return a tape without dead code, to which these rules are applied: RULES, EXACT or none.

    Equal calls are made once, and what a guard depends on takes none but the rules EXACT. The tape may be the body of a
    `loop`, of whose results those `wanted` decide.
    """
    decides = DecidingOps(list(tape)) if loop is None else deciding_in_loop(loop, wanted)
    made = to_tape(tape, *graph_of(tape, rules, EXACT if rules else {}, decides))
    calls = [op for op in made.calls if isinstance(op.fn, Loop)]
    if calls:
        decides = DecidingOps(list(made)) if loop is None else deciding_in_loop(loop.with_body(made), wanted)
    known: dict[Any, Loop] = {}
    for op in calls:
        key = op.fn, decides.results_of(op)
        op.fn = known[key] = known.get(key) or op.fn.with_body(apply_rules(op.fn.body, rules, *key))
    return made
