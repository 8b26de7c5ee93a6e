"""Write and make the function by which Python calls native code, as C extensions define functions.

It passes on numbers and the memory of arrays, and returns a tuple of numbers. If an argument is not what native code
expects, such as an array that is not aligned, the first number is 1: the call failed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from wengert.compiling.native.lapack import LAPACK

FLOAT, INT, BYTE, POINTER = ir.DoubleType(), ir.IntType(64), ir.IntType(8), ir.IntType(8).as_pointer()
C_INT = ir.IntType(32)
NUMBER, PLACES, WRITE = "NUMBER", "PLACES", "WRITE"  # kinds of parameters; READ is another
FUNCTION = "FUNCTION"  # a function of Python without arguments
COMPLEX, WRITE_COMPLEX = "COMPLEX", "WRITE_COMPLEX"  # memory of complex numbers, as pairs of floats

HEAD = object.__basicsize__  # bytes of the head of each object; the last word of it is the type
DATA, FLAGS, DTYPE = HEAD, HEAD + 48, HEAD + 40  # of an array, as NumPy's C interface defines them
BYTE_ORDER, TYPE_NUMBER = HEAD + 10, HEAD + 12  # of a dtype
CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
FASTCALL = 0x80
MOST_ARGUMENTS = 200  # of a function whose entry LLVM optimises
C_FUNCTIONS = {
    "PyFloat_AsDouble": (FLOAT, [POINTER]),
    "PyErr_Occurred": (POINTER, []),
    "PyErr_Clear": (ir.VoidType(), []),
    "PyFloat_FromDouble": (POINTER, [FLOAT]),
    "PyLong_FromLongLong": (POINTER, [INT]),
    "PyTuple_New": (POINTER, [INT]),
    "PyTuple_SetItem": (C_INT, [POINTER, INT, POINTER]),
    "PyEval_SaveThread": (POINTER, []),
    "PyEval_RestoreThread": (ir.VoidType(), [POINTER]),
    "PyObject_CallNoArgs": (POINTER, [POINTER]),
    "Py_DecRef": (ir.VoidType(), [POINTER]),
}
"""Functions of CPython that the function calls, by the types of their results and parameters."""

ADDRESSES = "python_addresses"
"""A global variable of the machine code: the addresses of C_FUNCTIONS, and of the class of arrays."""


def argument_types(kinds: Sequence[str]) -> list[Any]:
    """Return the types of LLVM of parameters of native code."""
    known = {NUMBER: FLOAT, PLACES: INT.as_pointer(), FUNCTION: POINTER}
    return [known.get(kind, FLOAT.as_pointer()) for kind in kinds]


def address(module: Any, builder: Any, k: int) -> Any:
    """Load one of the addresses."""
    table = ir.ArrayType(POINTER, len(C_FUNCTIONS) + 1)
    addresses = module.globals.get(ADDRESSES) or ir.GlobalVariable(module, table, ADDRESSES)
    addresses.initializer = ir.Constant(table, None)
    return builder.load(builder.gep(addresses, [INT(0), INT(k)]))


def call_cpython(module: Any, builder: Any, name: str, args: Sequence[Any]) -> Any:
    """Call a function of CPython."""
    kind = ir.FunctionType(*C_FUNCTIONS[name]).as_pointer()
    return builder.call(builder.bitcast(address(module, builder, [*C_FUNCTIONS].index(name)), kind), args)


def has_raised(module: Any, builder: Any, function: Any) -> Any:
    """Call a function of Python without arguments, drop its result, and return whether it raised an exception."""
    found = call_cpython(module, builder, "PyObject_CallNoArgs", [function])
    failed = builder.icmp_unsigned("==", found, ir.Constant(POINTER, None))
    with builder.if_then(builder.not_(failed)):
        call_cpython(module, builder, "Py_DecRef", [found])
    return failed


def call_routine(module: Any, builder: Any, name: str, args: Sequence[Any]) -> Any:
    """Call a routine of LAPACK or BLAS, numbers by reference; return the `info` of LAPACK."""
    args = [builder.trunc(x, C_INT) if x.type == INT else x for x in args]
    kinds = [x.type for x in args] + [C_INT] * name.startswith(LAPACK)
    with builder.goto_entry_block():
        places = [builder.alloca(kind) for kind in kinds if not kind.is_pointer]
    given, free = [], iter(places)
    for x in args:
        place = x if x.type.is_pointer else next(free)
        if place is not x:
            builder.store(x, place)
        given.append(place)
    given += free
    kind = ir.FunctionType(ir.VoidType(), [POINTER] * len(given))
    routine = module.globals.get(name) or ir.Function(module, kind, name)
    builder.call(routine, [builder.bitcast(place, POINTER) for place in given])
    return builder.sext(builder.load(given[-1]), INT) if name.startswith(LAPACK) else None


def call_native(builder: Any, function: Any, args: Sequence[Any]) -> Any:
    """Call a function of a source; return what it returns, or a tuple of all results if it writes some to memory."""
    if function.results is None:
        return builder.call(function, args)
    with builder.goto_entry_block():
        memory = builder.alloca(function.results)
    first = builder.call(function, [*args, memory])
    return first, *[builder.load(place_of_result(builder, memory, k)) for k in range(len(function.results.elements))]


def place_of_result(builder: Any, memory: Any, k: int) -> Any:
    """Return the address of a result in the memory for them; the first one is no part of it."""
    return builder.gep(memory, [ir.IntType(32)(0), ir.IntType(32)(k)], inbounds=True)


def leave_unoptimised(function: Any) -> None:
    """Let LLVM translate a function as it is, in a time linear in its length."""
    function.attributes.add("noinline")
    function.attributes.add("optnone")


def add_entry(module: Any, native: Any, kinds: Sequence[str], unlocked: bool) -> None:
    """Add the function `entry(self, args, count)` to a module of LLVM; it calls `native`.

    If `unlocked`, that runs without the lock of the interpreter.
    """
    _Entry(module, native, kinds, unlocked)


class _Entry:
    """Writes the function. To keep it short, it calls a function for each argument, which notes failures."""

    def __init__(self, module: Any, native: Any, kinds: Sequence[str], unlocked: bool) -> None:
        self.module = module
        self.readers: dict[str, Any] = {}
        function = self.begin("entry", ir.FunctionType(POINTER, [POINTER, POINTER.as_pointer(), INT]))
        if len(kinds) > MOST_ARGUMENTS:
            leave_unoptimised(function)
        build = self.builder
        has_failed = build.alloca(C_INT)
        build.store(C_INT(0), has_failed)
        then, failure = map(function.append_basic_block, ("then", "failure"))
        read = function.append_basic_block("read")
        build.cbranch(build.icmp_signed("==", function.args[2], INT(len(kinds))), read, failure)
        build.position_at_end(read)
        args = []
        for k, kind in enumerate(kinds):
            given = build.load(build.gep(function.args[1], [INT(k)]))
            args.append(build.call(self.reader(kind), [given, has_failed]))
        build.cbranch(build.icmp_signed("==", build.load(has_failed), C_INT(0)), then, failure)
        build.position_at_end(then)
        thread = self.call("PyEval_SaveThread") if unlocked else None
        found = call_native(build, native, args)
        if native.results is None:
            found = [build.extract_value(found, k) for k in range(len(native.function_type.return_type.elements))]
        if unlocked:
            self.call("PyEval_RestoreThread", thread)
        if FUNCTION in kinds:
            null = ir.Constant(POINTER, None)
            with build.if_then(build.icmp_unsigned("!=", self.call("PyErr_Occurred"), null)):
                build.ret(null)
        self.return_tuple(found)
        build.position_at_end(failure)
        self.call("PyErr_Clear")
        self.return_tuple([INT(1), *[ir.Constant(FLOAT, 0.0)] * (len(found) - 1)])

    def begin(self, name: str, kind: Any) -> Any:
        """Begin a function."""
        function = ir.Function(self.module, kind, name)
        self.builder = ir.IRBuilder(function.append_basic_block("begin"))
        return function

    def reader(self, kind: str) -> Any:
        """Return the function that reads an argument of a kind."""
        if kind not in self.readers:
            outer, (result,) = self.builder, argument_types([kind])
            function = self.begin(f"read_{kind}", ir.FunctionType(result, [POINTER, C_INT.as_pointer()]))
            function.linkage = "internal"
            function.attributes.add("noinline")
            x, has_failed = function.args
            self.failure = function.append_basic_block("failure")
            self.builder.ret(x if kind == FUNCTION else self.number(x) if kind == NUMBER else self.memory(x, kind))
            self.builder.position_at_end(self.failure)
            self.builder.store(C_INT(1), has_failed)
            self.builder.ret(ir.Constant(result, 0.0 if kind == NUMBER else None))
            self.readers[kind], self.builder = function, outer
        return self.readers[kind]

    def require(self, condition: Any) -> None:
        """Continue if a condition holds; else the argument cannot be read."""
        then = self.builder.append_basic_block("then")
        self.builder.cbranch(condition, then, self.failure)
        self.builder.position_at_end(then)

    def call(self, name: str, *args: Any) -> Any:
        """Call a function of CPython."""
        return call_cpython(self.module, self.builder, name, args)

    def part(self, x: Any, offset: int, kind: Any) -> Any:
        """Return a part of an object in memory."""
        return self.builder.load(self.builder.bitcast(self.builder.gep(x, [INT(offset)]), kind.as_pointer()))

    def number(self, x: Any) -> Any:
        """Return an argument as a float; -1.0 may mean that this failed."""
        made = self.call("PyFloat_AsDouble", x)
        with self.builder.if_then(self.builder.fcmp_ordered("==", made, ir.Constant(FLOAT, -1.0))):
            self.require(self.builder.icmp_unsigned("==", self.call("PyErr_Occurred"), ir.Constant(POINTER, None)))
        return made

    def memory(self, x: Any, kind: str) -> Any:
        """Return the memory of an array."""
        build, flags = self.builder, CONTIGUOUS | ALIGNED | (WRITEABLE if kind in (WRITE, WRITE_COMPLEX) else 0)
        dtype = np.dtype({PLACES: np.int64, COMPLEX: np.complex128, WRITE_COMPLEX: np.complex128}.get(kind, np.float64))
        array_class = address(self.module, build, len(C_FUNCTIONS))
        self.require(build.icmp_unsigned("==", self.part(x, HEAD - 8, POINTER), array_class))
        found = self.part(x, DTYPE, POINTER)
        self.require(build.icmp_signed("==", self.part(found, TYPE_NUMBER, C_INT), C_INT(dtype.num)))
        self.require(build.icmp_signed("==", self.part(found, BYTE_ORDER, BYTE), BYTE(ord(dtype.byteorder))))
        self.require(build.icmp_signed("==", build.and_(self.part(x, FLAGS, C_INT), C_INT(flags)), C_INT(flags)))
        return self.part(x, DATA, (INT if kind == PLACES else FLOAT).as_pointer())

    def return_tuple(self, numbers: Sequence[Any]) -> None:
        made = self.call("PyTuple_New", INT(len(numbers)))
        with self.builder.if_then(self.builder.icmp_unsigned("==", made, ir.Constant(POINTER, None))):
            self.builder.ret(made)
        for k, x in enumerate(numbers):
            item = self.call("PyFloat_FromDouble" if x.type == FLOAT else "PyLong_FromLongLong", x)
            self.call("PyTuple_SetItem", made, INT(k), item)
        self.builder.ret(made)


class _Definition(ctypes.Structure):
    """A definition of a function, as CPython reads it."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    )


def python_function(engine: Any) -> Any:
    """Return the function of loaded machine code, which keeps its engine."""
    addresses = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in C_FUNCTIONS]
    table = (ctypes.c_void_p * (len(C_FUNCTIONS) + 1)).from_address(engine.get_global_value_address(ADDRESSES))
    table[:] = [*addresses, id(np.ndarray)]
    definition = _Definition(b"native", engine.get_function_address("entry"), FASTCALL, None)
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )
    return new(ctypes.addressof(definition), (engine, definition), None)
