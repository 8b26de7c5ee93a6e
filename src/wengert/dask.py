"""`wg.dask`: gradients of sums over chunks of data, each computed where its chunk is."""

from __future__ import annotations

import itertools
import operator
import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import reduce, wraps
from typing import Any

import numpy as np

from wengert import gradient as plain
from wengert.compiling.compile import compile
from wengert.errors import ArgumentError
from wengert.hooks.unseen import is_traced
from wengert.travelling import pack, unpacked
from wengert.values.callables import callable_name
from wengert.values.trees import leaves, rebuild, shallow_copy, walk

__all__ = ["value_and_grad"]

FAN_IN = 8
"""How many gradients are added at once: at one time a worker holds so many, and their sum."""


def value_and_grad(loss: Callable[..., Any], *, compiled: bool = False, retries: int = 0) -> Callable[..., Any]:
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
    work = Work(loss, compiled)

    @wraps(loss)
    def value_and_gradient(params: Any, *chunks: Any) -> Any:
        if is_traced(params) or is_traced(chunks):
            raise ArgumentError(f"no derivative goes through wg.dask.value_and_grad({callable_name(loss)}): it is one.")
        dask = _dask()
        going = work.packed() if _is_far(dask.base.get_scheduler()) else work
        shared = [dask.delayed(value, traverse=False) for value in (going, params)]
        task = dask.delayed(_call, pure=False)
        parts = [task(*shared, *part) for part in _parts(chunks)]
        return dask.compute(_tree(parts, dask.delayed(added, pure=False)), retries=retries)[0]

    return value_and_gradient


class Work:
    """What the workers do: the value of the loss and its gradient. Where it arrives twice, it is one object."""

    def __init__(self, loss: Callable[..., Any], compiled: bool) -> None:
        self.made_of = loss, compiled
        gradient = plain.value_and_grad(loss)
        self.gradient = compile(gradient) if compiled else gradient

    def packed(self) -> Packed:
        """It as it goes to other processes. Errors: ArgumentError where something in it cannot."""
        try:
            return Packed(pack(Work, *self.made_of))
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            loss = callable_name(self.made_of[0])
            raise ArgumentError(f"{loss} cannot go to other processes with all that it reads: {error}") from error

    def __reduce__(self) -> Any:
        return unpacked, (self.packed().code,)


class Packed:
    """Work that has been packed, to be unpacked in each process that it comes to."""

    def __init__(self, code: bytes) -> None:
        self.code = code

    def gradient(self, params: Any, *part: Any) -> Any:
        return unpacked(self.code).gradient(params, *part)


def _is_far(scheduler: Any) -> bool:
    """Whether a scheduler is that of a cluster."""
    return getattr(scheduler, "__self__", None) is not None


def _call(work: Work | Packed, params: Any, *part: Any) -> Any:
    given = [list(p) if isinstance(p, Iterator) else p for p in part]
    return work.gradient(*[rebuild(value, _unwritable, _unwritable) for value in (params, *given)])


def _unwritable(value: Any, _: Any = None) -> Any:
    """A view of an array that the loss cannot write through: other tasks read the same parameters and chunks."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value


def _dask() -> Any:
    try:
        import dask
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


def added(structures: list[Any]) -> Any:
    """The sum of structures that are alike, number by number."""
    held = zip(*[[leaf for _, leaf in leaves(structure)] for structure in structures], strict=True)
    return walk(structures[0], "", {}, at_leaf=lambda *_: _sum(next(held)), hold=shallow_copy)


def _sum(parts: tuple[Any, ...]) -> Any:
    """A sum in place: one of arrays without axes stays an array."""
    first, *others = parts
    return reduce(operator.iadd, others, first.copy() if isinstance(first, np.ndarray) else first)
