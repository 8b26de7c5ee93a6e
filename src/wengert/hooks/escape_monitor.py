"""The escape monitor: from Python 3.12 on, an uninstrumented function that runs on a traced value raises an error.

C code may call a Python function that was not instrumented. `sys.monitoring` reports each start of a function. Reports
of code that cannot escape (this package, twins, NumPy) are disabled for good, so that a gradient pays nothing for them.
Reports stay on after the first trace: to switch them for each trace would cost 20 to 100 µs, since the interpreter
then instruments all code anew. See docs/design/0003.
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
from wengert.hooks.modules import MODULE_DECISIONS
from wengert.hooks.readers import readable_objects
from wengert.recording.recording import STATE, Recording, users_line
from wengert.recording.session import SESSION
from wengert.recording.shadow import SHADOW
from wengert.recording.slots import slot_of
from wengert.rulebook.registry import rules
from wengert.values.codes import code_of, original
from wengert.values.fork_lock import lock_of_process
from wengert.values.frames import ENGINE
from wengert.values.settings import SETTINGS
from wengert.values.sites import Site
from wengert.values.specs import is_inexact

TOOLS = (4, 3)
"""The tool identifiers of `sys.monitoring` without a reserved purpose; debuggers and profilers have others."""
MAX_STARTS = 1000
"""The number of starts between two traces after which a function is not reported until the next trace."""
EXEMPT_PACKAGES = {"wengert", "wengert_rules", "numpy", "bytecode", "types", *MODULE_DECISIONS}
"""Packages whose functions run uninstrumented on purpose."""
_CALLING_MODULES = ("hooks/", *[f"recording/{name}.py" for name in ("record", "recorders", "decisions", "primitives")])
CALLING_FILES = tuple([ENGINE + name for name in _CALLING_MODULES])
"""Files of this package that make the user's calls. Calls from other files are this package's own."""
CLASS_MAKING_FILE = ENGINE + "hooks/construction.py"
"""The file that calls C to make a class; library functions for `typing.NamedTuple` only move its contents."""
EXEMPT_METHODS = {
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
"""Methods that NumPy calls with the source of a new array, and those from which containers get a bool."""

DISPLAY_METHODS = {"__len__", "__repr__", "__str__", "__format__", "__contains__", "__del__"}
"""Methods that return no float; they may read traced values."""
_UNREADABLE_TYPES = {float, int, bool, str, bytes, type, types.NoneType, types.ModuleType, types.FunctionType}
_READING_ARGUMENTS_ONLY = {"scipy", *sys.stdlib_module_names}
"""Packages whose functions read the user's values from their arguments only."""

monitoring: Any = getattr(sys, "monitoring", None)  # from Python 3.12
_lock = lock_of_process()
_starts: dict[int, int] = {}


class Monitor:
    """The state of the monitor: its `sys.monitoring` tool, and whether the next trace must turn reports on."""

    tool: int | None = None
    needs_restart = monitoring is not None


def turn_reports_on() -> None:
    """Turn on the reports of all function starts again; each trace begins with this."""
    with _lock:
        Monitor.needs_restart = False
        _starts.clear()
        if Monitor.tool is None:
            Monitor.tool = _claim_tool()
        else:
            monitoring.restart_events()


def _claim_tool() -> int | None:
    """Claim and start a free tool, and return its identifier; None, and no monitoring, if none is free."""
    for tool in TOOLS:
        if monitoring.get_tool(tool) is None:
            monitoring.use_tool_id(tool, "wengert")
            monitoring.register_callback(tool, monitoring.events.PY_START, _check_start)
            monitoring.set_events(tool, monitoring.events.PY_START)
            atexit.register(_free_tool, tool)
            return tool
    return None


def _free_tool(tool: int) -> None:
    """Free the tool when the interpreter exits, before the objects that reports need are gone."""
    monitoring.set_events(tool, 0)
    monitoring.free_tool_id(tool)


def _check_start(code: types.CodeType, offset: int) -> Any:
    """Handle the start of a Python function: raise if it escaped, and turn off reports of code that cannot escape."""
    frame = sys._getframe(1)
    if _is_exempt(frame):
        return monitoring.DISABLE
    recording = STATE.recording
    if recording is None:
        return _count_start(code)
    if _is_escaped(recording, frame):
        raise _escape_error(recording, code)
    return None


def _is_exempt(frame: types.FrameType) -> bool:
    """Whether a frame's code is instrumented, or uninstrumented on purpose."""
    code = frame.f_code
    if original(code) is not None or code.co_filename.startswith((ENGINE, "<wengert", "<frozen ")):
        return True
    module = frame.f_globals.get("__name__", "").partition(".")[0]
    return module in EXEMPT_PACKAGES or module.startswith("namedtuple_")


def _is_escaped(recording: Recording, frame: types.FrameType) -> bool:
    """Whether an uninstrumented function reads a traced value, and nothing excuses it."""
    if frame.f_code.co_name in EXEMPT_METHODS or _is_engine_call(frame.f_back):  # fast; its arguments may be large
        return False
    is_reading = _receives_traced(recording, frame) or _reads_traced(recording, frame)
    return is_reading and not _runs_for_a_rule(frame) and not _is_for_pytest(frame)


