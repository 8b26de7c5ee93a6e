"""The hooks of a watched trace: those of any trace, which also tell the Reads what is read from outside.

Here are the hooks of identity, caught errors, loops and methods that C code calls; those of names and attributes are in
`read_hooks.py`, those of calls in `call_hooks.py`. If something cannot be watched, the trace goes on, and is not kept.
"""

from __future__ import annotations

import copy
import functools
import operator
import sys
import types
from typing import Any

from wengert.compiling.watched.call_hooks import watch_resolve
from wengert.compiling.watched.growing_lists import GrowingItems
from wengert.compiling.watched.guards import MUTABLE
from wengert.compiling.watched.loop_states import is_compared_by_value
from wengert.compiling.watched.outer_reads import give_up_at, reads_at, reads_here
from wengert.compiling.watched.read_hooks import READ_HOOKS
from wengert.compiling.watched.symbolic_ints import refuse_counter
from wengert.compiling.watched.symbolic_iterators import zipped_parts
from wengert.compiling.watched.trusted import calling_frame, is_own_or_library_code
from wengert.compiling.watched.watchable import is_same_value
from wengert.errors import RefusedCallError
from wengert.hooks.code_swap import HOOKS
from wengert.recording.identity import given
from wengert.recording.recording import STATE, users_line
from wengert.recording.slots import holds_traced
from wengert.rewrite.loop_head import STRAIGHT, LoopHead
from wengert.values.codes import original
from wengert.values.frames import ENGINE
from wengert.values.names import lookup
from wengert.values.sites import Site
from wengert.values.specs import FLOATS


def _compare_identity(hook: str, right: Any, left: Any, site: Site | None) -> bool:
    """Guard the answer of `is` or `is not`, or give up; refuse if the trace has two objects for one."""
    recording, frame = STATE.recording, calling_frame()
    reads: Any = None if recording is None or type(right) is not type(left) else recording.reads
    if reads is not None and frame.f_globals is not vars(copy):  # `copy` only looks up its own copies
        STATE.site = site
        things = [given(recording, thing) for thing in (left, right)]  # type: ignore[arg-type]
        if issubclass(type(left), MUTABLE):
            for thing in things:
                reads.ask_identity(thing)
            is_hidden = things[0] is not things[1] and operator.is_(*map(reads.original_of, things))
        else:
            asked = any(map(reads.may_be_replaced, (left, right))) or all(map(reads.may_be_replaced, things))
            is_hidden = left is not right and asked
        if is_hidden:  # the code may have got a wrong answer already
            problem = "wg.compile cannot tell whether two values from outside the function are one object"
            if reads.effects.learned.reads_tables:
                refuse_counter(problem)
            raise recording.refuse(RefusedCallError(f"{users_line()}: {problem}"))  # type: ignore[union-attr]
        are_copyable = any([id(thing) in reads.copyable for thing in things])
        if are_copyable and is_same_value(left, right) and not is_own_or_library_code(frame):
            give_up_at("it compares equal values by `is`, whose answer may differ in the next call", site)
    if reads is not None and is_compared_by_value(left) and not is_own_or_library_code(frame):
        reads.heads.compares_identity = True
        if type(left) in FLOATS and reads.heads.separates:
            refuse_counter("it compares the identity of equal objects")
    answer: bool = HOOKS[hook](right, left, site)
    return answer


def _watch_caught(error: BaseException, site: Site | None) -> None:
    reads = reads_at(site)
    if reads is not None and reads.lengths is not None:
        reads.lengths.are_uncertain = True
    is_absence = isinstance(error, (NameError, AttributeError, ImportError)) and not isinstance(
        error, UnboundLocalError
    )
    if reads is not None and is_absence and not is_own_or_library_code(sys._getframe(1)):
        reads.guard_caught(error)
    HOOKS["caught"](error, site)


def _watch_setitem(container: Any, key: Any, value: Any, site: Site | None) -> None:
    """Note that an item of a list or dictionary is written."""
    if type(container) in (list, dict) and type(key) is int and (reads := reads_here()) is not None:
        reads.heads.stores.note(container, key)
    HOOKS["setitem"](container, key, value, site)


