"""The table of hooks, and the generated hooks of operators.

Each operator has a function of its own, generated from a template: a shared body behind a closure would double the
cost of a hook (0.1 µs untraced, 0.4 µs recorded). A hook gets its first operand last, before the site: the rewritten
code rotates the stack (see `rewrite.emitter`).
"""

from __future__ import annotations

import builtins
import functools
import importlib
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks.attributes import (
    delete_attribute,
    get_attribute,
    prepare_module_named,
    set_attribute,
    super_attribute,
)
from wengert.hooks.classes import IMMUTABLE, python_method
from wengert.hooks.code_swap import HOOKS
from wengert.hooks.items import (
    build_dict,
    context,
    delete_item,
    get_item,
    guard_added_items,
    guard_added_key,
    guard_pattern_keys,
    iterable,
    make_set,
    mapping,
    set_item,
)
from wengert.hooks.matching import match_class_pattern
from wengert.hooks.operators import BINARY, COMPARISONS, INPLACE, UNARY, Binary
from wengert.hooks.protocols import binary, compare, contains, inplace, not_, not_contains, truth, unary
from wengert.hooks.search import note_made_text
from wengert.hooks.short_writes import sign_of_sum, update_entry, write_entry
from wengert.recording.caches import compared
from wengert.recording.decisions import made_text, raised
from wengert.recording.identity import is_, is_not
from wengert.recording.primitives import ShortForms, primitive_of
from wengert.recording.recorders import record_two
from wengert.recording.recording import C_ONLY_TYPES, OPERANDS, STATE, OpenCounts
from wengert.recording.shadow import SHADOW
from wengert.rewrite.rewriter import deeper
from wengert.values.frames import caught
from wengert.values.functional import additem, setitem
from wengert.values.names import lookup
from wengert.values.sites import Site
from wengert.values.specs import CERTAIN, FLOATS, MANY, NUMERIC, SCALARS

_BINARY = """
def {name}(right, left, site):
    i = get(id(left))
    j = get(id(right))
    if i is None and j is None:
        if type(left) in PLAIN and type(right) in OPERANDS:
            return left {symbol} right
    elif type(left) in SCALARS and type(right) in SCALARS:
        recording = STATE.fast
        if recording is not None:
            entries = recording.entries
            try:
                value = left {symbol} right
            except ArithmeticError as error:
                raised(recording, error, operator.{name}, (left, right), {{}})
                raise
            if type(value) in FLOATS:
                entry = (
                    (BOTH if j is not None else LEFT) if i is not None else RIGHT,
                    value, (i, j), (left, right), None, site)
                slot = len(entries)
                entries.append(entry)
                SHADOW[id(value)] = slot
                return value
    elif type(left) in NUMERIC and type(right) in NUMERIC and ndarray in C_ONLY_TYPES:
        recording = STATE.recording
        if recording is not None and recording.context is None:
            return record_two(recording, PRIMITIVE, left, right, i, j, site)
    STATE.site = site
    recording = STATE.fast
    if type(left) in NUMERIC and type(right) in NUMERIC and recording is not None:
        memory = recording.memory
        if not memory.holds_objects:
            i = memory.slot(left) if type(left) is ndarray else i
            j = memory.slot(right) if type(right) is ndarray else j
            if i is None and j is None:
                return left {symbol} right
            return record_two(recording, PRIMITIVE, left, right, i, j, site)
    return slow(left, right)
"""

_INPLACE = """
def {name}(right, left, site):
    if type(left) is ndarray:
        STATE.site, operands = site, (left, right)
        if ON_FLOATS and (recording := STATE.fast) is not None:
            if left.base is None or left is recording.memory.update[0]:
                if update_entry(recording, PRIMITIVE, SIGN, fn, operands, left, right):
                    return left
        recording = STATE.recording
        if recording is not None and PRIMITIVE and write_entry(recording, PRIMITIVE, fn, operands, left, operands):
            return left
        return slow(left, right)
"""

_COMPARE = """
def {name}(right, left, site):
    if type(left) in C_ONLY_TYPES and type(right) in C_ONLY_TYPES and not OpenCounts.tapes:
        return left {symbol} right
    STATE.site = site
    return slow(left, right)
"""

_EQUAL = """
def {name}(right, left, site):
    if type(left) in C_ONLY_TYPES and type(right) in C_ONLY_TYPES and not OpenCounts.tapes:
        value = left {symbol} right
        if value is not {unequal} and (
            (type(left) not in CERTAIN and type(right) not in CERTAIN)
            or (type(left) is int and not -MANY < left < MANY)
        ):
            STATE.site = site
            compared(left, right)
        return value
    STATE.site = site
    return slow(left, right)
"""

