"""The reverse pass: walk the recording back, call each pullback once, set or add its cotangents."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import NoDerivativeError, RuleError, of_rule
from wengert.mutation.residuals import materialise
from wengert.recording.container_arguments import spread
from wengert.recording.nans import check_step, first_bad
from wengert.recording.primitives import INPUT, Bound
from wengert.recording.recording import STATE, Entry, Level, Recording, Traced, flat_slots
from wengert.recording.subclasses import viewed_plain
from wengert.recording.user_pullbacks import Pull
from wengert.recording.variables import splat
from wengert.reverse.accumulators import EAGER, Cotangents
from wengert.reverse.checkpoint import Folded
from wengert.reverse.parts import field_step, store_step
from wengert.reverse.strategies import PassingCotangents, PassingTracedCotangents, Seeds, choosing
from wengert.reverse.windows import Windows
from wengert.rulebook.array_steps import array_step
from wengert.rulebook.keeping import are_finite, has_nan, is_all_zero
from wengert.rulebook.runtime import own
from wengert.values.cotangents import AbstractTangent
from wengert.values.functional import getfield, setitem
from wengert.values.projection import project, unbroadcast
from wengert.values.results import form_of, is_flat, keys_of
from wengert.values.settings import SETTINGS
from wengert.values.specs import FLOATS, Spec, spec_of
from wengert.values.warned import go_on, steps

_ndarray, _ref = np.ndarray, weakref.ref
_sum = np.add.reduce
_ARRAYS = (np.ndarray, Spec)
LARGE = 1 << 19  # bytes of a cotangent from which on each step is looked at, so that its entry can be dropped
WARM = 100  # uses after which a form of call gets a step of its own: it takes 2 ms to generate, and saves 1.5 µs a use


def reverse(
    recording: Recording,
    here: Level,
    seeds: Seeds,
    depth: int,
    consume: bool,
    watching: Recording | None,
    make: Callable[[int], Cotangents] | None = None,
    once: bool = False,
) -> Cotangents:
    """Walk back over a level, from the seeds at some slots, and return the cotangents of all slots.

    `depth` counts the levels around it. With `consume`, residuals are dropped as they are used. Memory written since is
    put back as each pullback saw it, and restored at the end. What is computed is recorded by `watching`, the recording
    that is open on this thread now: the same one in an inner level, None in the outermost, any one for a pullback
    called later. `make` makes the Cotangents of so many slots where no outer trace looks on. With `once` no step is
    taken again there, and each entry is dropped after its step: so a pass is timed.

    A cotangent of exactly zero hands on zeros, also where a partial is infinite or nan: a step that makes a nan is
    taken again in this way. To look at each step would take too long on small arrays, so the inputs are looked at in
    the end, and all is walked again if one of them has a nan. Entries are dropped only once steps are looked at.
    """
    end = max([slot for slot, _ in seeds], default=here.start - 1)
    if watching is not None or depth or SETTINGS.strategy == "pass through" or SETTINGS.debug_nans:
        materialise(recording, here.start, end + 1, written_only=True)
        recording.depends(end, here)
        made = PassingCotangents(end + 1) if watching is None else PassingTracedCotangents(watching, recording)
        cotangents: Cotangents = choosing(made, recording, here, seeds)
    else:
        cotangents = _fresh(recording, end, make)
    if recording.memory.has_pulls:
        for entry in map(recording.entries.__getitem__, range(here.start, end + 1)):
            if entry is not None and getattr(entry[0], "seen", None) is not None:
                entry[0].seen.look_again()
    _start(cotangents, seeds)
    cotangents.owed, owed = recording.owed, len(recording.owed)
    try:
        if isinstance(cotangents, (PassingCotangents, PassingTracedCotangents)):
            _walk_stepwise(recording, here, cotangents, end, depth)
            return cotangents
        if once:
            recording.memory.use_up()
            _walk_quickly(recording, here, cotangents, end, depth, math.inf, consume)
            return cotangents
        large = LARGE if consume else math.inf
        last = _walk_quickly(recording, here, cotangents, end, depth, large)
        if last < 0 and not any(map(has_nan, [cotangents.table[slot] for slot in here.inputs if slot <= end])):
            return cotangents
        recording.owed.pay(owed)
        if last < 0 or any(map(has_nan, cotangents.table[: last + 1])):
            first, cotangents = cotangents, _fresh(recording, end, make)
            go_on(first, cotangents)
            _start(cotangents, seeds)
            cotangents.owed, last = recording.owed, end
        cotangents.careful = True
        if consume:
            recording.memory.use_up()
            recording.entries[last + 1 : end + 1] = [None] * (end - last)
        _walk_carefully(recording, here, cotangents, last, depth, consume)
    finally:
        recording.owed.pay(owed)
    return cotangents


def _fresh(recording: Recording, end: int, make: Callable[[int], Cotangents] | None) -> Cotangents:
    cotangents = (make or EAGER[SETTINGS.add])(end + 1)
    cotangents.windows = Windows(recording.entries)
    return cotangents


def _start(cotangents: Cotangents, seeds: Seeds) -> None:
    for slot, seed in seeds:
        cotangents.start(slot, seed)


@steps("cotangents")
def _walk_quickly(
    recording: Recording, here: Level, cotangents: Cotangents, end: int, depth: int, large: float, consume: bool = False
) -> int:
    """Walk back from `end` to the start of the level, where no outer trace looks on, and return -1.

    Most steps are generated ones; `general_step` takes any other. Before a step whose cotangent has `large` bytes it
    stops, and returns its slot. With `consume` it drops the entries.
    """
    entries: Any = recording.entries
    table, memory = cotangents.table, recording.memory
    done, log = 0, memory.undo
    inputs = here.inputs
    try:
        for slot in range(end, here.start + here.leading - 1, -1):
            cotangent = table[slot]
            if cotangent is None:
                continue
            if log and done < len(log) and log[-1 - done][0] > slot:
                done = memory.unwind(slot) if consume else memory.rewind(slot, done)
            entry = entries[slot]
            primitive = entry[0]
            step = primitive.step
            if step is not None:
                step(cotangent, entry, table)
                table[slot] = None
            elif type(cotangent) is _ndarray and cotangent.nbytes >= large:
                return slot
            elif primitive.is_simple and type(cotangent) is not dict:
                table[slot] = None
                (primitive.array_step or _simple_step)(cotangents, table, cotangent, entry)
            elif slot not in inputs:
                general_step(cotangents, slot, entry, depth)
            if consume:
                entries[slot] = None
    except (NoDerivativeError, np.linalg.LinAlgError) as error:
        raise of_rule(error, entry[5]) from error.__cause__
    return -1


@steps("cotangents")
def _walk_carefully(
    recording: Recording, here: Level, cotangents: Cotangents, end: int, depth: int, consume: bool
) -> None:
    """Walk back in general steps, each of which is looked at; with `consume`, drop the entries."""
    entries: Any = recording.entries
    table, memory = cotangents.table, recording.memory
    done, log = 0, memory.undo
    try:
        for slot in range(end, here.start - 1, -1):
            if table[slot] is None or slot in here.inputs:
                continue
            if log and done < len(log) and log[-1 - done][0] > slot:
                done = memory.unwind(slot) if consume else memory.rewind(slot, done)
            entry = entries[slot]
            general_step(cotangents, slot, entry, depth)
            if consume:
                entries[slot] = None
    except (NoDerivativeError, np.linalg.LinAlgError) as error:
        raise of_rule(error, entry[5]) from error.__cause__


def _walk_stretch(recording: Recording, here: Level, cotangents: Cotangents, end: int) -> None:
    """Walk back over what the second run of a checkpoint's function recorded."""
    if not cotangents.careful:
        _walk_quickly(recording, here, cotangents, end, 0, math.inf, True)
    else:
        _walk_carefully(recording, here, cotangents, end, 0, True)


