"""The syntax tree of a rule: parse its source, find what it reads, remove dead code, and compile it again."""

from __future__ import annotations
import __future__

import ast
import builtins
import linecache
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from wengert.values.codes import code_of
from wengert.values.fork_lock import lock_of_process
from wengert.values.specs import is_complex, spec_of

DERIVING = lock_of_process()
"""A lock to hold while making trees: CPython counts the depth of `ast.parse` for all threads, else a SystemError."""

UNKNOWN = object()
SHAPE_ATTRIBUTES = {"shape", "dtype", "ndim", "size"}
SHAPE_FUNCTIONS = {np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj, is_complex, spec_of}
_FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)


def definition(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """Return a function's syntax tree without decorators; None without source, or if the source is not what runs."""
    node = copied_tree(defined(function))
    if node is not None:
        node.decorator_list = []
    return node


def walk_tree(node: ast.AST) -> list[ast.AST]:
    """Return the nodes of a syntax tree from the top down, like `ast.walk`, but faster, and without contexts."""
    found: list[Any] = [node]
    for n in found:  # which grows
        for name in _fields_with_nodes(n.__class__):  # other attributes may lead to other trees
            part = getattr(n, name, None)
            if isinstance(part, ast.AST):
                found.append(part)
            elif type(part) is list:
                found += [item for item in part if isinstance(item, ast.AST)]
    return found


@lru_cache(maxsize=256)
def _fields_with_nodes(t: Any) -> tuple[str, ...]:
    return tuple([name for name in t._fields if name not in ("ctx", "id", "attr", "arg", "kind", "type_comment")])


def copied_tree(node: Any) -> Any:
    """Copy a syntax tree. Unlike the calls of `copy.deepcopy`, these calls are not examined by a running trace."""
    if isinstance(node, list):
        return [copied_tree(part) for part in node]
    if not isinstance(node, ast.AST) or isinstance(node, _SHARED):
        return node
    made, held = type(node).__new__(type(node)), vars(node)
    names = [name for name in (*node._fields, *node._attributes) if name in held]
    vars(made).update({name: copied_tree(held[name]) for name in names})
    return made


_SHARED = ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop  # `Load()` is one object for all


def defined(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """Return a function's syntax tree with decorators; it is cached, so do not change it."""
    if not isinstance(function, types.FunctionType):
        return None
    code = code_of(function)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    texts = [_block(lines, code.co_firstlineno)] if "<locals>" not in code.co_qualname else []
    for text in [*texts, "".join(lines)]:
        found = _definitions(text, code.co_filename, code.co_flags & _FUTURE)
        node, made = found.get((code.co_name, code.co_firstlineno), (None, None))
        if node is not None and made is not None and _fingerprint(made) == _fingerprint(code):
            return node
    return None


def _block(lines: list[str], first: int) -> str:
    """Guess the source of the definition at line `first`, by indentation, behind the imports above; others are blank.

    CPython compiles `np.sin(x)` in another way where `np` is imported.
    """
    head = next((k for k in range(first - 1, len(lines)) if lines[k].startswith("def ")), len(lines))
    end = next((k for k in range(head + 1, len(lines)) if lines[k][0] not in " \t\r\n\f#)"), len(lines))
    return "".join([*_imports(lines[: first - 1]), *lines[first - 1 : end]])


def _imports(lines: list[str]) -> Iterator[str]:
    """Yield the lines of the imports at the top level of a module, and a blank line for each other."""
    inside = False
    for line in lines:
        inside |= line.startswith(("import ", "from "))
        yield line if inside else "\n"
        inside &= "(" in line or line[0] in " \t"


@lru_cache(maxsize=64)
def _definitions(text: str, file: str, flags: int) -> dict[tuple[str, int], tuple[ast.FunctionDef, types.CodeType]]:
    """Parse and compile a source; return its functions by name and first line, each as a tree and a code object."""
    try:
        tree = ast.parse(text, file)
        module = compile(tree, file, "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return {}
    codes = {(c.co_name, c.co_firstlineno): c for c in _codes(module)}
    found = {}
    for node in walk_tree(tree):
        if isinstance(node, ast.FunctionDef):
            key = (node.name, min([node.lineno, *[n.lineno for n in node.decorator_list]]))
            if key in codes:
                found[key] = (node, codes[key])
    return found


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield const
            yield from _codes(const)


def reads(nodes: Sequence[ast.AST], name: str, function: types.FunctionType, variadic: bool = False) -> str:
    """Return what a body of these `nodes` reads of a parameter: "value", "shape" (and dtype), or "nothing"."""
    harmless: set[int] = set()
    for n in nodes:
        if isinstance(n, ast.Call) and n.args and isinstance(n.args[0], ast.Name):
            found = named_object(n.func, function)
            if any(found is f for f in ([len] if variadic else SHAPE_FUNCTIONS)):
                harmless.add(id(n.args[0]))
        elif isinstance(n, ast.Attribute) and n.attr in SHAPE_ATTRIBUTES and _is_read(n) and not variadic:
            harmless.add(id(n.value))
        elif variadic and isinstance(n, (ast.ListComp, ast.GeneratorExp)):
            harmless.update(_harmless_iteration(n, name, function))
    uses = [id(n) for n in nodes if isinstance(n, ast.Name) and n.id == name and _is_read(n)]
    uses += [0 for n in nodes if isinstance(n, ast.AugAssign) and _name_of(n.target) == name]
    if not uses:
        return "nothing"
    return "shape" if all(use in harmless for use in uses) else "value"


def _harmless_iteration(node: Any, name: str, function: types.FunctionType) -> Iterator[int]:
    """Yield the id of the name `arrays` in `... for a in arrays`, where the loop reads no value of any `a`."""
    first = node.generators[0]
    simple = _name_of(first.iter) == name and isinstance(first.target, ast.Name)
    if simple and reads(walk_tree(node), first.target.id, function) != "value":
        yield id(first.iter)


# Results and dead code


def is_exact(node: ast.FunctionDef, count: int) -> bool:
    """Whether each `return` of the body writes out a tuple of `count` results."""
    results = [parts_of(r) for r in returns(node.body)]
    written_out = all(len(parts) == count and not any(map(_is_starred, parts)) for parts in results)
    unsupported = any(isinstance(n, (ast.Global, ast.Yield, ast.YieldFrom, ast.Await)) for n in walk_tree(node))
    return count > 0 and written_out and not unsupported and _ends(node.body)


def parts_of(statement: ast.Return) -> list[ast.expr]:
    """Return the expressions that a `return` statement returns, one for each argument."""
    value = statement.value
    return list(value.elts) if isinstance(value, ast.Tuple) else [value] if value else []


def returns(statements: Sequence[ast.AST]) -> Iterator[ast.Return]:
    for s in statements:
        if isinstance(s, ast.Return):
            yield s
        elif not isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield from returns(list(ast.iter_child_nodes(s)))


def _ends(statements: Sequence[ast.stmt]) -> bool:
    last = statements[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _ends(last.body) and _ends(last.orelse)
    if isinstance(last, ast.With):
        return _ends(last.body)
    return isinstance(last, (ast.Return, ast.Raise))


class _Results(ast.NodeTransformer):
    """Transformer that replaces the `return` statements of a function, but not those of functions in it."""

    def __init__(self, results: Callable[[ast.Return], list[ast.stmt]]) -> None:
        self.results = results

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        return self.results(node)

    def visit_FunctionDef(self, node: Any) -> Any:
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef


def prune(
    node: ast.FunctionDef, results: Callable[[ast.Return], list[ast.stmt]], is_free: Callable[[ast.AST], bool]
) -> None:
    """Replace each `return` of `node` by `results(statement)`, and remove the dead code.

    A statement is removed only if nothing reads its variables and `is_free(statement)`: it has no side effect.
    """
    rewrite = _Results(results)
    module = ast.Module([rewrite.visit(s) for s in node.body], [])
    node.body = [s for part in module.body for s in (part if isinstance(part, list) else [part])]
    live: set[str] = set()
    size = -1
    while size != len(live):
        size = len(live)
        _mark(node.body, live, is_free)
    node.body = _sweep(node.body, live, is_free) or [ast.copy_location(ast.Pass(), node)]


def _mark(statements: Sequence[ast.stmt], live: set[str], is_free: Callable[[ast.AST], bool]) -> None:
    """Add to `live` the names that the remaining statements read."""
    for s in reversed(statements):
        if isinstance(s, (ast.If, ast.With)):
            _mark(s.body, live, is_free)
            _mark(_otherwise(s), live, is_free)
            if _stays(s, live, is_free):
                live.update(*map(_loads, [s.test] if isinstance(s, ast.If) else s.items))
        elif _stays(s, live, is_free):
            live |= _loads(s)


def _sweep(statements: Sequence[ast.stmt], live: set[str], is_free: Callable[[ast.AST], bool]) -> list[ast.stmt]:
    kept = [s for s in statements if _stays(s, live, is_free)]
    for s in kept:
        if isinstance(s, (ast.If, ast.With)):
            s.body = _sweep(s.body, live, is_free) or [ast.copy_location(ast.Pass(), s)]
        if isinstance(s, ast.If):
            s.orelse = _sweep(s.orelse, live, is_free)
    return kept


def _stays(s: ast.stmt, live: set[str], is_free: Callable[[ast.AST], bool]) -> bool:
    if isinstance(s, (ast.If, ast.With)):
        parts = [*s.body, *_otherwise(s)]
        return any(_stays(part, live, is_free) for part in parts) or not is_free(_emptied(s))
    if isinstance(s, ast.Expr):  # nothing can read its value: it is there for its side effect
        return not isinstance(s.value, ast.Constant)
    return isinstance(s, (ast.Return, ast.Break, ast.Continue)) or bool(_stored(s) & live) or not is_free(s)


def _otherwise(s: ast.If | ast.With) -> list[ast.stmt]:
    return s.orelse if isinstance(s, ast.If) else []


def _emptied(s: ast.If | ast.With) -> ast.stmt:
    """Return a compound statement without its body."""
    return ast.If(s.test, [], []) if isinstance(s, ast.If) else ast.With(s.items, [])


def _stored(s: ast.stmt) -> set[str]:
    """Return the variables that a statement binds, or writes into."""
    stored = [n.value if isinstance(n, ast.Subscript) else n for n in walk_tree(s) if _is_stored(n)]
    return {n.id for n in stored if isinstance(n, ast.Name)}


def _is_stored(n: ast.AST) -> bool:
    return isinstance(n, (ast.Name, ast.Subscript)) and isinstance(n.ctx, ast.Store)


def _loads(node: ast.AST) -> set[str]:
    nodes = walk_tree(node)
    found = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)}
    return found | {str(_name_of(n.target)) for n in nodes if isinstance(n, ast.AugAssign)}


def _is_read(n: ast.Name | ast.Attribute) -> bool:
    return isinstance(n.ctx, ast.Load)


def _is_starred(n: ast.expr) -> bool:
    return isinstance(n, ast.Starred)


def _name_of(node: ast.AST) -> str | None:
    return node.id if isinstance(node, ast.Name) else None


def unit(part: ast.expr) -> int:
    """Return 1 or -1 if an expression is that literal, else 0."""
    if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub):
        return -unit(part.operand)
    return int(isinstance(part, ast.Constant) and type(part.value) in (int, float) and part.value == 1)


# Names and code objects


def named_object(node: ast.AST, function: types.FunctionType) -> Any:
    """Return the object that a global, closure variable or module attribute names in `function`, or UNKNOWN."""
    if isinstance(node, ast.Attribute):
        base = named_object(node.value, function)
        return getattr(base, node.attr, UNKNOWN) if isinstance(base, types.ModuleType) else UNKNOWN
    code = code_of(function)
    if not isinstance(node, ast.Name) or node.id in code.co_varnames + code.co_cellvars:
        return UNKNOWN
    cell = cells_of(function).get(node.id)
    if cell is not None:
        try:
            return cell.cell_contents
        except ValueError:  # not filled yet
            return UNKNOWN
    return function.__globals__.get(node.id, getattr(builtins, node.id, UNKNOWN))


def cells_of(function: types.FunctionType) -> dict[str, types.CellType]:
    return dict(zip(code_of(function).co_freevars, function.__closure__ or (), strict=True))


def unused(name: str, node: ast.AST, function: types.FunctionType) -> str:
    """Return a name like `name` that neither the body `node` nor `function` uses."""
    return all_unused([name], node, function)[name]


def all_unused(names: Sequence[str], node: ast.AST, function: types.FunctionType) -> dict[str, str]:
    """Return for each of several names one that is `unused`."""
    taken = set(code_of(function).co_freevars) | set(code_of(function).co_names)
    for n in walk_tree(node):
        if isinstance(n, ast.Name):
            taken.add(n.id)
        elif isinstance(n, ast.arg):
            taken.add(n.arg)
    free = {}
    for name in names:
        free[name] = name
        while free[name] in taken:
            free[name] += "_"
    return free


def code_from(
    node: ast.FunctionDef, function: types.FunctionType, cells: Iterable[str], file: str = ""
) -> types.CodeType:
    """Compile `node` as if it were defined where `function` is, with further closure variables `cells`."""
    names = ", ".join([*code_of(function).co_freevars, *cells])
    tree = ast.parse(f"def factory({names}): pass")
    factory: Any = tree.body[0]
    factory.body = [node]
    ast.fix_missing_locations(tree)
    flags = code_of(function).co_flags & _FUTURE
    code = compile(tree, file or code_of(function).co_filename, "exec", flags=flags, dont_inherit=True)
    for name in ("factory", node.name):
        code = next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)
    return code


def _fingerprint(code: types.CodeType) -> Any:
    consts = [_fingerprint(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, consts


def compiled(
    node: ast.FunctionDef, function: types.FunctionType, extra: dict[str, types.CellType]
) -> types.FunctionType:
    """Return the function of `node`, with the globals, closure and defaults of `function`, and the cells `extra`."""
    return with_closure(code_from(node, function, extra), function, extra)


def with_closure(
    code: types.CodeType, function: types.FunctionType, extra: dict[str, types.CellType]
) -> types.FunctionType:
    """Return the function of `code`, with the globals, closure and defaults of `function`, and the cells `extra`."""
    cells = cells_of(function) | extra
    closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(code, function.__globals__, code.co_name, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__module__ = function.__module__
    return made
