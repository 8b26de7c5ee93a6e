"""Jacobians: the derivatives of all numbers of a result with respect to all numbers of the arguments.

A block is ∂yⱼ/∂xₖ of one leaf of the result and one of the arguments, of shape `yⱼ.shape + xₖ.shape`. Reverse mode
finds the blocks by rows, forward mode by columns; what becomes of them is the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import ArgumentError, NoGradientPathError, NonScalarOutputError
from wengert.gradient import check_complex, pulled, wraps
from wengert.recording.container_arguments import with_leaves
from wengert.tangents import pushed
from wengert.values.callables import callable_name
from wengert.values.specs import Spec, as_float, is_complex, spec_of
from wengert.values.trees import itself, leaves, mirror
from wengert.wanted import Argnums, check_argnums, check_inputs, places_of, refuse_swallowed

ENTERED = "It computes with derivatives, also with those that an outer derivative watches."

__all__ = ["hessian", "jacfwd", "jacobian", "jacrev", "value_and_jacobian"]


class Options(NamedTuple):
    """The parameters of `jacobian`, in its order."""

    argnums: Argnums = 0
    has_aux: bool = False
    holomorphic: bool = False
    allow_int: bool = False
    as_matrix: bool = False


class Call:
    """A call of a function, with the arguments that its derivative is asked for.

    `forms` are these, with None for what has no derivative, `xs` the Specs of their leaves; `single`: one was asked
    for, bare.
    """

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: Options) -> None:
        self.f, self.args, self.kwargs, self.options = f, args, kwargs, options
        refuse_swallowed(f, kwargs)
        self.places, self.single = places_of(f, args, kwargs, options.argnums)
        if not options.allow_int:
            check_inputs(f, args, kwargs, self.places)
        self.forms = [mirror(as_float(kwargs[k] if isinstance(k, str) else args[k]), itself) for k in self.places]
        named = zip(self.forms, self.places, strict=True)
        self.paths = [pair for x, k in named for pair in leaves(x, k if isinstance(k, str) else f"argument {k + 1}")]
        self.xs = [spec_of(leaf) for _, leaf in self.paths]

    @property
    def same(self) -> list[int]:
        """For each leaf the number of the first one that is the same array: an array in two places has one tangent."""
        first: dict[int, int] = {}
        arrays = [leaf if isinstance(leaf, np.ndarray) else object() for _, leaf in self.paths]
        return [first.setdefault(id(leaf), k) for k, leaf in enumerate(arrays)]

    def checked(self, y: Any) -> list[Spec]:
        """The Specs of the leaves of the result `y`, of which there has to be a Jacobian."""
        found = leaves(y)
        if not found:
            raise NoGradientPathError(
                f"{callable_name(self.f)} returned {y!r} ({type(y).__name__}), in which nothing has a derivative. "
                "Return the floats (or arrays of them) that it was made from."
            )
        if self.options.holomorphic:
            for _, leaf in found:
                check_complex(self.paths, leaf)
        elif any(map(is_complex, self.xs)) and any(is_complex(leaf) for _, leaf in found):
            raise ArgumentError(
                f"{callable_name(self.f)} takes complex numbers to complex ones, so that its derivative is one number "
                "an entry only where it is holomorphic: then say holomorphic=True. Else take the Jacobians of np.real "
                "and np.imag of its result; wg.vjp and wg.jvp give products with any of them."
            )
        return [spec_of(leaf) for _, leaf in found]

    def nested(self, y: Any, blocks: list[list[Any]]) -> Any:
        """The blocks, a row of them for each leaf of the result, in the structure of the result, then the arguments."""
        rows = [self.filled(row) for row in blocks]
        return with_leaves(mirror(y, itself), [row[0] for row in rows] if self.single else rows)

    def filled(self, row: list[Any]) -> tuple[Any, ...]:
        """A row of what belongs to the leaves, one after the other, in the structure of the arguments."""
        return tuple([with_leaves(form, part) for form, part in zip(self.forms, self._parts(row), strict=True)])

    def _parts(self, row: list[Any]) -> list[list[Any]]:
        """A row of blocks by the arguments that they belong to."""
        rest = iter(row)
        return [[next(rest) for _ in leaves(form)] for form in self.forms]

    def matrices(self, ys: list[Spec], blocks: list[list[Any]]) -> Any:
        """The blocks as one matrix for each argument: a row for each number of the result, a column for each of its."""
        flat = [
            [np.reshape(block, (y.size, x.size)) for block, x in zip(row, self.xs, strict=True)]
            for y, row in zip(ys, blocks, strict=True)
        ]
        split = [self._parts(row) for row in flat]
        found = tuple([_joined([parts[k] for parts in split]) for k in range(len(self.forms))])
        return found[0] if self.single else found


def _joined(rows: list[list[Any]]) -> Any:
    """Blocks as one matrix; None where there are none."""
    if not rows[0]:
        return None
    return np.concatenate([np.concatenate(row, axis=1) if len(row) > 1 else row[0] for row in rows])


class Basis:
    """Directions in the space of some leaves, in rows: the unit vectors of each, and -i times those of some (`twice`).

    By a derivative D along these, 1 and -i, that with respect to a complex number is D(1) + i D(-i).
    """

    def __init__(self, specs: Sequence[Spec], twice: Sequence[bool]) -> None:
        self.specs, self.places, self.size = specs, [], 0
        for spec, again in zip(specs, twice, strict=True):
            starts = [self.size + k * spec.size for k in range(1 + again)]
            self.places.append([slice(start, start + spec.size) for start in starts])
            self.size += spec.size * (1 + again)
        self.size = max(self.size, 1)  # of nothing, a direction of zeros

    def vectors(self) -> list[Any]:
        """For each leaf its part of all directions, with an axis for these in front."""
        return [self._vectors(spec, places) for spec, places in zip(self.specs, self.places, strict=True)]

    def _vectors(self, spec: Spec, places: list[slice]) -> Any:
        found = np.zeros((self.size, spec.size), spec.dtype)
        for place, factor in zip(places, (1, -1j), strict=False):
            np.fill_diagonal(found[place], factor)
        return found.reshape((self.size, *spec.shape))

    def part(self, found: Any, k: int) -> Any:
        """Of derivatives along all directions those with respect to leaf k: with an axis for its numbers in front."""
        parts = [found[place] for place in self.places[k]]
        return parts[0] + 1j * parts[1] if len(parts) > 1 else parts[0]


def jacobian(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    as_matrix: bool = False,
) -> Any:
    """The function that returns the Jacobian ∂f/∂x, for a result of any shape; without `f`, a decorator.

    >>> wg.jacobian(lambda x: x[:2] * x[2])(np.array([1.0, 2.0, 3.0]))
    array([[3., 0., 1.],
           [0., 3., 2.]])

    `argnums`, `has_aux` and `allow_int` mean what they mean for `grad`: with `has_aux` the function returns
    `(Jacobian, aux)`. Where the result or an argument is a container, the Jacobian is a container, of the result's
    structure, of containers of the arguments', as in JAX:

    >>> wg.jacobian(lambda p: {"y": p["a"] * p["b"]})({"a": 2.0, "b": np.array([3.0, 4.0])})
    {'y': {'a': array([3., 4.]), 'b': array([[2., 0.],
           [0., 2.]])}}

    `as_matrix`: one matrix for each argument, with a row for each number of the result and a column for each of the
    argument, in the order in which `ravel` has them.

    >>> wg.jacobian(lambda x, y: x * y, argnums=(0, 1), as_matrix=True)(2.0, np.array([3.0, 4.0]))
    (array([[3.],
           [4.]]), array([[2., 0.],
           [0., 2.]]))

    `holomorphic`: f is holomorphic, from complex numbers to complex numbers. Without it one of both is real: ∂y/∂x of a
    complex y is complex, and the derivative with respect to a complex a + ib is ∂y/∂a - i ∂y/∂b, as in `grad`.

    Shapes: `y.shape + x.shape`, and the dtype of x, or the complex one of its precision where y is complex.
    Errors: NoGradientPathError where nothing in the result has a derivative; ArgumentError for complex numbers to
    complex numbers without `holomorphic`; else those of `grad`.
    """
    return jacrev(f, argnums, has_aux, holomorphic, allow_int, as_matrix)


def jacrev(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    as_matrix: bool = False,
) -> Any:
    """`jacobian` by reverse mode: a walk back for each number of the result of `f`.

    `argnums`, `has_aux`, `holomorphic`, `allow_int` and `as_matrix`, shapes and errors are those of `jacobian`.

    >>> wg.jacrev(lambda x: np.sum(x * x))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    return _without_value(_by_rows, f, Options(argnums, has_aux, holomorphic, allow_int, as_matrix))


