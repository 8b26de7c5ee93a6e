"""Results become variables: what an entry keeps of a call, and what stands for its result in the shadow table."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

from wengert.recording import pullback_reads
from wengert.recording.decisions import exact, guard
from wengert.recording.fresh_results import kept_parts, made_new
from wengert.recording.nondifferentiable import refuse_odd
from wengert.recording.primitives import Bound, Primitive, ruled
from wengert.recording.recording import STATE, Recording, Traced, users_site
from wengert.recording.shadow import SHADOW, has_identity, held
from wengert.recording.slots import flat, slot_of, slots_of
from wengert.recording.subclasses import renewed
from wengert.values.functional import getfield
from wengert.values.keys import has_mask
from wengert.values.results import is_tree, leaves_of, outline, with_leaves
from wengert.values.specs import SCALARS, is_inexact, light
from wengert.values.trees import is_container
from wengert.values.views import owner_of

_COMPARISONS = {operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt}
METADATA = {len, np.shape, np.ndim, np.size}  # read off the shape alone: neither recorded nor guarded


def register(recording: Recording, value: Any, slot: int, args: tuple[Any, ...] = (), lends: int | None = None) -> None:
    """Make the fresh result of the entry at `slot` a variable.

    `lends`: a view of memory with variables from before this place is not just a view, its rule says otherwise.
    """
    if isinstance(value, np.ndarray) and value.base is not None:
        lent = recording.memory.lent
        if lends is None:
            is_lent = bool(lent) and any([lent.shows(a) for a in args])
        else:
            is_lent = lent.is_workspace(owner_of(value)) or recording.memory.held_before(value, lends)
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
            _own_memory(recording, value, owner, slot)


def _own_memory(recording: Recording, value: np.ndarray, owner: np.ndarray, slot: int) -> None:
    """Have the memory that a rule's body made hold the rule's result, where an outer level has recorded the body."""
    if value.strides == owner.strides and value.size == owner.size:
        SHADOW[id(owner)] = slot
        return
    memory = recording.memory
    memory.put(memory.join(value), value, value, slot)


def append_result(
    recording: Recording,
    bound: Bound,
    value: Any,
    args: tuple[Any, ...],
    ins: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
) -> Any:
    """Record a call whose value is known, and make the value a variable."""
    if not bound.primitive.is_trusted:
        recording.memory.log_all()  # the rule's body may read arrays beside its arguments
    if bound.primitive.reads_outside:
        recording.memory.has_outer_reads = True
        bound = bound.with_outer_state(pullback_reads.OuterState(bound.rule.body, STATE.site, recording.memory.version))
    kept_args = keep_args(recording, bound, args)
    slot = len(recording.entries)
    if type(value) is not np.ndarray and is_container(value):
        recording.append((bound, kept_parts(recording, value), ins, kept_args, kwargs, STATE.site))
        if recording.keep and not bound.primitive.is_trusted:
            guard_outline(recording, value, slot)
        fields(recording, value, slot, slot if bound.primitive.may_return_foreign_view else None)
        if recording.keep and bound.primitive.is_trusted:
            _constant_fields(recording, value, slot)
        return value
    if not is_inexact(value):
        refuse_odd(recording, bound.name, value)
        return record_constant(recording, bound, args, ins, kwargs or {}, value)
    needed = recording.keeps_results or bound.reads_y == "value"
    if needed and isinstance(value, np.ndarray):
        recording.memory.capture(value)
    slot = recording.append((bound, held(value, needed), ins, kept_args, kwargs, STATE.site))
    register(recording, value, slot, args, slot if bound.primitive.may_return_foreign_view else None)
    if recording.keep:
        _guard_size(recording, bound.fn, args, kwargs, value, slot)
        _note_place(recording, bound.fn, args, kwargs, value)
    return value


def fields(recording: Recording, value: Any, slot: int, lends: int | None) -> Any:
    """Make each leaf of a result a variable."""
    primitive = ruled(getfield)
    bound = primitive.bound(2, (True, False), ())
    whole = recording.value(slot) if recording.keep else None
    for key, part in leaves_of(value):
        if isinstance(part, np.ndarray):
            recording.memory.capture(part)
        kept = held(part, recording.keeps_results)
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
    """Record the value of a call without derivative, which only a tape needs; without identity it becomes a guard."""
    if not recording.keep or primitive.fn in METADATA:
        return value
    kwargs = {name: keep_keyword(recording, v) for name, v in kwargs.items()}
    slot = len(recording.entries)
    args = tuple(recording.memory.capture(a) for a in args)
    is_compared = type(value) is np.bool_ or (type(value) is bool and primitive.fn in _COMPARISONS)
    if recording.batched and is_compared:  # of bools there are but two objects
        value = np.array(value)
    if has_identity(value):
        if any(value is a for a in flat(args)):
            value = renewed(value)
        recording.inert.add(recording.append((primitive, value, ins, args, kwargs or None, STATE.site)))
        register(recording, value, slot, args)
        if isinstance(value, np.ndarray):
            _guard_size(recording, primitive.fn, args, kwargs, value, slot)
            _note_place(recording, primitive.fn, args, kwargs, value)
        return value
    of = primitive if type(primitive) is Primitive else primitive.primitive
    if is_tree(value) or (is_container(value) and not of.is_trusted):
        recording.append((primitive, with_leaves(value, lambda _, leaf: leaf), ins, args, kwargs or None, STATE.site))
        guard_outline(recording, value, slot)
        return _inert_fields(recording, value, slot)
    kind = Primitive(primitive.fn, primitive.rule, "guard", primitive.name)
    recording.append((kind, value, ins, args, kwargs or None, users_site()))
    if isinstance(value, tuple) and any(map(has_identity, value)):
        recording.entries[slot] = (primitive, value, ins, args, kwargs or None, STATE.site)
        _constant_fields(recording, value, slot)
    return value


def _inert_fields(recording: Recording, value: Any, slot: int) -> Any:
    """The result of a function declared constant, with new objects for its leaves; on a tape they are variables."""
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


def guard_outline(recording: Recording, value: Any, slot: int) -> None:
    """Guard what stands beside the numbers in a result, where code may have decided by it."""
    if is_tree(value) or not all(map(is_inexact, value)):
        guard(recording, outline, value, slot)


def keep_args(recording: Recording, bound: Bound, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the residuals of the arguments: values that the pullback reads, Specs of others, and statics."""
    k = bound.rule.sequence
    if k is None or type(args[k]) not in (list, tuple):
        args = _operands(bound, args) if k is None else args
        pairs = zip(bound.residual_kinds, args, strict=True)
        return tuple([a if type(a) in _KEPT_AS_THEY_ARE else _kept_argument(recording, how, a) for how, a in pairs])
    pairs = zip(bound.residual_kinds, splat(k, args, args[k]), strict=True)
    flat = [a if type(a) in _KEPT_AS_THEY_ARE else _kept_argument(recording, how, a) for how, a in pairs]
    end = k + len(args[k])
    return (*flat[:k], flat[k:end], *flat[end:])


