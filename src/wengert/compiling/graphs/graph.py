"""The graph of a tape: immutable nodes with static shapes and dtypes, in which equal calls share one node.

A node is a call of a function on other nodes and plain values, like an op of a tape. `Graph.call` first asks the rules
of the function: each looks at the arguments of one call and may return another node for it. Since shapes are known,
one pass optimises straight-line code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.constants import constant_key
from wengert.compiling.ops import info
from wengert.tape.ops import Constant, Op, references

Rules = Mapping[Any, Iterable[Callable[..., Any]]]

FLOAT = np.dtype(np.float64)


class ValueSpec(NamedTuple):
    """The static type of a value: its class, and its shape and dtype if it is an array or a number."""

    kind: type
    shape: tuple[int, ...] = ()
    dtype: np.dtype | None = None

    @classmethod
    def of(cls, value: Any) -> ValueSpec:
        """Return the ValueSpec of a value."""
        if isinstance(value, (np.ndarray, np.generic)):
            parts = type(value), value.shape, value.dtype
        else:
            parts = type(value), (), FLOAT if type(value) is float else None
        return tuple.__new__(cls, parts)  # half the time of `cls(...)`, which is Python code


class Node:
    """A value of a graph: a call of `fn` on `args` and `kwargs`, which may contain nodes; a leaf has no fn.

    `op` is the op of the tape that it comes from. Nodes are numbered in the order of their creation. `in_vocabulary`
    says that the call is translated for the rules; other calls are as recorded.
    """

    __slots__ = ("args", "fn", "in_vocabulary", "kwargs", "number", "op", "spec")

    def __init__(self, number: int, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], spec: ValueSpec) -> None:
        self.number, self.fn, self.args, self.kwargs, self.spec = number, fn, args, kwargs, spec
        self.op: Op | None = None
        self.in_vocabulary = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value; () for a number."""
        return self.spec.shape

    @property
    def reads(self) -> Iterator[Node]:
        """The nodes that this one reads."""
        return references((self.fn, self.args, self.kwargs), Node)

    def __repr__(self) -> str:
        return f"#{self.number}={getattr(self.fn, '__name__', '')}{self.args}"


MOST_NESTED = 30
"""The most rules that are applied within one another; a call below that stays as it is."""


class Graph:
    """Builds nodes; `rules` maps a function to the rewrite rules for calls of it."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.nodes: list[Node] = []
        self.origin: Op | None = None  # the op of the tape that is read now
        self.alternatives: dict[Node, tuple[Node, Node]] = {}  # (value, call): call is cheaper if value is there
        self.regions: dict[Node, Any] = {}  # where stores write
        self._depth = 0  # how many rules are applied within one another now
        self._rules: dict[Any, list[tuple[Callable[..., Any], bool]]] = {}
        self._constants: dict[int, Node] = {}
        self._calls: dict[Any, Node] = {}

    def leaf(self, op: Op) -> Node:
        """Make the node of an input, or of a constant that is not a number."""
        return self._enter(None, (), {}, ValueSpec.of(op.val), op)

    def constant(self, x: np.ndarray) -> Node:
        """Return the node of an array that is a literal argument of a call."""
        if id(x) not in self._constants:
            self._constants[id(x)] = self.leaf(Constant(x))
        return self._constants[id(x)]

    def call(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the node of a call that `spec_of_call` knows, or the node or number that a rule replaces it by.

        The operands of sums and products are sorted: numbers first, then nodes by age. Rules that undo one another end
        at MOST_NESTED.
        """
        if (fn is np.add or fn is np.multiply) and age(args[0]) > age(args[1]):
            args = args[::-1]
        if self._depth < MOST_NESTED:
            self._depth += 1
            try:
                for rule, is_of_all in self.rules_of(fn):
                    found = rule(self, fn, *args, **kwargs) if is_of_all else rule(self, *args, **kwargs)
                    if found is not None:
                        return found
            finally:
                self._depth -= 1
        spec = spec_of_call(fn, args, kwargs)
        if spec.kind is np.ndarray:  # with an array, a np.float64 computes the same as a float
            args = tuple([float(a) if type(a) is np.float64 else a for a in args])
        return self.make(fn, args, kwargs, spec, in_vocabulary=True)

    def rules_of(self, fn: Any) -> list[tuple[Callable[..., Any], bool]]:
        """Return the rules of a function: first those of all elementwise ufuncs, which also get it, then its own.

        A power of a number rounds otherwise than one of an array, so it counts as no elementwise ufunc here.
        """
        key = id(self.rules), fn
        found = self._rules.get(key)
        if found is None:
            is_elementwise = isinstance(fn, np.ufunc) and fn.signature is None and fn is not np.power
            of_all = self.rules.get(np.ufunc, ()) if is_elementwise else ()
            found = self._rules[key] = [(r, True) for r in of_all] + [(r, False) for r in self.rules.get(fn, ())]
        return found

    def make(
        self,
        fn: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        spec: ValueSpec,
        shared: bool = True,
        in_vocabulary: bool = False,
    ) -> Node:
        """Return the node of a call, without asking the rules; with `shared`, reuse the node of an equal call."""
        key = (in_vocabulary, spec, *_equality_keys(fn, args, kwargs)) if shared else None
        if key in self._calls:
            return self._calls[key]
        node = self._enter(fn, args, kwargs, spec, self.origin)
        node.in_vocabulary = in_vocabulary
        if shared:
            self._calls[key] = node
        return node

    def existing(self, fn: Any, a: Any, b: Any) -> Node | None:
        """Return the node of a commutative call on nodes or numbers if the graph has one; else None."""
        args = sorted([a, b], key=age)
        return self._calls.get((True, spec_of_call(fn, (a, b), {}), *_equality_keys(fn, args, {})))

    def _enter(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], spec: ValueSpec, op: Op | None) -> Node:
        node = Node(len(self.nodes), fn, args, kwargs, spec)
        node.op = op
        self.nodes.append(node)
        return node


