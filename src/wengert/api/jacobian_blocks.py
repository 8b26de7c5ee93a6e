"""Blocks of Jacobians, by reverse or forward mode.

A block is ∂yⱼ/∂xₖ of one leaf of a result and one of the arguments, of shape `yⱼ.shape + xₖ.shape`. Reverse mode
computes them by rows, forward mode by columns; the rest is common to both.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.api.gradient import vjp_of_call
from wengert.api.tangents import jvp_of_call, vjp_and_jvp_of_call
from wengert.errors import ArgumentError, NoBatchingRuleWarning, NoGradientPathError
from wengert.recording.container_arguments import with_held_leaves
from wengert.recording.session import active_recording
from wengert.values.argnums import (
    Argnums,
    argument_at,
    check_complex,
    check_inputs,
    place_name,
    places_of,
    refuse_swallowed,
)
from wengert.values.callables import callable_name
from wengert.values.specs import Spec, as_float, is_complex, spec_of
from wengert.values.trees import held_by_library, is_container, itself, leaves, mirror

ENTERED = "It computes with derivatives, also with those that an outer derivative traces."

COLUMNS_PER_ROW = 3  # columns that take the time of one row: all columns are pushed in one pass
ROWS_FOR_VMAP = 100  # from so many rows on, one traced walk back for all is faster than one for each


class Options(NamedTuple):
    """The parameters of `jacobian`, in its order."""

    argnums: Argnums = 0
    has_aux: bool = False
    holomorphic: bool = False
    allow_int: bool = False
    as_matrix: bool = False


class JacobianCall:
    """A call of a function, with the arguments to differentiate it by.

    `forms` are these arguments, with None for parts without derivative, `xs` the Specs of their leaves. `single`:
    `argnums` named one argument, not a tuple.
    """

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: Options) -> None:
        self.f, self.args, self.kwargs, self.options = f, args, kwargs, options
        refuse_swallowed(f, kwargs)
        self.places, self.single = places_of(f, args, kwargs, options.argnums)
        if not options.allow_int:
            check_inputs(f, args, kwargs, self.places)
        self.forms = [mirror(as_float(argument_at(args, kwargs, place)), itself) for place in self.places]
        named = zip(self.forms, self.places, strict=True)
        self.paths = [pair for x, place in named for pair in leaves(x, place_name(place))]
        self.xs = [spec_of(leaf) for _, leaf in self.paths]

    @property
    def request(self) -> tuple[Any, ...]:
        """The positional arguments of `vjp_of_call` for this call."""
        return self.f, self.args, self.kwargs, self.places, self.options.has_aux, self.options.allow_int

    def push(self, tangents: Any, size: int) -> tuple[Any, Any, Any]:
        """Return the value, its tangents in `size` directions at once, and aux or None."""
        f, args, kwargs, places, has_aux, quiet = self.request
        return jvp_of_call(f, args, kwargs, places, tangents, has_aux, size, quiet)

    @property
    def first_uses(self) -> list[int]:
        """For each leaf, the index of the first leaf that is the same array: an array passed twice has one tangent."""
        first: dict[int, int] = {}
        arrays = [leaf if isinstance(leaf, np.ndarray) else object() for _, leaf in self.paths]
        return [first.setdefault(id(leaf), k) for k, leaf in enumerate(arrays)]

    def check_result(self, y: Any) -> list[Spec]:
        """Return the Specs of the leaves of the result `y`. Errors: see `jacobian`."""
        found = leaves(y)
        if not found:
            raise NoGradientPathError(
                f"{callable_name(self.f)} returned {y!r} ({type(y).__name__}), in which nothing has a derivative. "
                "Return the floats (or arrays of floats) from which it was computed."
            )
        if self.options.holomorphic:
            for _, leaf in found:
                check_complex(self.paths, leaf)
        elif any(map(is_complex, self.xs)) and any(is_complex(leaf) for _, leaf in found):
            raise ArgumentError(
                f"{callable_name(self.f)} maps complex numbers to complex numbers. If it is holomorphic, pass "
                "holomorphic=True. If not, take the Jacobians of np.real and np.imag of its result, or products by "
                "wg.vjp and wg.jvp."
            )
        ys = [spec_of(leaf) for _, leaf in found]
        if not self.options.as_matrix:
            self._refuse_labels(y, ys)
        return ys

    def _refuse_labels(self, y: Any, ys: list[Spec]) -> None:
        """Refuse to put blocks into labelled objects of a library, which have fewer axes than the blocks."""
        if all([type(part) is np.ndarray for part in (y, *self.forms)]):
            return
        one_number = self.single and not is_container(self.forms[0]) and not any([x.shape for x in self.xs])
        too_narrow = [self.forms if any([spec.shape for spec in ys]) else None, None if one_number else y]
        if held := held_by_library(too_narrow):
            raise ArgumentError(
                f"the Jacobian of {callable_name(self.f)} has an entry for each pair of a number of the result and one "
                f"of the arguments, more than a {held} can hold. Pass as_matrix=True for a plain matrix, or take and "
                "return plain arrays."
            )

    def nested(self, y: Any, blocks: list[list[Any]]) -> Any:
        """Arrange rows of blocks, one for each leaf of the result, in the structures of result and arguments."""
        rows = [self.filled(row) for row in blocks]
        return with_held_leaves(mirror(y, itself), [row[0] for row in rows] if self.single else rows)

    def filled(self, row: list[Any]) -> tuple[Any, ...]:
        """Arrange a row of values, one for each leaf of the arguments, in their structure."""
        return tuple(
            [with_held_leaves(form, part) for form, part in zip(self.forms, self._by_argument(row), strict=True)]
        )

    def _by_argument(self, row: list[Any]) -> list[list[Any]]:
        """Split a row of blocks by the arguments that they belong to."""
        rest = iter(row)
        return [[next(rest) for _ in leaves(form)] for form in self.forms]

    def matrices(self, ys: list[Spec], blocks: list[list[Any]]) -> Any:
        """Return a matrix for each argument, with a row for each number of the result, a column for each of its own."""
        flat = [
            [np.reshape(block, (y.size, x.size)) for block, x in zip(row, self.xs, strict=True)]
            for y, row in zip(ys, blocks, strict=True)
        ]
        split = [self._by_argument(row) for row in flat]
        matrices = tuple([_concatenated([parts[k] for parts in split]) for k in range(len(self.forms))])
        return matrices[0] if self.single else matrices


class JacobianBlocks(NamedTuple):
    """The value of a call, its aux or None, the Specs of the value's leaves, and a row of blocks for each leaf."""

    y: Any
    aux: Any
    ys: list[Spec]
    blocks: list[list[Any]]


