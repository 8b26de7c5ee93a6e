"""`wg.dask`: gradients of sums over chunks of data, each computed on the worker that has its chunk."""

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
"""The number of gradients that one task adds; a worker holds so many at a time, and their sum."""


def value_and_grad(
    loss: Callable[Concatenate[X, ...], R], *, compiled: bool = False, retries: int = 0
) -> Callable[Concatenate[X, ...], tuple[R, X]]:
    """Return the function that computes `(Σ loss(params, chunk), ∂/∂params)`, summed over chunks of data, with Dask.

    In `value_and_grad(loss)(params, chunks)`, the chunks are a dask array cut along its first axis only, a dask bag,
    whose partitions are lists, or a list of delayed values, futures, or plain chunks. For a loss of several arguments
    pass several of these with equal numbers of chunks: `value_and_grad(loss)(params, x, y)`. One task for each chunk
    computes its value and gradient; a tree of tasks adds them, always in the same order, and only the sum comes back.
    The tasks run on Dask's current scheduler: on a cluster while a `distributed.Client` is open, else on threads.

    >>> import dask.array as da
    >>> x = da.arange(6.0, chunks=2)
    >>> wg.dask.value_and_grad(lambda a, x: np.sum((a * x - 1) ** 2))(0.5, x)
    (np.float64(4.75), 25.0)

    `compiled`: trace and compile the gradient once in each process, as `wg.compile` does, instead of tracing it for
    each chunk. `retries`: how often a cluster runs a failed task again.

    Shapes: the gradient has the structure, shapes and dtypes of `params`.
    Errors: ImportError without Dask; ArgumentError for chunks that do not fit together; those of `wg.value_and_grad`.
    """
    gradient = compile(plain.value_and_grad(loss)) if compiled else plain.value_and_grad(loss)

    @transforms(value_and_grad, loss, compiled=compiled, retries=retries)
    def value_and_gradient(params: Any, /, *chunks: Any, **named: Any) -> Any:
        if named:
            raise ArgumentError(
                f"pass chunks by position, not by name: {', '.join(named)}. Bind an argument that all chunks share to "
                "the loss: functools.partial(loss, name=...)."
            )
        if is_traced(params) or is_traced(chunks):
            raise ArgumentError(
                f"wg.dask.value_and_grad({callable_name(loss)}) cannot be differentiated or traced. Call it outside of "
                "other derivatives."
            )
        dask = _dask()
        sent = Packed(gradient) if _uses_processes(dask) else gradient
        shared = [dask.delayed(value, traverse=False) for value in (sent, params)]
        task = dask.delayed(gradient_of_chunk, pure=False)
        parts = [task(*shared, k, *part) for k, part in enumerate(_chunk_arguments(chunks))]
        return dask.compute(_sum_as_tree(parts, dask.delayed(add_gradients, pure=False)), retries=retries)[0]

    return value_and_gradient


class Packed:
    """A function as bytes for other processes, each of which unpacks it once."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.__name__ = callable_name(f)
        try:
            self.code = pack(f)
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            raise ArgumentError(
                f"{self.__name__} reads an object that cannot be pickled for other processes: {error}. Create that "
                "object inside the function."
            ) from error

    def __repr__(self) -> str:
        return f"<wg.dask.packed {self.__name__}>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return unpacked(self.code)(*args, **kwargs)


def packed(f: Callable[..., Any]) -> Packed:
    """Pack a function `f`, such as `wg.grad(loss)` or `wg.compile(wg.grad(loss))`, for other processes.

    Call the result like f; any pickle takes it: `client.map(packed(f), xs)` of Dask, a pool of processes, joblib. It
    carries everything that f reads now and that cannot be imported there, as cloudpickle does, and the rules that were
    declared here. A process that receives it twice has one function, and compiles it once.

    >>> import pickle
    >>> f = wg.dask.packed(wg.grad(lambda x: x**2))
    >>> pickle.loads(pickle.dumps(f))(3.0)
    6.0

    Errors: ImportError without Dask; ArgumentError if f reads an object that cannot be pickled.
    """
    _dask()
    return Packed(f)


def _uses_processes(dask: Any) -> bool:
    """Whether Dask's current scheduler runs tasks in other processes."""
    return dask.base.get_scheduler() not in (None, dask.threaded.get, dask.local.get_sync)


