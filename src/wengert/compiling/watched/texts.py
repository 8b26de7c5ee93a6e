"""Functions of strings: of constant ones they return constants. Code in a string is traced like other code."""

from __future__ import annotations

import ast
import builtins
import io
import pathlib
import tokenize
import types
from collections.abc import Callable
from typing import Any

from wengert.compiling.watched.outer_reads import Reads
from wengert.compiling.watched.watchable import ATOMS, nested_leaves
from wengert.hooks.calls import resolve
from wengert.hooks.search import search
from wengert.recording.reachability import nested
from wengert.recording.recording import STATE, silent
from wengert.values.identity_set import Functions

PARSERS = Functions(
    ast.parse, ast.literal_eval, ast.walk, tokenize.tokenize, tokenize.generate_tokens, tokenize.untokenize, compile,
    pathlib.Path, pathlib.PurePath, pathlib.PosixPath, pathlib.PurePosixPath, pathlib.PureWindowsPath,
)  # fmt: skip
"""Functions and classes that are called with strings, and read nothing else."""
_TEXTS = (*ATOMS, io.BytesIO, io.StringIO, pathlib.PurePath, ast.AST)


def watched_parser(f: Any, reads: Reads) -> Callable[..., Any]:
    """Return the replacement of a function that takes a string apart: what it returns is made from constants."""

    def call(*args: Any, **kwargs: Any) -> Any:
        parts = [getattr(part, "__self__", part) for part in nested_leaves((args, kwargs))]
        with silent():
            found = f(*args, **kwargs)
        are_texts = all([issubclass(type(part), _TEXTS) and reads.accessor_of(part) is None for part in parts])
        if not are_texts or search(reads.recording, parts):
            reads.give_up(f"it calls {f.__qualname__} with other arguments than constant strings")
        return found

    return call


def watched_evaluation(reads: Reads) -> Callable[..., Any]:
    """Return the replacement of `eval`, for a constant expression and dictionaries of the names in it."""

    def call(source: Any, /, *spaces: Any, **named: Any) -> Any:
        names = spaces[0] if spaces else named.get("globals")
        locals_ = [*spaces[1:], named.get("locals")]
        is_constant = type(source) in (str, bytes, types.CodeType) and not search(reads.recording, [source])
        if not is_constant or type(names) is not dict or {*map(type, locals_)} - {dict, types.NoneType}:
            reads.give_up("it calls eval of a string that it computes, or without dictionaries of names")
        elif "__builtins__" not in names and reads.accessor_of(names) is not None:
            reads.give_up("eval puts __builtins__ into a dictionary from outside", may_retry=True)
        else:
            for name in _names_in(source) & vars(builtins).keys():
                if not any([name in space for space in (names, *filter(None, locals_))]):
                    reads.guard_is(f"{reads.pin(vars(builtins))}[{name!r}]", vars(builtins)[name])
        return resolve(eval, STATE.site)(source, *spaces, **named)

    return call


def _names_in(source: Any) -> set[str]:
    """Return the names that an expression, or its code, reads; none of a string that is no expression."""
    try:
        code = source if type(source) is types.CodeType else compile(source, "<string>", "eval", dont_inherit=True)
    except (SyntaxError, ValueError):
        return set()
    return {name for part in nested(code) for name in part.co_names}
