"""Stand-ins of array functions that depend on more than values: on dtypes, sizes and memory layout."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks import flat_iterators, foreign, reshaping
from wengert.hooks.classes import as_traced
from wengert.hooks.code_swap import prepare
from wengert.hooks.lookups import kept_recording
from wengert.hooks.policy import (
    IN_C,
    Decision,
    Kind,
    decides_methods_of,
    decides_unbound,
    native_call,
    opaque_call,
    records,
    stand_in_call,
    stand_in_for,
)
from wengert.hooks.search import guarded
from wengert.hooks.standins.files import METHODS_OF_ARRAYS
from wengert.hooks.standins.functions import recorded, recorder
from wengert.hooks.standins.subclasses import (
    array_function,
    array_ufunc,
    array_wrap,
    is_array_class,
    method_in_python,
    new_array,
)
from wengert.hooks.standins.writers import ARRAY_WRITERS
from wengert.mutation import fields
from wengert.recording import layout
from wengert.recording.decisions import exact, guard
from wengert.recording.primitives import Primitive, primitive_of
from wengert.recording.record import as_plain, view_of_traced
from wengert.recording.recording import C_ONLY_TYPES, STATE, users_line
from wengert.recording.shadow import SHADOW
from wengert.recording.slots import slot_of, slots_in
from wengert.recording.subclasses import is_of_subclass
from wengert.values.specs import is_inexact
from wengert.values.views import axes_in_memory


def _reshape_in_order(primitive: Primitive, owner: Any, *shape: Any, **options: Any) -> Any:
    if options.get("order") == "A":
        options["order"] = _order(owner, "A")
    return recorder(primitive)(owner, *shape, **options)


def _in_a_row(primitive: Primitive, a: Any, order: Any = "C") -> Any:
    """The stand-in of `ravel` or `flatten`; in the order "K" the axes are read as they lie in memory."""
    _ask_layout(order)
    if order == "K" and isinstance(a, np.ndarray) and not (a.flags.c_contiguous or a.flags.f_contiguous):
        return recorder(primitive)(as_traced(np.transpose)(a, axes_in_memory(a)))
    return recorder(primitive)(a, order=_order(a, order))


@records(np.median, np.nanmedian)
def _sparing(primitive: Primitive) -> Callable[..., Any]:
    """Make the recorder of a function that may overwrite its argument: here it may not, since a pullback reads it."""
    signature = inspect.signature(primitive.fn)

    def call(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        a = given.pop("a")
        given.pop("overwrite_input", None)
        return recorder(primitive)(a, **given)

    return call


def view(primitive: Primitive, owner: Any, *args: Any, **kwargs: Any) -> Any:
    """`a.view()`; viewing traced numbers with another dtype is refused, since bits have no derivative."""
    kind, classes = np.ndarray if isinstance(owner, np.ndarray) else np.generic, (*args, *kwargs.values())
    for cls in filter(is_array_class, classes):
        prepare(cls)
    made, recording = kind.view(owner, *args, **kwargs), STATE.recording
    if recording is not None and recording.memory.holds_objects and fields.is_traced_record(recording, owner):
        return made  # whose fields are read by their places
    if made.dtype == owner.dtype:
        if recording is not None and recording.keep and is_of_subclass(made) and not is_inexact(owner):
            exact(recording, (owner,))  # what subclasses compute with integers is not recorded
        if kind is np.generic:
            return as_traced(np.asarray if type(made) is np.ndarray else np.positive)(owner)
        return recorder(primitive)(owner) if type(made) is type(owner) is np.ndarray else view_of_traced(made, owner)
    if recording is not None and slot_of(recording, owner) is not None:
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: a traced {type(owner).__name__} of {owner.dtype} is viewed as {made.dtype}. "
                "Convert it with .astype, or take .real and .imag. To hash or compare its bits, view "
                "wg.stop_gradient(x); to find different rows, call np.unique(a, axis=0)."
            )
        )
    return made


def sized(primitive: Primitive, deciding: slice = slice(1, None)) -> Callable[..., Any]:
    """Make a recorder for a call whose result's length depends on the values of the arguments at these positions."""

    def call(*args: Any, **kwargs: Any) -> Any:
        value, recording = recorder(primitive)(*args, **kwargs), STATE.recording
        if recording is not None and recording.keep and slots_in(recording, (*args[deciding], *kwargs.values())):
            slot = slot_of(recording, value)
            if slot is not None:
                guard(recording, np.shape, value, slot)
        return value

    return call


