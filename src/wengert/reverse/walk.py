"""The reverse pass: walk the recording back, call each pullback once, set or add its cotangents."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from wengert.errors import NoDerivativeError, RuleError, of_rule
from wengert.mutation import residuals
from wengert.recording import nans, pullback_reads
from wengert.recording.container_arguments import spread
from wengert.recording.primitives import INPUT, Bound, PartUpdate, ShortForms
from wengert.recording.recording import STATE, Entry, Level, Recording, Traced, flat_slots
from wengert.recording.subclasses import viewed_plain
from wengert.recording.user_pullbacks import RruleCall
from wengert.recording.variables import splat
from wengert.reverse import checkpoint, strategies
from wengert.reverse.accumulators import EAGER, Cotangents, Seeds
from wengert.reverse.parts import field_step, number_read, number_store, number_sum, number_update, store_step, sum_step
from wengert.rulebook import array_steps
from wengert.rulebook.runtime import own
from wengert.values.cotangents import AbstractTangent, are_finite, has_nan, is_all_zero
from wengert.values.functional import additem, getfield, getitem, setitem
from wengert.values.names import is_of_wengert
from wengert.values.projection import project, unbroadcast
from wengert.values.results import form_of, is_flat, keys_of
from wengert.values.settings import SETTINGS
from wengert.values.specs import Spec, spec_of
from wengert.values.warned import go_on, steps

_array_type, _weak_ref = np.ndarray, weakref.ref
_sum_first_axis = np.add.reduce
_ARRAY_OR_SPEC = (np.ndarray, Spec)
LARGE_COTANGENT = 1 << 19  # bytes; from such a cotangent on, each step is checked, so that its entry can be dropped
WARM_USES = 100  # uses after which a call gets a generated step: generating takes 2 ms, and saves 1.5 µs per use


def reverse(
    recording: Recording,
    here: Level,
    seeds: Seeds,
    depth: int,
    may_drop_entries: bool,
    watching: Recording | None,
    make: Callable[[int], Cotangents] | None = None,
    once: bool = False,
) -> Cotangents:
    """Walk back over a level, from the seeds at some slots, and return the cotangents of all slots.

    `depth` counts the outer levels. With `may_drop_entries`, the walk takes checked steps from the first large
    cotangent on, and drops each entry after its step; before that all entries stay. Memory written since the call is
    restored for each pullback, and put back at the end. The computations are recorded by `watching`, the recording open
    on this thread: the same one for an inner level, None for the outermost, any for a later pullback.
    If there is no outer trace, `make(size)` makes the Cotangents. With `once`, no step is then repeated, and each entry
    is dropped after its step; timing needs this.

    A cotangent of exactly zero passes on zeros, even if a partial is infinite or nan; so a step that makes a nan is
    taken again. To check each step would be slow on small arrays. So only the inputs are checked at the end, and if one
    has a nan, the whole walk is repeated with checks. Entries are dropped only if steps are checked.
    """
    end = here.start - 1
    for slot, _ in seeds:
        end = max(end, slot)
    plain = SETTINGS.are_default
    passing: strategies.Passing | None = None
    if watching is not None or depth or not (plain or _walks_plainly()):
        residuals.materialise(recording, here.start, end + 1, written_only=True)
        recording.depends(end, here)
        cotangents: Cotangents = (passing := strategies.passing(recording, here, seeds, end + 1, watching))
    else:
        cotangents = (make or (Cotangents if plain else EAGER[SETTINGS.add]))(end + 1)
        cotangents.entries = recording.entries
    if recording.memory.has_outer_reads:
        pullback_reads.note_outer_changes(map(recording.entries.__getitem__, range(here.start, end + 1)))
    cotangents.begin(seeds)
    cotangents.owed, owed = recording.owed, len(recording.owed)
    try:
        if passing is not None:
            _walk_stepwise(recording, here, passing, end, depth)
            return passing
        if once:
            recording.memory.use_up()
            _walk_quickly(recording, here, cotangents, end, depth, math.inf, may_drop_entries)
            return cotangents
        large = LARGE_COTANGENT if may_drop_entries else math.inf
        last = _walk_quickly(recording, here, cotangents, end, depth, large)
        if last < 0:
            for slot in here.inputs:
                if slot <= end and has_nan(cotangents.table[slot]):
                    break
            else:
                return cotangents
        recording.owed.pay(owed)
        if last < 0 or any(map(has_nan, cotangents.table[: last + 1])):
            first, cotangents = cotangents, (make or EAGER[SETTINGS.add])(end + 1)
            cotangents.entries = recording.entries
            go_on(first, cotangents)
            cotangents.begin(seeds)
            cotangents.owed, last = recording.owed, end
        cotangents.checks_nans = True
        if may_drop_entries:
            recording.memory.use_up()
            recording.entries[last + 1 : end + 1] = [None] * (end - last)
        _walk_carefully(recording, here, cotangents, last, depth, may_drop_entries)
    finally:
        if len(recording.owed) > owed:
            recording.owed.pay(owed)
    return cotangents


def _walks_plainly() -> bool:
    """Whether the settings of this thread let a walk add up all contributions before each step, unchecked."""
    return SETTINGS.strategy != "pass through" and not SETTINGS.debug_nans


@steps("cotangents")
def _walk_quickly(
    recording: Recording,
    here: Level,
    cotangents: Cotangents,
    end: int,
    depth: int,
    large: float,
    drop_entries: bool = False,
) -> int:
    """Walk back from `end` to the start of the level, without an outer trace, and return -1.

    Most steps are generated; `general_step` takes the others. If a cotangent has `large` bytes or more, stop before its
    step and return its slot. With `drop_entries`, drop each entry after its step.
    """
    entries: Any = recording.entries
    table, memory = cotangents.table, recording.memory
    done, log = 0, memory.undo
    inputs, quick = here.inputs, type(cotangents) is Cotangents and cotangents.live is None
    try:
        for slot in range(end, here.start + here.leading - 1, -1):
            cotangent = table[slot]
            if cotangent is None:
                continue
            if log and done < len(log) and log[-1 - done][0] > slot:
                done = memory.unwind(slot) if drop_entries else memory.rewind(slot, done)
            entry = entries[slot]
            op = entry[0]
            step = op.step
            if step is not None:
                step(cotangent, entry, table)
                table[slot] = None
            elif type(cotangent) is _array_type and cotangent.nbytes >= large:
                return slot
            elif op.is_simple and type(cotangent) is not dict:
                table[slot] = None
                (op.array_step or _simple_step)(cotangents, table, cotangent, entry)
            elif slot not in inputs:
                at_key = op.at_key
                if at_key is None or not quick or not _STEPS_AT_A_KEY[at_key](cotangents, slot, entry):
                    general_step(cotangents, slot, entry, depth)
            if drop_entries:
                entries[slot] = None
    except (NoDerivativeError, np.linalg.LinAlgError) as error:
        raise of_rule(error, entry[5]) from error.__cause__
    return -1


@steps("cotangents")
def _walk_carefully(
    recording: Recording, here: Level, cotangents: Cotangents, end: int, depth: int, drop_entries: bool
) -> None:
    """Walk back in general steps, each checked for nans; with `drop_entries`, drop each entry after its step."""
    entries: Any = recording.entries
    table, memory = cotangents.table, recording.memory
    done, log = 0, memory.undo
    try:
        for slot in range(end, here.start - 1, -1):
            if table[slot] is None or slot in here.inputs:
                continue
            if log and done < len(log) and log[-1 - done][0] > slot:
                done = memory.unwind(slot) if drop_entries else memory.rewind(slot, done)
            entry = entries[slot]
            general_step(cotangents, slot, entry, depth)
            if drop_entries:
                entries[slot] = None
    except (NoDerivativeError, np.linalg.LinAlgError) as error:
        raise of_rule(error, entry[5]) from error.__cause__


def _walk_stretch(recording: Recording, here: Level, cotangents: Cotangents, end: int) -> None:
    """Walk back over the entries of a checkpoint's second run, which all depend on the only level's inputs."""
    live, cotangents.live = cotangents.live, None
    if not cotangents.checks_nans:
        _walk_quickly(recording, here, cotangents, end, 0, math.inf, True)
    else:
        _walk_carefully(recording, here, cotangents, end, 0, True)
    cotangents.live = live


def _walk_stepwise(recording: Recording, here: Level, cotangents: strategies.Passing, end: int, depth: int) -> None:
    """Walk back in general steps, which an outer trace sees or which pass on contributions at once."""
    site = STATE.site
    cotangents.live = here.dependent
    cotangents.moves = cotangents.may_move()
    for slot in range(end, here.start - 1, -1):
        while cotangents.waiting:
            _noted_step(recording, cotangents, cotangents.pop_waiting(), "passed through", depth)
        if cotangents.table[slot] is not None and slot not in here.inputs:
            _noted_step(recording, cotangents, slot, "pullback of", depth)
    while cotangents.waiting:
        _noted_step(recording, cotangents, cotangents.pop_waiting(), "passed through", depth)
    cotangents.note("", end)
    STATE.site = site


@steps("cotangents")
def _noted_step(recording: Recording, cotangents: strategies.Passing, slot: int, label: str, depth: int) -> None:
    entry = recording.entries[slot]
    assert entry is not None
    STATE.site = entry[5]
    cotangents.note(label, slot)
    places, y_bar = _before_step(cotangents, slot, entry) if SETTINGS.debug_nans else ((), None)
    watching = STATE.recording
    if watching is not None and not (watching.keep and _has_own_rule(entry[0])):
        watching = None
    before = watching is not None and watching.batched
    try:
        if watching is not None:
            watching.batched = True  # so a comparison of numbers in a rule is computed on the tape, and no guard
        general_step(cotangents, slot, entry, depth)
    except (NoDerivativeError, np.linalg.LinAlgError) as error:
        raise of_rule(error, entry[5]) from error.__cause__
    finally:
        if watching is not None:
            watching.batched = before
    if places:
        handed_on = [cotangent for _, cotangent, _ in cotangents.waiting]
        nans.check_step(recording, slot, y_bar, [*map(cotangents.table.__getitem__, places), *handed_on])


def _has_own_rule(op: Any) -> bool:
    return type(op) is Bound and is_of_wengert(op.rule.body)


def _before_step(cotangents: Cotangents, slot: int, entry: Entry) -> tuple[list[int], Any]:
    """Return the argument slots whose cotangents are finite so far, and a copy of ȳ, which the step may overwrite."""
    y_bar = cotangents.table[slot]
    places = [k for k in flat_slots(entry[2]) if nans.first_bad(cotangents.table[k]) is None]
    return places, np.array(y_bar) if isinstance(y_bar, np.ndarray) else y_bar


def general_step(cotangents: Cotangents, slot: int, entry: Entry, depth: int) -> None:
    """Take one step back, through an entry of any kind."""
    op, y, ins, args, kwargs, _ = entry
    cotangent, owned = cotangents.take(slot)
    if cotangents.live is not None:
        op, ins = _at_this_level(op, ins, args, kwargs, cotangents.live)
    if op is INPUT:  # of an inner level; without an outer variable it is a constant for this one
        if ins and ins[0] is not None:
            cotangents.add(ins[0], cotangent, owned)
    elif type(op) is RruleCall:
        _custom_step(cotangents, cotangent, owned, op, y, ins, args, depth)
    elif type(op) is PartUpdate:
        _update_step(cotangents, slot, cotangent, owned, op.bound, y, ins, args)
    elif type(op) is not Bound:
        if type(op) is checkpoint.CheckpointEntry:
            op.step_back(cotangents, cotangent, _walk_stretch)
    elif op.variant is None:
        return
    elif op.fn is getfield:
        field_step(cotangents, ins[0], args, cotangent)
    elif op.fn is setitem and cotangents.can_unstore(cotangent, args[1]):
        store_step(cotangents, cotangent, owned, ins, args)
    elif op.fn is additem and y is None:  # an update in place; others are calls, also by name
        sum_step(cotangents, cotangent, owned, ins, args)
    else:
        if type(y) is weakref.ref:  # y may be gone; the rule reads at most its shape and dtype, which ȳ has too
            y = cotangent
        if cotangents.moves and cotangents.moved_step(op, cotangent, y, entry, ins):  # type: ignore[attr-defined]
            return
        added = op.scatter is not None and np.ndim(args[0]) and cotangents.scatter(op, ins[0], cotangent, y, args)
        if not added:
            _rule_step(cotangents, cotangent, op, y, ins, args, kwargs)


def _at_this_level(op: Any, ins: Any, args: Any, kwargs: Any, live: set[int]) -> tuple[Any, Any]:
    """Return an entry's primitive and slots for this level: values that do not depend on its inputs are constants."""
    known, ins = ins, _live_slots(ins, live)
    if ins == known:
        return op, ins
    if type(op) is not Bound or op.variant is None:
        return op, ins
    flat = ins
    k = op.rule.sequence
    if k is not None and type(args[k]) in (list, tuple):
        flat = splat(k, ins, ins[k] or (None,) * len(args[k]))
    mask = tuple([slot is not None for slot in flat])
    bound = op.primitive.bound(len(mask), mask, tuple(kwargs or ()))
    bound = bound.with_subclass() if op.of_subclass else bound
    return bound if op.outer_state is None else bound.with_outer_state(op.outer_state), ins


