"""A trace under a Context: the Context records each call on a tape while the function runs.

The tape has read-only copies of arrays. So later writes of the function change no value that a Context has received,
and a call that writes into its arguments raises an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError, TapeError
from wengert.hooks.search import search
from wengert.mutation.storage import Memory
from wengert.mutation.versions import Storage
from wengert.recording.fresh_results import check_result, made_new
from wengert.recording.primitives import Bound, Primitive, ruled
from wengert.recording.record import record_call
from wengert.recording.recording import STATE, Entry, Recording, Traced, silent, users_line
from wengert.recording.rule_writes import UNWATCHED, note_kept, note_writes, watched_by
from wengert.recording.shadow import has_identity
from wengert.recording.slots import slot_of, slots_of
from wengert.recording.subclasses import is_same
from wengert.recording.user_pullbacks import RruleCall
from wengert.recording.variables import METADATA, append_result, guard_outline, register
from wengert.rulebook.registry import rules
from wengert.tape.contexts import Context
from wengert.tape.entries import entry_value, push_entry, push_result, tape_argument
from wengert.tape.ops import MISSING, Call, Constant, Input, Variable
from wengert.tape.tape import Tape
from wengert.values import functional
from wengert.values.results import is_flat, is_tree, with_leaves
from wengert.values.specs import is_inexact
from wengert.values.views import owner_of, read_only


class LiveContext:
    """The user's Context while a function runs: the tape that it fills, and each slot's Variable on it."""

    def __init__(self, context: Context, f: Any) -> None:
        self.user = context
        self.tape = Tape(context)
        self.variables: dict[int, Any] = {}
        self.copies: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.seen = 0
        self.names: Iterator[str] = iter(())
        self.tape.push(Input(f, getattr(f, "__name__", type(f).__name__), callee=True))

    def new_recording(self, keep: bool) -> Recording:
        """Make the recording of a trace under this context."""
        return _ContextRecording(keep, self)

    def watch(self, recording: Recording) -> None:
        """Make the recording's memory report writes to the Context, too."""
        recording.memory = _ContextMemory(recording, self)

    def choose(
        self, recording: Recording, f: Any, plain: Callable[[], Any], enter: Callable[[], Any]
    ) -> Callable[..., Any]:
        """Make a replacement of `f` that asks the Context at each call whether to record f or to enter it.

        `plain()` returns the function that is called without a Context, and `enter()` the one that traces f's body.
        """

        def call(*args: Any, **kwargs: Any) -> Any:
            if len(recording.levels) > 1:
                return plain()(*args, **kwargs)
            if not self.user.is_primitive(f, *args):
                return enter()(*args, **kwargs)
            if rules.get(f) is not None or not search(recording, (f, *args, *kwargs.values())):
                return plain()(*args, **kwargs)
            ins = tuple([slots_of(recording, a) for a in args])
            self._refuse_hidden(recording, f, args, ins, kwargs)
            return self.call(recording, Primitive(f, None), args, ins, kwargs)

        return call

    def _without_context(self, recording: Recording, run: Callable[[], Any]) -> Any:
        """Run a part of an inner gradient without the Context.

        Its calls are recorded as its reverse pass needs them; `sync` then brings them onto the tape.
        """
        recording.context = None
        try:
            return run()
        finally:
            recording.context = self

    def _refuse_hidden(
        self, recording: Recording, f: Any, args: tuple[Any, ...], ins: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Raise an error if traced values reach a call without being arguments on the tape."""
        named = [value for value in kwargs.values() if slot_of(recording, value) is None]
        if search(recording, [f, *_untraced(args, ins), *named]):
            raise recording.refuse(
                RefusedCallError(
                    f"{users_line()}: the context records {getattr(f, '__name__', f)} as a primitive, but a traced "
                    "value reaches it inside a dictionary, an object or a closure. Pass that value as a separate "
                    "argument."
                )
            )

    def call(
        self,
        recording: Recording,
        primitive: Primitive,
        args: tuple[Any, ...],
        ins: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Make the Context record a call, and return the call's value to the function."""
        if len(recording.levels) > 1:
            return self._without_context(recording, lambda: record_call(primitive, args, kwargs))
        if primitive.fn in METADATA:
            return primitive.fn(*args, **kwargs)
        named = {name: _keyword_value(recording, value) for name, value in kwargs.items()}
        watched = UNWATCHED if primitive.is_trusted else watched_by(recording, ())
        self.sync(recording)
        v = self._record(primitive.fn, args, ins, named)
        if not primitive.is_trusted:
            note_writes(recording, primitive, watched)
            note_kept(recording, self.tape[v].val)
        value = self._value_for_function(recording, primitive, v, args, kwargs)
        return self._append_value(recording, primitive, v, value, args, ins, named)

    def append_result(
        self,
        recording: Recording,
        bound: Bound,
        value: Any,
        args: tuple[Any, ...],
        ins: tuple[Any, ...],
        kwargs: dict[str, Any] | None,
    ) -> Any:
        """Make the Context record a call that already ran in the function and made `value`, an array of a subclass."""
        if len(recording.levels) > 1:
            return self._without_context(recording, lambda: append_result(recording, bound, value, args, ins, kwargs))
        named = {name: _keyword_value(recording, value) for name, value in (kwargs or {}).items()}
        self.sync(recording)
        v = self._record(bound.primitive.fn, args, ins, named)
        self._compare(recording, value, v)
        return self._append_value(recording, bound.primitive, v, value, args, ins, named)

    def _append_value(
        self,
        recording: Recording,
        primitive: Primitive,
        v: Variable,
        value: Any,
        args: tuple[Any, ...],
        ins: tuple[Any, ...],
        named: dict[str, Any],
    ) -> Any:
        """Append a call that the Context recorded to the recording, with its value."""
        slot = Recording.append(recording, (primitive, value, ins, args, named or None, STATE.site))
        self.variables[slot] = v
        return self._register_result(recording, primitive, value, args, slot)

    def _record(self, fn: Any, args: tuple[Any, ...], ins: tuple[Any, ...], kwargs: dict[str, Any]) -> Variable:
        """Call the Context's `record_primitive`, and return its Variable; it receives copies of untraced arrays."""
        self.tape.site = STATE.site
        given = [tape_argument(self.with_tape_copies(a, s), s, self.variables) for a, s in zip(args, ins, strict=False)]
        given += [self.with_tape_copies(a, None) for a in args[len(ins) :]]
        named = {
            name: self.variables[value.slot] if isinstance(value, Traced) else self.with_tape_copies(value, None)
            for name, value in kwargs.items()
        }
        with silent():
            v = self.user.record_primitive(self.tape, fn, *given, **named)
        if not isinstance(v, Variable) or self.tape[v].val is MISSING:
            raise TapeError(
                f"{users_line()}: record_primitive of {type(self.user).__name__} returned {v!r}, whose value is not "
                "known\n  fix: return the Variable that tape.push(mkcall(...)) returns"
            )
        op = self.tape[v]
        op.val = read_only(op.val) if isinstance(op.val, np.ndarray) else op.val
        return v

    def with_tape_copies(self, arg: Any, slot: Any) -> Any:
        """Replace each untraced array in an argument by the tape's copy, reused while the array is unchanged."""
        if isinstance(arg, list | tuple):
            slots = slot if isinstance(slot, tuple) else (None,) * len(arg)
            parts = [self.with_tape_copies(a, s) for a, s in zip(arg, slots, strict=True)]
            same = all(a is b for a, b in zip(parts, arg, strict=True))
            return arg if same else type(arg)(*parts) if hasattr(arg, "_fields") else type(arg)(parts)
        if slot is not None or not isinstance(arg, np.ndarray) or arg.dtype == object:
            return arg
        copies = self.copies.get(id(arg))
        if copies is None or copies[0] is not arg or copies[1].tobytes() != arg.tobytes():
            copies = self.copies[id(arg)] = arg, read_only(functional.strided_copy(arg))
        return copies[1]

    def _value_for_function(
        self, recording: Recording, primitive: Primitive, v: Variable, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Return a call's value to the function: a copy of the tape's array, or a view if the call returns a view."""
        value = self.tape[v].val
        rule = primitive.rule
        if isinstance(value, np.ndarray) and rule is not None and (rule.view or rule.identity):
            value = primitive.fn(*args, **kwargs)
            self._compare(recording, value, v)
        elif isinstance(value, np.ndarray):
            shared = primitive.rule is None and self._shares_memory(value, v)
            value = functional.strided_copy(value)
            value.flags.writeable = not shared  # a write would have to reach the array that it was a view of
        return made_new([value], args, primitive)

    def _shares_memory(self, value: np.ndarray, v: Variable) -> bool:
        vals = [w.op.val for w in self.tape[v].references() if w.op is not None]
        return any(isinstance(val, np.ndarray) and owner_of(val) is owner_of(value) for val in vals)

    def _register_result(
        self, recording: Recording, primitive: Primitive, value: Any, args: tuple[Any, ...], slot: int
    ) -> Any:
        """Register a result for its slot in the recording: floats and arrays as variables, also those in a tuple.

        A result without identity (a bool, a string) becomes a guard.
        """
        if primitive.rule is not None and primitive.rule.kind == "constant":
            recording.inert.add(slot)
        elif primitive.rule is not None and not primitive.is_trusted and not is_inexact(value):
            check_result(recording, primitive, value, args)
        if has_identity(value):
            register(recording, value, slot)
        elif is_flat(value) or (primitive.rule is not None and is_tree(value)):
            if not primitive.is_trusted:
                guard_outline(recording, value, slot)
            part = ruled(functional.getfield)
            return with_leaves(value, lambda key, _: self.call(recording, part, (value, key), (slot, None), {}))
        elif primitive.rule is not None or value is None or isinstance(value, bool | int | str | tuple):
            op = self.tape[self.variables[slot]]
            if isinstance(op, Call):
                op.guard = True
        else:
            raise recording.refuse(
                RefusedCallError(
                    f"{users_line()}: {primitive.name}, which the context records as a primitive, returned a "
                    f"{type(value).__name__}. It must return a number, an array or a tuple of these."
                )
            )
        return value

    def sync(self, recording: Recording) -> None:
        """Bring the entries recorded without the Context onto the tape: inputs, writes, reads of written memory."""
        while self.seen < len(recording.entries):
            index = self.seen
            self.seen += 1
            entry = recording.entries[index]
            if index not in self.variables and entry is not None:
                self.variables[index] = self._push_entry(entry)

    def _push_entry(self, entry: Entry) -> Variable:
        """Bring an entry onto the tape, and return its Variable."""
        fn, value, ins, args, kwargs, site = entry[0].fn, entry_value(entry[1]), *entry[2:]
        if entry[0].kind == "input" and not ins:
            return self.tape.push(Input(self.with_tape_copies(value, None), next(self.names, None)))
        if entry[0].kind == "constant":
            return self.tape.push(Constant(self.with_tape_copies(value, None), site=site))
        if entry[0].kind in ("guard", "input", "text") or (type(entry[0]) is RruleCall and ins[-1] is not None):
            return push_entry(self.tape, entry, self.variables)
        return self._record(fn, args, ins, kwargs or {})

    def _compare(self, recording: Recording, value: Any, v: Variable) -> None:
        """Raise an error if the Context recorded another value for a write, a view or an array of a subclass."""
        if not is_same(self.tape[v].val, value):
            raise recording.refuse(
                RefusedCallError(
                    f"{users_line()}: the context recorded another value than this line computes, for an in-place "
                    "write, a view or an array of a subclass. A context may count or refuse these, but not replace "
                    "them."
                )
            )

    def check(self, recording: Recording, slot: int, leaf: Any) -> None:
        """Raise an error if a result or a written array differs from the tape's value for it."""
        self.sync(recording)
        self._compare(recording, leaf, self.variables[slot])

    def finish(self, recording: Recording, result: Any) -> Tape:
        """Finish the tape with `result`, a structure of Slots, and return it."""
        self.sync(recording)
        self.tape.site = None
        self.tape.result = push_result(self.tape, result, self.variables)
        return self.tape


class _ContextRecording(Recording):
    """A recording that passes each entry to its Context at once, since its arrays may be written later."""

    __slots__ = ("live",)

    def __init__(self, keep: bool, live: LiveContext) -> None:
        super().__init__(keep, live)
        self.live = live

    def append(self, entry: Entry) -> int:
        slot = super().append(entry)
        self.live.sync(self)
        return slot


class _ContextMemory(Memory):
    """The memory of such a recording: it keeps copies of untraced arrays, and checks the Context's value of a write."""

    __slots__ = ("live",)

    def __init__(self, recording: Recording, live: LiveContext) -> None:
        super().__init__(recording)
        self.live = live

    def capture(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and self.slot(value) is None:
            return self.live.with_tape_copies(value, None)
        return super().capture(value)

    def written(self, storage: Storage, owner: np.ndarray, slot: int | None) -> None:
        super().written(storage, owner, slot)
        if slot is not None:
            self.live.check(self.recording, slot, owner)


def _untraced(args: Iterable[Any], ins: Iterable[Any]) -> Iterator[Any]:
    """Yield the arguments, and items of arguments, that are not Variables on the tape."""
    for arg, slot in zip(args, ins, strict=True):
        if isinstance(slot, tuple):
            yield from _untraced(arg, slot)
        elif slot is None:
            yield arg


def _keyword_value(recording: Recording, value: Any) -> Any:
    slot = slot_of(recording, value)
    return value if slot is None else Traced(slot, value)