@contextlib.contextmanager
def debug_callbacks() -> Iterator[None]:
    """Refuse uninstrumented functions that read traced values, inside the `with` block and on this thread.

    C code may call such functions. From Python 3.12 on they always raise an error, and this does nothing. On 3.11 it
    checks every call, which makes all code 5 to 10 times slower.

    Yields:
        None: A context manager to use in a `with` statement.
    Raises:
        EscapedFrameError: From the gradient, if such a function reads a traced value. It is a RefusedCallError.
        WengertError: A profiler is active.
    See Also:
        find_missing_rules, explain_call

    Examples:
        >>> with wg.debug_callbacks():
        ...     wg.grad(lambda x: x * x)(3.0)
        6.0
    """
    if monitoring is None:
        if sys.getprofile() is not None:
            raise WengertError(
                "wg.debug_callbacks() needs sys.setprofile, which another profiler uses. Run without that profiler."
            )
        sys.setprofile(_profile_call)
    try:
        with SETTINGS.changed() if monitoring is None else contextlib.nullcontext():
            yield
    finally:
        if monitoring is None:
            sys.setprofile(None)


def _profile_call(frame: types.FrameType, event: str, arg: Any) -> None:
    """The profile function on 3.11. It notes a refusal, raised when the trace ends: an error here stops profiling."""
    recording = STATE.recording
    if event == "call" and recording is not None and not _is_exempt(frame) and _is_escaped(recording, frame):
        _escape_error(recording, frame.f_code)


def _count_start(code: types.CodeType) -> Any:
    """Count the start of a function while this thread does not trace; after MAX_STARTS disable its reports."""
    starts = _starts[id(code)] = _starts.get(id(code), 0) + 1
    if starts < MAX_STARTS or SESSION.recordings:
        return None
    Monitor.needs_restart = True
    return monitoring.DISABLE


def _receives_traced(recording: Recording, frame: types.FrameType) -> bool:
    """Whether a traced value is among a function's arguments, their items, or its closure variables."""
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


def _reads_traced(recording: Recording, frame: types.FrameType) -> bool:
    """Whether a function can read a traced value by a global name, or from an attribute that it names."""
    code, space = frame.f_code, frame.f_globals
    if code.co_name in DISPLAY_METHODS or space.get("__name__", "").partition(".")[0] in _READING_ARGUMENTS_ONLY:
        return False
    found = [space[name] for name in code.co_names if name in space]
    variables = [
        value for value in (*_locals(frame), *found) if type(value) not in _UNREADABLE_TYPES or id(value) in SHADOW
    ]
    read = readable_objects(code.co_names, variables) if variables else ()
    return any([is_inexact(value) and slot_of(recording, value) is not None for value in read])


def _locals(frame: types.FrameType) -> list[Any]:
    names = frame.f_locals
    return [*names.values()] if hasattr(type(names), "values") else []  # `eval` takes any object for them


def _runs_for_a_rule(frame: types.FrameType | None) -> bool:
    """Whether a frame runs for a primitive written in Python, for its rule, or for this package itself."""
    codes = rules.once(_codes_of_rules)
    while frame is not None and original(frame.f_code) is None:
        if (
            frame.f_code in codes
            or _overrides_a_constant(frame)
            or (_is_engine_call(frame.f_back) and not frame.f_code.co_filename.startswith(ENGINE))
        ):
            return True
        frame = frame.f_back
    return False


def _overrides_a_constant(frame: types.FrameType) -> bool:
    """Whether a class overrides a NumPy function that is declared to have no derivative, such as `np.shape`."""
    code = frame.f_code
    if code.co_name != "__array_function__" or code.co_argcount < 2:
        return False
    called = frame.f_locals.get(code.co_varnames[1])
    return type(called) is _ARRAY_FUNCTION and called in rules and rules[called].kind == "constant"


_ARRAY_FUNCTION = type(np.sum)


def _is_for_pytest(frame: types.FrameType | None) -> bool:
    """Whether pytest calls a frame: it prints the values of a failed assert by library functions."""
    while frame is not None and original(frame.f_code) is None and not frame.f_code.co_filename.startswith(ENGINE):
        if frame.f_globals.get("__name__", "").startswith("_pytest."):
            return True
        frame = frame.f_back
    return False


def _codes_of_rules() -> set[types.CodeType]:
    """Collect the code objects of functions with rules, and of the rules."""
    functions = [f for target in rules for f in (*_functions_of(target), rules[target].body)]
    return {code_of(f) for f in functions if isinstance(f, types.FunctionType)}


def _functions_of(target: Any) -> list[Any]:
    """List the functions that a call of `target` may start: itself, its methods, a class's constructors."""
    if type(target).__module__ == "uarray":  # a function of scipy.fft, which calls its backend
        return [sys.modules["scipy.fft._backend"]._ScipyBackend.__ua_function__]
    inside = getattr(target, "__func__", None) or getattr(target, "func", None) or getattr(target, "pyfunc", None)
    if isinstance(target, type):
        makers = [(cls, name) for cls in target.__mro__ for name in ("__new__", "__init__")]
        found = [vars(cls).get(name) for cls, name in (*makers, (type(target), "__call__"))]
        return [getattr(f, "__func__", f) for f in found]
    return [target, inside, vars(type(target)).get("__call__")]


def _is_engine_call(frame: types.FrameType | None) -> bool:
    """Whether this package itself makes the call."""
    file = "" if frame is None else frame.f_code.co_filename
    return file == CLASS_MAKING_FILE or (file.startswith(ENGINE) and not file.startswith(CALLING_FILES))


def _escape_error(recording: Recording, code: types.CodeType) -> WengertError:
    """Refuse an escaped function, and return the error."""
    return recording.refuse(
        EscapedFrameError(
            f"{users_line()}: C code called {Site(code.co_filename, code.co_firstlineno, code.co_qualname)} with a "
            "traced value. That call cannot be traced; its derivative would be silently zero. Call the function from "
            "Python, or give the C function a rule (wg.rrule)."
        )
    )
