"""Builtins that call back, iterate or follow a protocol."""

from __future__ import annotations

import builtins
import functools
import itertools
import math
import operator
import statistics
import sys
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.algorithms import ALGORITHMS
from wengert.attributes import (
    delete_attribute,
    generic_attribute,
    generic_set_attribute,
    get_attribute,
    set_attribute,
)
from wengert.awaiting import iter_async, next_async
from wengert.classes import bind, defines, enter, lookup, python_method
from wengert.construction import build_class, construct, instantiate
from wengert.dispatch import HOOKS, convert, format_value
from wengert.executing import evaluated
from wengert.flat import flat_items
from wengert.frames import frame_module_name, get_frame, warn
from wengert.items import Iterated, Sequence, delitem, getitem, iterable, iterator, pairs, setitem
from wengert.natives import ARRAY_FUNCTIONS, copied, dunder, recorder, same, view
from wengert.opaque import opaque, search
from wengert.operators import BINARY, COMPARE, UNARY, Binary
from wengert.ordering import cmp_to_key, extreme, ordered
from wengert.primitives import Primitive, primitive_of, ruled
from wengert.protocols import contains, length, not_, protocol, truth
from wengert.record import (
    as_array,
    holds_traced,
    record_as,
    record_call,
)
from wengert.recording import PLAIN, STATE
from wengert.substitutes import SUBSTITUTES
from wengert.texts import SHOWING, printed


def higher(f: Any) -> Any:
    """A C callable that calls back or iterates: functions among its arguments are entered, iterables recorded."""
    first, *middle, rest = ROLES.get(f, (_items, _items))

    def call(*args: Any, **kwargs: Any) -> Any:
        given = [role(a) for role, a in zip((first, *middle), args, strict=False)]
        given += [rest(a) for a in args[len(given) :]]
        return f(*given, **{name: _WORDS.get(name, _as_it_is)(a) for name, a in kwargs.items()})

    return call


def _as_it_is(a: Any) -> Any:
    return a


def _function(a: Any) -> Any:
    return None if a is None else enter(a)


def _items(a: Any) -> Any:
    return a if type(a) in PLAIN and type(a) is not np.ndarray else iterable(a, STATE.site)


def _later(a: Any) -> Any:
    return a if type(a) in PLAIN and type(a) is not np.ndarray else Iterated(a)


_WORDS: dict[str, Callable[[Any], Any]] = {"key": _function, "iterable": _items}

ROLES: dict[Any, tuple[Callable[[Any], Any], ...]] = {
    map: (_function, _items),
    functools.reduce: (_function, _items, _as_it_is),
    itertools.starmap: (_function, _items),
    itertools.takewhile: (_function, _items),
    itertools.dropwhile: (_function, _items),
    itertools.filterfalse: (_function, _items),
    itertools.groupby: (_items, _function),
    itertools.repeat: (_as_it_is, _as_it_is),
    itertools.chain: (_later, _later),
}
"""What the arguments of a callable of `HIGHER` are, the last said of all that follow; where not said: iterables."""


def _counting(start: Any = 0, step: Any = 1) -> Any:
    return _counted(start, step) if holds_traced((start, step)) else itertools.count(start, step)


def _counted(start: Any, step: Any) -> Any:
    while True:
        yield start
        start = HOOKS["add"](step, start, STATE.site)


_OF_EXTREMES = {"key", "default"}


def sequence_recorder(primitive: Primitive) -> Callable[..., Any]:
    """`sum`, `min`, `max` and their like, which iterate over one argument."""
    fn = primitive.fn
    splat = fn in (min, max)

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None:
            return fn(*args, **kwargs)
        if splat and (not args or kwargs.keys() - _OF_EXTREMES or ("default" in kwargs and len(args) > 1)):
            return fn(*args, **kwargs)  # raises
        if splat and kwargs:
            return extreme(fn, args[0] if len(args) == 1 else args, **kwargs)
        if splat and len(args) > 1:
            return record_call(primitive, args, kwargs) if holds_traced(args) else fn(*args)
        if not args:
            return fn(**kwargs)
        items = list(iterable(args[0], STATE.site))
        if fn is sum and any(
            python_method(type(item), "__add__") or python_method(type(item), "__radd__") for item in items
        ):
            return functools.reduce(lambda a, b: HOOKS["add"](b, a, STATE.site), items, *args[1:] or (0,))
        if not holds_traced((items, *args[1:], *kwargs.values())):
            return fn(items, *args[1:], **kwargs)
        start = args[1] if len(args) > 1 else kwargs.get("start")
        if isinstance(start, (list, tuple)):
            return fn(items, start)
        if start is not None and holds_traced((start,)):
            return record_as(primitive, fn(items, *args[1:], **kwargs), ([start, *items],))
        if not splat:
            return record_call(primitive, (items, *args[1:]), kwargs)
        return items[0] if len(items) == 1 else record_call(primitive, tuple(items), {})

    return call


