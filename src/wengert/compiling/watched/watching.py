"""The hooks of a trace that is watched: those of any trace, which also tell the Reads what is read from outside.

They see what the code reads by name, attribute or import, what it calls, and what it changes. Where something cannot be
watched, the trace goes on, and is not kept.
"""

from __future__ import annotations

import copy
import functools
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.watched.asked import asked_unseen
from wengert.compiling.watched.drawing import MAKING, drawing, is_draw, seeded
from wengert.compiling.watched.identities import CHANGING
from wengert.compiling.watched.instances import asks_an_abstract_class, watch_answer
from wengert.compiling.watched.loop_states import has_no_number
from wengert.compiling.watched.outer_reads import OF_MEMORY, Reads
from wengert.compiling.watched.printing import HOOKS_OF_PRINTING, PRINTING, SHOWING, watch_settings
from wengert.compiling.watched.ruled import where_traced
from wengert.compiling.watched.sameness import same
from wengert.compiling.watched.stdlib_types import is_in_tests
from wengert.compiling.watched.trusted import (
    HIDDEN,
    calls_python,
    is_library,
    is_of_user,
    is_solver,
    names_attributes,
    refused_call,
)
from wengert.compiling.watched.watchable_types import is_tensor_function, runs_code
from wengert.errors import RefusedCallError
from wengert.hooks.calls import resolve
from wengert.hooks.code_swap import HOOKS
from wengert.hooks.decide import decide
from wengert.hooks.policy import Kind
from wengert.recording.identity import given
from wengert.recording.primitives import primitive_of
from wengert.recording.recording import STATE, here
from wengert.recording.slots import holds_traced
from wengert.recording.swapped_code import is_born
from wengert.rewrite.heads import LoopHead
from wengert.values.frames import ENGINE, user_frame
from wengert.values.names import home_of
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
    elif not _is_ours(frame):
        _unseen(frame)
    return reads


def _unseen(frame: types.FrameType) -> None:
    """Give up compiling: unrecorded code of the user may read from outside."""
    if STATE.silenced is not None and STATE.silenced.reads is not None:
        unseen: Any = STATE.silenced.reads
        unseen.give_up(f"{frame.f_code.co_qualname} runs as a part of one call")


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
        _unkept("it sets a variable of a function outside", site, may_be_once=True)


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
    try:
        value = HOOKS["getattr"](obj, name, site)
    except AttributeError:
        if (reads := reads_here()) is not None:
            reads.absent(obj, name)
        raise
    return _seen(obj, name, value, site)


def _seen(obj: Any, name: str, value: Any, site: Site | None) -> Any:
    """Return the value that the code goes on with for an attribute that was read."""
    t = type(obj)
    if t is np.ndarray and name in OF_MEMORY and (reads := reads_here()) is not None:
        return reads.of_array(obj, name, value)
    reads = None if t is np.ndarray or t is float else _reads_of(sys._getframe(2), site)
    if reads is None:
        frame = sys._getframe(2)
        is_read = is_of_user(t) and not is_in_tests(obj, name) and not frame.f_code.co_filename.startswith(ENGINE)
        if STATE.silenced is not None and is_read:
            _unseen(frame)
        return value
    if t is types.ModuleType:
        return value if _is_ours(_asker(2)) else reads.of_module(obj, name, value)
    if name == "__dict__" and not issubclass(type(obj), (type, types.FunctionType)):
        reads.whole(obj)
        return value
    if name in HIDDEN and not _is_ours(_asker(2)):
        reads.give_up(f"it reads .{name}")
        return value
    if t is types.MethodType and name not in ("__func__", "__self__"):
        obj, t = obj.__func__, type(obj.__func__)
    if t is types.FunctionType:
        return value if is_born(obj) else reads.of_function(obj, name, value)
    return reads.attribute(obj, name, value)


def _asker(depth: int) -> Any:
    """The frame that asks for an attribute, also by way of `getattr`, `hasattr` or `vars`."""
    frame = sys._getframe(depth + 1)
    return frame.f_back if frame.f_code.co_filename == __file__ else frame


def _is_ours(frame: Any) -> bool:
    return frame.f_code.co_filename.startswith(ENGINE) or is_library(frame.f_globals)


def _super_getattr(cls: Any, self: Any, super_: Any, name: str, has_arguments: bool, site: Site | None) -> Any:
    value = HOOKS["super_getattr"](cls, self, super_, name, has_arguments, site)
    if not callable(value):
        _unkept(f"it reads .{name} by way of super()", site)
    return value


