"""The hooks of a trace that is watched: those of any trace, which also tell the Reads what is read from outside.

They see what the code reads by name, attribute or import, what it calls, and what it changes. Where something cannot be
watched, the trace goes on, and is not kept.
"""

from __future__ import annotations

import abc
import sys
import types
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from wengert.compiling.outside import Reads
from wengert.compiling.trusted import HIDDEN, is_library, refused_call
from wengert.hooks.calls import resolve
from wengert.hooks.decide import decide
from wengert.hooks.exchange import HOOKS
from wengert.hooks.policy import Kind
from wengert.recording.recording import STATE
from wengert.values.frames import ENGINE
from wengert.values.sites import Site


def reads_here() -> Reads | None:
    """The Reads of the trace that follows the code that runs, as long as it may be kept."""
    recording = STATE.recording
    reads: Any = None if recording is None else recording.reads
    return None if reads is None or reads.unkept is not None else reads


def _reads_of(frame: types.FrameType, site: Site | None) -> Reads | None:
    """`reads_here` for what a frame reads; what runs where nothing is recorded is not watched either."""
    reads = reads_here()
    if reads is not None:
        STATE.site = site
    elif STATE.silenced is not None and STATE.silenced.reads is not None and not _is_ours(frame):
        unseen: Any = STATE.silenced.reads
        unseen.give_up(f"{frame.f_code.co_qualname} runs as a part of one call")
    return reads


def _global_name(value: Any, name: str, site: Site | None) -> Any:
    frame = sys._getframe(1)
    reads = _reads_of(frame, site)
    if reads is None:
        return value
    return reads.global_name(value, name, frame.f_globals, frame.f_builtins)


def _local_name(value: Any, name: str, site: Site | None) -> Any:
    """A name in the body of a class is its own, or a global one."""
    reads, frame = reads_here(), sys._getframe(1)
    if reads is None or name in frame.f_locals:
        return value
    STATE.site = site
    return reads.global_name(value, name, frame.f_globals, frame.f_builtins)


def _free_variable(cell: Any, value: Any, site: Site | None) -> Any:
    reads = _reads_of(sys._getframe(1), site)
    if reads is None or id(cell) not in reads.cells:
        return value
    return reads.read(value, reads.cells[id(cell)][1])


def _sets_free_variable(cell: Any, site: Site | None) -> None:
    reads = reads_here()
    if reads is not None and id(cell) in reads.cells:
        _unkept("it sets a variable of a function outside", site)


def _imported(value: Any, name: str, site: Site | None) -> Any:
    reads = reads_here()
    if reads is not None and not is_library(sys._getframe(1).f_globals):
        STATE.site = site
        modules = reads.pin(sys.modules, "sys.modules")
        for full in {name, value.__name__}:
            if full in sys.modules:
                reads.test(f"{modules}[{full!r}] is {reads.pin(sys.modules[full], full)}")
            else:
                reads.give_up(f"it imports {name}")
    return value


def _imported_from(module: Any, value: Any, name: str, site: Site | None) -> Any:
    reads = reads_here()
    if reads is None or is_library(sys._getframe(1).f_globals):
        return value
    STATE.site = site
    if type(module) is not types.ModuleType:
        reads.give_up(f"it imports {name}")
        return value
    return reads.of_module(module, name, value)


def _getattr(obj: Any, name: str, site: Site | None) -> Any:
    return _seen(obj, name, HOOKS["getattr"](obj, name, site), site)


def _seen(obj: Any, name: str, value: Any, site: Site | None) -> Any:
    """What the code goes on with for an attribute that was read."""
    t = type(obj)
    reads = None if t is np.ndarray or t is float else _reads_of(sys._getframe(2), site)
    if reads is None:
        return value
    if t is types.ModuleType:
        return value if _is_ours(sys._getframe(2)) else reads.of_module(obj, name, value)
    if name in HIDDEN and not _is_ours(sys._getframe(2)):
        reads.give_up(f"it reads .{name}")
        return value
    if t is types.FunctionType and name not in ("__name__", "__qualname__", "__module__", "__doc__"):
        reads.give_up(f"it reads .{name} of a function")
        return value
    return reads.attribute(obj, name, value)


def _is_ours(frame: Any) -> bool:
    return frame.f_code.co_filename.startswith(ENGINE) or is_library(frame.f_globals)


def _super_getattr(cls: Any, self: Any, super_: Any, name: str, has_arguments: bool, site: Site | None) -> Any:
    value = HOOKS["super_getattr"](cls, self, super_, name, has_arguments, site)
    if not callable(value):
        _unkept(f"it reads .{name} by way of super()", site)
    return value


