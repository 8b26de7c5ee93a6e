"""A case: a function that calls a package's public API as its users do, and the arguments it is called with."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

CASES = Path(__file__).parent / "cases"


class Case(NamedTuple):
    """A function `f` of floats and arrays `args`; `exact` gives its gradients where the package knows them itself."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    rtol: float
    exact: Callable[..., Any] | None


_gathered: list[Case] = []


def case(*args: Any, rtol: float = 1e-6, exact: Callable[..., Any] | None = None) -> Callable[[Any], Any]:
    """Have a function of floats and arrays be a case of its file, called with these."""

    def add(f: Any) -> Any:
        _gathered.append(Case(f, args, rtol, exact))
        return f

    return add


def packages() -> list[str]:
    """The names of the files of cases."""
    return sorted(path.stem for path in CASES.glob("*.py"))


def cases_of(package: str) -> list[Case]:
    """The cases of a file, in its order."""
    _gathered.clear()
    spec = importlib.util.spec_from_file_location(f"wild_{package}", CASES / f"{package}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return [*_gathered]
