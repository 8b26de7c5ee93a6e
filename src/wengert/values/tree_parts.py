"""Parts of structures by their paths, spelled as `path_text` spells them: `.layers[0]['w']`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from wengert.values.trees import form_of, leaves, shelves, tuple_steps

NEAR = 3  # paths that a message suggests


def part_at(value: Any, path: str) -> Any:
    """Return the part of a structure at a path that `path_text` spells. Errors: LookupError if there is none."""
    while path:
        for step, part in _contents(value):
            if path.startswith(step) and path[len(step) : len(step) + 1] in ("", ".", "["):
                value, path = part, path[len(step) :]
                break
        else:
            raise LookupError(path)
    return value


def _contents(container: Any) -> Iterator[tuple[str, Any]]:
    """Yield the step and the content of each place in a container; nothing for another value."""
    form = form_of(type(container))
    if form is None:
        return
    if form.items is tuple:
        for (write, key), part in zip(tuple_steps(container), tuple.__iter__(container), strict=False):
            yield write(key), part
        return
    for holder, keys, load, _, write in shelves(container, form):
        for key in keys:
            yield write(key), load(holder, key)


def with_single_quotes(path: str) -> str:
    """Spell the string keys of a path as `repr` does: `["w"]` as `['w']`."""
    return re.sub(r'\["([^"\'\\]*)"\]', r"['\1']", path)


def near_paths(value: Any, name: str, path: str) -> list[str]:
    """List the paths of leaves of `value`, called `name`, that are near to `path`, the nearest first; or the first."""
    known = [found for found, _ in leaves(value, name)]
    return close_matches(path, known, NEAR, 0.3) or known[:NEAR]


def close_matches(word: str, known: Sequence[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """List at most so many of the `known` words that are near to `word`, the nearest first."""
    from difflib import get_close_matches  # 1.5 ms, which only messages need

    return get_close_matches(word, known, most, cutoff)