def _sized_method(primitive: Primitive, owner: np.ndarray, *args: Any, **kwargs: Any) -> Any:
    return sized(primitive)(owner, *args, **kwargs)


def _order(a: Any, order: str | None) -> str | None:
    """Return the element order that "K" or "A" (as in memory) means for an array: rules do not see the layout."""
    if order not in ("K", "A"):
        return order
    _ask_layout(order)
    return "F" if isinstance(a, np.ndarray) and a.flags.f_contiguous and not a.flags.c_contiguous else "C"


def _ask_layout(order: Any) -> None:
    recording = kept_recording() if order == "K" or order == "A" else None
    if recording is not None:
        layout.laid_out(recording)


@stand_in_for(np.ndarray.__copy__, np.ndarray.__deepcopy__, np.generic.__copy__, np.generic.__deepcopy__)
def copy_of_array(a: Any, memo: Any = None) -> Any:
    """`copy.copy` and `copy.deepcopy` of an array or number."""
    if memo is not None and isinstance(a, np.ndarray) and a.dtype == object:
        return guarded(np.ndarray.__deepcopy__)(a, memo)
    if isinstance(a, np.void):
        return foreign.RECORD_METHODS.module.copy_record(a)
    return as_traced(np.ndarray.copy)(a, "K") if isinstance(a, np.ndarray) else a


@stand_in_for(np.ndarray.tolist, np.generic.tolist)
def tolist(a: Any) -> Any:
    """`a.tolist()`: Python numbers, each an item of `a`."""
    recording = STATE.recording
    if recording is not None and recording.memory.holds_objects and fields.is_traced_record(recording, a):
        return foreign.RECORDS.module.to_list(recording, a)
    if recording is None or a.dtype == object or slot_of(recording, a) is None:
        return a.tolist()
    if a.dtype.kind not in "fc":
        return guarded(type(a).tolist)(a)  # a tape guards the truths and whole numbers
    item = as_traced(type(a).item)
    return _nested_list(a.shape, lambda place: item(a, *place))


def _nested_list(shape: tuple[int, ...], item: Callable[[tuple[int, ...]], Any], place: tuple[int, ...] = ()) -> Any:
    if not shape:
        return item(place)
    return [_nested_list(shape[1:], item, (*place, k)) for k in range(shape[0])]


def _getfield(a: Any, *args: Any, **kwargs: Any) -> Any:
    return foreign.RECORD_METHODS.module.record_getfield(a, *args, **kwargs)


def _setfield(a: Any, *args: Any, **kwargs: Any) -> None:
    foreign.RECORD_METHODS.module.record_setfield(a, *args, **kwargs)


@decides_methods_of(np.void)
def _of_record(f: Any, t: type, name: str) -> Decision:
    decision: Decision = foreign.RECORD_METHODS.module.decide_record_method(f, t, name)
    return decision


@decides_unbound(np.void)
def _of_records(f: Any) -> Decision | None:
    decision: Decision | None = foreign.RECORD_METHODS.module.decide_on_record_class(f)
    return decision


@stand_in_for(np.ndarray.__array__)
def shown_plain(a: Any, *args: Any, **kwargs: Any) -> Any:
    """`a.__array__(dtype, copy=...)`."""
    return as_traced(np.array)(as_plain(a), *args, **{"copy": None, **kwargs})


@stand_in_for(np.lib.stride_tricks.as_strided)
def _as_strided(x: Any, *args: Any, **kwargs: Any) -> Any:
    x = as_traced(np.asanyarray)(x)
    return view_of_traced(np.lib.stride_tricks.as_strided(x, *args, **kwargs), x)


stand_in_for(np.ndarray.__array_ufunc__)(array_ufunc)
stand_in_for(np.ndarray.__array_function__)(array_function)
stand_in_for(np.ndarray.__array_wrap__)(array_wrap)
stand_in_for(np.ndarray.__new__)(new_array)
stand_in_for(np.ndarray)(functools.partial(new_array, np.ndarray))