def _walk_stepwise(
    recording: Recording, here: Level, cotangents: PassingCotangents | PassingTracedCotangents, end: int, depth: int
) -> None:
    """Walk back in general steps: where an outer trace sees them, or where contributions go on at once."""
    site = STATE.site
    cotangents.live = here.dependent
    for slot in range(end, here.start - 1, -1):
        while cotangents.waiting:
            _noted_step(recording, cotangents, cotangents.next(), "passed through", depth)
        if cotangents.table[slot] is not None and slot not in here.inputs:
            _noted_step(recording, cotangents, slot, "pullback of", depth)
    while cotangents.waiting:
        _noted_step(recording, cotangents, cotangents.next(), "passed through", depth)
    cotangents.note("", end)
    STATE.site = site


@steps("cotangents")
def _noted_step(
    recording: Recording, cotangents: PassingCotangents | PassingTracedCotangents, slot: int, words: str, depth: int
) -> None:
    entry = recording.entries[slot]
    assert entry is not None
    STATE.site = entry[5]
    cotangents.note(words, slot)
    places, y_bar = _before_step(cotangents, slot, entry) if SETTINGS.debug_nans else ((), None)
    try:
        general_step(cotangents, slot, entry, depth)
    except (NoDerivativeError, np.linalg.LinAlgError) as error:
        raise of_rule(error, entry[5]) from error.__cause__
    if places:
        handed_on = [cotangent for _, cotangent, _ in cotangents.waiting]
        check_step(recording, slot, y_bar, [*map(cotangents.table.__getitem__, places), *handed_on])


