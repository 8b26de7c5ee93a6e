"""Written memory: versions of the arrays that own it, views as lenses onto them, and the undo log.

An array's variable belongs to the object until its memory is first written. From then on the owner has a version (a
slot), and every view of it, made before or after, is read through its lens from the current version.

Residuals are not copied when they are captured. Their owner is marked, and a write to marked memory first saves the
region that it overwrites. The reverse pass restores the regions as it walks, and the final contents when it ends.
"""

from __future__ import annotations

import os
import sys
import weakref
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.mutation import fields, lent_views, placed_views
from wengert.mutation.regions import append_call, read_at_key, read_region, slot_before, store_region
from wengert.mutation.roots import Roots, file_array, is_open, root_of
from wengert.mutation.undo import EveryOwner, FinalContents, UndoRecord, overwrite, undo_write
from wengert.mutation.versions import NO_UPDATE, PartUpdate, Storage
from wengert.recording.aliases import check_alone, check_elsewhere, check_unseen, overlaps_any
from wengert.recording.primitives import Bound
from wengert.recording.recording import Level, Recording, leave_array_fast_path, users_line
from wengert.recording.shadow import SHADOW, forgetting
from wengert.recording.slots import slot_of
from wengert.values.frames import ENGINE
from wengert.values.functional import overlaps, setitem, setpart
from wengert.values.keys import frozen
from wengert.values.lazy_attribute import computed_once, made_when_read
from wengert.values.named_tuples import NamedTuple
from wengert.values.specs import elements, is_inexact, spec_of
from wengert.values.views import content_of, covers, is_foreign, lens_of, owner_of, part_of

_FLOAT64 = np.dtype(float)
_COPIED_UP_TO = 512  # bytes; an entry takes as many without its arrays
_WRITTEN = (_FLOAT64, np.dtype(complex), np.dtype(np.float32))
_BEFORE_WRITE = (IndexError, TypeError, ValueError)
_ENGINE_AND_NUMPY = (ENGINE, os.path.dirname(np.__file__) + os.sep)


class Owner(NamedTuple):
    """An owner that is about to be written: its version, and the content that an entry keeps (`before`)."""

    array: np.ndarray
    storage: Storage
    before: Any


_Replaced = computed_once[list[dict[int, tuple[Any, ...]]]]


