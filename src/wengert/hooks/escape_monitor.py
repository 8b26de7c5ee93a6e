"""The escape monitor: from Python 3.12 on, an uninstrumented function that runs on a traced value is an error.

C code may call a Python function that nobody instrumented. `sys.monitoring` reports each start of one. The report is
declined for good where it cannot matter (this package, twins, NumPy), so that a gradient pays nothing for it.
To turn reports on and off for each trace would cost 20 to 100 µs: the interpreter then instruments all code anew.
They stay on after the first trace; see docs/design/0003.
"""

from __future__ import annotations

import atexit
import contextlib
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.errors import EscapedFrameError, WengertError
from wengert.hooks.modules import MODULES
from wengert.hooks.readers import read_by
from wengert.recording.recording import STATE, Recording, here
from wengert.recording.session import SESSION
from wengert.recording.shadow import SHADOW
from wengert.recording.slots import slot_of
from wengert.rewrite import original
from wengert.rulebook.registry import rules
from wengert.values.codes import code_of
from wengert.values.fork_lock import lock_of_process
from wengert.values.frames import ENGINE
from wengert.values.settings import SETTINGS
from wengert.values.sites import Site
from wengert.values.specs import is_inexact

TOOLS = (4, 3)
"""The tool identifiers that `sys.monitoring` reserves for no purpose; debuggers and profilers have others."""
PATIENCE = 1000
"""The number of starts of a function between two traces after which reports are off until the next trace."""
UNSEEN = {"wengert", "wengert_rules", "numpy", "bytecode", "types", *MODULES}
"""Packages whose functions run uninstrumented on purpose."""
_CALLERS = ("hooks/", *[f"recording/{name}.py" for name in ("record", "recorders", "decisions", "primitives")])
CALLERS = tuple([ENGINE + name for name in _CALLERS])
"""Files of this package that call what the user's code calls. The others call it themselves and know why."""
MAKING_CLASSES = ENGINE + "hooks/construction.py"
"""The file that calls C to make a class; library functions for `typing.NamedTuple` then only move its contents."""
PASSING = {
    "__array_finalize__",
    "__array_wrap__",
    "__eq__",
    "__ne__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__hash__",
}
"""Methods that NumPy calls with the array that another is made from, and those that containers ask a bool of."""

SHOWING = {"__len__", "__repr__", "__str__", "__format__", "__contains__", "__del__"}
"""Methods that return what is no float; they may look at traced values."""
_INERT = {float, int, bool, str, bytes, type, types.NoneType, types.ModuleType, types.FunctionType}
_READING_NONE = {"scipy", *sys.stdlib_module_names}
"""Packages whose functions read values of the user's from their arguments alone."""

monitoring: Any = getattr(sys, "monitoring", None)  # from Python 3.12
_lock = lock_of_process()
_starts: dict[int, int] = {}


class Net:
    """The state of the monitor: its `sys.monitoring` tool, and whether reports are off that the next trace needs."""

    tool: int | None = None
    torn = monitoring is not None


def mend() -> None:
    """Turn on the reports of all function starts again; each trace begins with this."""
    with _lock:
        Net.torn = False
        _starts.clear()
        if Net.tool is None:
            Net.tool = _claimed()
        else:
            monitoring.restart_events()


def _claimed() -> int | None:
    """Claim and start a free tool, and return its identifier; None if none is free: then nothing is monitored."""
    for tool in TOOLS:
        if monitoring.get_tool(tool) is None:
            monitoring.use_tool_id(tool, "wengert")
            monitoring.register_callback(tool, monitoring.events.PY_START, _started)
            monitoring.set_events(tool, monitoring.events.PY_START)
            atexit.register(_let_go, tool)
            return tool
    return None


def _let_go(tool: int) -> None:
    """Free the tool when the interpreter exits, before the objects that reports need are gone."""
    monitoring.set_events(tool, 0)
    monitoring.free_tool_id(tool)


def _started(code: types.CodeType, offset: int) -> Any:
    """Handle the start of a Python function: raise if it escaped, and turn off reports of code that cannot escape."""
    frame = sys._getframe(1)
    if _is_innocent(frame):
        return monitoring.DISABLE
    recording = STATE.recording
    if recording is None:
        return _outside(code)
    if _is_escaped(recording, frame):
        raise _escape(recording, code)
    return None


def _is_innocent(frame: types.FrameType) -> bool:
    """Whether a frame's code is instrumented, or runs as it is on purpose."""
    code = frame.f_code
    if original(code) is not None or code.co_filename.startswith((ENGINE, "<wengert", "<frozen ")):
        return True
    module = frame.f_globals.get("__name__", "").partition(".")[0]
    return module in UNSEEN or module.startswith("namedtuple_")


def _is_escaped(recording: Recording, frame: types.FrameType) -> bool:
    if frame.f_code.co_name in PASSING or _is_ours(frame.f_back):  # told at once; what it receives may be large
        return False
    is_reading = _receives(recording, frame) or _reads(recording, frame)
    return is_reading and not _is_licensed(frame) and not _is_shown(frame)


