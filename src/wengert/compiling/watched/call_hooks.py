"""Hooks of calls in a watched trace: they replace callables that may read or change what is outside."""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import types
import warnings
import weakref
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

import numpy as np

from wengert.compiling.watched.addresses import watched_hash, watched_id
from wengert.compiling.watched.answers import (
    ANSWERS,
    watched_answer,
    watched_fp_settings,
    watched_names,
    watched_sharing,
)
from wengert.compiling.watched.cached_calls import watched_cached
from wengert.compiling.watched.clocks import CLOCKS, watched_clock
from wengert.compiling.watched.declarations import SIGNATURES, watched_signature, watched_static_attribute
from wengert.compiling.watched.drawing import (
    GENERATOR_MAKERS,
    is_draw,
    is_seeding,
    watched_draw,
    watched_generator_maker,
    watched_seeding,
)
from wengert.compiling.watched.effect_calls import WatchedFilters, is_effect, watched_effect
from wengert.compiling.watched.fresh_values import is_fresh_maker, watched_fresh_maker, watched_type
from wengert.compiling.watched.outer_reads import Reads, reads_at, reads_here
from wengert.compiling.watched.read_hooks import ATTRIBUTE_BUILTINS, STRING_MAKERS, watched_plain_getattr
from wengert.compiling.watched.refused_calls import check_call, public_name, refused_call
from wengert.compiling.watched.texts import PARSERS, watched_evaluation, watched_parser
from wengert.compiling.watched.trusted import (
    calling_frame,
    is_engine_code,
    is_inside_library,
    is_tensor_function,
    is_user_function,
)
from wengert.compiling.watched.watchable import ATOMS, COMPARED_BY_VALUE, CONSTANT_CALLABLES, SELECTORS, nested_leaves
from wengert.errors import NotNativeError
from wengert.hooks.calls import resolve
from wengert.hooks.classes import as_traced
from wengert.hooks.decide import decide
from wengert.hooks.solver_effects import SolverEffects
from wengert.hooks.standins.compiled import is_of_numba, is_pure
from wengert.hooks.standins.standard import getter_in_python
from wengert.recording.primitives import primitive_of
from wengert.recording.recording import STATE
from wengert.recording.slots import holds_traced, slot_of
from wengert.recording.trace_state import is_born
from wengert.rulebook.registry import rules
from wengert.values.callables import callable_name
from wengert.values.codes import original
from wengert.values.frames import user_frame
from wengert.values.identity_set import Functions
from wengert.values.names import home_of
from wengert.values.sites import Site


def watch_resolve(f: Any, site: Site | None = None) -> Any:
    """Resolve a callable in a watched trace, and check that a kept trace may call it."""
    if f is id and is_engine_code(calling_frame().f_code):
        return resolve(id, site)
    return _resolve(f, site, reads_at(site))


def resolve_without_site(f: Any) -> Any:
    """Resolve a callable in a watched trace for a call that has no line of user code."""
    return _resolve(f, STATE.site, reads_here())


def _resolve(f: Any, site: Site | None, reads: Reads | None) -> Any:
    """Return the replacement of a callable that needs one in a watched trace; else what any trace calls."""
    if f is id:  # also where the trace has given up: the ids of what was made for it are those of the originals
        STATE.site = site
        return _watched_id
    if reads is None:
        _note_unwatched(f)
    found = None if reads is None else _replacement_of(f, reads)
    return resolve(f, site) if found is None else found


def _note_unwatched(f: Any) -> None:
    """Note a call of code that runs where nothing is recorded, if its trace asks for these calls."""
    reads: Any = None if STATE.silenced is None else STATE.silenced.reads
    if reads is not None and reads.unwatched_calls is not None and not is_inside_library():
        reads.unwatched_calls.append(f)


def why_not_repeated(f: Any) -> str | None:
    """Return why a call of `f` by a function that a solver calls cannot be made again; None if it can."""
    return f"it calls {callable_name(f)}" if is_effect(f) else refused_call(f)


def _watched_id(thing: Any) -> int:
    reads: Any = None if STATE.recording is None else STATE.recording.reads
    return watched_id(thing, reads, is_library=is_inside_library())


def _watched_class_check(native: Callable[..., bool]) -> Callable[..., bool]:
    """Return the replacement of isinstance or issubclass; it guards the answer."""

    @functools.wraps(native)
    def call(thing: Any, classes: Any, /) -> bool:
        reads = reads_here()
        if reads is not None:
            reads.class_check(native, thing, classes)
        answer: bool = resolve(native, STATE.site)(thing, classes)
        return answer

    return call


def _replacement_of(f: Any, reads: Reads) -> Any:
    """Return the replacement of a callable in a watched trace; None if it needs none."""
    if reads.plain_calls.get(id(f)) == rules.version:
        return None
    found = _find_replacement(f, reads)
    if found is None and id(f) in reads.checked_calls:
        reads.plain_calls[id(f)] = rules.version
    return found