def _live_slots(ins: Any, live: set[int]) -> Any:
    return tuple([_live_slots(slot, live) if type(slot) is tuple else slot if slot in live else None for slot in ins])


def _simple_step(cotangents: Cotangents, table: Any, y_bar: Any, entry: Entry) -> None:
    """Step back, without an outer trace, through a positional call whose arguments are all differentiable."""
    bound, y, ins, args, _, _ = entry
    if bound.above is not None and any([np.size(args[k]) >= bound.above for k in bound.places]):
        _rule_step(cotangents, y_bar, bound, y_bar if type(y) is _weak_ref else y, ins, args, entry[4])
        return
    bound.uses += 1
    if bound.uses == WARM_USES:
        fit = _fit if bound.rule.broadcasts else _fit_whole
        reads_y = bound.reads_y == "value"
        bound.array_step = array_steps.array_step(
            bound.rule.analysis, bound.wanted, reads_y, bound.above, _simple_step, fit
        )
    x_bars = bound.call(y_bar, y_bar if type(y) is _weak_ref else y, *args)  # y may be gone: see general_step
    for k in bound.places:
        x_bar, x, slot = x_bars[k], args[k], ins[k]
        if x_bar is None:
            continue
        if type(x_bar) is not _array_type or type(x) not in _ARRAY_OR_SPEC or x_bar.dtype != x.dtype:
            x_bar = _project_number_or_array(x_bar, x, bound.rule.broadcasts)
        elif x_bar.shape != x.shape:
            x_bar = unbroadcast(x_bar, x.shape) if bound.rule.broadcasts else project(x_bar, spec_of(x), False)
        if table[slot] is None:
            table[slot] = x_bar
        else:
            cotangents.add(slot, x_bar)