class Memory:
    """The written arrays of one recording, and those that its entries have captured."""

    __slots__ = (
        "__dict__",
        "_captured",
        "arguments",
        "captured_to",
        "finals",
        "has_lent",
        "has_outer_reads",
        "holds_objects",
        "recording",
        "runs_others",
        "storages",
        "undo",
        "unfinished",
        "update",
    )

    written_like: computed_once[set[Any]] = made_when_read(set)  # the specs of all owners ever written
    _roots: computed_once[Roots] = made_when_read(dict)
    replaced: _Replaced = made_when_read(list)  # copied residuals, kept alive since their ids are in the shadow table
    lent = computed_once[Any](lambda memory: lent_views.LentViews(memory))  # the modules are imported late
    placed = made_when_read(lambda: placed_views.PlacedViews())
    fields = made_when_read(lambda: fields.Fields())

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.storages: dict[int, Storage] = {}  # of the owners that were written, by id
        self._captured: dict[int, np.ndarray] = {}  # owners of the residuals of pullbacks, by id
        self.captured_to = 0  # `_captured` has the owners of all entries below this one
        self.arguments: list[tuple[np.ndarray, int, Level | None]] = []  # with their levels; not yet among the roots
        self.undo: list[UndoRecord] = []
        self.finals: FinalContents | None = None  # set once memory is to be restored after the log is used up
        self.has_outer_reads = False  # whether users' rules were called, whose pullbacks may read anything
        self.runs_others = False  # whether a user's rule was called: its pullback may have side effects
        self.has_lent = False  # whether `lent` has views
        self.holds_objects = False  # whether object arrays or structured arrays hold traced values
        self.unfinished = 0  # how many writes have begun and not ended; one that an exception cut short never ends
        self.update: PartUpdate = NO_UPDATE

    @property
    def roots(self) -> Roots:
        """Return the Roots by owner; arguments (2 µs each) are added at the first call, which few traces make."""
        if self.arguments:
            self._file_arguments()
        return self._roots

    def _file_arguments(self) -> None:
        while self.arguments:
            array, slot, level = self.arguments.pop(0)
            file_array(self._roots, array, slot, level, True)
            storage = self.storages.get(id(owner_of(array)))
            if storage is not None:
                storage.short_dtype = None  # until `join` has put the array into this version

    @property
    def captured(self) -> dict[int, np.ndarray]:
        """Return the owners of residuals; those of simple calls are added at the first write, which few traces make."""
        if self.captured_to < len(self.recording.entries):
            self._capture_simple_calls()
        return self._captured

    def is_captured(self, owner: np.ndarray) -> bool:
        """Whether a pullback will read the memory of an owner, so that writes into it are logged."""
        if self.captured_to < len(self.recording.entries):
            self._capture_simple_calls()
        return id(owner) in self._captured

    def storage_for_short_path(self, owner: Any, dtype: Any = _FLOAT64) -> Storage | None:
        """Return the version of an owner of traced numbers of this dtype that short paths may write, else None."""
        storage = self.storages.get(id(owner))
        if storage is None or storage.slot is None or self.has_lent:
            return None
        if self.arguments:
            self._file_arguments()
        return storage if storage.short_dtype is dtype else None

    def may_begin(self, owner: Any, dtype: Any = _FLOAT64) -> bool:
        """Whether short paths may write traced numbers of this dtype into memory that has not been written yet."""
        if type(owner) is not np.ndarray or owner.base is not None or owner.dtype is not dtype or dtype not in _WRITTEN:
            return False
        return not (id(owner) in self.storages or self.has_lent or self.holds_objects or self.recording.keep)

    @property
    def residuals_may_be_copies(self) -> bool:
        """Whether no outer level reads the residuals of an entry made now as its variables."""
        return len(self.recording.levels) == 1 and not self.recording.keeps_results

    def _capture_simple_calls(self) -> None:
        entries, captured = self.recording.entries[self.captured_to :], self._captured
        for entry in entries:
            if entry is None or not entry[0].is_simple or entry[0].of_numbers:
                continue
            op: Bound = entry[0]
            if self.recording.keep:
                residuals: Any = entry[1], *entry[3]
            elif op.residual_places or op.reads_y == "value":
                residuals = op.residuals(entry)
            else:
                continue
            for value in residuals:
                if isinstance(value, np.ndarray):
                    owner = value if value.base is None else owner_of(value)
                    captured[id(owner)] = owner
        self.captured_to += len(entries)

    def slot(self, array: np.ndarray) -> int | None:
        """Return the slot of an array's current content, or None."""
        if self.holds_objects and array.dtype.char in "OV":
            self._check_objects(array)
        owner = array if array.base is None else array.base
        storage = self.storages.get(id(owner))
        if storage is None:
            if not self.storages or (type(owner) is np.ndarray and owner.base is None and not self.holds_objects):
                return SHADOW.get(id(array))
            storage = self._storage(array)
            if storage is None:
                if owner_of(array).base is not None:
                    check_elsewhere(self.recording, array, self.storages.values())
                return SHADOW.get(id(array))
            owner = storage.owner()  # type: ignore[assignment]
        if array is owner:
            return storage.slot
        seen = storage.views.get(id(array))
        if seen is not None and seen[1] == storage.stamp and seen[0]() is array:
            return seen[2]
        return self._slot_of_view(storage, owner, array)

    def _slot_of_view(self, storage: Storage, owner: np.ndarray, array: np.ndarray) -> int | None:
        """Return the slot of a view of the current version, which is read."""
        recording, whole = self.recording, storage.slot
        if self.lent.overwritten:
            self.lent.refuse_spoilt(recording, array)
        if whole is not None and not recording.keep and array.ndim and array.shape != owner.shape:
            key = storage.key_of(array, owner)
            if key is not None:
                slot = read_at_key(recording, array, whole, storage.spec, key)
                storage.views[id(array)] = storage.views[id(array)][0], storage.stamp, slot, key, owner.shape
                return slot
        placed = self.placed.use(recording, array)
        if whole is None and placed is not None:
            whole = recording.constant(owner.copy(order="K"))
        found = None if whole is None else read_region(recording, array, owner, whole, placed)
        storage.add_view(array, found)
        return found

    def slot_of_result(self, array: np.ndarray) -> int | None:
        """Return the slot of an array that a tape returns; a stored copy, as by `y[...] = x`, becomes a copy there."""
        slot = self.slot(array)
        stored = None if slot is None else self.recording.value(slot)
        if slot is None or type(stored) is not np.ndarray or np.may_share_memory(stored, array):
            return slot
        slot = append_call(self.recording, np.copy, array, (slot,), (stored,))
        storage, owner = self._storage(array), owner_of(array)
        if storage is not None and covers(array, owner):
            self.written(storage, owner, slot)
        return slot

    def _check_objects(self, array: np.ndarray) -> None:
        """Refuse a structured or object array that holds traced values, in an operation without its own support."""
        if array.dtype.names is not None and self.is_traced(array):
            raise self.recording.refuse(
                RefusedCallError(
                    f"{users_line()}: wengert cannot trace this operation on a structured array that holds traced "
                    "values. Compute with its fields one by one: a['x']."
                )
            )
        if not array.dtype.hasobject:
            return
        if array.dtype != object or any([slot_of(self.recording, item) is not None for item in elements(array)]):
            raise self.recording.refuse(
                RefusedCallError(
                    f"{users_line()}: wengert cannot trace this operation on an object array that holds traced values. "
                    "Convert it first (a.astype(float)), or compute with its elements one by one."
                )
            )

    def slot_in_place(self, array: np.ndarray) -> int | None:
        """Return the slot of an array made by untraced code that shows traced memory; track it there from now on."""
        if array.base is None or self.lent.shows(array) or not (is_inexact(array) and self.is_traced(array)):
            return None
        self.join(array)
        return self.slot(array)

    def add_view(self, view: np.ndarray, slot: int | None) -> None:
        """Add a view that an operation made of written memory, with its slot."""
        storage = self.storages.get(id(owner_of(view)))
        if storage is None and self.fields:
            storage = self._storage(view)
        if storage is not None:
            storage.add_view(view, slot)

    def add_root(self, array: np.ndarray, slot: int, apart: bool = False) -> None:
        """Add a traced array whose owner is not traced; `apart`: it is not a part of one added before."""
        owner = owner_of(array)
        if not (owner is array or id(owner) in SHADOW or id(owner) in self.storages):
            file_array(self.roots, array, slot, self._inner_level(), False, apart)

    def _inner_level(self) -> Level | None:
        levels = self.recording.levels
        return levels[-1] if len(levels) > 1 else None

    def note_argument(self, array: np.ndarray) -> None:
        """Add an array argument not differentiated by: a write to memory that it shares with others is ambiguous."""
        root, level = root_of(self.roots, owner_of(array)), self._inner_level()
        if root is not None and root.has_level(level):
            root.shared.append(level)

    def is_traced(self, array: np.ndarray) -> bool:
        """Whether the memory of an array holds traced values."""
        storage, key = self._storage(array), id(owner_of(array))
        if storage is not None:
            return storage.slot is not None
        if array.dtype.names is not None and self.fields:
            storages = [self.storages.get(id(field)) for field in self.fields.all_of(owner_of(array))]
            return any([storage is not None and storage.slot is not None for storage in storages])
        return key in SHADOW or key in self.roots or id(array) in SHADOW or self.placed.are_in(owner_of(array))

    def array_covering(self, owner: np.ndarray) -> Any:
        """Return the traced array that shows all of an owner's memory, the owner or an argument; None if none does."""
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
        if type(self._captured) is not EveryOwner:
            self._captured = EveryOwner()

    def version(self, array: np.ndarray) -> int | None:
        """Return the number of the write that made a traced array's current content; None if there was none."""
        storage = self._storage(array)
        return None if storage is None else storage.stamp

    def _storage(self, array: np.ndarray) -> Storage | None:
        """Return the version of an array's owner, or of its field in a structured array; None if not written."""
        owner = owner_of(array)
        storage = self.storages.get(id(owner))
        if storage is not None or not self.fields:
            return storage
        field = self.fields.of(self.recording, array, owner)
        return None if field is None else self.storages.get(id(field))

    def is_followed(self, array: np.ndarray) -> bool:
        """Whether an array lies in written memory, and is read through its lens."""
        return self._storage(array) is not None

    def refuse_views_of(self, owner: np.ndarray) -> None:
        """Refuse the views of an owner from now on: the function that returned them has overwritten it."""
        self.lent.before_write(owner, False)
        storage = self.storages.get(id(owner)) or self.follow(owner, None)
        self.written(storage, owner, None)

    def held_before(self, array: np.ndarray, place: int) -> bool:
        """Whether the memory of an array held a variable before this slot of the recording."""
        owner = owner_of(array)
        storage = self.storages.get(id(owner))
        slots = [SHADOW.get(id(owner)) if storage is None else storage.slot]
        slots += [slot for _, slot, _ in root_of(self.roots, owner) or ()]
        return any([slot is not None and slot < place for slot in slots])

    def before_write(self, array: np.ndarray, key: Any, threshold: int) -> None:
        """Save the region `array[key]` before it is overwritten, if its owner is captured.

        Entries below `threshold` see the memory as it is now.
        """
        owner = owner_of(array)
        known = id(owner) in self.captured or (is_foreign(owner) and overlaps_any(array, self.captured.values()))
        if known and array.flags.writeable:
            key = frozen(key)
            array = np.ndarray.view(array, np.ndarray)
            self.undo.append([threshold, array, key, np.array(array[key])])

    def join(self, array: np.ndarray) -> Owner:
        """Return the Owner of an array that is about to be written, if the array or the value is traced."""
        owner = owner_of(array)
        if owner.dtype.names is not None:
            owner = self._field(array, owner)
        storage = self.storages.get(id(owner))
        if storage is None or storage.slot is None:
            check_unseen(self.recording, owner)
        root = root_of(self.roots, owner)  # before reading the shadow table: it adds the arguments
        if storage is None or (root is not None and root.waiting):
            is_shared = root is not None and any([is_open(self.recording, level) for level in root.shared])
            check_alone(self.recording, owner, is_shared, root is not None and root.has_others)
        slot = SHADOW.get(id(owner)) if storage is None else storage.slot
        if root is not None:
            slot = root.put_into(self.recording, owner, slot)
        if storage is None:
            storage = self.follow(owner, slot)
        storage.slot, storage.short_dtype = slot, self._short_dtype(owner)
        if not self.recording.keep:
            return Owner(owner, storage, storage.spec)
        before = owner.copy(order="K") if slot is None else owner  # if traced, its variable is enough
        return Owner(owner, storage, before)

    def _field(self, array: np.ndarray, owner: np.ndarray) -> np.ndarray:
        """Return the field of a structured array that is about to be written."""
        check_unseen(self.recording, owner)
        check_alone(self.recording, owner, False, root_of(self.roots, owner) is not None)
        self.fields.enter(self.recording, owner)
        self.holds_objects = True
        field = self.fields.of(self.recording, array, owner)
        return owner if field is None else field

    def follow(self, owner: np.ndarray, slot: int | None) -> Storage:
        """Start a version of an owner at this slot: from now on its views are read through their lenses."""
        ref = weakref.ref(owner, forgetting(self.storages, id(owner)))
        storage = self.storages[id(owner)] = Storage(ref, slot, spec_of(owner))
        storage.shadowed = weakref.ref(owner, forgetting(SHADOW, id(owner)))
        self.written_like.add(storage.spec)
        if self.recording.reads is not None:
            self.recording.reads.before_write(owner)
        leave_array_fast_path()
        return storage

    def _short_dtype(self, owner: np.ndarray) -> Any:
        """Return the dtype of an owner into which short paths may write, else None."""
        return owner.dtype if owner.dtype in _WRITTEN and owner.base is None and not self.recording.keep else None

    def written(self, storage: Storage, owner: np.ndarray, slot: int | None) -> None:
        """Note that the owner of `storage` has a new version, at `slot`."""
        storage.slot = slot
        storage.stamp += 1
        if slot is None:
            SHADOW.pop(id(owner), None)
        else:
            SHADOW[id(owner)] = slot

    def hold(self, storage: Storage, owner: np.ndarray, value_slot: int | None) -> None:
        """Note that the owner of `storage` now holds the numbers of the variable at `value_slot`, an array like it."""
        if self.recording.stream is not None and value_slot is not None:
            self.recording.stream.share(value_slot)
        self.written(storage, owner, value_slot)

    def put(self, owner: Owner, view: np.ndarray, value: Any, value_slot: int | None) -> None:
        """Record that the region which `view` shows of the owner now holds `value`, the variable at `value_slot`."""
        array, storage, before = owner
        if view.size == 0 and view is not array:
            if self.recording.reads is not None:
                self.recording.reads.after_empty_write(array)
            return
        key = self.placed.use(self.recording, view)
        if key is not None:
            self.put_at(owner, array, key[0], value, value_slot, key[1])
            return
        if covers(view, array) and (value_slot is None or _is_like(value, array, self.recording.keep)):
            self.hold(storage, array, value_slot)
            return
        part = None if view.dtype == array.dtype else part_of(view, array)
        if overlaps(view) or (part is None and view.dtype != array.dtype):
            raise self.recording.refuse(
                RefusedCallError(
                    f"{users_line()}: this line writes through a view whose entries overlap or have another dtype. "
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
        """Record `array[key] = value` as setitem: for an owner itself, and for keys that make no view."""
        ins = key_slot, value_slot
        args = self.capture(key), self.capture(self.recording.unread(value))
        if array is not owner.array and not covers(array, owner.array):
            self._change(owner, array, setitem, ins, args)
            return
        slot = slot_before(self.recording, owner.storage.slot, owner.before)
        slot = append_call(self.recording, setitem, owner.array, (slot, *ins), (owner.before, *args))
        self.written(owner.storage, owner.array, slot)

    def _change(self, owner: Owner, view: np.ndarray, fn: Any, ins: tuple[Any, ...], args: tuple[Any, ...]) -> None:
        """Record that a view of the owner now holds `fn(before, *args)`, with `before` its content until now."""
        recording, slot = self.recording, owner.storage.slot
        was = content_of(view, owner.array, owner.before) if recording.keep else spec_of(view)
        key = self.placed.use(recording, view)
        if slot is None and key is not None:
            slot = recording.constant(owner.before)
        was_slot = None if slot is None else read_region(recording, view, owner.array, slot, key)
        slot = slot_before(recording, was_slot, was)
        self.put(owner, view, view, append_call(recording, fn, view, (slot, *ins), (was, *args)))

    def capture(self, value: Any) -> Any:
        """Return the residual of a value that a pullback will read; log writes into its memory from now on."""
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

    def kept(self, value: np.ndarray) -> np.ndarray:
        """Return the residual of an array of a simple call: a copy of a small one in written memory.

        That costs less than to save and restore what later writes overwrite.
        """
        owner = value if value.base is None else value.base
        if id(owner) in self.storages and value.nbytes <= _COPIED_UP_TO and self.residuals_may_be_copies:
            return value.copy()
        return value

    def _copy(self, value: np.ndarray) -> np.ndarray:
        """Copy a value, as the same variable."""
        copy, slot = np.array(value, order="C"), self.slot(value)
        if slot is not None:
            self.replaced.append({0: (copy, value, slot)})
            SHADOW[id(copy)] = slot
        return copy

    def rewind(self, position: int, done: int) -> int:
        """Restore memory as the entry at `position` saw it; `done` counts the writes undone so far, and is returned.

        The undone writes are pushed to the recording's `owed`, which repeats them at the end.
        """
        log = self.undo
        while done < len(log) and log[-1 - done][0] > position:
            undo_write(log[-1 - done], self.recording.owed)
            done += 1
        return done

    def use_up(self) -> None:
        """Let `unwind` use up the log from now on: no write follows, and residuals need no undo log any more."""
        self._captured, self.captured_to = {}, len(self.recording.entries)
        self.finals = FinalContents(self.recording.owed)

    def unwind(self, position: int) -> int:
        """Do `rewind` for the last time, and free the saved contents; the final contents are restored in the end."""
        while self.undo and self.undo[-1][0] > position:
            record = self.undo.pop()
            if self.finals is None:
                overwrite(*record[1:])
            else:
                self.finals.undo(record)
        return 0

    def forget_kept(self) -> None:
        """Forget the captured residuals: no pullback will read them."""
        self._captured, self.captured_to = {}, len(self.recording.entries)
        self.undo.clear()
        for copies in self.replaced:
            for key in [key for key, made in copies.items() if reference_count(made) == SINGLE_REFERENCE]:
                copy, _, variable = copies[key]
                if SHADOW.get(id(copy), -1) == variable:
                    del SHADOW[id(copy)]
                del copies[key]
        self.replaced = [copies for copies in self.replaced if copies]

    def ended_by(self, error: BaseException) -> None:
        """Handle the `error` of a write: if NumPy raised it before it wrote anything, the write did not happen.

        Otherwise part may be written: a floating-point error is raised afterwards, a signal handler's at any time.
        """
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        is_known = last is not None and last.tb_frame.f_code.co_filename.startswith(_ENGINE_AND_NUMPY)
        if isinstance(error, _BEFORE_WRITE) and is_known:
            self.unfinished -= 1


def reference_count(made: tuple[Any, ...]) -> int:
    """Count the references to the first item of a tuple that only one local variable holds."""
    return sys.getrefcount(made[0])


SINGLE_REFERENCE = reference_count((object(),))  # of an object that only one tuple holds


def memory_of(recording: Recording) -> Memory:
    """Return the Memory of a recording with its full type; the recording declares only the part that it uses."""
    return recording.memory  # type: ignore[return-value]


def _is_like(value: Any, owner: np.ndarray, in_memory: bool) -> bool:
    """Whether a value can become an owner's content; `in_memory` also compares strides, since views are made of it."""
    # a Python float has no dtype; comparing None would not do, because np.dtype("float64") == None
    is_like = np.shape(value) == owner.shape and hasattr(value, "dtype") and value.dtype == owner.dtype
    return is_like and not (in_memory and value.strides != owner.strides)
