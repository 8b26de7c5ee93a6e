"""Code generated from the source of this package's rules, kept for later processes.

It depends on the rule's code, on the helpers in this package that the rule calls, and on functions of other packages.
So it is used with the same files of this package, and the same versions of the packages that the rule's module names.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from functools import cache
from typing import Any

from wengert.values.code_packs import Pack, digest, pack_of
from wengert.values.codes import code_of

_SOURCES_OF_RULES = "wengert_rules", "wengert.rulebook", "wengert.values"


class KeptRule:
    """The entries of one rule in the pack of its file."""

    def __init__(self, pack: Pack, key: bytes) -> None:
        self.pack, self.key = pack, key

    def get(self, make: Callable[[], Any], key: tuple[Any, ...]) -> Any:
        """Return the entry of the key, or what `make` returns, which is kept."""
        name = self.key + repr(key).encode()
        found = self.pack.get(name)
        if found is None:
            found = (make(),)
            self.pack.put(name, found)
        return found[0]


def kept_rule(function: types.FunctionType, kind: str) -> KeptRule | None:
    """Return the KeptRule of a rule of this package; None for others, and for closures."""
    module = sys.modules.get(function.__module__)
    if module is None or vars(module) is not function.__globals__ or function.__closure__:
        return None
    if function.__module__.partition(".")[0] != "wengert_rules":
        return None
    pack, code = pack_of(module.__file__ or "", _SOURCES_OF_RULES), code_of(function)
    key = digest(code, kind, _named_packages(function.__module__))
    return None if pack is None or key is None else KeptRule(pack, key)


@cache
def _named_packages(module: str) -> list[tuple[str, Any]]:
    """Return the packages that a module names, with their versions."""
    values = [*vars(sys.modules[module]).values()]
    homes = [v.__name__ if isinstance(v, types.ModuleType) else getattr(v, "__module__", None) for v in values]
    tops = {"numpy", "scipy", *[home.partition(".")[0] for home in homes if isinstance(home, str)]}
    return [(top, getattr(sys.modules.get(top), "__version__", None)) for top in sorted(tops)]
