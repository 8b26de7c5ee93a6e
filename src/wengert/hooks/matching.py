"""The hook of class patterns of `match`: CPython matches; attributes of traced values are recorded."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from wengert.hooks.attributes import get_attribute
from wengert.hooks.code_swap import prepare_class_of
from wengert.recording.recording import STATE
from wengert.recording.slots import slot_of
from wengert.values.sites import Site


def match_class_pattern(
    cls: Any, names: tuple[str, ...], subject: Any, count: int, site: Site
) -> tuple[Any, ...] | None:
    """Return the values that `case cls(p1, .., name=..)` binds, or None if it does not match.

    The first `count` patterns are positional, the others have `names`.
    """
    found = _matcher(count, names)(prepare_class_of(cls, site), prepare_class_of(subject, site))
    recording = STATE.recording
    if found is None or recording is None or slot_of(recording, subject) is None:
        return found
    read = (*getattr(cls, "__match_args__", ())[:count], *names)
    return (*found[: len(found) - len(read)], *[get_attribute(subject, name, site) for name in read])


@functools.cache
def _matcher(count: int, names: tuple[str, ...]) -> Callable[[Any, Any], tuple[Any, ...] | None]:
    """Make a function that matches one class pattern with `count` positional patterns and these names."""
    bound = [f"p{k}" for k in range(count + len(names))]
    patterns = bound[:count] + [f"{name}={p}" for name, p in zip(names, bound[count:], strict=True)]
    case = f"case cls({', '.join(patterns)}): return ({''.join([p + ',' for p in bound])})"
    source = f"def match(cls, subject):\n match subject:\n  {case}"
    namespace: dict[str, Any] = {}
    exec(compile(source, "<wengert match>", "exec"), namespace)
    matcher: Callable[[Any, Any], tuple[Any, ...] | None] = namespace["match"]
    return matcher