def jacfwd(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    as_matrix: bool = False,
) -> Any:
    """`jacobian` by forward mode: all columns at once, while `f` runs, and no tape is kept.

    `argnums`, `has_aux`, `holomorphic`, `allow_int` and `as_matrix`, shapes and errors are those of `jacobian`. What f
    computes takes as many times its memory as the arguments have numbers.

    >>> wg.jacfwd(lambda t: np.array([t, t**2]))(3.0)
    array([1., 6.])
    """
    return _without_value(_by_columns, f, Options(argnums, has_aux, holomorphic, allow_int, as_matrix))


def value_and_jacobian(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    as_matrix: bool = False,
) -> Any:
    """The function that returns `(f(x), ∂f/∂x)`, as SciPy's solvers take it; without `f`, a decorator.

    `argnums`, `holomorphic`, `allow_int` and `as_matrix`, shapes and errors are those of `jacobian`. With `has_aux`, f
    returns `(y, aux)`, and the function returns `((y, aux), ∂y/∂x)`.

    >>> from scipy.optimize import root
    >>> root(wg.value_and_jacobian(lambda x: x**2 - np.array([1.0, 4.0])), np.array([2.0, 3.0]), jac=True).x.round(6)
    array([1., 2.])
    """
    return _made(_by_rows, f, Options(argnums, has_aux, holomorphic, allow_int, as_matrix))


