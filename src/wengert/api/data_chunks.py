"""Chunks of data for `wg.dask`: list them, and check that those of several arguments fit together."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from math import isnan
from typing import Any, NamedTuple

from wengert.errors import ArgumentError

__all__ = ["chunk_arguments", "load_dask", "whole_argument"]


class Chunks(NamedTuple):
    """Chunks, plain or delayed; their sizes along each axis that is cut, and its name, where these are known."""

    parts: list[Any]
    sizes: tuple[tuple[float, ...], ...] | None = None
    axes: tuple[Hashable, ...] | None = None

    def __str__(self) -> str:
        if self.sizes is None:
            return f"{len(self.parts)} chunks"
        names = self.axes or ("rows", *[f"axis {k}" for k in range(1, len(self.sizes))])
        return " × ".join([f"{name} {sizes}" for name, sizes in zip(names, self.sizes, strict=True)])

    def fit(self, other: Chunks) -> bool:
        """Whether the chunks of both belong together, as far as their sizes are known."""
        if len(self.parts) != len(other.parts) or (self.axes and other.axes and self.axes != other.axes):
            return False
        if self.sizes is None or other.sizes is None:
            return True
        if [*map(len, self.sizes)] != [*map(len, other.sizes)]:
            return False
        pairs = zip(itertools.chain(*self.sizes), itertools.chain(*other.sizes), strict=True)
        return all([a == b or isnan(a) or isnan(b) for a, b in pairs])


def load_dask() -> Any:
    """Import Dask. Errors: ImportError if it is not installed."""
    try:
        import dask.local
        import dask.threaded
    except ImportError as error:
        raise ImportError("wg.dask needs Dask: pip install 'wengert[dask]'") from error
    return dask


def whole_argument(args: Sequence[Any], k: int) -> Any:
    """Return argument k, which all tasks share. Errors: ArgumentError if it is cut into chunks."""
    if _is_lazy(args[k]) or _is_labelled(args[k]):
        raise ArgumentError(
            f"argument {k}, counted from 0, goes to each task whole, but it is cut into chunks. Pass its values, "
            "x.compute(). If it is data, leave it out of argnums; hvp(loss) takes (params, v, *chunks)."
        )
    return args[k]


def chunk_arguments(data: Sequence[Any], blocks: bool) -> list[tuple[Any, ...]]:
    """Return for each chunk those arguments of the loss that are cut; with `blocks`, along several axes.

    Errors: ArgumentError if they have no chunks, other axes are cut, or their chunks do not fit together.
    """
    listed = [_chunks_of(chunks, blocks) for chunks in data]
    if not listed or not listed[0].parts:
        raise ArgumentError("there are no chunks to sum over: pass a dask array, a dask bag or a list of chunks.")
    if not all([a.fit(b) for a, b in itertools.combinations(listed, 2)]):
        raise ArgumentError(
            f"the chunks do not fit together: {' and '.join(map(str, listed))}. Cut all alike: "
            "y.rechunk({0: x.chunks[0]}), or y.chunk(x.chunksizes) for those of xarray."
        )
    return [*zip(*[chunks.parts for chunks in listed], strict=True)]


def _chunks_of(data: Any, blocks: bool) -> Chunks:
    """List the chunks of one argument. Errors: ArgumentError."""
    if isinstance(data, list | tuple):
        return Chunks([*data])
    if _is_labelled(data):
        return _labelled_chunks(data, blocks)
    if not _is_lazy(data):
        raise ArgumentError(
            f"chunks must be a dask array, a dask bag or a list, not {type(data).__name__}. For an array in memory "
            "pass dask.array.from_array(x, chunks=1000), for one of xarray x.chunk(time=1000); for a single chunk, "
            "[chunk]."
        )
    return _array_chunks(data, blocks) if hasattr(type(data), "numblocks") else Chunks([*data.to_delayed()])


def _array_chunks(data: Any, blocks: bool) -> Chunks:
    """List the blocks of a dask array. Errors: ArgumentError if other axes than the first are cut, without `blocks`."""
    if not data.ndim:
        raise ArgumentError("a dask array without axes has no rows to cut into chunks. Pass a single chunk as [chunk].")
    last = max([axis for axis, count in enumerate(data.numblocks) if count > 1], default=0)
    if last and not blocks:
        raise ArgumentError(
            f"the array is cut along other axes than the first, into {data.numblocks} chunks, but the loss needs "
            f"whole rows: x.rechunk({dict.fromkeys(range(1, data.ndim), -1)}). If the loss is a sum over blocks, pass "
            "blocks=True."
        )
    return Chunks([*data.to_delayed().flat], data.chunks[: last + 1])


def _labelled_chunks(data: Any, blocks: bool) -> Chunks:
    """Cut an xarray object into blocks with labels. Errors: ArgumentError if several axes are cut, without `blocks`."""
    sizes = {axis: each for axis, each in data.chunksizes.items() if len(each) > 1}
    sizes = sizes or dict([next(iter(data.chunksizes.items()))])
    if len(sizes) > 1 and not blocks:
        raise ArgumentError(
            f"the {type(data).__name__} is cut along {' and '.join(map(str, sizes))}. Cut it along one dimension: "
            f"x.chunk({[*sizes][-1]}=-1). If the loss is a sum over blocks, pass blocks=True."
        )
    ends = [[*itertools.accumulate(each, initial=0)] for each in sizes.values()]
    places = itertools.product(*[[slice(*pair) for pair in itertools.pairwise(each)] for each in ends])
    return Chunks([data.isel(dict(zip(sizes, place, strict=True))) for place in places], (*sizes.values(),), (*sizes,))


def _is_lazy(data: Any) -> bool:
    """Whether it is a Dask collection made of chunks: an array, a bag, a data frame."""
    return load_dask().is_dask_collection(data) and hasattr(type(data), "to_delayed")


def _is_labelled(data: Any) -> bool:
    """Whether it is an array or a data set of xarray that is cut into chunks."""
    return hasattr(type(data), "chunksizes") and bool(data.chunksizes)
