"""Twins that are kept for later processes, and what was found about them.

A twin consists of its code, and of constants. Constants of the original are kept by their index, so that the twin has
the same objects; hooks by their names, sites by their lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from importlib.util import source_hash
from types import CodeType
from typing import Any

from wengert.rewrite.loop_head import LoopHead
from wengert.values.code_packs import Pack, pack_of
from wengert.values.codes import original
from wengert.values.sites import Site, StoringSite, UpdatingSite


def twins_in(code: CodeType) -> Pack | None:
    """Return the pack of twins of the file that a code is from."""
    return pack_of(code.co_filename, ("wengert.rewrite", "wengert.values", "bytecode"))


def after_calls(code: CodeType) -> tuple[list[int], list[bool], list[frozenset[str]]]:
    """Return what `straight.after_calls` returns, for a function or a twin: its bytecode, names and heads decide."""
    pack, names = twins_in(code), (code.co_varnames, code.co_cellvars, code.co_freevars)
    grown = [head.grown for head in code.co_consts if type(head) is LoopHead]
    key = source_hash(f"after calls {names} {grown}".encode() + code.co_code + code.co_exceptiontable)
    found: tuple[list[int], list[bool], list[frozenset[str]]] | None = pack.get(key) if pack else None
    if found is None:
        from wengert.rewrite import straight  # with `bytecode`, as in `rewriter.py`

        found = straight.after_calls(code)
        if pack:
            pack.put(key, found)
    return found


def pack_twin(twin: CodeType, code: CodeType, hooks: Mapping[str, Callable]) -> tuple[CodeType, tuple[Any, ...]]:
    """Return the twin of `code` without its constants, and a description of them.

    A hook of two names is described as a constant, which no pack keeps: other mappings have a hook for each.
    """
    own = {id(const): k for k, const in enumerate(code.co_consts)}
    count = Counter(map(id, hooks.values()))
    names = {id(hook): name for name, hook in hooks.items() if count[id(hook)] == 1}
    return twin.replace(co_consts=(None,) * len(twin.co_consts)), tuple(
        [_constant_data(const, own, names) for const in twin.co_consts]
    )


def _constant_data(const: Any, own: Mapping[int, int], names: Mapping[int, str]) -> tuple[Any, ...]:
    if id(const) in own:
        return "own", own[id(const)]
    if id(const) in names:
        return "hook", names[id(const)]
    t = type(const)
    if t is CodeType:
        return "twin", own[id(original(const))]
    if t is Site:
        return "site", const.line
    if t is UpdatingSite:
        return "updating site", const.line
    if t is StoringSite:
        return "storing site", const.line, const.target, const.called
    if t is LoopHead:
        return "head", tuple(const)
    return ("iter",) if const is iter else ("constant", const)


def unpack_twin(
    kept: tuple[CodeType, tuple[Any, ...]],
    code: CodeType,
    hooks: Mapping[str, Callable],
    nested: Callable[[CodeType], CodeType] | None,
) -> CodeType:
    """Return the twin of `code` from what `pack_twin` returned; `nested` returns the twin of a code object in it."""
    make: dict[str, Callable[..., Any]] = {
        "own": lambda k: code.co_consts[k],
        "twin": lambda k: nested(code.co_consts[k]) if nested else None,
        "hook": hooks.__getitem__,
        "site": lambda line: Site(code.co_filename, line, code.co_qualname),
        "updating site": lambda line: UpdatingSite(code.co_filename, line, code.co_qualname),
        "storing site": lambda line, *rest: StoringSite.of(Site(code.co_filename, line, code.co_qualname), *rest),
        "head": lambda fields: LoopHead(*fields),
        "iter": lambda: iter,
        "constant": lambda const: const,
    }
    twin, described = kept
    return twin.replace(co_consts=tuple([make[kind](*data) for kind, *data in described]))
