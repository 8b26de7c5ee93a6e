"""`python -m wengert`: what the package can be asked from the command line."""

from __future__ import annotations

import argparse
import builtins
import importlib
import sys
from typing import Any

from wengert.explain import policy

SHORT = {"np": "numpy", "sp": "scipy", "wg": "wengert"}


def main(words: list[str] | None = None) -> int:
    """Run a command; its exit code is 0, or 2 where it cannot be understood."""
    parser = argparse.ArgumentParser("python -m wengert", description="Ask wengert.")
    commands = parser.add_subparsers(required=True, metavar="command")
    told = commands.add_parser("policy", help="what becomes of a call in traced code, and why")
    told.add_argument("names", nargs="+", metavar="name", help="a callable, as np.fft.fft, list.append or mine.loss")
    told.set_defaults(run=_policy)
    given = parser.parse_args(words)
    try:
        given.run(given)
    except LookupError as error:
        parser.exit(2, f"{parser.prog}: {error.args[0]}\n")
    return 0


def _policy(given: argparse.Namespace) -> None:
    print("\n\n".join([str(policy(named(name))._replace(name=name)) for name in given.names]))


def named(name: str) -> Any:
    """The callable of a dotted name, in the module that it is in or among the builtins.

    Errors: LookupError, with what could be found.
    """
    first, *steps = name.split(".")
    path = [SHORT.get(first, first), *steps]
    for length in range(len(path), -1, -1):
        found: Any = _module(".".join(path[:length])) if length else builtins
        if found is not None and (length or hasattr(builtins, path[0])):
            return _walked(found, path[:length], path[length:], name)
    raise LookupError(f"{name}: there is no module {path[0]}, and no builtin of that name")


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        raise


def _walked(found: Any, above: list[str], steps: list[str], name: str) -> Any:
    for step in steps:
        if not hasattr(found, step):
            raise LookupError(f"{name}: {'.'.join(above) or 'builtins'} has no {step}{_near(found, step)}")
        found = getattr(found, step)
        above = [*above, step]
    if not callable(found):
        raise LookupError(f"{name} is a {type(found).__name__}, and cannot be called")
    return found


def _near(owner: Any, name: str) -> str:
    near = [other for other in dir(owner) if other.lower() == name.lower() or other.startswith(name)]
    return f". Did you mean {' or '.join(near[:3])}?" if near else ""


if __name__ == "__main__":
    sys.exit(main())
