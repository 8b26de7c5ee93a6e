"""Compiled kernels on disk: machine code, and sources as modules, beside which numba caches its compiled code.

Code in the folder is executed. So the folder must belong to this user and be writable by nobody else. A source is used
only if it equals the one that is asked for, machine code only if it is as it was written.
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
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from wengert.errors import WengertError

OTHERS = stat.S_IWGRP | stat.S_IWOTH


class CacheFolderError(WengertError):
    """The folder for compiled kernels is writable by other users."""


@cache
def has_compiler() -> bool:
    """Whether numba 0.61 or later is installed: with it comes the LLVM that native code needs."""
    if importlib.util.find_spec("numba") is None:
        return False
    from importlib.metadata import version  # which takes a tenth of a first gradient

    return tuple(map(int, version("numba").split(".")[:2])) >= (0, 61)


def folder() -> Path:
    """Return the folder of the sources, below the platform's cache folder of this user or `WENGERT_CACHE`."""
    places = {"win32": os.environ.get("LOCALAPPDATA", "~/AppData/Local"), "darwin": "~/Library/Caches"}
    usual = os.environ.get("XDG_CACHE_HOME") or places.get(sys.platform, "~/.cache")
    base = os.environ.get("WENGERT_CACHE") or os.path.join(usual, "wengert")
    return Path(base).expanduser() / "kernels"


@dataclass(eq=False)
class Kernels:
    """The functions that a source defines. While it is alive, code loaded from disk finds its module by name."""

    functions: dict[str, Any]


_had: weakref.WeakValueDictionary[str, Kernels] = weakref.WeakValueDictionary()


def kernels(text: str) -> Kernels:
    """Import a source from its file, written if missing. Errors: CacheFolderError."""
    name = f"kernels_{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    found = _had.get(name)
    if found is None:
        made = _module(name, text)
        found = _had[name] = Kernels(vars(made))
        weakref.finalize(found, _forget, name, made)
    return found


def cached_bytes(key: str, make: Callable[[], bytes]) -> bytes:
    """Return what `make` returns, from the file of the key if there is one; nothing is kept without a safe folder."""
    try:
        path = _own_folder() / f"code_{hashlib.sha256(key.encode()).hexdigest()}.bin"
    except (OSError, CacheFolderError):
        return make()
    try:
        kept = path.read_bytes()
    except OSError:
        kept = b""
    digest, code = kept[:32], kept[32:]
    if hashlib.sha256(code).digest() != digest:
        code = make()
        with suppress(OSError):
            _write(path, hashlib.sha256(code).digest() + code)
    return code


def _forget(name: str, made: types.ModuleType) -> None:
    if sys.modules.get(name) is made:
        del sys.modules[name]


def _module(name: str, text: str) -> types.ModuleType:
    path = _own_folder() / f"{name}.py"
    if not _holds(path, text):
        _write(path, text.encode())
    made = types.ModuleType(name)
    made.__file__ = str(path)
    sys.modules[name] = made
    exec(compile(text, str(path), "exec"), vars(made))  # not the file: it may have changed since it was compared
    return made


def _own_folder() -> Path:
    path = folder()
    for part in (*reversed(path.parents), path):
        part.mkdir(mode=0o700, exist_ok=True)
    found = path.stat()
    if os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & OTHERS):
        raise CacheFolderError(
            f"other users can write into {path}, from which wengert loads compiled code. Check its files and run chmod "
            "700 on it, set WENGERT_CACHE to another folder, or pass backend='numpy'"
        )
    return path


def _holds(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode()
    except OSError:
        return False


def _write(path: Path, content: bytes) -> None:
    """Write the file atomically, since several processes may write it."""
    draft = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    draft.write_bytes(content)
    draft.replace(path)
