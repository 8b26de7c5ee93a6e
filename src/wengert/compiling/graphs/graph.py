"""The graph of a tape: nodes that are never changed, of which equal ones are one, with static shapes and dtypes.

A node is a call of a function on other nodes and plain values, as an op of a tape is. `Graph.call` asks the rules for
the function first: each looks at the arguments of one call and may give another node for it. Since shapes are known,
that is all that an optimiser of straight-line code needs: no pass is made twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from wengert.tape.ops import Constant, Op, references
from wengert.values.callables import TOLD_APART

Rules = Mapping[Any, Iterable[Callable[..., Any]]]

FLOAT = np.dtype(np.float64)
SUM = np.add.reduce


class Spec(NamedTuple):
    """The static type of a value: its class, and the shape and dtype of an array or number."""

    kind: type
    shape: tuple[int, ...] = ()
    dtype: np.dtype | None = None

    @classmethod
    def of(cls, value: Any) -> Spec:
        """The Spec of a value."""
        if isinstance(value, (np.ndarray, np.generic)):
            return cls(type(value), value.shape, value.dtype)
        return cls(type(value), (), FLOAT if type(value) is float else None)


class Node:
    """A value of a graph: `fn` called on `args` and `kwargs`, in which there may be nodes; a leaf has no fn.

    `op` is the op of the tape that it comes from, `number` its place in the order of making, after its arguments;
    `known` says that it is in the vocabulary of the rules, and not as recorded.
    """

    __slots__ = ("args", "fn", "known", "kwargs", "number", "op", "spec")

    def __init__(self, number: int, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], spec: Spec) -> None:
        self.number, self.fn, self.args, self.kwargs, self.spec = number, fn, args, kwargs, spec
        self.op: Op | None = None
        self.known = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value; that of a number is empty."""
        return self.spec.shape

    @property
    def reads(self) -> Iterator[Node]:
        """The nodes that this one reads."""
        return references((self.fn, self.args, self.kwargs), Node)

    def __repr__(self) -> str:
        return f"#{self.number}={getattr(self.fn, '__name__', '')}{self.args}"


