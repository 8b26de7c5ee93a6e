"""Accumulation of cotangents in the reverse pass: their slots, the ownership of buffers, and sums.

The engine writes in place only into a buffer that no other code can read: one that it allocated and did not pass on, or
one without other references. So it never writes into a user's array, a seed, or a cotangent stored in several slots.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import RuleError
from wengert.hooks.writes import slot_of_key
from wengert.recording.primitives import Bound, Primitive, ruled
from wengert.recording.record import bind
from wengert.recording.recording import STATE, Recording
from wengert.recording.shadow import SHADOW, WEAKLY_HELD_ABOVE
from wengert.recording.slots import slot_of
from wengert.reverse.windows import part_of_view, root_of_view
from wengert.rulebook.rule import Rule
from wengert.values.callables import place
from wengert.values.cotangents import InplaceableThunk, add_into, as_given, force, is_exclusive, is_zero
from wengert.values.functional import additem, getitem, setitem
from wengert.values.keys import may_repeat
from wengert.values.lazy_attribute import imported_when_read
from wengert.values.projection import project
from wengert.values.settings import SETTINGS
from wengert.values.specs import FLOATS, Spec, is_complex, spec_of
from wengert.values.undo_stack import Owed
from wengert.values.views import Lens, owner_of

Seeds = list[tuple[int, Any]]

DOUBLE = np.dtype(float)
MADE_ANEW = 512  # bytes, up to which a new array for a sum costs less than to find out who has the buffer

ENTERED = "It adds cotangents, including those that an outer derivative watches."


class Cotangents:
    """The cotangents of one reverse pass, by slot; they are summed in place, in buffers that the engine owns."""

    lets_rules_add = True  # whether rules and thunks may add their contribution to a buffer
    checks_nans = False  # whether a step that makes a nan is taken again with zeros kept
    entries: Any = None  # of the recording; None if parts of views are not added to the cotangents of their arrays
    moves = False  # whether small steps do push the tangents of an outer derivative at once
    owed: Owed  # what to restore after the pass

    def __init__(self, size: int) -> None:
        self.table: Any = [None] * size
        self.owned: set[int] = set()
        self.shown: dict[int, tuple[int, Any, Lens]] = {}  # by slot of a view: what `part_of_view` has found
        self.in_place = 0  # additions into a buffer
        self.live: set[int] | None = None  # the slots that depend on this level's inputs, where there are other levels

    def call(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a piece of a rule: `fn(*args, **kwargs)`."""
        return fn(*args, **kwargs)

    call_rule = call

    def begin(self, seeds: Seeds) -> None:
        """Add the seeds to their slots; their arrays belong to the user, so the engine never writes into them."""
        for slot, seed in seeds:
            self.add(slot, seed.view(np.ndarray) if isinstance(seed, np.ndarray) else seed)

    def may_move(self) -> bool:
        """Whether small steps may push the tangents of an outer derivative at once."""
        return False

    def note(self, label: str, slot: int) -> None:
        """Describe the next computation by a `label` and a slot, for a tape to show."""

    def take(self, slot: int) -> tuple[Any, bool]:
        """Remove the complete cotangent from a slot; return it, and whether the engine owns its buffer."""
        cotangent = self.table[slot]
        owned = type(cotangent) is np.ndarray and slot in self.owned  # a sum of arrays without axes is a number
        self.table[slot] = None
        self.owned.discard(slot)
        return cotangent, owned

    def add(self, slot: int, x_bar: Any, owned: bool = False) -> None:
        """Set or add a contribution to the cotangent of a slot; `owned` says whether the engine owns its buffer."""
        old = self.table[slot]
        if old is None:
            self.table[slot] = x_bar
            if owned:
                self.owned.add(slot)
        elif type(old) is not np.ndarray or type(x_bar) is not np.ndarray:
            self.table[slot] = old + x_bar
        elif old.nbytes <= MADE_ANEW:
            self.table[slot] = old + x_bar
            self.owned.add(slot)
        elif (slot in self.owned or is_exclusive(self.table, slot, 1)) and _can_hold_sum(old, x_bar):
            np.add(old, x_bar, out=old)
            self.owned.add(slot)
            self.in_place += 1
        elif owned and _can_hold_sum(x_bar, old):
            np.add(x_bar, old, out=x_bar)
            self.table[slot] = x_bar
            self.owned.add(slot)
        else:
            self.table[slot] = old + x_bar
            self.owned.add(slot)

    def forget(self, start: int) -> None:
        """Drop the cotangents of the slots from `start` on, which other entries will take."""
        self.owned.difference_update(range(start, len(self.table)))
        del self.table[start:]
        self.shown.clear()

    def project(self, x_bar: Any, x: Any, broadcasts: bool) -> Any:
        """Project `x_bar` to the shape, dtype and realness of its primal `x`."""
        kind = type(x_bar)
        if kind in FLOATS and type(x) in FLOATS:
            return x_bar
        if kind is np.ndarray and type(x) in (Spec, np.ndarray) and x_bar.shape == x.shape and x_bar.dtype == x.dtype:
            return x_bar
        return project(x_bar, spec_of(x), broadcasts, self.call)

    def add_contribution(self, slot: int, held: list[Any], x: Any, broadcasts: bool, y_bar: Any) -> None:
        """Add the contribution that a rule returned for `x`: an array, a number, a zero, or a thunk.

        It is passed in the list `held`, so that references to it can be counted. If other code refers to its array, the
        array is copied, because that code may write into it.
        """
        if is_zero(held[0]):
            return
        if (
            self.lets_rules_add
            and isinstance(held[0], InplaceableThunk)
            and not broadcasts
            and self._can_take_thunk(slot, x, y_bar)
        ):
            self._add_into(slot, held[0], self.buffer(slot, x))
            return
        held[0] = force(held[0])
        made = project(held[0], spec_of(x), broadcasts)
        is_array = isinstance(made, np.ndarray)
        if is_array and (made.base is not None or (made is held[0] and not is_exclusive(held, 0, 1))):
            made = made.copy(order="K")
        self.add(slot, made, is_array)

    def _can_take_thunk(self, slot: int, x: Any, y_bar: Any) -> bool:
        """Whether a thunk can add to the sum so far: an array like `x`, which is complex if ȳ is."""
        cotangent = self.table[slot]
        if type(cotangent) is not np.ndarray or not cotangent.ndim or not isinstance(x, (np.ndarray, Spec)):
            return False
        is_whole = x.dtype.kind == "c" or not any(map(is_complex, y_bar if type(y_bar) is tuple else (y_bar,)))
        return is_whole and cotangent.shape == x.shape and cotangent.dtype == x.dtype

    def _add_into(self, slot: int, thunk: InplaceableThunk, buffer: np.ndarray) -> None:
        if SETTINGS.debug:
            owner = owner_of(buffer)
            for other, cotangent in enumerate(self.table):
                if other != slot and isinstance(cotangent, np.ndarray) and owner_of(cotangent) is owner:
                    raise RuleError(
                        "an InplaceableThunk would add to memory that another cotangent shares. Return copies"
                    )
        self._replace_buffer(slot, add_into(buffer, thunk), buffer)

    def _replace_buffer(self, slot: int, made: np.ndarray, buffer: np.ndarray) -> None:
        self.table[slot] = made
        if made is not buffer:
            self.owned.discard(slot)

    def buffer(self, slot: int, x: Any) -> np.ndarray:
        """Return a buffer that the engine owns, with the sum so far for the array `x`, or zeros."""
        cotangent = self.table[slot]
        if cotangent is None:
            cotangent = self.zeros(x)
        elif not self._is_own(slot):
            cotangent = self.copy(cotangent)
        self.table[slot] = cotangent
        self.owned.add(slot)
        return cotangent

    def _is_own(self, slot: int) -> bool:
        return type(self.table[slot]) is np.ndarray and (slot in self.owned or is_exclusive(self.table, slot, 1))

    def zeros(self, x: Any) -> np.ndarray:
        """Allocate a buffer of zeros like `x`."""
        return np.zeros(x.shape, x.dtype)

    def copy(self, cotangent: Any) -> np.ndarray:
        """Copy a cotangent into a new buffer."""
        return np.array(cotangent)

    def scatter(self, bound: Bound, slot: int, y_bar: Any, y: Any, args: tuple[Any, ...]) -> bool:
        """Make a rule add its contribution to the cotangent of its first argument in place; return whether it did.

        This is for rules whose contribution is mostly zero.
        """
        assert bound.scatter is not None
        if self.lets_rules_add:
            part = part_of_view(self, slot) if self.entries is not None and bound.fn is getitem else None
            if part is None:
                return self._add_by(bound.scatter, slot, args[0], (y_bar, y, *args), {})
            getitem_onto(part, args[1], y_bar)
            return True
        made = bound.scatter(self.zeros(args[0]), y_bar, y, *args)
        if made is not NotImplemented:
            self.add(slot, made, True)
        return made is not NotImplemented

    def let_rule_add(
        self, rule: Rule, ins: Any, y_bar: Any, y: Any, primals: tuple[Any, ...], static: Any, wanted: tuple[bool, ...]
    ) -> tuple[bool, ...]:
        """Make a rule add in place the contributions that it can; return which arguments are still wanted."""
        if not self.lets_rules_add:
            return wanted
        left = list(wanted)
        for k, accumulator in rule.accumulators.items():
            x = primals[k] if k < len(left) and left[k] else None
            fits = isinstance(x, (np.ndarray, Spec)) and x.ndim and x.size >= accumulator.above
            if fits and self._can_accumulate(ins[k], x, y_bar, accumulator.scatters):
                left[k] = not self._add_by(accumulator.action, ins[k], x, (y_bar, y, *primals), static)
        return tuple(left)

    def _can_accumulate(self, slot: int, x: Any, y_bar: Any, scatters: bool) -> bool:
        return scatters if self.table[slot] is None else self._can_take_thunk(slot, x, y_bar)

    def _add_by(self, add: Callable[..., Any], slot: int, x: Any, args: tuple[Any, ...], static: Any) -> bool:
        buffer = self.buffer(slot, x)
        made = add(buffer, *args, **static)
        if made is NotImplemented:
            return False
        if made is not buffer:
            self._replace_buffer(slot, as_given(made, buffer, f"the accumulator at {place(add)}"), buffer)
        return True

    def read(self, y_bar: Any, key: Any) -> Any:
        """Copy the part of a cotangent at a key."""
        part = y_bar[key]
        return part.copy() if isinstance(part, np.ndarray) else part

    def clear(self, y_bar: Any, owned: bool, key: Any) -> np.ndarray:
        """Set a cotangent to zero at a key, in place if the engine owns its buffer."""
        y_bar = y_bar if owned else self.copy(y_bar)
        y_bar[key] = 0
        return y_bar

    def can_unstore(self, y_bar: Any, key: Any) -> bool:
        """Whether a cotangent's dtype can hold the numbers that `read_last` writes at a key."""
        return not may_repeat(key) or y_bar.dtype.char in "dD"

    def read_last(self, y_bar: np.ndarray, key: Any) -> Any:
        """Read the part of a store's cotangent at a key; if the key repeats an element, only the last store gets it.

        This overwrites the buffer: each element is assigned its number, and the number that remains is the last.
        """
        part = self.read(y_bar, key)
        if may_repeat(key):
            numbers = np.arange(np.size(part)).reshape(np.shape(part))
            y_bar[key] = numbers
            part = np.where(y_bar[key] == numbers, part, 0)
        return part


