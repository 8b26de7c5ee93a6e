"""Recording of in-place writes: `a[key] = v`, `a += b`, `np.add(a, b, out=c)`.

NumPy first writes as untraced; the change is then recorded as a functional call.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError, WengertError
from wengert.hooks import foreign
from wengert.hooks.search import refuse_hidden
from wengert.hooks.short_writes import run_unfinished, write_entry
from wengert.mutation.storage import Memory, memory_of
from wengert.recording import layout
from wengert.recording.decisions import guard, raised, unharmed
from wengert.recording.primitives import Primitive, ruled
from wengert.recording.record import arrays_for_lists, as_array, bind
from wengert.recording.recording import C_ONLY_TYPES, STATE, Recording, flat_slots, users_line
from wengert.recording.shadow import SHADOW
from wengert.recording.slots import holds_traced, recording_here, slot_of, slots_of
from wengert.recording.static_arguments import check_keywords, check_statics
from wengert.recording.subclasses import plain
from wengert.recording.variables import keep_args, record_constant, splat
from wengert.values.functional import setitem
from wengert.values.keys import as_view, is_basic, may_be_all
from wengert.values.specs import Spec, is_inexact, spec_of
from wengert.values.views import owner_of


def record_store(array: np.ndarray, key: Any, value: Any) -> None:
    """Do and record `array[key] = value`, which also changes all views of the array."""
    recording = STATE.recording
    if recording is None:
        array[key] = value
        return
    memory = memory_of(recording)
    if type(array) is not np.ndarray:
        array = plain(array)
    if array.dtype.char in "OV" and foreign.store(recording, array, key, value):
        return
    if isinstance(value, np.ndarray) and _writes_itself_back(memory, array, key, value):
        if recording.keep:
            memory.placed.stays(recording, value, array, (key, slot_of_key(recording, key)))
        array[key] = value  # `a[1:] *= 2` ends with this: the region is stored back, and nothing changes
        return
    is_numbers = type(value) is np.ndarray and not value.dtype.hasobject
    if not is_numbers and (type(value) not in C_ONLY_TYPES or type(value) is list or type(value) is tuple):
        refuse_hidden(recording, "a store into an array", (value,))
    if type(value) in (list, tuple) and holds_traced(value):
        value = _array_to_store(array, key, value)
    value_slot = slot_of(recording, value)
    key_slot = slot_of_key(recording, key) if recording.keep else None
    if value_slot is None and key_slot is None and not memory.is_traced(array):
        memory.before_write(array, key, len(recording.entries))
        array[key] = value
        return
    _store_traced(recording, memory, array, key, value, value_slot, key_slot)


def refused_complex(recording: Recording) -> WengertError:
    """The error where NumPy discards an imaginary part: a derivative of it would be wrong."""
    return recording.refuse(
        RefusedCallError(f"{users_line()}: a complex value is stored in a real array. Use a complex array.")
    )


def _store_traced(
    recording: Recording, memory: Memory, array: np.ndarray, key: Any, value: Any, value_slot: Any, key_slot: Any
) -> None:
    """Do and record a store of a traced value, or into traced memory, or at a traced key."""
    if is_inexact(array) and np.iscomplexobj(value) and not np.iscomplexobj(array):
        array[key] = value  # NumPy warns or raises
        raise refused_complex(recording)
    _check_dtype(recording, array, (value_slot,))
    if memory.lent:
        basic = is_basic(key)
        memory.lent.before_write(array[as_view(key)] if basic else array, basic)
    owner = memory.join(array)
    memory.before_write(array, key, len(recording.entries))
    memory.unfinished += 1
    _write_at(recording, memory, array, key, value)
    at_key = key_slot is not None or (array is owner.array and _selects_part(array, key, recording.keep))
    region = None if at_key else array[as_view(key)]
    if isinstance(region, np.ndarray) and region.base is not None and owner_of(region) is owner_of(owner.array):
        memory.put(owner, region, value, value_slot)
    else:
        memory.put_at(owner, array, key, value, value_slot, key_slot)
    memory.unfinished -= 1


def _write_at(recording: Recording, memory: Memory, array: np.ndarray, key: Any, value: Any) -> None:
    """Do `array[key] = value`, and note an error of it; refuse a store that NumPy does element by element."""
    intended = _copy_of_overlapped(array, key, value)
    try:
        array[key] = value
    except Exception as error:
        memory.ended_by(error)
        if array.flags.writeable:
            raised(recording, error, setitem, (array, key, value), {})
        elif recording.keep:
            layout.writable(recording, [owner_of(array)])
        raise
    if intended is not None and not np.array_equal(array[key], intended, equal_nan=True):
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: NumPy overwrites elements of the stored array before it reads them, since both share "
                "memory. Store a copy: a[1:4] = a[0:6:2].copy()."
            )
        )


def _copy_of_overlapped(array: np.ndarray, key: Any, value: Any) -> np.ndarray | None:
    """Copy an array that is stored into its own memory with another step: NumPy does not copy it first."""
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.base is None or not is_basic(key):
        return None
    region = array[key]
    overlaps = isinstance(region, np.ndarray) and region.strides != value.strides
    return value.copy() if overlaps and np.may_share_memory(region, value) else None


def _selects_part(array: np.ndarray, key: Any, keep: bool) -> bool:
    """Whether a basic key selects a part of an array; not one by a slice if `keep`: a tape has its bounds."""
    if not is_basic(key) or (keep and may_be_all(key)):
        return False
    return not may_be_all(key) or 0 < array[key].size < array.size


def _array_to_store(array: np.ndarray, key: Any, value: Any) -> np.ndarray:
    """Convert a sequence to the array to store; NumPy raises if it is nested deeper than `array[key]`."""
    found = as_array(value)
    if found.ndim > np.ndim(array[key]):
        np.empty_like(array)[key] = value
    return found


def slot_of_key(recording: Recording, key: Any) -> Any:
    """Return the slots of the traced parts of a key; guard those in slices."""
    for part in key if type(key) is tuple else (key,):
        for bound in (part.start, part.stop, part.step) if type(part) is slice else ():
            slot = slot_of(recording, bound)
            if slot is not None:
                guard(recording, operator.index, bound, slot)
    return slots_of(recording, key)


def _writes_itself_back(memory: Memory, array: np.ndarray, key: Any, value: np.ndarray) -> bool:
    """Whether a store writes a view back to its own memory, so that neither value nor derivative changes."""
    if value.base is None or not is_basic(key):
        return False
    return _is_same_region(array[key], value) and not (memory.lent and memory.lent.shows(value))


def _is_same_region(region: Any, value: np.ndarray) -> bool:
    """Whether two arrays are views of the same elements."""
    return (
        isinstance(region, np.ndarray)
        and (region.shape, region.strides, region.dtype) == (value.shape, value.strides, value.dtype)
        and region.__array_interface__["data"] == value.__array_interface__["data"]
    )


def _check_dtype(recording: Recording, target: np.ndarray, ins: tuple[Any, ...]) -> None:
    """Refuse to write traced values into an array whose dtype has no derivative."""
    if not is_inexact(target) and any(recording.mask(flat_slots(ins))):
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: this line writes a traced value into an array of {target.dtype}, which has no "
                "derivative. Use an array of floats."
            )
        )


def record_write(
    primitive: Primitive,
    run: Callable[[], Any],
    target: np.ndarray,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Do and record a call that writes its whole result into `target`: `a += b`, `np.add(a, b, out=c)`."""
    recording = recording_here() if STATE.recording is None else STATE.recording
    if not kwargs and write_entry(recording, primitive, run, (), target, args):
        return target
    memory = memory_of(recording)
    rule = primitive.rule
    assert rule is not None
    if any([type(a) is list or type(a) is tuple for a in args]) and primitive.is_array_function:
        args = arrays_for_lists(recording, primitive, args)
    if any([type(a) not in C_ONLY_TYPES or type(a) is list or type(a) is tuple for a in args]):
        refuse_hidden(recording, primitive.name, args)
    ins = tuple([slots_of(recording, a) for a in args])
    constant = rule.kind == "constant"
    check_keywords(recording, primitive, kwargs)
    traced = any(s is not None for s in ins) and (recording.keep or not constant)
    if not traced and not memory.is_traced(target):
        memory.before_write(target, ..., len(recording.entries))
        return run()
    if not constant:
        _check_dtype(recording, target, ins)
    if recording.nan_checker is not None:
        run = recording.nan_checker.around(recording, primitive.fn, run, args, kwargs, target)
    if memory.lent:
        memory.lent.before_write(target, True)
    owner = memory.join(target)
    if not traced:
        memory.before_write(target, ..., len(recording.entries))
        value = run_unfinished(memory, run)
        slot, result = None, np.array(target, order="C") if recording.keep else None
    else:
        slot, result, value = _run_and_record(recording, primitive, run, target, args, ins, kwargs)
    memory.put(owner, target, result, slot)
    memory.unfinished -= 1
    return value


