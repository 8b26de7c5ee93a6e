"""Declarations about functions and classes of other packages: what runs in their place, and what their objects hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from wengert.rulebook.registry import Registry, rules
from wengert.values.data_classes import declare_reads
from wengert.values.trees import Holding, hold_by

F = TypeVar("F", bound=Callable[..., Any])


def stands_for(*targets: Callable[..., Any], registry: Registry = rules) -> Callable[[F], F]:
    """Declare a stand-in: a Python function that runs in place of the C functions `targets` on traced values.

    The decorated function takes the same arguments, and computes and writes the same. Its calls are recorded one by
    one, like the user's own code. A stand-in can write into an argument, or take and return objects; a rule cannot. If
    no traced value reaches the call, the target itself runs. A rule of a target takes precedence.

    Parameters:
        *targets (callable): The C functions.
        registry (Registry): The table of rules to add the stand-in to.
    Returns:
        callable: A decorator for the stand-in.
    Raises:
        DuplicateRuleError: A target has another stand-in.
    See Also:
        rrule, computes_nothing

    Examples:
        >>> from scipy.linalg.lapack import dlarfg
        >>> @wg.extend.stands_for(dlarfg)
        ... def reflection(n, alpha, x):
        ...     beta = -np.copysign(np.hypot(alpha, np.linalg.norm(x)), alpha)
        ...     return beta, x / (alpha - beta), (beta - alpha) / beta
        >>> wg.grad(lambda alpha: dlarfg(2, alpha, np.array([4.0]))[0])(3.0)
        -0.6
    """

    def declare(function: F) -> F:
        registry.stand_in(targets, function)
        return function

    return declare


def compiled_by(*targets: Callable[..., Any], registry: Registry = rules) -> Callable[[F], F]:
    """Declare what runs in place of the Python functions `targets` while `wg.compile` traces a call.

    The decorated function takes the same arguments and computes the same, up to rounding, by calls of functions with
    rules. If it cannot, it raises NotNativeError with the reason, and the compiled function runs uncompiled.

    Parameters:
        *targets (callable): The functions.
        registry (Registry): The table of rules to add the declaration to.
    Returns:
        callable: A decorator for the function.
    See Also:
        stands_for, native_function

    Examples:
        >>> def halved(f, x):
        ...     return f(x) / 2
        >>> @wg.extend.compiled_by(halved)
        ... def halved_in_code(f, x):
        ...     return f(x) * 0.5
    """

    def declare(function: F) -> F:
        registry.compile_by(targets, function)
        return function

    return declare


def computes_nothing(*targets: Callable[..., Any], registry: Registry = rules) -> None:
    """Declare that the C functions `targets` compute nothing from the numbers in their arguments, and may run as is.

    They store arrays and return the same objects, or read types and shapes, but never a number. To declare a C class
    and all its subclasses, pass its `__new__` or `__init__`.

    Parameters:
        *targets (callable): The C functions.
        registry (Registry): The table of rules to add the declaration to.
    Raises:
        DuplicateRuleError: A target has a stand-in.
    See Also:
        stands_for, non_differentiable

    Examples:
        >>> import sys
        >>> wg.extend.computes_nothing(sys.intern)
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
    """Declare how objects of these `classes` store arrays of floats, so that they can be differentiated as arguments.

    A gradient is a copy with gradients instead of the arrays; its other attributes stay.

    Parameters:
        *classes (type): The classes.
        keys (callable): `keys(obj)` returns a key for each array.
        load (callable): `load(obj, key)` returns that array.
        store (callable): `store(obj, key, array)` replaces it.
        copy (callable): `copy(obj)` returns an object that shares everything with `obj` until a `store` on either.
        is_array (bool): An object is one labelled array; if that has a single element, a differentiated function may
            return the object as its scalar.
    See Also:
        tree_map, ravel

    Examples:
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


def only_reads(
    *classes: type,
    parts: Callable[[Any], Iterable[Any]],
    names: Iterable[str],
    column: Callable[[Any], tuple[Any, Any] | None] | None = None,
) -> None:
    """Declare which methods and attributes of objects of these very `classes` only read, and what they can see.

    Where neither an object, nor its parts, nor the arguments are traced, such a read runs untraced and costs a gradient
    one look at the parts. Any other read is traced. In compiled code the result is a constant, and a guard compares the
    parts at each call.

    Parameters:
        *classes (type): The classes; not their subclasses.
        parts (callable): `parts(obj)` returns all numbers, arrays, lists and objects that a read can see. An object
            among them counts as traced, unless its class is declared, too.
        names (Iterable[str]): The names of methods and attributes that change no array.
        column (callable | None): `column(obj)` returns the array on which `+ - * / **` compute, element by element,
            and its labels. If the labels of two operands are one object, their elements correspond. It returns None for
            an object with more than that. A gradient then records one call for an operator on traced numbers.
    See Also:
        holds, computes_nothing

    Examples:
        >>> class Column:
        ...     def __init__(self, numbers):
        ...         self.numbers = numbers
        ...     def mean(self):
        ...         return np.mean(self.numbers)
        >>> wg.extend.only_reads(Column, parts=lambda column: [column.numbers], names=["mean"])
        >>> column = Column(np.array([1.0, 3.0]))
        >>> wg.grad(lambda x: x * column.mean())(5.0)
        2.0
        >>> wg.grad(lambda x: Column(np.array([x, 3.0])).mean())(1.0)
        0.5
    """
    read = list(names)
    for cls in classes:
        declare_reads(cls, parts, read, column)
