"""Side effects of a rule's code, found with an allowlist of pure syntax and functions.

A pure statement may be removed if its result is unused, and may run again. Parameters are taken to be numbers, arrays
and sequences of them, whose operators and indexing are pure; a variable bound to anything else is not. An effect is
FREE, RAISES or ACTS, and that of a compound is the maximum over its parts.
"""

from __future__ import annotations

import ast
import functools
import itertools
import math
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from wengert.rulebook.syntax import UNKNOWN, defined, named_object, walk_tree
from wengert.values import functional
from wengert.values.callables import named_parameters
from wengert.values.names import home_of
from wengert.values.projection import unbroadcast
from wengert.values.specs import is_complex, spec_of

F = TypeVar("F", bound=Callable[..., Any])
FREE, RAISES, ACTS = range(3)
"""The effects: no side effect; may raise an error, as a check does; may have any side effect."""

_PARTS = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.List, ast.Set, ast.Dict,
    ast.Subscript, ast.Slice, ast.JoinedStr, ast.FormattedValue, ast.Return, ast.If, ast.Pass, ast.Break, ast.Continue,
)  # fmt: skip
_LISTS = (ast.ListComp, ast.SetComp, ast.DictComp)
_PLAIN = (int, float, complex, str, bytes, type(None), type(...), slice, np.ndarray, np.generic, np.dtype, type)
_ATTRIBUTES = {
    "T", "mT", "real", "imag", "shape", "dtype", "ndim", "size", "strides", "itemsize", "nbytes", "kind", "char",
    "eps", "tiny", "max", "min",
}  # fmt: skip

# Functions of NumPy and methods of its arrays that return a new value or a view; only with `out=` do they write.
_PURE_NUMPY = """
abs all allclose amax amin angle any append arange argmax argmin argsort argwhere around array array_equal asarray
ascontiguousarray atleast_1d atleast_2d atleast_3d average bincount block broadcast_shapes broadcast_to clip
column_stack concatenate convolve copy correlate count_nonzero cov cross cumprod cumsum delete diag diagflat diagonal
diff digitize dot dstack ediff1d einsum empty empty_like expand_dims eye finfo flatnonzero flip fliplr flipud full
full_like gradient hstack i0 identity iinfo imag indices inner insert interp isclose iscomplex iscomplexobj isin isreal
isrealobj isscalar ix_ kron lexsort linspace logspace matrix_transpose max mean median meshgrid min moveaxis nanmax
nanmean nanmedian nanmin nanprod nanstd nansum nanvar ndim nonzero ones ones_like outer pad partition percentile
polyval prod ptp quantile ravel real repeat reshape resize result_type roll rollaxis rot90 round searchsorted shape
sign sinc size sort split squeeze stack std sum swapaxes take take_along_axis tensordot tile trace transpose trapezoid
tri tril tril_indices triu triu_indices unique unravel_index unwrap vander var vdot vsplit vstack where zeros zeros_like
linalg.cholesky linalg.cond linalg.det linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.inv linalg.lstsq
linalg.matrix_power linalg.multi_dot linalg.norm linalg.pinv linalg.qr linalg.slogdet linalg.solve linalg.svd
linalg.tensorinv linalg.tensorsolve
fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.fftn fft.ifftn
fft.rfftn fft.irfftn fft.fftshift fft.ifftshift fft.fftfreq fft.rfftfreq
add.reduce multiply.reduce maximum.reduce minimum.reduce add.outer multiply.outer
"""
_PURE_METHODS = {
    "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "conj", "conjugate", "copy", "cumprod", "cumsum",
    "diagonal", "dot", "flatten", "item", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "reshape",
    "round", "squeeze", "std", "sum", "swapaxes", "take", "tolist", "trace", "transpose", "var",
}  # fmt: skip
_WITHOUT_OUT = {"reshape", "transpose", "swapaxes", "repeat", "item"}  # no further positional argument is `out`


def _numpy(name: str) -> Any:
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, UNKNOWN)  # older versions of NumPy lack some
    return found


@functools.cache
def _allowed() -> frozenset[int]:
    """Return the ids of the pure functions; to read them imports `numpy.fft`, which most programs never need."""
    of_math = [f for name, f in vars(math).items() if callable(f) and not name.startswith("_")]
    return frozenset(map(id, [*_BUILTINS, *_OWN, *of_math, *map(_numpy, _PURE_NUMPY.split())]))


