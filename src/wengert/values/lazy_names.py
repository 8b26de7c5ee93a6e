"""The public names of a module, each imported from the module that defines it when it is first used."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from wengert.values.garbage import collections_paused
from wengert.values.renamed import by_old_name
from wengert.values.spelled import spell_types


def import_name(namespace: str, homes: Mapping[str, str], name: str) -> Any:
    """Return what the module `namespace` calls by `name`, from its module in `homes`, or by an old name.

    The `__getattr__` of that module calls this once for each name. Errors: AttributeError if there is no such name.
    """
    module = sys.modules[namespace]
    if name not in homes:
        return by_old_name(module, name)
    with collections_paused():
        found = import_module(homes[name])
    if homes[name] != f"{namespace}.{name}":
        found = getattr(found, name)
        spell_types([found])
    vars(module)[name] = found
    return found
