"""Advice for calls and attributes that a trace cannot follow, or that NumPy arrays do not have."""

from __future__ import annotations

import numpy as np

_INSTEAD = {
    "np.nditer": "Iterate over the array, over .flat or by np.ndenumerate, or compute with whole arrays.",
    "np.nested_iters": "Iterate over the array, over .flat or by np.ndenumerate, or compute with whole arrays.",
    "array.array": "Keep the numbers in a list or in an array of NumPy's.",
    "memoryview": "Index the array itself.",
    "np.frombuffer": "Use the array itself, or np.array of it.",
    "_struct": "Keep the numbers as they are, in a tuple or an array of records.",
    "float.hex": "Keep the number itself beside its text.",
    "float.as_integer_ratio": "Compute with the number itself: it is the quotient.",
    "np.ma.core.MaskedIterator": "Read the elements of m.ravel().",
}

_OF_OTHERS = {
    "at": "Write into the array, or a copy of it: y = x.copy(); y[0] = 1.0. The gradient is right.",
    "block_until_ready": "NumPy's arrays are computed when they are there: leave it out.",
    "detach": "For a constant say wg.stop_gradient(x).",
    "clone": "An array is copied by x.copy(), and its gradient goes on.",
    "numpy": "It is an array of NumPy's already: leave it out.",
    "backward": "Return the loss: wg.grad(loss)(params) gives its gradient.",
    "requires_grad_": "wg.grad(f, argnums=...) says what is differentiated.",
    "_value": "It is the value already: nothing is boxed.",
}
"""Advice by attribute name: arrays of JAX, PyTorch or autograd have these attributes, NumPy arrays do not."""


def advise(error: BaseException) -> None:
    """Add advice to an AttributeError about an attribute that arrays of other libraries have."""
    if not isinstance(error, AttributeError) or not isinstance(error.obj, (np.ndarray, np.generic, float)):
        return
    if error.name in _OF_OTHERS and not hasattr(error, "__notes__"):
        error.add_note(_OF_OTHERS[error.name])


def advice(name: str) -> str | None:
    """Return advice for a call of the function `name`, or of a method of the class `name`; None if there is none."""
    return next((text for known, text in _INSTEAD.items() if name == known or name.startswith(f"{known}.")), None)
