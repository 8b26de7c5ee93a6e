"""Written memory: versions of the arrays that own it, views as lenses onto them, and the undo log.

An array's variable is its object until its memory is first written. From then on the owner has a version (a slot), and
every view of it, made before or after, is read through its lens from the current version.

Residuals are never copied when they are kept. Their owner is marked, and a write to marked memory first saves the
region that it overwrites; the reverse pass puts the regions back as it walks, and as they were when it ends.
"""

from __future__ import annotations

import os
import sys
import traceback
import weakref
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import RefusedCallError
from wengert.mutation.fields import Fields
from wengert.mutation.lent_views import Lent
from wengert.mutation.regions import append, known, read_region, store_region
from wengert.mutation.roots import Root, Roots, file, is_open, root_of
from wengert.mutation.undo import Everything, Finals, Undo, undo
from wengert.recording.aliases import check_alone, check_elsewhere, check_unseen, overlaps_any
from wengert.recording.primitives import Bound
from wengert.recording.recording import Entry, Level, Recording, here, watch_arrays
from wengert.recording.shadow import SHADOW, forgetting
from wengert.recording.slots import slot_of
from wengert.values.frames import ENGINE
from wengert.values.functional import setitem, setpart
from wengert.values.keys import frozen
from wengert.values.specs import Spec, elements, is_inexact, spec_of
from wengert.values.views import (
    content_of,
    covers,
    is_foreign,
    lens_of,
    overlaps_itself,
    owner_of,
    part_of,
)

_AT_THE_OUTSET = (IndexError, TypeError, ValueError)
_NUMPY = (ENGINE, os.path.dirname(np.__file__) + os.sep)


class Storage:
    """The current version of an owner's content; `slot` is None where it no longer depends on an input."""

    __slots__ = ("is_float64", "owner", "shadowed", "slot", "spec", "stamp", "views")

    def __init__(self, owner: weakref.ref[np.ndarray], slot: int | None, spec: Spec) -> None:
        self.owner = owner
        self.shadowed: weakref.ref[np.ndarray] | None = None  # forgets what the owner is traced as
        self.slot = slot
        self.spec = spec
        self.is_float64 = spec.dtype == np.float64
        self.stamp = 0
        self.views: dict[int, tuple[weakref.ref[np.ndarray], int, int | None]] = {}


class Owner(NamedTuple):
    """An array that is about to be written: the version of its content, and what an entry keeps of that."""

    array: np.ndarray
    storage: Storage
    before: Any


