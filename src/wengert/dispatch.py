"""The hooks of operators, items, attributes and iteration: Python's own protocols, entering the user's methods.

The hooks of binary operators are generated, one function each: a shared body behind a closure would cost as much again
as the hook itself (0.1 µs untraced, 0.4 µs recorded).
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.opaque import CARRIER_TYPES, opaque, remember, search
from wengert.operators import BINARY, COMPARE, INPLACE, UNARY, Binary
from wengert.record import NUMERIC, as_array, holds_traced, record_call, record_two, slot_of
from wengert.recording import PLAIN, STATE, Modes, Primitive, primitive_of
from wengert.registry import rules
from wengert.shadow import SHADOW, hold
from wengert.sites import Site
from wengert.values import spec_of
from wengert.writes import record_store, record_write

FAST = {float, np.float64, int}
FLOATS = {float, np.float64}
IMMUTABLE = {float, int, bool, complex, str, bytes, tuple, np.float64, np.float32, np.complex128, np.int64}

_MISSING = object()
_methods: dict[tuple[type, str], Any] = {}


def enter(f: Any) -> Any:
    """The twin of a callable, by the resolver of this thread's recording; itself where nothing records."""
    recording = STATE.recording
    return f if recording is None else recording.enter(f)


def lookup(t: type, name: str) -> Any:
    """What a class defines under a name, undecorated by descriptors; None where it does not."""
    for base in t.__mro__:
        found = base.__dict__.get(name, _MISSING)
        if found is not _MISSING:
            return found
    return None


def python_method(t: type, name: str) -> Any:
    """The method of a class if it is written in Python, else None."""
    key = (t, name)
    found = _methods.get(key, _MISSING)
    if found is _MISSING:
        found = None if t in PLAIN or t is np.ndarray else lookup(t, name)
        if isinstance(
            found, (types.WrapperDescriptorType, types.MethodDescriptorType, types.BuiltinFunctionType)
        ):
            found = None
        _methods[key] = found
    return found


def forget_classes() -> None:
    """Drop what was learnt of classes; they may change between two traces."""
    _methods.clear()
    for t in [t for t in _plain_attributes if t not in _NUMERIC]:
        del _plain_attributes[t]


# -- operators ------------------------------------------------------------------------------------------------------

_BINARY = """
def {name}(right, left, site):
    i = get(id(left))
    j = get(id(right))
    if i is None and j is None:
        if type(left) in {plain} and type(right) in PLAIN{unless}:
            return left {symbol} right
    elif type(left) in FAST and type(right) in FAST and not Modes.shared:
        entries = STATE.quick
        if entries is not None:
            value = left {symbol} right
            if type(value) in FLOATS:
                SHADOW[id(value)] = len(entries)
                entries.append((
                    (BOTH if j is not None else LEFT) if i is not None else RIGHT,
                    value, (i, j), (left, right), None, site))
                return value
    elif {quick}type(left) in NUMERIC and type(right) in NUMERIC and not Modes.shared and STATE.quick is not None and (
            ndarray in PLAIN):
        STATE.site = site
        return record_two(PRIMITIVE, left, right, i, j)
    STATE.site = site
    return slow(left, right)
"""

_COMPARE = """
def {name}(right, left, site):
    if type(left) in PLAIN and type(right) in PLAIN and not Modes.guarding:
        return left {symbol} right
    STATE.site = site
    return slow(left, right)
"""

_UNARY = """
def {name}(a, site):
    i = get(id(a))
    if i is None:
        if type(a) in PLAIN:
            return {symbol}a
    elif type(a) in FLOATS and not Modes.shared:
        entries = STATE.quick
        if entries is not None:
            value = {symbol}a
            SHADOW[id(value)] = len(entries)
            entries.append((ONE, value, (i,), (a,), None, site))
            return value
    STATE.site = site
    return slow(a)
"""


def _generate(template: str, name: str, **names: Any) -> Callable[..., Any]:
    unless = " and type(left) is not str" if name in ("add", "mod", "iadd", "imod") else ""
    plain = names.pop("plain", "PLAIN")
    quick = "" if plain == "PLAIN" else "False and "
    source = template.format(name=name, symbol=names.pop("symbol"), unless=unless, plain=plain, quick=quick)
    namespace = {
        "get": SHADOW.get,
        "SHADOW": SHADOW,
        "PLAIN": PLAIN,
        "FAST": FAST,
        "FLOATS": FLOATS,
        "Modes": Modes,
        "IMMUTABLE": IMMUTABLE,
        "NUMERIC": NUMERIC,
        "ndarray": np.ndarray,
        "record_two": record_two,
        "STATE": STATE,
        **names,
    }
    exec(compile(source, f"<wengert hook {name}>", "exec"), namespace)
    hook: Callable[..., Any] = namespace[name]
    return hook