_BUILTINS = [
    abs, all, any, bool, complex, dict, divmod, float, frozenset, int, isinstance, len, list, max, min, pow, range,
    repr, round, set, slice, sorted, str, sum, tuple, type,
]  # fmt: skip
_STREAMS = (zip, enumerate, reversed, itertools.product)  # iterators, which the first reader exhausts
_MAKERS = (np.zeros, np.zeros_like, np.ones, np.ones_like, np.empty, np.empty_like, np.full, np.full_like, np.copy)
_CONSUMERS = (all, any, dict, frozenset, list, max, min, set, sorted, sum, tuple, math.prod, math.fsum)
_OWN = [getattr(functional, name) for name in functional.__all__] + [is_complex, spec_of, unbroadcast]
TESTED = "wengert_rules."  # our rules and their helpers write into no argument: `test_rrule` checks it
_purity_by_function: dict[Any, int] = {}


def computes(f: F) -> F:
    """Declare that the function `f` has no side effects, so that a rule's call of it is removed if its value is unused.

    Use it for a function whose source does not show this: one that loops, calls C code, or raises to refuse arguments.

    Parameters:
        f (callable): The function.
    Returns:
        callable: f.
    See Also:
        partials, rrule

    Examples:
        >>> @wg.extend.computes
        ... def refused(why):
        ...     raise wg.NoDerivativeError(why)
        >>> def power(x, n):
        ...     return x**n
        >>> @wg.partials(power)
        ... def power_rule(y, x, n):
        ...     return n * x ** (n - 1), refused("n is an integer")
        >>> wg.grad(power)(2.0, 3.0)
        12.0
    """
    _purity_by_function[f] = FREE
    return f


# Code may read or write its caller's variables unless it is known not to.
_LOOKERS = (locals, vars, dir, eval, exec, breakpoint)
_BLIND = {"numpy", "scipy", "math", "cmath", "operator", "builtins", "functools", "itertools", "statistics", "wengert"}
_KNOWN_METHODS = {name for kind in (list, dict, set, tuple, str, np.ndarray) for name in dir(kind)}


