"""Apply rewrite rules to a tape and to the bodies of its loops."""

from __future__ import annotations

from typing import Any

from wengert.compiling.graphs.from_tape import deciding, graph_of, has_steps
from wengert.compiling.graphs.graph import Rules
from wengert.compiling.graphs.to_tape import to_tape
from wengert.compiling.rules import shifts, stores, structures, sums  # noqa: F401 -- importing registers their rules
from wengert.compiling.rules.rewriting import EXACT, RULES
from wengert.tape.interface import AnyTape
from wengert.tape.loops import Loop
from wengert.tape.tape import Tape


def apply_rules(tape: AnyTape, rules: Rules) -> Tape:
    """Return a tape without dead code, to which these rules are applied: RULES, EXACT or none.

    Equal calls are made once, and what a guard depends on takes none but the rules EXACT.
    """
    made = to_tape(tape, *graph_of(tape, rules, EXACT if rules else {}))
    decides, known = deciding(list(made)), dict[Any, Loop]()
    for op in made.calls:
        if isinstance(op.fn, Loop):
            key = op.fn, rules is RULES and op in decides
            op.fn = known[key] = known.get(key) or _apply_in_loop(op.fn, EXACT if key[1] else rules)
    return made


def _apply_in_loop(loop: Loop, rules: Rules) -> Loop:
    """Apply rules in a loop, exact ones if it branches: its conditions may depend on any carried number."""
    branches = rules is RULES and any(map(has_steps, loop.body))
    return loop.with_body(apply_rules(loop.body, EXACT if branches else rules))
