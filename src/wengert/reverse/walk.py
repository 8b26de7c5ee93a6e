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
from wengert.reverse.accumulators import EAGER, Bars
from wengert.reverse.checkpoint import Folded
from wengert.reverse.parts import field_step, store_step
from wengert.reverse.strategies import PassingBars, PassingTracedBars, Seeds, choosing
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
    make: Callable[[int], Bars] | None = None,
    once: bool = False,
) -> Bars:
    """Walk back over a level, from the seeds at some slots, and return the cotangents of all slots.

    `depth` counts the levels around it. With `consume`, residuals are dropped as they are used. Memory written since is
    put back as each pullback saw it, and restored at the end. What is computed is recorded by `watching`, the recording
    that is open on this thread now: the same one in an inner level, None in the outermost, any one for a pullback
    called later. `make` makes the Bars of so many slots where no outer trace looks on. With `once` no step is taken
    again there, and each entry is dropped after its step: so a pass is timed.

    A cotangent of exactly zero hands on zeros, also where a partial is infinite or nan: a step that makes a nan is
    taken again in this way. To look at each step would take too long on small arrays, so the inputs are looked at in
    the end, and all is walked again if one of them has a nan. Entries are dropped only once steps are looked at.
    """
    end = max([slot for slot, _ in seeds], default=here.start - 1)
    if watching is not None or depth or SETTINGS.strategy == "pass through" or SETTINGS.debug_nans:
        materialise(recording, here.start, end + 1, written_only=True)
        recording.depends(end, here)
        made = PassingBars(end + 1) if watching is None else PassingTracedBars(watching, recording)
        bars: Bars = choosing(made, recording, here, seeds)
    else:
        bars = _fresh(recording, end, make)
    if recording.memory.has_pulls:
        for entry in map(recording.entries.__getitem__, range(here.start, end + 1)):
            if entry is not None and getattr(entry[0], "seen", None) is not None:
                entry[0].seen.look_again()
    _start(bars, seeds)
    bars.owed, owed = recording.owed, len(recording.owed)
    try:
        if isinstance(bars, (PassingBars, PassingTracedBars)):
            _walk_stepwise(recording, here, bars, end, depth)
            return bars
        if once:
            recording.memory.use_up()
            _walk_quickly(recording, here, bars, end, depth, math.inf, consume)
            return bars
        large = LARGE if consume else math.inf
        last = _walk_quickly(recording, here, bars, end, depth, large)
        if last < 0 and not any(map(has_nan, [bars.table[slot] for slot in here.inputs if slot <= end])):
            return bars
        recording.owed.pay(owed)
        if last < 0 or any(map(has_nan, bars.table[: last + 1])):
            first, bars = bars, _fresh(recording, end, make)
            go_on(first, bars)
            _start(bars, seeds)
            bars.owed, last = recording.owed, end
        bars.careful = True
        if consume:
            recording.memory.use_up()
            recording.entries[last + 1 : end + 1] = [None] * (end - last)
        _walk_carefully(recording, here, bars, last, depth, consume)
    finally:
        recording.owed.pay(owed)
    return bars


def _fresh(recording: Recording, end: int, make: Callable[[int], Bars] | None) -> Bars:
    bars = (make or EAGER[SETTINGS.add])(end + 1)
    bars.windows = Windows(recording.entries)
    return bars


def _start(bars: Bars, seeds: Seeds) -> None:
    for slot, seed in seeds:
        bars.start(slot, seed)


@steps("bars")
def _walk_quickly(
    recording: Recording, here: Level, bars: Bars, end: int, depth: int, large: float, consume: bool = False
) -> int:
    """Walk back from `end` to the start of the level, where no outer trace looks on, and return -1.

    Most steps are generated ones; `general_step` takes any other. Before a step whose cotangent has `large` bytes it
    stops, and returns its slot. With `consume` it drops the entries.
    """
    entries: Any = recording.entries
    table, memory = bars.table, recording.memory
    done, log = 0, memory.undo
    inputs = here.inputs
    try:
        for slot in range(end, here.start + here.leading - 1, -1):
            bar = table[slot]
            if bar is None:
                continue
            if log and done < len(log) and log[-1 - done][0] > slot:
                done = memory.unwind(slot) if consume else memory.rewind(slot, done)
            entry = entries[slot]
            primitive = entry[0]
            step = primitive.step
            if step is not None:
                step(bar, entry, table)
                table[slot] = None
            elif type(bar) is _ndarray and bar.nbytes >= large:
                return slot
            elif primitive.is_simple and type(bar) is not dict:
                table[slot] = None
                (primitive.array_step or _simple_step)(bars, table, bar, entry)
            elif slot not in inputs:
                general_step(bars, slot, entry, depth)
            if consume:
                entries[slot] = None
    except (NoDerivativeError, np.linalg.LinAlgError) as error:
        raise of_rule(error, entry[5]) from error.__cause__
    return -1