def _protocol(op: Binary, left: Any, right: Any) -> Any:
    """A binary operator of which an operand's class is written in Python: Python's order of trying."""
    tl, tr = type(left), type(right)
    first, second = lookup(tl, op.method), lookup(tr, op.reflected)
    tries = [(first, left, right), (second, right, left)]
    if tl is tr:
        del tries[1]
    elif issubclass(tr, tl) and second is not None and second is not lookup(tl, op.reflected):
        tries.reverse()
    for method, a, b in tries:
        if method is None:
            continue
        value = (
            bind(method, a)(b)
            if python_method(type(a), op.method if a is left else op.reflected)
            else _native(op, method, a, b)
        )
        if value is not NotImplemented:
            return value
    raise TypeError(f"unsupported operand type(s) for {op.symbol}: {tl.__name__!r} and {tr.__name__!r}")


def _native(op: Binary, method: Any, a: Any, b: Any) -> Any:
    """The C method of one operand, given an operand whose class is written in Python."""
    if (
        isinstance(a, np.ndarray)
        and getattr(b, "__array_ufunc__", True) is not None
        and not isinstance(b, np.ndarray)
    ):
        recording = STATE.recording
        if recording is not None and (slot_of(recording, a) is not None or search(recording, (b,))):
            raise recording.refuse(
                RefusedCallError(
                    f"{STATE.site}: NumPy would take {type(b).__name__} apart in {op.symbol} with an array. "
                    "Set __array_ufunc__ = None in the class, so that its own methods are called."
                )
            )
    return method(a, b)


def bind(method: Any, obj: Any) -> Any:
    """A method found in a class, bound to an object by the descriptor protocol, entered."""
    if isinstance(method, types.FunctionType):
        return types.MethodType(enter(method), obj)
    get = lookup(type(method), "__get__")
    return enter(method if get is None else method.__get__(obj, type(obj)))


def binary(op: Binary, left: Any, right: Any) -> Any:
    """`left op right`, recorded where an operand is traced."""
    tl, tr = type(left), type(right)
    if tl in NUMERIC and tr in NUMERIC and STATE.quick is not None and not Modes.shared:
        return _numeric(op, left, right)
    if python_method(tl, op.method) or python_method(tr, op.reflected):
        return _protocol(op, left, right)
    recording = STATE.recording
    if recording is None:
        return op.fn(left, right)
    if tl is str and op.name in ("add", "mod"):
        return remember(recording, op.fn(left, right), (left, right))
    if slot_of(recording, left) is None and slot_of(recording, right) is None:
        numeric = isinstance(left, (np.ndarray, np.generic)) or isinstance(right, (np.ndarray, np.generic))
        if not (
            numeric
            and (
                (type(left) in (list, tuple) and holds_traced(left))
                or (type(right) in (list, tuple) and holds_traced(right))
            )
        ):
            return op.fn(left, right)
    primitive = primitive_of(op.fn)
    if primitive is None:
        return opaque(recording, op.fn, (left, right), {})
    return record_call(primitive, (left, right), {})


def _numeric(op: Binary, left: Any, right: Any) -> Any:
    """`left op right` of arrays and numbers, while traced memory has been written."""
    recording = STATE.recording
    assert recording is not None
    i, j = slot_of(recording, left), slot_of(recording, right)
    if i is None and j is None:
        return op.fn(left, right)
    return record_two(_constant(op.fn), left, right, i, j)


def inplace(op: Binary, fn: Callable[[Any, Any], Any], method: str, left: Any, right: Any) -> Any:
    """`left op= right`."""
    t = type(left)
    found = python_method(t, method)
    if found is not None:
        value = bind(found, left)(right)
        return _protocol(op, left, right) if value is NotImplemented else value
    recording = STATE.recording
    if recording is None:
        return fn(left, right)
    if isinstance(left, np.ndarray):
        if python_method(type(right), op.reflected):
            return _protocol(op, left, right)
        if type(right) in (list, tuple) and holds_traced(right):
            right = as_array(right)
        primitive = primitive_of(op.fn)
        if primitive is None:
            return opaque(recording, fn, (left, right), {})
        return record_write(primitive, lambda: fn(left, right), left, (left, right), {})
    if t is list and isinstance(right, np.ndarray):
        left += iterable(right, STATE.site)
        return left
    if lookup(t, method) is not None:
        return fn(left, right)
    return binary(op, left, right)