def _find_replacement(f: Any, reads: Reads) -> Any:
    if (is_effect(f) or f is warnings.catch_warnings) and not (f in _OF_LIBRARIES and is_inside_library()):
        return functools.partial(WatchedFilters, reads) if f is warnings.catch_warnings else watched_effect(f, reads)
    if (make := _MAKERS.get(id(f))) is not None or (
        (make := _MAKERS_FOR_USERS.get(id(f))) is not None and not is_inside_library()
    ):
        return make(f, reads)
    if (found := _replacement_by_kind(f, reads)) is not None:
        return found
    check_call(reads, f)
    if f is str or (type(f) in (types.BuiltinFunctionType, types.WrapperDescriptorType) and f in _BUILTIN_HOOKS):
        return _BUILTIN_HOOKS[f]
    if is_user_function(f) and primitive_of(f) is not None:
        return _recorded_if_traced(f, reads)
    return _with_attributes_read(f, reads) if _may_read_attributes(f) else None


def _replacement_by_kind(f: Any, reads: Reads) -> Any:
    """Return the replacement of a callable of a kind that needs one, whatever it computes; None for others."""
    t = type(f)
    if t in SELECTORS:
        return getter_in_python(f)
    if t is functools._lru_cache_wrapper:
        return watched_cached(f, reads)
    if t is types.MethodType and type(f.__func__) is functools._lru_cache_wrapper:
        return functools.partial(watched_cached(f.__func__, reads), f.__self__)
    if is_of_numba(f):
        return _watched_compiled(f, reads)
    if is_draw(f):
        return watched_draw(f, reads)
    if is_fresh_maker(f):
        return watched_fresh_maker(f, reads)
    if is_seeding(f):
        return watched_seeding(f, reads)
    if t is types.MethodWrapperType and f == object.__getattribute__.__get__(f.__self__):
        return functools.partial(watched_plain_getattr, f.__self__)
    if t is types.FunctionType and f.__code__ is _DISPATCH:
        return _watched_dispatch(f, reads)
    if t is types.FunctionType and (form := rules.compiled_form_of(f)) is not None:
        return _by_compiled_form(f, form, reads)
    return None


_OF_LIBRARIES = Functions(
    warnings.warn, warnings.catch_warnings, warnings.simplefilter, warnings.filterwarnings, warnings.resetwarnings
)
"""Functions whose calls by libraries are not made again."""


def _watched_reference(reads: Reads) -> Callable[..., Any]:
    """Return the replacement of `weakref.ref`: give up on callbacks, which run when an object dies."""

    def call(thing: Any, *callback: Any) -> Any:
        if callback not in ((), (None,)):
            reads.give_up("it creates a weak reference with a callback")
        return resolve(weakref.ref, STATE.site)(thing, *callback)

    return call


def _watched_locals(f: Any, reads: Reads) -> Callable[[], dict[str, Any]]:
    """Return the replacement of `locals` in a function that reads no variable of another one; else give up.

    The dictionary is a copy: until Python 3.13 that of a frame changes when this package looks at the frame, and with
    each further call.
    """
    frame: Any = user_frame(sys._getframe())
    is_own = frame.f_code.co_flags & inspect.CO_OPTIMIZED and not frame.f_code.co_freevars
    is_once = sys.version_info >= (3, 13) or _calls_locals_once(original(frame.f_code) or frame.f_code)
    if not (is_own and is_once) or id(frame) in reads.frames:
        reads.give_up("it calls locals twice, in a function with a loop, or where some names are from outside")
        return f
    reads.frames[id(frame)] = frame
    return lambda: {**sys._getframe(1).f_locals}


def _calls_locals_once(code: types.CodeType) -> bool:
    """Whether code calls `locals` at one place, and has no loop."""
    steps = [*dis.get_instructions(code)]
    is_loop = any(["JUMP_BACKWARD" in step.opname for step in steps])
    return not is_loop and [step.argval for step in steps].count("locals") == 1


def _watched_dispatch(f: types.FunctionType, reads: Reads) -> Callable[[type], Any]:
    """Return the replacement of the `dispatch` of a `functools.singledispatch`: a guard asks again."""

    def call(cls: type) -> Any:
        found = f(cls)
        reads.guard_is(f"{reads.pin(f)}({reads.pin(cls)})", found)
        return found

    return call


_DISPATCH = functools.singledispatch(functools.wraps).dispatch.__code__


def _watched_compiled(f: Any, reads: Reads) -> Callable[..., Any]:
    """Return the replacement of a function that numba compiled: its Python function runs if an argument is traced.

    If all arguments are constants, so is the result: numba compiled the function with its global names as constants.
    """
    resolved = resolve(f, STATE.site)

    def call(*args: Any, **kwargs: Any) -> Any:
        parts = nested_leaves((args, kwargs))
        if not any([holds_traced((part,)) for part in parts]):
            is_given = any([type(part) is np.ndarray and reads.is_compared_array(part) for part in parts])
            if not is_pure(f, may_store=not is_given):
                reads.give_up("it calls a function that numba compiled, which may draw, print or write")
        return resolved(*args, **kwargs)

    return call


