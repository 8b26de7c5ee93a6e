"""The ops of a tape, Input, Constant and Call, and the Variables that refer to them.

Each kind of op is a class with its own `references`, `rewrite` and `copy`. To add a kind, write one more class here
and one more case in each reader (dump, play, source).
"""

from __future__ import annotations

import operator
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.errors import TapeError
from wengert.values.completion import hides
from wengert.values.sites import Site


class MissingValue:
    """The value of an op that has not run yet."""

    def __repr__(self) -> str:
        return "?"


MISSING = MissingValue()


class Variable:
    """A reference to an op of a tape, printed %7; `of` is the op, or its position.

    A Variable made from an op is bound: it follows the op through edits. One made from a position is free: it means the
    op at that position when it is read. A bound Variable hashes by its op. An op that replaces another takes over its
    identity, so a dict keyed by Variables stays correct after `Tape.replace`.

    Parameters:
        of (Op | int): The op, or its position.
    See Also:
        bound_variable, Tape

    Examples:
        >>> _, tape = wg.trace(lambda x: x + 1, 1.0)
        >>> y = tape.result
        >>> y, y.id, y.op.val, wg.Variable(3) == y
        (%3, 3, 2.0, False)
    """

    __slots__ = ("_op", "_position")
    _op: Op | None

    def __init__(self, of: Op | int) -> None:
        if isinstance(of, Op):
            self._op, self._position = of, 0
        else:
            self._op, self._position = None, int(of)

    @property
    def op(self) -> Op | None:
        """The op that this Variable refers to now; None if it is free."""
        op = self._op
        if op is not None and op._replaced_by is not None:
            op = self._op = op.successor()
        return op

    @property
    def id(self) -> int:
        """The position on the tape, from 1; 0 for an op that is on no tape."""
        op = self._op if self._op is None or self._op._replaced_by is None else self.op
        if op is None:
            return self._position
        return op.id if op._home is not None and op._home.edited else op._id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Variable):
            return NotImplemented
        own_op, other_op = self.op, other.op
        if own_op is None or other_op is None:
            return own_op is other_op and self._position == other._position
        return (own_op._token or own_op) is (other_op._token or other_op)

    def __hash__(self) -> int:
        op = self.op
        return hash(self._position) if op is None else hash(op._token or op)

    def __repr__(self) -> str:
        return f"%{self.id or '?'}"


V = Variable


class Home(weakref.ref[Any]):
    """The tape that an op is on, and whether it was edited since its ops were numbered."""

    edited = False

    def __deepcopy__(self, memo: object) -> Home:
        return self

    def __reduce__(self) -> Any:
        raise TapeError(
            "a tape cannot be pickled: it holds functions and values of this process. Save tape.to_source()"
        )


