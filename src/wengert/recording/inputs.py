"""Arguments on their way in and out of a trace: fresh leaves go in, the caller's own objects come back.

What has an identity (list, dict, object, array) is entered once, wherever it is reached, so the gradient of a
shared object is the total one, at each place. What has none (scalar, tuple) is entered at each place: CPython
shares equal constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import is_
from types import CellType, FunctionType, MethodType
from typing import Any, TypeAlias

import numpy as np

from wengert.errors import ArgumentError
from wengert.rulebook.registry import rules
from wengert.values import tree_parts
from wengert.values.callables import unwrapped
from wengert.values.named_tuples import NamedTuple
from wengert.values.specs import is_inexact
from wengert.values.transformed import Transformed
from wengert.values.trees import Leaf, Seen, TreePath, is_filled, itself, leaves, load_cell, mirror, path_text, walk

Make: TypeAlias = Callable[[Leaf, TreePath], Leaf]  # what stands in place of the leaf at the path `path_text(path)`


class Leaves(NamedTuple):
    """Arguments that are leaves themselves, as most are: there is nothing to walk, nothing to put back."""

    made: list[Leaf]
    """The fresh leaves, in order."""
    own: Sequence[Leaf]
    """The caller's own objects in place of which they were made."""

    @property
    def paths(self) -> list[tuple[str, Leaf]]:
        """The pairs (path, fresh leaf), in order."""
        return [(f"argument {k + 1}", leaf) for k, leaf in enumerate(self.made)]

    def mirrors(self, gradient_of: Callable[[Leaf], Any]) -> tuple[Any, ...]:
        """The gradient of each argument, as `gradient_of(fresh leaf)` gives it."""
        return tuple([gradient_of(leaf) for leaf in self.made])

    def leave(self, result: Any) -> Any:
        """`result` with the caller's own object in place of each fresh one in it."""
        if is_inexact(result):
            return self.given(result)
        return walk(result, "", {id(f): (f, given) for f, given in zip(self.made, self.own, strict=True)})

    def given(self, thing: Any) -> Any:
        """The caller's object for which `thing` was made, or the thing itself."""
        for fresh, own in zip(self.made, self.own, strict=True):
            if fresh is thing:
                return own
        return thing

    def restore(self) -> None:
        """Nothing: no containers hold fresh leaves."""


_NO_HOLDERS = {float, int, bool, str, type(None), complex, np.ndarray, np.float64}


def _refuse_foreign_arrays(value: Any, name: str) -> None:
    """Refuse an array of JAX, PyTorch or CuPy, also among the items of containers. Errors: ArgumentError."""
    todo: list[tuple[Any, tuple[Any, ...]]] = [(value, ())]
    seen: set[int] = set()
    for thing, path in todo:
        if type(thing) in (list, tuple, dict):
            items = (thing.items() if type(thing) is dict else enumerate(thing)) if id(thing) not in seen else ()
            todo += [(item, (*path, key)) for key, item in items if type(item) not in _NO_HOLDERS]
            seen.add(id(thing))
        elif _is_foreign_array(type(thing)):
            place = "".join([name, *[f"[{key!r}]" for key in path]]) or "an argument"
            kind = f"{type(thing).__module__.partition('.')[0]}.{type(thing).__name__}"
            raise ArgumentError(
                f"{place} is an array of class {kind}; wengert differentiates NumPy code. "
                "Pass np.asarray(x), and compute with NumPy in the function."
            )


def _is_foreign_array(kind: type) -> bool:
    """Whether a class is of arrays that live on a device of their library, by the array API standard."""
    if issubclass(kind, (np.ndarray, np.generic)):
        return False
    on_device = hasattr(kind, "__array_namespace__") or hasattr(kind, "device")
    return on_device and hasattr(kind, "__array__") and hasattr(kind, "dtype")


