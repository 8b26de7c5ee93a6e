"""Compiled kernels on disk: machine code, and sources as modules, beside which numba caches its compiled code.

A source is used only if it equals the one that is asked for, machine code only if it is as it was written.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import types
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from wengert.values.cache_folder import CacheFolderError, own_folder, path_of_cache, write


@cache
def has_compiler() -> bool:
    """Whether numba 0.61 or later is installed: with it comes the LLVM that native code needs."""
    spec = importlib.util.find_spec("numba")
    return spec is not None and tuple(map(int, version_of("numba", spec.origin or "").split(".")[:2])) >= (0, 61)


def version_of(name: str, file: str) -> str:
    """Return the version of a package with this file, by the name of the folder beside it that describes it."""
    folders = [*Path(file).parent.parent.glob(f"{name}-*.dist-info")]
    if len(folders) == 1:
        return folders[0].stem.split("-")[1]
    from importlib.metadata import version  # 20 ms

    return version(name)


def folder() -> Path:
    """Return the folder of the kernels."""
    return Path(path_of_cache("kernels"))


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
        path = Path(own_folder("kernels")) / f"code_{hashlib.sha256(key.encode()).hexdigest()}.bin"
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
            write(str(path), hashlib.sha256(code).digest() + code)
    return code


def _forget(name: str, made: types.ModuleType) -> None:
    if sys.modules.get(name) is made:
        del sys.modules[name]


def _module(name: str, text: str) -> types.ModuleType:
    path = Path(own_folder("kernels")) / f"{name}.py"
    if not _holds(path, text):
        write(str(path), text.encode())
    made = types.ModuleType(name)
    made.__file__ = str(path)
    sys.modules[name] = made
    exec(compile(text, str(path), "exec"), vars(made))  # not the file: it may have changed since it was compared
    return made


def _holds(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode()
    except OSError:
        return False
