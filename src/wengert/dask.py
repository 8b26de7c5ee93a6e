"""`wg.dask`: gradients of sums over chunks of data, each computed where its chunk is."""

from __future__ import annotations

import itertools
import operator
import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any, Concatenate, TypeVar

import numpy as np

from wengert.api import gradient as plain
from wengert.compiling.compile import compile
from wengert.errors import ArgumentError
from wengert.hooks.solver_callbacks import is_traced
from wengert.rulebook.pickling import pack, unpacked
from wengert.values.callables import callable_name
from wengert.values.transformed import transforms
from wengert.values.trees import leaves, rebuild, shallow_copy, walk

__all__ = ["packed", "value_and_grad"]

X = TypeVar("X")
R = TypeVar("R")

FAN_IN = 8
"""The number of gradients added by one task; a worker holds so many at one time, and their sum."""


def value_and_grad(
    loss: Callable[Concatenate[X, ...], R], *, compiled: bool = False, retries: int = 0
) -> Callable[Concatenate[X, ...], tuple[R, X]]:
    """The function that returns `(Σ loss(params, chunk), ∂/∂params)`, summed over chunks of data, with Dask.

    `value_and_grad(loss)(params, chunks)` takes for its chunks a dask array, which is cut along its first axis alone,
    a dask bag, whose partitions are lists, or a list of delayed values, futures, or chunks as they are. With several
    of these, of as many chunks each, loss has as many arguments: `value_and_grad(loss)(params, x, y)`. One task a chunk
    computes its value and gradient; a tree of tasks adds them, always in the same order, and the sum alone comes back.
    All runs on the scheduler that is in force: on a cluster while a `distributed.Client` is open, else on threads.

    >>> import dask.array as da
    >>> x = da.arange(6.0, chunks=2)
    >>> wg.dask.value_and_grad(lambda a, x: np.sum((a * x - 1) ** 2))(0.5, x)
    (np.float64(4.75), 25.0)

    `compiled`: the gradient is traced and compiled once in each process, as by `wg.compile`, in place of being traced
    for each chunk. `retries`: how often a cluster runs a task again that has failed.

    Shapes: the gradient has the structure, shapes and dtypes of `params`.
    Errors: ImportError without Dask; ArgumentError for chunks that do not fit together; those of `wg.value_and_grad`.
    """
    gradient = compile(plain.value_and_grad(loss)) if compiled else plain.value_and_grad(loss)

    @transforms(value_and_grad, loss, compiled=compiled, retries=retries)
    def value_and_gradient(params: Any, /, *chunks: Any, **named: Any) -> Any:
        if named:
            raise ArgumentError(
                f"chunks are given by position, not by name: {', '.join(named)}. What is the same for all chunks goes "
                "with the loss: functools.partial(loss, name=...)."
            )
        if is_traced(params) or is_traced(chunks):
            raise ArgumentError(f"no derivative goes through wg.dask.value_and_grad({callable_name(loss)}): it is one.")
        dask = _dask()
        going = Packed(gradient) if _is_far(dask) else gradient
        shared = [dask.delayed(value, traverse=False) for value in (going, params)]
        task = dask.delayed(gradient_of_chunk, pure=False)
        parts = [task(*shared, k, *part) for k, part in enumerate(_parts(chunks))]
        return dask.compute(_tree(parts, dask.delayed(add_gradients, pure=False)), retries=retries)[0]

    return value_and_gradient


