r"""A check of the engine on itself: what it computes on values that an outer derivative watches must be entered.

In a gradient inside a trace the engine's own code works on traced cotangents. What makes a number of one must be
called through the hooks of the trace (`Recording.call`, or a change of a buffer that `TracedCotangents` records): a
sum or a cast in plain NumPy is a silent zero. `with checking():` rewrites the files of both passes so that each
operator, item, attribute and call in them looks at what it gives: a new number or array, made of a traced one and
not traced itself, is an error. Any tests run so; those of gradients inside gradients are the ones that tell most:

    PYTHONPATH=tests/reverse:tests/corpus python -m pytest -p engine_check tests/nesting tests/forward/test_decl*.py \
        tests/*/test_{levels,second_order,watched,pullbacks,implicit,gradient,recipe,results,checkpoint,inner_writes}.py
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from importlib import import_module
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any

import numpy as np
from plain_hooks import BINARY, PLAIN, UNARY

from wengert.api import gradient, tangents
from wengert.forward import pulled, step
from wengert.forward import walk as forward_walk
from wengert.hooks.escape_monitor import EXEMPT_PACKAGES
from wengert.mutation import residuals
from wengert.recording import container_arguments
from wengert.recording.recording import STATE
from wengert.recording.slots import slot_of
from wengert.reverse import accumulators, ends, strategies, walk, windows
from wengert.rewrite import instrument
from wengert.rulebook import pushforwards, rule
from wengert.values import projection, results
from wengert.values.specs import is_inexact

REVERSE = [accumulators, container_arguments, ends, gradient, residuals, results, rule, strategies, walk, windows]
FORWARD = [forward_walk, projection, pulled, pushforwards, step, tangents]
FILES = [import_module(file.__name__) for file in (*REVERSE, *FORWARD)]  # some are imported late
# with the pairing that is differentiated
TRANSPOSED = {"transposed", "by_transpose", "pushed_by_transpose", "_flat_cotangents", "_inner"}
PIECES = {"add_contributions", "read_key", "_sum", "_aligned", "_fitted"}  # that the trace runs itself
APART = {"stop_gradient", *PIECES, *TRANSPOSED}  # and what is to be constant
RECORDING = {
    "_in_place",
    "start",
    "zeros",
    "copy",
}  # writes entries: of TracedCotangents, and of residuals' copies
METADATA = {"base"}
NEW = {np.zeros_like, np.ones_like, np.zeros, np.empty}  # of a shape alone

MADE_OF = (np.generic, np.ndarray, float, complex, list, tuple, enumerate, zip)


class EngineError(AssertionError):
    """The engine computed on a traced value where nothing saw it."""


class _Switch:
    off = 0  # how deep inside of what records


def is_watched(value: Any) -> bool:
    recording = STATE.recording
    return recording is not None and is_inexact(value) and slot_of(recording, value) is not None


def numbers(value: Any) -> list[Any]:
    """The inexact parts of what a call gave, one level deep."""
    if type(value) in (list, tuple):
        return [part for part in value if is_inexact(part)]
    if type(value) is dict:
        return [part for part in value.values() if is_inexact(part)]
    return [value] if is_inexact(value) else []


def look(what: Any, made: Any, given: list[Any], site: Any, *, writes: bool = False) -> Any:
    """`made`, if it is no number made of a traced one behind the trace's back."""
    if STATE.recording is None or _Switch.off:
        return made
    held = [*given, *[part for value in given for part in numbers(value)]]
    if any(map(is_watched, held)):
        known = set(map(id, held))
        lost = [part for part in numbers(made) if id(part) not in known and not is_watched(part)]
        streams = hasattr(made, "__next__") and any(isinstance(x, np.ndarray) and is_watched(x) for x in given)
        if lost or streams or writes:
            raise EngineError(f"{site}: {what} of a traced value is seen by no trace")
    return made


def _binary(name: str) -> Callable[..., Any]:
    plain, in_place = PLAIN[name], name.startswith("i") and name != "invert"

    def hook(right: Any, left: Any, site: Any) -> Any:
        writes = in_place and isinstance(left, np.ndarray)
        return look(name, plain(right, left, site), [left, right], site, writes=writes)

    return hook