_STEPS_AT_A_KEY: dict[Any, Callable[..., bool]] = {
    getitem: number_read,
    setitem: number_store,
    additem: number_sum,
    PartUpdate: partial(number_update, simple_step=_simple_step),
}


def _fit(x_bar: Any, x: Any) -> Any:
    """Convert a cotangent to the form of its primal `x`, or of a Spec: sum it over broadcast axes."""
    if type(x_bar) is _array_type and x_bar.dtype == x.dtype:
        if x_bar.shape[1:] == x.shape:
            return _sum_first_axis(x_bar)  # the most frequent case: a bias
        return unbroadcast(x_bar, x.shape)
    return None if x_bar is None else project(x_bar, spec_of(x), True)


def _fit_whole(x_bar: Any, x: Any) -> Any:
    return None if x_bar is None else project(x_bar, spec_of(x), False)


def _project_number_or_array(x_bar: Any, x: Any, broadcasts: bool) -> Any:
    is_like = _CHARS.get(type(x_bar), "?") == _CHARS.get(type(x))
    return x_bar if is_like else project(x_bar, spec_of(x), broadcasts)


_CHARS = {float: "d", np.float64: "d", complex: "D", np.complex128: "D", np.float32: "f"}


def _rule_step(cotangents: Cotangents, y_bar: Any, bound: Bound, y: Any, ins: Any, args: Any, kwargs: Any) -> None:
    """Step back through any call of a function that has a rule with partials or a pullback."""
    rule, plan = bound.rule, bound.plan
    k = rule.sequence
    if k is not None and type(args[k]) in (list, tuple):
        ins = splat(k, ins, ins[k] or (None,) * len(args[k]))
        args = splat(k, args, args[k])
    if type(y_bar) is dict:
        y_bar = rule.result_bar(y_bar, y)
    primals, static = plan.bind(args, kwargs)
    if kwargs:
        static = {name: value.value if type(value) is Traced else value for name, value in static.items()}
    wanted, variant = bound.wanted, bound.variant
    if bound.of_subclass:
        y, *rest = [viewed_plain(x, cotangents.call) for x in (y, *primals)]
        primals = tuple(rest)
    state = bound.outer_state
    if rule.accumulators and state is None and not (cotangents.checks_nans and not are_finite(y_bar, *primals)):
        wanted = cotangents.let_rule_add(rule, ins, y_bar, y, primals, static, wanted)
        if not any(wanted):
            return
        variant = plan.variant(wanted)
    assert variant is not None
    if state is None:
        _derived_step(cotangents, y_bar, rule, variant, y, ins, primals, static, wanted)
    else:
        with state.restored(STATE.recording is not None, cotangents.owed):
            _derived_step(cotangents, y_bar, rule, variant, y, ins, primals, static, wanted)


