"""Old names of public functions and classes: they still work, and warn at the line that uses them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

from wengert.values.foreign_names import no_such_name
from wengert.values.frames import user_frame, warn

F = TypeVar("F", bound=Callable[..., Any])

RENAMED = {
    "EagerWarning": "NotCompiledWarning",
    "accumulation": "accumulation_options",
    "bound": "bound_variable",
    "custom": "custom_derivative",
    "missing": "find_missing_rules",
    "policy": "explain_call",
    "pullback": "vjp_rule",
    "pushforward": "jvp_rule",
    "strict": "debug_callbacks",
}
"""The new name of each old one. An old name is one of a module that has the new one."""


def keep_old_names(module: ModuleType) -> None:
    """Make the old names of a module work."""
    vars(module)["__getattr__"] = functools.partial(by_old_name, module)


def by_old_name(module: ModuleType, name: str) -> Any:
    """Return what `module` calls by a new name, and warn. Errors: AttributeError if `name` is not an old name.

    `from wengert import pullback` asks for the name twice; the first time it is the import system, without a warning.
    """
    new = RENAMED.get(name, "")
    if new not in module.__all__:
        raise AttributeError(no_such_name(name, module.__name__), name=name, obj=module)
    frame = user_frame(sys._getframe())
    if frame is None or frame.f_globals.get("__name__") != "importlib._bootstrap":
        _warn_of(f"{module.__name__}.{name}", f"{module.__name__}.{new}")
    return getattr(module, new)


def under_old_name(old: str, new: str, f: F) -> F:
    """Return the method or function `f`, with the name `new`, for its name `old`: a call of it warns."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        _warn_of(old, new)
        return f(*args, **kwargs)

    return call  # type: ignore[return-value]


def _warn_of(old: str, new: str) -> None:
    warn(f"{old} is now called {new}. wengert 0.2 removes the old name.", DeprecationWarning)
