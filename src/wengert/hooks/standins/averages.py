"""The stand-in of Python's `statistics`, loaded with the rules once a program has imported that module."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from wengert.hooks.items import iterable
from wengert.hooks.policy import records
from wengert.hooks.standins.functions import recorder
from wengert.recording.primitives import Primitive
from wengert.recording.recording import STATE


@records(statistics.mean, statistics.variance, statistics.pvariance, statistics.stdev, statistics.pstdev)
def _of_numbers(primitive: Primitive) -> Callable[..., Any]:
    """The stand-in of a function of Python's statistics, which iterates over one argument."""
    record = recorder(primitive)
    return lambda data, *args, **kwargs: record([*iterable(data, STATE.site)], *args, **kwargs)