def _asked(native: Callable[..., Any]) -> Callable[..., Any]:
    """Return what is called for `getattr` or `hasattr`."""

    @functools.wraps(native)
    def call(obj: Any, name: str, /, *default: Any) -> Any:
        if len(default) > (native is getattr):
            return native(obj, name, *default)  # raises
        try:
            value = _getattr(obj, name, STATE.site)
        except AttributeError:
            if native is hasattr:
                return False
            if default:
                return default[0]
            raise
        return True if native is hasattr else value

    return call


def _identity(thing: Any) -> int:
    """The `id` of the object outside that a thing of the trace is made for; it is asked about."""
    reads: Any = None if STATE.recording is None else STATE.recording.reads
    if reads is not None:
        reads.identities.ask(thing)
        thing = reads.identities.own(thing)
    number: int = resolve(id, STATE.site)(thing)
    return number


def _vars(*obj: Any) -> Any:
    """Replace `vars` in watched code; without an argument it is that of a frame."""
    if len(obj) == 1 and hasattr(obj[0], "__dict__") and type(obj[0]) is not types.ModuleType:
        return _getattr(*obj, "__dict__", STATE.site)
    _unkept("it calls vars", STATE.site)
    return vars(*obj)


_ASKED: dict[Any, Any] = {getattr: _asked(getattr), hasattr: _asked(hasattr), vars: _vars}


def _changing(native: Callable[..., Any]) -> Callable[..., Any]:
    """Return the replacement of `setattr` or `delattr` for libraries."""

    @functools.wraps(native)
    def call(obj: Any, name: str, /, *value: Any) -> None:
        _changes(obj, name, STATE.site)
        native(obj, name, *value)

    return call


_ASKED |= {f: _changing(f) for f in (setattr, delattr, object.__setattr__, object.__delattr__)}


def _checked(native: Callable[..., bool]) -> Callable[..., bool]:
    """Return what is called for isinstance or issubclass, whose answer is guarded."""

    @functools.wraps(native)
    def call(thing: Any, classes: Any, /) -> bool:
        reads = reads_here()
        if reads is not None:
            watch_answer(reads, native, thing, classes)
        answer: bool = resolve(native, STATE.site)(thing, classes)
        return answer

    return call


_ASKED |= {f: _checked(f) for f in (isinstance, issubclass)} | PRINTING


def _setattr(obj: Any, value: Any, name: str, site: Site | None) -> None:
    _changes(obj, name, site)
    HOOKS["setattr"](obj, value, name, site)


def _delattr(obj: Any, name: str, site: Site | None) -> None:
    _changes(obj, name, site)
    HOOKS["delattr"](obj, name, site)


def _changes(obj: Any, name: str, site: Site | None) -> None:
    reads = reads_here()
    is_shared = issubclass(type(obj), (type, types.ModuleType, types.FunctionType))
    is_outside = reads is not None and (id(obj) in reads.known or is_shared)
    if reads is not None and is_outside and not is_born(obj):
        _unkept(f"it sets .{name} of what is outside", site, may_be_once=True)


def _is(right: Any, left: Any, site: Site | None) -> bool:
    return _told_apart("is_", right, left, site)


def _is_not(right: Any, left: Any, site: Site | None) -> bool:
    return _told_apart("is_not", right, left, site)


def _told_apart(hook: str, right: Any, left: Any, site: Site | None) -> bool:
    recording = STATE.recording
    reads: Any = None if recording is None else recording.reads
    frame = sys._getframe(2)
    if reads is not None and type(right) is type(left) and frame.f_globals is not vars(copy):  # which keeps its copies
        STATE.site = site
        things = [given(recording, thing) for thing in (left, right)]  # type: ignore[arg-type]
        if issubclass(type(left), CHANGING):
            for thing in things:
                reads.identities.ask(thing)
            is_hidden = things[0] is not things[1] and operator.is_(*map(reads.identities.own, things))
        else:
            asked = any(map(reads.is_a_form, (left, right))) or all(map(reads.is_a_form, things))
            is_hidden = left is not right and asked
        if is_hidden:
            # what stands for it in the trace is another thing: the answer may be wrong already
            words = f"{here()}: it asks whether something from outside is something else"
            raise recording.refuse(RefusedCallError(words))  # type: ignore[union-attr]
        if any([id(thing) in reads.identities.equal for thing in things]) and same(left, right) and not _is_ours(frame):
            _unkept("it asks whether equal values are one object, which they may not be in the next call", site)
    if reads is not None and type(right) is type(left) and has_no_number(left):
        reads.heads.told_apart = True
    answer: bool = HOOKS[hook](right, left, site)
    return answer


