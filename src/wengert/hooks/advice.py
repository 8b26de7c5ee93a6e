"""Advice for calls and attributes that a trace cannot follow, or that NumPy arrays do not have."""

from __future__ import annotations

import numpy as np

_ADVICE_ON_CALLS = {
    "np.nditer": "Iterate over the array, over .flat or by np.ndenumerate, or compute with whole arrays.",
    "np.nested_iters": "Iterate over the array, over .flat or by np.ndenumerate, or compute with whole arrays.",
    "array.array": "Keep the numbers in a list or a NumPy array.",
    "memoryview": "Index the array itself.",
    "np.frombuffer": "Use the array itself, or np.array(a).",
    "_struct": "Do not pack the numbers: keep them in a tuple or a structured array.",
    "float.hex": "Keep the number itself beside its string.",
    "float.as_integer_ratio": "Compute with the number itself: it is the quotient.",
    "np.ma.core.MaskedIterator": "Read the elements of m.ravel().",
}

_ADVICE_ON_ATTRIBUTES = {
    "at": "Assign to the array, or to a copy of it: y = x.copy(); y[0] = 1.0. The gradient is right.",
    "block_until_ready": "NumPy computes an array at once: leave it out.",
    "detach": "For a constant use wg.stop_gradient(x).",
    "clone": "Copy an array by x.copy(); its gradient is kept.",
    "numpy": "It is a NumPy array already: leave it out.",
    "backward": "Return the loss: wg.grad(loss)(params) returns its gradient.",
    "requires_grad_": "Select the arguments to differentiate: wg.grad(f, argnums=...).",
    "_value": "It is the value already: wengert does not box arrays.",
}
"""Advice by attribute name: arrays of JAX, PyTorch or autograd have these attributes, NumPy arrays do not."""


def add_advice(error: BaseException) -> None:
    """Add advice to an AttributeError about an attribute that arrays of other libraries have."""
    if not isinstance(error, AttributeError) or not isinstance(error.obj, (np.ndarray, np.generic, float)):
        return
    if error.name in _ADVICE_ON_ATTRIBUTES and not hasattr(error, "__notes__"):
        error.add_note(_ADVICE_ON_ATTRIBUTES[error.name])


def advice_on_call(name: str) -> str | None:
    """Return advice for a call of the function `name`, or of a method of the class `name`; None if there is none."""
    return next(
        (text for known, text in _ADVICE_ON_CALLS.items() if name == known or name.startswith(f"{known}.")), None
    )
