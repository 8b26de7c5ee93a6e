"""The short paths of recording, for calls by position on arrays and numbers of the common kinds.

They do for most calls what `record_call` does for all, in a third of the time, and pass the others to it. Each writes
out how an entry is appended and its result entered in the shadow table, as do the hooks of operators, items and writes:
to call a function for that would cost more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import NoRuleError
from wengert.recording.decisions import attempt, raised
from wengert.recording.fresh_results import check_result, made_new
from wengert.recording.primitives import Primitive
from wengert.recording.record import record_call
from wengert.recording.recording import C_ONLY_TYPES, STATE, Recording
from wengert.recording.shadow import SHADOW, WEAKLY_HELD_ABOVE, weak
from wengert.recording.slots import slot_of
from wengert.recording.variables import append_result
from wengert.values.sites import Site
from wengert.values.specs import COMPLEX, FLOATS, NUMERIC, SCALARS, spec
from wengert.values.trees import is_container

_ndarray, _float64 = np.ndarray, np.float64
_ONE = {*FLOATS, _ndarray}
_NEW_NUMBERS = FLOATS | COMPLEX | {np.float32}  # of which an operator returns a new object

Slow = Callable[[Primitive, tuple[Any, ...], dict[str, Any]], Any]
"""Records, or does unrecorded, a call of a primitive that is not for the short paths."""


def plain_recorder(
    primitive: Primitive,
    fn: Callable[..., Any],
    named: list[tuple[int, str]],
    odd: Slow,
    careful: Slow,
    write_out: Slow,
) -> Callable[..., Any]:
    """Make a function that calls `fn`, that of a primitive, and records the call if an argument is traced.

    `named` has the parameters that may be given by position or by name, from `out` on. Calls with other than the common
    kinds of values go to `odd` if an argument is traced, to `write_out` if they also have `out`, and to `careful` if
    none is traced itself.
    """
    place, most = (named[0][0], named[-1][0] + 1) if named else (sys.maxsize, 0)

    def record(*args: Any, **kwargs: Any) -> Any:
        plain = not kwargs
        if plain and len(args) == 1 and type(a := args[0]) in _ONE:
            i = SHADOW.get(id(a))
            if i is None:
                if type(a) is not _ndarray:
                    return fn(a)
            elif (_ndarray in C_ONLY_TYPES or type(a) is not _ndarray) and (recording := STATE.fast) is not None:
                return record_one(recording, primitive, a, i)
        if place < len(args) <= most and not any([name in kwargs for _, name in named]):
            kwargs |= {name: args[k] for k, name in named if k < len(args)}
            args, plain = args[:place], False
        for a in args:
            if id(a) in SHADOW:
                if not kwargs:
                    return record_plain(primitive, args, odd)
                return write_out(primitive, args, kwargs) if "out" in kwargs else odd(primitive, args, kwargs)
            t = type(a)
            if t not in C_ONLY_TYPES or t is list or t is tuple or t is str:
                plain = False
        return fn(*args, **kwargs) if plain else careful(primitive, args, kwargs)

    return record


def ufunc_recorder(primitive: Primitive, odd: Slow, careful: Slow) -> Callable[..., Any]:
    """Make the `plain_recorder` of a ufunc, whose operands and outputs are counted."""
    fn = primitive.fn
    nin, nout = fn.nin, fn.nout

    def record(*args: Any, **kwargs: Any) -> Any:
        if nin == 1 == len(args) and not kwargs:
            a = args[0]
            i = SHADOW.get(id(a))
            if i is not None and type(a) in NUMERIC and _ndarray in C_ONLY_TYPES:
                recording = STATE.fast
                if recording is not None:
                    return record_one(recording, primitive, a, i)
        if kwargs or len(args) != nin:
            if len(args) > nin + nout:
                return fn(*args, **kwargs)  # raises
            if len(args) > nin:
                kwargs["out"] = args[nin:] + (None,) * (nin + nout - len(args))
                args = args[:nin]
            return careful(primitive, args, kwargs)
        for a in args:
            if id(a) in SHADOW:
                return record_plain(primitive, args, odd)
        for a in args:
            t = type(a)
            if t not in C_ONLY_TYPES or t is list or t is tuple:
                return careful(primitive, args, kwargs)
        return fn(*args)

    return record


def record_plain(primitive: Primitive, args: tuple[Any, ...], slowly: Slow) -> Any:
    """Record a call by position; where an argument is not of the common kinds, by `slowly`."""
    recording = STATE.recording
    if recording is None or recording.context is not None:
        return slowly(primitive, args, {})
    for a in args:
        if type(a) not in NUMERIC:
            return slowly(primitive, args, {})
    if np.ndarray in C_ONLY_TYPES:
        if len(args) == 1:
            return record_one(recording, primitive, args[0], SHADOW.get(id(args[0])))
        return record_quick(primitive, args, tuple([SHADOW.get(id(a)) for a in args]))
    if recording.memory.holds_objects and any([type(a) is _ndarray and a.dtype.char in "OV" for a in args]):
        return slowly(primitive, args, {})
    ins = tuple([slot_of(recording, a) for a in args])
    if primitive.is_trusted and all([slot is None for slot in ins]):
        return primitive.fn(*args)
    return record_quick(primitive, args, ins)


def record_quick(primitive: Primitive, args: tuple[Any, ...], ins: tuple[int | None, ...]) -> Any:
    """Record a call on arrays and numbers of the common kinds, whose variables are known."""
    recording = STATE.recording
    assert recording is not None
    entries = recording.entries
    mask = recording.mask(ins) if recording.inert else tuple([slot is not None for slot in ins])
    try:
        bound = primitive.simple_bound(mask)
    except NoRuleError:  # the rule has other parameters
        return record_call(primitive, args, {})
    if not bound.is_simple or not primitive.is_trusted:
        return record_call(primitive, args, {})
    value = attempt(recording, primitive.fn, args, {})
    kind = type(value)
    if kind in FLOATS:
        if bound.rule.kind == "partials" and len(args) <= 2 and not any([type(a) not in SCALARS for a in args]):
            entry = primitive.scalar_bound(mask), value, ins, args, None, STATE.site
            slot = len(entries)
            entries.append(entry)
            SHADOW[id(value)] = slot
            return value
        if not primitive.returns_new:
            value = made_new([value], args, primitive)
    elif (
        kind is not np.ndarray
        or value.base is not None
        or value.dtype.kind not in "fc"
        or (not primitive.returns_new and any([value is a for a in args]))  # as by `conjugate` of a real array
    ):
        if is_container(value):
            check_result(recording, primitive, value, args)
        value = made_new([value], args, primitive)
        return append_result(recording, bound, value, args, ins, None)
    kept = tuple(
        [
            _kept_array(recording, how, a) if type(a) is np.ndarray else a
            for how, a in zip(bound.residual_kinds, args, strict=True)
        ]
    )
    large = kind is np.ndarray and value.nbytes > WEAKLY_HELD_ABOVE
    droppable = large and bound.reads_y != "value" and not recording.keeps_results
    entry = bound, weak(value) if droppable else value, ins, kept, None, STATE.site
    slot = len(entries)
    entries.append(entry)
    SHADOW[id(value)] = slot
    return value


def record_two(
    recording: Recording, primitive: Primitive, left: Any, right: Any, i: int | None, j: int | None, site: Site | None
) -> Any:
    """`record_quick` for two arguments, given one by one: to put them into lists takes 1 µs more."""
    bound = primitive.pairs[(i is not None) + 2 * (j is not None)]
    if recording.keeps_results:
        STATE.site = site  # of what forward mode computes at once
    if bound is None or recording.keep or recording.checks_fp_errors:
        STATE.site = site
        return record_quick(primitive, (left, right), (i, j))
    try:
        value = primitive.fn(left, right)
    except ArithmeticError as error:
        raised(recording, error, primitive.fn, (left, right), {})
        raise
    if type(value) in _NEW_NUMBERS and type(left) is not _ndarray and type(right) is not _ndarray:
        slot = len(recording.entries)
        recording.entries.append((bound, value, (i, j), (left, right), None, site))
        SHADOW[id(value)] = slot
        return value
    if type(value) is not _ndarray or value.base is not None or value.dtype.kind not in "fc":
        STATE.site = site
        if is_container(value):
            check_result(recording, primitive, value, (left, right))
        value = made_new([value], (left, right), primitive)
        return append_result(recording, bound, value, (left, right), (i, j), None)
    how_left, how_right = bound.residual_kinds
    if type(left) is _ndarray:
        base = left.base
        if left.nbytes > WEAKLY_HELD_ABOVE or (
            base is not None and (type(base) is not _ndarray or base.base is not None)
        ):
            left = _kept_array(recording, how_left, left)
        elif how_left == "value" and recording.memory.storages:
            left = recording.memory.kept(left)
    if type(right) is _ndarray:
        base = right.base
        if right.nbytes > WEAKLY_HELD_ABOVE or (
            base is not None and (type(base) is not _ndarray or base.base is not None)
        ):
            right = _kept_array(recording, how_right, right)
        elif how_right == "value" and recording.memory.storages:
            right = recording.memory.kept(right)
    kept: Any = value
    if value.nbytes > WEAKLY_HELD_ABOVE and bound.reads_y != "value" and not recording.keeps_results:
        kept = weak(value)
    entry = bound, kept, (i, j), (left, right), None, site
    entries = recording.entries
    slot = len(entries)
    entries.append(entry)
    SHADOW[id(value)] = slot
    return value


def record_one(recording: Recording, primitive: Primitive, a: Any, i: int | None) -> Any:
    """`record_quick` for one argument."""
    bound = primitive.pairs[0]
    if type(a) is not _ndarray or i is None or bound is None or recording.inert or recording.checks_fp_errors:
        return _record_one_number(recording, primitive, a, i)
    try:
        value = primitive.fn_of_array(a)
    except Exception as error:
        raised(recording, error, primitive.fn, (a,), {})
        raise
    kept = value
    if type(value) is _ndarray and value is not a and value.base is None and value.dtype.kind in "fc":
        if value.nbytes > WEAKLY_HELD_ABOVE and bound.reads_y != "value" and not recording.keeps_results:
            kept = weak(value)
    elif type(value) is not _float64:
        if is_container(value):
            check_result(recording, primitive, value, (a,))
        value = made_new([value], (a,), primitive)
        return append_result(recording, bound, value, (a,), (i,), None)
    base = a.base
    if a.nbytes > WEAKLY_HELD_ABOVE or (base is not None and (type(base) is not _ndarray or base.base is not None)):
        a = _kept_array(recording, bound.residual_kinds[0], a)
    elif bound.residual_kinds[0] == "value" and recording.memory.storages:
        a = recording.memory.kept(a)
    entry = bound, kept, (i,), (a,), None, STATE.site
    entries = recording.entries
    slot = len(entries)
    entries.append(entry)
    SHADOW[id(value)] = slot
    return value


def _record_one_number(recording: Recording, primitive: Primitive, a: Any, i: int | None) -> Any:
    """`record_one` for a number, or for an array where the short path is closed."""
    if i is None or type(a) not in FLOATS or not primitive.on_floats or recording.inert or recording.checks_fp_errors:
        return record_quick(primitive, (a,), (i,))
    try:
        number = primitive.fn(a)
    except Exception as error:
        raised(recording, error, primitive.fn, (a,), {})
        raise
    if type(number) not in FLOATS:
        return record_quick(primitive, (a,), (i,))
    entry = primitive.scalar_bound((True,)), number, (i,), (a,), None, STATE.site
    entries = recording.entries
    slot = len(entries)
    entries.append(entry)
    SHADOW[id(number)] = slot
    return number


def _kept_array(recording: Recording, how: str, a: np.ndarray) -> Any:
    """Return the residual of an array; a small one that owns its memory is kept as it is, as callers may expect."""
    if how == "value" or recording.keep or (recording.keeps_results and a.dtype.kind not in "fc"):
        base = a.base
        if base is not None and (type(base) is not _ndarray or base.base is not None):
            return recording.memory.capture(a)
    elif a.nbytes > WEAKLY_HELD_ABOVE:
        return spec(a.shape, a.dtype) if how == "shape" or recording.keeps_results else None
    return a