_UNARY = """
def {name}(a, site):
    i = get(id(a))
    if i is None:
        if type(a) in C_ONLY_TYPES:
            return {symbol}a
    elif type(a) in FLOATS:
        recording = STATE.fast
        if recording is not None:
            entries = recording.entries
            value = {symbol}a
            entry = ONE, value, (i,), (a,), None, site
            slot = len(entries)
            entries.append(entry)
            SHADOW[id(value)] = slot
            return value
    STATE.site = site
    return slow(a)
"""


def _hook(name: str, source: str, **names: Any) -> types.FunctionType:
    """Return the hook that `source` defines, with `names` among its globals.

    It is compiled at its first call: few operators occur in a program.
    """

    def compiled() -> types.FunctionType:
        with deeper():
            hook.__code__ = _code(source)
        return hook

    hook = types.FunctionType(_compile_first.__code__, _globals(names) | {"compiled": compiled}, name)
    return hook


@functools.cache
def _code(source: str) -> types.CodeType:
    code: types.CodeType = compile(source, "<wengert hook>", "exec").co_consts[0]
    return code


def _compile_first(*args: Any) -> Any:
    return compiled()(*args)  # type: ignore[name-defined]  # noqa: F821  # a global of each hook


def _globals(names: dict[str, Any]) -> dict[str, Any]:
    """Return the globals of a hook, with its own `names`."""
    return {
        "__builtins__": builtins,  # a warning of NumPy's looks for it, from Python 3.14 on
        "get": SHADOW.get,
        "SHADOW": SHADOW,
        "OPERANDS": OPERANDS,
        "PLAIN": OPERANDS,
        "C_ONLY_TYPES": C_ONLY_TYPES,
        "SCALARS": SCALARS,
        "FLOATS": FLOATS,
        "OpenCounts": OpenCounts,
        "NUMERIC": NUMERIC,
        "ndarray": np.ndarray,
        "record_two": record_two,
        "update_entry": update_entry,
        "write_entry": write_entry,
        "CERTAIN": CERTAIN | {str, bytes},
        "MANY": MANY,
        "compared": compared,
        "STATE": STATE,
        "operator": operator,
        "raised": raised,
        **names,
    }


_CONVERSIONS: dict[int, tuple[Callable[[Any], str], str]] = {
    1: (str, "__str__"),
    2: (repr, "__repr__"),
    3: (ascii, "__repr__"),
}


def convert(value: Any, how: int, site: Site | None) -> Any:
    """`str(value)`, `repr(value)` or `ascii(value)`."""
    STATE.site = site
    fn, name = _CONVERSIONS[how]
    method = python_method(type(value), name)
    if method is None and how == 1 and lookup(type(value), name) is object.__str__:
        method = python_method(type(value), "__repr__")
    text, recording = fn(value), STATE.recording
    return text if recording is None else note_made_text(recording, text, (value,), fn if method is None else None)


def format_field(value: Any, spec: str, site: Site | None) -> Any:
    """`format(value, spec)`."""
    STATE.site = site
    made = format if python_method(type(value), "__format__") is None else None
    text, recording = format(value, spec), STATE.recording
    return text if recording is None else note_made_text(recording, text, (value, spec), made)


def join(parts: tuple[str, ...], site: Site | None) -> str:
    """Join the parts of an f-string."""
    text = "".join(parts)
    recording = STATE.recording
    if recording is not None and recording.texts and any(id(part) in recording.texts for part in parts):
        recording.texts[id(text)] = text
        if recording.keep:
            made_text(recording, text, str.join, ("", parts))
    return text


def interpolation(expression: str, spec: str, value: Any, how: int, site: Site | None) -> Any:
    """Make a field of a t-string, which keeps its value unchanged."""
    templates: Any = importlib.import_module("string.templatelib")  # from Python 3.14
    return templates.Interpolation(value, expression, (None, "s", "r", "a")[how], spec)


def _slow(op: Binary) -> Callable[[Any, Any], Any]:
    return lambda left, right: binary(op, left, right)


def _slow_inplace(op: Binary) -> Callable[[Any, Any], Any]:
    return functools.partial(inplace, op, *INPLACE[op.name])


def _slow_compare(op: Binary) -> Callable[[Any, Any], Any]:
    return lambda left, right: compare(op, left, right)