def is_plain(value: Any) -> bool:
    """Whether a value is a float or an array of float64."""
    t = type(value)
    return t in FLOATS or (t is np.ndarray and value.dtype is DOUBLE)


def is_small(value: Any) -> bool:
    """Whether a value is a float, or an array of float64 that recordings keep alive."""
    return is_plain(value) and (type(value) is not np.ndarray or value.nbytes <= WEAKLY_HELD_ABOVE)


def getitem_onto(x_bar: np.ndarray, key: Any, y_bar: Any) -> None:
    """Add ȳ, the cotangent of x[key], to `x_bar` in place."""
    if not may_repeat(key):
        x_bar[key] += y_bar
    else:
        np.add.at(x_bar, key, y_bar)


class TracedCotangents(Cotangents):
    """Cotangents that an outer trace sees: rules run through the hooks, and in-place writes are recorded."""

    checks_nans = True

    def __init__(self, recording: Recording, walked: Recording) -> None:
        super().__init__(0)
        self.recording = recording
        self.entries = walked.entries
        self.is_own = walked is recording  # whether the recording walks back over its own entries
        self.table = _SparseTable()
        self.entered: dict[Any, Any] = {}  # instrumented rules, which all steps of a walk share

    moved_step: Callable[..., bool] = imported_when_read("wengert.reverse.moved_steps", "moved_step")

    def may_move(self) -> bool:
        """Whether the pass is inside a stream whose memory is not written, with no other derivative open inside."""
        recording = self.recording
        memory, stream = recording.memory, recording.stream
        if stream is None or not self.is_own or recording.context is not None:
            return False
        if recording.inner != recording.walked:  # an open derivative reads the entries of the pass
            return False
        return not (memory.storages or memory.undo or memory.holds_objects or recording.checks_fp_errors)

    def add_moved(self, slot: int, x_bar: Any, x_dot: Any) -> None:
        """Add a contribution whose tangent in the outer derivative, a stream, is known; None is zero."""
        self.add(slot, x_bar if x_dot is None else self.recording.stream.with_tangent(x_bar, x_dot))

    def tangent(self, cotangent: Any) -> Any:
        """Return the tangent of a cotangent in the outer derivative, a stream; None is zero."""
        slot = SHADOW.get(id(cotangent))
        return None if slot is None else self.recording.stream.tangent(slot)

    def _sum(self, a: Any, b: Any) -> Any:
        """Return the sum of two cotangents, as the outer derivative sees it."""
        are_floats = type(a) in FLOATS and type(b) in FLOATS
        if not (self.moves and (are_floats or (is_small(a) and is_small(b) and np.shape(a) == np.shape(b)))):
            return self.call(add_contributions, a, b)
        a_dot, b_dot = self.tangent(a), self.tangent(b)
        dots = [dot for dot in (a_dot, b_dot) if dot is not None]
        if not all(map(is_plain, dots)):
            return self.call(add_contributions, a, b)
        total = a + b
        return self.recording.stream.with_tangent(total, sum(dots[1:], dots[0])) if dots else total

    def call(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self.recording.call(fn, *args, **kwargs)

    def call_rule(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        recording = self.recording
        if recording.rule_calls is not None and recording.batched:  # in a step of a rule of this package
            return recording.rule_calls(fn, args, kwargs)
        entered = self.entered.get(fn) or self.entered.setdefault(fn, recording.enter(fn))
        return entered(*args, **kwargs)

    def begin(self, seeds: Seeds) -> None:
        for slot, seed in seeds:
            if self.recording.keep and slot_of(self.recording, seed) is None:
                self.note("seed of", slot)
                SHADOW[id(seed)] = self.recording.constant(seed)
            self.add(slot, seed)

    def note(self, label: str, slot: int) -> None:
        if self.is_own:
            self.recording.notes.append((len(self.recording.entries), label, slot))

    def add(self, slot: int, x_bar: Any, owned: bool = False) -> None:
        old = self.table[slot]
        if old is not None:
            self.note("x̄ of", slot)
        self.table[slot] = x_bar if old is None else self._sum(old, x_bar)
        self.owned.discard(slot)
        if owned if old is None else type(self.table[slot]) is np.ndarray:
            self.owned.add(slot)

    def add_contribution(self, slot: int, held: list[Any], x: Any, broadcasts: bool, y_bar: Any) -> None:
        if not is_zero(held[0]):
            made = self.project(held[0], x, broadcasts)
            self.add(slot, self.copy(made) if isinstance(made, np.ndarray) else made)

    def _is_own(self, slot: int) -> bool:
        return type(self.table[slot]) is np.ndarray and slot in self.owned

    def zeros(self, x: Any) -> np.ndarray:
        made = np.zeros(x.shape, x.dtype)
        if self.recording.keep:
            SHADOW[id(made)] = self.recording.append((_ZEROS, made, (None, None), (x.shape, x.dtype), None, STATE.site))
        return made

    def copy(self, cotangent: Any) -> np.ndarray:
        made: np.ndarray = self.call(np.copy, cotangent)
        return made

    def scatter(self, bound: Bound, slot: int, y_bar: Any, y: Any, args: tuple[Any, ...]) -> bool:
        if bound.fn is not getitem:
            return False
        assert bound.scatter is not None
        x, key = args
        if slot_of_key(self.recording, key) is None:
            slot, x, key = root_of_view(self, slot, key) or (slot, x, key)
        buffer = self.buffer(slot, x)
        self._in_place(additem, buffer, key, y_bar, lambda: getitem_onto(buffer, key, y_bar))
        return True

    def let_rule_add(
        self, rule: Rule, ins: Any, y_bar: Any, y: Any, primals: tuple[Any, ...], static: Any, wanted: tuple[bool, ...]
    ) -> tuple[bool, ...]:
        return wanted

    def read(self, y_bar: Any, key: Any) -> Any:
        part = self.call(read_key, y_bar, key)
        return self.call(np.copy, part) if isinstance(part, np.ndarray) else part

    def can_unstore(self, y_bar: Any, key: Any) -> bool:
        return not may_repeat(key)

    def clear(self, y_bar: Any, owned: bool, key: Any) -> np.ndarray:
        buffer: np.ndarray = y_bar if owned else self.copy(y_bar)
        self._in_place(setitem, buffer, key, 0.0, lambda: super(TracedCotangents, self).clear(buffer, True, key))
        return buffer

    def _in_place(self, fn: Any, buffer: np.ndarray, key: Any, value: Any, write: Callable[[], Any]) -> None:
        """Change a buffer by `write`, and record the change as the functional call `fn(buffer, key, value)`."""
        recording = self.recording
        ins = slot_of(recording, buffer), slot_of_key(recording, key), slot_of(recording, value)
        write()
        if ins == (None, None, None):
            return
        bound = bind(recording, ruled(fn), (buffer, key, value), ins, {})
        kept = recording.unread(buffer), key, recording.unread(value)
        SHADOW[id(buffer)] = recording.append((bound, buffer, ins, kept, None, STATE.site))


class InPlaceCotangents(Cotangents):
    """Cotangents to which rules and thunks do not add in place; the engine does."""

    lets_rules_add = False


class PlusCotangents(InPlaceCotangents):
    """Cotangents that make a new array for each sum."""

    def add(self, slot: int, x_bar: Any, owned: bool = False) -> None:
        old = self.table[slot]
        self.table[slot] = x_bar if old is None else old + x_bar
        self.owned.discard(slot)
        if owned if old is None else type(self.table[slot]) is np.ndarray:
            self.owned.add(slot)


EAGER: dict[str, type[Cotangents]] = {"actions": Cotangents, "in place": InPlaceCotangents, "plus": PlusCotangents}


class _SparseTable(dict[int, Any]):
    """A table of cotangents for a few of many slots; a slot without one has None."""

    def __missing__(self, slot: int) -> None:
        return None


_ZEROS = Primitive(np.zeros, None)


def add_contributions(a: Any, b: Any) -> Any:
    """Add two contributions to one cotangent."""
    return a + b


def read_key(y_bar: Any, key: Any) -> Any:
    """Return y_bar[key]."""
    return y_bar[key]


def _can_hold_sum(buffer: np.ndarray, addend: np.ndarray) -> bool:
    return buffer.shape == addend.shape and buffer.dtype == addend.dtype and buffer.flags.writeable