_TELLING = (NameError, AttributeError, ImportError)


def _caught(error: BaseException, site: Site | None) -> None:
    if isinstance(error, _TELLING) and not isinstance(error, UnboundLocalError) and not _is_ours(sys._getframe(1)):
        _unkept(f"it goes on after a {type(error).__name__}, and may do so where there is something now", site)
    HOOKS["caught"](error, site)


def _match_class(cls: Any, names: tuple[str, ...], subject: Any, count: int, site: Site | None) -> Any:
    """Match a class pattern: read the attributes that it names once more, and watch them."""
    found, reads = HOOKS["match_class"](cls, names, subject, count, site), reads_here()
    if reads is None:
        return found
    STATE.site = site
    watch_answer(reads, isinstance, subject, cls)
    read = (*_attribute_of_class(cls, "__match_args__", ())[:count], *names)
    if (found is None and isinstance(subject, cls)) or any(runs_code(type(subject), name) for name in read):
        reads.give_up("it matches a pattern of a class by what is no plain attribute, or is not there")
    if found is None or not read:
        return found
    return (*found[: len(found) - len(read)], *[_getattr(subject, name, site) for name in read])


def _attribute_of_class(cls: Any, name: str, default: Any) -> Any:
    return _getattr(cls, name, STATE.site) if hasattr(cls, name) else default


def _loop_entered(*iterator_head_and_site: Any) -> Any:
    """A loop is entered; what a `for` iterates over."""
    reads, (*iterator, head, site) = reads_here(), iterator_head_and_site
    if reads is not None and reads.recording is STATE.recording:
        STATE.site = site
        return reads.heads.entered(sys._getframe(1), head, iterator)
    return iterator[0] if iterator else None


def _loop_head(head: LoopHead, *iterator_and_site: Any) -> None:
    """An iteration begins; that of a `for` has an iterator."""
    reads, (*iterator, site) = reads_here(), iterator_and_site
    if reads is not None and reads.recording is STATE.recording:
        STATE.site = site
        reads.heads.met(sys._getframe(1), head, iterator, site)


def _touched(value: Any, site: Site | None) -> Any:
    """Look at what a method returns, or the body of a class binds: C may have asked it for a number or a string."""
    frame, reads = sys._getframe(1), reads_here()
    if reads is not None and (holds_traced((value,)) or id(value) in reads.recording.origins) and asked_unseen(frame):
        reads.give_up(f"C code asks {frame.f_code.co_qualname} for a number or string, and uses it unseen")
    return HOOKS["touched"](value, site)


def _unwatched(words: str, site: Site | None) -> None:
    _unkept(words, site, may_be_once=True)


def _unkept(words: str, site: Site | None, may_be_once: bool = False) -> None:
    reads = reads_here()
    if reads is not None:
        STATE.site = site
        reads.give_up(words, may_be_once)


def _resolve(f: Any, site: Site | None = None) -> Any:
    if f is id:
        return resolve(id, site) if sys._getframe(1).f_code.co_filename.startswith(ENGINE) else _id_asked(site)
    if (reads := reads_here()) is not None:
        STATE.site = site
        found = _instead(f, reads)
        if found is not None:
            return found
    return resolve(f, site)


def _id_asked(site: Site | None) -> Callable[[Any], int]:
    """Return what is called for `id`: libraries may, as `copy.deepcopy` does."""
    STATE.site = site
    if (reads := reads_here()) is not None:
        _called(reads, id)
    return _identity


def resolve_plain(f: Any) -> Any:
    """Resolve a callable in a watched trace where no line of the user's is known."""
    if f is id:
        return _id_asked(STATE.site)
    reads = reads_here()
    found = None if reads is None else _instead(f, reads)
    return resolve(f, STATE.site) if found is None else found


def _instead(f: Any, reads: Reads) -> Any:
    """Return the replacement that a watched trace needs for a callable; None where it needs none."""
    if is_draw(f):
        return drawing(f, reads)
    if type(f) in _MAKING_TYPES and f in MAKING:
        return seeded(f, reads)
    _called(reads, f)
    if f is str or (type(f) in (types.BuiltinFunctionType, types.WrapperDescriptorType) and f in _ASKED):
        return _ASKED[f]
    return where_traced(f, reads) if _has_rule(f) else _with_parts(f, reads) if _walks(f) else None