def _before_step(cotangents: Cotangents, slot: int, entry: Entry) -> tuple[list[int], Any]:
    """The slots of an entry's arguments whose cotangents are finite so far, and its own, which a step uses up."""
    y_bar = cotangents.table[slot]
    places = [k for k in flat_slots(entry[2]) if first_bad(cotangents.table[k]) is None]
    return places, np.array(y_bar) if isinstance(y_bar, np.ndarray) else y_bar


def general_step(cotangents: Cotangents, slot: int, entry: Entry, depth: int) -> None:
    """Take one step back, through an entry of any kind."""
    primitive, y, ins, args, kwargs, _ = entry
    cotangent, owned = cotangents.take(slot)
    if cotangents.live is not None:
        primitive, ins = _narrowed(primitive, ins, args, kwargs, cotangents.live)
    if primitive is INPUT:  # of an inner level; without an outer variable it was a constant out here
        if ins and ins[0] is not None:
            cotangents.add(ins[0], cotangent, owned)
    elif type(primitive) is Pull:
        _custom_step(cotangents, cotangent, owned, primitive, y, ins, args, depth)
    elif type(primitive) is Folded:
        primitive.back(cotangents, cotangent, _walk_stretch)
    elif type(primitive) is not Bound or primitive.variant is None:
        return
    elif primitive.fn is getfield:
        field_step(cotangents, ins[0], args, cotangent)
    elif primitive.fn is setitem and cotangents.can_unstore(cotangent, args[1]):
        store_step(cotangents, cotangent, owned, ins, args)
    else:
        if type(y) is weakref.ref:  # may be gone: at most its shape and dtype are read, which ȳ has too
            y = cotangent
        added = (
            primitive.scatter is not None
            and np.ndim(args[0])
            and cotangents.scatter(primitive, ins[0], cotangent, y, args)
        )
        if not added:
            _rule_step(cotangents, cotangent, primitive, y, ins, args, kwargs)


def _narrowed(primitive: Any, ins: Any, args: Any, kwargs: Any, live: set[int]) -> tuple[Any, Any]:
    """An entry as this level sees it: values that depend only on inputs of other levels are constants."""
    ins = _only(ins, live)
    if type(primitive) is not Bound or primitive.variant is None:
        return primitive, ins
    flat = ins
    k = primitive.rule.sequence
    if k is not None and type(args[k]) in (list, tuple):
        flat = splat(k, ins, ins[k] or (None,) * len(args[k]))
    mask = tuple([slot is not None for slot in flat])
    bound = primitive.primitive.bound(len(mask), mask, tuple(kwargs or ()))
    bound = bound.with_subclass() if primitive.of_subclass else bound
    return bound if primitive.seen is None else bound.seeing(primitive.seen), ins


def _only(ins: Any, live: set[int]) -> Any:
    return tuple([_only(slot, live) if type(slot) is tuple else slot if slot in live else None for slot in ins])


def _simple_step(cotangents: Cotangents, table: Any, y_bar: Any, entry: Entry) -> None:
    """Step back through a call by position whose arguments are all differentiable, where no outer trace sees it."""
    bound, y, ins, args, _, _ = entry
    if bound.above is not None and any([np.size(args[k]) >= bound.above for k in bound.places]):
        _rule_step(cotangents, y_bar, bound, y_bar if type(y) is _ref else y, ins, args, entry[4])
        return
    bound.uses += 1
    if bound.uses == WARM:
        fit = _fit if bound.rule.broadcasts else _fit_whole
        reads_y = bound.reads_y == "value"
        bound.array_step = array_step(bound.rule.analysis, bound.wanted, reads_y, bound.above, _simple_step, fit)
    x_bars = bound.call(y_bar, y_bar if type(y) is _ref else y, *args)  # y may be gone: see general_step
    for k in bound.places:
        x_bar, x, slot = x_bars[k], args[k], ins[k]
        if x_bar is None:
            continue
        if type(x_bar) is not _ndarray or type(x) not in _ARRAYS or x_bar.dtype != x.dtype:
            x_bar = _fitted(x_bar, x, bound.rule.broadcasts)
        elif x_bar.shape != x.shape:
            x_bar = unbroadcast(x_bar, x.shape) if bound.rule.broadcasts else project(x_bar, spec_of(x), False)
        if table[slot] is None:
            table[slot] = x_bar
        else:
            cotangents.add(slot, x_bar)


def _fit(x_bar: Any, x: Any) -> Any:
    """Convert a cotangent to the form of its primal `x`, or of a Spec: sum it over broadcast axes."""
    if type(x_bar) is _ndarray and x_bar.dtype == x.dtype:
        if x_bar.shape[1:] == x.shape:
            return _sum(x_bar)  # over the first axis, a bias met most often
        return unbroadcast(x_bar, x.shape)
    return None if x_bar is None else project(x_bar, spec_of(x), True)


