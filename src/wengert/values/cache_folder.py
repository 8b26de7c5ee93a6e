"""The folder in which wengert keeps generated code for later processes.

Code in the folder is executed. So the folder must belong to this user and be writable by nobody else.
"""

from __future__ import annotations

import os
import stat
import sys
import threading

from wengert.errors import WengertError

OTHERS = stat.S_IWGRP | stat.S_IWOTH


class CacheFolderError(WengertError):
    """The folder for compiled kernels is writable by other users."""


def path_of_cache(name: str) -> str:
    """Return the folder `name` below the platform's cache folder of this user, or below `WENGERT_CACHE`."""
    places = {"win32": os.environ.get("LOCALAPPDATA", "~/AppData/Local"), "darwin": "~/Library/Caches"}
    usual = os.environ.get("XDG_CACHE_HOME") or places.get(sys.platform, "~/.cache")
    base = os.environ.get("WENGERT_CACHE") or os.path.join(usual, "wengert")
    return os.path.abspath(os.path.join(os.path.expanduser(base), name))


def own_folder(name: str) -> str:
    """Return the folder `name`, made if missing. Errors: OSError, CacheFolderError if others can write into it."""
    path = path_of_cache(name)
    if "~" in path.split(os.sep):
        raise FileNotFoundError(f"there is no home folder for {path}")
    if not os.path.isdir(path):
        _make(path)
    found = os.stat(path)
    if os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & OTHERS):
        raise CacheFolderError(
            f"other users can write into {path}, from which wengert loads compiled code. Check its files and run chmod "
            "700 on it, set WENGERT_CACHE to another folder, or pass backend='numpy'"
        )
    return path


def _make(path: str) -> None:
    """Make a folder and its parents, each for this user alone."""
    parent = os.path.dirname(path)
    if parent != path and not os.path.isdir(parent):
        _make(parent)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def write(path: str, content: bytes) -> None:
    """Write a file atomically, since several processes may write it."""
    draft = f"{os.path.splitext(path)[0]}.{os.getpid()}.{threading.get_ident()}"
    with open(draft, "wb") as file:
        file.write(content)
    os.replace(draft, path)