class Swaps:
    """The caller's structures while fresh leaves stand in them, and how to put everything back."""

    def __init__(self, make: Make) -> None:
        self._leaves: list[tuple[Leaf, Leaf, TreePath]] = []  # each fresh leaf, the caller's own object, and where
        self._make = make
        self._indexed = 0  # so many of the fresh leaves stand in the two tables below; a walk needs all of them
        self._entered: Seen = {}
        self._originals: Seen = {}  # id of a fresh leaf or rebuilt tuple -> (it, the caller's own object)
        self._templates: list[Any] = []  # per entered value, its gradient's form with fresh leaves in it
        self._plain: list[tuple[Any, Any, Any]] = []  # (list or dict, its copies before and after entering)
        self._all_plain = True  # there are no other holders
        self.classes: list[type] = []  # of those, of rebuilt tuples and of callables
        self._is_restored = False

    @property
    def made(self) -> list[Leaf]:
        """The fresh leaves, in order."""
        return [fresh for fresh, _, _ in self._leaves]

    @property
    def paths(self) -> list[tuple[str, Leaf]]:
        """The pairs (path, fresh leaf), in order."""
        return [(path_text(path), fresh) for fresh, _, path in self._leaves]

    def enter(self, value: Any, name: str = "") -> Any:
        """`value` with fresh leaves: a container with an identity is changed in place, a tuple rebuilt."""
        if type(value) is float or is_inexact(value):
            fresh = self._fresh(value, name)
            self._templates.append(fresh)
            return fresh
        _refuse_foreign_arrays(value, name)
        rules.load()  # those for a library say how its objects hold arrays
        return self._enter(lambda: self._walk(value, name), itself)

    def enter_parts(self, value: Any, name: str, paths: Sequence[str]) -> Any:
        """`value` with fresh leaves in the parts at these paths alone; each part is an entered value of its own."""
        rules.load()
        part_at = tree_parts.part_at
        entered = self._enter(lambda: self._walk_parts(value, name, paths), lambda whole: part_at(whole, paths[0]))
        self._templates += [mirror(part_at(entered, path), itself) for path in paths[1:]]
        return entered

    def put_in_order(self, order: Sequence[int]) -> None:
        """Sort the last entered values: that with `order[k]` was the k-th of them."""
        found = dict(zip(order, self._templates[-len(order) :], strict=True))
        self._templates[-len(order) :] = [found[k] for k in range(len(order))]

    def enter_callable(self, f: Callable[..., Any]) -> Any:
        """`f` with fresh leaves in its closure, bound object, partial arguments or attributes."""
        return self._enter(lambda: self._walk_callable(f, "f", set()), gradient_form)

    def _enter(self, walked: Callable[[], Any], form: Callable[[Any], Any]) -> Any:
        known = len(self._plain)
        self._index()
        try:
            entered = walked()
            self._plain[known:] = [(held, before, held.copy()) for held, before, _ in self._plain[known:]]
            self._templates.append(mirror(form(entered), itself))
        except BaseException:
            self.restore()
            raise
        return entered

    def mirrors(self, gradient_of: Callable[[Leaf], Any]) -> tuple[Any, ...]:
        """The gradient of each entered value in the form it had on entry, with `gradient_of(fresh leaf)` for a leaf."""
        return tuple(
            [
                gradient_of(template) if type(template) is np.ndarray else mirror(template, gradient_of)
                for template in self._templates
            ]
        )

    def leave(self, result: Any) -> Any:
        """`result` with the caller's own object in place of each fresh one in it."""
        if is_inexact(result):
            return next((own for fresh, own, _ in self._leaves if fresh is result), result)
        self._index()
        return walk(result, "", dict(self._originals))

    def given(self, thing: Any) -> Any:
        """The caller's object for which `thing` was made, or the thing itself."""
        self._index()
        return self._originals[id(thing)][1] if id(thing) in self._originals else thing

    def restore(self) -> None:
        """Put the caller's own objects back wherever the entered containers hold fresh ones, once or again.

        The containers are searched as they are now: what the function moved is found, what it replaced stays. May be
        repeated where it was interrupted: nothing stands in a container before it is noted here.
        """
        if not self._is_restored:
            self._restore()
            self._is_restored = True

    def _restore(self) -> None:
        if self._all_plain and all(_holds_the_same_objects(held, after) for held, _, after in self._plain):
            for held, before, _ in self._plain:  # nothing moved: no need to search
                held.update(before) if type(held) is dict else held.__setitem__(slice(None), before)
            return
        self._index()
        holders = [entered for entered, _ in self._entered.values() if not is_inexact(entered)]
        walk(holders, "", dict(self._originals))

    def _hold(self, container: Any) -> Any:
        if type(container) is list or type(container) is dict:
            self._plain.append((container, container.copy(), None))
        else:
            self._all_plain = False
            self.classes.append(type(container))
        return container

    def _walk_parts(self, value: Any, name: str, paths: Sequence[str]) -> Any:
        """`value` with fresh leaves in the parts at these paths, and of arrays that are also in these parts."""
        inside = [pair for path in paths for pair in leaves(tree_parts.part_at(value, path), name + path)]
        arrays = {id(leaf) for _, leaf in inside if isinstance(leaf, np.ndarray)}
        numbers = {path for path, leaf in inside if not isinstance(leaf, np.ndarray)}

        def is_inside(leaf: Leaf, path: TreePath) -> bool:
            return id(leaf) in arrays if isinstance(leaf, np.ndarray) else path_text(path) in numbers

        entered = self._walk(value, name, is_inside)
        self._index()
        for path in paths:
            for at, leaf in leaves(tree_parts.part_at(entered, path), path):
                if id(leaf) not in self._originals:
                    raise ArgumentError(
                        f"argnums: the float at {at} is in an object that the arguments hold twice. Use the path that "
                        "wg.tree_paths lists, of the first argument that holds it."
                    )
        return entered

    def _walk(self, value: Any, name: str, is_wanted: Callable[[Leaf, TreePath], bool] | None = None) -> Any:
        """`value` with fresh leaves in place of those that are wanted, by default all; each array entered once."""
        arrays: Seen = {}

        def enter_leaf(leaf: Leaf, path: TreePath) -> Leaf:
            if is_wanted is not None and not is_wanted(leaf, path):
                return leaf
            if isinstance(leaf, np.ndarray) and id(leaf) in arrays:
                return arrays[id(leaf)][1]
            fresh = self._fresh(leaf, path)
            self._index()  # at once: the walk may meet it again
            if isinstance(leaf, np.ndarray):
                arrays[id(leaf)] = leaf, fresh
            return fresh

        return walk(value, name, self._entered, at_leaf=enter_leaf, hold=self._hold, rebuilt=self._note)

    def _fresh(self, leaf: Leaf, path: TreePath) -> Leaf:
        fresh = self._make(leaf, path)
        self._leaves.append((fresh, leaf, path))
        return fresh

    def _index(self) -> None:
        """File the fresh leaves made so far: only when one is looked up, for that is rare."""
        while self._indexed < len(self._leaves):
            fresh, own, _ = self._leaves[self._indexed]
            self._originals[id(fresh)] = fresh, own
            self._entered[id(fresh)] = fresh, fresh
            self._indexed += 1

    def _note(self, new: Any, old: Any) -> Any:
        self._originals[id(new)] = new, old
        self.classes.append(type(new))
        return new

    def _walk_callable(self, f: Any, name: str, seen: set[int]) -> Any:
        """`f` with fresh leaves in its cells, bound object or partial arguments; itself where these change in place."""
        if isinstance(f, Transformed):
            self._walk_callable(f.__func__, name, seen)
            return f
        if isinstance(f, FunctionType):
            if id(f) not in seen:  # a recursive function is in its own closure
                seen.add(id(f))
                for free, cell in _cells(f):
                    self._walk_cell(cell, f"{name}.{free}", seen)
            return f
        if isinstance(f, MethodType):
            entered = self._walk(f.__self__, f"{name}.__self__")
            return f if entered is f.__self__ else self._note(MethodType(f.__func__, entered), f)
        if isinstance(f, partial):
            if f in rules:  # another object would have none
                return f
            func = self._walk_callable(f.func, f"{name}.func", seen)
            args = self._walk(f.args, f"{name}.args")
            keywords = self._walk(dict(f.keywords), f"{name}.keywords")
            return self._note(type(f)(func, *args, **keywords), f)
        return self._walk(f, name)

    def _walk_cell(self, cell: CellType, name: str, seen: set[int]) -> None:
        contents = cell.cell_contents
        if isinstance(contents, (FunctionType, Transformed, MethodType, partial)):
            entered = self._walk_callable(contents, name, seen)
            self._entered[id(cell)] = cell, self._hold(cell)
            cell.cell_contents = entered
        else:
            self._walk(cell, name)