def of_numbers(primitive: Primitive) -> Callable[..., Any]:
    """A function of Python's statistics, which iterates over one argument."""
    record = recorder(primitive)
    return lambda data, *args, **kwargs: record([*iterable(data, STATE.site)], *args, **kwargs)


def _over_points(fn: Any) -> Any:
    """`math.dist` and `math.sumprod`, whose two sequences are recorded as vectors."""

    def call(p: Any, q: Any, /) -> Any:
        p, q = ([*iterable(a, STATE.site)] if not isinstance(a, np.ndarray) else a for a in (p, q))
        value = fn(p, q)
        if STATE.recording is None or not holds_traced((p, q)):
            return value
        if isinstance(value, complex):  # of an array it would take the real parts
            pairs = zip(iterable(p, STATE.site), iterable(q, STATE.site), strict=True)
            products = [HOOKS["mul"](b, a, STATE.site) for a, b in pairs]
            return functools.reduce(lambda a, b: HOOKS["add"](b, a, STATE.site), products, 0)
        vectors = [as_array(a) if isinstance(a, list) else a for a in (p, q)]
        again = fn(*vectors)
        made = record_as(ruled(fn), again, tuple(vectors))
        return made if type(again) is type(value) else enter(float)(made)

    return call


def _getattr(obj: Any, name: str, /, *default: Any) -> Any:
    try:
        return get_attribute(obj, name, STATE.site)
    except AttributeError:
        if not default:
            raise
        return default[0]


def _hasattr(obj: Any, name: str, /) -> bool:
    try:
        get_attribute(obj, name, STATE.site)
    except AttributeError:
        return False
    return True


def _iter(obj: Any, /, *sentinel: Any) -> Any:
    if sentinel:
        return iter(enter(obj) if callable(obj) else obj, *sentinel)
    if issubclass(type(obj), (np.ndarray, np.flatiter, np.broadcast)):
        return iter(iterable(obj, STATE.site))
    made = iterator(obj)
    return iter(made) if made is obj else made


def _next(iterator: Any, /, *default: Any) -> Any:
    if type(iterator) is np.flatiter:
        iterator = flat_items(iterator)
    step = python_method(type(iterator), "__next__")
    if step is None:
        return next(iterator, *default)
    try:
        return enter(step)(iterator)
    except StopIteration:
        if not default:
            raise
        return default[0]


def _broadcast(*args: Any) -> np.broadcast:
    """`np.broadcast`, for the shape's sake; what it gives when iterated over cannot be followed."""
    made = np.broadcast(*args)
    recording = STATE.recording
    if recording is not None and search(recording, args):
        recording.caches.setdefault(np.broadcast, {})[id(made)] = made
    return made


def _len(a: Any, /) -> Any:
    return len(a) if python_method(type(a), "__len__") is None else length(a)


def _any(items: Any, /) -> bool:
    return any(truth(item, STATE.site) for item in iterable(items, STATE.site))


def _all(items: Any, /) -> bool:
    return all(truth(item, STATE.site) for item in iterable(items, STATE.site))


def _filter(f: Any, items: Any, /) -> Any:
    f = enter(bool if f is None else f)
    return filter(lambda item: truth(f(item), STATE.site), iterable(items, STATE.site))


def _chained(iterables: Any) -> Any:
    return itertools.chain.from_iterable(iterable(items, STATE.site) for items in iterable(iterables, STATE.site))


def _accumulate(iterable: Any, func: Any = operator.add, *, initial: Any = None) -> Any:
    return itertools.accumulate(_items(iterable), enter(operator.add if func is None else func), initial=initial)


def _reversed(items: Any, /) -> Any:
    t = type(items)
    method = python_method(t, "__reversed__")
    if method is not None:
        return bind(method, items)()
    if issubclass(t, np.ndarray):
        return (HOOKS["getitem"](k, items, STATE.site) for k in range(len(items) - 1, -1, -1))
    if not defines(t, "__reversed__") and python_method(t, "__getitem__") and lookup(t, "__len__") is not None:
        return reversed(Sequence(items))
    return reversed(items)


def _index_of(items: Any, value: Any, /) -> int:
    """`operator.indexOf`, which reads an iterator no further than it must."""
    for place, item in enumerate(_items(items)):
        if same(item, value):
            return place
    raise ValueError("sequence.index(x): x not in sequence")


def _getter(f: operator.itemgetter) -> Any:
    keys = f.__reduce__()[1]
    if len(keys) == 1:
        return lambda obj: HOOKS["getitem"](keys[0], obj, STATE.site)
    return lambda obj: tuple([HOOKS["getitem"](key, obj, STATE.site) for key in keys])


