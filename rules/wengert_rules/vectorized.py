"""`np.vectorize`: a function called element by element, with Python's numbers."""

from __future__ import annotations

import numpy as np

from wengert.extend import stands_for


def filled(items, shape, dtype):
    """The array of these items, of which one of objects holds the very items."""
    if np.dtype(dtype) != object:
        return np.reshape(np.array([*items]), shape).astype(dtype)
    made = np.empty(len(items), object)
    for k, item in enumerate(items):
        made[k] = item
    return np.reshape(made, shape)


@stands_for(vars(np.vectorize)["_vectorize_call"])
def vectorize_call(self, func, args):
    """A call without signature; one with a signature loops in Python itself."""
    if self.signature is not None:
        return self._vectorize_call_with_signature(func, args)
    if not args:
        return func()
    arrays = np.broadcast_arrays(*[np.asarray(a) for a in args])
    made = [func(*[a.item(k) for a in arrays]) for k in range(arrays[0].size)]
    if not made and self.otypes is None:
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    several = isinstance(made[0], tuple) if made else len(self.otypes) > 1
    columns = list(zip(*made, strict=True)) if several and made else [made] * len(self.otypes or " ")
    types = self.otypes or [np.asarray(column[0]).dtype for column in columns]
    outputs = [filled(column, arrays[0].shape, t) for column, t in zip(columns, types, strict=False)]
    return tuple(outputs) if several else outputs[0]
