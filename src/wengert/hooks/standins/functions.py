"""C functions: recorders of those with a rule, and guards around those without."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.hooks import foreign
from wengert.hooks.classes import as_traced, python_method
from wengert.hooks.code_swap import HOOKS
from wengert.hooks.foreign import NOT_FOREIGN
from wengert.hooks.integers import with_integers
from wengert.hooks.policy import IN_C, Decision, Kind, decides_type, opaque_call, stand_in_call
from wengert.hooks.search import (
    ASKING_TYPES,
    TooLarge,
    answers_traced,
    can_read_traced,
    function_of,
    opaque,
    run_watching_writes,
    search,
    shows_traced_unseen,
    traced_in,
)
from wengert.hooks.standins.initials import begins_traced, reduced
from wengert.hooks.standins.outputs import write_whole
from wengert.hooks.standins.probes import by_ufunc
from wengert.hooks.standins.scratch import sparing
from wengert.hooks.standins.ufuncs import (
    LAYOUT,
    UFUNC_OPTIONS,
    cast_first,
    check_outputs,
    is_elementwise,
    with_options,
    write_parts,
    write_where,
)
from wengert.hooks.standins.writers import WRITERS
from wengert.recording import rule_reads
from wengert.recording.plain_calls import NOT_PLAIN, record_plain_call
from wengert.recording.primitives import Primitive
from wengert.recording.record import record_call
from wengert.recording.recorders import plain_recorder, ufunc_recorder
from wengert.recording.recording import C_ONLY_TYPES, STATE, Recording, silent
from wengert.recording.shadow import SHADOW
from wengert.recording.slots import slot_of, slots_in
from wengert.recording.subclasses import is_of_subclass
from wengert.values.callables import callable_name, named_parameters
from wengert.values.functional import getfield, make_dict, make_list, make_tuple
from wengert.values.names import home_of
from wengert.values.trees import leaves

_HOLDERS = (list, tuple, dict, set, frozenset)
_OF_CONTAINERS = (getfield, make_tuple, make_list, make_dict)  # of a tape that is played: what they hold stays traced


def recorder(primitive: Primitive) -> Callable[..., Any]:
    """Make a function that calls a primitive, and records the call if an argument is traced."""
    if primitive.recorder is None:
        fn = primitive.fn
        if any([fn is native for native in (*ASKING_TYPES, *_OF_CONTAINERS)]):  # not by its hash, which it may not have
            primitive.recorder = fn
            return fn
        if _is_declared_constant(primitive):
            made = _naming(primitive)
        elif isinstance(fn, np.ufunc):
            made = ufunc_recorder(primitive, _record_odd, _careful)
        else:
            made = (_watchful if _takes_anything(primitive) else _recorder)(primitive)
        if primitive.rule is not None and function_of(fn) is not None:
            is_whole = primitive.rule.kind == "rrule"  # which says itself what it takes
            objects = foreign.FROMPYFUNC.module
            made = (
                objects.record_as_numbers(primitive, made, recorder)
                if is_whole
                else objects.record_by_element(fn, made)
            )
        primitive.recorder = sparing(primitive, made)
    return primitive.recorder


def native_of(primitive: Primitive) -> Callable[..., Any]:
    """Return the function of a primitive, to be run unrecorded, together with all that it calls."""
    fn: Callable[..., Any] = primitive.fn
    if primitive.is_trusted or not primitive.is_python:
        return fn

    def run(*args: Any, **kwargs: Any) -> Any:
        with silent():
            return fn(*args, **kwargs)

    return run


def _recorder(primitive: Primitive) -> Callable[..., Any]:
    """Make the recorder of a primitive, with a short path for calls by position on common kinds of values."""
    fn, named = native_of(primitive), _from_out_on(primitive)
    return plain_recorder(primitive, fn, named, _record_odd, _careful, _write_out)


def _from_out_on(primitive: Primitive) -> list[tuple[int, str]]:
    """List the pairs (position, name) of the parameter `out` and those after it, of a NumPy function."""
    if primitive.fn is np.ndarray.choose or not callable_name(primitive.fn).startswith("np."):
        return []  # its method may be given the choices one by one
    if isinstance(primitive.fn, type):
        return []  # reading the signature of np.float64 takes 3 ms
    if "out" not in (getattr(primitive.fn, "__text_signature__", None) or "out"):
        return []  # parsing it takes 1 ms
    names = named_parameters(primitive.fn) or named_parameters(getattr(np, primitive.name, primitive.fn))
    return list(enumerate(names))[names.index("out") :] if "out" in names else []


def _record_odd(primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record a call with traced arguments, of which others may be foreign, or hold or show traced values."""
    recording = STATE.recording
    value = NOT_PLAIN if recording is None else record_plain_call(recording, primitive, args, kwargs)
    if value is not NOT_PLAIN:
        return value
    args, kwargs = with_integers(primitive, args, kwargs)
    if recording is None:
        return record_call(primitive, args, kwargs)
    value = foreign.call_primitive(recording, primitive, args, kwargs)
    if value is not NOT_FOREIGN:
        return value
    if _lists_hide(recording, primitive, args):
        return opaque(recording, primitive.fn, args, kwargs, run=native_of(primitive))
    if begins_traced(recording, primitive, kwargs):
        return reduced(primitive, args, kwargs)
    return record_call(primitive, args, kwargs)