def compare(op: Binary, left: Any, right: Any) -> Any:
    """`left op right` for a comparison."""
    if python_method(type(left), op.method) or python_method(type(right), op.reflected):
        return _compare_protocol(op, left, right)
    recording = STATE.recording
    if recording is None or not recording.keep:
        return op.fn(left, right)
    if slot_of(recording, left) is None and slot_of(recording, right) is None:
        return op.fn(left, right)
    return record_call(_constant(op.fn), (left, right), {})


def _compare_protocol(op: Binary, left: Any, right: Any) -> Any:
    tl, tr = type(left), type(right)
    tries = [(left, op.method, right), (right, op.reflected, left)]
    if tr is not tl and issubclass(tr, tl):
        tries.reverse()
    for a, name, b in tries:
        method = python_method(type(a), name)
        value = bind(method, a)(b) if method else getattr(type(a), name)(a, b)
        if value is not NotImplemented:
            return value
    if op.name in ("eq", "ne"):
        return (left is right) == (op.name == "eq")
    raise TypeError(f"{op.symbol!r} not supported between instances of {tl.__name__!r} and {tr.__name__!r}")


def _constant(fn: Any) -> Primitive:
    primitive = primitive_of(fn)
    return Primitive(fn, rules[fn]) if primitive is None else primitive


def unary(fn: Callable[[Any], Any], method: str, a: Any) -> Any:
    """`-a`, `+a`, `~a`."""
    found = python_method(type(a), method)
    if found is not None:
        return bind(found, a)()
    recording = STATE.recording
    if recording is None or slot_of(recording, a) is None:
        return fn(a)
    return record_call(_constant(fn), (a,), {})


def truth(a: Any, site: Site | None) -> bool:
    """The truth value of an object, as a test reads it; a guard where it depends on an input."""
    if a is True or a is False or a is None:
        return a is True
    t = type(a)
    if t in PLAIN and not Modes.guarding:
        return bool(a)
    STATE.site = site
    method = python_method(t, "__bool__")
    if method is None and lookup(t, "__bool__") is None:
        method = python_method(t, "__len__")
    if method is not None:
        value = bind(method, a)()
        return value if isinstance(value, bool) else operator.truth(value)
    recording = STATE.recording
    if recording is None or not recording.keep or slot_of(recording, a) is None:
        return bool(a)
    value = record_call(_constant(bool), (a,), {})
    return bool(value)


def not_(a: Any, site: Site) -> bool:
    """`not a`."""
    return not truth(a, site)


def contains(right: Any, left: Any, site: Site) -> bool:
    """`left in right`."""
    t = type(right)
    if t in PLAIN and not Modes.guarding:
        return left in right
    STATE.site = site
    method = python_method(t, "__contains__")
    if method is not None:
        return truth(bind(method, right)(left), site)
    recording = STATE.recording
    if recording is not None and recording.keep:
        if isinstance(right, np.ndarray) and (
            slot_of(recording, right) is not None or slot_of(recording, left) is not None
        ):
            return bool(record_call(_constant(operator.contains), (right, left), {}))
        if t in (list, tuple) and (slot_of(recording, left) is not None or holds_traced(right)):
            return any(left is item or truth(compare(COMPARE["eq"], item, left), site) for item in right)
    return left in right


def not_contains(right: Any, left: Any, site: Site) -> bool:
    """`left not in right`."""
    return not contains(right, left, site)


# -- items ----------------------------------------------------------------------------------------------------------

_ITEMS = {list, tuple, dict, bytes, range}


def getitem(key: Any, container: Any, site: Site) -> Any:
    """`container[key]`."""
    t = type(container)
    if t in _ITEMS:
        return container[key]
    if t is np.ndarray:
        slot = SHADOW.get(id(container))
        if t in PLAIN:
            if slot is None and id(key) not in SHADOW:
                return container[key]
            if slot is not None and type(key) in _BASIC and STATE.quick is not None and not Modes.shared:
                return _record_item(container, key, slot, site)
        elif type(key) in _BASIC and STATE.quick is not None and not Modes.shared:
            STATE.site = site
            slot = STATE.recording.memory.slot(container)  # type: ignore[union-attr]
            return container[key] if slot is None else _record_item(container, key, slot, site)
    STATE.site = site
    return _subscript(container, key)


