"""A tape as the text of one native function of numbers and flat memory.

What is told to do for a call stands in `OPS`, or it is computed element by element; where there is no word for
something, NumPy runs the tape.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wengert.compiling.native.array_ops import OPS, STATIC
from wengert.compiling.native.blocks import BlockLevel
from wengert.compiling.native.loops import loop_value
from wengert.compiling.native.nests import Text, element
from wengert.compiling.native.scalar_ops import Word, word_of
from wengert.compiling.native.values import (
    BOOL,
    FLOAT,
    Affine,
    Computed,
    FlatMemory,
    Known,
    Scalar,
    Splat,
    UnsupportedOp,
    View,
    is_native_array,
    is_whole,
    number,
)
from wengert.tape.interface import AnyTape
from wengert.tape.liveness import last_readers
from wengert.tape.loops import Loop
from wengert.tape.needed import stays
from wengert.tape.ops import Call, Constant, Op, Variable
from wengert.values.callables import callable_name

SLOW = 1 << 11  # elements from which NumPy's vector code of sin and its like is faster than a call for each
PER_OTHER_ELEMENT = 16  # elements of other kinds for each of these, from which native code is faster nevertheless
NESTS = 8  # from which they are in functions of their own
MOST_OPS = 3000  # ops: the compiler's time grows with them


class NativeProgram:
    """The native function that some ops of a tape are: its parameters, its results, and its text.

    `parameters` has for each array or number from outside where it is from, and its Memory or name; `results` the same
    for the ops whose values it gives.
    """

    def __init__(self, tape: AnyTape, ops: Sequence[Op], wanted: Sequence[Op]) -> None:
        self.names = itertools.count(1)
        self.parameters: dict[Any, tuple[Any, Any]] = {}
        self.known = False  # whether the code depends on arrays of whole numbers
        self.ops = self.elements = self.slow = 0
        self.tested: set[Op] = set()
        self.level = BlockLevel(self.names)
        self.body = Body(self, tape, self.level)
        self.body.read(ops)
        if self.slow > SLOW and self.slow * PER_OTHER_ELEMENT > self.elements:
            raise UnsupportedOp("sin or its like of a large array")
        self.results = [(op, self.result(k, op)) for k, op in enumerate(wanted)]
        self.finite = [self.level.finite(x.memory) if isinstance(x, View) else [x.text] for _, x in self.results]
        self.text = self.written()

    def parameter(self, key: Any, source: Any, value: Any) -> Any:
        """The value of an input or a constant as a parameter."""
        if key not in self.parameters:
            name = f"a{len(self.parameters)}"
            if type(value) is np.ndarray and value.dtype == np.float64:
                found: Any = FlatMemory(value.size, name)
            elif type(value) in (float, np.float64):
                found = Scalar(name)
            else:
                raise UnsupportedOp(f"an argument that is a {type(value).__name__}")
            self.parameters[key] = source, found
        found = self.parameters[key][1]
        return View.whole(found, value.shape) if isinstance(found, FlatMemory) else found

    def places(self, known: Known, n: int) -> View:
        """Known places along an axis of n elements, counted from the front, as a parameter."""
        at = known.array.astype(np.int64)
        if at.ndim != 1 or at.size == 0 or at.min() < -n or at.max() >= n:
            raise UnsupportedOp("such places")
        at[at < 0] += n
        key, self.known = at.tobytes(), True
        if key not in self.parameters:
            self.parameters[key] = at, FlatMemory(at.size, f"a{len(self.parameters)}")
        return View.whole(self.parameters[key][1], known.array.shape)

    def result(self, k: int, op: Op) -> Any:
        """The value of an op, as what the native function gives: a number, or memory of its caller."""
        x = self.body.value(Variable(op))
        if not isinstance(op.val, np.ndarray):
            if isinstance(x, (Affine, tuple)) or _kind_of_value(op.val) != FLOAT:
                raise UnsupportedOp("a result that is no float")
            return self.body.operand(x)
        if _kind_of_value(op.val) != FLOAT:
            raise UnsupportedOp("a result of no floats")
        memory = FlatMemory(op.val.size, f"o{k}")
        if op.val.flags.f_contiguous and not op.val.flags.c_contiguous:
            view = View(memory, Affine(0), tuple(np.array(op.val.strides) // 8), op.val.shape)
        elif op.val.flags.c_contiguous:
            view = View.whole(memory, op.val.shape)
        else:
            raise UnsupportedOp("a result in another order")
        return replace(view, memory=self.give(x, view))

    def give(self, x: Any, view: View) -> FlatMemory:
        """Let an array be in memory of the caller: that where it is computed, or a copy."""
        if isinstance(x, Computed) and x.view is None and x.level is self.level:
            self.level.give_memory(x, view)
            return view.memory
        x = self.level.view(x) if isinstance(x, Computed) else x
        mine = isinstance(x, View) and x.memory.home is self.level and not x.memory.name
        if mine and x.is_whole and view.is_contiguous:
            x.memory.name = view.memory.name
            return x.memory
        self.level.store(view, "=", x.number if isinstance(x, Splat) else x)
        return view.memory

    def written(self) -> str:
        """The text of the function, which gives whether it failed, and the results that are numbers."""
        text = Text(self.level.nests() > NESTS)
        self.level.write(text)
        self.functions = text.functions
        numbers = [x.text for _, x in self.results if isinstance(x, Scalar)]
        for (_, x), told in zip(self.results, self.finite, strict=True):
            for name in told or ():
                text.line(f"if {name} - {name} != 0.0: return FAILED")
            if told is None:
                text.line("bad = 0")
                text.begin(f"for i0 in range({x.memory.size}):")
                at = element(View.whole(x.memory, (x.memory.size,)), {0: "i0"})
                text.line(f"bad |= {at} - {at} != 0.0")
                text.end(1)
                text.line("if bad: return FAILED")
        self.size = text.size
        names = [x.name if isinstance(x, FlatMemory) else x.text for _, x in self.parameters.values()]
        names += [x.memory.name for _, x in self.results if isinstance(x, View)]
        names += ["w"] * bool(self.size)
        failed = f"FAILED = ({', '.join(['1', *(['0.0'] * len(numbers))])},)"
        lines = [f"def native({', '.join(names)}):", f"    {failed}", *text.lines]
        return "\n".join([*lines, f"    return ({', '.join(['0', *numbers])},)"]) + "\n"


class Body:
    """Reads the ops of a tape, or of the body of a loop, into the blocks of a Level."""

    def __init__(self, program: NativeProgram, tape: AnyTape, level: BlockLevel) -> None:
        self.program, self.level = program, level
        self.ops: list[Op] = list(tape)
        self.result = tape.result
        self.last = last_readers(self.ops, tape.result)
        self.values: dict[int, Any] = {}

    def read(self, ops: Sequence[Op]) -> None:
        """Take in those of the ops that are needed, one after the other."""
        needed = {self.result.id}
        for op in reversed(self.ops):
            if op.id in needed or stays(op):
                needed.update([op.id, *(v.id for v in op.references())])
        for op in ops:
            if op.id not in needed:
                continue
            self.program.ops += 1
            if self.program.ops > MOST_OPS:
                raise UnsupportedOp("so many ops")
            if isinstance(op, Call):
                try:
                    self.know(op, self.called(op))
                except UnsupportedOp as error:
                    error.site = error.site or op.site
                    raise
            elif op.id not in self.values:
                known = isinstance(op, Constant) and not isinstance(op.val, np.ndarray)
                self.know(op, op.val if known else _Outside(op))

    def know(self, op: Op, value: Any) -> None:
        """Note the value of an op, and whose memory it shows."""
        self.values[op.id] = value
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, tuple):
                raise UnsupportedOp("tuples in tuples")
            if isinstance(part, Computed):
                part.aliases.append((self, op.id))
            elif isinstance(part, View):
                part.memory.aliases.append((self, op.id))

    def value(self, x: Any) -> Any:
        """Return what an argument of an op is here."""
        if isinstance(x, Variable):
            found = self.values[x.id]
            if type(found) is not _Outside:
                return found
            if isinstance(found.op, Constant) and is_whole(found.op.val):
                return Known(found.op.val)
            return self.program.parameter(found.op, found.op, found.op.val)
        if type(x) is np.ndarray:
            return Known(x) if is_whole(x) else self.program.parameter(id(x), x, x)
        if type(x) in (tuple, list):
            return type(x)([self.value(part) for part in x])
        if isinstance(x, slice):
            return slice(*(self.value(part) for part in (x.start, x.stop, x.step)))
        return x

    def called(self, op: Call) -> Any:
        """The value of a call."""
        fn = op.fn
        if isinstance(fn, Variable):
            raise UnsupportedOp("a function that is computed")
        args = [self.value(x) for x in op.args]
        if isinstance(fn, Loop):
            return loop_value(self, op, *args)
        if fn is operator.add and isinstance(args[0], Affine) and type(op.val) is int:
            return args[0] + args[1]
        word = word_of(fn, len(args))
        if word is not None and not op.kwargs and not any([isinstance(x, (list, tuple)) for x in args]):
            return self.compute(op, word, [self.operand(x) for x in args])
        try:
            known = OPS.get(fn)
            if fn in STATIC:
                self.program.tested.add(op)
                return op.val
        except TypeError:
            known = None
        if known is None or op.guard:
            raise UnsupportedOp(callable_name(fn))
        try:
            return known(self, op, *args, **{k: self.value(x) for k, x in op.kwargs.items()})
        except TypeError as error:
            raise UnsupportedOp(f"{callable_name(fn)} called like this") from error

    # -- element by element

    def operand(self, x: Any) -> Any:
        """A number or an array as an operand."""
        if is_native_array(x) or isinstance(x, Scalar):
            return x
        return Scalar(f"float({x.text})") if isinstance(x, Affine) else number(x)

    def compute(self, op: Call, word: Word, operands: Sequence[Any]) -> Any:
        """The value of a word for numbers, or arrays."""
        if not _is_count(op) and _kind_of_value(op.val) != word.kind:
            raise UnsupportedOp("numbers of another kind")
        operands = [x if k in word.bools else self.as_float(x) for k, x in enumerate(operands)]
        if not isinstance(op.val, np.ndarray):
            numbers = [x if isinstance(x, Scalar) else self.item(x) for x in operands]
            check = word.raises if type(op.val) is float else ""
            made = self.level.number(word.template, *numbers, kind=word.kind, check=check)
            if op.guard:
                self.guard(op, made)
            return made
        if op.guard:
            raise UnsupportedOp("a decision on an array")
        self.program.elements += op.val.size
        self.program.slow += op.val.size if word.slow and not word.fast else 0
        flat = [x.number if isinstance(x, Splat) else x for x in operands]
        if all([isinstance(x, Scalar) for x in flat]):
            return Splat(self.level.number(word.template, *flat, kind=word.kind), op.val.shape)
        return self.level.let(word.fast or word.template, flat, op.val.shape, word.kind)

    def as_float(self, x: Any) -> Any:
        """An operand as a float, where it is a bool."""
        if isinstance(x, Splat):
            return replace(x, number=self.as_float(x.number))
        if x.kind == FLOAT:
            return x
        if isinstance(x, Scalar):
            return self.level.number("(1.0 if {0} else 0.0)", x)
        return self.level.let("(1.0 if {0} else 0.0)", [x], x.shape)

    def item(self, x: Any) -> Scalar:
        """The only element of an array."""
        return x.number if isinstance(x, Splat) else self.level.load(self.level.view(x))

    def guard(self, op: Call, made: Scalar) -> None:
        """End where a decision is another than it was."""
        self.program.tested.add(op)
        self.level.test("not {0}" if op.val else "{0}", made)

    # -- memory

    def view(self, x: Any) -> View:
        """An array as a view of memory; one that is a number everywhere is written out."""
        if not isinstance(x, Splat):
            return self.level.view(x)
        view = View.whole(self.level.memory(x.shape), x.shape, x.number.kind)
        if not x.blank:
            self.level.store(view, "=", x.number)
        return view

    def own(self, op: Call, x: Any) -> View:
        """The array `x`, the first argument of a store, in memory that the store may write."""
        if isinstance(x, Splat):
            return self.view(x)
        view = x.view if isinstance(x, Computed) else x
        mine = x.level if view is None else view.memory.owner if view.is_injective else None
        aliases = x.aliases if view is None else view.memory.aliases
        whole = view is None or view.is_whole
        if mine is self.level and (self.moved(aliases, op) if whole else not self.read_after(aliases, op)):
            return self.level.view(x)
        view = View.whole(self.level.memory(x.shape), x.shape, x.kind)
        self.level.store(view, "=", x)
        return view

    def moved(self, aliases: list[tuple[Any, int]], op: Call) -> bool:
        """Whether memory may be written, once those of its parts that are read after an op have copies."""
        later = [k for body, k in aliases if body is self and self.last[k] > op.id]
        if any([isinstance(self.values[k], tuple) for k in later]) or len(later) > 2:
            return False
        for k in later:
            part = self.values[k]
            self.values[k] = made = self.level.let("{0}", [self.level.view(part)], part.shape, part.kind)
            made.aliases.append((self, k))
        aliases[:] = [(body, k) for body, k in aliases if body is not self or k not in later]
        return True

    def read_after(self, aliases: Sequence[tuple[Any, int]], op: Call) -> bool:
        """Whether one of these values is read after an op."""
        return any([self.last[k] > op.id for body, k in aliases if body is self])


class _Outside:
    """An input or a constant that becomes a parameter where it is first read."""

    def __init__(self, op: Op) -> None:
        self.op = op


def _is_count(op: Call) -> bool:
    """Whether a small whole number is added to bools, as where elements that tie are counted: floats hold that."""
    known = [a for a in op.args if isinstance(a, (int, np.integer)) and not isinstance(a, bool) and 0 <= a < 100]
    bools = [v for v in op.references() if getattr(v.op.val, "dtype", None) == np.bool_]  # type: ignore[union-attr]
    return op.fn in (operator.add, np.add) and len(known) == len(bools) == 1


def _kind_of_value(value: Any) -> str:
    if type(value) in (float, np.float64) or (type(value) is np.ndarray and value.dtype == np.float64):
        return FLOAT
    if type(value) in (bool, np.bool_) or (type(value) is np.ndarray and value.dtype == np.bool_):
        return BOOL
    raise UnsupportedOp(f"a {getattr(value, 'dtype', type(value).__name__)}")
