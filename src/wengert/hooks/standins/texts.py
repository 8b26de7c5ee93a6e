"""Strings made from traced values, followed through in-memory streams and arrays of strings."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np

from wengert.hooks import rule_errors
from wengert.hooks.policy import Decision, decides_methods_of, stand_in_call, stand_in_for
from wengert.hooks.search import TooLarge, find_traced, note_made_text, run_watching_writes, search, traced_in
from wengert.recording.decisions import exact
from wengert.recording.nondifferentiable import digits_told, note_digit
from wengert.recording.recording import STATE, Recording

MULTIARRAY: Any = np._core.multiarray  # type: ignore[attr-defined]


@decides_methods_of(io.StringIO, io.BytesIO)
def _of_stream(f: Any, t: type, name: str) -> Decision:
    return stand_in_call("A string from a stream may be made from traced values.", _stream_method)


def _stream_method(f: Any) -> Any:
    """Make the stand-in of an in-memory stream's method, which remembers strings that contain traced values."""
    owner = f.__self__

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is not None:
            note_written(recording, owner, (*args, *kwargs.values()))
        made = f(*args, **kwargs) if recording is None else run_watching_writes(recording, f, args, kwargs)
        if recording is not None and isinstance(made, (str, bytes, list)):
            _guard_written(recording, owner)
        return made if recording is None else note_made_text(recording, made, (owner,))

    return call


@stand_in_for(print)
def printed(*args: Any, **kwargs: Any) -> None:
    """The stand-in of `print`."""
    print(*args, **kwargs)
    recording, stream = STATE.recording, kwargs.get("file") or sys.stdout
    if recording is not None and may_be_read(stream):
        note_written(recording, stream, args)


@stand_in_for(
    np.array2string,
    np.array_repr,
    np.array_str,
    MULTIARRAY.dragon4_positional,
    MULTIARRAY.dragon4_scientific,
    made=True,
)
def _remembering(f: Any) -> Any:
    """Make the stand-in of a NumPy function that returns a string."""

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        text = f(*args, **kwargs)
        return text if recording is None else note_made_text(recording, text, args, f, kwargs)

    return call


def may_be_read(stream: Any) -> bool:
    """Whether what is written to a stream may be read: in memory, in an open file, in an object of the user's."""
    if not isinstance(stream, io.IOBase) or stream.closed:
        return False
    try:
        stream.fileno()
    except OSError:  # it is not a file of the system
        return True
    return stream.readable()


def note_written(recording: Recording, stream: Any, things: tuple[Any, ...]) -> None:
    """Note a stream into which traced values are written, and the streams to which it passes them."""
    if things and search(recording, things):
        while isinstance(stream, io.IOBase):
            recording.texts[id(stream)] = stream
            if recording.keep:
                recording.caches.setdefault(io.StringIO, {}).setdefault(id(stream), []).extend(things)
            stream = getattr(stream, "buffer", None) or getattr(stream, "raw", None)


def _guard_written(recording: Recording, stream: Any) -> None:
    """Guard all traced values written into a stream, since code may branch on what is read from it."""
    if recording.keep and id(stream) in recording.texts:
        exact(recording, find_traced(recording, recording.caches[io.StringIO][id(stream)]))


def characters(text: Any) -> Any:
    """Return the characters of a string; remember the digits of one made from a traced value.

    CPython shares one object for each digit, so only the digits of traced numbers are remembered.
    """
    recording = STATE.recording
    if recording is None or id(text) not in recording.texts:
        return text
    if recording.keep:
        exact(recording, (text,))
    if type(text) is bytes:
        return octets(text)
    return (note_digit(recording, c) if c.isdigit() else c for c in text)


def octets(text: bytes) -> bytes:
    """Return bytes that are about to be read as integers; refuse the digits of a traced value."""
    recording = STATE.recording
    if recording is not None and id(text) in recording.texts and any([c in b"0123456789" for c in text]):
        raise digits_told(recording, "reading bytes")
    return text


@stand_in_for(ord)
def ordinal(character: Any, /) -> int:
    """The stand-in of `ord`, which would read the digits of a traced value one by one."""
    recording = STATE.recording
    if recording is not None and id(character) in recording.texts and character.isdigit():
        raise rule_errors.no_rule_error(recording, ord, "a digit of a traced value reaches it")
    return ord(character)


@stand_in_for(sys.intern)
def interned(text: Any, /) -> Any:
    """The stand-in of `sys.intern`."""
    recording = STATE.recording
    made = sys.intern(text)
    if recording is not None and recording.keep:
        exact(recording, (text,))
    return made if recording is None else note_made_text(recording, made, (text,))


def lines(stream: Any) -> Any:
    """Return the lines of a stream in memory or a file."""
    recording = STATE.recording
    if recording is None or id(stream) not in recording.texts:
        return stream
    _guard_written(recording, stream)
    return (note_made_text(recording, line, (stream,)) for line in stream)


def holds_texts(recording: Recording, things: Any) -> bool:
    """Whether a string made from a traced value is among these values, or in a list among them."""
    if not recording.texts:
        return False
    given = [
        a for a in things if type(a) in (str, bytes, list, tuple) or (type(a) is np.ndarray and a.dtype.kind in "US")
    ]
    try:
        return any(id(found) in recording.texts for found in traced_in(recording, given))
    except TooLarge:
        return True