class Memory:
    """The written arrays of one recording, and those that its entries keep."""

    __slots__ = (
        "_captured",
        "_captured_to",
        "_roots",
        "arguments",
        "fields",
        "finals",
        "has_pulls",
        "holds_objects",
        "lent",
        "recording",
        "replaced",
        "runs_others",
        "storages",
        "undo",
        "unfinished",
    )

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.storages: dict[int, Storage] = {}  # of the owners that were written, by id
        self._captured: dict[int, np.ndarray] = {}  # owners of what pullbacks keep, by id
        self._captured_to = 0  # `_captured` has the owners of all entries below this one
        self._roots: Roots = {}
        self.arguments: list[tuple[np.ndarray, int]] = []  # of the outermost level, not yet among the roots
        self.undo: list[Undo] = []
        self.finals: Finals | None = None  # where memory is to be restored after the log is used up
        self.replaced: list[Any] = []  # residuals that entries hold copies of now: alive, for their ids mean variables
        self.has_pulls = False  # whether there are pullbacks of users' rules, which may read anything
        self.runs_others = False  # whether a user's rule was called, whose pullback may do anything
        self.lent = Lent()
        self.holds_objects = False  # whether traced values were put into arrays of Python objects, or of records
        self.fields = Fields()
        self.unfinished = 0  # how many writes have begun and not ended; one that an exception cut short never ends

    @property
    def roots(self) -> Roots:
        """Traced arrays by the owner of their memory; few traces ask, so arguments (2 µs each) are filed late."""
        while self.arguments:
            array, slot = self.arguments.pop(0)
            file(self._roots, array, slot, None, True)
        return self._roots

    @property
    def captured(self) -> dict[int, np.ndarray]:
        """The owners of what pullbacks keep; those of simple calls are filed when a write asks, which few traces do."""
        entries = self.recording.entries
        while self._captured_to < len(entries):
            entry = entries[self._captured_to]
            if entry is not None and type(entry[0]) is Bound and entry[0].is_simple:
                self._capture_simple(entry)
            self._captured_to += 1
        return self._captured

    def _capture_simple(self, entry: Entry) -> None:
        bound, y, _, args, _, _ = entry
        for how, value in ((bound.reads_y, y), *zip(bound.keeps, args, strict=True)):
            if (how == "value" or self.recording.keep) and isinstance(value, np.ndarray):
                owner = owner_of(value)
                self._captured[id(owner)] = owner

    def slot(self, array: np.ndarray) -> int | None:
        """The slot of an array as it is now, or None."""
        if self.holds_objects and array.dtype.char in "OV":
            self._check_objects(array)
        if not self.storages:
            return SHADOW.get(id(array))
        owner_now = owner_of(array)
        storage = self.storages.get(id(owner_now))
        if storage is None and self.fields:
            storage = self._storage(array)
        if storage is None:
            if owner_now.base is not None:
                check_elsewhere(self.recording, array, self.storages.values())
            return SHADOW.get(id(array))
        owner = storage.owner()
        assert owner is not None
        if array is owner:
            return storage.slot
        seen = storage.views.get(id(array))
        if seen is not None and seen[0]() is array and seen[1] == storage.stamp:
            return seen[2]
        if self.lent.spoilt:
            self.lent.refuse_spoilt(self.recording, array)
        slot = None if storage.slot is None else read_region(self.recording, array, owner, storage.slot)
        storage.views[id(array)] = (weakref.ref(array), storage.stamp, slot)
        return slot

    def _check_objects(self, array: np.ndarray) -> None:
        """Refuse an array of Python objects that holds traced values, where what is done with it is not followed."""
        if array.dtype.names is not None and self.is_traced(array):
            raise self.recording.refuse(
                RefusedCallError(
                    f"{here()}: what is done here with an array of records that holds traced values cannot be "
                    "followed. Compute with its fields one by one: a['x']."
                )
            )
        if not array.dtype.hasobject:
            return
        if array.dtype != object or any([slot_of(self.recording, item) is not None for item in elements(array)]):
            raise self.recording.refuse(
                RefusedCallError(
                    f"{here()}: what is done here with an array of Python objects that holds traced values cannot be "
                    "followed. Convert it first (a.astype(float)), or compute with its elements one by one."
                )
            )

    def slot_in_place(self, array: np.ndarray) -> int | None:
        """The slot of an array, made where nothing saw it, that shows traced memory: from now on of its place there."""
        if array.base is None or self.lent.shows(array) or not (is_inexact(array) and self.is_traced(array)):
            return None
        self.join(array)
        return self.slot(array)

    def add_view(self, view: np.ndarray, slot: int | None) -> None:
        """Note a view that an operation made of written memory, and its slot."""
        storage = self.storages.get(id(owner_of(view)))
        if storage is None and self.fields:
            storage = self._storage(view)
        if storage is not None:
            storage.views[id(view)] = (weakref.ref(view), storage.stamp, slot)

    def add_root(self, array: np.ndarray, slot: int, argument: bool = False, apart: bool = False) -> None:
        """A traced array that lies in memory whose owner is not traced; `apart`: it is no part of what is filed."""
        owner = owner_of(array)
        if argument or not (owner is array or id(owner) in SHADOW or id(owner) in self.storages):
            file(self.roots, array, slot, self._inner_level(), argument, apart)

    def _inner_level(self) -> Level | None:
        levels = self.recording.levels
        return levels[-1] if len(levels) > 1 else None

    def note_argument(self, array: np.ndarray) -> None:
        """Note an array argument that is not wanted: a write to memory that it shares with others is ambiguous."""
        root, level = root_of(self.roots, owner_of(array)), self._inner_level()
        if root is not None and any([other is level for _, _, other in root]):
            root.shared.append(level)

    def is_traced(self, array: np.ndarray) -> bool:
        """Whether the memory of an array holds traced values."""
        storage, key = self._storage(array), id(owner_of(array))
        if storage is not None:
            return storage.slot is not None
        if array.dtype.names is not None and self.fields:
            storages = [self.storages.get(id(field)) for field in self.fields.all_of(owner_of(array))]
            return any([storage is not None and storage.slot is not None for storage in storages])
        return key in SHADOW or key in self.roots or id(array) in SHADOW

    def whole(self, owner: np.ndarray) -> Any:
        """The traced array that shows all of an owner's memory: itself, or the argument made of it; else None."""
        if id(owner) in self.storages or id(owner) in SHADOW:
            return owner
        root = root_of(self.roots, owner)
        if root is None:
            return None
        root.locate(owner)
        whole = lens_of(owner, owner)
        return next((self.recording.value(slot) for lens, slot, _ in root if lens == whole), None)

    def log_all(self) -> None:
        """Log each write from now on: a user's rule may read anything."""
        self.runs_others = True
        if type(self._captured) is not Everything:
            self._captured = Everything()

    def version(self, array: np.ndarray) -> int | None:
        """The number of the write that made what a traced array holds."""
        storage = self._storage(array)
        return None if storage is None else storage.stamp

    def _storage(self, array: np.ndarray) -> Storage | None:
        """The current version of what owns the memory of an array, if that was written; of records, of its field."""
        owner = owner_of(array)
        storage = self.storages.get(id(owner))
        if storage is not None or not self.fields:
            return storage
        field = self.fields.of(self.recording, array, owner)
        return None if field is None else self.storages.get(id(field))

    def is_followed(self, array: np.ndarray) -> bool:
        """Whether an array is read by its place in written memory, whichever object stands for it."""
        return self._storage(array) is not None

    def give_way(self, owner: np.ndarray) -> None:
        """An owner was overwritten by the function that gave views of it: refuse these from now on."""
        self.lent.before_write(owner, False)
        storage = self.storages.get(id(owner)) or self.follow(owner, None)
        self.written(storage, owner, None)

    def stood(self, array: np.ndarray, place: int) -> bool:
        """Whether the memory of an array held a variable before this place on the recording."""
        owner = owner_of(array)
        storage = self.storages.get(id(owner))
        slots = [SHADOW.get(id(owner)) if storage is None else storage.slot]
        slots += [slot for _, slot, _ in root_of(self.roots, owner) or ()]
        return any([slot is not None and slot < place for slot in slots])

    def before_write(self, array: np.ndarray, key: Any, threshold: int) -> None:
        """Save the region `array[key]`, which is about to be overwritten, if a pullback keeps memory of its owner.

        Entries below `threshold` see the memory as it is now.
        """
        owner = owner_of(array)
        known = id(owner) in self.captured or (is_foreign(owner) and overlaps_any(array, self.captured.values()))
        if known and array.flags.writeable:
            key = frozen(key)
            array = np.ndarray.view(array, np.ndarray)
            self.undo.append([threshold, array, key, np.array(array[key])])

    def join(self, array: np.ndarray) -> Owner:
        """The Owner of an array that is about to be written into, where the array or the value is traced."""
        owner = owner_of(array)
        if owner.dtype.names is not None:
            owner = self._field(array, owner)
        storage = self.storages.get(id(owner))
        if storage is None or storage.slot is None:
            check_unseen(self.recording, owner)
        root = root_of(self.roots, owner)  # before the shadow table: it files the arguments
        root = Root() if root is None else root
        if storage is None or root.waiting:
            is_shared = any([is_open(self.recording, level) for level in root.shared])
            check_alone(self.recording, owner, is_shared, root.has_others)
        slot = root.put_into(self.recording, owner, SHADOW.get(id(owner)) if storage is None else storage.slot)
        if storage is None:
            storage = self.follow(owner, slot)
        storage.slot = slot
        if not self.recording.keep:
            return Owner(owner, storage, storage.spec)
        return Owner(owner, storage, owner.copy(order="K") if slot is None else owner)  # else a variable stands for it

    def _field(self, array: np.ndarray, owner: np.ndarray) -> np.ndarray:
        """The field of an array of records that is about to be written into."""
        check_unseen(self.recording, owner)
        check_alone(self.recording, owner, False, root_of(self.roots, owner) is not None)
        self.fields.enter(self.recording, owner)
        self.holds_objects = True
        field = self.fields.of(self.recording, array, owner)
        return owner if field is None else field

    def follow(self, owner: np.ndarray, slot: int | None) -> Storage:
        """Have the content of an owner at this slot from now on, and its views read through their lenses."""
        ref = weakref.ref(owner, forgetting(self.storages, id(owner)))
        storage = self.storages[id(owner)] = Storage(ref, slot, spec_of(owner))
        storage.shadowed = weakref.ref(owner, forgetting(SHADOW, id(owner)))
        watch_arrays()
        return storage

    def written(self, storage: Storage, owner: np.ndarray, slot: int | None) -> None:
        """Note that the owner of `storage` has a new version, at `slot`."""
        storage.slot = slot
        storage.stamp += 1
        if slot is None:
            SHADOW.pop(id(owner), None)
        else:
            SHADOW[id(owner)] = slot

    def put(self, owner: Owner, view: np.ndarray, value: Any, value_slot: int | None) -> None:
        """Record that the region which `view` shows of the owner now holds `value`, the variable at `value_slot`."""
        if view.size == 0:
            return
        array, storage, before = owner
        if covers(view, array) and (value_slot is None or _is_like(value, array, self.recording.keep)):
            if self.recording.stream is not None and value_slot is not None:
                self.recording.stream.share(value_slot)
            self.written(storage, array, value_slot)
            return
        part = None if view.dtype == array.dtype else part_of(view, array)
        if overlaps_itself(view) or (part is None and view.dtype != array.dtype):
            raise self.recording.refuse(
                RefusedCallError(
                    f"{here()}: this line writes through a view whose entries overlap or have another dtype. "
                    "Write through the array itself."
                )
            )
        value = self.capture(self.recording.unread(value))
        if part is not None:
            name, region = part
            self._change(owner, region, setpart, (None, value_slot), (name, value))
            return
        slot = store_region(self.recording, storage.slot, array, lens_of(view, array), before, value, value_slot)
        self.written(storage, array, slot)

    def put_at(
        self, owner: Owner, array: np.ndarray, key: Any, value: Any, value_slot: int | None, key_slot: Any
    ) -> None:
        """Record `array[key] = value` as it stands: for an owner itself, and for keys that give no view."""
        ins = key_slot, value_slot
        args = self.capture(key), self.capture(self.recording.unread(value))
        if array is not owner.array and not covers(array, owner.array):
            self._change(owner, array, setitem, ins, args)
            return
        slot = known(self.recording, owner.storage.slot, owner.before)
        slot = append(self.recording, setitem, owner.array, (slot, *ins), (owner.before, *args))
        self.written(owner.storage, owner.array, slot)

    def _change(self, owner: Owner, view: np.ndarray, fn: Any, ins: tuple[Any, ...], args: tuple[Any, ...]) -> None:
        """Record that a view of the owner now holds `fn(before, *args)`, of what it held before."""
        recording, slot = self.recording, owner.storage.slot
        was = content_of(view, owner.array, owner.before) if recording.keep else spec_of(view)
        slot = known(recording, None if slot is None else read_region(recording, view, owner.array, slot), was)
        self.put(owner, view, view, append(recording, fn, view, (slot, *ins), (was, *args)))

    def capture(self, value: Any) -> Any:
        """Return the residual of a value that a pullback will read. From now on writes into its memory are logged."""
        if isinstance(value, np.ndarray):
            owner = owner_of(value)
            if is_foreign(owner):
                return self._copy(value)
            self._captured[id(owner)] = owner
        elif type(value) is list:
            return [self.capture(item) for item in value]
        elif type(value) is tuple:
            return tuple(self.capture(item) for item in value) if value else value
        return value

    def _copy(self, value: np.ndarray) -> np.ndarray:
        """A copy of a value that stands for the same variable."""
        copy, slot = np.array(value, order="C"), self.slot(value)
        if slot is not None:
            self.replaced.append({0: (copy, value, slot)})
            SHADOW[id(copy)] = slot
        return copy

    def rewind(self, position: int, done: int) -> int:
        """Put memory back as the entry at `position` saw it; `done` counts the writes undone so far.

        What is undone is owed to the recording, which does it again at the end.
        """
        log = self.undo
        while done < len(log) and log[-1 - done][0] > position:
            undo(log[-1 - done], self.recording.owed)
            done += 1
        return done

    def use_up(self) -> None:
        """Have the log used up by `unwind` from now on: no write follows, and what pullbacks keep is theirs alone."""
        self._captured, self._captured_to = {}, len(self.recording.entries)
        self.finals = Finals(self.recording.owed)

    def unwind(self, position: int) -> int:
        """`rewind` for the last time, which frees what the log saved; the writes are done again in the end."""
        while self.undo and self.undo[-1][0] > position:
            record = self.undo.pop()
            if self.finals is None:
                record[1][record[2]] = record[3]
            else:
                self.finals.undo(record)
        return 0

    def forget_kept(self) -> None:
        """Forget what was kept for pullbacks: none will read it."""
        self._captured, self._captured_to = {}, len(self.recording.entries)
        self.undo.clear()
        for copies in self.replaced:
            for key in [key for key, made in copies.items() if _references(made) == ALONE]:
                copy, _, variable = copies[key]
                if SHADOW.get(id(copy), -1) == variable:
                    del SHADOW[id(copy)]
                del copies[key]
        self.replaced = [copies for copies in self.replaced if copies]

    def ended_by(self, error: BaseException) -> None:
        """A write that had begun raised `error`: where NumPy refused it at the outset, nothing is written.

        Else some of it may be written: a floating-point error is raised afterwards, a signal's handler at any time.
        """
        files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
        if isinstance(error, _AT_THE_OUTSET) and files[-1].startswith(_NUMPY):
            self.unfinished -= 1


def _references(made: tuple[Any, ...]) -> int:
    return sys.getrefcount(made[0])


ALONE = _references((object(),))  # of an object that one tuple holds and nothing else


def memory_of(recording: Recording) -> Memory:
    """The Memory of a recording, with all that it can do; the recording knows only what it needs of it itself."""
    return recording.memory  # type: ignore[return-value]


def _is_like(value: Any, owner: np.ndarray, in_memory: bool) -> bool:
    """Whether a value can stand for an owner; on a tape also `in_memory`, where views are made of it."""
    # a Python float has no dtype of its own; None would not do for it, because np.dtype("float64") == None
    is_like = np.shape(value) == owner.shape and hasattr(value, "dtype") and value.dtype == owner.dtype
    return is_like and not (in_memory and value.strides != owner.strides)
