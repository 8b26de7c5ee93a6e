"""Stand-ins that convert arrays to lists and iterators to arrays, and of `np.arange`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks.classes import as_traced
from wengert.hooks.items import gathered, iterable, set_item
from wengert.hooks.policy import records, stand_in_for
from wengert.hooks.search import search
from wengert.hooks.standins.arrays import sized
from wengert.recording.primitives import Primitive
from wengert.recording.recording import STATE
from wengert.recording.shadow import SHADOW
from wengert.recording.slots import holds_traced


@stand_in_for(np.fromiter)
def _fromiter(iter: Any, dtype: Any, count: int = -1, **options: Any) -> Any:
    given = gathered(iter) if count < 0 else list(itertools.islice(iterable(iter, STATE.site), count))
    of_records = np.dtype(dtype).names is not None
    recording = STATE.recording
    if recording is not None and np.dtype(dtype) == object and len(given) >= count and search(recording, given):
        made = np.empty(len(given), object)
        for k, item in enumerate(given):
            set_item(made, k, item, STATE.site)
        return made
    if not of_records and (len(given) < count or not holds_traced(given) or np.dtype(dtype).kind not in "fc"):
        return np.fromiter(given, dtype, count, **options)
    return as_traced(np.array)(given, dtype)


@records(np.arange)
def _arange(primitive: Primitive) -> Callable[..., Any]:
    """Make the recorder of `np.arange`; all arguments decide how many numbers it returns."""
    record = sized(primitive, slice(0, None))

    def call(*args: Any, **words: Any) -> Any:
        if not any([id(a) in SHADOW for a in (*args, *words.values())]):
            return np.arange(*args, **words)
        given = {**dict(zip(("start", "stop", "step", "dtype"), args, strict=False)), **words}
        if given.get("stop") is None:
            given |= {"start": 0, "stop": given.get("start")}
        bounds = [given.pop("start", 0), given.pop("stop"), given.pop("step", None)]
        return record(*bounds[:2], 1 if bounds[2] is None else bounds[2], **given)

    return call