def hessian(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    as_matrix: bool = False,
) -> Any:
    """The function that returns the Hessian ∂²f/∂x², by forward mode through the gradient; without `f`, a decorator.

    >>> wg.hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 5.0]))
    array([[10.,  6.],
           [ 6.,  0.]])

    `argnums`, `has_aux`, `holomorphic` and `allow_int` mean what they mean for `jacobian`. Of arguments in containers,
    and of several, it is a container of containers:

    >>> wg.hessian(lambda x, y: x * x * y, argnums=(0, 1))(3.0, 5.0)
    ((10.0, 6.0), (6.0, 0.0))

    `as_matrix`: one matrix, with a row and a column for each number of all arguments that `argnums` asks for.

    Shapes: `x.shape + x.shape`, with the shape of the result in front.
    Errors: those of `jacobian`; NonScalarOutputError for the matrix of a result that is not one number.
    """
    options = Options(argnums, has_aux, holomorphic, allow_int, as_matrix)
    if f is None:
        return lambda f: hessian(f, *options)
    second = jacfwd(_first(f, options) if as_matrix else jacrev(f, *options), *options)
    if not as_matrix or isinstance(argnums, (int, str)):
        return wraps(f)(second)

    @wraps(f)
    def joined(*args: Any, **kwargs: Any) -> Any:
        found = second(*args, **kwargs)
        parts, *aux = found if has_aux else (found,)
        whole = np.concatenate([part for part in parts if part is not None], axis=1)
        return (whole, *aux) if has_aux else whole

    return joined


def _first(f: Callable[..., Any], options: Options) -> Callable[..., Any]:
    """The first derivative of a function of one number, in matrices of one row."""
    by_value = value_and_jacobian(f, *options)

    @wraps(f)
    def rows(*args: Any, **kwargs: Any) -> Any:
        value, found = by_value(*args, **kwargs)
        y = value[0] if options.has_aux else value
        if math.prod(np.shape(y)) != 1:
            raise NonScalarOutputError(
                f"the Hessian as a matrix is that of one number, but {callable_name(f)} returned shape {np.shape(y)}. "
                "Leave out as_matrix=True, which gives one Hessian for each number."
            )
        return (found, value[1]) if options.has_aux else found

    return rows


