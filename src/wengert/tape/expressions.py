"""Calls as Python expressions, with infix operators and only the parentheses that are needed."""

from __future__ import annotations

import builtins
import collections
import operator
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert.errors import TapeError
from wengert.tape.entries import ContainerBuilder, Slot
from wengert.tape.literals import Externals, Snippet
from wengert.tape.ops import Call, Variable, references, value_of
from wengert.values import functional
from wengert.values.names import COMPARE, POWER, SIGN, TIGHT, infix, is_name, method_name, prefix
from wengert.values.trees import Form, form_of, namespace, shelves

_MAKERS = (object, list, tuple, dict, types.SimpleNamespace)
"""The classes of which `build_container` makes instances."""
_WRITTEN_IN_C = collections.OrderedDict, collections.defaultdict


class Expressions:
    """A writer of calls as Python expressions.

    `exprs` has the expression of each value so far, by id. `pending` are the ids of values without a name, whose
    expressions go into their reader's; `used` collects those of them that were read.
    """

    def __init__(self) -> None:
        self.outside = Externals()
        self.exprs: dict[int, Snippet] = {}
        self.pending: set[int] = set()
        self.used: set[int] = set()

    def arg(self, tree: Any) -> Snippet:
        """Return the expression for an argument."""
        if isinstance(tree, Variable):
            if tree.id in self.pending:
                self.used.add(tree.id)
            return self.exprs[tree.id]
        if type(tree) in (tuple, list, dict) or (isinstance(tree, tuple) and hasattr(tree, "_fields")):
            return self.container(tree)
        if isinstance(tree, slice):
            return Snippet(
                f"slice({', '.join(self.arg(part).text for part in (tree.start, tree.stop, tree.step))})",
                TIGHT,
            )
        return self.outside.expr(tree)

    def itself(self, tree: Any) -> Snippet:
        """Return the name of an argument compared by identity; an expression would make a new object."""
        return self.arg(tree) if isinstance(tree, Variable) else self.outside.bind(tree)

    def container(self, tree: Any) -> Snippet:
        """Return the expression for a tuple, list or dict; a long one without Variables becomes a constant."""
        if len(tree) > 4 * 6 and not any(references(tree)):
            return self.outside.bind(tree)
        if isinstance(tree, dict):
            return Snippet(
                "{" + ", ".join(f"{self.arg(k).text}: {self.arg(part).text}" for k, part in tree.items()) + "}",
                TIGHT,
            )
        parts = ", ".join(self.arg(part).text for part in tree)
        if isinstance(tree, list):
            return Snippet(f"[{parts}]", TIGHT)
        if hasattr(tree, "_fields"):
            return Snippet(f"{self.outside.expr(type(tree)).text}({parts})", TIGHT)
        return Snippet(f"({parts}{',' * (len(tree) == 1)})", TIGHT)

    def container_text(self, part: Any, leaves: Sequence[Any], seen: set[int]) -> str:
        """Return the expression for a copy of the form of a container, with `leaves` in place of its Slots.

        Errors: TapeError for a container of a class written in C, and for one that the form holds twice.
        """
        form = form_of(type(part))
        if form is None:
            return self.arg(leaves[part.slot] if type(part) is Slot else part).text
        if id(part) in seen or form.maker not in _MAKERS or isinstance(part, _WRITTEN_IN_C):
            raise TapeError(
                f"the result holds a {type(part).__qualname__} that cannot be written as source that runs without "
                "wengert\n  fix: return tuples, lists or dictionaries, or call tape.compile()"
            )
        if form.items is not tuple:  # equal tuples may be one object
            seen.add(id(part))
        items, attributes = _items_and_attributes(part, form)
        texts = [(key, self.container_text(value, leaves, seen)) for key, value in items]
        if form.items is dict:
            display = "{" + ", ".join([f"{self.arg(key).text}: {text}" for key, text in texts]) + "}"
        else:
            inside = ", ".join([text for _, text in texts])
            display = f"[{inside}]" if form.items is list else f"({inside}{',' * (len(texts) == 1)})"
        if type(part) in (list, tuple, dict):
            return display
        named = ", ".join([f"{name!r}: {self.container_text(value, leaves, seen)}" for name, value in attributes])
        build, base, cls = [self.arg(fn).text for fn in (functional.build_container, form.maker, type(part))]
        return f"{build}({base}, {cls}, {display}, {{{named}}})"

    def key(self, key: Any) -> str:
        """Return the text between the brackets of a subscript."""
        if type(key) is tuple and key:
            return ", ".join(self._key_part(part) for part in key) + "," * (len(key) == 1)
        return self._key_part(key)

    def _key_part(self, part: Any) -> str:
        if not isinstance(part, slice):
            return self.arg(part).text
        bounds = ["" if bound is None else self.arg(bound).text for bound in (part.start, part.stop, part.step)]
        return ":".join(bounds if bounds[2] else bounds[:2])

    def call(self, op: Call) -> Snippet:
        """Return the expression for a call."""
        fn, args = op.fn, op.args
        if type(fn) is ContainerBuilder and self.outside.runs_alone:
            return Snippet(self.container_text(fn.form, args, set()), TIGHT)
        if op.kwargs or isinstance(fn, Variable):
            return self.plain_call(op)
        if (sign := infix(fn)) and len(args) == 2:
            read = self.itself if fn is operator.is_ else self.arg
            left, right = read(args[0]), read(args[1])
            if fn is operator.pow:
                return Snippet(f"{left.inside(TIGHT)}**{right.inside(SIGN)}", POWER)
            low = sign[1] + (sign[1] == COMPARE)
            return Snippet(f"{left.inside(low)} {sign[0]} {right.inside(sign[1] + 1)}", sign[1])
        if (sign := prefix(fn)) and len(args) == 1:
            inner = self.arg(args[0])
            return Snippet(
                f"{sign[0]}{inner.inside(sign[1] + (fn is not operator.not_ and inner.text[0] in '+-'))}",
                sign[1],
            )
        special = _SPECIAL.get(fn) if isinstance(fn, types.BuiltinFunctionType | types.FunctionType) else None
        return special(self, *args) if special else self.plain_call(op)

    def plain_call(self, op: Call) -> Snippet:
        fn, args = op.fn, op.args
        method = method_name(fn)
        if method and args and isinstance(args[0], Variable) and getattr(type(value_of(args[0])), method, None) is fn:
            head, args = f"{self.arg(args[0]).inside(TIGHT)}.{method}", args[1:]
        elif fn is functional.lens and (view := self.lens(op)):
            return view
        else:
            head = self.arg(fn).inside(TIGHT)
        return Snippet(f"{head}({', '.join([*(self.arg(arg).text for arg in args), *self.named(op.kwargs)])})", TIGHT)

    def lens(self, op: Call) -> Snippet | None:
        x = op.args[0]
        known = isinstance(x, Variable) and isinstance(value_of(x), np.ndarray) and not op.kwargs
        view = self.window(self.exprs[x.id].text, value_of(x), op) if known else None
        return None if view is None else Snippet(f"{view}.copy()", TIGHT)

    def named(self, kwargs: dict[str, Any]) -> Iterator[str]:
        for name, value in kwargs.items():
            text = self.arg(value).text
            yield f"{name}={text}" if is_name(name) else f"**{{{name!r}: {text}}}"

    def window(self, name: str, x: np.ndarray, op: Call) -> str | None:
        """Return the expression for the strided view that lens, setlens and addlens access; None if there is none."""
        _, offset, shape, strides = op.args[:4]
        if any(references([offset, shape, strides])) or not (x.flags.c_contiguous or x.flags.f_contiguous):
            return None
        if op.fn is functional.addlens and functional.overlaps(
            np.ndarray(shape, x.dtype, x if x.flags.c_contiguous else x.T, offset, strides)
        ):
            return None
        buffer = name if x.flags.c_contiguous else f"{name}.T"
        return f"{self.outside.numpy('ndarray')}({shape}, {name}.dtype, {buffer}, {offset}, {strides})"


