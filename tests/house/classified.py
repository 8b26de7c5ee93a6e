"""The public functions of NumPy and SciPy, each with what becomes of its derivative; run, it writes docs/functions.md.

The tables in `functions/` say it of those without a rule: TRACED, CONSTANT and REFUSED, with names parted by spaces.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import types
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import wengert as wg

TABLES = sorted(path.stem for path in (Path(__file__).parent / "functions").glob("*.py"))
TABLES.sort(key=lambda table: not table.startswith("numpy"))
PAGE = Path(__file__).parents[2] / "docs" / "functions.md"
KINDS = ("rule", "traced", "constant", "refused")
HEAD = """# Which functions have derivatives

Search this page for a function of NumPy or SciPy. Each public function and class is one of these:

| kind | what happens to a value that you differentiate |
|---|---|
| **rule** | a rule states the derivative |
| **traced** | the function is written in Python, or wengert replaces it by Python code; wengert traces that code |
| **constant** | the result has no derivative: it is not a number, or is constant between jumps |
| **refused** | the call raises an error that names your line. You can [write a rule](rules.md) for the function |

A test compares this page with the installed libraries. These are the functions of NumPy {numpy} and SciPy {scipy};
`python tests/house/classified.py` writes the page.

## Count by module
"""


class Entry(NamedTuple):
    module: str
    name: str
    kind: str
    why: str

    def name_in(self, module: str) -> str:
        """The name as users of `module` write it, such as `emath.log` for users of numpy."""
        return f"{self.module}.{self.name}".removeprefix(f"{module}.")


def entries(table: str) -> Iterator[Entry]:
    """Each public function and class of the modules of a table; of kind "" where nothing says what becomes of it."""
    said = importlib.import_module(f"functions.{table}")
    by_name = {name: ("traced", "") for names in said.TRACED for name in names.split()}
    for kind, reasons in (("constant", said.CONSTANT), ("refused", said.REFUSED)):
        by_name |= {name: (kind, why) for names, why in reasons.items() for name in names.split()}
    for module in said.MODULES:
        for name, f in public(module):
            yield Entry(module, name, *(kind_of(f) or by_name.get(name) or ("", "")))


def public(module: str) -> Iterator[tuple[str, Any]]:
    """The public callables of a module, without its submodules and errors."""
    try:
        home = importlib.import_module(module)
    except ImportError:  # of another version of the library
        return
    for name in sorted(set(getattr(home, "__all__", None) or [n for n in dir(home) if not n.startswith("_")])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f = getattr(home, name, None)
        is_error = inspect.isclass(f) and issubclass(f, Exception)
        if callable(f) and not isinstance(f, types.ModuleType) and not is_error:
            yield name, f


def kind_of(f: Any) -> tuple[str, str] | None:
    """What the rules and stand-ins say of a callable; None where there is none."""
    with contextlib.suppress(TypeError):
        if f in wg.rules:
            return ("constant", "") if wg.rules[f].kind == "constant" else ("rule", "")
    return ("traced", "") if wg.explain_call(f).kind.startswith("replaced") else None


def page() -> str:
    """The text of docs/functions.md."""
    import numpy as np
    import scipy

    known = {table: list(entries(table)) for table in TABLES}
    counts = {table: Counter(entry.kind for entry in found) for table, found in known.items()}
    lines = [HEAD.format(numpy=release(np), scipy=release(scipy)), "| module | " + " | ".join(KINDS) + " |"]
    lines.append("|---|" + "---|" * len(KINDS))
    for table, found in known.items():
        lines.append(f"| {found[0].module} | " + " | ".join(str(counts[table][kind]) for kind in KINDS) + " |")
    for table, found in known.items():
        lines.append(f"\n## {found[0].module}\n\n| kind | functions | reason |\n|---|---|---|")
        for kind in KINDS:
            for why in dict.fromkeys(entry.why for entry in found if entry.kind == kind):
                alike = [entry for entry in found if (entry.kind, entry.why) == (kind, why)]
                names = dict.fromkeys(entry.name_in(found[0].module) for entry in alike)
                lines.append(f"| {kind} | {', '.join(f'`{name}`' for name in names)} | {why} |")
    return "\n".join(lines) + "\n"


def release(library: Any) -> str:
    return ".".join(library.__version__.split(".")[:2])


if __name__ == "__main__":
    PAGE.write_text(page())