def _run_and_record(
    recording: Recording,
    primitive: Primitive,
    run: Callable[[], Any],
    target: np.ndarray,
    args: tuple[Any, ...],
    ins: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[int, Any, Any]:
    """Run the call and record it as one that makes a new value; return its slot, its Spec and the result of `run`."""
    args = tuple(map(plain, args))  # without `out`, the call would return an array of another class
    spec, is_certain = _result_spec(primitive, target, args, kwargs)
    bound = None if _is_constant(primitive) else bind(recording, primitive, args, ins, kwargs)
    is_read = bound is None or bound.reads_y == "value"
    raw, differs = None, spec.shape != target.shape or spec.dtype != target.dtype
    if recording.keep or (is_read and differs) or not (is_certain or _shares_no_memory(target, args)):
        raw = _result_alone(primitive, args, kwargs)
    if recording.checks_fp_errors:
        unharmed(recording, primitive.fn, args, kwargs)
    if bound is None:
        slot = len(recording.entries)
        record_constant(recording, primitive, args, ins, kwargs, raw)
        recording.memory.before_write(target, ..., len(recording.entries))
        value = run_unfinished(recording.memory, run)
    else:
        check_statics(recording, bound, args, ins)
        kept = keep_args(recording, bound, args)
        recording.memory.before_write(target, ..., len(recording.entries) + 1)
        value = run_unfinished(recording.memory, run)
        if raw is None and not is_certain and _may_be_broadcast(target):
            raw = _result_alone(primitive, args, kwargs)
            _check_broadcast(recording, primitive, raw, target)
        spec = spec if raw is None else spec_of(raw)
        result = spec if not (is_read or recording.keep) else np.array(target, order="C") if raw is None else raw
        slot = recording.append((bound, result, ins, kept, kwargs or None, STATE.site))
        if isinstance(result, np.ndarray):  # an outer trace reads the residual
            SHADOW[id(result)] = slot
    if spec.dtype != target.dtype:
        slot = _record_cast(recording, slot, spec, target)
        spec = Spec(spec.shape, target.dtype)
    return slot, recording.value(slot) if recording.keep else spec, value


def _is_constant(primitive: Primitive) -> bool:
    return primitive.rule is not None and primitive.rule.kind == "constant"


def _result_alone(primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute the call's result before the cast and broadcast into the target; a tape shows it."""
    with np.errstate(all="ignore"):
        return np.asarray(primitive.fn(*args, **kwargs))


def _result_spec(
    primitive: Primitive, target: np.ndarray, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Spec, bool]:
    """Return the Spec of the call's own result, and whether its shape is certain, not assumed to be the target's."""
    k = primitive.rule.sequence if primitive.rule is not None else None
    items = splat(k, args, args[k]) if k is not None and type(args[k]) in (list, tuple) else args
    operands = [np.asarray(a) if type(a) in (list, tuple) else a for a in items]
    operands = [a for a in operands if isinstance(a, (np.ndarray, np.generic, int, float, complex))]
    ufunc = np.matmul if primitive.fn is operator.matmul else primitive.fn
    signature = ufunc.signature if isinstance(ufunc, np.ufunc) else None
    is_partials = primitive.rule is not None and primitive.rule.kind == "partials"
    elementwise = signature is None and (is_partials or isinstance(ufunc, np.ufunc))
    if not elementwise:
        operands = [a for a in operands if isinstance(a, np.ndarray)]
    dtype = np.result_type(*operands) if operands else target.dtype
    if dtype.kind not in "fc" or (
        not elementwise and dtype.kind != target.dtype.kind
    ):  # a transform may change the kind
        dtype = target.dtype
    if dtype.kind == "c" and target.dtype.kind == "f" and primitive.fn in (np.abs, abs, np.real, np.imag, np.angle):
        dtype = target.dtype
    is_certain = elementwise or (signature is not None and not kwargs)  # `axis` changes which axes are core axes
    shape = target.shape
    try:
        if elementwise:
            shape = np.broadcast_shapes(*[np.shape(a) for a in operands])
        elif signature is not None and is_certain:
            shape = _ufunc_shape(signature, tuple([np.shape(a) for a in operands]), shape)
    except ValueError:  # NumPy raises it when it writes
        pass
    return Spec(shape, dtype), is_certain


@functools.lru_cache(256)
def _ufunc_shape(signature: str, shapes: tuple[tuple[int, ...], ...], target: tuple[int, ...]) -> tuple[int, ...]:
    """Compute the shape of a ufunc's result from its signature: NumPy broadcasts the loops, not the core axes.

    Where an operand lacks an optional axis ("n?"), the result lacks it too.
    """
    cores = [core.split(",") if core else [] for core in re.findall(r"\(([^)]*)\)", signature)]
    short = [core for core, shape in zip(cores, shapes, strict=False) if len(shape) < len(core)]
    lacking = {n for core in short for n in core if n[-1] == "?"}
    counts = [len([n for n in core if n not in lacking]) for core in cores]
    loops = np.broadcast_shapes(*[shape[: len(shape) - n] for shape, n in zip(shapes, counts, strict=False)])
    return (*loops, *target[len(target) - counts[-1] :])


def _shares_no_memory(target: np.ndarray, args: tuple[Any, ...]) -> bool:
    """Whether the target shares no memory with the arguments."""
    return not any([isinstance(a, np.ndarray) and np.may_share_memory(a, target) for a in args])


def _may_be_broadcast(target: np.ndarray) -> bool:
    """Whether NumPy may have broadcast the result: along some axis, the first part and the last are equal."""
    ends = [(target.take(0, k), target.take(-1, k)) for k in range(target.ndim)] if target.size else []
    return any([np.array_equal(first, last, equal_nan=True) for first, last in ends])


def _check_broadcast(recording: Recording, primitive: Primitive, raw: Any, target: np.ndarray) -> None:
    """Refuse a call that wrote more than its own result, broadcast; `reduceat` does so for a further axis."""
    broadcast = np.broadcast_to(raw.astype(target.dtype), target.shape)
    if raw.shape != target.shape and not np.array_equal(target, broadcast, equal_nan=True):
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: {primitive.name} writes into an array of shape {target.shape}, but its result has "
                f"the shape {raw.shape}. Pass an array of that shape as out=."
            )
        )


def _record_cast(recording: Recording, slot: int, spec: Spec, target: np.ndarray) -> int:
    """Record the silent cast of a write into an array of another dtype; return the slot of the value after it."""
    if spec.dtype.kind == "c" and target.dtype.kind != "c":
        raise recording.refuse(
            RefusedCallError(f"{users_line()}: a complex result is written into a real array. Use a complex array.")
        )
    bound = ruled(np.ndarray.astype).bound(2, recording.mask((slot, None)), ())
    cast = Spec(spec.shape, target.dtype)
    value = recording.value(slot)
    args = (value if recording.keep else spec, target.dtype)
    cast_value = value.astype(target.dtype) if recording.keep else cast
    return recording.append((bound, cast_value, (slot, None), args, None, STATE.site))


__all__ = ["record_store", "record_write"]
