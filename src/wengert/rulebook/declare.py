"""The forms in which a rule is written, as decorators; each enters the rule in the registry."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from wengert.errors import RuleError
from wengert.rulebook.registry import Registry, rules
from wengert.rulebook.rule import Accumulator, Pushforward, Rule
from wengert.rulebook.runtime import times
from wengert.values import signatures
from wengert.values.callables import callable_name, place
from wengert.values.specs import is_complex
from wengert.values.trees import Holding, hold_by

ENTERED = "Pullbacks compute with it, also on values that an outer derivative watches."

__all__ = [
    "accumulates",
    "adjoint",
    "computes_nothing",
    "holds",
    "linear",
    "multilinear",
    "non_differentiable",
    "partials",
    "pullback",
    "pushforward",
    "rrule",
    "stands_for",
    "times",
]

F = TypeVar("F", bound=Callable[..., Any])


def partials(
    *targets: Callable[..., Any], broadcasts: bool = True, view: bool = False, identity: bool = False,
    names: Mapping[str, str] | None = None, registry: Registry = rules,
) -> Callable[[F], F]:  # fmt: skip
    """Declare the rule of elementwise functions: below it stands `(y, a, b, ...) -> (∂y/∂a, ∂y/∂b, ...)`.

    `targets` are the functions that the rule is for. y is the result; a single argument has a bare partial. The
    parameters are those of the call; what stands after `*` is not differentiated.
    `broadcasts`: the arguments broadcast against each other, so that the engine sums cotangents back to their shapes.
    `view`: the result may share memory with argument 0; `identity`: it may be argument 0 itself.
    `names` are further keywords of the targets for parameters of the rule, as `{"min": "a_min"}`.
    `registry` is the table that the rule goes into.

    >>> def softplus(x):
    ...     return np.log1p(np.exp(x))
    >>> @wg.partials(softplus)
    ... def softplus_rule(y, x):
    ...     return 1 / (1 + np.exp(-x))
    >>> wg.grad(softplus)(0.0)
    0.5

    Shapes: a partial has the shape of y, or one that broadcasts to it.
    Errors: DuplicateRuleError where a target has another rule; RuleError without targets.
    """
    options = {"broadcasts": broadcasts, "view": view, "identity": identity, "names": names}
    return _declare("partials", targets, registry, **options)


def pullback(
    *targets: Callable[..., Any], broadcasts: bool = False, view: bool = False, identity: bool = False,
    sequence: int | None = None, parts: bool = False, names: Mapping[str, str] | None = None,
    registry: Registry = rules,
) -> Callable[[F], F]:  # fmt: skip
    """Declare the rule of any functions: below it stands `(y_bar, y, a, b, ...) -> (a_bar, b_bar, ...)`.

    `y_bar` is the cotangent of the result y, of its shape. A single argument has a bare cotangent; None stands for one
    without derivative. `targets`, `view`, `identity`, `names` and `registry` are as in `partials`.
    `broadcasts`: a cotangent may have the shape of y instead of its argument's, and the engine sums it.
    `sequence` is the position of an argument that is a sequence of arrays, which the rule takes one by one.
    `parts`: where y is a tuple, `y_bar` holds None for each part that nothing used, instead of zeros.
    A rule with `*args` and a keyword `wanted` is told which of its arguments are wanted; it gives None for the others.

    >>> def norm2(x):
    ...     return np.sum(x * x)
    >>> @wg.pullback(norm2)
    ... def norm2_rule(y_bar, y, x):
    ...     return 2 * y_bar * x
    >>> wg.grad(norm2)(np.array([1.0, 2.0]))
    array([2., 4.])

    Shapes: a cotangent has the shape of its argument.
    Errors: those of `partials`.
    """
    options = {"broadcasts": broadcasts, "view": view, "identity": identity, "names": names}
    return _declare("pullback", targets, registry, sequence=sequence, parts=parts, **options)


@signatures.rrule
def rrule(f: Callable[..., Any], *args: Any, registry: Registry = rules, **kwargs: Any) -> Any:
    """Declare the rule of `f` in its general form: below it stands `(*args, **kwargs) -> (y, pullback)`.

    y is the value of `f(*args, **kwargs)`; `pullback(y_bar)` takes the cotangent of y and returns one for each argument
    by position, or None where there is none. `registry` is the table that the rule goes into.

    >>> def square(x):
    ...     return x * x
    >>> @wg.rrule(square)
    ... def square_rule(x):
    ...     return x * x, lambda y_bar: y_bar * 2 * x
    >>> wg.grad(square)(3.0)
    6.0

    With arguments, `rrule(f, *args)` calls the rule of f, in whichever form it is declared, and returns
    `(y, pullback)`; this pullback always returns a tuple.

    >>> y, pullback = wg.rrule(square, 3.0)
    >>> y, pullback(10.0)
    (9.0, (60.0,))

    Errors: those of `partials`; with arguments NoRuleError.
    """
    return registry.rrule(f, *args, **kwargs) if args or kwargs else _declare("rrule", (f,), registry)


@signatures.non_differentiable
def non_differentiable(*targets: Callable[..., Any], registry: Registry = rules) -> Any:
    """Declare that the results of the functions `targets` are constants, whose derivative is zero.

    With one function it returns that function, so that it can stand as a decorator above it. `registry` is the table
    that the rules go into.

    >>> @wg.non_differentiable
    ... def scale(x):
    ...     return float(np.max(np.abs(x)))
    >>> wg.grad(lambda x: np.sum(x) / scale(x))(np.array([1.0, 4.0]))
    array([0.25, 0.25])

    Errors: DuplicateRuleError where a target has another rule.
    """
    if not targets:
        return lambda f: non_differentiable(f, registry=registry)
    caller = sys._getframe(1)
    where = f"{caller.f_code.co_filename}:{caller.f_lineno}"
    for f in targets:
        registry.add(Rule(callable_name(f).rpartition(".")[2], (f,), "constant", None, where))
    return targets[0] if len(targets) == 1 else lambda f: f


def accumulates(
    *targets: Callable[..., Any], arg: int, scatters: bool = False, above: int = 0, registry: Registry = rules
) -> Callable[[F], F]:
    """Declare how the cotangent of argument `arg` is added in place: `(x_bar, y_bar, y, *args) -> x_bar`.

    `targets` are functions that have a rule. The function below does `x_bar += ...` and returns `x_bar`. The engine
    calls it instead of the rule where x̄ holds a sum already, in a buffer of the engine's own, so that no array is made
    for the summand. It reads no more of the arguments than the rule does. Where it returns NotImplemented, having
    changed nothing, the rule is called after all.
    `scatters`: what it adds is zero in most places, so that the first contribution too is added, to zeros.
    `above` is the number of elements of x̄ from which on it pays.
    `registry` is the table in which the rules stand.

    >>> def first(x):
    ...     return x[:1].copy()
    >>> @wg.pullback(first)
    ... def first_rule(y_bar, y, x):
    ...     return np.concatenate([y_bar, np.zeros(len(x) - 1)])
    >>> @wg.accumulates(first, arg=0)
    ... def add_first(x_bar, y_bar, y, x):
    ...     x_bar[:1] += y_bar
    ...     return x_bar
    >>> wg.grad(lambda x: np.sum(x * x) + np.sum(first(x)))(np.array([1.0, 2.0]))
    array([3., 4.])

    Shapes: x̄ has the shape and dtype of its argument.
    Errors: NoRuleError where a target has no rule, DuplicateRuleError where `arg` is accumulated already.
    """

    def declare(function: F) -> F:
        for f in targets:
            registry.accumulate(f, arg, Accumulator(function, scatters, above))
        return function

    return declare


def pushforward(*targets: Callable[..., Any], broadcasts: bool = False, registry: Registry = rules) -> Callable[[F], F]:
    """Declare how tangents are pushed through the functions `targets`: `(tangents, y, a, b, ...) -> y_dot`.

    `targets` have a rule already. `tangents` is a tuple: the tangent of each of the rule's arguments, None where it is
    zero; a sequence's items stand in it one by one, as they do in the rule. y is the result, a, b, ... the
    arguments; what stands after `*` is static, as in the rule. `registry` is the table in which the rules stand.
    `broadcasts`: tangents may come with one more, leading, axis, for several directions at once, and the formula
    leaves it where it is. They are then brought to one axis more than y has, if they have fewer.

    Without such a declaration forward mode takes the partials of a rule, or transposes its pullback, which costs more.

    >>> def cube(x):
    ...     return x * x * x
    >>> @wg.pullback(cube)
    ... def cube_rule(y_bar, y, x):
    ...     return y_bar * 3 * x * x
    >>> @wg.pushforward(cube)
    ... def push_cube(tangents, y, x):
    ...     return 3 * x * x * tangents[0]
    >>> wg.test_rrule(cube, 2.0)

    Shapes: a tangent has the shape of its argument; the result has that of y, or one that broadcasts to it.
    Errors: NoRuleError where a target has no rule, DuplicateRuleError where it has a pushforward.
    """

    def declare(function: F) -> F:
        for f in targets:
            registry.push_by(f, Pushforward("declared", function, broadcasts=broadcasts))
        return function

    return declare


def linear(
    *targets: Callable[..., Any], args: tuple[int, ...] | None = None, without: tuple[str, ...] = (),
    registry: Registry = rules,
) -> None:  # fmt: skip
    """Declare that the functions `targets`, which have a rule, are linear in all differentiable arguments together.

    Their tangent is then their value at the tangents. `args` are the positions of these arguments where they are not
    all that the rule has by position; `without` names static arguments that only add a constant. `registry` is the
    table in which the rules stand.

    >>> def swapped(x):
    ...     return x[::-1].copy()
    >>> @wg.pullback(swapped)
    ... def swapped_rule(y_bar, y, x):
    ...     return y_bar[::-1]
    >>> wg.extend.linear(swapped)

    Errors: those of `pushforward`.
    """
    for f in targets:
        registry.push_by(f, Pushforward("linear", linear, args, without))


def multilinear(*targets: Callable[..., Any], registry: Registry = rules) -> None:
    """Declare that the functions `targets`, which have a rule, are linear in each differentiable argument.

    Their tangent is then the sum of their values with one argument exchanged for its tangent. `registry` is the table
    in which the rules stand.

    >>> def scaled(c, x):
    ...     return c * x
    >>> @wg.pullback(scaled)
    ... def scaled_rule(y_bar, y, c, x):
    ...     return np.sum(y_bar * x), c * y_bar
    >>> wg.extend.multilinear(scaled)

    Errors: those of `pushforward`.
    """
    for f in targets:
        registry.push_by(f, Pushforward("multilinear", multilinear))


def stands_for(*targets: Callable[..., Any], registry: Registry = rules) -> Callable[[F], F]:
    """Have a function in Python run in place of the functions of C `targets`, where a traced value can reach a call.

    Below it stands what they compute and write, in the same arguments: what it calls is recorded one by one, as in
    the user's own code. So a function can be followed that writes into an array which it is given, or that takes or
    makes an object: no rule can speak of these. Where nothing traced reaches the call, the target itself runs. A rule
    of a target goes before. `registry` is the table that it goes into.

    >>> from scipy.linalg.lapack import dlarfg
    >>> @wg.extend.stands_for(dlarfg)
    ... def reflection(n, alpha, x):
    ...     beta = -np.copysign(np.hypot(alpha, np.linalg.norm(x)), alpha)
    ...     return beta, x / (alpha - beta), (beta - alpha) / beta
    >>> wg.grad(lambda alpha: dlarfg(2, alpha, np.array([4.0]))[0])(3.0)
    -0.6

    Errors: DuplicateRuleError where a target has another stand-in.
    """

    def declare(function: F) -> F:
        registry.stand_in(targets, function)
        return function

    return declare


def computes_nothing(*targets: Callable[..., Any], registry: Registry = rules) -> None:
    """Declare that the functions of C `targets` compute nothing on numbers that they are given: they run as they are.

    They hold on to arrays and give them back, the same objects, or ask for types and shapes; they read no number.
    Of a class of C its `__new__` or `__init__` says so of all classes made from it. `registry` is the table that it
    goes into.

    >>> import sys
    >>> wg.extend.computes_nothing(sys.intern)

    Errors: DuplicateRuleError where a target has a stand-in.
    """
    for f in targets:
        registry.stand_in((f,), f)


def holds(
    *classes: type,
    keys: Callable[[Any], Iterable[Any]],
    load: Callable[[Any, Any], Any],
    store: Callable[[Any, Any, Any], None],
    copy: Callable[[Any], Any],
    is_array: bool = False,
) -> None:
    """Declare how objects of these `classes` hold arrays of floats, so that they can be differentiated as arguments.

    `keys(obj)` are the places, `load(obj, key)` gives the array there, `store(obj, key, array)` exchanges it, and
    `copy(obj)` is an object that shares all with it, until another array is stored in one of the two. Their gradient
    is such a copy with gradients in these places; all else in it stays as it is. `is_array`: an object is one array,
    with labels, and where it has one number, a function may return it for that.

    >>> class Column:
    ...     def __init__(self, name, numbers):
    ...         self.name, self.numbers = name, numbers
    >>> wg.extend.holds(
    ...     Column,
    ...     keys=lambda column: ["numbers"],
    ...     load=getattr,
    ...     store=setattr,
    ...     copy=lambda column: Column(column.name, column.numbers),
    ... )
    >>> gradient = wg.grad(lambda column: np.sum(column.numbers ** 2))(Column("height", np.array([1.0, 2.0])))
    >>> gradient.name, gradient.numbers
    ('height', array([2., 4.]))
    """
    for cls in classes:
        hold_by(cls, Holding(keys, load, store, copy, is_array))


def adjoint(a: Any) -> Any:
    """Aᴴ, the conjugate transpose of `a` in its last two axes.

    >>> wg.extend.adjoint(np.array([[1.0, 2j]]))
    array([[1.-0.j],
           [0.-2.j]])
    """
    transposed = a.T if isinstance(a, np.ndarray) and a.ndim == 2 else np.swapaxes(a, -1, -2)
    return np.conj(transposed) if is_complex(a) else transposed


def _declare(
    kind: str, targets: tuple[Callable[..., Any], ...], registry: Registry, **options: Any
) -> Callable[[F], F]:
    if not targets:
        raise RuleError(f"@{kind} needs the functions that the rule is for: @{kind}(np.sin, math.sin)")

    def declare(function: F) -> F:
        registry.add(Rule(function.__name__, targets, kind, function, place(function), **options))
        return function

    return declare
