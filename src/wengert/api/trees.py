"""Functions on trees of parameters: numbers and arrays in nested containers, the structures that gradients have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from wengert.errors import ArgumentError
from wengert.values.trees import Leaf, TreePath, form_of, is_container, path_text, rebuild, shelves, tuple_steps

ENTERED = "It calls the user's function, also on values that a derivative traces."

T = TypeVar("T")

__all__ = ["tree_leaves", "tree_map", "tree_paths"]


def tree_map(f: Callable[..., Any], tree: T, *rest: Any) -> T:
    """Copy `tree` with `f(leaf, *others)` for each leaf, where `others` are the values at its place in `rest`.

    A tree is a float, an array, or a list, tuple, named tuple, dictionary, data class or other object that holds trees.
    Its leaves are floats, complex numbers and arrays of these. An array that the tree holds twice is one leaf: `f` is
    called once for it, and the copy holds the result twice. You may differentiate `tree_map`.

    Parameters:
        f (callable): The function.
        tree (tree): The tree.
        *rest (tree): Trees of the structure of the first one. At the place of a leaf they may hold any value that is
            not a container. None at the place of a container stands for None at each of its leaves.
    Returns:
        tree: The copy. It keeps values that are not leaves, integers included.
    Raises:
        ArgumentError: A tree in `rest` has another structure.
    See Also:
        tree_leaves, tree_paths, ravel

    Examples:
        >>> params = {"w": np.array([1.0, 2.0]), "b": 3.0, "name": "linear"}
        >>> gradient = {"w": np.array([10.0, 20.0]), "b": None, "name": None}
        >>> wg.tree_map(lambda x, g: x if g is None else x - 0.1 * g, params, gradient)
        {'w': array([0., 0.]), 'b': 3.0, 'name': 'linear'}
    """
    places = places_in(tree)
    columns = [values_at(places, other, f"tree {k}") for k, other in enumerate(rest, 2)]
    return refilled(tree, [f(place.leaf, *others) for place, *others in zip(places, *columns, strict=True)])


def tree_leaves(tree: Any) -> list[Any]:
    """List the leaves of `tree`: its floats and complex numbers, and arrays of these, in the order of `tree_map`.

    An array that the tree holds twice is listed once.

    Parameters:
        tree (tree): The tree, as for `tree_map`.
    Returns:
        list: The leaves.
    See Also:
        tree_paths, tree_map, ravel

    Examples:
        >>> wg.tree_leaves({"w": np.array([1.0, 2.0]), "b": [3.0], "size": 10})
        [array([1., 2.]), 3.0]
    """
    return [place.leaf for place in places_in(tree)]


def tree_paths(tree: Any) -> list[str]:
    """List the path of each leaf of `tree` as Python spells it, in the order of `tree_leaves`.

    Parameters:
        tree (tree): The tree, as for `tree_map`.
    Returns:
        list[str]: The paths.
    See Also:
        tree_leaves, tree_map, grad

    Examples:
        >>> wg.tree_paths({"w": np.array([1.0, 2.0]), "b": [3.0], "size": 10})
        ["['w']", "['b'][0]"]
    """
    return [path_text(place.path) for place in places_in(tree)]


class Place(NamedTuple):
    """A leaf of a tree, and its path."""

    path: TreePath
    leaf: Leaf


def places_in(tree: Any) -> list[Place]:
    """List the leaves of a tree with their paths, an array that the tree holds twice at its first path."""
    places: list[Place] = []

    def note(leaf: Leaf, path: TreePath) -> Leaf:
        places.append(Place(path, leaf))
        return leaf

    rebuild(tree, note)
    return places


def refilled(tree: Any, values: Iterable[Any]) -> Any:
    """Copy a tree with these values at its places."""
    remaining = iter(values)
    return rebuild(tree, lambda *_: next(remaining))


def values_at(places: list[Place], other: Any, name: str, first: str = "the first tree") -> list[Any]:
    """Return the values of another tree at the places of the first one; messages call them `name` and `first`.

    Errors: ArgumentError if it lacks one of the places, or has leaves elsewhere.
    """
    found = places_in(other)
    if [place.path for place in found] == [place.path for place in places]:
        return [place.leaf for place in found]
    reader = _TreeReader(other, name, first)
    values = [reader.at(place.path) for place in places]
    known = {place.path for place in places}
    extra = next((place for place in found if place.path not in known), None)
    if extra is not None:
        raise ArgumentError(
            f"{name} has {_described(extra.leaf)} at {_spelled(extra.path)}, where {first} has no leaf of its own. "
            "Pass trees of the same structure; if one holds an array twice, so must the other."
        )
    return values


class _TreeReader:
    """Reads one tree at the paths of another; messages call them `name` and `first`."""

    def __init__(self, tree: Any, name: str, first: str) -> None:
        self.tree, self.name, self.first = tree, name, first
        self.parts: dict[TreePath, dict[Any, Any] | None] = {}  # of each container, by writer and key

    def at(self, path: TreePath) -> Any:
        """Return the value at the path of a leaf. Errors: ArgumentError if there is none, or a container."""
        value = self._value(path)
        if is_container(value):
            raise self._refusal(path, f"a {type(value).__name__}", "a leaf")
        return value

    def _value(self, path: TreePath) -> Any:
        if type(path) is not tuple:
            return self.tree
        parent, *step = path
        if parent not in self.parts:
            container = self._value(parent)
            self.parts[parent] = None if container is None else dict(_parts(container))
        parts = self.parts[parent]
        if parts is None:
            return None
        if tuple(step) not in parts:
            raise self._refusal(path, "nothing", "a value")
        return parts[tuple(step)]

    def _refusal(self, path: TreePath, found: str, wanted: str) -> ArgumentError:
        return ArgumentError(
            f"{self.name} has {found} at {_spelled(path)}, where {self.first} has {wanted}. Pass trees of the same "
            "structure; None may stand for a leaf or a container."
        )


def _parts(container: Any) -> Iterable[tuple[Any, Any]]:
    """Yield ((writer, key), value) for each place in a container, and nothing for another value."""
    form = form_of(type(container))
    if form is None:
        return
    if form.items is tuple:
        yield from zip(tuple_steps(container), tuple.__iter__(container), strict=False)
        return
    for holder, keys, load, _, write in shelves(container, form):
        for key in keys:
            yield (write, key), load(holder, key)


def _spelled(path: TreePath) -> str:
    return path_text(path) or "its root"


def _described(leaf: Leaf) -> str:
    return f"an array of shape {leaf.shape}" if isinstance(leaf, np.ndarray) else f"a {type(leaf).__name__}"