class Effects:
    """The effects of a function's statements; `busy` are the functions under analysis, to stop at recursive calls."""

    def __init__(self, node: ast.FunctionDef, function: types.FunctionType, busy: tuple[Any, ...] = ()) -> None:
        self.node, self.function, self.busy = node, function, (*busy, function)
        self.is_ours = home_of(function).startswith(TESTED)
        self.helpers: dict[int, int] = {}
        parameters = {a.arg for a in walk_tree(node.args) if isinstance(a, ast.arg)}
        bound: dict[str, list[ast.AST | None]] = {name: [] for name in parameters}
        for n in walk_tree(ast.Module(node.body, [])):
            for name, value in _bindings(n):
                bound.setdefault(name, []).append(value)
        self.bound = set(bound)
        self.plain = set(bound)
        impure = {""}
        while impure:  # variables bound to something impure, then those computed from them
            impure = {name for name in self.plain if any(v is None or self.of(v) == ACTS for v in bound[name])}
            self.plain -= impure
        self.inner = {n.name for n in node.body if isinstance(n, ast.FunctionDef) and len(bound[n.name]) == 1}
        self.inner -= parameters
        made = self.plain - parameters
        self.arrays = {name for name in made if all(map(self._makes, bound[name]))}
        self.lists = {name for name in made if all(map(_makes_list, bound[name]))}

    def is_free(self, n: ast.AST) -> bool:
        """Whether the syntax node `n` has no side effect and raises no error of its own."""
        return self.of(n) == FREE

    def whole(self) -> int:
        """Return the effect of the whole body."""
        return self._most(self.node.body)

    def is_blind(self) -> bool:
        """Whether only code that names a variable can read or set it: no `locals()`, frames or `exec`."""
        return all([self._is_blind(n) for n in walk_tree(ast.Module(self.node.body, []))])

    def of(self, n: ast.AST) -> int:
        """Return the effect of a statement or expression; below ACTS, its value is a number, array or sequence."""
        match n:
            case ast.Constant():
                return FREE
            case ast.Starred(value=value):
                return self._stream(value)
            case ast.Name():
                known = n.id in self.plain or _is_plain_constant(self._found(n))
                return FREE if known else ACTS
            case ast.Attribute():
                shown = n.attr in _ATTRIBUTES and self.of(n.value) == FREE
                return FREE if shown or _is_plain_constant(self._found(n)) else ACTS
            case ast.Call():
                return self._call(n)
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=key)], value=value):
                return self._most([key, value]) if name in self.arrays | self.lists else ACTS
            case ast.Assign(targets=targets, value=value):
                return self.of(_items_or_value(targets[0], value)) if all(map(_names_only, targets)) else ACTS
            case ast.AugAssign(target=target, value=value):
                return self._most([target, value]) if _base(target) in self.arrays else ACTS
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=name), "append"), [item], [])) if name in self.lists:
                return max(RAISES, self.of(item))
            case ast.For() | ast.While():
                return self._loop(n)
            case ast.AnnAssign(target=ast.Name(), value=value):
                return FREE if value is None else self.of(value)
            case ast.Expr(value=value):
                return self.of(value)
            case ast.With(items=items, body=body):
                calm = all([self._is_errstate(item) for item in items])
                return self._most(body) if calm else ACTS
            case ast.Raise(exc=made, cause=cause):
                return max(RAISES, self._most([x for x in (made, cause) if x is not None]))
            case ast.Assert():
                return max(RAISES, self._most(list(ast.iter_child_nodes(n))))
        if isinstance(n, _LISTS):
            return self._comprehension(n)
        return self._most(_child_nodes(n)) if isinstance(n, _PARTS) else ACTS

    def _most(self, nodes: Sequence[ast.AST]) -> int:
        return max(map(self.of, nodes), default=FREE)

    def _found(self, n: ast.AST) -> Any:
        """Return the object that a global, closure variable or module attribute names; UNKNOWN for other nodes."""
        root = n
        while isinstance(root, ast.Attribute):
            root = root.value
        return UNKNOWN if isinstance(root, ast.Name) and root.id in self.bound else named_object(n, self.function)

    def _makes(self, v: ast.AST | None) -> bool:
        """Whether an expression returns a new array, which nothing else refers to, or a constant."""
        made = isinstance(v, ast.Call) and any(self._found(v.func) is f for f in _MAKERS)
        return made or isinstance(v, ast.Constant)

    def _lets_write(self, k: ast.keyword) -> bool:
        """Whether a function may write into the keyword argument `k`, as NumPy's functions do into `out=`."""
        own = isinstance(k.value, ast.Call) and self._makes(k.value)
        return k.arg is None or k.arg.startswith("overwrite_") or (k.arg in ("out", "output") and not own)

    def _loop(self, n: ast.For | ast.While) -> int:
        """Return the effect of a loop, which is kept or removed as a whole."""
        if isinstance(n, ast.For) and not _names_only(n.target):
            return ACTS
        head = self._stream(n.iter) if isinstance(n, ast.For) else self.of(n.test)
        return max(RAISES, head, self._most([*n.body, *n.orelse]))

    def _comprehension(self, n: Any) -> int:
        inside = [n.key, n.value] if isinstance(n, ast.DictComp) else [n.elt]
        conditions = [test for g in n.generators for test in g.ifs]
        if any([g.is_async or not _names_only(g.target) for g in n.generators]):
            return ACTS
        return max([self._stream(g.iter) for g in n.generators] + [self._most([*inside, *conditions])])

    def _stream(self, n: ast.AST) -> int:
        """Return the effect of an expression that is iterated over right here, so an iterator may be in it."""
        if isinstance(n, ast.GeneratorExp):
            return self._comprehension(n)
        if isinstance(n, ast.Call) and any(self._found(n.func) is f for f in _STREAMS):
            return max([FREE, *map(self._stream, n.args), *[self.of(k.value) for k in n.keywords]])
        return self.of(n)

    def _call(self, n: ast.Call) -> int:
        """Return the effect of a call: the maximum over the function and its arguments."""
        f, given = self._found(n.func), [*n.args, *[k.value for k in n.keywords]]
        if any([self._lets_write(k) for k in n.keywords]):
            return ACTS
        if f is UNKNOWN:
            called = self._method(n)
        else:
            called = self._called(f, len(n.args))
        if any([isinstance(a, ast.Starred) for a in n.args]) and not _counts_all(f):
            called = ACTS  # one of the unpacked arguments may be `out`
        consumes = any(f is known for known in _CONSUMERS)
        return max([called, *[self._stream(a) if consumes else self.of(a) for a in given]])

    def _method(self, n: ast.Call) -> int:
        func = n.func
        if not isinstance(func, ast.Attribute) or func.attr not in _PURE_METHODS:
            return ACTS
        return self.of(func.value) if len(n.args) <= 1 or func.attr in _WITHOUT_OUT else ACTS

    def _called(self, f: Any, count: int) -> int:
        """Return the effect of calling the function `f` with `count` positional arguments."""
        if isinstance(f, np.ufunc):
            return FREE if count <= f.nin and not f.types[0].startswith("O") else ACTS
        if isinstance(f, type) and issubclass(f, (BaseException, np.generic)):
            return FREE
        if id(f) in _allowed() or (self.is_ours and home_of(f).startswith("scipy.")):
            names = named_parameters(f) if home_of(f).startswith("numpy") else []
            return ACTS if "out" in names[:count] else FREE
        if not isinstance(f, types.FunctionType):
            return ACTS
        return self._tested(f) if f in _purity_by_function or home_of(f).startswith(TESTED) else self._helper(f)

    def _helper(self, f: types.FunctionType) -> int:
        if f in self.busy:
            return FREE  # a recursive call adds no further effect
        if id(f) not in self.helpers:
            node = defined(f)
            self.helpers[id(f)] = ACTS if node is None else Effects(node, f, self.busy).whole()
        return self.helpers[id(f)]

    def _tested(self, f: types.FunctionType) -> int:
        if f not in _purity_by_function:
            _purity_by_function[f] = min(self._helper(f), RAISES)
        return _purity_by_function[f]

    def _is_errstate(self, item: ast.withitem) -> bool:
        call = item.context_expr
        if not isinstance(call, ast.Call) or item.optional_vars is not None:
            return False
        return self._found(call.func) is np.errstate and self._most([k.value for k in call.keywords]) == FREE

    def _is_blind(self, n: ast.AST) -> bool:
        if isinstance(n, (ast.Name, ast.Attribute)):
            found = self._found(n)
            return not any(found is f for f in _LOOKERS)
        if isinstance(n, ast.withitem):
            return isinstance(n.context_expr, ast.Call)
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return isinstance(n, ast.FunctionDef) and not n.decorator_list
        return not isinstance(n, ast.Call) or self._calls_the_blind(n.func)

    def _calls_the_blind(self, func: ast.expr) -> bool:
        f = self._found(func)
        if f is UNKNOWN:
            if isinstance(func, ast.Name):
                return func.id in self.inner
            return isinstance(func, ast.Attribute) and func.attr in _KNOWN_METHODS
        if isinstance(f, np.ufunc) or (isinstance(f, type) and issubclass(f, BaseException)):
            return True
        home = getattr(f, "__module__", None) or ""
        known = home.partition(".")[0] in _BLIND or home.startswith(TESTED)
        return known or (isinstance(f, types.FunctionType) and self._helper(f) < ACTS)