def _record_item(container: np.ndarray, key: Any, slot: int, site: Site) -> Any:
    """Record an integer or slice of an array whose memory has not been written."""
    value = container[key]
    recording = STATE.recording
    assert recording is not None
    entries = recording.entries
    strong = recording.keep or type(value) is not np.ndarray
    if (
        strong
        and type(value) is not np.float64
        and type(value) is not np.ndarray
        or container.dtype.kind not in "fc"
        or (recording.inert)
    ):
        STATE.site = site
        return record_call(_constant(operator.getitem), (container, key), {})
    kept = recording.specs.get(slot)
    if kept is None:
        kept = recording.specs[slot] = spec_of(container)
    place = len(entries)
    if recording.memory.storages and type(value) is np.ndarray:
        recording.memory.add_view(value, place)
    entries.append(
        (
            Quick.item,
            hold(value, place, strong),
            (slot, None),
            (container if recording.keep else kept, key),
            None,
            site,
        )
    )
    return value


_BASIC = {int, slice}


def _subscript(container: Any, key: Any) -> Any:
    t = type(container)
    method = python_method(t, "__getitem__")
    if method is not None:
        return bind(method, container)(key)
    recording = STATE.recording
    if t is str:
        return container[key] if recording is None else remember(recording, container[key], (container,))
    if recording is None or not isinstance(container, (np.ndarray, np.generic)):
        if t is dict or not issubclass(t, dict) or key in container:
            return container[key]
        missing = python_method(t, "__missing__")
        if missing is not None:
            return bind(missing, container)(key)
        factory = getattr(container, "default_factory", None)
        if factory is not None and isinstance(factory, types.FunctionType):
            value = container[key] = enter(factory)()
            return value
        return container[key]
    return record_call(_constant(operator.getitem), (container, key), {})


def setitem(container: Any, key: Any, value: Any, site: Site) -> None:
    """`container[key] = value`."""
    t = type(container)
    if t is list or t is dict:
        container[key] = value
        return
    STATE.site = site
    if isinstance(container, np.ndarray) and python_method(t, "__setitem__") is None:
        record_store(container, key, value)
        return
    method = python_method(t, "__setitem__")
    if method is not None:
        bind(method, container)(key, value)
    elif STATE.recording is None or isinstance(container, CARRIER_TYPES):
        container[key] = value
    else:
        opaque(STATE.recording, operator.setitem, (container, key, value), {})


def delitem(key: Any, container: Any, site: Site) -> None:
    """`del container[key]`."""
    STATE.site = site
    method = python_method(type(container), "__delitem__")
    if method is not None:
        bind(method, container)(key)
    else:
        del container[key]


# -- attributes -----------------------------------------------------------------------------------------------------

_RECORDED = {"T": np.transpose, "real": np.real, "imag": np.imag, "mT": getattr(np, "matrix_transpose", None)}
_OPAQUE = {"flat", "data", "ctypes", "base", "__array_interface__", "__array_struct__"}


def _plain_of(t: type) -> set[str]:
    return set(dir(t)) - set(_RECORDED) - _OPAQUE


_NUMERIC = (np.ndarray, np.float64, float, complex)
_plain_attributes: dict[type, set[str]] = {t: _plain_of(t) for t in _NUMERIC}


def get_attribute(obj: Any, name: str, site: Site | None) -> Any:
    """`obj.name`."""
    t = type(obj)
    if t is types.ModuleType:
        return getattr(obj, name)
    plain = _plain_attributes.get(t)
    if plain is not None and name in plain:
        return getattr(obj, name)
    STATE.site = site
    return attribute(obj, name)


def attribute(obj: Any, name: str) -> Any:
    """`obj.name`, entering properties, descriptors and `__getattr__` that are written in Python."""
    t = type(obj)
    if isinstance(obj, (np.ndarray, np.generic, float, complex)):
        recording = STATE.recording
        if (
            recording is not None
            and name in (_OPAQUE | _RECORDED.keys())
            and slot_of(recording, obj) is not None
        ):
            return _value_attribute(recording, obj, name)
    if t is super:
        return _super_attribute(obj, name)
    custom, fallback = python_method(t, "__getattribute__"), python_method(t, "__getattr__")
    if custom is None and fallback is None:
        return _ordinary(obj, t, name)
    try:
        return generic_attribute(obj, name) if custom is None else bind(custom, obj)(name)
    except AttributeError:
        if fallback is None:
            raise
        return bind(fallback, obj)(name)


