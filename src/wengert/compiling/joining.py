"""Join traces of a function that took different branches: one entry makes the calls of all.

An entry is kept if its code returns what the trace did.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from wengert.compiling.entries import CodeSettings, CompiledTrace
from wengert.compiling.loops.earlier_traces import (
    MOST_EARLIER,
    Joint,
    kept_trace,
    may_join,
    with_earlier,
    with_earlier_paths,
)
from wengert.compiling.loops.lowering import NoFreeLoopError
from wengert.compiling.loops.while_loops import may_have_free_loops
from wengert.errors import StaleTapeError
from wengert.values.cotangents import has_nan
from wengert.values.trees import leaves


def begin_history(entry: CompiledTrace) -> None:
    """Keep of the trace of an entry what later ones may use."""
    own = kept_trace(entry.traced)
    if own is not None:
        entry.history, entry.samples = [own], [(own, _inputs_of(entry))]


def likeliest(entry: CompiledTrace, others: Sequence[CompiledTrace]) -> CompiledTrace | None:
    """Return the entry that is likeliest to share loops with a new one: if possible, their loops ended alike.

    Only states that were numbered together can be compared. If an entry has taken as many traces as it may, there is
    none: paths that hardly join would go on for long.
    """
    if not entry.history or any([len(other.history) > MOST_EARLIER for other in others]):
        return None
    own = entry.history[-1]
    known = [other for other in others if other.history[-1].heads.forms is own.heads.forms]
    alike = [other for other in known if other.history[-1].ending == own.ending]
    return next(iter([*alike, *known]), None)


def joined(entry: CompiledTrace, other: CompiledTrace, settings: CodeSettings) -> CompiledTrace | None:
    """Return an entry with the trace of one and the branches of both; None if these join nowhere."""
    if not entry.history or not may_join(other.history, entry.traced):
        return None
    for join in (with_earlier_paths, *[with_earlier] * may_have_free_loops(entry.traced.tape)):
        joint = join(entry.traced, other.history)
        if joint is None:
            continue
        with suppress(NoFreeLoopError):
            made = CompiledTrace(joint.traced, entry.parameters, settings, mark=joint.mark)
            return _with_history(made.compile(), joint, other, entry)
    return None


def _with_history(made: CompiledTrace, joint: Joint, other: CompiledTrace, entry: CompiledTrace) -> CompiledTrace:
    """Keep of the traces of two entries what later ones may use, in the entry that is made of them."""
    paths = joint.mark.paths
    kept = [each for k, each in enumerate(other.history) if paths is None or k in paths]
    made.history = [*kept, *entry.history]
    pairs = zip(other.history, joint.samples, strict=True)
    made.samples = [(each, sample) for each, sample in pairs if _result_for(made, sample) is not None]
    made.samples.append((entry.history[-1], _inputs_of(made)))
    return made


def replaces(entry: CompiledTrace, other: CompiledTrace) -> bool:
    """Whether an entry can make the calls of another one."""
    known = {id(each): sample for each, sample in entry.samples}
    if not other.samples or not all([id(each) in known for each, _ in other.samples]):
        return False
    each, sample = other.samples[-1]
    return agree_numerically(_result_for(entry, known[id(each)]), _result_for(other, sample))


def _inputs_of(entry: CompiledTrace) -> list[Any]:
    return [v.op.val for v in entry.traced.tape.inputs if not v.op.callee]


def _result_for(entry: CompiledTrace, given: list[Any]) -> Any:
    """Return the result of the code for these inputs; None if it takes another branch, or an item is missing."""
    try:
        with np.errstate(all="ignore"):
            return entry.run(*given)
    except (StaleTapeError, ArithmeticError, IndexError):
        return None


def agree_on_sample(entry: CompiledTrace, other: CompiledTrace) -> bool | None:
    """Whether two entries have equal results for the inputs of the other's selections; None if not both run."""
    if not other.selection_sample or entry.inputs != other.inputs:
        return None
    results = [_result_for(each, other.selection_sample) for each in (entry, other)]
    return None if any([result is None for result in results]) else agree_numerically(*results)


def reproducing(entry: CompiledTrace, expected: Any, given: Sequence[Any]) -> CompiledTrace | None:
    """Return an entry whose code returns what its trace did, if need be as NumPy code; None if that does not, either.

    Another trace would do without loops: native code of all iterations takes minutes to compile.
    """
    if _reproduces(entry, expected, given):
        return entry
    if not entry.native:
        return None
    entry.native = False
    return entry if _reproduces(entry.compile(), expected, given) else None


def _reproduces(entry: CompiledTrace, expected: Any, given: Sequence[Any]) -> bool:
    """Whether the code of an entry returns these numbers; floating-point warnings are not repeated."""
    with np.errstate(all="ignore"):
        made = entry.value(*given)
    if agree_numerically(made, expected):
        return True
    return entry.takes_derivative and has_nan(made) and not has_nan(expected)


def agree_numerically(found: Any, expected: Any) -> bool:
    """Whether two results are equal up to rounding."""
    mine, theirs = leaves(found), leaves(expected)
    return len(mine) == len(theirs) and all(
        [_are_close(np.asarray(a), np.asarray(b)) for (_, a), (_, b) in zip(mine, theirs, strict=True)]
    )


def _are_close(a: np.ndarray, b: np.ndarray) -> bool:
    size = np.max(np.abs(b), initial=0, where=np.isfinite(b))
    return a.shape == b.shape and np.allclose(a, b, rtol=0, atol=1e-9 * float(size), equal_nan=True)