def _by_compiled_form(f: types.FunctionType, form: Callable[..., Any], reads: Reads) -> Callable[..., Any]:
    """Return the replacement of a function with a form for compiled functions; give up if that refuses the call."""
    resolved, is_solver = resolve(f, STATE.site), rules.standin_of(f) is not None

    def call(*args: Any, **kwargs: Any) -> Any:
        site = STATE.site
        with SolverEffects(args, kwargs) if is_solver else nullcontext():
            try:
                return as_traced(form)(*args, **kwargs)
            except NotNativeError as error:
                STATE.site = site
                reads.give_up(f"wg.compile does not support this call of {public_name(f)}: {error}")
                return resolved(*args, **kwargs)

    return call


def _may_read_attributes(f: Any) -> bool:
    """Whether a callable belongs to this package, so that it may read all attributes of its arguments."""
    t = type(f)
    if t is types.FunctionType:
        return is_engine_code(f.__code__)
    return not issubclass(t, type) and home_of(t).startswith("wengert.") and not is_tensor_function(t)


def _with_attributes_read(f: Any, reads: Reads) -> Callable[..., Any]:
    """Return the replacement of a callable of this package; it guards all attributes of the arguments."""
    resolved = resolve(f, STATE.site)

    def call(*args: Any, **kwargs: Any) -> Any:
        reads.parts([*args, *kwargs.values()])
        return resolved(*args, **kwargs)

    return call


def _recorded_if_traced(f: types.FunctionType, reads: Reads) -> Callable[..., Any]:
    """Return the replacement of a function with a rule: recorded as one call if an argument is traced, else entered.

    The generated code calls such a function itself, which reads what it needs at each call. What its rule reads is
    watched. Its arguments other than numbers and arrays must be the same in each call.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None:
            return f(*args, **kwargs)
        parts = nested_leaves((args, kwargs))
        is_traced = any(slot_of(recording, part) is not None for part in parts)
        for part in parts if is_traced else ():
            if not _is_same_in_each_call(part, reads):
                reads.give_up(f"it passes a {type(part).__name__} to {f.__qualname__}, which has a custom rule")
        return decide(f, is_traced).of(f)(*args, **kwargs)

    return call


def _is_same_in_each_call(thing: Any, reads: Reads) -> bool:
    """Whether an argument is a number or an array, or is the same in each call, by its type or a guard."""
    if issubclass(type(thing), _UNCHANGING_TYPES) and (type(thing) is not np.ndarray or not thing.dtype.hasobject):
        return True
    if type(thing) is types.FunctionType:
        return not is_born(thing)
    accessor = reads.accessor_of(thing)
    return accessor is not None and not reads.may_be_another(accessor)


_UNCHANGING_TYPES: Any = (
    *CONSTANT_CALLABLES, *ATOMS, *COMPARED_BY_VALUE, float, complex, np.generic, np.ndarray, type, types.ModuleType,
)  # fmt: skip


_BUILTIN_HOOKS: dict[Any, Callable[..., Any]] = {
    **ATTRIBUTE_BUILTINS,
    **STRING_MAKERS,
    **{f: _watched_class_check(f) for f in (isinstance, issubclass)},
}


def _makers(*rows: tuple[Iterable[Any], Callable[[Any, Reads], Any]]) -> dict[int, Callable[[Any, Reads], Any]]:
    """Map the ids of callables to what makes their replacements."""
    return {id(f): make for fs, make in rows for f in fs}


def _watched_empty(f: Any, reads: Reads) -> Callable[..., Any]:
    """Return the replacement of `np.empty` or `np.empty_like`: zeros, so that iterations begin with equal arrays."""
    zeros, resolved = np.zeros if f is np.empty else np.zeros_like, resolve(f, STATE.site)

    def call(*args: Any, **kwargs: Any) -> Any:
        made = resolved(*args, **kwargs)
        is_plain = type(made) is np.ndarray and not made.dtype.hasobject
        return resolve(zeros, STATE.site)(*args, **kwargs) if is_plain else made

    return call


_MAKERS = _makers(
    ([np.empty, np.empty_like], _watched_empty),
    ([dir], lambda f, reads: functools.partial(watched_names, reads)),
    ([type], watched_type),
    ([hash], lambda f, reads: functools.partial(watched_hash, reads=reads, is_library=is_inside_library())),
    (ANSWERS, watched_answer),
    (PARSERS, watched_parser),
    (CLOCKS, watched_clock),
    ([locals], _watched_locals),
    ([eval], lambda f, reads: watched_evaluation(reads)),
    ([weakref.ref], lambda f, reads: _watched_reference(reads)),
    ([np.may_share_memory, np.shares_memory], watched_sharing),
    (GENERATOR_MAKERS, watched_generator_maker),
)
"""Makers of replacements, by the id of the callable that is replaced, whoever calls it."""
_MAKERS_FOR_USERS = _makers(
    (SIGNATURES, watched_signature),
    ([inspect.getattr_static], lambda f, reads: watched_static_attribute(reads)),
    ([np.seterr, np.geterr], watched_fp_settings),
    ([inspect.getmro], lambda f, reads: lambda cls: ATTRIBUTE_BUILTINS[getattr](cls, "__mro__")),
)
"""Those of callables that libraries may call as they are."""