def _unary(name: str) -> Callable[..., Any]:
    return lambda a, site: look(name, PLAIN[name](a, site), [a], site)


def getitem(key: Any, container: Any, site: Any) -> Any:
    return look("an item", container[key], [container], site)


def setitem(container: Any, key: Any, value: Any, site: Any) -> None:
    writes = isinstance(container, np.ndarray)
    look("a store", None, [container, value] if writes else [], site, writes=writes)
    container[key] = value


def get_attribute(obj: Any, name: str, site: Any) -> Any:
    made = getattr(obj, name)
    return made if name in METADATA or not is_inexact(obj) else look(f".{name}", made, [obj], site)


def iterable(obj: Any, site: Any) -> Any:
    return look("the items", obj, [obj], site, writes=isinstance(obj, np.ndarray))


def resolve(f: Any, site: Any) -> Any:
    """What C code is called through: it looks at the result. Python code looks itself, or is entered."""
    is_number = isinstance(f, type) and issubclass(f, MADE_OF)
    if f in NEW or not (isinstance(f, (BuiltinFunctionType, np.ufunc, type(np.sum))) or is_number):
        return f

    def call(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values(), getattr(f, "__self__", None)]
        return look(f, f(*args, **kwargs), given, site, writes=kwargs.get("out") is not None)

    return call


CHECKS: dict[str, Any] = {
    "state": STATE,
    **PLAIN,
    **{name: _binary(name) for name in BINARY},
    **{name: _unary(name) for name in UNARY},
    "getitem": getitem,
    "setitem": setitem,
    "getattr": get_attribute,
    "iterable": iterable,
    "resolve": resolve,
}


def checked(code: CodeType) -> CodeType:
    """Code that looks at all that it does; also that of the functions in it."""
    inner = [checked(constant) if isinstance(constant, CodeType) else constant for constant in code.co_consts]
    return instrument(code.replace(co_consts=tuple(inner)), CHECKS)


def unchecked(f: FunctionType) -> FunctionType:
    """A function inside which nothing is looked at: what it does is written down."""

    def call(*args: Any, **kwargs: Any) -> Any:
        _Switch.off += 1
        try:
            return f(*args, **kwargs)
        finally:
            _Switch.off -= 1

    return call  # type: ignore[return-value]


def functions() -> Iterator[tuple[Any, str, FunctionType]]:
    """(owner, name, function) of all that the files define."""
    for module in FILES:
        for name, found in list(vars(module).items()):
            if isinstance(found, type) and found.__module__ == module.__name__:
                yield from ((found, k, f) for k, f in list(vars(found).items()) if isinstance(f, FunctionType))
            elif isinstance(found, FunctionType) and found.__module__ == module.__name__:
                yield module, name, found


@contextlib.contextmanager
def checking() -> Iterator[None]:
    """Within the block, the engine's reverse pass is checked."""
    own = {__name__, PLAIN["add"].__module__} - EXEMPT_PACKAGES
    codes, methods = [], []
    for owner, name, f in functions():
        if isinstance(owner, type) and name in RECORDING and owner.__name__ in ("TracedCotangents", "_Copies"):
            methods.append((owner, name, f))
        elif name not in APART and f.__code__.co_filename == getattr(owner, "__file__", f.__code__.co_filename):
            codes.append((f, f.__code__))
    try:
        EXEMPT_PACKAGES.update(own)  # else the net judges each look: ten times slower
        for f, code in codes:
            f.__code__ = checked(code)
        for owner, name, f in methods:
            setattr(owner, name, unchecked(f))
        yield
    finally:
        EXEMPT_PACKAGES.difference_update(own)
        for f, code in codes:
            f.__code__ = code
        for owner, name, f in methods:
            setattr(owner, name, f)


def pytest_configure(config: Any) -> None:
    held = checking()
    held.__enter__()
    config.add_cleanup(lambda: held.__exit__(None, None, None))