def _made(mode: Callable[[Call], Any], f: Callable[..., Any] | None, options: Options) -> Any:
    """The function that returns a value and its Jacobian; without a function, a decorator."""
    check_argnums(options.argnums)
    if f is None:
        return lambda f: _made(mode, f, options)

    @wraps(f)
    def value_and_blocks(*args: Any, **kwargs: Any) -> Any:
        call = Call(f, args, kwargs, options)
        y, aux, ys, blocks = mode(call)
        found = call.matrices(ys, blocks) if options.as_matrix else call.nested(y, blocks)
        return ((y, aux) if options.has_aux else y), found

    return value_and_blocks


def _without_value(mode: Callable[[Call], Any], f: Callable[..., Any] | None, options: Options) -> Any:
    if f is None:
        return lambda f: _without_value(mode, f, options)
    both = _made(mode, f, options)

    @wraps(f)
    def blocks(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if options.has_aux else found

    return blocks


def _by_rows(call: Call) -> tuple[Any, Any, list[Spec], list[list[Any]]]:
    """The value of a call, what it returns besides, the Specs of the value's leaves, and the blocks by reverse mode."""
    options = call.options
    y, pullback, aux = pulled(call.f, call.args, call.kwargs, call.places, options.has_aux, options.allow_int)
    ys = call.checked(y)
    basis = Basis(ys, [is_complex(leaf) and not options.holomorphic for leaf in ys])
    rows = list(zip(_rows(pullback, y, basis), call.xs, strict=True))
    blocks = [[_block(basis.part(row, j), spec, x) for row, x in rows] for j, spec in enumerate(ys)]
    return y, aux, ys, blocks


def _rows(pullback: Callable[[Any], Any], y: Any, basis: Basis) -> list[Any]:
    """The cotangents of the arguments' leaves for all seeds of a basis: each with an axis for these in front."""
    seeds = basis.vectors()
    form = mirror(y, itself)
    bars = [pullback(with_leaves(form, [seed[k] for seed in seeds])) for k in range(basis.size)]
    rows = [[leaf for part in row for _, leaf in leaves(part)] for row in bars]
    return [np.stack(column) for column in zip(*rows, strict=True)]


def _by_columns(call: Call) -> tuple[Any, Any, list[Spec], list[list[Any]]]:
    """What `_by_rows` gives, by forward mode: all directions at once, while the function runs."""
    return along(call, call.xs, lambda vectors, _: vectors)


def along(
    call: Call, xs: list[Spec], spread: Callable[[Any, Spec], Any]
) -> tuple[Any, Any, list[Spec], list[list[Any]]]:
    """What `_by_rows` gives, of leaves `xs` that stand for those of the arguments, by forward mode.

    `spread(vectors, x)` makes, of directions in the space of one of them, those of the argument's leaf x.
    """
    options, same = call.options, call.same
    alone = [x if k == same[k] else Spec((0,), x.dtype) for k, x in enumerate(xs)]
    basis = Basis(alone, [is_complex(x) and not options.holomorphic for x in xs])
    vectors = basis.vectors()
    tangents = call.filled([spread(vectors[first], x) for first, x in zip(same, call.xs, strict=True)])
    y, y_dot, aux = pushed(
        call.f, call.args, call.kwargs, call.places, tangents, options.has_aux, basis.size, options.allow_int
    )
    ys = call.checked(y)
    blocks = [
        [_block(_column(basis.part(dot, first), y, x), y, x) for first, x in zip(same, xs, strict=True)]
        for (_, dot), y in zip(leaves(y_dot), ys, strict=True)
    ]
    return y, aux, ys, blocks


def _column(found: Any, y: Spec, x: Spec) -> Any:
    """The derivatives with respect to all numbers of x, with an axis for these at the end, in its precision."""
    dtype = np.result_type(x.dtype, np.complex64) if is_complex(y) else x.dtype
    turned = np.moveaxis(found, 0, -1)
    return turned if turned.dtype == dtype else turned.astype(dtype)


def _block(found: Any, y: Spec, x: Spec) -> Any:
    """A block in its shape; a number of the argument's kind where both have none."""
    block = found.reshape(y.shape + x.shape)
    if block.ndim or issubclass(x.pytype, np.ndarray):
        return block
    number = block[()]
    kind: Any = complex if is_complex(number) else x.pytype
    return number if issubclass(x.pytype, np.generic) else kind(number)