def _ordinary(obj: Any, t: type, name: str) -> Any:
    found = lookup(t, name)
    getter = _python_getter(found)
    if getter is None:
        if name not in _RECORDED and name not in _OPAQUE:  # those depend on the object: another may be traced
            _plain_attributes.setdefault(t, set()).add(name)
    elif _is_data(found) or name not in getattr(obj, "__dict__", ()):
        return getter(obj, t)
    return getattr(obj, name)


def generic_attribute(obj: Any, name: str) -> Any:
    """`object.__getattribute__(obj, name)`."""
    found = lookup(type(obj), name)
    getter = _python_getter(found)
    if getter is not None and (_is_data(found) or name not in object.__getattribute__(obj, "__dict__")):
        return getter(obj, type(obj))
    return (type if isinstance(obj, type) else object).__getattribute__(obj, name)


def _python_getter(found: Any) -> Callable[[Any, type], Any] | None:
    """How to read a class attribute that is a property or a descriptor written in Python."""
    if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
        return lambda obj, t: enter(found.fget)(obj)
    get = None if found is None else python_method(type(found), "__get__")
    if isinstance(get, types.FunctionType):
        return lambda obj, t: enter(get)(found, obj, t)
    return None


def _is_data(found: Any) -> bool:
    return lookup(type(found), "__set__") is not None


def _value_attribute(recording: Any, obj: Any, name: str) -> Any:
    fn = _RECORDED.get(name)
    if fn is None:
        raise recording.refuse(
            RefusedCallError(
                f"{STATE.site}: .{name} of a traced array opens its memory to code that cannot be seen. "
                "Index or copy the array instead."
            )
        )
    return record_call(_constant(fn), (obj,), {})


def _super_attribute(obj: Any, name: str) -> Any:
    mro = obj.__self_class__.__mro__
    for base in mro[mro.index(obj.__thisclass__) + 1 :]:
        found = base.__dict__.get(name)
        if found is not None:
            getter = _python_getter(found)
            return getattr(obj, name) if getter is None else getter(obj.__self__, obj.__self_class__)
    return getattr(obj, name)


def set_attribute(obj: Any, value: Any, name: str, site: Site | None) -> None:
    """`obj.name = value`."""
    STATE.site = site
    t = type(obj)
    if isinstance(obj, np.ndarray) and STATE.recording is not None:
        if name in ("real", "imag"):
            record_store(getattr(obj, name), ..., value)
            return
        if slot_of(STATE.recording, obj) is not None or slot_of(STATE.recording, value) is not None:
            raise STATE.recording.refuse(
                RefusedCallError(
                    f"{STATE.site}: .{name} of a traced array is set in place. Make a new array (reshape, astype)."
                )
            )
    custom = python_method(t, "__setattr__")
    if custom is not None:
        bind(custom, obj)(name, value)
    else:
        generic_set_attribute(obj, value, name)


def generic_set_attribute(obj: Any, value: Any, name: str) -> None:
    """`object.__setattr__(obj, name, value)`, entering a property's or descriptor's setter."""
    found = lookup(type(obj), name)
    setter = None if found is None else python_method(type(found), "__set__")
    if isinstance(found, property) and isinstance(found.fset, types.FunctionType):
        enter(found.fset)(obj, value)
    elif isinstance(setter, types.FunctionType):
        enter(setter)(found, obj, value)
    else:
        (type if isinstance(obj, type) else object).__setattr__(obj, name, value)
        if found is not None and not isinstance(found, types.MemberDescriptorType):
            _check_kept(obj, found, value, name)


def _check_kept(obj: Any, found: Any, value: Any, name: str) -> None:
    """A C object that keeps a number in a form of its own loses its identity: refused."""
    recording = STATE.recording
    if (
        recording is None
        or not _is_data(found)
        or slot_of(recording, value) is None
        or getattr(obj, name) is value
    ):
        return
    raise recording.refuse(
        RefusedCallError(
            f"{STATE.site}: a traced value is stored in .{name} of a {type(obj).__name__}, which keeps a number of its own. "
            "Keep it in a Python object instead."
        )
    )


