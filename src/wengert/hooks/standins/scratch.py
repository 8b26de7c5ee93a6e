"""Stand-ins of SciPy functions that may overwrite an argument, or write their result into one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks.writes import record_store
from wengert.recording.primitives import Primitive
from wengert.recording.recording import STATE
from wengert.values.callables import named_parameters, parameter_names
from wengert.values.names import home_of

OUTPUT = "output"


def sparing(primitive: Primitive, record: Callable[..., Any]) -> Callable[..., Any]:
    """Make the recorder of a function that may overwrite an argument: here it may not, since a pullback reads it.

    An array for the result is written afterwards.
    """
    fn = primitive.fn
    names = parameter_names(fn) if home_of(fn).startswith("scipy.") else []
    writing = {name for name in names if name.startswith("overwrite_") or name == OUTPUT}
    if not writing:
        return record
    positional = named_parameters(fn)
    asked_for = {name: False for name in writing - {OUTPUT} if is_required(fn, name)}
    first = next((k for k, name in enumerate(positional) if name in writing), len(positional))

    def call(*args: Any, **kwargs: Any) -> Any:
        late = dict(zip(positional[first:], args[first:], strict=False))
        if STATE.recording is None or len(args) > len(positional) or late.keys() & kwargs.keys():
            return fn(*args, **kwargs)
        given = {name: x for name, x in (late | kwargs).items() if name not in writing or name == OUTPUT}
        words = given | asked_for
        output = words.get(OUTPUT)
        if not isinstance(output, np.ndarray):
            return record(*args[:first], **words)
        del words[OUTPUT]
        record_store(output, ..., record(*args[:first], **words))
        return output

    return call


def is_required(fn: Callable[..., Any], name: str) -> bool:
    """Whether a function has no default for a parameter."""
    return inspect.signature(fn).parameters[name].default is inspect.Parameter.empty


__all__ = ["sparing"]
