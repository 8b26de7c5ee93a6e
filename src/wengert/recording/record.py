"""Recording one call of a primitive: run it as it is, then write it down.

The native function is called with the arguments as they came, so that values are those of the untraced run bit for bit.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from wengert.errors import NoDerivativeError, NoRuleError, RefusedCallError, WengertError
from wengert.recording import layout, pullback_reads, rule_reads
from wengert.recording.caches import EQUALITIES, compared
from wengert.recording.container_arguments import Inside, inside
from wengert.recording.decisions import attempt, exact
from wengert.recording.fresh_results import check_result, kept_parts, made_constant, made_new
from wengert.recording.nondifferentiable import note_cut
from wengert.recording.plain_calls import NOT_PLAIN, record_plain_call
from wengert.recording.primitives import Bound, Primitive, ruled
from wengert.recording.recording import STATE, Recording, silent, users_line
from wengert.recording.rule_writes import UNWATCHED, call_watched, note_kept, note_writes, watched_by
from wengert.recording.session import run_outside_turn
from wengert.recording.shadow import SHADOW, held
from wengert.recording.slots import flat, holds_traced, recording_here, slot_of, slots_in, slots_of
from wengert.recording.static_arguments import check_keywords, check_statics
from wengert.recording.subclasses import (
    is_of_subclass,
    of_plain,
    plain,
)
from wengert.recording.user_pullbacks import RruleCall
from wengert.recording.variables import (
    append_result,
    fields,
    guard_outline,
    keep_keyword,
    record_constant,
    register,
    splat,
)
from wengert.rulebook.calling import value_and_pullback
from wengert.values.names import is_of_wengert
from wengert.values.results import is_tree, leaves_of
from wengert.values.specs import is_array, is_inexact, light
from wengert.values.trees import is_container
from wengert.values.views import covers


def bind(
    recording: Recording,
    primitive: Primitive,
    args: tuple[Any, ...],
    ins: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Bound:
    """Return the Bound for the form of this call."""
    rule = primitive.rule
    assert rule is not None
    k = rule.sequence
    if k is not None and type(args[k]) in (list, tuple):
        ins = splat(k, ins, ins[k] or (None,) * len(args[k]))
    mask = recording.mask(ins)
    bound: Bound = _at_line(recording, primitive.bound, len(mask), mask, tuple(kwargs))
    return bound.with_subclass() if primitive.asks_subclasses and any(map(is_of_subclass, flat(args))) else bound


def _at_line(recording: Recording, ask: Callable[..., Any], *args: Any) -> Any:
    """Ask a rule about a call; refuse the call, with this line, if the rule does not support it."""
    try:
        return ask(*args)
    except NoRuleError as error:
        raise recording.refuse(NoRuleError(f"{users_line()}: {error}")) from None


def record_call(primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a primitive on arguments of which some are traced, record the call, and return its value."""
    if STATE.silenced is not None:
        return primitive.fn(*args, **kwargs)
    recording = recording_here()
    try:
        value = record_plain_call(recording, primitive, args, kwargs)
        return _run_and_record(recording, primitive, args, kwargs) if value is NOT_PLAIN else value
    except (NoRuleError, RefusedCallError) as error:
        raise as_called(recording, primitive, args, kwargs, error) from None


def as_called(
    recording: Recording, primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any], refusal: WengertError
) -> Exception:
    """Return the error to raise for a refusal: the function's own, if it raises one for these arguments."""
    if not primitive.is_trusted or recording.survey is not None:
        return refusal
    try:
        attempt(recording, primitive.fn, args, kwargs)
    except WengertError:
        return refusal
    except Exception as error:
        recording.refusals[:] = [noted for noted in recording.refusals if noted is not refusal]
        return error
    return refusal