def _concatenated(rows: list[list[Any]]) -> Any:
    """Concatenate rows of blocks to one matrix; None if there are none."""
    if not rows[0]:
        return None
    return np.concatenate([np.concatenate(row, axis=1) if len(row) > 1 else row[0] for row in rows])


class Basis:
    """A basis of the space of some leaves, in rows: the unit vectors of each, and -i times those of some (`twice`).

    With the derivatives D along 1 and -i, the derivative with respect to a complex number is D(1) + i D(-i).
    """

    def __init__(self, specs: Sequence[Spec], twice: Sequence[bool]) -> None:
        self.specs, self.places, self.size = specs, [], 0
        for spec, again in zip(specs, twice, strict=True):
            starts = [self.size + k * spec.size for k in range(1 + again)]
            self.places.append([slice(start, start + spec.size) for start in starts])
            self.size += spec.size * (1 + again)
        self.size = max(self.size, 1)  # without leaves, one direction of zeros

    def vectors(self) -> list[Any]:
        """Return each leaf's part of all directions, with an axis for the directions in front."""
        return [self._vectors(spec, places) for spec, places in zip(self.specs, self.places, strict=True)]

    def _vectors(self, spec: Spec, places: list[slice]) -> Any:
        directions = np.zeros((self.size, spec.size), spec.dtype)
        for place, factor in zip(places, (1, -1j), strict=False):
            np.fill_diagonal(directions[place], factor)
        return directions.reshape((self.size, *spec.shape))

    def part(self, found: Any, k: int) -> Any:
        """Select the derivatives with respect to leaf k, with an axis for its numbers in front."""
        parts = [found[place] for place in self.places[k]]
        return parts[0] + 1j * parts[1] if len(parts) > 1 else parts[0]


def by_cheaper_mode(call: JacobianCall, at_once: bool = False) -> JacobianBlocks:
    """Compute the blocks by the mode that takes less time, judged by the sizes; the function runs once.

    `at_once`: compute all rows in one walk back.
    """
    if _count_columns(call) == 1:
        return by_columns(call)
    return by_cheaper_pass(call, *vjp_and_jvp_of_call(*call.request), at_once)


def _count_columns(call: JacobianCall) -> int:
    """Return the number of directions in which the arguments move; a complex number has two."""
    return sum([x.size * (1 + is_complex(x)) for x in call.xs])


def by_cheaper_pass(
    call: JacobianCall, y: Any, push: Any, pullback: Any, aux: Any, at_once: bool = False
) -> JacobianBlocks:
    """Compute the blocks of a call that has run by the pass that takes less time."""
    if COLUMNS_PER_ROW * sum([np.size(leaf) for _, leaf in leaves(y)]) < _count_columns(call):
        return blocks_of_rows(call, y, pullback, aux, at_once)
    return by_pushforward(call, y, push, aux)


