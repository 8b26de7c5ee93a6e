"""Calls that write numbers and strings to files: these leave the program, and have no derivative.

A stream in memory, or a file that is also open for reading, may return them: `texts` notes it, or the call is refused.
"""

from __future__ import annotations

import functools
import io
import os
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks.policy import Decision, decides_methods_of, native_call, stand_in_call, stand_in_for
from wengert.hooks.search import opaque
from wengert.hooks.standins.texts import may_be_read, note_written
from wengert.recording.recording import STATE, silent

WRITES_TO_FILE = "It writes to a file, whose contents have no derivative."
_FILES: Any = tuple([base.__base__ for base in (io.TextIOBase, io.BufferedIOBase, io.RawIOBase)])
"""The base classes of files; those of C are no subclasses of those in `io`."""
_READING = {"read", "read1", "readall", "readinto", "readinto1", "readline", "readlines", "peek", "__next__", "detach"}


@decides_methods_of(*_FILES)
def _of_open_file(f: Any, t: type, name: str) -> Decision | None:
    if name in ("write", "writelines"):
        return stand_in_call(WRITES_TO_FILE, _noting, _noting)
    return None if name in _READING else native_call("It reads nothing from the file.")


def _noting(f: Any) -> Callable[..., Any]:
    """Make the stand-in of a method that writes to a file, which notes traced text if the file is readable, too."""

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is not None and may_be_read(f.__self__):
            note_written(recording, f.__self__, args)
        return f(*args, **kwargs)

    return call


def is_file(target: Any) -> bool:
    """Whether a target of a call is the path of a file, or a file that cannot be read."""
    is_object = issubclass(type(target), _FILES)
    return isinstance(target, (str, bytes, os.PathLike)) or (is_object and not may_be_read(target))


def _writing_to_file(f: Any, position: int, name: str) -> Callable[..., Any]:
    """Make the stand-in of a function that writes to the file which is its argument `name` or at `position`."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        target = args[position] if len(args) > position else kwargs.get(name)
        if recording is not None and not is_file(target):
            return opaque(recording, f, args, kwargs)
        with silent():
            return f(*args, **kwargs)

    return call


_FILE_WRITERS = {
    np.save: (0, "file"), np.savez: (0, "file"), np.savez_compressed: (0, "file"), pickle.dump: (1, "file"),
    np.ndarray.tofile: (1, "fid"), np.ndarray.dump: (1, "file"),
}  # fmt: skip
"""Functions that write to a file, and the position and the name of that argument."""
for _f, _place in _FILE_WRITERS.items():
    stand_in_for(_f)(_writing_to_file(_f, *_place))
METHODS_OF_ARRAYS = {name: _writing_to_file(getattr(np.ndarray, name), 1, "file") for name in ("tofile", "dump")}