def _operands(bound: Bound, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, with arrays in place of lists of constants, as NumPy made them: rules index and transpose them.

    A tuple of axes, which may stand before an operand, stays.
    """
    if not bound.primitive.is_array_function or not any([type(a) in (list, tuple) for a in args]):
        return args
    names = bound.rule.analysis.names if bound.rule.analysis else ()
    named = itertools.zip_longest(bound.residual_kinds, args, names[: len(args)])
    return tuple([
        np.asarray(a) if how == "value" and type(a) in (list, tuple) and name != "axis" else a for how, a, name in named
    ])  # fmt: skip


def splat(k: int, items: tuple[Any, ...], inner: Any) -> tuple[Any, ...]:
    """Arguments, or their slots, with those of the sequence at position k one by one."""
    return (*items[:k], *inner, *items[k + 1 :])


_KEPT_AS_THEY_ARE = SCALARS | {bool, np.bool_, type(None)}
"""Types of arguments that an entry keeps as they are."""


def _kept_argument(recording: Recording, how: str, value: Any) -> Any:
    if recording.keep or how == "value" or how == "static" or (recording.keeps_results and not is_inexact(value)):
        return recording.memory.capture(value)
    if how == "shape" or recording.keeps_results:
        return light(value)
    return None if isinstance(value, np.ndarray) else value


def keep_keyword(recording: Recording, value: Any) -> Any:
    """Return the residual of a keyword argument."""
    if type(value) in (list, tuple):
        exact(recording, value)
    slot = slot_of(recording, value)
    return recording.memory.capture(value) if slot is None else Traced(slot, value)


def _guard_size(
    recording: Recording, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None, value: Any, slot: int
) -> None:
    """Guard the shape of a result that follows from a traced value: what a mask chooses, what traced integers size."""
    if fn is operator.getitem:
        if has_mask(args[1]):
            guard(recording, np.shape, value, slot)
        return
    if isinstance(fn, np.ufunc) or getattr(fn, "__module__", "") == "_operator" or fn is np.ndarray.item:
        return
    sizes = (*(args[1:] if fn in _RESHAPED else args), *(kwargs or {}).values())  # the first lies in the result
    if fn in _MADE_OF_SHAPES:  # code may compute with shapes before it makes the array
        exact(recording, _traced_integers(recording, sizes, _INTEGERS))
    elif _traced_integers(recording, sizes, np.integer):
        guard(recording, np.shape, value, slot)


_RESHAPED = {np.reshape, np.ndarray.reshape, np.broadcast_to, np.resize, np.tile, np.pad}
_INTEGERS = (np.integer, np.ndarray)
_MADE_OF_SHAPES = {np.zeros, np.ones, np.empty, np.full, np.indices, *_RESHAPED}


def _note_place(
    recording: Recording, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None, value: Any
) -> None:
    """Note a view whose place in memory traced integers decide."""
    if not isinstance(value, np.ndarray) or value.base is None:
        return
    owner, found = owner_of(value), _traced_integers(recording, (*args, *(kwargs or {}).values()), _INTEGERS)
    integers = [a for a in found if type(a) is not np.ndarray or owner_of(a) is not owner]
    if integers:
        key = (args[1], slots_of(recording, args[1])) if fn is operator.getitem and args[0] is owner else None
        recording.memory.placed.note(value, owner, integers, key)


def _traced_integers(recording: Recording, things: Any, kinds: Any) -> list[Any]:
    """Return the traced integers among things, and in lists and tuples among them."""
    found = []
    for a in things:
        a = a.value if type(a) is Traced else a
        if isinstance(a, (tuple, list)):
            found += _traced_integers(recording, a, kinds)
        elif isinstance(a, kinds) and not is_inexact(a) and slot_of(recording, a) is not None:
            found.append(a)
    return found