@contextlib.contextmanager
def strict() -> Iterator[None]:
    """Refuse, inside the `with` block and on this thread, functions that compute on traced values without being seen.

    C code may call such functions by itself. From Python 3.12 on they are always refused, and this does nothing; on
    3.11 it asks about every call, which makes all code 5 to 10 times slower.

    >>> with wg.strict():
    ...     wg.grad(lambda x: x * x)(3.0)
    6.0

    Errors: EscapedFrameError, a RefusedCallError, from the gradient; WengertError where a profiler is at work.
    """
    if monitoring is None:
        if sys.getprofile() is not None:
            raise WengertError("strict() needs sys.setprofile, which another profiler holds; run without that")
        sys.setprofile(_called)
    try:
        with SETTINGS.changed() if monitoring is None else contextlib.nullcontext():
            yield
    finally:
        if monitoring is None:
            sys.setprofile(None)


def _called(frame: types.FrameType, event: str, arg: Any) -> None:
    """The profile function on 3.11. It notes a refusal, raised when the trace ends: an error here ends profiling."""
    recording = STATE.recording
    if event == "call" and recording is not None and not _is_innocent(frame) and _is_escaped(recording, frame):
        _escape(recording, frame.f_code)


def _outside(code: types.CodeType) -> Any:
    """A function has started where this thread does not trace: it is reported a few times more, for one may follow."""
    starts = _starts[id(code)] = _starts.get(id(code), 0) + 1
    if starts < PATIENCE or SESSION.recordings:
        return None
    Net.torn = True
    return monitoring.DISABLE


def _receives(recording: Recording, frame: types.FrameType) -> bool:
    """Whether a traced value is among a function's arguments, their items, or the variables of functions around."""
    values = _locals(frame)
    if frame.f_code.co_name == "__del__":
        values += [getattr(values[0], "__dict__", None)]
    for value in values:
        if type(value) is dict:
            value = [*value.values()]
        for item in value if type(value) in (tuple, list) else (value,):
            if slot_of(recording, item) is not None and is_inexact(item):
                return True
    return False


def _reads(recording: Recording, frame: types.FrameType) -> bool:
    """Whether a function can read a traced value by a global name, or from an attribute that it names."""
    code, space = frame.f_code, frame.f_globals
    if code.co_name in SHOWING or space.get("__name__", "").partition(".")[0] in _READING_NONE:
        return False
    found = [space[name] for name in code.co_names if name in space]
    variables = [value for value in (*_locals(frame), *found) if type(value) not in _INERT or id(value) in SHADOW]
    read = read_by(code.co_names, variables) if variables else ()
    return any([is_inexact(value) and slot_of(recording, value) is not None for value in read])


def _locals(frame: types.FrameType) -> list[Any]:
    names = frame.f_locals
    return [*names.values()] if hasattr(type(names), "values") else []  # of a text evaluated they may be anything


def _is_licensed(frame: types.FrameType | None) -> bool:
    """Whether a frame runs for a primitive written in Python, for the rule of one, or for this package itself."""
    licensed = rules.once(_licensed)
    while frame is not None and original(frame.f_code) is None:
        if (
            frame.f_code in licensed
            or _is_asked_for_a_constant(frame)
            or (_is_ours(frame.f_back) and not frame.f_code.co_filename.startswith(ENGINE))
        ):
            return True
        frame = frame.f_back
    return False


def _is_asked_for_a_constant(frame: types.FrameType) -> bool:
    """Whether a class takes over a NumPy function that is declared to have no derivative, such as `np.shape`."""
    code = frame.f_code
    if code.co_name != "__array_function__" or code.co_argcount < 2:
        return False
    called = frame.f_locals.get(code.co_varnames[1])
    return type(called) is _ARRAY_FUNCTION and called in rules and rules[called].kind == "constant"


_ARRAY_FUNCTION = type(np.sum)


def _is_shown(frame: types.FrameType | None) -> bool:
    """Whether pytest calls a frame: it writes the values of an assert that failed with functions of the library."""
    while frame is not None and original(frame.f_code) is None and not frame.f_code.co_filename.startswith(ENGINE):
        if frame.f_globals.get("__name__", "").startswith("_pytest."):
            return True
        frame = frame.f_back
    return False


def _licensed() -> set[types.CodeType]:
    """Collect the code objects of functions with rules, and of the rules."""
    functions = [f for target in rules for f in (*_functions_of(target), rules[target].body)]
    return {code_of(f) for f in functions if isinstance(f, types.FunctionType)}


def _functions_of(target: Any) -> list[Any]:
    """List the functions that a call of `target` may start: itself, its methods, a class's constructors."""
    if type(target).__module__ == "uarray":  # a function of scipy.fft, which hands over to what transforms
        return [sys.modules["scipy.fft._backend"]._ScipyBackend.__ua_function__]
    inside = getattr(target, "__func__", None) or getattr(target, "func", None) or getattr(target, "pyfunc", None)
    if isinstance(target, type):
        makers = [(cls, name) for cls in target.__mro__ for name in ("__new__", "__init__")]
        found = [vars(cls).get(name) for cls, name in (*makers, (type(target), "__call__"))]
        return [getattr(f, "__func__", f) for f in found]
    return [target, inside, vars(type(target)).get("__call__")]


def _is_ours(frame: types.FrameType | None) -> bool:
    """Whether this package itself makes the call."""
    file = "" if frame is None else frame.f_code.co_filename
    return file == MAKING_CLASSES or (file.startswith(ENGINE) and not file.startswith(CALLERS))


def _escape(recording: Recording, code: types.CodeType) -> WengertError:
    return recording.refuse(
        EscapedFrameError(
            f"{here()}: C code called {Site(code.co_filename, code.co_firstlineno, code.co_qualname)} with a traced "
            "value. What it computes cannot be seen; its derivative would be silently zero. Call it from Python, or "
            "give the C function a rule (wg.rrule)."
        )
    )