def _watch_loop_entry(*iterator_head_and_site: Any) -> Any:
    """Note that a loop is entered; return the iterator of a `for`."""
    reads, (*iterator, head, site) = reads_here(), iterator_head_and_site
    if reads is not None and reads.recording is STATE.recording:
        STATE.site = site
        parts = [iterator[0], *zipped_parts(iterator[0])] if iterator else []
        selected = [] if reads.lengths is None else reads.lengths.iterated_by(parts)
        selects = bool(selected) or any([type(part) is GrowingItems for part in parts])
        made = reads.heads.enter_loop(sys._getframe(1), head, iterator, selects)
        for selection in selected if getattr(made, "number", None) is None else ():
            reads.lengths.fix(selection)
        return made
    return iterator[0] if iterator else None


def _watch_loop_list(head: LoopHead, made: list[Any], site: Site | None) -> None:
    """Note the list to which the iterations of a comprehension append."""
    reads = reads_here()
    if reads is not None and reads.recording is STATE.recording:
        reads.heads.filled[id(sys._getframe(1)), head.number] = made


def _watch_loop_head(head: LoopHead, *iterator_and_site: Any) -> None:
    """Note that an iteration begins; that of a `for` has an iterator."""
    reads, (*iterator, site) = reads_here(), iterator_and_site
    if reads is not None and reads.recording is STATE.recording:
        STATE.site = site
        reads.heads.begin_iteration(sys._getframe(1), head, iterator, site)


def _watch_statement(head: LoopHead, site: Site | None) -> None:
    """Note that a statement begins where paths meet."""
    reads = reads_here()
    if reads is not None and reads.recording is STATE.recording:
        heads = reads.heads.straight if head.number == STRAIGHT else reads.heads
        heads.begin_statement(sys._getframe(1), head, site)


def _watch_touched(value: Any, site: Site | None) -> Any:
    """Give up if a traced value that a method returns goes to C code, which uses it unrecorded."""
    frame, reads = calling_frame(), reads_here()
    if reads is not None and (holds_traced((value,)) or id(value) in reads.recording.origins) and _is_asked_by_c(frame):
        reads.give_up(f"C code calls {frame.f_code.co_qualname} for a number or string, and uses it unrecorded")
    return HOOKS["touched"](value, site)


WATCHING_HOOKS = {
    **HOOKS,
    **READ_HOOKS,
    "resolve": watch_resolve,
    "touched": _watch_touched,
    **{name: functools.partial(_compare_identity, name) for name in ("is_", "is_not")},
    "caught": _watch_caught,
    "unwatched": functools.partial(give_up_at, may_retry=True),
    "setitem": _watch_setitem,
    "loop_entered": _watch_loop_entry,
    "loop_fills": _watch_loop_list,
    "loop_head": _watch_loop_head,
    "statement": _watch_statement,
}


# -- methods that C code calls for a number or string
#
# The hooks of `float(a)` and `a[0]` go on with the very number that the method returns. In `math.sqrt(a)`,
# `np.array([a], float)`, `w[0] = a` and `repr([a])` C takes its value: the result would become a constant of the code.

_NUMBER_METHODS = ("__float__", "__complex__")
_STRING_METHODS = ("__repr__", "__str__", "__format__")
_FILES_ASKING_FOR_ITEMS = {
    f"{ENGINE}{name}.py"
    for name in (
        "hooks/construction", "hooks/items", "hooks/standins/containers", "hooks/standins/iteration",
        "hooks/standins/listing", "hooks/standins/ordering", "hooks/standins/plain", "hooks/standins/totals",
        "interop/overrides",
    )
}  # fmt: skip
"""Files of this package that call a method for items or an array, and keep the returned object."""
_FILE_ASKING_FOR_NUMBERS = f"{ENGINE}hooks/standins/conversions.py"


def _is_asked_by_c(frame: types.FrameType) -> bool:
    """Whether C code, not instrumented code, called the method that runs in a frame and uses its result."""
    caller, code = frame.f_back, frame.f_code
    assert caller is not None
    if original(caller.f_code) is not None:
        return False
    owner = frame.f_locals[code.co_varnames[0]] if code.co_argcount else None
    names, file = caller.f_locals, caller.f_code.co_filename
    if code.co_name in _STRING_METHODS:  # this package may convert that very object, or a container that holds it
        return names.get("value") is not owner and not any([a is owner for a in names.get("args", ())])
    if any([getattr(lookup(type(owner), name), "__code__", None) is code for name in _NUMBER_METHODS]):
        return file != _FILE_ASKING_FOR_NUMBERS
    return file not in _FILES_ASKING_FOR_ITEMS
