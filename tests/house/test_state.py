"""What modules of the package hold and change at run time stands in one table, in `docs/state.md`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "wengert"
PAGE = ROOT / "docs" / "state.md"
CHANGES = set("append extend insert remove add discard update setdefault pop popitem clear".split())  # a container
EMPTY = {"{}", "[]", "set()", "weakref.WeakKeyDictionary()", "WeakKeyDictionary()", "weakref.WeakValueDictionary()"}

Place = tuple[str, str]  # a file, and a name in it


@cache
def modules() -> dict[str, ast.Module]:
    """The files of the package, by their names."""
    return {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}


@cache
def assigned(file: str) -> dict[str, ast.expr | ast.ClassDef]:
    """The names that a module gives to values and classes."""
    found: dict[str, ast.expr | ast.ClassDef] = {}
    for node in modules()[file].body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id: node.value for target in targets if isinstance(target, ast.Name)}
    return found


def places(file: str) -> dict[str, Place]:
    """What the names of a module stand for: its own, and those that it imports from the package."""
    found = {}
    for node in modules()[file].body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            origin = node.module.removeprefix("wengert.").replace(".", "/") + ".py"
            owned = assigned(origin) if origin in modules() else {}
            found |= {alias.asname or alias.name: (origin, alias.name) for alias in node.names if alias.name in owned}
    return found | {name: (file, name) for name in assigned(file)}


def changed_by(function: ast.AST) -> Iterator[str]:
    """The names, not its own, of what a function changes: declared global, an attribute or item of it, a container."""
    nodes = list(ast.walk(function))
    declared = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    own = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    yield from declared
    for node in nodes:
        if isinstance(node, ast.Attribute | ast.Subscript):
            is_change = isinstance(node, ast.Attribute) and node.attr in CHANGES
            root: ast.expr = node
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            if (is_change or not isinstance(node.ctx, ast.Load)) and isinstance(root, ast.Name):
                yield from {root.id} - (own - declared)


def methods(cls: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in cls.body if isinstance(node, ast.FunctionDef)}


def changes_itself(cls: ast.ClassDef) -> bool:
    """Whether objects of a class are changed by their methods."""
    bodies = [ast.Module(f.body, []) for name, f in methods(cls).items() if name not in ("__init__", "__new__")]
    return any("self" in changed_by(body) for body in bodies)


def state() -> set[Place]:
    """What modules hold that changes after they were imported, or that is empty and will be filled."""
    found = set()
    for file in modules():
        known = places(file)
        for function in ast.walk(modules()[file]):
            if isinstance(function, ast.FunctionDef | ast.Lambda):
                changed = [known[name] for name in changed_by(function) if name in known]
                found.update(place for place in changed if not calls_by_class(place))
        for name, value in assigned(file).items():
            made = value.func if isinstance(value, ast.Call) else None
            origin, of = known.get(made.id, ("", "")) if isinstance(made, ast.Name) else ("", "")
            cls = assigned(origin).get(of) if origin else None
            if (isinstance(cls, ast.ClassDef) and changes_itself(cls)) or ast.unparse(value) in EMPTY:
                found.add((file, name))
    return {(file, name) for file, name in found if not name.startswith("__")}


def calls_by_class(place: Place) -> bool:
    """Whether a name stands for a class with a method named as a container's: what it changes is an object."""
    found = assigned(place[0])[place[1]]
    return isinstance(found, ast.ClassDef) and not CHANGES.isdisjoint(methods(found))


def explained() -> set[Place]:
    """The variables in the table of the page, with their files: its third and its second column."""
    rows = [line.split("|") for line in PAGE.read_text().splitlines() if re.match(r"\| \w+ \| `", line)]
    return {(row[2].strip(" `"), name) for row in rows for name in re.findall(r"`(\w+)`", row[3])}


def test_state_of_modules_is_explained_and_what_is_explained_is_there() -> None:
    assert state() == explained()


def test_what_a_function_changes_is_found() -> None:
    text = """
def f(a):
    global G
    b = A = {}
    a.append(1), b.clear(), A.pop()
    B.append(1)
    C[0] = 1
    del D.e
    E.f.g += 1
    partial(F.pop, 1)
    H.sorted()
"""
    assert sorted(changed_by(ast.parse(text))) == ["B", "C", "D", "E", "F", "G"]
