"""Compiled kernels on disk: each text is a module of its own, beside which numba keeps what it compiles.

What lies in the folder is run. So it belongs to this user, nobody else can write into it, and a text is compared with
the one that was asked for, not trusted by its name.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import stat
import sys
import threading
import types
import weakref
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from wengert.errors import WengertError

OTHERS = stat.S_IWGRP | stat.S_IWOTH


class CacheFolderError(WengertError):
    """The folder for compiled kernels can be written by others than this user."""


@cache
def has_compiler() -> bool:
    """Whether numba is there."""
    return importlib.util.find_spec("numba") is not None


def folder() -> Path:
    """Where the texts are: in the folder of the user's that the platform has for what can be made again."""
    places = {"win32": os.environ.get("LOCALAPPDATA", "~/AppData/Local"), "darwin": "~/Library/Caches"}
    usual = os.environ.get("XDG_CACHE_HOME") or places.get(sys.platform, "~/.cache")
    base = os.environ.get("WENGERT_CACHE") or os.path.join(usual, "wengert")
    return Path(base).expanduser() / "kernels"


@dataclass(eq=False)
class Kernels:
    """The functions that a text defines; while it is alive, code read from the disk finds its module by name."""

    functions: dict[str, Any]


_had: weakref.WeakValueDictionary[str, Kernels] = weakref.WeakValueDictionary()


def kernels(text: str) -> Kernels:
    """The Kernels of a text, imported from a file of its own. Errors: CacheFolderError."""
    name = f"kernels_{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    found = _had.get(name)
    if found is None:
        made = _module(name, text)
        found = _had[name] = Kernels(vars(made))
        weakref.finalize(found, _forget, name, made)
    return found


def _forget(name: str, made: types.ModuleType) -> None:
    if sys.modules.get(name) is made:
        del sys.modules[name]


def _module(name: str, text: str) -> types.ModuleType:
    path = _own_folder() / f"{name}.py"
    if not _holds(path, text):
        _write(path, text)
    made = types.ModuleType(name)
    made.__file__ = str(path)
    sys.modules[name] = made
    exec(compile(text, str(path), "exec"), vars(made))  # the text itself: a file may be changed after it was compared
    return made


def _own_folder() -> Path:
    path = folder()
    for part in (*reversed(path.parents), path):
        part.mkdir(mode=0o700, exist_ok=True)
    found = path.stat()
    if os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & OTHERS):
        raise CacheFolderError(
            f"others can write into {path}, and what lies there is run: make it yours alone (chmod 700) after looking "
            "at what is in it, or let WENGERT_CACHE name another place, or choose backend='numpy'"
        )
    return path


def _holds(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode()
    except OSError:
        return False


def _write(path: Path, text: str) -> None:
    """Write the file as a whole or not at all, also where several processes write it."""
    draft = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    draft.write_bytes(text.encode())
    draft.replace(path)