def _asked(native: Callable[..., Any]) -> Callable[..., Any]:
    """What is called for `getattr` or `hasattr`, whose answer may be that there is none."""

    @wraps(native)
    def call(obj: Any, name: str, /, *default: Any) -> Any:
        try:
            value = _getattr(obj, name, STATE.site)
        except AttributeError:
            reads = reads_here()
            if reads is not None:
                reads.absent(obj, name)
            return native(obj, name, *default)
        return True if native is hasattr else value

    return call


_ASKED = {getattr: _asked(getattr), hasattr: _asked(hasattr)}


def _setattr(obj: Any, value: Any, name: str, site: Site | None) -> None:
    _changes(obj, name, site)
    HOOKS["setattr"](obj, value, name, site)


def _delattr(obj: Any, name: str, site: Site | None) -> None:
    _changes(obj, name, site)
    HOOKS["delattr"](obj, name, site)


def _changes(obj: Any, name: str, site: Site | None) -> None:
    reads = reads_here()
    if reads is not None and (id(obj) in reads.known or isinstance(obj, (type, types.ModuleType, types.FunctionType))):
        _unkept(f"it sets .{name} of what is outside", site)


def _is(right: Any, left: Any, site: Site | None) -> bool:
    return _told_apart("is_", right, left, site)


def _is_not(right: Any, left: Any, site: Site | None) -> bool:
    return _told_apart("is_not", right, left, site)


def _told_apart(hook: str, right: Any, left: Any, site: Site | None) -> bool:
    reads = reads_here()
    if reads is not None and type(right) is type(left) and any(map(reads.is_a_form, (left, right))):
        _unkept("it asks whether something from outside is something else", site)
    answer: bool = HOOKS[hook](right, left, site)
    return answer


_TELLING = (NameError, AttributeError, ImportError)


def _caught(error: BaseException, site: Site | None) -> None:
    if isinstance(error, _TELLING) and not isinstance(error, UnboundLocalError) and not _is_ours(sys._getframe(1)):
        _unkept(f"it goes on after a {type(error).__name__}, and may do so where there is something now", site)
    HOOKS["caught"](error, site)


def _match_class(*args: Any) -> Any:
    _unkept("it matches a pattern of a class", args[-1])
    return HOOKS["match_class"](*args)


def _unwatched(words: str, site: Site | None) -> None:
    _unkept(words, site)


def _unkept(words: str, site: Site | None) -> None:
    reads = reads_here()
    if reads is not None:
        STATE.site = site
        reads.give_up(words)


def _resolve(f: Any, site: Site | None = None) -> Any:
    reads = reads_here()
    if reads is not None and not (f is id and sys._getframe(1).f_code.co_filename.startswith(ENGINE)):
        STATE.site = site
        _called(reads, f)
        if f is isinstance or f is issubclass:  # which ask what is registered with abstract classes
            reads.test(f"{reads.pin(abc.get_cache_token)}() == {abc.get_cache_token()}")
        if type(f) is types.BuiltinFunctionType and f in _ASKED:
            return _ASKED[f]
    return resolve(f, site)


def resolve_plain(f: Any) -> Any:
    """What a trace that is watched calls in place of a callable where no line of the user's is known."""
    reads = reads_here()
    if reads is not None:
        _called(reads, f)
    return resolve(f, STATE.site)


def _called(reads: Reads, f: Any) -> None:
    """Look at what is called: a function of the user's has to be entered, what is in C has to be known as harmless."""
    if id(f) in reads.called:
        return
    words = refused_call(f)
    if words is None and _is_of_user(f) and decide(f).kind is not Kind.ENTERED:
        words = f"it calls {f.__qualname__}, which is not followed"
    if words is not None:
        reads.give_up(words)
    elif type(f) in (types.FunctionType, type, np.ufunc):
        reads.called[id(f)] = f


def _is_of_user(f: Any) -> bool:
    is_python = type(f) is types.FunctionType and not is_library(f.__globals__)
    return is_python and not f.__code__.co_filename.startswith(ENGINE)


WATCHING = {
    **HOOKS,
    "resolve": _resolve,
    "getattr": _getattr,
    "setattr": _setattr,
    "delattr": _delattr,
    "super_getattr": _super_getattr,
    "match_class": _match_class,
    "is_": _is,
    "is_not": _is_not,
    "caught": _caught,
    "global_name": _global_name,
    "local_name": _local_name,
    "free_variable": _free_variable,
    "sets_free_variable": _sets_free_variable,
    "imported": _imported,
    "imported_from": _imported_from,
    "unwatched": _unwatched,
}
