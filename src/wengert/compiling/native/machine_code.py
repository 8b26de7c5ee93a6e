"""Compile native code to machine code by LLVM, or read it from the disk, and load it."""

from __future__ import annotations

import ast
import ctypes
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from wengert.compiling.native.llvm import C_NAMES, INTRINSICS, SourceModule
from wengert.compiling.native.python_calls import add_entry, argument_types, python_function
from wengert.compiling.ops import math_functions
from wengert.values import kernel_cache

SPEED = 2  # of the levels from 0 to 3
MOST_STRAIGHT_LINES, PER_LINE_IN_LOOPS = 1500, 20
"""Lines outside of loops, and their ratio to those in loops, above which LLVM does not optimise the code."""


def to_machine_code(
    source: str, name: str, kinds: Sequence[str], about: str, symbols: Mapping[str, int], unlocked: bool = False
) -> Any:
    """Return a function of a source as a Python function; `symbols` are the addresses of others that it calls.

    `about` names the versions that the machine code depends on. If `unlocked`, it runs without the lock of the
    interpreter.
    """
    for symbol, address in symbols.items():
        llvm.add_symbol(symbol, address)
    key = "\n".join([about, cpu(), features(), name, *kinds, *["unlocked"] * unlocked, source])
    return load_code(kernel_cache.cached_bytes(key, lambda: object_code(source, name, kinds, unlocked)))


def object_code(source: str, name: str, kinds: Sequence[str], unlocked: bool) -> bytes:
    """Return the machine code of a function of a source."""
    module = ir.Module("native", ir.Context())
    is_straight = is_long_and_straight(source)
    sources, machine = SourceModule(module, source, is_straight), target_machine(0 if is_straight else SPEED)
    module.triple, module.data_layout = llvm.get_process_triple(), str(machine.target_data)
    native = sources.function(name, argument_types(kinds))
    add_entry(module, native, kinds, unlocked)
    parsed = llvm.parse_assembly(str(module))
    options = llvm.create_pipeline_tuning_options(SPEED)
    options.loop_vectorization, options.slp_vectorization = True, False
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(parsed, passes)
    made: bytes = machine.emit_object(parsed)
    return made


def is_long_and_straight(source: str) -> bool:
    """Whether a source runs many lines once: to optimise them takes many seconds, and saves a few microseconds."""
    functions = [each for each in ast.parse(source).body if isinstance(each, ast.FunctionDef)]
    in_loops = sum([_lines(each) for f in functions for each in f.body if isinstance(each, (ast.For, ast.While))])
    straight = sum(map(_lines, functions)) - in_loops
    return straight > max(MOST_STRAIGHT_LINES, PER_LINE_IN_LOOPS * in_loops)


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or 0) - node.lineno


def load_code(code: bytes) -> Any:
    """Return the Python function of machine code."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return python_function(engine)


def target_machine(speed: int = SPEED) -> Any:
    """Return a description of this processor, which an engine comes to own."""
    initialize()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    reloc = "static" if target.name.startswith("x86") else "default"
    return target.create_target_machine(
        cpu=cpu(), features=features(), opt=speed, reloc=reloc, codemodel="jitdefault", jit=True
    )


@cache
def initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    if sys.platform == "win32":  # where other libraries may define them, too
        library = ctypes.CDLL("ucrtbase")
        names = [C_NAMES.get(name, name) for name in (*INTRINSICS, *math_functions())]
        for name in [name for name in names if hasattr(library, name)]:
            llvm.add_symbol(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)


@cache
def cpu() -> str:
    return str(llvm.get_host_cpu_name())


@cache
def features() -> str:
    return str(llvm.get_host_cpu_features().flatten())