class Graph:
    """Makes nodes, by `rules`: for a function, what may stand in the place of a call of it."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.nodes: list[Node] = []
        self.origin: Op | None = None  # the op of the tape that is being read
        self.instead: dict[Node, tuple[Node, Node]] = {}  # what is better where a value is computed anyway
        self._constants: dict[int, Node] = {}
        self._made: dict[Any, Node] = {}

    def leaf(self, op: Op) -> Node:
        """The node of an input, or of a constant that is no number."""
        return self._enter(None, (), {}, Spec.of(op.val), op)

    def constant(self, x: np.ndarray) -> Node:
        """The node of an array that stands among the arguments of a call."""
        if id(x) not in self._constants:
            self._constants[id(x)] = self.leaf(Constant(x))
        return self._constants[id(x)]

    def call(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        """The node of a call in the vocabulary of `spec_of`, or what a rule has in its place: a node, or a number."""
        for rule in self.rules.get(fn, ()):
            found = rule(self, *args, **kwargs)
            if found is not None:
                return found
        spec = spec_of(fn, args, kwargs)
        if spec.kind is np.ndarray:  # beside an array NumPy's numbers are as Python's
            args = tuple([float(a) if type(a) is np.float64 else a for a in args])
        return self.make(fn, args, kwargs, spec, known=True)

    def make(
        self,
        fn: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        spec: Spec,
        shared: bool = True,
        known: bool = False,
    ) -> Node:
        """The node of a call as it stands; with `shared`, the one that there is already for an equal call."""
        key = (known, spec, _key(fn), *map(_key, args), _key(kwargs)) if shared else None
        if key is not None and key in self._made:
            return self._made[key]
        node = self._enter(fn, args, kwargs, spec, self.origin)
        node.known = known
        if key is not None:
            self._made[key] = node
        return node

    def made(self, fn: Any, a: Any, b: Any) -> Node | None:
        """The node of a commutative call in the vocabulary, on nodes or numbers, where there is one."""
        first, second = sorted([a, b], key=age)
        return self._made.get((True, spec_of(fn, (a, b), {}), _key(fn), _key(first), _key(second), _key({})))

    def _enter(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], spec: Spec, op: Op | None) -> Node:
        node = Node(len(self.nodes), fn, args, kwargs, spec)
        node.op = op
        self.nodes.append(node)
        return node


def _key(tree: Any) -> Any:
    """Something to find an equal call by: of equal types, bits and nodes."""
    kind = type(tree)
    if kind is Node or kind in TOLD_APART:
        return tree
    if isinstance(tree, (float, complex, np.generic)):
        return kind, np.asarray(tree).tobytes()
    if isinstance(tree, (tuple, list)):
        return (kind, *map(_key, tree))
    if isinstance(tree, dict):
        return tuple([(name, _key(part)) for name, part in tree.items()])
    if isinstance(tree, slice):
        return slice, _key(tree.start), _key(tree.stop), _key(tree.step)
    try:
        hash(tree)
    except TypeError:
        return kind, id(tree)
    return kind, tree


def age(a: Any) -> int:
    """The place of an argument in the order of making: numbers come first."""
    return a.number if type(a) is Node else -1


def is_number(a: Any) -> bool:
    """Whether an argument is a number that is known: a float, or an int that a float holds."""
    return isinstance(a, float) or (type(a) is int and abs(a) <= 2**53)


def is_real(a: Any) -> bool:
    """Whether an argument is a number, or a node whose value is a float or an array of floats of 64 bits."""
    return a.spec.dtype == FLOAT and a.spec.kind in (np.ndarray, np.float64, float) if type(a) is Node else is_number(a)


def is_array(a: Any) -> bool:
    """Whether an argument is a node whose value is an array."""
    return type(a) is Node and a.spec.kind is np.ndarray


def shape_of(a: Any) -> tuple[int, ...]:
    """The shape of an argument; that of a number is empty."""
    return a.spec.shape if type(a) is Node else ()


def is_call(a: Any, *fns: Any) -> bool:
    """Whether an argument is a node that calls one of these functions, in the vocabulary of the rules."""
    return type(a) is Node and a.known and a.fn in fns


def number_of(x: Any) -> Any:
    """The number, or the node that is one, that stands at each place of x; None where x is not known to be uniform."""
    if is_call(x, np.full):
        return x.args[1]
    return x.args[0] if is_call(x, np.broadcast_to) and not is_array(x.args[0]) else None


def spec_of(fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Spec:
    """Return the Spec of a call of a ufunc on real arguments, or of a function in `_SHAPES`."""
    shape = _SHAPES[fn](*args, **kwargs) if fn in _SHAPES else broadcast(args)
    return Spec(np.ndarray if shape or fn in _ALWAYS_ARRAYS else np.float64, shape, FLOAT)


def broadcast(args: Iterable[Any]) -> tuple[int, ...]:
    """The shape of arguments that are broadcast together."""
    shapes = {*map(shape_of, args)} - {()}
    return shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)


def _matmul_shape(a: Any, b: Any) -> tuple[int, ...]:
    m, n = shape_of(a), shape_of(b)
    if len(m) == 1 or len(n) == 1:
        return m[:-1] + (n[:-2] + n[-1:] if len(n) > 1 else ())
    return np.broadcast_shapes(m[:-2], n[:-2]) + (m[-2], n[-1])


def _sum_shape(x: Any, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([n for axis, n in enumerate(shape_of(x)) if axis not in axes])


def _einsum_shape(subscripts: str, *operands: Any) -> tuple[int, ...]:
    inputs, output = subscripts.split("->")
    named = [
        pair
        for word, x in zip(inputs.split(","), operands, strict=True)
        for pair in zip(word, shape_of(x), strict=True)
    ]
    sizes = {letter: n for letter, n in named if n != 1}
    return tuple([sizes.get(k, 1) for k in output])


def _diag_shape(x: Any) -> tuple[int, ...]:
    shape = shape_of(x)
    return (shape[0], shape[0]) if len(shape) == 1 else (min(shape),)


_SHAPES: dict[Any, Callable[..., tuple[int, ...]]] = {
    np.matmul: _matmul_shape,
    SUM: _sum_shape,
    np.vdot: lambda a, b: (),
    np.einsum: _einsum_shape,
    np.full: lambda shape, value: shape,
    np.broadcast_to: lambda x, shape: shape,
    np.reshape: lambda x, shape: shape,
    np.transpose: lambda x, axes: tuple([shape_of(x)[axis] for axis in axes]),
    np.outer: lambda a, b: (math.prod(shape_of(a)), math.prod(shape_of(b))),
    np.diag: _diag_shape,
    np.trace: lambda x: (),
    np.copy: shape_of,
    np.bincount: lambda places, weights, n: (n,),
}
_ALWAYS_ARRAYS = (np.where, np.full, np.broadcast_to, np.reshape, np.transpose, np.copy)