def by_pushforward(call: JacobianCall, y: Any, push: Callable[[Any, int], Any], aux: Any) -> JacobianBlocks:
    """Compute the blocks by the pushforward of a call that has run."""
    return by_directions(
        call, call.xs, lambda vectors, _: vectors, lambda tangents, size: (y, push(tangents, size), aux)
    )


def by_rows(call: JacobianCall, at_once: bool = False) -> JacobianBlocks:
    """Compute the blocks by reverse mode."""
    return blocks_of_rows(call, *vjp_of_call(*call.request), at_once)


def blocks_of_rows(
    call: JacobianCall, y: Any, pullback: Callable[[Any], Any], aux: Any, at_once: bool = False
) -> JacobianBlocks:
    """Compute the blocks by the pullback of a call."""
    ys = call.check_result(y)
    basis = Basis(ys, [is_complex(leaf) and not call.options.holomorphic for leaf in ys])
    rows = list(zip(_cotangents_of_basis(pullback, y, basis, at_once), call.xs, strict=True))
    blocks = [[_in_block_shape(basis.part(row, j), spec, x) for row, x in rows] for j, spec in enumerate(ys)]
    return JacobianBlocks(y, aux, ys, blocks)


def _cotangents_of_basis(pullback: Callable[[Any], Any], y: Any, basis: Basis, at_once: bool) -> list[Any]:
    """Return the cotangents of the arguments' leaves for all seeds of a basis, each with an axis for these in front."""
    seeds = basis.vectors()
    form = mirror(y, itself)
    if at_once or (basis.size >= ROWS_FOR_VMAP and active_recording() is None):
        from wengert.api.batches import vmap  # few Jacobians need it, and with the tapes it takes 10 ms

        with warnings.catch_warnings(action="ignore", category=NoBatchingRuleWarning):  # the user did not ask for vmap
            cotangents = vmap(pullback)(with_held_leaves(form, seeds))
        return [leaf for part in cotangents for _, leaf in leaves(part)]
    arrays = [(seed, issubclass(y.pytype, np.ndarray)) for seed, y in zip(seeds, basis.specs, strict=True)]
    found = [
        pullback(with_held_leaves(form, [x[k, ...] if array else x[k] for x, array in arrays]))
        for k in range(basis.size)
    ]
    rows = [[leaf for part in row for _, leaf in leaves(part)] for row in found]
    return [np.stack([np.asarray(row) for row in column]) for column in zip(*rows, strict=True)]


def by_columns(call: JacobianCall) -> JacobianBlocks:
    """Compute the blocks by forward mode: all directions at once, while the function runs."""
    return by_directions(call, call.xs, lambda vectors, _: vectors)


def by_directions(
    call: JacobianCall,
    xs: list[Spec],
    spread: Callable[[Any, Spec], Any],
    push: Callable[[Any, int], tuple[Any, Any, Any]] | None = None,
) -> JacobianBlocks:
    """Compute the blocks by forward mode along directions of `xs`, one for each leaf of the arguments.

    `spread(vectors, x)` maps directions in the space of one of `xs` to directions of the argument's leaf x.
    `push(tangents, size)` returns the value, its tangents, and aux; by default it runs the function.
    """
    options, same = call.options, call.first_uses
    alone = [x if k == same[k] else Spec((0,), x.dtype) for k, x in enumerate(xs)]
    basis = Basis(alone, [is_complex(x) and not options.holomorphic for x in xs])
    vectors = basis.vectors()
    tangents = call.filled([spread(vectors[first], x) for first, x in zip(same, call.xs, strict=True)])
    y, y_dot, aux = (push or call.push)(tangents, basis.size)
    ys = call.check_result(y)
    blocks = [
        [
            _in_block_shape(_with_last_axis(basis.part(tangent, first), y, x), y, x)
            for first, x in zip(same, xs, strict=True)
        ]
        for (_, tangent), y in zip(leaves(y_dot), ys, strict=True)
    ]
    return JacobianBlocks(y, aux, ys, blocks)


def _with_last_axis(found: Any, y: Spec, x: Spec) -> Any:
    """Move the axis of the numbers of x to the end, and cast the derivatives to the precision of x."""
    dtype = np.result_type(x.dtype, np.complex64) if is_complex(y) else x.dtype
    moved = found.transpose(*range(1, found.ndim), 0)
    return moved if moved.dtype == dtype else moved.astype(dtype)


def _in_block_shape(found: Any, y: Spec, x: Spec) -> Any:
    """Reshape a block; return a number of the argument's type if neither y nor x has axes."""
    block = found.reshape(y.shape + x.shape)
    if block.ndim or issubclass(x.pytype, np.ndarray):
        return block
    number = block[()]
    kind: Any = complex if is_complex(number) else x.pytype
    return number if issubclass(x.pytype, np.generic) else kind(number)