def delete_attribute(obj: Any, name: str, site: Site) -> None:
    """`del obj.name`."""
    STATE.site = site
    custom = python_method(type(obj), "__delattr__")
    if custom is not None:
        bind(custom, obj)(name)
    else:
        delattr(obj, name)


def super_attribute(cls: Any, self: Any, super_: Any, name: str, site: Site) -> Any:
    """`super().name` where the interpreter has an instruction of its own for it."""
    return get_attribute(enter(super_)(cls, self), name, site)


# -- iteration, unpacking, contexts ---------------------------------------------------------------------------------


def iterable(obj: Any, site: Site | None) -> Any:
    """What the interpreter may iterate over itself: the object, or an iterator that records what it gives."""
    t = type(obj)
    if t in (list, tuple, dict, set, str, range, types.GeneratorType):
        return obj
    if isinstance(obj, np.ndarray) and obj.ndim and STATE.recording is not None:
        return _items(obj, site)
    STATE.site = site
    if (
        t is np.broadcast
        and STATE.recording is not None
        and id(obj) in STATE.recording.caches.get(np.broadcast, ())
    ):
        raise STATE.recording.refuse(
            RefusedCallError(
                f"{site}: iterating over {t.__name__} gives copies that cannot be followed. Iterate over the array."
            )
        )
    method = python_method(t, "__iter__")
    if method is not None:
        return _drive(bind(method, obj)())
    if python_method(t, "__next__") is not None:
        return _drive(obj)
    if lookup(t, "__iter__") is None and python_method(t, "__getitem__") is not None:
        return _sequence_items(obj, site)
    return obj


def _items(array: np.ndarray, site: Site | None) -> Iterator[Any]:
    for i in range(len(array)):
        yield getitem(i, array, site)  # type: ignore[arg-type]


def _sequence_items(obj: Any, site: Site | None) -> Iterator[Any]:
    i = 0
    while True:
        try:
            item = getitem(i, obj, site)  # type: ignore[arg-type]
        except IndexError:
            return
        yield item
        i += 1


def _drive(iterator: Any) -> Any:
    step = python_method(type(iterator), "__next__")
    return iterator if step is None else _stepped(iterator, step)


def _stepped(iterator: Any, step: Any) -> Iterator[Any]:
    while True:
        try:
            item = bind(step, iterator)()
        except StopIteration as stop:
            return stop.value
        yield item


def mapping(obj: Any, site: Site) -> Any:
    """What `**` may unpack itself."""
    t = type(obj)
    if t is dict or python_method(t, "keys") is None:
        return obj
    STATE.site = site
    return {key: getitem(key, obj, site) for key in iterable(bind(lookup(t, "keys"), obj)(), site)}


class Managed:
    """A context manager whose methods are entered."""

    __slots__ = ("manager",)

    def __init__(self, manager: Any) -> None:
        self.manager = manager

    def __enter__(self) -> Any:
        return bind(lookup(type(self.manager), "__enter__"), self.manager)()

    def __exit__(self, *exception: Any) -> Any:
        return bind(lookup(type(self.manager), "__exit__"), self.manager)(*exception)


class AsyncManaged:
    """An asynchronous context manager whose methods are entered."""

    __slots__ = ("manager",)

    def __init__(self, manager: Any) -> None:
        self.manager = manager

    def __aenter__(self) -> Any:
        return bind(lookup(type(self.manager), "__aenter__"), self.manager)()

    def __aexit__(self, *exception: Any) -> Any:
        return bind(lookup(type(self.manager), "__aexit__"), self.manager)(*exception)


def context(manager: Any, site: Site) -> Any:
    """What `with` is given."""
    STATE.site = site
    t = type(manager)
    written = python_method(t, "__enter__") is not None and lookup(t, "__exit__") is not None
    return Managed(manager) if written else manager


def async_context(manager: Any, site: Site) -> Any:
    """What `async with` is given."""
    STATE.site = site
    t = type(manager)
    written = python_method(t, "__aenter__") is not None and lookup(t, "__aexit__") is not None
    return AsyncManaged(manager) if written else manager


# -- text -----------------------------------------------------------------------------------------------------------

_CONVERSIONS = {1: (str, "__str__"), 2: (repr, "__repr__"), 3: (ascii, "__repr__")}