def _fit_whole(x_bar: Any, x: Any) -> Any:
    return None if x_bar is None else project(x_bar, spec_of(x), False)


def _fitted(x_bar: Any, x: Any, broadcasts: bool) -> Any:
    return x_bar if type(x_bar) in FLOATS and type(x) in FLOATS else project(x_bar, spec_of(x), broadcasts)


def _rule_step(cotangents: Cotangents, y_bar: Any, bound: Bound, y: Any, ins: Any, args: Any, kwargs: Any) -> None:
    """Step back through any call of a function with a rule."""
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
    if rule.accumulators and bound.seen is None and not (cotangents.careful and not are_finite(y_bar, *primals)):
        wanted = cotangents.absorb(rule, ins, y_bar, y, primals, static, wanted)
        if not any(wanted):
            return
        variant = plan.variant(wanted)
    assert variant is not None
    if bound.seen is None:
        _derived_step(cotangents, y_bar, rule, variant, y, ins, primals, static, wanted)
    else:
        with bound.seen.shown(STATE.recording is not None, cotangents.owed):
            _derived_step(cotangents, y_bar, rule, variant, y, ins, primals, static, wanted)


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
    """Step back by the variant of a rule that states partials or a pullback."""
    x_bars = cotangents.call(variant.call, y_bar, y, *primals, **static)
    if cotangents.careful and has_nan(x_bars):
        with np.errstate(all="ignore"):
            x_bars = cotangents.call(rule.keeping(wanted), y_bar, y, *primals, **static)
    for slot, x_bar, x, is_wanted in zip(ins, x_bars, primals, wanted, strict=False):
        if is_wanted and isinstance(x_bar, AbstractTangent):
            _settle(cotangents, slot, [x_bar], x, rule, y_bar)
        elif is_wanted and x_bar is not None:
            cotangents.add(slot, cotangents.project(x_bar, x, rule.broadcasts))


def _settle(cotangents: Cotangents, slot: int, held: list[Any], x: Any, rule: Any, y_bar: Any) -> None:
    try:
        cotangents.settle(slot, held, x, rule.broadcasts, y_bar)
    except RuleError as error:
        raise RuleError(f"the rule of {rule.primitive} ({rule.where}): {error}") from None


def _custom_step(
    cotangents: Cotangents, y_bar: Any, owned: bool, pull: Pull, y: Any, ins: Any, args: Any, depth: int
) -> None:
    """Step back by the pullback that an rrule returned."""
    if pull.level != depth and y is not None:  # None is what its function wrote unsaid
        _hand_to_body(cotangents, y_bar, owned, ins[-1], y)
        return
    rule = pull.rule
    y_bar = y_bar if owned else cotangents.call(own, y_bar)
    y_bar = rule.result_bar(y_bar, y if is_flat(y) else form_of(y)) if type(y_bar) is dict else y_bar
    with pull.seen.shown(STATE.recording is not None, cotangents.owed):
        x_bars = list(rule.cotangents(cotangents.call(pull.pullback, y_bar), args))
        if cotangents.careful and STATE.recording is None and is_all_zero(y_bar) and has_nan(x_bars):
            return
        for k, (slot, x) in enumerate(zip(ins, args, strict=False)):
            held, x_bars[k] = [x_bars[k]], None
            if type(slot) is tuple:
                _spread_step(cotangents, slot, held[0], pull.forms[k], rule, y_bar)
            elif slot is not None and held[0] is not None:
                _settle(cotangents, slot, held, x, rule, y_bar)


def _spread_step(cotangents: Cotangents, slots: Any, x_bar: Any, form: Any, rule: Any, y_bar: Any) -> None:
    """Hand the parts of the cotangent of a container to the slots of its leaves."""
    try:
        parts = list(spread(form, x_bar, cotangents.call))
    except RuleError as error:
        raise RuleError(f"the rule of {rule.primitive} ({rule.where}): {error}") from None
    for place, part in parts:
        if slots[place.number] is not None:
            _settle(cotangents, slots[place.number], [part], place.spec, rule, y_bar)


def _hand_to_body(cotangents: Cotangents, y_bar: Any, owned: bool, inner: Any, y: Any) -> None:
    """Hand the cotangent to the value that the body of a rule computed: for an outer level that is the rule's value."""
    if type(y_bar) is dict:
        for k, slot in zip(range(len(y)) if is_flat(y) else keys_of(y), inner or (), strict=False):
            if slot is not None and k in y_bar:
                cotangents.add(slot, y_bar[k])
    elif inner is not None:
        cotangents.add(inner, y_bar, owned)


__all__ = ["general_step", "reverse"]