def _holds_the_same_objects(held: Any, after: Any) -> bool:
    """Whether a list or dict still holds the same objects, compared without running their code."""
    if after is None or len(held) != len(after) or not all(map(is_, held, after)):
        return False
    return type(held) is list or all(map(is_, held.values(), after.values()))


def _cells(f: FunctionType) -> Iterator[tuple[str, CellType]]:
    """The filled cells of a function's closure, by the names of their variables."""
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        if is_filled(cell, None, load_cell):
            yield name, cell


def gradient_form(f: Any) -> Any:
    """The form of the gradient of a callable: of a closure a dict of its free variables that hold leaves, of a
    bound method its object, of a partial a dict of its parts, of a callable object the object; else None.
    """
    return _gradient_form(f, set())


def _gradient_form(f: Any, seen: set[int]) -> Any:
    """`gradient_form`, where `seen` are the functions on the way here: one may be in its own closure."""
    f = unwrapped(f)
    if isinstance(f, FunctionType):
        seen.add(id(f))
        contents = {name: cell.cell_contents for name, cell in _cells(f)}
        free = {name: _gradient_form(held, seen) for name, held in contents.items() if id(held) not in seen}
        return {name: form for name, form in free.items() if leaves(form)} or None
    if isinstance(f, MethodType):
        return f.__self__
    if isinstance(f, partial):
        form = {"func": _gradient_form(f.func, seen), "args": f.args, "keywords": f.keywords}
        return form if leaves(form) else None
    return f
