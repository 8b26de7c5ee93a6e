"""The hooks of a watched trace: those of any trace, which also tell the Reads what is read from outside.

Here are the hooks of identity, caught errors, loops and methods that C code calls; those of names and attributes are in
`read_hooks.py`, those of calls in `call_hooks.py`.
"""

from __future__ import annotations

import copy
import operator
import sys
from typing import Any

from wengert.compiling.watched.asked import is_asked_by_c
from wengert.compiling.watched.call_hooks import watch_resolve
from wengert.compiling.watched.identities import MUTABLE
from wengert.compiling.watched.loop_states import is_compared_by_value
from wengert.compiling.watched.printing import PRINTING_HOOKS
from wengert.compiling.watched.read_hooks import READ_HOOKS, give_up_at, is_own_or_library_code, reads_here
from wengert.compiling.watched.sameness import is_same_value
from wengert.errors import RefusedCallError
from wengert.hooks.code_swap import HOOKS
from wengert.recording.identity import given
from wengert.recording.recording import STATE, users_line
from wengert.recording.slots import holds_traced
from wengert.rewrite.heads import LoopHead
from wengert.values.sites import Site


def _watch_is(right: Any, left: Any, site: Site | None) -> bool:
    return _compare_identity("is_", right, left, site)


def _watch_is_not(right: Any, left: Any, site: Site | None) -> bool:
    return _compare_identity("is_not", right, left, site)


def _compare_identity(hook: str, right: Any, left: Any, site: Site | None) -> bool:
    recording = STATE.recording
    reads: Any = None if recording is None else recording.reads
    frame = sys._getframe(2)
    if (
        reads is not None and type(right) is type(left) and frame.f_globals is not vars(copy)
    ):  # `copy` only looks up its own copies
        STATE.site = site
        things = [given(recording, thing) for thing in (left, right)]  # type: ignore[arg-type]
        if issubclass(type(left), MUTABLE):
            for thing in things:
                reads.identities.ask(thing)
            is_hidden = things[0] is not things[1] and operator.is_(*map(reads.identities.original_of, things))
        else:
            asked = any(map(reads.may_be_replaced, (left, right))) or all(map(reads.may_be_replaced, things))
            is_hidden = left is not right and asked
        if is_hidden:
            # the trace has two objects for one: the code may have got a wrong answer already
            problem = "wg.compile cannot tell whether two values from outside the function are one object"
            raise recording.refuse(RefusedCallError(f"{users_line()}: {problem}"))  # type: ignore[union-attr]
        are_copyable = any([id(thing) in reads.identities.copyable for thing in things])
        if are_copyable and is_same_value(left, right) and not is_own_or_library_code(frame):
            give_up_at("it compares equal values by `is`, whose answer may differ in the next call", site)
    if reads is not None and type(right) is type(left) and is_compared_by_value(left):
        reads.heads.compares_identity = True
    answer: bool = HOOKS[hook](right, left, site)
    return answer


_ERRORS_OF_ABSENCE = (NameError, AttributeError, ImportError)


def _watch_caught(error: BaseException, site: Site | None) -> None:
    is_absence = isinstance(error, _ERRORS_OF_ABSENCE) and not isinstance(error, UnboundLocalError)
    if is_absence and not is_own_or_library_code(sys._getframe(1)):
        give_up_at(f"it catches a {type(error).__name__}, but wengert does not guard that a name is missing", site)
    HOOKS["caught"](error, site)


def _watch_loop_entry(*iterator_head_and_site: Any) -> Any:
    """Note that a loop is entered; return the iterator of a `for`."""
    reads, (*iterator, head, site) = reads_here(), iterator_head_and_site
    if reads is not None and reads.recording is STATE.recording:
        STATE.site = site
        return reads.heads.enter_loop(sys._getframe(1), head, iterator)
    return iterator[0] if iterator else None


def _watch_loop_head(head: LoopHead, *iterator_and_site: Any) -> None:
    """Note that an iteration begins; that of a `for` has an iterator."""
    reads, (*iterator, site) = reads_here(), iterator_and_site
    if reads is not None and reads.recording is STATE.recording:
        STATE.site = site
        reads.heads.begin_iteration(sys._getframe(1), head, iterator, site)


def _watch_touched(value: Any, site: Site | None) -> Any:
    """Give up if a traced value that a method returns goes to C code, which uses it unrecorded."""
    frame, reads = sys._getframe(1), reads_here()
    if reads is not None and (holds_traced((value,)) or id(value) in reads.recording.origins) and is_asked_by_c(frame):
        reads.give_up(f"C code calls {frame.f_code.co_qualname} for a number or string, and uses it unrecorded")
    return HOOKS["touched"](value, site)


def _watch_side_effect(reason: str, site: Site | None) -> None:
    give_up_at(reason, site, may_retry=True)


WATCHING_HOOKS = {
    **HOOKS,
    **PRINTING_HOOKS,
    **READ_HOOKS,
    "resolve": watch_resolve,
    "touched": _watch_touched,
    "is_": _watch_is,
    "is_not": _watch_is_not,
    "caught": _watch_caught,
    "unwatched": _watch_side_effect,
    "loop_entered": _watch_loop_entry,
    "loop_head": _watch_loop_head,
}