def _bindings(n: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    """Yield the names that a syntax node binds, each with the expression bound or unpacked to it, or None."""
    targets: Sequence[ast.AST] = ()
    value: ast.AST | None = None
    match n:
        case ast.Assign(targets=targets):
            value = _items_or_value(targets[0], n.value)
        case ast.AnnAssign(target=target, value=value):
            targets = [target]
        case ast.For(target=target, iter=items) | ast.comprehension(target=target, iter=items):
            targets, value = [target], ast.Starred(items)
        case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name, None
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name, None
        case ast.MatchMapping(rest=str(name)):
            yield name, None
        case ast.alias(name=name, asname=asname):
            yield asname or name.partition(".")[0], None
        case ast.NamedExpr(target=target) | ast.withitem(optional_vars=ast.AST() as target):
            targets = [target]
        case ast.Global(names=others) | ast.Nonlocal(names=others):
            yield from [(name, None) for name in others]
    names = [part for target in targets for part in walk_tree(target) if isinstance(part, ast.Name)]
    yield from [(part.id, value) for part in names if isinstance(part.ctx, ast.Store)]


def _items_or_value(target: ast.AST, value: ast.expr) -> ast.expr:
    """Return the expression that an assignment to `target` reads: `*value` if it unpacks, else `value`."""
    return value if isinstance(target, ast.Name) else ast.Starred(value)


def _base(target: ast.AST) -> str:
    """Return the name of the variable that an assignment sets, whole or at an index; "" if there is none."""
    if isinstance(target, ast.Subscript):
        return _base(target.value) if isinstance(target.value, ast.Name) else ""
    return target.id if isinstance(target, ast.Name) else ""


def _makes_list(v: ast.AST | None) -> bool:
    times = isinstance(v, ast.BinOp) and isinstance(v.op, ast.Mult) and isinstance(v.left, ast.List)
    return times or isinstance(v, (ast.List, ast.ListComp))


def _counts_all(f: Any) -> bool:
    """Whether a call may have any number of positional arguments, because none of them can be `out`."""
    own = isinstance(f, types.FunctionType) and id(f) not in _allowed()
    return own or any([f is known for known in _BUILTINS])


def _names_only(target: ast.AST) -> bool:
    """Whether an assignment to `target` only binds names."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(map(_names_only, target.elts))
    return isinstance(target, ast.Name) or (isinstance(target, ast.Starred) and _names_only(target.value))


def _child_nodes(n: ast.AST) -> list[ast.AST]:
    return [part for part in ast.iter_child_nodes(n) if isinstance(part, (ast.expr, ast.stmt))]


def _is_plain_constant(value: Any) -> bool:
    """Whether an object is a number, array, string or class, or a tuple or list of these."""
    return all(map(_is_plain_constant, value)) if type(value) in (tuple, list) else isinstance(value, _PLAIN)


__all__ = ["ACTS", "FREE", "RAISES", "TESTED", "Effects", "computes"]
