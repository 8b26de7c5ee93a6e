"""Caches of what was found about functions and classes. They hold for one trace, since these may change between two.

The session forgets it when the last recording ends and when one is opened beside another thread's; the hooks do where
traced code changes a class or a rule is changed.
"""

from __future__ import annotations

from typing import Any

twins: dict[Any, Any] = {}
"""The callable that traced code calls in place of a function without a closure, or of a class: mostly itself."""
prepared: dict[int, type] = {}
"""Classes of which all functions have been exchanged, by their ids: a metaclass may say that they have no hash."""
calling_on: set[type] = set()
"""Classes whose objects are called as they are: `__call__` runs instrumented code, and no rule is for an object."""
methods: dict[tuple[type, str], Any] = {}
"""The methods of classes that are written in Python; None where one of C stands."""
class_parts: dict[int, tuple[type, Any, list[Any]]] = {}
"""Parts of classes that a search for traced values looks at, by their ids: the class, `__globals__`, and values."""
plain_names: dict[type, set[str]] = {}
"""Attributes of the objects of a class that are read as they are."""
plain_names_of_classes: dict[type, set[str]] = {}
"""Attributes of classes themselves, where no descriptor written in Python has a say."""
of_values: dict[type, set[str]] = {}
"""Such attributes of arrays and numbers, which stay as they are."""


def forget() -> None:
    """Nothing is known of any function or class from now on."""
    twins.clear()
    prepared.clear()
    calling_on.clear()
    methods.clear()
    class_parts.clear()
    plain_names_of_classes.clear()
    if len(plain_names) > len(of_values):
        for t in [*plain_names]:  # one by one: where an interrupt hits, the rest goes the next time
            if t not in of_values:
                plain_names.pop(t, None)