def _walks(f: Any) -> bool:
    """Whether a callable is one of this package, which may walk through the objects that it is given."""
    t = type(f)
    if t is types.FunctionType:
        return f.__code__.co_filename.startswith(ENGINE)
    return not issubclass(t, type) and home_of(t).startswith("wengert.") and not is_tensor_function(t)


def _with_parts(f: Any, reads: Reads) -> Callable[..., Any]:
    """Return the replacement of a callable of this package, which reads all attributes of the objects given to it."""
    resolved = resolve(f, STATE.site)

    def call(*args: Any, **kwargs: Any) -> Any:
        reads.parts([*args, *kwargs.values()])
        return resolved(*args, **kwargs)

    return call


_MAKING_TYPES = {type(f) for f in MAKING}


def _called(reads: Reads, f: Any) -> None:
    """Look at what is called: a function of the user's has to be entered, what is in C has to be known as harmless."""
    if id(f) in reads.called:
        return
    caller = user_frame(sys._getframe(3))
    is_inside = caller is not None and is_library(caller.f_globals)
    words = refused_call(f, is_inside) or _not_followed(f)
    if type(f) in _WITH_NAMES and f.__name__ in (*SHOWING, *_FORMATTING):
        watch_settings(reads)
    if asks_an_abstract_class(f):
        reads.token()
    if type(f) is types.BuiltinFunctionType and f.__name__ in _FORMATTING and names_attributes(f.__self__):
        words = f"it formats a string that names attributes ({f.__self__!r})"
    elif type(f) is types.MethodDescriptorType and f.__name__ in _FORMATTING:
        words = f"it calls {f.__qualname__} of a string that is not known"
    elif type(f) in (types.MethodWrapperType, types.BuiltinFunctionType) and f.__name__ in _WHOLE:
        if f.__name__ in ("__setattr__", "__delattr__"):
            _changes(f.__self__, "", STATE.site)
        else:
            reads.whole(f.__self__)
    elif type(f) in _OF_CLASSES and f.__name__ in _WHOLE and f not in _ASKED:
        words = f"it calls {f.__qualname__}"
    if words is not None:
        reads.give_up(words)
    elif type(f) in (types.FunctionType, type, np.ufunc) and not is_inside:
        reads.called[id(f)] = f


def _not_followed(f: Any) -> str | None:
    """Why a call of something in Python is not watched, though it is harmless: it is not entered."""
    t = type(f)
    if t is types.FunctionType and _is_of_user(f):
        return (
            None
            if decide(f).kind is Kind.ENTERED or _has_rule(f)
            else f"it calls {f.__qualname__}, which is not followed"
        )
    if t is types.FunctionType and is_solver(f) and decide(f).kind is not Kind.ENTERED:
        return f"it calls {home_of(f)}.{f.__qualname__}, whose steps are not followed"
    is_users = _is_of_user(f.__func__) if t is types.MethodType else calls_python(t) and is_of_user(t)
    if is_users and decide(f).kind is not Kind.ENTERED:
        return f"it calls a {t.__name__} that is not followed: it has a rule, or something stands for it"
    return None


def _has_rule(f: Any) -> bool:
    """Whether a plain function of the user's has a rule."""
    return type(f) is types.FunctionType and _is_of_user(f) and primitive_of(f) is not None


_FORMATTING = {"format", "format_map"}
"""Methods of strings that read attributes by the names in the string."""
_WHOLE = {"__setattr__", "__delattr__", "__reduce__", "__reduce_ex__", "__getstate__"}
"""Methods of C that change their object, or read all of it."""


_WITH_NAMES = (types.FunctionType, types.BuiltinFunctionType, types.MethodWrapperType)
_OF_CLASSES = (types.WrapperDescriptorType, types.MethodDescriptorType)


def _is_of_user(f: Any) -> bool:
    is_python = type(f) is types.FunctionType and not is_library(f.__globals__)
    return is_python and not f.__code__.co_filename.startswith(ENGINE)


WATCHING = {
    **HOOKS,
    **HOOKS_OF_PRINTING,
    "resolve": _resolve,
    "touched": _touched,
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
    "loop_entered": _loop_entered,
    "loop_head": _loop_head,
}