def _items_and_attributes(container: Any, form: Form) -> tuple[list[tuple[Any, Any]], list[tuple[Any, Any]]]:
    """List the items of a container with their keys, and its attributes with their names."""
    if form.items is tuple:
        return [*enumerate(tuple.__iter__(container))], [*namespace(container).items()]
    found = [[(key, load(holder, key)) for key in keys] for holder, keys, load, *_ in shelves(container, form)]
    items = [] if form.items is None else found.pop(0)
    return items, [(getattr(key, "__name__", key), value) for part in found for key, value in part]


def _subscript_text(w: Expressions, x: Any, key: Any) -> Snippet:
    if type(key) is functional.Path:
        return _path_text(w, x, key)
    return Snippet(f"{w.arg(x).inside(TIGHT)}[{w.key(key)}]", TIGHT)


def _path_text(w: Expressions, x: Any, path: functional.Path) -> Snippet:
    part = w.arg(x).inside(TIGHT)
    for how, key in path:
        if how == "[]":
            part = f"{part}[{w.key(key)}]"
        else:
            part = f"{part}.{key}" if is_name(key) else f"getattr({part}, {key!r})"
    return Snippet(part, TIGHT)


def _attribute_text(w: Expressions, x: Any, name: Any, *default: Any) -> Snippet:
    if default or not isinstance(x, Variable) or not is_name(name):
        return Snippet(f"getattr({', '.join(w.arg(part).text for part in (x, name, *default))})", TIGHT)
    return Snippet(f"{w.arg(x).inside(TIGHT)}.{name}", TIGHT)


_SPECIAL: dict[Any, Callable[..., Snippet]] = {
    operator.getitem: _subscript_text,
    functional.getfield: _subscript_text,
    builtins.getattr: _attribute_text,
    operator.contains: lambda w, a, b: Snippet(
        f"{w.arg(b).inside(COMPARE + 1)} in {w.arg(a).inside(COMPARE + 1)}", COMPARE
    ),
    operator.truth: lambda w, x: Snippet(f"bool({w.arg(x).text})", TIGHT),
    operator.abs: lambda w, x: Snippet(f"abs({w.arg(x).text})", TIGHT),
    functional.make_tuple: lambda w, *xs: w.arg(tuple(xs)),
    functional.make_list: lambda w, *xs: w.arg(list(xs)),
    functional.make_dict: lambda w, keys, *xs: w.arg(dict(zip(keys, xs, strict=True))),
}