@steps("bars")
def _walk_carefully(recording: Recording, here: Level, bars: Bars, end: int, depth: int, consume: bool) -> None:
    """Walk back in general steps, each of which is looked at; with `consume`, drop the entries."""
    entries: Any = recording.entries
    table, memory = bars.table, recording.memory
    done, log = 0, memory.undo
    try:
        for slot in range(end, here.start - 1, -1):
            if table[slot] is None or slot in here.inputs:
                continue
            if log and done < len(log) and log[-1 - done][0] > slot:
                done = memory.unwind(slot) if consume else memory.rewind(slot, done)
            entry = entries[slot]
            general_step(bars, slot, entry, depth)
            if consume:
                entries[slot] = None
    except (NoDerivativeError, np.linalg.LinAlgError) as error:
        raise of_rule(error, entry[5]) from error.__cause__


def _walk_stretch(recording: Recording, here: Level, bars: Bars, end: int) -> None:
    """Walk back over what the second run of a checkpoint's function recorded."""
    if not bars.careful:
        _walk_quickly(recording, here, bars, end, 0, math.inf, True)
    else:
        _walk_carefully(recording, here, bars, end, 0, True)


def _walk_stepwise(
    recording: Recording, here: Level, bars: PassingBars | PassingTracedBars, end: int, depth: int
) -> None:
    """Walk back in general steps: where an outer trace sees them, or where contributions go on at once."""
    site = STATE.site
    bars.live = here.dependent
    for slot in range(end, here.start - 1, -1):
        while bars.waiting:
            _noted_step(recording, bars, bars.next(), "passed through", depth)
        if bars.table[slot] is not None and slot not in here.inputs:
            _noted_step(recording, bars, slot, "pullback of", depth)
    while bars.waiting:
        _noted_step(recording, bars, bars.next(), "passed through", depth)
    bars.note("", end)
    STATE.site = site


@steps("bars")
def _noted_step(recording: Recording, bars: PassingBars | PassingTracedBars, slot: int, words: str, depth: int) -> None:
    entry = recording.entries[slot]
    assert entry is not None
    STATE.site = entry[5]
    bars.note(words, slot)
    places, y_bar = _before_step(bars, slot, entry) if SETTINGS.debug_nans else ((), None)
    try:
        general_step(bars, slot, entry, depth)
    except (NoDerivativeError, np.linalg.LinAlgError) as error:
        raise of_rule(error, entry[5]) from error.__cause__
    if places:
        handed_on = [bar for _, bar, _ in bars.waiting]
        check_step(recording, slot, y_bar, [*map(bars.table.__getitem__, places), *handed_on])


def _before_step(bars: Bars, slot: int, entry: Entry) -> tuple[list[int], Any]:
    """The slots of an entry's arguments whose cotangents are finite so far, and its own, which a step uses up."""
    y_bar = bars.table[slot]
    places = [k for k in flat_slots(entry[2]) if first_bad(bars.table[k]) is None]
    return places, np.array(y_bar) if isinstance(y_bar, np.ndarray) else y_bar


def general_step(bars: Bars, slot: int, entry: Entry, depth: int) -> None:
    """Take one step back, through an entry of any kind."""
    primitive, y, ins, args, kwargs, _ = entry
    bar, owned = bars.take(slot)
    if bars.live is not None:
        primitive, ins = _narrowed(primitive, ins, args, kwargs, bars.live)
    if primitive is INPUT:  # of an inner level; without an outer variable it was a constant out here
        if ins and ins[0] is not None:
            bars.add(ins[0], bar, owned)
    elif type(primitive) is Pull:
        _custom_step(bars, bar, owned, primitive, y, ins, args, depth)
    elif type(primitive) is Folded:
        primitive.back(bars, bar, _walk_stretch)
    elif type(primitive) is not Bound or primitive.variant is None:
        return
    elif primitive.fn is getfield:
        field_step(bars, ins[0], args, bar)
    elif primitive.fn is setitem and bars.can_unstore(bar, args[1]):
        store_step(bars, bar, owned, ins, args)
    else:
        if type(y) is weakref.ref:  # may be gone: at most its shape and dtype are read, which ȳ has too
            y = bar
        added = primitive.scatter is not None and np.ndim(args[0]) and bars.scatter(primitive, ins[0], bar, y, args)
        if not added:
            _rule_step(bars, bar, primitive, y, ins, args, kwargs)


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