def convert(value: Any, how: int, site: Site | None) -> Any:
    """`str(value)`, `repr(value)` or `ascii(value)`."""
    STATE.site = site
    fn, name = _CONVERSIONS[how]
    method = python_method(type(value), name)
    if method is None and how == 1 and lookup(type(value), name) is object.__str__:
        method = python_method(type(value), "__repr__")
    text = fn(value) if method is None or how == 3 else bind(method, value)()
    return text if STATE.recording is None else remember(STATE.recording, text, (value,))


def format_value(value: Any, spec: str, site: Site) -> Any:
    """`format(value, spec)`."""
    STATE.site = site
    method = python_method(type(value), "__format__")
    text = format(value, spec) if method is None else bind(method, value)(spec)
    return text if STATE.recording is None else remember(STATE.recording, text, (value,))


def join(parts: tuple[str, ...], site: Site) -> str:
    """The text of an f-string from its parts."""
    text = "".join(parts)
    recording = STATE.recording
    if recording is not None and recording.texts and any(id(part) in recording.texts for part in parts):
        recording.texts[id(text)] = text
    return text


# -- the table ------------------------------------------------------------------------------------------------------


class Quick:
    """The forms of call that the hooks write down themselves."""

    item: Any = None
    version = -1


def _slow(op: Binary) -> Callable[[Any, Any], Any]:
    return lambda left, right: binary(op, left, right)


def _slow_inplace(op: Binary) -> Callable[[Any, Any], Any]:
    fn, method = INPLACE[op.name]
    return lambda left, right: inplace(op, fn, method, left, right)


def _slow_compare(op: Binary) -> Callable[[Any, Any], Any]:
    return lambda left, right: compare(op, left, right)


def _slow_unary(fn: Any, method: str) -> Callable[[Any], Any]:
    return lambda a: unary(fn, method, a)


HOOKS: dict[str, Callable[..., Any]] = {
    "getitem": getitem,
    "setitem": setitem,
    "delitem": delitem,
    "truth": truth,
    "not_": not_,
    "contains": contains,
    "not_contains": not_contains,
    "getattr": get_attribute,
    "setattr": set_attribute,
    "delattr": delete_attribute,
    "super_getattr": super_attribute,
    "iterable": iterable,
    "mapping": mapping,
    "convert": convert,
    "format": format_value,
    "join": join,
    "context": context,
    "async_context": async_context,
}
_RECORDING_HOOKS = {}
for _op in BINARY.values():
    HOOKS[_op.name] = _RECORDING_HOOKS[_op.name] = _generate(
        _BINARY, _op.name, symbol=_op.symbol, slow=_slow(_op)
    )
    _iname = f"i{_op.name.rstrip('_')}"
    HOOKS[_iname] = _generate(_BINARY, _iname, symbol=_op.symbol, plain="IMMUTABLE", slow=_slow_inplace(_op))
    _RECORDING_HOOKS[_iname] = HOOKS[_iname]
for _op in COMPARE.values():
    HOOKS[_op.name] = _generate(_COMPARE, _op.name, symbol=_op.symbol, slow=_slow_compare(_op))
for _name, (_fn, _method) in UNARY.items():
    HOOKS[_name] = _generate(
        _UNARY, _name, symbol={"neg": "-", "pos": "+", "invert": "~"}[_name], slow=_slow_unary(_fn, _method)
    )


def prepare() -> None:
    """Bind the hooks to the rules as they are now."""
    if Quick.version == rules.version:
        return
    for op in BINARY.values():
        primitive = primitive_of(op.fn)
        quick = primitive is not None and primitive.rule is not None and primitive.rule.kind == "partials"
        for name in (op.name, f"i{op.name.rstrip('_')}"):
            namespace = _RECORDING_HOOKS[name].__globals__
            namespace["FAST"] = FAST if quick else frozenset()
            namespace["NUMERIC"] = NUMERIC if primitive is not None else frozenset()
            namespace["PRIMITIVE"] = primitive
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
        namespace["FLOATS"] = (
            FLOATS if primitive is not None and primitive.rule.kind == "partials" else frozenset()
        )
        if primitive is not None and primitive.rule.kind == "partials":
            namespace["ONE"] = primitive.scalar_bound((True,))
    item = primitive_of(operator.getitem)
    Quick.item = None if item is None else item.bound(2, (True, False), ())
    Quick.version = rules.version
