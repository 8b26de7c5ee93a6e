"""Writers of the module `csv`: they write numbers to a file, where they have no derivative."""

from __future__ import annotations

import csv
import gc
import io
from collections.abc import Callable
from typing import Any

from wengert.hooks.policy import Decision, decides_methods_of, stand_in_call
from wengert.hooks.search import opaque
from wengert.hooks.standins.files import WRITES_TO_FILE, is_file
from wengert.recording.recording import STATE, silent


@decides_methods_of(type(csv.writer(io.StringIO())))
def _of_csv_writer(f: Any, t: type, name: str) -> Decision:
    return stand_in_call(WRITES_TO_FILE, _writing_rows, _writing_rows)


def _writing_rows(f: Any) -> Callable[..., Any]:
    """Make the stand-in of a method of `csv.writer`, which holds the method `write` of its file."""
    files = [getattr(write, "__self__", None) for write in gc.get_referents(f.__self__)]

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is not None and not any(map(is_file, files)):
            return opaque(recording, f, args, kwargs)
        with silent():
            return f(*args, **kwargs)

    return call
