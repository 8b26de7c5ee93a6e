"""What to do instead of calls that give an array's numbers in a form in which nothing can be followed."""

from __future__ import annotations

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


def advice(name: str) -> str | None:
    """What to do instead of calling a function of this name, or a method of a class of this name."""
    return next((text for known, text in _INSTEAD.items() if name == known or name.startswith(f"{known}.")), None)