def _lists_hide(recording: Recording, primitive: Primitive, args: tuple[Any, ...]) -> bool:
    """Whether a list among the arguments holds objects that NumPy or C would ask for traced numbers."""
    if primitive.rule is not None and primitive.rule.kind in ("constant", "rrule"):
        return False
    return any([(type(a) is list or type(a) is tuple) and shows_traced_unseen(recording, a) for a in args])


def _takes_anything(primitive: Primitive) -> bool:
    """Whether a primitive is a Python function, other than our own, or has a rule of the general form."""
    kind = None if primitive.rule is None else primitive.rule.kind
    is_foreign = isinstance(primitive.fn, types.FunctionType) and not home_of(primitive.fn).startswith("wengert.")
    return kind == "rrule" or (is_foreign and kind in ("partials", "pullback"))


def _watchful(primitive: Primitive) -> Callable[..., Any]:
    """Make the recorder of a primitive that takes any arguments, also objects that hide traced values."""
    fn, record = primitive.fn, _recorder(primitive)
    general = primitive.rule is not None and primitive.rule.kind == "rrule"

    def watch(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None or kwargs.get("out") is not None:
            return record(*args, **kwargs)
        args, kwargs = with_integers(primitive, args, kwargs)
        odd = [a for a in (*args, *kwargs.values()) if type(a) not in C_ONLY_TYPES or type(a) in _HOLDERS]
        if not odd and not general and primitive.is_trusted:
            return record(*args, **kwargs)
        if any([_hides(recording, a, True) for a in args]) or any([_hides(recording, a) for a in kwargs.values()]):
            return opaque(recording, fn, args, kwargs, run=native_of(primitive))
        if primitive.is_trusted and answers_traced(recording, odd):
            return opaque(recording, fn, args, kwargs)
        return record_call(primitive, args, kwargs)

    return watch


def _is_declared_constant(primitive: Primitive) -> bool:
    """Whether a primitive is a function, in Python or not NumPy's, that is declared to have no derivative."""
    is_constant = primitive.rule is not None and primitive.rule.kind == "constant"
    return is_constant and (isinstance(primitive.fn, types.FunctionType) or not primitive.is_trusted)


def _naming(primitive: Primitive) -> Callable[..., Any]:
    """Make the recorder of a non-differentiable function: a tape calls it again, so it may read named values only."""
    record = _recorder(primitive)

    def named(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is not None and recording.keep:
            args, kwargs = with_integers(primitive, args, kwargs)
            if any([_hides(recording, a) for a in (*args, *kwargs.values())]):
                return opaque(recording, primitive.fn, args, kwargs, run=native_of(primitive))
            if not primitive.is_trusted:
                rule_reads.refuse_unspoken(recording, primitive, 0)
        return record(*args, **kwargs)

    return named


def _leaves_of_lists(a: Any) -> Iterator[Any]:
    """Yield the leaves of nested lists and tuples."""
    if type(a) is list or type(a) is tuple:
        for item in a:
            yield from _leaves_of_lists(item)
    else:
        yield a


def _hides(recording: Recording, a: Any, with_leaves: bool = False) -> bool:
    """Whether traced values other than an argument, its items and its leaves are reachable from it.

    From a function they are reachable by global names.
    """
    t = type(a)
    if (t in C_ONLY_TYPES and t not in _HOLDERS) or slot_of(recording, a) is not None:
        return False
    functions: list[Any] = []
    try:
        found = traced_in(recording, (a,), functions)
    except TooLarge:
        return True
    if functions and rule_reads.reads_traced(recording, functions):
        return True
    known = {id(leaf) for _, leaf in leaves(a)} if with_leaves else {id(item) for item in _leaves_of_lists(a)}
    return any(id(value) not in known for value in found)


def _careful(primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record a call whose arguments are not traced themselves, but may hold or show traced values."""
    recording = STATE.recording
    if recording is None:
        return primitive.fn(*args, **kwargs)
    value = record_plain_call(recording, primitive, args, kwargs, False)
    if value is not NOT_PLAIN:
        return value
    args, kwargs = with_integers(primitive, args, kwargs)
    value = foreign.call_primitive(recording, primitive, args, kwargs)
    if value is not NOT_FOREIGN:
        return value
    if kwargs.get("out") is not None:
        return _write_out(primitive, args, kwargs)
    if _lists_hide(recording, primitive, args):
        return opaque(recording, primitive.fn, args, kwargs, run=native_of(primitive))
    if slots_in(recording, (*args, *kwargs.values())) is not None:
        if kwargs and is_elementwise(primitive.fn) and kwargs.keys() <= UFUNC_OPTIONS:
            return with_options(recording, primitive.fn, args, kwargs)
        if begins_traced(recording, primitive, kwargs):
            return reduced(primitive, args, kwargs)
        return record_call(primitive, args, kwargs)
    if primitive.fn is np.asarray and args and isinstance(args[0], np.ndarray) and "like" not in kwargs:
        return native_of(primitive)(*args, **kwargs)  # which asks nobody: it shows the memory
    if any([type(a) not in C_ONLY_TYPES and shows_traced_unseen(recording, (a,)) for a in (*args, *kwargs.values())]):
        return opaque(recording, primitive.fn, args, kwargs, run=native_of(primitive))
    return native_of(primitive)(*args, **kwargs)


def _write_out(primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a call with `out=`, and record it as a write into that array."""
    out = kwargs["out"]
    out = out[0] if type(out) is tuple and len(out) == 1 else out
    rest = {name: value for name, value in kwargs.items() if name != "out"}
    if out is None:
        return recorder(primitive)(*args, **rest)
    if out is ...:
        value = recorder(primitive)(*args, **rest)
        return value if isinstance(value, np.ndarray) else as_traced(np.copy)(as_traced(np.broadcast_to)(value, ()))
    recording = STATE.recording
    if recording is None:
        return primitive.fn(*args, **kwargs)
    if begins_traced(recording, primitive, rest):
        return reduced(primitive, args, {**rest, "out": out})
    if not is_elementwise(primitive.fn) or (isinstance(out, np.ndarray) and rest.keys() <= LAYOUT):
        return write_whole(recording, primitive, args, out, rest)
    if not search(recording, (*args, *rest.values(), out)):
        return run_watching_writes(recording, primitive.fn, args, kwargs)
    if isinstance(out, tuple) or rest.get("where", True) is not True:
        check_outputs(primitive.fn, args, out, rest)
    args, where = cast_first(primitive.fn, args, rest), rest.get("where", True)
    if isinstance(out, tuple):
        return write_parts(lambda: recorder(primitive)(*args, where=where), out)
    if where is not True:
        return write_where(primitive.fn, args, out, where)
    return write_whole(recording, primitive, args, out, {name: rest[name] for name in rest.keys() & LAYOUT})


def recorded(primitive: Primitive, of: Callable[[Any], Any] | None = None) -> Decision:
    """The Decision on a callable with a rule."""
    of = of or (lambda _: recorder(primitive))
    is_constant = primitive.rule is not None and primitive.rule.kind == "constant"
    why = "It is declared to have no derivative." if is_constant else "It has a rule for its derivative."
    return Decision(Kind.RECORDED, why, of, primitive.rule)


@decides_type(type(np.sum))
def _of_array_function(f: Any) -> Decision:
    if f in WRITERS:
        return stand_in_call("It writes into an array.", _array_function, WRITERS[f])
    if isinstance(f._implementation, types.FunctionType):
        why = "NumPy implements it in Python, which is traced if a traced value can reach the call."
        return Decision(Kind.ENTERED, why, _array_function, f._implementation)
    return opaque_call(IN_C, _array_function)


def _array_function(f: Any) -> Any:
    """The stand-in of a NumPy function without a rule: run where nothing is traced, else its Python code is entered."""
    inner = f._implementation

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None:
            return f(*args, **kwargs)
        if not can_read_traced(recording, (*args, *kwargs.values())):
            return run_watching_writes(recording, f, args, kwargs)
        value = foreign.overridden(f, args, kwargs)
        if value is not NOT_FOREIGN:
            return value
        if f in WRITERS:
            return WRITERS[f](f, *args, **kwargs)
        if isinstance(inner, types.FunctionType):
            return as_traced(inner)(*args, **kwargs)
        return opaque(recording, f, args, kwargs)

    return call


_ORDERS = {"lt", "le", "gt", "ge"}


def dunder(op: Any, reflected: bool) -> Any:
    """`x.__add__(y)` of a number or array, and from a subclass by `super().__add__(y)`."""

    def native(a: Any) -> Any:
        name = op.reflected if reflected else op.method
        found = [base.__dict__.get(name) for base in type(a).__mro__]
        return next(f for f in found if isinstance(f, types.WrapperDescriptorType))

    def call(a: Any, b: Any, *modulus: Any) -> Any:
        number = (int, float, complex, np.ndarray, np.generic)
        recording = STATE.recording
        if modulus and (op.method != "__pow__" or modulus != (None,)):
            return native(a)(a, b, *modulus)  # it takes none, but of int's
        if op.name in _ORDERS and (isinstance(a, complex) or isinstance(b, complex)):
            return NotImplemented
        if not isinstance(b, number) and not (isinstance(a, np.ndarray) and type(b) in (list, tuple)):
            if not isinstance(a, np.ndarray) or op.name not in ("eq", "ne"):
                return NotImplemented
            if recording is None or python_method(type(b), op.method) is None:
                return native(a)(a, b)  # no number equals it
            return opaque(recording, native(a), (a, b), {})
        if isinstance(a, np.ndarray) and (is_of_subclass(a) or is_of_subclass(b)):
            leaves_it = getattr(type(b), "__array_ufunc__", op) is None
            return NotImplemented if leaves_it else by_ufunc(op.fn, *((b, a) if reflected else (a, b)))
        if python_method(type(a), op.method) or python_method(type(b), op.reflected):
            fn = native(a)
            if recording is None or not search(recording, (a, b)):
                return fn(a, b)
            if not isinstance(a, float) or id(a) in SHADOW:
                return opaque(recording, fn, (a, b), {})
            a = float.__add__(a, 0.0) if slot_of(recording, a) is None else a
        return HOOKS[op.name](a, b, STATE.site) if reflected else HOOKS[op.name](b, a, STATE.site)

    return call