class Packed:
    """A function as bytes, for other processes: each makes it of them once."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.__name__ = callable_name(f)
        try:
            self.code = pack(f)
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            raise ArgumentError(
                f"{self.__name__} cannot go to other processes with all that it reads: {error}. Make there, inside of "
                "the function, what cannot."
            ) from error

    def __repr__(self) -> str:
        return f"<wg.dask.packed {self.__name__}>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return unpacked(self.code)(*args, **kwargs)


def packed(f: Callable[..., Any]) -> Packed:
    """The function `f`, such as `wg.grad(loss)` or `wg.compile(wg.grad(loss))`, as it goes to other processes.

    It is called as f is, and any pickle takes it: `client.map(packed(f), xs)` of Dask, a pool of processes, joblib.
    With it goes what cannot be imported there, as cloudpickle has it, as f reads it now, and so do the rules that were
    declared here. Where it arrives twice, it is one function, which is compiled once.

    >>> import pickle
    >>> f = wg.dask.packed(wg.grad(lambda x: x**2))
    >>> pickle.loads(pickle.dumps(f))(3.0)
    6.0

    Errors: ImportError without Dask; ArgumentError where f reads what cannot be pickled.
    """
    _dask()
    return Packed(f)


def _is_far(dask: Any) -> bool:
    """Whether the scheduler in force has other processes run what it is given."""
    return dask.base.get_scheduler() not in (None, dask.threaded.get, dask.local.get_sync)


def gradient_of_chunk(gradient: Callable[..., Any], params: Any, k: int, *part: Any) -> Any:
    """Compute the value and gradient of the loss on chunk k: the body of a Dask task."""
    given = [list(p) if isinstance(p, Iterator) else p for p in part]
    try:
        return gradient(*[rebuild(value, _unwritable, _unwritable) for value in (params, *given)])
    except Exception as error:
        error.add_note(f"The loss was at chunk {k}, counted from 0.")
        raise


def _unwritable(value: Any, _: Any = None) -> Any:
    """A view of an array that the loss cannot write through: other tasks read the same parameters and chunks."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value


def _dask() -> Any:
    try:
        import dask.local
        import dask.threaded
    except ImportError as error:
        raise ImportError("wg.dask needs Dask: pip install 'wengert[dask]'") from error
    return dask


def _parts(given: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The arguments of each call of the loss, besides the parameters."""
    listed = [_listed(chunks) for chunks in given]
    if not listed or not listed[0]:
        raise ArgumentError("there are no chunks, and nothing to sum over.")
    rows = {chunks.chunks[0] for chunks in given if _is_array(chunks)}
    if len({*map(len, listed)}) > 1 or (len(rows) > 1 and not any(map(np.isnan, itertools.chain(*rows)))):
        cuts = zip(given, listed, strict=True)
        said = " and ".join([f"rows {c.chunks[0]}" if _is_array(c) else f"{len(parts)} chunks" for c, parts in cuts])
        raise ArgumentError(f"the chunks do not belong together: {said}. Cut all alike: y.rechunk({{0: x.chunks[0]}}).")
    return [*zip(*listed, strict=True)]


def _listed(chunks: Any) -> list[Any]:
    """Chunks one by one, as they are or delayed."""
    if isinstance(chunks, list | tuple):
        return [*chunks]
    if not _is_lazy(chunks):
        raise ArgumentError(
            f"chunks are a dask array, a dask bag or a list, not {type(chunks).__name__}. For an array that is here "
            "take dask.array.from_array(x, chunks=1000); what is one chunk is [chunk]."
        )
    if _is_array(chunks) and not chunks.ndim:
        raise ArgumentError("a dask array without axes has no rows to cut into chunks. What is one chunk is [chunk].")
    if _is_array(chunks) and any([count > 1 for count in chunks.numblocks[1:]]):
        raise ArgumentError(
            f"the array is cut along other axes than the first, into {chunks.numblocks} chunks: a loss of rows needs "
            f"whole rows. x.rechunk({dict.fromkeys(range(1, chunks.ndim), -1)}) gives them."
        )
    parts = chunks.to_delayed()
    return [*(parts.flat if _is_array(chunks) else parts)]


def _is_lazy(chunks: Any) -> bool:
    """Whether it is a collection of Dask's that is made of chunks: an array, a bag, a data frame."""
    return _dask().is_dask_collection(chunks) and hasattr(type(chunks), "to_delayed")


def _is_array(chunks: Any) -> bool:
    return hasattr(type(chunks), "numblocks")


def _tree(parts: list[Any], add: Callable[..., Any]) -> Any:
    """The sum of delayed parts, in steps that depend on their number alone."""
    while len(parts) > 1:
        parts = [add(parts[k : k + FAN_IN]) for k in range(0, len(parts), FAN_IN)]
    return parts[0]


def add_gradients(structures: list[Any]) -> Any:
    """The sum of structures that are alike, number by number."""
    held = zip(*[[leaf for _, leaf in leaves(structure)] for structure in structures], strict=True)
    return walk(structures[0], "", {}, at_leaf=lambda *_: _sum(next(held)), hold=shallow_copy)


def _sum(parts: tuple[Any, ...]) -> Any:
    """A sum in place: one of arrays without axes stays an array."""
    first, *others = parts
    return reduce(operator.iadd, others, first.copy() if isinstance(first, np.ndarray) else first)
