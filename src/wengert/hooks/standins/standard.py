"""Stand-ins of C functions that the standard library also has in Python (PEP 399): that version, instrumented."""

from __future__ import annotations

import builtins
import collections
import functools
import gc
import importlib.util
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

from wengert.hooks.classes import as_traced
from wengert.hooks.code_swap import instrumented
from wengert.hooks.policy import Decision, decides_type, stand_in_call, stand_in_for
from wengert.hooks.standins import plain
from wengert.recording.recording import silent
from wengert.values.frames import STANDARD

COPIES: list[types.ModuleType] = []
"""The copies of standard modules without their C parts; their Python functions replace the C functions."""


@functools.cache
def _in_python(name: str) -> types.ModuleType:
    """Load a second copy of a standard module, without its C accelerator, when it is first needed."""

    def import_others(imported: str, *rest: Any) -> Any:
        if imported == f"_{name}":
            raise ImportError  # here alone: other threads import it meanwhile
        return __import__(imported, *rest)

    made = types.ModuleType(name)
    vars(made)["__builtins__"] = vars(builtins) | {"__import__": import_others}
    with silent():
        loader = importlib.util.find_spec(name).loader  # type: ignore[union-attr]
        exec(_at_caller(loader.get_code(name)), vars(made))  # type: ignore[union-attr]
    COPIES.append(made)
    return made


def _written_in_python(module: types.ModuleType, native: Any) -> Callable[[], Any]:
    """Return what returns the Python version of a C function of a module."""
    return lambda: getattr(_in_python(module.__name__), native.__name__)


def _at_caller(code: types.CodeType) -> types.CodeType:
    """Return code whose line numbers are those of its caller."""
    consts = tuple([_at_caller(part) if type(part) is types.CodeType else part for part in code.co_consts])
    return code.replace(co_filename=STANDARD, co_consts=consts)


@decides_type(operator.itemgetter, operator.attrgetter, operator.methodcaller)
def _of_getter(f: Any) -> Decision:
    return stand_in_call("It reads a part of its argument, which is recorded.", getter_in_python)


def getter_in_python(f: Any) -> Any:
    """Rebuild an `itemgetter`, `attrgetter` or `methodcaller` in Python."""
    made: Any = f.__reduce__()
    how, given = made[0], made[1]
    if not isinstance(how, type):  # a method caller with words
        return as_traced(_in_python("operator").methodcaller(*how.args, *given, **how.keywords))
    return as_traced(getattr(_in_python("operator"), type(f).__name__)(*given))


@decides_type(type(functools.cmp_to_key(operator.lt)))
def _of_order(f: Any) -> Decision:
    return stand_in_call("It compares by a function, which is traced.", _order_in_python)


def _order_in_python(f: Any) -> Any:
    """Rebuild a key function that `functools.cmp_to_key` made, in Python.

    Only the garbage collector can see its comparison function.
    """
    compare = next(part for part in gc.get_referents(f) if part is not type(f))
    return as_traced(_in_python("functools").cmp_to_key)(compare)


def shared(module: types.ModuleType) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs of a C function of a module and what returns its Python version."""
    for native in vars(module).values():
        if type(native) is types.BuiltinFunctionType and native.__module__ == f"_{module.__name__}":
            yield native, _written_in_python(module, native)


def _stands_in(native: Any, text: Callable[[], Any], **options: bool) -> None:
    stand_in_for(native, made=True, **options)(lambda _: instrumented(text()))


_stands_in(collections._count_elements, lambda: plain.count_elements)  # type: ignore[attr-defined]
_stands_in(operator.iconcat, lambda: plain.iconcat)
_stands_in(functools.cmp_to_key, _written_in_python(functools, functools.cmp_to_key))
for _native, _text in shared(operator):
    if _native not in (operator.index, operator.length_hint, operator.iconcat):  # the text does something else
        _stands_in(_native, _text, ruled=True)
