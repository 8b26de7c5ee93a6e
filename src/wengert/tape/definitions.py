"""Definitions: the source of a module's functions, classes and constants, and edits of it."""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import operator
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import TapeError
from wengert.values.names import home_of

_OUR_PACKAGES = ("wengert", "wengert_rules")


def belongs_to_wengert(value: Any) -> bool:
    """Whether a value is a module, function, class or object of this package, or of its rules."""
    if isinstance(value, types.ModuleType):
        home = value.__name__
    else:
        home = home_of(value) if callable(value) else type(value).__module__
    return home.partition(".")[0] in _OUR_PACKAGES


def no_source_error(value: Any) -> TapeError:
    """Make the error for an object of this package that cannot be written as source."""
    name = getattr(value, "__qualname__", None) or type(value).__qualname__
    home = home_of(value) or type(value).__module__
    return TapeError(
        f"`{name}` of {home} cannot be written as source that runs without wengert\n"
        "  fix: call tape.compile(), whose function may use wengert"
    )


class Edit(NamedTuple):
    """The new text for the source between `begin` and `end`, each a line (from 1) and a column in bytes."""

    begin: tuple[int, int]
    end: tuple[int, int]
    new: str


@functools.cache
def _parsed_source(module: types.ModuleType) -> tuple[str, ast.Module]:
    text = inspect.getsource(module)
    return text, ast.parse(text)


def definition_text(module: types.ModuleType, name: str) -> str:
    """Return the source of the module-level statement that defines `name`."""
    text, tree = _parsed_source(module)
    found = [node for node in _statements(tree.body) if name in _defined_names(node)]
    if len(found) != 1:
        raise no_source_error(vars(module)[name])
    first = min([found[0].lineno, *(part.lineno for part in getattr(found[0], "decorator_list", []))])
    lines = text.splitlines(keepends=True)[first - 1 : found[0].end_lineno]
    return inspect.cleandoc("".join(lines)) + "\n" if found[0].col_offset else "".join(lines)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.If):
            yield from _statements([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _statements([*node.body, *(part for one in node.handlers for part in one.body)])
        else:
            yield node


def _defined_names(node: ast.stmt) -> set[str]:
    """Return the names that a statement defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}


def defining_module(module: types.ModuleType, name: str) -> tuple[types.ModuleType, str]:
    """Follow imports to the module that defines a global, and return it with the name it has there."""
    imports = [
        node for node in ast.walk(_parsed_source(module)[1]) if isinstance(node, ast.ImportFrom) and not node.level
    ]
    for node in imports:
        for alias in node.names:
            if (alias.asname or alias.name) == name:
                return defining_module(sys.modules[str(node.module)], alias.name)
    return module, name


def equals_its_definition(module: types.ModuleType, name: str, value: Any) -> bool:
    """Whether a global's value, which code may have changed, still equals the one its definition makes."""
    namespace = dict(vars(module))
    try:
        exec(definition_text(module, name), namespace)
    except Exception:
        return False
    new = namespace[name]
    same = np.array_equal if isinstance(new, np.ndarray) else operator.eq
    return type(new) is type(value) and bool(same(new, value))


def stripped_definition(text: str, module: types.ModuleType) -> str:
    """Strip a definition: no annotations, no decorators of this package, only the docstring's first line."""
    tree = ast.parse(text)
    edits: list[Edit] = []
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for part in node.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation:
            edits.append(Edit((node.lineno, node.col_offset + len(node.arg.encode())), _end(node.annotation), ""))
        elif isinstance(node, ast.AnnAssign) and node.value and id(node) not in inside:
            edits.append(Edit(_end(node.target), _end(node.annotation), ""))
        elif isinstance(node, ast.FunctionDef) and node.returns:
            edits.append(Edit(_arrow(text, node), _end(node.returns), ""))
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            edits += [*_docstring(node), *_decorators(node, module)]
    return apply_edits(text, edits)


def _docstring(node: ast.FunctionDef | ast.ClassDef) -> Iterator[Edit]:
    docstring = ast.get_docstring(node)
    if docstring and "\n" in docstring:
        yield Edit(*span_of(node.body[0]), f'"""{docstring.partition(chr(10))[0]}"""')


def _decorators(node: ast.FunctionDef | ast.ClassDef, module: types.ModuleType) -> Iterator[Edit]:
    """Yield the edits that remove decorators of this package, which only tell its other modules about a function."""
    for part in node.decorator_list:
        root: Any = part.func if isinstance(part, ast.Call) else part
        while isinstance(root, ast.Attribute):
            root = root.value
        value = vars(module).get(root.id) if isinstance(root, ast.Name) else None
        if value is not None and belongs_to_wengert(value):
            yield Edit((part.lineno, part.col_offset - 1), (_end(part)[0] + 1, 0), "")


def _arrow(text: str, node: ast.FunctionDef) -> tuple[int, int]:
    """Find the ` ->` before the annotation of a result."""
    assert node.returns
    line = text.splitlines()[node.returns.lineno - 1].encode()[: node.returns.col_offset]
    return node.returns.lineno, line.rindex(b" ->")


def apply_edits(text: str, edits: list[Edit]) -> str:
    lines = text.encode().splitlines(keepends=True)
    for (first, left), (last, right), new in sorted(edits, reverse=True):
        lines[first - 1 : last] = [lines[first - 1][:left] + new.encode() + lines[last - 1][right:]]
    return b"".join(lines).decode()


def _end(node: Any) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset


def span_of(first: Any, last: Any = None) -> tuple[tuple[int, int], tuple[int, int]]:
    return (first.lineno, first.col_offset), _end(last or first)


def attribute_chains(text: str, name: str) -> Iterator[list[Any]]:
    """Yield each use of a name, with the attributes read from it, from left to right."""
    tree = ast.parse(text)
    above = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name:
            chain: list[Any] = [node]
            while isinstance(above[id(chain[-1])], ast.Attribute):
                chain.append(above[id(chain[-1])])
            yield chain


def locals_of(text: str) -> set[str]:
    """Return the names of parameters and local variables in a definition."""
    codes = [compile(text, "<helper>", "exec", dont_inherit=True)]
    for code in codes:
        codes += [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return {name for code in codes[1:] for name in (*code.co_varnames, *code.co_cellvars)}


def name_spans(text: str, name: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the spans of a name: where it is used, and where it is defined."""
    for chain in attribute_chains(text, name):
        yield span_of(chain[0])
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
            before = "class " if isinstance(node, ast.ClassDef) else "def "
            left = node.col_offset + len(before)
            yield (node.lineno, left), (node.lineno, left + len(name))


def free_names(text: str) -> set[str]:
    """Return the names that a definition reads from its module."""
    return {*_global_reads(compile(text, "<helper>", "exec", dont_inherit=True))}


def _global_reads(code: types.CodeType) -> Iterator[str]:
    own = {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_NAME"}
    for i in dis.get_instructions(code):
        if i.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS") and i.argval not in own:
            yield i.argval
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _global_reads(part)