def gradient_of_chunk(gradient: Callable[..., Any], params: Any, k: int, *part: Any) -> Any:
    """Compute the value and gradient of the loss on chunk k: the body of a Dask task."""
    chunks = [list(p) if isinstance(p, Iterator) else p for p in part]
    try:
        return gradient(*[rebuild(value, _unwritable, _unwritable) for value in (params, *chunks)])
    except Exception as error:
        error.add_note(f"The loss failed at chunk {k}, counted from 0.")
        raise


def _unwritable(value: Any, _: Any = None) -> Any:
    """Return a read-only view of an array: other tasks read the same parameters and chunks."""
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


def _chunk_arguments(data: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the arguments of each call of the loss, besides the parameters. Errors: ArgumentError."""
    listed = [_chunk_list(chunks) for chunks in data]
    if not listed or not listed[0]:
        raise ArgumentError("there are no chunks to sum over: pass a dask array, a dask bag or a list of chunks.")
    rows = {chunks.chunks[0] for chunks in data if _is_array(chunks)}
    if len({*map(len, listed)}) > 1 or (len(rows) > 1 and not any(map(np.isnan, itertools.chain(*rows)))):
        cuts = zip(data, listed, strict=True)
        sizes = " and ".join([f"rows {c.chunks[0]}" if _is_array(c) else f"{len(parts)} chunks" for c, parts in cuts])
        raise ArgumentError(f"the chunks do not fit together: {sizes}. Cut all alike: y.rechunk({{0: x.chunks[0]}}).")
    return [*zip(*listed, strict=True)]


def _chunk_list(chunks: Any) -> list[Any]:
    """Return the chunks as a list, plain or delayed. Errors: ArgumentError if they are not chunks of whole rows."""
    if isinstance(chunks, list | tuple):
        return [*chunks]
    if not _is_lazy(chunks):
        raise ArgumentError(
            f"chunks must be a dask array, a dask bag or a list, not {type(chunks).__name__}. For an array in memory "
            "pass dask.array.from_array(x, chunks=1000); for a single chunk, [chunk]."
        )
    if _is_array(chunks) and not chunks.ndim:
        raise ArgumentError("a dask array without axes has no rows to cut into chunks. Pass a single chunk as [chunk].")
    if _is_array(chunks) and any([count > 1 for count in chunks.numblocks[1:]]):
        raise ArgumentError(
            f"the array is cut along other axes than the first, into {chunks.numblocks} chunks, but the loss needs "
            f"whole rows: x.rechunk({dict.fromkeys(range(1, chunks.ndim), -1)})."
        )
    parts = chunks.to_delayed()
    return [*(parts.flat if _is_array(chunks) else parts)]


def _is_lazy(chunks: Any) -> bool:
    """Whether it is a Dask collection made of chunks: an array, a bag, a data frame."""
    return _dask().is_dask_collection(chunks) and hasattr(type(chunks), "to_delayed")


def _is_array(chunks: Any) -> bool:
    return hasattr(type(chunks), "numblocks")


def _sum_as_tree(parts: list[Any], add: Callable[..., Any]) -> Any:
    """Return the sum of delayed parts, added in an order that depends only on their number."""
    while len(parts) > 1:
        parts = [add(parts[k : k + FAN_IN]) for k in range(0, len(parts), FAN_IN)]
    return parts[0]


def add_gradients(structures: list[Any]) -> Any:
    """Add structures that are alike, number by number."""
    summands = zip(*[[leaf for _, leaf in leaves(structure)] for structure in structures], strict=True)
    return walk(structures[0], "", {}, at_leaf=lambda *_: _add_in_place(next(summands)), hold=shallow_copy)


def _add_in_place(parts: tuple[Any, ...]) -> Any:
    """Add numbers or arrays in place, so that arrays without axes stay arrays."""
    first, *others = parts
    return reduce(operator.iadd, others, first.copy() if isinstance(first, np.ndarray) else first)
