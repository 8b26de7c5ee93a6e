"""Write a tape as the source of one native function of numbers and flat memory.

A call is computed by its emitter in `EMITTERS`, or element by element. If that is not possible, NumPy runs the tape.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wengert.compiling.native.array_ops import EMITTERS, OF_COMPLEX
from wengert.compiling.native.blocks import BlockLevel
from wengert.compiling.native.callouts import Callout, can_call_out, emit_callout
from wengert.compiling.native.complex_numbers import complex_parameter, emit_complex, interleaved, takes_complex
from wengert.compiling.native.expansion import emit_expansion, expansion
from wengert.compiling.native.indices import EXACT, INT_WORDS, MOVES, OF_PLACES, check_elements, emit_whole
from wengert.compiling.native.loops import LoopEmitter
from wengert.compiling.native.nests import SourceText, element
from wengert.compiling.native.scipy_functions import c_name, scipy_op
from wengert.compiling.native.values import (
    INT_KIND,
    STORED_AS_FLOATS,
    Affine,
    ComplexPair,
    ComputedArray,
    FlatMemory,
    KnownInts,
    RowList,
    Scalar,
    Splat,
    UnsupportedOp,
    View,
    is_computed,
    is_constant_table,
    is_int64_value,
    is_integer_value,
    is_native_array,
    is_of_complex,
    kind_of_value,
    number_literal,
    real_parts,
    splat_number,
)
from wengert.compiling.native.views import join_lists
from wengert.compiling.ops import BOOL_KIND, FLOAT_KIND, ScalarOp, info, scalar_op
from wengert.compiling.split_columns import is_constant_int_call
from wengert.tape.interface import AnyTape
from wengert.tape.liveness import last_readers
from wengert.tape.loops import Loop, calls_in
from wengert.tape.needed import needed
from wengert.tape.ops import Call, Constant, Op, Variable
from wengert.values import functional
from wengert.values.callables import callable_name
from wengert.values.specs import is_int_array

SLOW_ELEMENTS = 1 << 11  # of sin and the like; above, NumPy's vector code is faster than a call for each
PER_OTHER_ELEMENT = 16  # ratio of other elements to these above which native code is faster all the same
NESTS_IN_LINE = 8  # above, nests go into functions of their own
MOST_OPS = 16000  # compile time grows with them, by about a millisecond for each


class TapeProgram:
    """The native function for some ops of a tape: its parameters, results and source.

    `parameters` has the source of each outer array or number, and its FlatMemory or Scalar; `results` has each op whose
    value is returned, and that value. With `any_order` the results may have another memory order than recorded; with
    `calls_out` calls outside of loops may run in Python, too.
    """

    def __init__(
        self,
        tape: AnyTape,
        ops: Sequence[Op],
        results: Sequence[Op],
        any_order: bool = False,
        calls_out: bool = False,
    ) -> None:
        self.any_order, self.calls_out = any_order, calls_out
        self.names = itertools.count(1)
        self.parameters: dict[Any, tuple[Any, Any]] = {}
        self.helpers: dict[str, None] = {}  # the sources of functions that the code calls, in order
        self.ufuncs: dict[str, np.ufunc] = {}  # of SciPy, whose C functions the code calls, by their names
        self.callouts: list[Callout] = []
        self.depends_on_ints = False  # whether the code depends on the values of integer arrays
        self.ops = self.elements = self.slow = 0
        self.guarded: set[Op] = set()
        self.level = BlockLevel(self.names)
        self.body = Body(self, tape, self.level)
        self.body.read(ops)
        if self.slow > SLOW_ELEMENTS and self.slow * PER_OTHER_ELEMENT > self.elements:
            raise UnsupportedOp("sin and similar functions of large arrays, where NumPy is faster")
        self.results = [(op, self.result(k, op)) for k, op in enumerate(results)]
        self.finite = [self.finite_sums(x) for _, x in self.results]
        self.text = self.source_text()

    def parameter(self, key: Any, source: Any, value: Any) -> Any:
        """Return an input or a constant as a parameter."""
        if is_of_complex(value) and value.dtype == np.complex128 if hasattr(value, "dtype") else type(value) is complex:
            return complex_parameter(self, key, source, value)
        if key not in self.parameters:
            name = f"a{len(self.parameters)}"
            if type(value) is np.ndarray and (value.dtype in (np.float64, np.bool_) or is_int_array(value)):
                found: Any = FlatMemory(value.size, name)
            elif type(value) in (float, np.float64, np.int64, np.int32):
                found = Scalar(name)
            else:
                raise UnsupportedOp(f"an argument of type {type(value).__name__}")
            self.parameters[key] = source, found
            self.check_integers(found, value)
        found = self.parameters[key][1]
        kind = FLOAT_KIND if isinstance(found, Scalar) or is_int_array(value) else kind_of_value(value)
        return View.whole(found, value.shape, kind) if isinstance(found, FlatMemory) else found

    def check_integers(self, x: Any, value: Any) -> None:
        """Let the native function fail if an integer that is converted to a float is not exact."""
        if isinstance(value, np.int64):
            self.level.guard(f"not {EXACT.format('', '{0}')}", x)
        elif is_int_array(value):
            check_elements(self.body, View.whole(x, value.shape), EXACT)

    def known_indices(self, known: KnownInts, n: int) -> View:
        """Return constant indices along an axis of n elements, made non-negative, as a parameter."""
        at = known.array
        if at.size and not -n <= at.min() <= at.max() < n:
            raise UnsupportedOp("an index array that is out of bounds")
        return replace(known.view, memory=self.known_ints(np.where(at < 0, at + n, at)))

    def known_ints(self, array: np.ndarray) -> FlatMemory:
        """Return constant integers as a parameter."""
        if max(-int(array.min(initial=0)), int(array.max(initial=0))) > 2**53:
            raise UnsupportedOp("an integer beyond 2**53")
        array = np.ascontiguousarray(array, np.int64)
        key, self.depends_on_ints = (array.tobytes(), INT_KIND), True
        if key not in self.parameters:
            self.parameters[key] = array, FlatMemory(array.size, f"a{len(self.parameters)}")
        found: FlatMemory = self.parameters[key][1]
        return found

    def result(self, k: int, op: Op) -> Any:
        """Return the value of an op as a result of the native function."""
        try:
            return self.number_or_memory(k, op)
        except UnsupportedOp as error:
            error.op = op
            raise

    def number_or_memory(self, k: int, op: Op) -> Any:
        """Return the value of an op as a number, or as memory of the caller."""
        x = self.body.value(Variable(op))
        if isinstance(x, ComplexPair):
            return self.complex_result(k, op, x)
        if isinstance(x, tuple) or isinstance(op.val, (tuple, list, str, bytes)):
            raise UnsupportedOp("a result that is no float, integer or bool")
        dtype = np.asarray(op.val).dtype
        if dtype not in STORED_AS_FLOATS:
            raise UnsupportedOp("a result that is no float, integer or bool")
        x = self.body.operand(x)
        if not isinstance(op.val, np.ndarray):
            return self.body.as_float(x)
        memory, kind = FlatMemory(op.val.size, f"o{k}"), BOOL_KIND if dtype == np.bool_ else FLOAT_KIND
        x = self.body.as_float(x) if kind == FLOAT_KIND else x
        view = self.result_view(op, memory, kind)
        return replace(view, memory=self.place_result(x, view))

    def result_view(self, op: Op, memory: FlatMemory, kind: str = FLOAT_KIND) -> View:
        """Return memory of the caller in the memory order of the recorded array."""
        flags, strides = op.val.flags, tuple(np.array(op.val.strides) // op.val.itemsize)
        if flags.f_contiguous and not flags.c_contiguous:
            return View(memory, Affine(0), strides, op.val.shape, kind)
        if flags.c_contiguous or self.any_order:
            return View.whole(memory, op.val.shape, kind)
        raise UnsupportedOp("a result array that is not contiguous")

    def complex_result(self, k: int, op: Op, x: ComplexPair) -> ComplexPair:
        """Return a complex result as two numbers, or as views of memory of the caller."""
        if not isinstance(op.val, np.ndarray):
            return ComplexPair(*[part if isinstance(part, Scalar) else self.body.item(part) for part in real_parts(x)])
        pair = interleaved(self.result_view(op, FlatMemory(2 * op.val.size, f"o{k}", is_complex=True)))
        for part, view in zip(real_parts(x), real_parts(pair), strict=True):
            self.place_result(part, view)
        return pair

    def finite_sums(self, x: Any) -> list[str] | None:
        """Return names of numbers that are finite if a result is; None if a loop has to look at its elements."""
        if isinstance(real_parts(x)[0], Scalar):
            return [part.text for part in real_parts(x)]
        x = real_parts(x)[0]
        return [] if x.kind == BOOL_KIND else self.level.track_finite(x.memory)

    def place_result(self, x: Any, view: View) -> FlatMemory:
        """Place an array in memory of the caller: compute it there, or copy it."""
        if isinstance(x, ComputedArray) and x.view is None and x.level is self.level:
            self.level.write_to(x, view)
            return view.memory
        x = self.level.view(x) if isinstance(x, ComputedArray) else x
        mine = isinstance(x, View) and x.memory.home is self.level and not x.memory.name
        if mine and x.covers_memory and view.is_contiguous:
            x.memory.name = view.memory.name
            return x.memory
        self.level.store(view, "=", x)
        return view.memory

    def source_text(self) -> str:
        """Return the source of the function, which returns whether it failed, and the results that are numbers."""
        text = SourceText(self.level.count_nests() > NESTS_IN_LINE)
        self.level.write(text)
        self.functions = [f"def {name}{rest}" for rest, name in text.functions.items()]
        firsts = [real_parts(x)[0] for _, x in self.results]
        numbers = [part.text for _, x in self.results for part in real_parts(x) if isinstance(part, Scalar)]
        for x, finite in zip(firsts, self.finite, strict=True):
            for name in finite or ():
                text.line(f"if {name} - {name} != 0.0: return FAILED")
            if finite is None:
                text.line("bad = 0")
                text.begin(f"for i0 in range({x.memory.size}):")
                at = element(View.whole(x.memory, (x.memory.size,)), {0: "i0"})
                text.line(f"bad |= {at} - {at} != 0.0")
                text.end(1)
                text.line("if bad: return FAILED")
        self.size = text.size
        names = [x.name if isinstance(x, FlatMemory) else x.text for _, x in self.parameters.values()]
        names += [x.memory.name for x in firsts if isinstance(x, View)]
        names += ["w"] * bool(self.size)
        names += [name for call in self.callouts for name in call.names]
        failed = f"FAILED = ({', '.join(['1', *(['0.0'] * len(numbers))])},)"
        parts = [f"    w{base} = w[{base}:{base + size}]" for base, size in text.sizes.items()]
        lines = [f"def native({', '.join(names)}):", f"    {failed}", *parts, *text.lines]
        return "\n".join([*lines, f"    return ({', '.join(['0', *numbers])},)"]) + "\n"


class Body:
    """Reads the ops of a tape, or of the body of a loop, into the blocks of a BlockLevel."""

    instead = staticmethod(expansion)

    def __init__(self, program: TapeProgram, tape: AnyTape, level: BlockLevel) -> None:
        self.program, self.level = program, level
        self.ops: list[Op] = list(tape)
        self.result = tape.result
        self.last = last_readers(self.ops, tape.result)
        self.values: dict[int, Any] = {}
        self.unsupported: list[UnsupportedOp] = []  # of calls that run in Python

    def read(self, ops: Sequence[Op]) -> None:
        """Read, in order, those of the ops that are needed."""
        read = needed(self.ops, self.result.id)
        for op in ops:
            if op.id not in read:
                continue
            self.program.ops += 1
            if self.program.ops > MOST_OPS:
                raise UnsupportedOp(f"more than {MOST_OPS} operations")
            if isinstance(op, Call):
                try:
                    self.set_value(op, self.call_or_callout(op))
                except UnsupportedOp as error:
                    error.site, error.op = error.site or op.site, op
                    raise
            elif op.id not in self.values:
                known = isinstance(op, Constant) and not isinstance(op.val, np.ndarray)
                self.set_value(op, op.val if known else _UnreadParameter(op))

    def set_value(self, op: Op, value: Any) -> None:
        """Set the value of an op, and note which memory it shares."""
        self.values[op.id] = value
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, tuple) and not is_constant_table(part):
                raise UnsupportedOp("nested tuples")
            for x in real_parts(part):
                if isinstance(x, ComputedArray):
                    x.aliases.append((self, op.id))
                elif isinstance(x, View):
                    x.memory.aliases.append((self, op.id))

    def value(self, x: Any) -> Any:
        """Return the native value of an argument of an op."""
        if isinstance(x, Variable):
            found = self.values[x.id]
            if type(found) is not _UnreadParameter:
                return found
            if isinstance(found.op, Constant) and is_int_array(found.op.val):
                return KnownInts(found.op.val)
            return self.program.parameter(found.op, found.op, found.op.val)
        if type(x) is np.ndarray:
            return KnownInts(x) if is_int_array(x) else self.program.parameter(id(x), x, x)
        if type(x) in (tuple, list):
            return type(x)([self.value(part) for part in x])
        if isinstance(x, slice):
            return slice(*(self.value(part) for part in (x.start, x.stop, x.step)))
        return x

    def call_or_callout(self, op: Call) -> Any:
        """Return the value of a call, which may run in Python."""
        try:
            return self.call(op)
        except UnsupportedOp as error:
            in_loop = self.level is not self.program.level
            if not (in_loop or self.program.calls_out) or not can_call_out(op, in_loop):
                raise
            error.site, error.op = error.site or op.site, op
            self.unsupported.append(error)
            words = {name: self.value(x) for name, x in op.kwargs.items()}
            made = emit_callout(self, op, [self.value(x) for x in op.args], words, str(error))
            if isinstance(made, Scalar) and op.guard:
                self.guard(op, made)
            else:
                self.program.guarded.update([each for each in calls_in([op]) if each.guard])
            return made

    def call(self, op: Call) -> Any:
        """Return the value of a call."""
        fn = op.fn
        if isinstance(fn, Variable):
            raise UnsupportedOp("a call of a computed function")
        args = [self.value(x) for x in op.args]
        if is_constant_int_call(op) and not any(map(is_computed, (*args, *map(self.value, op.kwargs.values())))):
            return KnownInts(op.val)
        if fn is operator.add and type(op.val) is list:
            return join_lists(self, op, args)
        if info(fn).name not in ("total", "array") and any([isinstance(x, RowList) for x in args]):
            raise UnsupportedOp(f"{callable_name(fn)} of a list")
        if isinstance(fn, Loop):
            return LoopEmitter(self, op, args).value()
        if takes_complex(op, args):
            emitter = OF_COMPLEX.get(info(fn).name)
            return self.emitted(emitter, op, args) if emitter is not None else emit_complex(self, op, args)
        if is_int64_value(op.val) and info(fn).name in INT_WORDS and not (op.guard or op.kwargs or _counts_bools(op)):
            return emit_whole(self, op, fn, *args)
        operation = scalar_op(fn, len(args)) or self.scipy_op(fn, len(args))
        is_plain = not op.kwargs and not any([x is None or isinstance(x, (list, tuple, RowList)) for x in args])
        if operation is not None and is_plain:
            return self.compute(op, operation, [self.operand(x) for x in args])
        if info(fn).name == "static":
            self.program.guarded.add(op)
            return op.val
        if fn is functional.iterations or (fn in (int, operator.index) and op.guard):
            self.program.guarded.add(op)
            number = self.operand(args[0])
            number = number if isinstance(number, Scalar) else self.item(number)
            self.level.guard(f"{'np.trunc({0})' if fn is int else '{0}'} != {op.val}.0", number)
            return op.val
        known = EMITTERS.get(info(fn).name)
        function = expansion(fn) if known is None else None
        if function is not None:
            made = emit_expansion(self, op, function, args)
            if op.guard:
                if not isinstance(made, Scalar):
                    raise UnsupportedOp("a branch on an array")
                self.guard(op, made)
            return made
        if known is None or (op.guard and info(fn).name not in ("getitem", "item", "getfield")):
            raise UnsupportedOp(callable_name(fn))
        if info(fn).name not in _OF_KNOWN_INTS:
            if is_integer_value(op.val) and info(fn).name not in (*MOVES, *OF_PLACES):
                raise UnsupportedOp(f"{callable_name(fn)} of integers")
            args = [self.operand(x) if isinstance(x, KnownInts) else x for x in args]
        made = self.emitted(known, op, args)
        if op.guard:
            if type(made) is bool and made == op.val:
                self.program.guarded.add(op)
                return made
            if not isinstance(made, Scalar) or not isinstance(op.val, (bool, np.bool_)):
                raise UnsupportedOp("a branch on an item that is no bool")
            self.guard(op, made)
        return made

    def emitted(self, emitter: Callable[..., Any], op: Call, args: Sequence[Any]) -> Any:
        """Return the value of a call by its emitter, which takes the same arguments."""
        try:
            return emitter(self, op, *args, **{k: self.value(x) for k, x in op.kwargs.items()})
        except TypeError as error:
            raise UnsupportedOp(f"{callable_name(op.fn)} with these arguments") from error

    def scipy_op(self, fn: Any, args: int) -> ScalarOp | None:
        """Return the word of a ufunc of SciPy, which the program then declares."""
        word = scipy_op(fn, args)
        if word is not None:
            self.program.ufuncs[c_name(fn)] = fn
        return word

    # -- element by element

    def operand(self, x: Any) -> Any:
        """Return a number or an array as an operand."""
        if is_native_array(x) or isinstance(x, Scalar):
            return x
        if isinstance(x, KnownInts):
            if x.array.dtype == np.uint8:
                raise UnsupportedOp("arithmetic of dtype uint8")
            return self.level.let("{0}", [replace(x.view, memory=self.program.known_ints(x.array))], x.view.shape)
        if not isinstance(x, Affine):
            return number_literal(x)
        return self.level.compute_number("float({0})", x) if self.level.slot(x) else Scalar(f"float({x.text})")

    def compute(self, op: Call, operation: ScalarOp, operands: Sequence[Any]) -> Any:
        """Apply an elementwise operation to numbers or arrays."""
        is_choice = info(op.fn).name == "where" and isinstance(op.val, np.ndarray)  # bools are floats there
        if not _counts_bools(op) and not is_choice and kind_of_value(op.val) != operation.kind:
            raise UnsupportedOp(f"{callable_name(op.fn)} of bools")
        operands = [x if k in operation.bools else self.as_float(x) for k, x in enumerate(operands)]
        if not isinstance(op.val, np.ndarray):
            numbers = [x if isinstance(x, Scalar) else self.item(x) for x in operands]
            check = operation.raises if type(op.val) is float else ""
            made = self.level.compute_number(operation.template, *numbers, kind=operation.kind, check=check)
            if op.guard:
                self.guard(op, made)
            return made
        if op.guard:
            raise UnsupportedOp("a branch on an array")
        self.program.elements += op.val.size
        self.program.slow += op.val.size if operation.slow and not operation.fast else 0
        flat = [splat_number(x) for x in operands]
        if all([isinstance(x, Scalar) for x in flat]):
            return Splat(self.level.compute_number(operation.template, *flat, kind=operation.kind), op.val.shape)
        return self.level.let(operation.fast or operation.template, flat, op.val.shape, operation.kind)

    def as_float(self, x: Any) -> Any:
        """Return an operand, converted to float if it is a bool."""
        if isinstance(x, Splat):
            return replace(x, number=self.as_float(x.number))
        if x.kind == FLOAT_KIND:
            return x
        if isinstance(x, Scalar):
            return self.level.compute_number("(1.0 if {0} else 0.0)", x)
        return self.level.let("(1.0 if {0} else 0.0)", [x], x.shape)

    def item(self, x: Any) -> Scalar:
        """Return the only element of an array."""
        return x.number if isinstance(x, Splat) else self.level.load(self.level.view(x))

    def guard(self, op: Call, made: Scalar) -> None:
        """Let the native function fail if a guard has another outcome than in the trace."""
        self.program.guarded.add(op)
        self.level.guard("not {0}" if op.val else "{0}", made)

    # -- memory

    def view(self, x: Any) -> View:
        """Return an array as a view of memory; write a Splat out."""
        if not isinstance(x, Splat):
            return self.level.view(x)
        view = self.level.new_array(x.shape, x.kind)
        if not x.blank:
            self.level.store(view, "=", x.number)
        return view

    def writable(self, op: Call, x: Any) -> View:
        """Return `x`, the first argument of a store, in memory that the store may overwrite."""
        if isinstance(x, Splat):
            return self.view(x)
        view = x.view if isinstance(x, ComputedArray) else x
        mine = x.level if view is None else view.memory.owner if view.is_injective else None
        aliases = x.aliases if view is None else view.memory.aliases
        if mine is self.level:
            whole = view is None or view.covers_memory
            if self.copy_parts_read_later(aliases, op) if whole else not self.read_after(aliases, op):
                return self.level.view(x)
        view = self.level.new_array(x.shape, x.kind)
        self.level.store(view, "=", x)
        return view

    def copy_parts_read_later(self, aliases: list[tuple[Any, int]], op: Call) -> bool:
        """Copy the parts of an array that are read after an op; return False if they are too many to copy."""
        later = [k for body, k in aliases if body is self and self.last[k] > op.id]
        if any([isinstance(self.values[k], (tuple, ComplexPair)) for k in later]) or len(later) > 2:
            return False
        for k in later:
            part = self.values[k]
            self.values[k] = made = self.level.let("{0}", [self.level.view(part)], part.shape, part.kind)
            made.aliases.append((self, k))
        aliases[:] = [(body, k) for body, k in aliases if body is not self or k not in later]
        return True

    def read_after(self, aliases: Sequence[tuple[Any, int]], op: Call) -> bool:
        """Whether an alias of an array is read after an op."""
        return any([self.last[k] > op.id for body, k in aliases if body is self])


class _UnreadParameter:
    """An input or a constant, which becomes a parameter when it is first read."""

    def __init__(self, op: Op) -> None:
        self.op = op


def _counts_bools(op: Call) -> bool:
    """Whether a call adds a small integer to bools, as counting ties does: floats represent the sum exactly."""
    known = [a for a in op.args if isinstance(a, (int, np.integer)) and not isinstance(a, bool) and 0 <= a < 100]
    bools = [v for v in op.references() if getattr(v.op.val, "dtype", None) == np.bool_]  # type: ignore[union-attr]
    return op.fn in (operator.add, np.add) and len(known) == len(bools) == 1


_OF_KNOWN_INTS = ("getitem", "setitem", "additem", "bincount", "take", "whole")  # which see the integers themselves