def _simple_step(bars: Bars, table: Any, y_bar: Any, entry: Entry) -> None:
    """Step back through a call by position whose arguments are all differentiable, where no outer trace sees it."""
    bound, y, ins, args, _, _ = entry
    if bound.above is not None and any([np.size(args[k]) >= bound.above for k in bound.places]):
        _rule_step(bars, y_bar, bound, y_bar if type(y) is _ref else y, ins, args, entry[4])
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
            bars.add(slot, x_bar)


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


def _rule_step(bars: Bars, y_bar: Any, bound: Bound, y: Any, ins: Any, args: Any, kwargs: Any) -> None:
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
        y, *rest = [viewed_plain(x, bars.call) for x in (y, *primals)]
        primals = tuple(rest)
    if rule.accumulators and bound.seen is None and not (bars.careful and not are_finite(y_bar, *primals)):
        wanted = bars.absorb(rule, ins, y_bar, y, primals, static, wanted)
        if not any(wanted):
            return
        variant = plan.variant(wanted)
    assert variant is not None
    if bound.seen is None:
        _derived_step(bars, y_bar, rule, variant, y, ins, primals, static, wanted)
    else:
        with bound.seen.shown(STATE.recording is not None, bars.owed):
            _derived_step(bars, y_bar, rule, variant, y, ins, primals, static, wanted)


def _derived_step(
    bars: Bars, y_bar: Any, rule: Any, variant: Any, y: Any, ins: Any, primals: Any, static: Any, wanted: Any
) -> None:
    """Step back by the variant of a rule that states partials or a pullback."""
    x_bars = bars.call(variant.call, y_bar, y, *primals, **static)
    if bars.careful and has_nan(x_bars):
        with np.errstate(all="ignore"):
            x_bars = bars.call(rule.keeping(wanted), y_bar, y, *primals, **static)
    for slot, x_bar, x, is_wanted in zip(ins, x_bars, primals, wanted, strict=False):
        if is_wanted and isinstance(x_bar, AbstractTangent):
            _settle(bars, slot, [x_bar], x, rule, y_bar)
        elif is_wanted and x_bar is not None:
            bars.add(slot, bars.project(x_bar, x, rule.broadcasts))


def _settle(bars: Bars, slot: int, held: list[Any], x: Any, rule: Any, y_bar: Any) -> None:
    try:
        bars.settle(slot, held, x, rule.broadcasts, y_bar)
    except RuleError as error:
        raise RuleError(f"the rule of {rule.primitive} ({rule.where}): {error}") from None


def _custom_step(bars: Bars, y_bar: Any, owned: bool, pull: Pull, y: Any, ins: Any, args: Any, depth: int) -> None:
    """Step back by the pullback that an rrule returned."""
    if pull.level != depth and y is not None:  # None is what its function wrote unsaid
        _hand_to_body(bars, y_bar, owned, ins[-1], y)
        return
    rule = pull.rule
    y_bar = y_bar if owned else bars.call(own, y_bar)
    y_bar = rule.result_bar(y_bar, y if is_flat(y) else form_of(y)) if type(y_bar) is dict else y_bar
    with pull.seen.shown(STATE.recording is not None, bars.owed):
        x_bars = list(rule.cotangents(bars.call(pull.pullback, y_bar), args))
        if bars.careful and STATE.recording is None and is_all_zero(y_bar) and has_nan(x_bars):
            return
        for k, (slot, x) in enumerate(zip(ins, args, strict=False)):
            held, x_bars[k] = [x_bars[k]], None
            if type(slot) is tuple:
                _spread_step(bars, slot, held[0], pull.forms[k], rule, y_bar)
            elif slot is not None and held[0] is not None:
                _settle(bars, slot, held, x, rule, y_bar)


def _spread_step(bars: Bars, slots: Any, x_bar: Any, form: Any, rule: Any, y_bar: Any) -> None:
    """Hand the parts of the cotangent of a container to the slots of its leaves."""
    try:
        parts = list(spread(form, x_bar, bars.call))
    except RuleError as error:
        raise RuleError(f"the rule of {rule.primitive} ({rule.where}): {error}") from None
    for place, part in parts:
        if slots[place.number] is not None:
            _settle(bars, slots[place.number], [part], place.spec, rule, y_bar)


def _hand_to_body(bars: Bars, y_bar: Any, owned: bool, inner: Any, y: Any) -> None:
    """Hand the cotangent to the value that the body of a rule computed: for an outer level that is the rule's value."""
    if type(y_bar) is dict:
        for k, slot in zip(range(len(y)) if is_flat(y) else keys_of(y), inner or (), strict=False):
            if slot is not None and k in y_bar:
                bars.add(slot, y_bar[k])
    elif inner is not None:
        bars.add(inner, y_bar, owned)


__all__ = ["general_step", "reverse"]
