"""The table of programs for `test_opaque`."""

from __future__ import annotations

from typing import Any

import numpy as np
from registry import Table


class Cases(Table):
    """`@vector` and `@number` enter a function of an array and of a number."""

    def vector(self, f: Any) -> Any:
        self.enter(f.__name__, (f, np.array([0.5, 1.25, 2.0])))
        return f

    def number(self, f: Any) -> Any:
        self.enter(f.__name__, (f, 1.25))
        return f
