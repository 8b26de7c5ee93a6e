"""Digest of a stretch of a recording: two runs with equal digests have the same derivative."""

from __future__ import annotations

import functools
import marshal
import weakref
from typing import Any

import numpy as np

from wengert.recording.primitives import Bound, PartUpdate
from wengert.recording.recording import Entry, Recording, flat_slots
from wengert.values.functional import Path
from wengert.values.specs import Spec
from wengert.values.views import owner_of

SMALL = 4096  # bytes; below it hashing the bytes takes less time than a product
_SCALARS = {float, int, type(None), bool, str, complex, np.float64}  # which marshal tells by their bits


class Trail:
    """The stretch from `base` to the end of a recording, in a form in which it can be compared with another run of it.

    `inputs` are the slots from outside that it reads, `arrays` what it keeps that it did not make, `digest` stands for
    all else, wherever the stretch stands.
    """

    __slots__ = ("arrays", "digest", "inputs")

    def __init__(self, recording: Recording, base: int) -> None:
        stretch = [entry for entry in recording.entries[base:] if entry is not None]
        reads = [slot for entry in stretch for slot in entry[2]]
        if tuple in set(map(type, reads)):
            reads = flat_slots(tuple(reads))
        self.inputs = sorted({slot for slot in reads if slot is not None and slot < base})
        places = {slot: k - len(self.inputs) for k, slot in enumerate(self.inputs)}
        where = [slot if slot is None else slot - base if slot >= base else places[slot] for slot in reads]
        told = marshal.dumps((where, _pullback_reads(recording, base)), 2)
        from hashlib import blake2b  # which takes 3 ms, and few traces need it

        self.digest = blake2b(told, digest_size=16).digest()
        self.arrays = _from_outside(stretch, base)


def _from_outside(stretch: list[Entry], base: int) -> list[weakref.ref[np.ndarray]]:
    """Return the owners of residual arrays that existed before the stretch."""
    kept = [a for e in stretch for a, s in zip(e[3], e[2], strict=False) if type(s) is not int or s < base]
    for part in kept:
        if type(part) is list or type(part) is tuple:
            kept.extend(part)
    owners = {id(owner): owner for owner in [owner_of(a) for a in kept if isinstance(a, np.ndarray)]}
    return [weakref.ref(owner) for owner in owners.values()]


def _pullback_reads(recording: Recording, base: int) -> list[Any]:
    """Return what each pullback of the stretch reads, with memory as it will be then."""
    memory = recording.memory
    if not memory.undo:
        return [_read_by_pullback(entry) for entry in recording.entries[base:] if entry is not None]
    lines, done, owed = [], 0, len(recording.owed)
    for slot in range(len(recording.entries) - 1, base - 1, -1):
        entry = recording.entries[slot]
        if entry is not None:
            done = memory.rewind(slot, done)
            lines.append(_read_by_pullback(entry))
    recording.owed.pay(owed)
    return lines[::-1]


def _read_by_pullback(entry: Entry) -> Any:
    primitive, y, _, args, kwargs, _ = entry
    if type(primitive) not in (Bound, PartUpdate) or primitive.rule.sequence is not None:
        digest = getattr(primitive, "digest", type(primitive).__qualname__)  # that of a checkpoint inside
        return primitive.name, _marshallable(args), _marshallable(kwargs), digest
    pairs = zip(primitive.residual_kinds, args, strict=True)
    kept = [a if type(a) in _SCALARS else _kept_part(how, a) for how, a in pairs]
    if primitive.reads_y == "value":
        kept.append(y if type(y) in _SCALARS else _marshallable(y))
    return primitive.name, primitive.wanted, kept, None if kwargs is None else _marshallable(kwargs)


def _kept_part(how: str, a: Any) -> Any:
    if how == "shape":
        return a.shape if isinstance(a, np.ndarray) else np.shape(a)
    return None if how == "nothing" else _marshallable(a)


def _marshallable(value: Any) -> Any:
    """Convert a value to objects that `marshal` accepts."""
    kind = type(value)
    if kind is np.ndarray or isinstance(value, np.generic):
        return value.shape, value.dtype.str, checksum(value)
    if kind in _SCALARS:
        return value
    if kind is tuple or kind is list or kind is Path:
        return [_marshallable(part) for part in value]
    if kind is dict:
        return [(_marshallable(key), _marshallable(part)) for key, part in value.items()]
    if kind is slice:
        return _marshallable(value.start), _marshallable(value.stop), _marshallable(value.step)
    if issubclass(kind, float):  # of a class made from it
        return float.__float__(value)
    return (value.shape, value.dtype.str) if kind is Spec else kind.__qualname__


def checksum(a: Any) -> Any:
    """Return a checksum of the bits of an array in their order; the bits themselves where they are few."""
    if a.dtype.char in "gG":  # a long double has padding bytes without meaning
        return repr(a.tolist())
    if a.nbytes < SMALL or a.nbytes % 8:
        return None if a.dtype.hasobject else a.tobytes()
    words = np.ascontiguousarray(a).reshape(-1).view(np.uint64)
    weights = _weights()
    whole = len(words) - len(words) % len(weights)
    return np.dot(words[:whole].reshape(-1, len(weights)), weights).tobytes(), words[whole:].tobytes()


@functools.cache
def _weights() -> np.ndarray:
    """Return random odd numbers."""
    return np.random.default_rng(0).integers(1, 2**63, 1024, np.uint64) | np.uint64(1)
