"""Generated code that is kept for later processes: one pack for each source file, in the cache folder.

Like a folder `__pycache__`, the cache has at most one pack for a source file in each environment. A pack is used only
with the Python, the generator and the source file that it was written for; its keys are digests of what code was
generated from. Packs are written when the process exits. Of more than `PACKS_KEPT`, those written longest ago go.
"""

from __future__ import annotations

import atexit
import marshal
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec, source_hash
from types import CodeType
from typing import Any

from wengert.values.cache_folder import CacheFolderError, own_folder, write

ENTRIES_KEPT = 1000
"""The number of entries of a pack; older ones go. Code from no file, as that of a notebook, has one pack for all."""
PACKS_KEPT = 1000
_NO_FILE = "<code from no file>"
_STARTED = time.time_ns()
_packs: dict[tuple[str, tuple[str, ...]], Pack] = {}
_by_path: dict[str, Pack] = {}


class Pack:
    """The generated code of one source file, by digest of what it was generated from.

    `stamp` says what the pack is valid for: the generator, and the state of the source file.
    """

    def __init__(self, path: str, stamp: Any) -> None:
        self.path, self.stamp = path, stamp
        self.found: dict[bytes, bytes] = self._read()
        self.new: dict[bytes, bytes] = {}

    def _read(self) -> dict[bytes, bytes]:
        """Return what the file holds; nothing if it is damaged, or written for another stamp."""
        with suppress(OSError, ValueError, EOFError, TypeError):
            with open(self.path, "rb") as file:
                content = file.read()
            if source_hash(content[8:]) == content[:8]:
                stamp, found = marshal.loads(content[8:])
                if stamp == self.stamp:
                    return dict(found)
        return {}

    def get(self, key: bytes) -> Any:
        """Return the value of a key, or None."""
        found = self.found.get(key)
        return None if found is None else marshal.loads(found)

    def put(self, key: bytes, value: Any) -> None:
        """Keep a value, if it can be: code, numbers, strings, and tuples of them."""
        with suppress(ValueError):
            self.new[key] = self.found[key] = marshal.dumps(value)

    def save(self) -> None:
        """Write the file with what is new, and what other processes have written since."""
        content = marshal.dumps((self.stamp, dict([*(self._read() | self.new).items()][-ENTRIES_KEPT:])))
        write(self.path, source_hash(content) + content)


def pack_of(file: str, generators: tuple[str, ...]) -> Pack | None:
    """Return the pack of a source file with code that these packages generate; None if nothing can be kept."""
    found = _packs.get((file, generators))
    if found is None:
        state, makers = _state_of(file), tuple(map(_folder_and_state, generators))
        place = _code_folder() if all(makers) else None
        if place is None:
            return None
        source = os.path.abspath(file) if state else _NO_FILE
        name = source_hash(repr((source, sys.version, [maker[:1] for maker in makers])).encode()).hex()
        path = os.path.join(place, f"{name}.bin")
        found = _packs[file, generators] = _by_path.get(path) or Pack(path, (state, makers))
        _by_path[path] = found
    return found


@cache
def _folder_and_state(package: str) -> tuple[Any, ...]:
    """Return the folder of a package, and a digest of the states of its files.

    Returns nothing if the package is in an archive, or if a file is newer than this process, which may have loaded an
    older one.
    """
    try:
        spec = find_spec(package)
        folder = os.path.dirname((spec and spec.origin) or "")
        files = sorted(_files_under(folder))
    except (ImportError, OSError, ValueError):
        return ()
    if any([max(found.st_mtime_ns, found.st_ctime_ns) > _STARTED for _, found in files]):
        return ()
    return folder, source_hash(repr([(path, *_size_and_time(found)) for path, found in files]).encode())


def _files_under(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the Python files in a folder and in those within it, with their states."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith((".py", ".pyc")):
                yield entry.path, entry.stat()
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _files_under(entry.path)


def _state_of(file: str) -> tuple[int, int] | None:
    """Return the size and time of a file, or None if there is no such file."""
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return None
    return _size_and_time(found)


def _size_and_time(found: os.stat_result) -> tuple[int, int]:
    return found.st_size, found.st_mtime_ns


def digest(code: CodeType, *options: Any) -> bytes | None:
    """Return a digest of a code object and of options; None for constants that have no `repr`, as long integers."""
    try:
        return source_hash(repr((_fields(code), options)).encode())
    except Exception:
        return None


def _fields(code: CodeType) -> list[Any]:
    found = [getattr(code, f"co_{name}") for name in _FIELDS]
    for const in code.co_consts:
        t = type(const)
        found.append(_fields(const) if t is CodeType else sorted(map(repr, const)) if t is frozenset else const)
    return found


_FIELDS = (
    "filename", "name", "qualname", "argcount", "posonlyargcount", "kwonlyargcount", "flags", "stacksize",
    "firstlineno", "names", "varnames", "freevars", "cellvars", "code", "linetable", "exceptiontable",
)  # fmt: skip


@cache
def _code_folder() -> str | None:
    try:
        return own_folder("code")
    except (OSError, CacheFolderError):
        return None


@atexit.register
def _save() -> None:
    packs = [*_by_path.values()]  # other threads may still add to it
    new = [pack for pack in packs if pack.new and not sys.dont_write_bytecode]
    for pack in new:
        with suppress(OSError):
            pack.save()
    for folder in {os.path.dirname(pack.path) for pack in new}:
        with suppress(OSError):
            _drop_oldest(folder)


def _drop_oldest(folder: str) -> None:
    """Remove the files of a folder that were written longest ago, until PACKS_KEPT are left. Errors: OSError."""
    with os.scandir(folder) as entries:
        written = sorted([(entry.stat().st_mtime_ns, entry.path) for entry in entries])
    for _, path in written[:-PACKS_KEPT]:
        with suppress(FileNotFoundError):  # another process has removed it
            os.remove(path)
