"""Running tensor functions where every read is watched, and every layout is taken at sizes small enough to check."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from wengert.tensor.planning import loops, lowering, sharing
from wengert.tensor.running import layout, native, numpy_backend, numpy_source, numpy_support, unrolling


class Walled(np.ndarray):
    """An array that is read and written inside only: no index counts from the end, no slice is cut off."""

    def __getitem__(self, at: Any) -> Any:
        self.check(at)
        return super().__getitem__(at)

    def __setitem__(self, at: Any, value: Any) -> None:
        self.check(at)
        super().__setitem__(at, value)

    def check(self, at: Any) -> None:
        places = [place for place in (at if isinstance(at, tuple) else (at,)) if place is not None]
        if any(place is ... for place in places):
            return
        for place, size in zip(places, self.shape, strict=False):
            if isinstance(place, slice):
                ends = [end for end in (place.start, place.stop) if end is not None]
                inside = all(0 <= end <= size for end in ends)
            else:
                inside = bool(np.all((np.asarray(place) >= 0) & (np.asarray(place) < size)))
            if not inside:
                raise AssertionError(f"[{at}] is outside of an array of {self.shape}")


def walled(x: Any) -> Any:
    return np.asarray(x).view(Walled)


class NumPy:
    """NumPy, whose new arrays are walled, and full of nan where nothing has been written."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def zeros(self, shape: Any, dtype: Any) -> np.ndarray:
        return walled(np.zeros(shape, dtype))

    def empty(self, shape: Any, dtype: Any) -> np.ndarray:
        return walled(np.full(shape, np.nan, dtype))


class Space:
    def zeros(self, name: str, shape: Any, dtype: Any) -> np.ndarray:
        return NumPy().zeros(shape, dtype)

    def empty(self, name: str, shape: Any, dtype: Any) -> np.ndarray:
        return NumPy().empty(shape, dtype)


def window(x: np.ndarray, start: Any, steps: Any, shape: Any) -> np.ndarray:
    if all(n > 0 for n in shape):
        for k, size in enumerate(x.shape):
            reach = [step[k] * (n - 1) for step, n in zip(steps, shape, strict=True)]
            low, high = start[k] + sum(min(r, 0) for r in reach), start[k] + sum(max(r, 0) for r in reach)
            assert 0 <= low <= high < size, "a window beyond its array"
    return numpy_support.window(np.asarray(x), start, steps, shape)


def watched(patch: pytest.MonkeyPatch) -> None:
    """From here on whatever a back end runs is watched; compiled loops run in Python."""
    numpy_compiled, native_compiled = numpy_backend.numpy_program, native.compiled_loops

    def enclosed(program: Any, *more: Any) -> Any:
        run = program.function
        run.__globals__.update(np=NumPy(), window=window)

        def function(inputs: Mapping[str, Any], relations: Any, points: Any, *native: Any) -> Any:
            arrays = {name: walled(x) for name, x in inputs.items()}
            return run(arrays, relations, points, *([native[0], Space()] if native else []))

        program.function = function
        return program

    patch.setattr(numpy_backend, "numpy_program", lambda plan: enclosed(numpy_compiled(plan)))
    patch.setattr(native, "compiled_loops", lambda plan: enclosed(native_compiled(plan, interpreted=True)))


def ways(seed: int, patch: pytest.MonkeyPatch) -> None:
    """What is chosen by size is chosen by chance."""
    rng = random.Random(seed)

    def chance(module: Any, name: str, *values: Any) -> None:
        patch.setattr(module, name, rng.choice((getattr(module, name), *values)))

    chance(layout, "LISTED", 0.0, 1.0)
    chance(layout, "ITERATION", 0.0)
    chance(layout, "STRIP", 2)
    chance(loops, "MASK_RATIO", 0, 10**6)
    chance(lowering, "THIN", 0, 1)
    chance(sharing, "NARROW", 1)
    chance(unrolling, "SHORT_LOOP", 0, 1)
    chance(unrolling, "MANY_CELLS", 2)
    chance(numpy_source.NumpySource, "cells_to_join", 0)
    patch.setattr(layout, "is_mask", loops.is_mask)