def _equality_keys(fn: Any, args: Iterable[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return the equality keys of a function, its arguments, and its keyword arguments if it has some."""
    keys = [a if type(a) is Node else constant_key(a) for a in args]
    return (constant_key(fn), *keys, constant_key(kwargs)) if kwargs else (constant_key(fn), *keys)


def age(a: Any) -> int:
    """Return the number of a node, by which arguments are ordered; -1 for anything else."""
    return a.number if type(a) is Node else -1


def is_known_number(a: Any) -> bool:
    """Whether an argument is a float, or an integer that a float represents exactly."""
    return isinstance(a, float) or (type(a) is int and abs(a) <= 2**53)


def is_real(a: Any) -> bool:
    """Whether an argument is a known number, or a node whose value is a float64 number or array."""
    if type(a) is not Node:
        return is_known_number(a)
    return a.spec.dtype == FLOAT and a.spec.kind in (np.ndarray, np.float64, float)


def is_array_node(a: Any) -> bool:
    """Whether an argument is a node whose value is an array."""
    return type(a) is Node and a.spec.kind is np.ndarray


def shape_of(a: Any) -> tuple[int, ...]:
    """Return the shape of an argument; () for a number."""
    return a.spec.shape if type(a) is Node else ()


def is_call(a: Any, *fns: Any) -> bool:
    """Whether an argument is a node in the vocabulary of the rules that calls one of these functions."""
    return type(a) is Node and a.in_vocabulary and a.fn in fns


def fill_value_of(x: Any) -> Any:
    """Return the number or scalar node that fills x; None if x is not known to be uniform."""
    if is_call(x, np.full):
        return x.args[1]
    return x.args[0] if is_call(x, np.broadcast_to) and not is_array_node(x.args[0]) else None


def spec_of_call(fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> ValueSpec:
    """Return the ValueSpec of a call of a ufunc on real arguments, or of a function whose shape is known."""
    row = info(fn)
    if row.shape is None:
        shape = broadcast(args)
    else:
        shape = row.shape(*[a.spec.shape if type(a) is Node else a for a in args], **kwargs)
    return ValueSpec(np.ndarray if shape or row.is_array else np.float64, shape, FLOAT)


def broadcast(args: Iterable[Any]) -> tuple[int, ...]:
    """Return the shape of arguments that are broadcast together."""
    shapes = {a.spec.shape for a in args if type(a) is Node and a.spec.shape}
    return np.broadcast_shapes(*shapes) if len(shapes) > 1 else shapes.pop() if shapes else ()
