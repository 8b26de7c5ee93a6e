"""Recording one call of a primitive: run it as it is, then write it down.

The native function is called with the arguments as they came, so that values are those of the untraced run bit for bit.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from wengert.errors import NoRuleError
from wengert.recording.caches import EQUALITIES, compared
from wengert.recording.container_arguments import Inside, inside
from wengert.recording.cuts import note_cut, refuse_odd
from wengert.recording.decisions import attempt, exact, guard
from wengert.recording.layout import unchanged
from wengert.recording.outcomes import check_result, flat, kept_parts, made_constant, made_new
from wengert.recording.primitives import Bound, Primitive, ruled
from wengert.recording.pullback_reads import Hindsight
from wengert.recording.pulls import Pull
from wengert.recording.recording import STATE, Recording, Traced, here, silent, users_site
from wengert.recording.rule_reads import refuse_unspoken
from wengert.recording.rule_writes import called, note_kept, note_writes, watched_by
from wengert.recording.session import apart
from wengert.recording.shadow import SHADOW, has_identity, held
from wengert.recording.slots import holds_traced, recording_here, slot_of, slots_in, slots_of
from wengert.recording.static_arguments import check_keywords, check_statics
from wengert.recording.subclasses import is_of_subclass, refuse_own_value
from wengert.rulebook.calling import value_and_pullback
from wengert.values.functional import getfield
from wengert.values.keys import has_mask
from wengert.values.names import home_of
from wengert.values.results import is_tree, leaves_of, outline, with_leaves
from wengert.values.specs import fresh, is_inexact, light
from wengert.values.trees import is_container
from wengert.values.views import owner_of

METADATA = {len, np.shape, np.ndim, np.size}  # read off the shape alone: neither recorded nor guarded


def register(recording: Recording, value: Any, slot: int, args: tuple[Any, ...] = (), lends: int | None = None) -> None:
    """Make the fresh result of an entry a variable.

    `lends`: a view of memory with variables from before this place is not just a view, its rule says otherwise.
    """
    if isinstance(value, np.ndarray) and value.base is not None:
        lent = recording.memory.lent
        if lends is None:
            is_lent = bool(lent) and any([lent.shows(a) for a in args])
        else:
            is_lent = lent.is_workspace(owner_of(value)) or recording.memory.stood(value, lends)
        if is_lent:
            lent.note(value)
    SHADOW[id(value)] = slot
    if isinstance(value, np.ndarray) and value.base is not None:
        if recording.memory.storages:
            recording.memory.add_view(value, slot)
        owner = owner_of(value)
        if not any([isinstance(a, np.ndarray) and owner_of(a) is owner for a in args]):  # else its place is known
            recording.memory.add_root(value, slot, apart=lends is not None)
        if lends is not None and SHADOW.get(id(owner), -1) >= lends and not recording.memory.lent.shows(value):
            _own(recording, value, owner, slot)


def _own(recording: Recording, value: np.ndarray, owner: np.ndarray, slot: int) -> None:
    """Have the memory that a rule's body made hold what the rule says of it, where an outer level has recorded it."""
    if value.strides == owner.strides and value.size == owner.size:
        SHADOW[id(owner)] = slot
        return
    memory = recording.memory
    storage, owner = memory.join(value)
    memory.put(storage, owner, value, value, slot, memory.content(owner, storage))