@hides("successor")
class Op:
    """One line of a tape: its value `val`, the user's line `site`, and a `note` on its role in a derivative tape.

    The note is a string, or a tuple of strings and Variables. The Variables keep their ids correct through edits.
    """

    __slots__ = ("__weakref__", "_home", "_id", "_replaced_by", "_token", "note", "site", "val")

    def __init__(self, val: Any = MISSING, site: Site | None = None, note: str | tuple[Any, ...] | None = None) -> None:
        self.val = val
        self.site = site
        self.note = note
        self._id = 0
        self._home: Home | None = None
        self._replaced_by: Op | None = None
        self._token: Op | None = None  # the first of the ops that it replaces

    @property
    def id(self) -> int:
        """The position on the tape, from 1; 0 for an op that is on no tape."""
        home = self._home
        if home is not None and home.edited and (tape := home()) is not None:
            tape.settle()
        return self._id

    def successor(self) -> Op:
        """Return this op, or the op that has replaced it."""
        op = self
        while op._replaced_by is not None:
            op = op._replaced_by
        step = self
        while step._replaced_by is not None and step._replaced_by is not op:
            step._replaced_by, step = op, step._replaced_by
        return op

    def references(self) -> Iterator[Variable]:
        """Yield the Variables that this op reads, each as often as it reads it."""
        return iter(())

    def rewrite(self, change: Callable[[Variable], Any]) -> None:
        """Replace each Variable v that this op reads by `change(v)`."""

    def copy(self, change: Callable[[Variable], Any] | None = None) -> Op:
        """Return a copy of the op that is on no tape; it reads `change(v)` for each Variable v that the op reads."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} %{self.id or '?'}>"


class Input(Op):
    """An op whose value is passed in when the tape is played: an argument of the traced function.

    Parameters:
        val (Any): The recorded value.
        name (str | None): The parameter's name.
        callee (bool): Whether it is the function itself, %1 of a traced tape.
        site (Site | None): The user's line.
        note (Any): The role of the op on a derivative tape.
    See Also:
        Constant, Call, Tape

    Examples:
        >>> tape = wg.Tape()
        >>> x = tape.push(wg.Input(2.0, "x"))
        >>> tape.result = tape.push(wg.Call(np.sin, [x]))
        >>> tape.play(0.0)
        np.float64(0.0)
    """

    __slots__ = ("callee", "name")

    def __init__(
        self,
        val: Any = MISSING,
        name: str | None = None,
        *,
        callee: bool = False,
        site: Site | None = None,
        note: Any = None,
    ) -> None:
        super().__init__(val, site, note)
        self.name = name
        self.callee = callee

    def copy(self, change: Callable[[Variable], Any] | None = None) -> Input:
        return Input(self.val, self.name, callee=self.callee, site=self.site, note=self.note)


class Constant(Op):
    """An op whose value `val` depends on no input; `site` and `note` are as in `Input`.

    Parameters:
        val (Any): The value.
        site (Site | None): The user's line.
        note (Any): The role of the op on a derivative tape.
    See Also:
        Input, Call, fold_constants

    Examples:
        >>> tape = wg.Tape()
        >>> tape.result = tape.push(wg.Constant(2.0))
        >>> tape.play()
        2.0
    """

    __slots__ = ()

    def __init__(self, val: Any, *, site: Site | None = None, note: Any = None) -> None:
        super().__init__(val, site, note)

    def copy(self, change: Callable[[Variable], Any] | None = None) -> Constant:
        return Constant(self.val, site=self.site, note=self.note)


class Call(Op):
    """A call `fn(*args, **kwargs)`; `fn` and the arguments, also inside containers, may be Variables.

    A guard is a call whose result (a bool, int, None or str) decided how the function ran. When the tape is played, it
    must return `val` again.

    Parameters:
        fn (callable | Variable): The function.
        args (Sequence): Its positional arguments.
        kwargs (Mapping | None): Its keyword arguments.
        val (Any): The recorded value.
        site (Site | None): The user's line.
        note (Any): The role of the op on a derivative tape.
        guard (bool): Whether the call is a guard.
    See Also:
        mkcall, Input, Constant, Variable

    Examples:
        >>> tape = wg.Tape()
        >>> tape.inputs = [3.0]
        >>> tape.push(wg.Call(np.greater, [tape.inputs[0], 0.0], val=True, guard=True))
        %2
        >>> tape.result = tape.inputs[0]
        >>> tape.play(-1.0)
        Traceback (most recent call last):
        wengert.errors.StaleTapeError: recorded with `guard np.greater(%1, 0.0) is True`, now it is False: ...
    """

    __slots__ = ("args", "fn", "guard", "kwargs")

    def __init__(
        self,
        fn: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        val: Any = MISSING,
        site: Site | None = None,
        note: Any = None,
        guard: bool = False,
    ) -> None:
        self.fn, self.args, self.kwargs, self.guard = fn, tuple(args), dict(kwargs) if kwargs else {}, guard
        self.val, self.site, self.note = val, site, note  # as in Op, whose call takes longer than these lines
        self._id, self._home, self._replaced_by, self._token = 0, None, None, None

    def references(self) -> Iterator[Variable]:
        if isinstance(self.fn, Variable):
            yield self.fn
        for arg in self.args:
            if type(arg) is Variable:
                yield arg
            elif type(arg) not in _LEAVES:
                yield from references(arg)
        if self.kwargs:
            yield from references(self.kwargs)

    def rewrite(self, change: Callable[[Variable], Any]) -> None:
        self.fn, self.args, self.kwargs = substituted(self, change)

    def copy(self, change: Callable[[Variable], Any] | None = None) -> Call:
        fn, args, kwargs = substituted(self, change) if change else (self.fn, self.args, self.kwargs)
        return Call(fn, args, kwargs, self.val, self.site, self.note, self.guard)


_LEAVES = frozenset(
    [
        float,
        int,
        bool,
        str,
        type(None),
        np.ndarray,
        np.float64,
        np.ufunc,
        types.FunctionType,
        types.BuiltinFunctionType,
    ]
)  # fmt: skip -- types without Variables, checked first because most arguments have one


def references(tree: Any, kind: type = Variable) -> Iterator[Any]:
    """Yield the Variables (or objects of another `kind`) in an argument, also in tuples, lists, dicts and slices."""
    if isinstance(tree, kind):
        yield tree
    for part in _container_items(tree):
        if type(part) is kind:
            yield part
        elif type(part) not in _LEAVES:
            yield from references(part, kind)


def _container_items(tree: Any) -> Iterable[Any]:
    """Return the items of a tuple, list, dict or slice, which may be Variables; nothing for any other object."""
    if isinstance(tree, (tuple, list)):
        return tree
    if isinstance(tree, slice):
        return tree.start, tree.stop, tree.step
    return tree.values() if isinstance(tree, dict) else ()


def with_variables(tree: Any, change: Callable[[Any], Any], kind: type = Variable) -> Any:
    """Return `tree` with each Variable v (or object of another `kind`) replaced by `change(v)`.

    If nothing changes, return the same object.
    """
    if isinstance(tree, kind):
        return change(tree)
    old = tree if type(tree) is tuple else _container_items(tree)
    if not old:
        return tree
    new = [
        change(part) if type(part) is kind else part if type(part) in _LEAVES else with_variables(part, change, kind)
        for part in old
    ]
    if all(map(operator.is_, new, old)):
        return tree
    if type(tree) is tuple:
        return tuple(new)
    if isinstance(tree, (tuple, list)):
        return sequence_like(tree, new)
    return slice(*new) if isinstance(tree, slice) else dict(zip(tree, new, strict=True))


def substituted(call: Any, change: Callable[[Any], Any], kind: type = Variable) -> tuple[Any, Any, Any]:
    """Return fn, args and kwargs of a call, with each Variable v (or other `kind`) replaced by `change(v)`."""
    fn, args, kwargs = call.fn, call.args, call.kwargs
    fn = change(fn) if isinstance(fn, kind) else fn
    return fn, with_variables(args, change, kind), with_variables(kwargs, change, kind) if kwargs else kwargs


def sequence_like(like: Sequence[Any], parts: Sequence[Any]) -> Any:
    """Return a tuple, named tuple or list of the class of `like`, with other parts."""
    if isinstance(like, list):
        return list(parts)
    return type(like)(*parts) if hasattr(like, "_fields") else tuple(parts)


def value_of(v: Any) -> Any:
    """Return a Variable's value, MISSING if it is unknown; return anything else unchanged."""
    if not isinstance(v, Variable):
        return v
    op = v.op
    return MISSING if op is None else op.val