_STANDINS: dict[str, Callable[..., Any]] = {
    "__array__": shown_plain,
    "__array_function__": array_function,
    "__array_ufunc__": array_ufunc,
    "__array_wrap__": array_wrap,
    "__copy__": copy_of_array,
    "__deepcopy__": copy_of_array,
    "_set_shape": lambda array, shape: reshaping.set_shape(array, shape),  # imported late
    **METHODS_OF_ARRAYS,
    "getfield": _getfield,
    "setfield": _setfield,
    "tolist": tolist,
}
_RUN_PLAIN = {
    "__array_finalize__": "It does nothing.",
    "__array_namespace__": "It returns NumPy.",
    "setflags": "It writes no number.",
}

_RECORDERS_BY_NAME: dict[str, Callable[..., Any]] = {
    "reshape": _reshape_in_order,
    "ravel": _in_a_row,
    "flatten": _in_a_row,
    "view": view,
    "repeat": _sized_method,
    "compress": _sized_method,
}


@records(np.ravel, np.reshape, np.ndarray.view)
def _in_own_way(primitive: Primitive) -> Callable[..., Any]:
    return functools.partial(_RECORDERS_BY_NAME[primitive.name], primitive)


@decides_methods_of(np.ndarray, np.generic, float, complex, int)
def _method_of_number(f: Any, t: type, name: str) -> Decision:
    is_array = issubclass(t, np.ndarray)
    if is_array and name in ARRAY_WRITERS:
        write = ARRAY_WRITERS[name]
        return stand_in_call("It writes into the array.", lambda f: functools.partial(write, f.__self__, f), write)
    decision = _of_value(t, name)
    if is_array or t not in C_ONLY_TYPES:
        return decision
    return decision._replace(of=lambda f: decision.of(f) if id(f.__self__) in SHADOW else f)


_OF_FLAT = {"__getitem__": "read_flat", "__setitem__": "assign_flat"}


@decides_unbound(np.flatiter)
def _method_of_flat(f: Any) -> Decision | None:
    if f.__name__ not in _OF_FLAT:
        return None
    call = getattr(flat_iterators, _OF_FLAT[f.__name__])
    return stand_in_call("It reads or writes the array.", lambda f: lambda flat, *args: call(flat.base, *args), call)


def _of_value(t: type, name: str) -> Decision:
    """The Decision on a method of traced objects of a class of arrays or numbers."""
    if name in _STANDINS:
        standin = _STANDINS[name]
        return stand_in_call(
            "The stand-in does the same, traced.", lambda f: functools.partial(standin, f.__self__), standin
        )
    if name in _RUN_PLAIN:
        return native_call(_RUN_PLAIN[name])
    text = method_in_python(t, name)
    if text is not None:
        why = "NumPy implements it in Python, which is traced."
        return Decision(Kind.ENTERED, why, lambda f: functools.partial(as_traced(text), f.__self__), text)
    if name == "conjugate" and t is float:
        return stand_in_call("It returns the number itself.", lambda f: lambda: f.__self__, _of_value)
    primitive, call = _primitive_of(t, name)
    if primitive is None:
        return opaque_call(IN_C, lambda f: guarded(f, f.__self__))
    call = recorder(primitive) if call is None else functools.partial(call, primitive)
    return recorded(primitive, lambda f: functools.partial(call, f.__self__))


def _primitive_of(t: type, name: str) -> tuple[Primitive | None, Callable[..., Any] | None]:
    """Return the primitive of a method, and its recorder if it is special; numbers have the rules of arrays."""
    t = np.ndarray if issubclass(t, np.ndarray) else t  # of which it is, where a class has another of that name
    primitive = primitive_of(getattr(t, name, None))
    if primitive is not None or not issubclass(t, np.generic):
        return primitive, _RECORDERS_BY_NAME.get(name) if issubclass(t, np.ndarray) else None
    of_array, of_numpy = primitive_of(getattr(np.ndarray, name, None)), primitive_of(getattr(np, name, None))
    return (of_array or of_numpy, view) if name == "view" else (of_numpy or of_array, None)