def _update_step(
    cotangents: Cotangents, slot: int, y_bar: Any, owned: bool, bound: Bound, y: Any, ins: Any, args: Any
) -> None:
    """Step back through `x[key] op= value`: a store into `x`, a call, and a read of the part before.

    The cotangent of the part is put in the entry's own slot, which is empty by now.
    """
    (place, _, _, value_slot), (_, key, part, value) = ins, args
    part_bar = cotangents.project(cotangents.read(y_bar, key), part, True)
    if place is not None:
        cotangents.add(place, cotangents.clear(y_bar, owned, key), True)
    form = bound if place is not None else bound.primitive.simple_bound((False, True))
    _rule_step(cotangents, part_bar, form, y, (slot, value_slot), (part, value), None)
    part_bar, _ = cotangents.take(slot)
    if place is not None and part_bar is not None:
        cotangents.scatter(ShortForms.item, place, part_bar, None, args[:2])


def _derived_step(
    cotangents: Cotangents,
    y_bar: Any,
    rule: Any,
    variant: Any,
    y: Any,
    ins: Any,
    primals: Any,
    static: Any,
    wanted: Any,
) -> None:
    """Step back by a variant of a rule that has partials or a pullback."""
    x_bars = cotangents.call_rule(variant.call, y_bar, y, *primals, **static)
    if cotangents.checks_nans and has_nan(x_bars):
        with np.errstate(all="ignore"):
            x_bars = cotangents.call(rule.keeping(wanted), y_bar, y, *primals, **static)
    for slot, x_bar, x, is_wanted in zip(ins, x_bars, primals, wanted, strict=False):
        if is_wanted and isinstance(x_bar, AbstractTangent):
            _add_contribution(cotangents, slot, [x_bar], x, rule, y_bar)
        elif is_wanted and x_bar is not None:
            cotangents.add(slot, cotangents.project(x_bar, x, rule.broadcasts))