def _attribute_getter(f: operator.attrgetter) -> Any:
    names = f.__reduce__()[1]

    def get(obj: Any, path: str) -> Any:
        return functools.reduce(lambda part, name: _getattr(part, name), path.split("."), obj)

    return lambda obj: get(obj, names[0]) if len(names) == 1 else tuple([get(obj, name) for name in names])


def _method_caller(f: operator.methodcaller) -> Any:
    made: Any = f.__reduce__()
    words = {} if isinstance(made[0], type) else made[0].keywords
    name, *args = made[1] if isinstance(made[0], type) else (*made[0].args, *made[1])
    return lambda obj: enter(_getattr(obj, name))(*args, **words)


def exception_method(f: Any, name: str) -> Any:
    """A method of an exception, which moves what it holds; `split` and `subgroup` may ask a function."""
    return (lambda condition: f(_condition(condition))) if name in ("split", "subgroup") else f


def _condition(a: Any) -> Any:
    return a if isinstance(a, (type, tuple)) else enter(a)


def _str(*args: Any, **kwargs: Any) -> Any:
    return convert(args[0], 1, STATE.site) if len(args) == 1 and not kwargs else str(*args, **kwargs)


def _type(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 3 and type(args[2]) is dict:  # `type` itself asks the frame that it is called from
        args = (*args[:2], {"__module__": get_frame().f_globals.get("__name__"), **args[2]})
    return type(*args, **kwargs) if len(args) == 1 else construct(type, *args, **kwargs)


class _Returning:
    """An object whose conversions give a value of another type: what that means, the builtin knows."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __float__(self) -> Any:
        return self.value

    __int__ = __complex__ = __float__


def _through(name: str, fn: Any, convert: type | None = None) -> Any:
    """A builtin that calls one method: `abs`, `len`, `round`, `float`."""

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None or not (args or kwargs):
            return fn(*args, **kwargs)
        found = python_method(type(args[0]), name) if args else None
        if found is not None and (convert is None or (len(args) == 1 and not kwargs)):
            value = bind(found, args[0])(*args[1:], **kwargs)
            return value if convert is None or type(value) is convert else fn(_Returning(value))
        primitive = primitive_of(fn)
        if primitive is None:
            return opaque(recording, fn, args, kwargs) if fn is not len else fn(*args)
        if any(id(a) in recording.texts for a in (*args, *kwargs.values())):
            return opaque(recording, fn, args, kwargs)
        return recorder(primitive)(*args, **kwargs)

    return call


def _operands(op: Binary) -> Any:
    """`divmod` and `pow` of two operands, of which either may have methods of its own."""
    alone = _through(op.method, op.fn)

    def call(*args: Any, **kwargs: Any) -> Any:
        if (
            len(args) == 2
            and not kwargs
            and (python_method(type(args[0]), op.method) or python_method(type(args[1]), op.reflected))
        ):
            return protocol(op, *args)
        return alone(*args, **kwargs)

    return call


def _operator(hook: Callable[..., Any], swap: bool) -> Any:
    if swap:
        return lambda a, b: hook(b, a, STATE.site)
    return lambda a: hook(a, STATE.site)


CALLABLE_OBJECTS: dict[type, Any] = {
    operator.itemgetter: _getter,
    operator.attrgetter: _attribute_getter,
    operator.methodcaller: _method_caller,
}

DUNDERS: dict[str, Any] = {
    "__getitem__": lambda a, key: HOOKS["getitem"](key, a, STATE.site),
    "__setitem__": lambda a, key, value: HOOKS["setitem"](a, key, value, STATE.site),
    "__len__": len,
    "__hash__": hash,
    "__repr__": lambda a: convert(a, 2, STATE.site),
    "__str__": lambda a: convert(a, 1, STATE.site),
    "__bool__": lambda a: truth(a, STATE.site),
    "__iter__": lambda a: iter(iterable(a, STATE.site)),
    "__contains__": lambda a, item: contains(a, item, STATE.site),
}

ITERATING = {
    sum,
    min,
    max,
    math.fsum,
    math.prod,
}

STATISTICS = {statistics.mean, statistics.variance, statistics.pvariance, statistics.stdev, statistics.pstdev}

HIGHER: set[Any] = {
    map,
    filter,
    sorted,
    zip,
    enumerate,
    reversed,
    functools.reduce,
    list,
    tuple,
    set,
    frozenset,
    any,
    all,
    *(v for v in vars(itertools).values() if isinstance(v, type)),
}

SPECIAL: dict[Any, Any] = {
    getattr: _getattr,
    hasattr: _hasattr,
    iter: _iter,
    next: _next,
    aiter: iter_async,
    anext: next_async,
    str: _str,
    type: _type,
    setattr: lambda obj, name, value, /: set_attribute(obj, value, name, STATE.site),
    delattr: lambda obj, name, /: delete_attribute(obj, name, STATE.site),
    repr: lambda a, /: convert(a, 2, STATE.site),
    ascii: lambda a, /: convert(a, 3, STATE.site),
    format: lambda a, spec="", /: format_value(a, spec, STATE.site),
    bool: lambda a=False, /: truth(a, STATE.site),
    operator.truth: lambda a: truth(a, STATE.site),
    operator.not_: lambda a: not_(a, STATE.site),
    operator.getitem: lambda a, b: getitem(b, a, STATE.site),
    operator.setitem: lambda a, b, c: setitem(a, b, c, STATE.site),
    operator.contains: lambda a, b: contains(a, b, STATE.site),
    abs: _through("__abs__", abs),
    round: _through("__round__", round),
    len: _len,
    float: _through("__float__", float, float),
    int: _through("__int__", int, int),
    complex: _through("__complex__", complex, complex),
    math.floor: _through("__floor__", math.floor),
    math.ceil: _through("__ceil__", math.ceil),
    math.trunc: _through("__trunc__", math.trunc),
    pow: _operands(BINARY["pow"]._replace(fn=pow, symbol="** or pow()")),
    divmod: _operands(Binary("divmod", "divmod()", divmod, "__divmod__", "__rdivmod__")),
    builtins.__build_class__: build_class,
    itertools.chain.from_iterable: _chained,
    itertools.accumulate: _accumulate,
    itertools.count: _counting,
    reversed: _reversed,
    sorted: ordered,
    any: _any,
    all: _all,
    filter: _filter,
    dict: lambda *args, **kwargs: dict(*[pairs(a, STATE.site) for a in args], **kwargs),
    object.__getattribute__: lambda obj, name: generic_attribute(obj, name),
    object.__setattr__: lambda obj, name, value: generic_set_attribute(obj, value, name),
    np.ndarray.__copy__: copied,
    np.ndarray.__deepcopy__: copied,
    np.broadcast: _broadcast,
    np.ufunc.__call__: lambda ufunc, *args, **kwargs: enter(ufunc)(*args, **kwargs),
    np.ndarray.view: lambda a, *args, **kwargs: view(ruled(np.ndarray.view), a, *args, **kwargs),
    print: printed,
    weakref.ref: lambda obj, callback=None, /: weakref.ref(obj, _function(callback)),
    weakref.finalize: lambda obj, func, /, *args, **kwargs: weakref.finalize(obj, enter(func), *args, **kwargs),
    type.__call__: instantiate,
    functools.cmp_to_key: cmp_to_key,
    itertools.tee: lambda items, n=2: itertools.tee(iterable(items, STATE.site), n),
    operator.concat: lambda a, b: HOOKS["add"](b, a, STATE.site),
    operator.iconcat: lambda a, b: HOOKS["iadd"](b, a, STATE.site),
    operator.countOf: lambda a, b: enter([*iterable(a, STATE.site)].count)(b),
    operator.indexOf: _index_of,
    operator.delitem: lambda a, b: delitem(b, a, STATE.site),
    property.__get__: lambda p, obj, owner=None: p if obj is None else enter(p.fget)(obj),
    operator.call: lambda f, *args, **kwargs: enter(f)(*args, **kwargs),
    **{getattr(math, name): _over_points(getattr(math, name)) for name in ("dist", "sumprod") if hasattr(math, name)},
    sys._getframe: get_frame,
    warnings.warn: warn,
    getattr(sys, "_getframemodulename", frame_module_name): frame_module_name,
    eval: evaluated(eval),
    exec: evaluated(exec),
    **ALGORITHMS,
    **SHOWING,
    **SUBSTITUTES,
    **ARRAY_FUNCTIONS,
}


def _as_called(native: Any, stand: Any) -> Any:
    """What stands for a builtin; where the arguments do not fit it, the error is the builtin's own."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return stand(*args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:  # it was not even entered
                return native(*args, **kwargs)
            raise

    return call


for _op in (*BINARY.values(), *COMPARE.values()):
    DUNDERS[_op.method] = dunder(_op, False)
    if _op.name not in COMPARE:
        DUNDERS[_op.reflected] = dunder(_op, True)


for _name in (*BINARY, *COMPARE):
    SPECIAL[getattr(operator, _name)] = _operator(HOOKS[_name], True)


for _name in UNARY:
    SPECIAL[getattr(operator, _name)] = _operator(HOOKS[_name], False)


for _name in BINARY:
    SPECIAL[getattr(operator, f"i{_name.rstrip('_')}")] = _operator(HOOKS[f"i{_name.rstrip('_')}"], True)


for _fn in (
    getattr, hasattr, setattr, iter, next, len, bool, any, all, filter, reversed, sorted,
    repr, ascii, format, eval, exec,
):  # fmt: skip
    SPECIAL[_fn] = _as_called(_fn, SPECIAL[_fn])
