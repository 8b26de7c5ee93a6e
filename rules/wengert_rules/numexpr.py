"""Programs that numexpr compiled from expressions: NumPy computes their instructions, one by one."""

from __future__ import annotations

import operator
import re
from typing import Any

import numpy as np
from numexpr import disassemble, interpreter

from wengert.extend import RefusedCallError, stands_for, unseen

DTYPES = {
    "b": np.bool_, "i": np.int32, "l": np.int64, "f": np.float32, "d": np.float64, "c": np.complex128, "s": np.bytes_,
}  # fmt: skip
FUNCTIONS = {
    (kinds, code): what
    for name, code in interpreter.funccodes.items()
    for what, kinds in [name.decode().rsplit("_", 1)]
}
"""The names of functions, which are NumPy's, by their types and their number."""


@stands_for(interpreter.NumExpr.__call__)
def run(program, /, *args, out=None, order="K", casting="safe", ex_uses_vml=False, **options):
    """Run the compiled program of `numexpr.evaluate` on the values of the names in the expression."""
    registers = {}
    for k, (x, kind) in enumerate(zip(args, program.signature.decode(), strict=True), 1):
        registers["r", k] = in_type(x, kind)
    for k, (x, kind) in enumerate(zip(program.constants, program.constsig.decode(), strict=True), 1 + len(args)):
        registers["c", k] = x if kind == "s" else DTYPES[kind](x)
    for name, target, *operands in disassemble(program):
        if name != b"noop":
            values = [registers[register(x)] if isinstance(x, bytes) else x for x in operands]
            registers[register(target)] = computed(name.decode(), values)
    made = np.asarray(registers["r", 0], order=order)
    if out is None:
        return made
    unseen(program, *args, out=np.array(out), order=order, casting=casting, ex_uses_vml=ex_uses_vml, **options)
    np.copyto(out, made, casting=casting)
    return out


def in_type(x, kind):
    """A number or array in the type of this letter."""
    x = np.asarray(x)
    return x if kind == "s" or x.dtype == DTYPES[kind] else x.astype(DTYPES[kind])


def register(name):
    """The kind and the number of a register that is shown as `c2[1.0]`."""
    kind, number, *_ = re.split(r"([0-9]+)", name.decode(), maxsplit=1)
    return kind, int(number)


def computed(name, values):
    """The result of an instruction such as `add_ddd`, whose letters are the types of the result and the operands."""
    what, kinds = name.rsplit("_", 1)
    if what == "func":
        *values, code = values[: len(kinds) - 1]
        what = FUNCTIONS[kinds.rstrip("n"), code]
        f = OPERATIONS.get(what) or getattr(np, what)
    elif what == "cast":
        return in_type(values[0], kinds[0])
    elif what in REDUCTIONS:
        return in_type(REDUCTIONS[what](values[0], axis=values[1]), kinds[0])
    elif kinds[0] in "il" and what in OF_INTEGERS:
        f = OF_INTEGERS[what]
    else:
        f = OPERATIONS.get(what)
    if f is None:
        raise RefusedCallError(f"numexpr's instruction {name} has no derivative here. Write this part in NumPy.")
    return in_type(f(*values[: len(kinds) - 1]), kinds[0])


def quotient(a, b):
    """The quotient of integers as C has it, and 0 where it has none."""
    divisor = np.where(b == 0, 1, b)
    return np.where(b == 0, 0, (a - np.fmod(a, divisor)) // divisor)


def remainder(a, b):
    return np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b)))


OPERATIONS: dict[str, Any] = {
    "copy": np.array, "ones_like": np.ones_like, "neg": operator.neg, "add": operator.add, "sub": operator.sub,
    "mul": operator.mul, "div": operator.truediv, "mod": np.fmod, "pow": operator.pow, "sqrt": np.sqrt,
    "floordiv": lambda a, b: np.floor(a / b), "where": np.where, "eq": operator.eq, "ne": operator.ne,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "and": operator.and_,
    "or": operator.or_, "xor": operator.xor, "invert": operator.invert, "real": np.real, "imag": np.imag,
    "complex": lambda a, b: a + 1j * b,
}  # fmt: skip
OF_INTEGERS: dict[str, Any] = {
    "div": quotient,
    "mod": remainder,
    "floordiv": None,
    "pow": None,
    "lshift": None,
    "rshift": None,
}
REDUCTIONS: dict[str, Any] = {"sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max}