def _run_and_record(recording: Recording, primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    rule = primitive.rule
    assert rule is not None
    run_args, run_kwargs = args, kwargs
    if kwargs or (rule.sequence is not None and len(args) > rule.sequence + 1):
        args, kwargs = _at_line(recording, rule.normalise, args, kwargs)
    if rule.sequence is not None or primitive.is_array_function:
        args = arrays_for_lists(recording, primitive, args)
    ins, fn = tuple([slots_of(recording, a) for a in args]), primitive.fn
    if primitive.asks_subclasses and any(map(is_of_subclass, flat(args))):
        fn = getattr(fn, "_implementation", fn)
    contained = inside(recording, rule, args, ins, slot_of)
    if recording.context is not None:
        check_keywords(recording, primitive, kwargs)
        bound = bind(recording, primitive, args, ins, kwargs)
        if not bound.of_subclass or len(recording.levels) > 1:
            return recording.context.call(recording, primitive, args, ins, kwargs)
        made = call_watched(recording, primitive, args, ins, attempt, recording, fn, run_args, run_kwargs)
        return _record_of_subclass(recording, bound, fn, made, (args, ins, kwargs), run_args, run_kwargs)
    if rule.kind == "constant":
        if len(args) > 1 and id(primitive.fn) in EQUALITIES:
            compared(args[0], args[1])
        (value,) = call_watched(recording, primitive, args, (), attempt, recording, fn, run_args, run_kwargs)
        note_cut(recording, primitive, ins, value)
        value = value if primitive.is_trusted else made_constant(recording, primitive, value)
        return record_constant(recording, primitive, args, ins, kwargs, value)
    check_keywords(recording, primitive, kwargs)
    decides = recording.keep and slots_in(recording, kwargs.values()) is not None
    if all(slot is None for slot in ins) and not contained and not decides:
        if not primitive.is_trusted:
            rule_reads.refuse_unspoken(recording, primitive, 0)
        run = partial(run_outside_turn, recording, fn) if primitive.is_python else fn
        return call_watched(recording, primitive, args, (), partial(run, *run_args, **run_kwargs)).pop()
    if rule.kind == "rrule":
        return _record_rrule(recording, primitive, args, ins, kwargs, contained)
    bound = bind(recording, primitive, args, ins, kwargs)
    if bound.of_subclass and recording.keep:  # it is played on what the entries before it give, without their class
        args = tuple(map(as_plain, args))
        ins = tuple([slots_of(recording, a) for a in args])
    check_statics(recording, bound, args, ins)
    if not primitive.is_trusted:
        rule_reads.refuse_unspoken(recording, primitive, 0)
    given = (*args, *kwargs.values()) if kwargs else args
    made = call_watched(recording, primitive, given, ins, attempt, recording, fn, run_args, run_kwargs)
    if rule.identity and any(made[0] is a for a in args):
        if recording.keep:
            layout.unchanged(recording, primitive, made[0], args, ins, kwargs)
        return made[0]
    if not primitive.is_trusted or is_container(made[0]):
        check_result(recording, primitive, made[0], args)
    if bound.of_subclass:
        return _record_of_subclass(recording, bound, fn, made, (args, ins, kwargs), run_args, run_kwargs)
    value = made_new(made, args, primitive)
    if not primitive.is_trusted:
        note_kept(recording, value)
    if recording.keep:
        kwargs = {name: keep_keyword(recording, v) for name, v in kwargs.items()}
    return append_result(recording, bound, value, args, ins, kwargs or None)


def _record_of_subclass(
    recording: Recording,
    bound: Bound,
    fn: Callable[..., Any],
    made: list[Any],
    call: tuple[Any, ...],
    run_args: tuple[Any, ...],
    run_kwargs: dict[str, Any],
) -> Any:
    """Record NumPy's result for subclass arrays as that for plain arrays, unless their own methods made it."""
    value, (args, ins, kwargs) = made[0], call
    if id(value) in SHADOW and not any([value is a for a in flat(args)]):
        return value
    of_arrays = of_plain(recording, fn, value, run_args, run_kwargs)
    is_the_same = of_arrays is value
    value = made_new(made, args, bound.primitive)  # which empties `made` of a tuple
    if recording.keep:
        _guard_copied(recording, value, run_args)
    if is_the_same:
        return _appended(recording, bound, value, args, ins, kwargs)
    _appended(recording, bound, of_arrays, args, ins, kwargs)
    return record_as(ruled(np.reshape), value, (of_arrays, value.shape))


def _guard_copied(recording: Recording, value: Any, args: tuple[Any, ...]) -> None:
    """Guard what subclass arrays carry beside their numbers, such as a mask, of which `value` has an unseen copy."""
    carried = getattr(value, "__dict__", {})
    copied = [name for name, thing in carried.items() if is_array(thing) and slot_of(recording, thing) is None]
    given = [getattr(a, "__dict__", {}) for a in flat(args) if is_of_subclass(a)] if copied else []
    exact(recording, [space[name] for space in given for name in copied if is_array(space.get(name))])


def record_as(primitive: Primitive, value: Any, args: tuple[Any, ...]) -> Any:
    """Record a known `value` as the result of an equivalent call."""
    recording = recording_here()
    ins = tuple([slots_of(recording, a) for a in args])
    bound = bind(recording, primitive, args, ins, {})
    return _appended(recording, bound, made_new([value], args, primitive), args, ins, {})


def _appended(
    recording: Recording,
    bound: Bound,
    value: Any,
    args: tuple[Any, ...],
    ins: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Record a call whose value is known, through the context if there is one."""
    append = append_result if recording.context is None else recording.context.append_result
    return append(recording, bound, value, args, ins, kwargs or None)


def view_of_traced(made: np.ndarray, source: Any) -> Any:
    """Return `made`, a view of `source`, as a variable if `source` is traced."""
    recording = STATE.recording
    if recording is None or made is source or slot_of(recording, source) is None:
        return made
    if covers(made, source) and not source.ndim:  # a tape is played on numbers there
        return record_as(ruled(np.asarray), made, (source,))
    if covers(made, source):
        return record_as(ruled(np.ndarray.view), made, (source, *(() if is_of_subclass(made) else (np.ndarray,))))
    recording.memory.slot_in_place(made)
    return made


def as_plain(a: Any) -> Any:
    """View an `np.ndarray` subclass as a plain array, also inside lists and tuples; return others unchanged."""
    if type(a) is list or type(a) is tuple:
        return type(a)([as_plain(item) for item in a])
    return view_of_traced(plain(a), a)


def _record_rrule(
    recording: Recording,
    primitive: Primitive,
    args: tuple[Any, ...],
    ins: tuple[Any, ...],
    kwargs: dict[str, Any],
    contained: dict[int, Inside],
) -> Any:
    """Record a call of a user's rule with its value and pullback. Outer levels record its body."""
    bound = bind(recording, primitive, args, ins, kwargs)
    rule = primitive.rule
    assert rule is not None
    assert rule.body is not None
    slots = tuple([contained[k].slots if k in contained else slot for k, slot in enumerate(ins)])
    level, site, start = recording.innermost(slots), STATE.site, len(recording.entries)
    on_tape = recording.keep and level == 0
    inner: Any = None
    if not primitive.is_trusted:
        rule_reads.refuse_unspoken(recording, primitive, level)
    given = () if is_of_wengert(rule.body) else (*args, *kwargs.values())
    watched = watched_by(recording, given, slots) if given else UNWATCHED
    try:
        if on_tape:
            with silent(primitive.is_python):
                made = [attempt(recording, primitive.fn, args, kwargs)]
            check_result(recording, primitive, made[0], args)
            value = made_new(made)
        elif level == 0:
            with silent():  # the body may call the primitive, and may run instrumented code for outer levels
                value, pullback = value_and_pullback(rule, attempt(recording, rule.body, args, kwargs))
        else:
            value, pullback, inner = _entered_rule(recording, level, rule, args, kwargs)
    except NoDerivativeError as error:
        raise recording.refuse(error) from None
    finally:
        note_writes(recording, primitive, watched, slots, level > 0)
    if on_tape:
        note_kept(recording, value)
        return append_result(recording, bound, value, args, ins, kwargs)
    check_result(recording, primitive, value, args)
    made = [value]
    del value
    value = made_new(made)
    if level == 0:
        note_kept(recording, value, pullback)
    if not (is_inexact(value) or is_container(value)):
        return record_constant(recording, primitive, args, ins, kwargs, value)
    whole = recording.keep or (recording.keeps_results and rule.forward is not None)
    kept = tuple(recording.memory.capture(a) if whole else light(a) for a in args)
    static = {name: keep_keyword(recording, v) for name, v in kwargs.items()} if whole else None
    slot = len(recording.entries)
    recording.memory.log_all()
    recording.memory.has_outer_reads = True
    state = pullback_reads.OuterState(pullback, site, recording.memory.version)
    pull = RruleCall(primitive, rule, pullback, level, {k: form for k, (form, _) in contained.items()}, state)
    if is_container(value):
        recording.append((pull, kept_parts(recording, value), (*slots, inner), kept, static, site))
        if recording.keep and inner is None and not primitive.is_trusted:
            guard_outline(recording, value, slot)
        return fields(recording, value, slot, start)
    recording.append((pull, held(value, recording.keeps_results), (*slots, inner), kept, static, site))
    register(recording, value, slot, (), start)
    return value


def _entered_rule(recording: Recording, level: int, rule: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the body of a rule while outer levels record it; return its result, and its slots there."""
    inside_of = recording.levels[level:]
    del recording.levels[level:]
    try:
        value, pullback = value_and_pullback(rule, recording.enter(rule.body)(*args, **kwargs))
        return value, pullback, _inner_slots(recording, value)
    finally:
        recording.levels.extend(inside_of)


def _inner_slots(recording: Recording, value: Any) -> Any:
    """The slots, on outer levels, of what a rule's body gave: of a tuple by position, of a tree by leaf."""
    if is_tree(value):
        return tuple([slot_of(recording, leaf) for _, leaf in leaves_of(value)])
    return slots_in(recording, value) if isinstance(value, tuple) else slot_of(recording, value)


def arrays_for_lists(recording: Recording, primitive: Primitive, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Convert lists of traced values to recorded arrays, where NumPy would convert them unseen."""
    rule = primitive.rule
    assert rule is not None
    out = []
    for k, a in enumerate(args):
        if type(a) in (list, tuple) and slots_in(recording, a) is not None:
            if k != rule.sequence:
                a = as_array(a)
            elif primitive.is_array_function:
                a = [as_array(item) if type(item) in (list, tuple) and holds_traced(item) else item for item in a]
        elif k == rule.sequence and isinstance(a, np.ndarray) and not rule.identity:
            a = [record_call(ruled(operator.getitem), (a, i), {}) for i in range(len(a))]
        out.append(a)
    return tuple(out)


def as_array(items: Any) -> np.ndarray:
    """`np.array` of a list with traced values, recorded."""
    array: np.ndarray = record_call(ruled(np.array), (items,), {})
    return array