def keep_args(recording: Recording, bound: Bound, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What the entry keeps of the arguments: values that the pullback reads, the shapes of others, statics."""
    k = bound.rule.sequence
    if k is None or type(args[k]) not in (list, tuple):
        args = _operands(bound, args) if k is None else args
        return tuple([_keep(recording, how, a) for how, a in zip(bound.keeps, args, strict=True)])
    flat = [_keep(recording, how, a) for how, a in zip(bound.keeps, splat(k, args, args[k]), strict=True)]
    end = k + len(args[k])
    return (*flat[:k], flat[k:end], *flat[end:])


def _operands(bound: Bound, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with lists of constants as the arrays that NumPy made of them: rules index and transpose them."""
    if not bound.primitive.is_array_function:
        return args
    pairs = zip(bound.keeps, args, strict=True)
    return tuple([np.asarray(a) if how == "value" and type(a) in (list, tuple) else a for how, a in pairs])


def splat(k: int, items: tuple[Any, ...], inner: Any) -> tuple[Any, ...]:
    """Arguments (or their variables) with those of the sequence at place k one by one."""
    return (*items[:k], *inner, *items[k + 1 :])


def _keep(recording: Recording, how: str, value: Any) -> Any:
    if recording.keep or how == "value" or how == "static":
        return recording.memory.capture(value)
    if how == "shape":
        return light(value)
    return None if isinstance(value, np.ndarray) else value


def bind(
    recording: Recording,
    primitive: Primitive,
    args: tuple[Any, ...],
    ins: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Bound:
    """The primitive in the form of this call."""
    rule = primitive.rule
    assert rule is not None
    k = rule.sequence
    if k is not None and type(args[k]) in (list, tuple):
        ins = splat(k, ins, ins[k] or (None,) * len(args[k]))
    mask = recording.mask(ins)
    bound: Bound = _at_line(recording, primitive.bound, len(mask), mask, tuple(kwargs))
    return bound.with_subclass() if primitive.is_array_function and any(map(is_of_subclass, flat(args))) else bound


def _at_line(recording: Recording, ask: Callable[..., Any], *args: Any) -> Any:
    """Ask a rule about a call; an argument that it does not know is a refusal, at the user's line."""
    try:
        return ask(*args)
    except NoRuleError as error:
        raise recording.refuse(NoRuleError(f"{here()}: {error}")) from None


def record_call(primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a primitive on arguments of which some are traced, and record it; its value."""
    if STATE.silenced is not None:
        return primitive.fn(*args, **kwargs)
    recording = recording_here()
    rule = primitive.rule
    assert rule is not None
    run_args, run_kwargs = args, kwargs
    if kwargs or (rule.sequence is not None and len(args) > rule.sequence + 1):
        args, kwargs = _at_line(recording, rule.normalise, args, kwargs)
    if rule.sequence is not None or primitive.is_array_function:
        args = arrays_for_lists(recording, primitive, args)
    ins = tuple([slots_of(recording, a) for a in args])
    contained = inside(recording, rule, args, ins, slot_of)
    if recording.context is not None:
        check_keywords(recording, primitive, kwargs)
        return recording.context.call(recording, primitive, args, ins, kwargs)
    if rule.kind == "constant":
        if len(args) > 1 and id(primitive.fn) in EQUALITIES:
            compared(args[0], args[1])
        (value,) = called(recording, primitive, args, (), attempt, recording, primitive.fn, run_args, run_kwargs)
        note_cut(recording, primitive, ins, value)
        value = value if primitive.vouched else made_constant(recording, primitive, value)
        return record_constant(recording, primitive, args, ins, kwargs, value)
    check_keywords(recording, primitive, kwargs)
    decides = recording.keep and slots_in(recording, kwargs.values()) is not None
    if all(slot is None for slot in ins) and not contained and not decides:
        if not primitive.vouched:
            refuse_unspoken(recording, primitive, 0)
        run = partial(apart, recording, primitive.fn) if primitive.is_python else primitive.fn
        return called(recording, primitive, args, (), partial(run, *run_args, **run_kwargs)).pop()
    if rule.kind == "rrule":
        return _record_rrule(recording, primitive, args, ins, kwargs, contained)
    bound = bind(recording, primitive, args, ins, kwargs)
    check_statics(recording, bound, args, ins)
    if not primitive.vouched:
        refuse_unspoken(recording, primitive, 0)
    given = (*args, *kwargs.values()) if kwargs else args
    made = called(recording, primitive, given, ins, attempt, recording, primitive.fn, run_args, run_kwargs)
    if rule.identity and any(made[0] is a for a in args):
        if recording.keep:
            unchanged(recording, primitive, made[0], args, ins, kwargs)
        return made[0]
    if not primitive.vouched or is_container(made[0]):
        check_result(recording, primitive, made[0], args)
    value = made_new(made, args, primitive)
    if bound.of_subclass and type(primitive.fn) is not np.ufunc:
        refuse_own_value(recording, primitive.fn, value, run_args, run_kwargs)
    if not primitive.vouched:
        note_kept(recording, value)
    if recording.keep:
        kwargs = {name: _traced(recording, v) for name, v in kwargs.items()}
    return append_result(recording, bound, value, args, ins, kwargs or None)


def record_as(primitive: Primitive, value: Any, args: tuple[Any, ...]) -> Any:
    """Record a value at hand as that of another, equivalent call."""
    recording = recording_here()
    if recording.context is not None:
        return record_call(primitive, args, {})
    ins = tuple([slots_of(recording, a) for a in args])
    bound = bind(recording, primitive, args, ins, {})
    return append_result(recording, bound, made_new([value], args, primitive), args, ins, None)


def append_result(
    recording: Recording,
    bound: Bound,
    value: Any,
    args: tuple[Any, ...],
    ins: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
) -> Any:
    """Write down a call whose value is at hand, and make the value a variable."""
    if not bound.primitive.vouched:
        recording.memory.log_all()  # the rule's body may read arrays beside its arguments
    if bound.primitive.reads_outside:
        recording.memory.has_pulls = True
        bound = bound.seeing(Hindsight(bound.rule.body, STATE.site, recording.memory.version))
    kept_args = keep_args(recording, bound, args)
    slot = len(recording.entries)
    if is_container(value):
        recording.append((bound, kept_parts(recording, value), ins, kept_args, kwargs, STATE.site))
        if recording.keep:
            guard_outline(recording, bound.primitive, value, slot)
        _fields(recording, value, slot, slot if bound.primitive.lends else None)
        if recording.keep and bound.primitive.vouched:
            _constant_fields(recording, value, slot)
        return value
    if not is_inexact(value):
        refuse_odd(recording, bound.name, value)
        if recording.keep:
            record_constant(recording, bound, args, ins, kwargs or {}, value)
        return value
    needed = recording.keep or bound.reads_y == "value"
    if needed and isinstance(value, np.ndarray):
        recording.memory.capture(value)
    slot = recording.append((bound, held(value, needed), ins, kept_args, kwargs, STATE.site))
    register(recording, value, slot, args, slot if bound.primitive.lends else None)
    if recording.keep and _sized_by_values(recording, bound.fn, args, kwargs):
        guard(recording, np.shape, value, slot)
    return value


def guard_outline(recording: Recording, primitive: Primitive, value: Any, slot: int) -> None:
    """Note what stands beside the numbers in a result, where code may have decided by it."""
    if not primitive.vouched and (is_tree(value) or not all(map(is_inexact, value))):
        guard(recording, outline, value, slot)


def _fields(recording: Recording, value: Any, slot: int, lends: int | None) -> Any:
    """Make each leaf of a result a variable."""
    primitive = ruled(getfield)
    bound = primitive.bound(2, (True, False), ())
    whole = recording.value(slot) if recording.keep else None
    for key, part in leaves_of(value):
        if isinstance(part, np.ndarray):
            recording.memory.capture(part)
        kept = held(part, recording.keep)
        place = recording.append((bound, kept, (slot, None), (whole, key), None, STATE.site))
        register(recording, part, place, (), lends)
    return value


def record_constant(
    recording: Recording,
    primitive: Any,
    args: tuple[Any, ...],
    ins: tuple[Any, ...],
    kwargs: dict[str, Any],
    value: Any,
) -> Any:
    """Record the value of a call without derivative: only a tape needs it. What has no identity becomes a guard."""
    if not recording.keep or primitive.fn in METADATA:
        return value
    kwargs = {name: _traced(recording, v) for name, v in kwargs.items()}
    slot = len(recording.entries)
    args = tuple(recording.memory.capture(a) for a in args)
    if has_identity(value):
        if any(value is a for a in flat(args)):
            value = fresh(value)
        recording.inert.add(recording.append((primitive, value, ins, args, kwargs or None, STATE.site)))
        register(recording, value, slot)
        if isinstance(value, np.ndarray) and _sized_by_values(recording, primitive.fn, args, kwargs):
            guard(recording, np.shape, value, slot)
        return value
    of = primitive if type(primitive) is Primitive else primitive.primitive
    if not of.vouched and is_container(value):
        recording.append((primitive, with_leaves(value, lambda _, leaf: leaf), ins, args, kwargs or None, STATE.site))
        guard_outline(recording, of, value, slot)
        return _inert_fields(recording, value, slot)
    kind = Primitive(primitive.fn, primitive.rule, "guard", primitive.name)
    recording.append((kind, value, ins, args, kwargs or None, users_site()))
    if isinstance(value, tuple) and any(map(has_identity, value)):
        recording.entries[slot] = (primitive, value, ins, args, kwargs or None, STATE.site)
        _constant_fields(recording, value, slot)
    return value


def _inert_fields(recording: Recording, value: Any, slot: int) -> Any:
    """What a function declared constant gave, with new objects for its leaves: on a tape they are variables."""
    primitive, whole = ruled(getfield), recording.value(slot)

    def field(key: Any, leaf: Any) -> Any:
        leaf = made_new([leaf])
        place = recording.append((primitive, leaf, (slot, None), (whole, key), None, STATE.site))
        recording.inert.add(place)
        register(recording, leaf, place)
        return leaf

    recording.inert.add(slot)
    return with_leaves(value, field)


def _constant_fields(recording: Recording, value: tuple[Any, ...], slot: int) -> None:
    """Record the parts of a tuple that have no derivative; what has no identity becomes a guard."""
    for i, part in enumerate(value):
        place, entry = len(recording.entries), ((slot, None), (value, i), None, STATE.site)
        if id(part) in SHADOW:
            continue
        if has_identity(part):
            recording.inert.add(recording.append((ruled(getfield), part, *entry)))
            SHADOW[id(part)] = place
            if isinstance(part, np.ndarray):
                guard(recording, np.shape, part, place)
        elif part is None or isinstance(part, (bool, int, str, bytes)):
            recording.append((Primitive(getfield, None, "guard"), part, *entry))


def _record_rrule(
    recording: Recording,
    primitive: Primitive,
    args: tuple[Any, ...],
    ins: tuple[Any, ...],
    kwargs: dict[str, Any],
    contained: dict[int, Inside],
) -> Any:
    """A user's rule: its value is the value, its pullback is kept. Outer levels see what its body does."""
    bound = bind(recording, primitive, args, ins, kwargs)
    rule = primitive.rule
    assert rule is not None
    assert rule.body is not None
    slots = tuple([contained[k].slots if k in contained else slot for k, slot in enumerate(ins)])
    level, site, start = recording.innermost(slots), STATE.site, len(recording.entries)
    inner: Any = None
    if not primitive.vouched:
        refuse_unspoken(recording, primitive, level)
    watched = [] if home_of(rule.body).startswith("wengert") else watched_by(recording, flat((*args, *kwargs.values())))
    try:
        if level == 0 and recording.keep and len(recording.levels) == 1:
            with silent(primitive.is_python):
                made = [attempt(recording, primitive.fn, args, kwargs)]
            check_result(recording, primitive, made[0], args)
            value = made_new(made)
        elif level == 0:
            with silent(primitive.is_python):
                value, pullback = value_and_pullback(rule, attempt(recording, rule.body, args, kwargs))
        else:
            value, pullback, inner = _entered_rule(recording, level, rule, args, kwargs)
    finally:
        note_writes(recording, primitive, watched, slots, level > 0)
    if level == 0 and recording.keep and len(recording.levels) == 1:
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
    kept = tuple(recording.memory.capture(a) if recording.keep else light(a) for a in args)
    static = {name: _traced(recording, v) for name, v in kwargs.items()} if recording.keep else None
    slot = len(recording.entries)
    recording.memory.log_all()
    recording.memory.has_pulls = True
    seen = Hindsight(pullback, site, recording.memory.version)
    pull = Pull(primitive, rule, pullback, level, {k: form for k, (form, _) in contained.items()}, seen)
    if is_container(value):
        recording.append((pull, kept_parts(recording, value), (*slots, inner), kept, static, site))
        if recording.keep and inner is None:
            guard_outline(recording, primitive, value, slot)
        return _fields(recording, value, slot, start)
    recording.append((pull, held(value, recording.keep), (*slots, inner), kept, static, site))
    register(recording, value, slot, (), start)
    return value


def _entered_rule(recording: Recording, level: int, rule: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a rule's body gives where outer levels record what it computes, and their variables of it."""
    inside_of = recording.levels[level:]
    del recording.levels[level:]
    try:
        value, pullback = value_and_pullback(rule, recording.enter(rule.body)(*args, **kwargs))
        return value, pullback, _inner_slots(recording, value)
    finally:
        recording.levels.extend(inside_of)


def _inner_slots(recording: Recording, value: Any) -> Any:
    """The variables, of outer levels, of what a rule's body gave: of a tuple by place, of a tree by leaf."""
    if is_tree(value):
        return tuple([slot_of(recording, leaf) for _, leaf in leaves_of(value)])
    return slots_in(recording, value) if isinstance(value, tuple) else slot_of(recording, value)


def _traced(recording: Recording, value: Any) -> Any:
    if type(value) in (list, tuple):
        exact(recording, value)
    slot = slot_of(recording, value)
    return recording.memory.capture(value) if slot is None else Traced(slot, value)


def arrays_for_lists(recording: Recording, primitive: Primitive, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Turn lists of traced values into recorded arrays where NumPy would do so silently."""
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


def _sized_by_values(recording: Recording, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> bool:
    """Whether a result is as long as a traced value says: what a mask chooses, what a traced integer sizes."""
    if fn is operator.getitem:
        return has_mask(args[1])
    if isinstance(fn, np.ufunc) or getattr(fn, "__module__", "") == "_operator":
        return False
    kinds = (np.integer, np.ndarray) if fn in _MADE_OF_SHAPES else np.integer
    args = args[1:] if fn in _RESHAPED else args  # the first is what lies in the result
    return any([_is_traced_integer(recording, a, kinds) for a in (*args, *(kwargs or {}).values())])


_RESHAPED = {np.reshape, np.broadcast_to, np.resize, np.tile, np.pad}
_MADE_OF_SHAPES = {np.zeros, np.ones, np.empty, np.full, *_RESHAPED}


def _is_traced_integer(recording: Recording, a: Any, kinds: Any) -> bool:
    if isinstance(a, (tuple, list)) and type(a) is not Traced:
        return any([_is_traced_integer(recording, part, kinds) for part in a])
    a = a.value if type(a) is Traced else a
    return isinstance(a, kinds) and not is_inexact(a) and slot_of(recording, a) is not None