def _add_contribution(cotangents: Cotangents, slot: int, held: list[Any], x: Any, rule: Any, y_bar: Any) -> None:
    try:
        cotangents.add_contribution(slot, held, x, rule.broadcasts, y_bar)
    except RuleError as error:
        raise RuleError(f"the rule of {rule.primitive} ({rule.where}): {error}") from None


def _custom_step(
    cotangents: Cotangents, y_bar: Any, owned: bool, pull: RruleCall, y: Any, ins: Any, args: Any, depth: int
) -> None:
    """Step back by the pullback that an rrule returned."""
    if pull.level != depth and y is not None:  # y is None for an undeclared write of the rule's function
        _hand_to_body(cotangents, y_bar, owned, ins[-1], y)
        return
    rule = pull.rule
    y_bar = y_bar if owned else cotangents.call(own, y_bar)
    y_bar = rule.result_bar(y_bar, y if is_flat(y) else form_of(y)) if type(y_bar) is dict else y_bar
    with pull.outer_state.restored(STATE.recording is not None, cotangents.owed):
        x_bars = list(rule.cotangents(cotangents.call(pull.pullback, y_bar), args))
        if cotangents.checks_nans and STATE.recording is None and is_all_zero(y_bar) and has_nan(x_bars):
            return
        for k, (slot, x) in enumerate(zip(ins, args, strict=False)):
            held, x_bars[k] = [x_bars[k]], None
            if type(slot) is tuple:
                _spread_step(cotangents, slot, held[0], pull.forms[k], rule, y_bar)
            elif slot is not None and held[0] is not None:
                _add_contribution(cotangents, slot, held, x, rule, y_bar)


def _spread_step(cotangents: Cotangents, slots: Any, x_bar: Any, form: Any, rule: Any, y_bar: Any) -> None:
    """Pass the parts of a container's cotangent to the slots of its leaves."""
    try:
        parts = list(spread(form, x_bar, cotangents.call))
    except RuleError as error:
        raise RuleError(f"the rule of {rule.primitive} ({rule.where}): {error}") from None
    for place, part in parts:
        if slots[place.number] is not None:
            _add_contribution(cotangents, slots[place.number], [part], place.spec, rule, y_bar)


def _hand_to_body(cotangents: Cotangents, y_bar: Any, owned: bool, inner: Any, y: Any) -> None:
    """Pass the cotangent to the value that the rule's body computed, which an outer level sees as the rule's value."""
    if type(y_bar) is dict:
        for k, slot in zip(range(len(y)) if is_flat(y) else keys_of(y), inner or (), strict=False):
            if slot is not None and k in y_bar:
                cotangents.add(slot, y_bar[k])
    elif inner is not None:
        cotangents.add(inner, y_bar, owned)


__all__ = ["general_step", "reverse"]