def _slow_unary(fn: Any, method: str) -> Callable[[Any], Any]:
    return lambda a: unary(fn, method, a)


HOOKS |= {
    "getitem": get_item,
    "setitem": set_item,
    "delitem": delete_item,
    "truth": truth,
    "not_": not_,
    "contains": contains,
    "not_contains": not_contains,
    "is_": is_,
    "is_not": is_not,
    "getattr": get_attribute,
    "setattr": set_attribute,
    "delattr": delete_attribute,
    "super_getattr": super_attribute,
    "importing": prepare_module_named,
    "iterable": iterable,
    "mapping": mapping,
    "convert": convert,
    "format": format_field,
    "join": join,
    "context": context,
    "interpolation": interpolation,
    "match_class": match_class_pattern,
    "build_set": make_set,
    "build_map": build_dict,
    "match_keys": guard_pattern_keys,
    "added": guard_added_key,
    "added_all": guard_added_items,
    "caught": caught,
}

_RECORDING_HOOKS = {}


for _op in BINARY.values():
    _source = _BINARY.format(name=_op.name, symbol=_op.symbol)
    _iname = f"i{_op.name.rstrip('_')}"
    HOOKS[_op.name] = _RECORDING_HOOKS[_op.name] = _hook(_op.name, _source, slow=_slow(_op))
    HOOKS[_iname] = _RECORDING_HOOKS[_iname] = _hook(
        _iname,
        _INPLACE.format(name=_op.name) + _source.partition("site):\n")[2],
        fn=INPLACE[_op.name][0],
        slow=_slow_inplace(_op),
        PLAIN=IMMUTABLE,  # x += y is x + y on these types
    )


for _op in COMPARISONS.values():
    _unequal = {"eq": False, "ne": True}.get(_op.name)
    _source = (_COMPARE if _unequal is None else _EQUAL).format(name=_op.name, symbol=_op.symbol, unequal=_unequal)
    HOOKS[_op.name] = _hook(_op.name, _source, slow=_slow_compare(_op))


for _name, (_fn, _method) in UNARY.items():
    _source = _UNARY.format(name=_name, symbol={"neg": "-", "pos": "+", "invert": "~"}[_name])
    HOOKS[_name] = _hook(_name, _source, slow=_slow_unary(_fn, _method))


def bind_hooks() -> None:
    """Bind the hooks of operators to the current rules."""
    item = primitive_of(operator.getitem)
    ShortForms.item = None if item is None else item.bound(2, (True, False), ())
    plus, minus = primitive_of(operator.add), primitive_of(operator.neg)
    total = None if plus is None or plus.has_users_rule else primitive_of(additem)
    ShortForms.negative = None if minus is None or minus.has_users_rule else minus
    ShortForms.stores, ShortForms.sums = _forms_of_writes(primitive_of(setitem)), _forms_of_writes(total)
    for op in BINARY.values():
        primitive = primitive_of(op.fn)
        quick = primitive is not None and primitive.rule is not None and primitive.rule.kind == "partials"
        for name in (op.name, f"i{op.name.rstrip('_')}"):
            namespace = _RECORDING_HOOKS[name].__globals__
            namespace["SCALARS"] = SCALARS if quick else frozenset()
            namespace["NUMERIC"] = NUMERIC if primitive is not None and name == op.name else frozenset()
            namespace["PRIMITIVE"] = primitive
            namespace["ON_FLOATS"] = primitive is not None and primitive.on_floats and ShortForms.sums is not None
            namespace["SIGN"] = 0 if primitive is None else sign_of_sum(primitive)
            if quick and primitive is not None:
                for label, mask in (
                    ("BOTH", (True, True)),
                    ("LEFT", (True, False)),
                    ("RIGHT", (False, True)),
                ):
                    namespace[label] = primitive.scalar_bound(mask)
    for name, (fn, _) in UNARY.items():
        primitive = primitive_of(fn)
        namespace = HOOKS[name].__globals__
        quick = primitive is not None and primitive.on_floats  # not so for +x, which is x itself
        namespace["FLOATS"] = FLOATS if quick else frozenset()
        if quick and primitive is not None:
            namespace["ONE"] = primitive.scalar_bound((True,))


def _forms_of_writes(fn: Any) -> Any:
    """Return the bound forms of a functional write by whether the array and the value are traced, if it has a rule."""
    return fn and {(a, v): fn.bound(3, (a, False, v), ()) for a, v in ((True, False), (True, True), (False, True))}