def key_value(key: Any) -> Any:
    """Return a key whose Variables are replaced by their known values."""
    return with_variables(key, value_of)


def mkcall(fn: Any, /, *args: Any, **kwargs: Any) -> Call:
    """Make the `Call` of `fn(*args, **kwargs)`, to push on a tape; run it now if the values it reads are known.

    Parameters:
        fn (callable): The function.
        *args (Any): Its positional arguments, with Variables for the values of ops.
        **kwargs (Any): Its keyword arguments, likewise.
    Returns:
        Call: The call, with its value if known.
    See Also:
        Call, Tape

    Examples:
        >>> tape = wg.Tape()
        >>> tape.inputs = [2.0]
        >>> y = tape.push(wg.mkcall(np.add, tape.inputs[0], 1.0))
        >>> y.op.val
        np.float64(3.0)
    """
    call, values = Call(fn, args, kwargs), list[Any]()

    def read(v: Variable) -> Any:
        values.append(value_of(v))
        return values[-1]

    fn, args, kwargs = substituted(call, read)
    if not any([value is MISSING for value in values]):
        call.val = fn(*args, **kwargs)
    return call


def reference_error(problem: str, fix: str) -> TapeError:
    """Make the error for an invalid reference or edit: the problem, and how to fix it."""
    return TapeError(f"{problem}\n  fix: {fix}")
