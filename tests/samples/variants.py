"""Variants of a sample call: the same numbers in other dtypes, layouts and shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from call_forms import copied
from hypothesis import strategies as st
from samples import Sample

from wengert.values.functional import addlens, lens, setlens

# These read raw memory, by strides that fit one dtype and layout only.
OF_MEMORY = {lens, addlens, setlens}


def _strided(x: np.ndarray) -> np.ndarray:
    """Every second element of a larger array."""
    view = np.full([2 * n for n in x.shape], 7.5, x.dtype)[(slice(None, None, 2),) * x.ndim + (...,)]
    view[...] = x
    return view


def _reversed(x: np.ndarray) -> np.ndarray:
    """An array read backwards along every axis."""
    return np.flip(np.flip(x).copy())


def _read_only(x: np.ndarray) -> np.ndarray:
    made = x.copy()
    made.flags.writeable = False
    return made


def _inside(x: np.ndarray) -> np.ndarray:
    """A part of a larger array, off its start."""
    buffer = np.full(x.size + 3, 7.5, x.dtype)
    buffer[2:-1] = x.ravel()
    return buffer[2:-1].reshape(x.shape)


LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "C": lambda x: x.copy("C"),
    "F": lambda x: x.copy("F"),
    "transposed": lambda x: x.T.copy("C").T,
    "strided": _strided,
    "reversed": _reversed,
    "read-only": _read_only,
    "inside": _inside,
}
SHAPES: dict[str, Callable[[np.ndarray], Any]] = {
    "0-d": lambda x: x.ravel()[0].reshape(()) if x.size else x,
    "number": lambda x: x.ravel()[0] if x.size else x,
    "Python number": lambda x: x.ravel()[0].item() if x.size else x,
    "empty": lambda x: x[:0] if x.ndim else x,
    "one": lambda x: x[(slice(1),) * x.ndim],
    "one row": lambda x: x[:1] if x.ndim else x,
    "one axis more": lambda x: x[np.newaxis],
    "one axis less": lambda x: x[0] if x.ndim and len(x) else x,
}
DTYPES = ["f4", "f8", "g", ">f8", "c8", "c16"]


def _cast(x: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers in another dtype; real ones made complex get an imaginary part, away from the real axis."""
    if not x.ndim and not np.dtype(dtype).isnative:  # a number has no byte order
        return x
    if np.dtype(dtype).kind == "c" and x.dtype.kind == "f":
        return np.asarray(x + 0.2j, dtype)
    return x if x.dtype.kind == "c" and np.dtype(dtype).kind == "f" else x.astype(dtype)


def variant(draw: Callable[..., Any], samples: list[Sample]) -> Sample:
    """A call like one of the samples, each of its float arrays changed in layout and sometimes in dtype and shape."""
    sample = samples[draw(st.integers(0, len(samples) - 1))]

    def changed(x: Any) -> Any:
        if isinstance(x, (tuple, list)):
            return type(x)([changed(part) for part in x])
        if not isinstance(x, np.ndarray) or x.dtype.kind not in "fc":
            return copied(x)
        if draw(st.booleans()):
            x = _cast(x, draw(st.sampled_from(DTYPES)))
        x = LAYOUTS[draw(st.sampled_from(sorted(LAYOUTS)))](x)
        return SHAPES[draw(st.sampled_from(sorted(SHAPES)))](x) if draw(st.integers(0, 2)) == 0 else x

    args = tuple([changed(x) for x in sample.args])
    return Sample(sample.f, args, {name: changed(x) for name, x in sample.kwargs.items()})
