"""Functional primitives, as which in-place writes and new containers are recorded."""

from __future__ import annotations

import math
import operator
import warnings
from contextlib import nullcontext
from operator import getitem
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

from wengert.errors import StaleTapeError
from wengert.values.identity_set import Functions
from wengert.values.keys import may_repeat
from wengert.values.specs import fresh

__all__ = [
    "DISPLAYS",
    "STORES",
    "WINDOWED",
    "Path",
    "additem",
    "addlens",
    "as_index",
    "getfield",
    "getitem",
    "iterations",
    "length",
    "lens",
    "make_dict",
    "make_list",
    "make_tuple",
    "raises",
    "setitem",
    "setlens",
    "setpart",
    "stopped",
    "strided_copy",
    "sumprod",
    "whole",
]


def build_container(base: Any, cls: type, items: Any, attributes: dict[str, Any]) -> Any:
    """Make a container from its items and attributes, past the methods of its class; `base` is the class in C."""
    made = base.__new__(cls, items) if base is tuple else base.__new__(cls)
    if base is list:
        list.extend(made, items)
    elif base is dict:
        dict.update(made, items)
    for name, value in attributes.items():
        object.__setattr__(made, name, value)
    return made


def setitem(x: np.ndarray, key: Any, value: Any) -> np.ndarray:
    """Return a copy of `x` after `x[key] = value`, as which such a write is recorded.

    Parameters:
        x (array): The array.
        key (Any): An index, slice, mask or tuple of these.
        value (float | array): The value to write.
    Returns:
        array: The copy.
    See Also:
        getitem, additem

    Examples:
        >>> wg.extend.setitem(np.zeros(3), slice(1, None), 5.0)
        array([0., 5., 5.])
    """
    out = _places_apart(x)
    out[key] = value
    return out


def additem(x: np.ndarray, key: Any, value: Any) -> np.ndarray:
    """Return a copy of `x` with `value` added at `key`, once for each time that an index occurs.

    Parameters:
        x (array): The array.
        key (Any): An index, slice, mask or tuple of these.
        value (float | array): The value to add.
    Returns:
        array: The copy.
    See Also:
        getitem, setitem

    Examples:
        >>> wg.extend.additem(np.zeros(3), [1, 1], 5.0)
        array([ 0., 10.,  0.])
    """
    out = _places_apart(x)
    if may_repeat(key):
        # broadcast first: ufunc.at on a vector with a matrix of indices reads past the end of a shorter value
        np.add.at(out, key, np.broadcast_to(value, out[key].shape))
    else:
        out[key] += value
    return out


def lens(x: np.ndarray, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """Return a copy of a window of `shape` and `strides` onto the memory of `x`: a read of a view is recorded so.

    Parameters:
        x (array): The array.
        offset (int): The bytes from the first element of `x` to that of the window.
        shape (tuple[int, ...]): The shape of the window.
        strides (tuple[int, ...]): Its strides, in bytes.
    Returns:
        array: The copy.
    Raises:
        ValueError: The window leaves the memory of `x`.
    See Also:
        setlens, addlens

    Examples:
        >>> wg.extend.lens(np.arange(6.0), 8, (2,), (16,))
        array([1., 3.])
    """
    return _window(x, offset, shape, strides).copy()


def setlens(x: np.ndarray, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], value: Any) -> np.ndarray:
    """Return a copy of `x` with `value` written through the window that `lens(x, offset, shape, strides)` reads.

    Parameters:
        x (array): The array.
        offset (int): The bytes from the first element of `x` to that of the window.
        shape (tuple[int, ...]): The shape of the window.
        strides (tuple[int, ...]): Its strides, in bytes.
        value (float | array): The value to write.
    Returns:
        array: The copy.
    See Also:
        lens, addlens

    Examples:
        >>> wg.extend.setlens(np.zeros(4), 8, (2,), (16,), 5.0)
        array([0., 5., 0., 5.])
    """
    out = strided_copy(x)
    _window(out, offset, shape, strides)[...] = value
    return out


def addlens(x: np.ndarray, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], value: Any) -> np.ndarray:
    """Return a copy of `x` with `value` added through the window that `lens(x, offset, shape, strides)` reads.

    An element that appears twice in the window is added to twice.

    Parameters:
        x (array): The array.
        offset (int): The bytes from the first element of `x` to that of the window.
        shape (tuple[int, ...]): The shape of the window.
        strides (tuple[int, ...]): Its strides, in bytes.
        value (float | array): The value to add.
    Returns:
        array: The copy.
    See Also:
        lens, setlens

    Examples:
        >>> wg.extend.addlens(np.zeros(2), 8, (3,), (0,), 1.0)
        array([0., 3.])
    """
    out = strided_copy(x)
    window = _window(out, offset, shape, strides)
    if not overlaps(window):
        window += value
        return out
    places = np.full(shape, offset, np.intp)
    for axis, (n, stride) in enumerate(zip(shape, strides, strict=True)):
        places += (np.arange(n) * stride).reshape((-1,) + (1,) * (len(shape) - axis - 1))
    before, memory = _memory(out)
    places, terms = places + before, np.broadcast_to(value, shape)
    if out.dtype.kind == "c" and np.any(places % out.itemsize):  # an imaginary part seen as a real one
        floats = memory.view(memory.real.dtype)
        np.add.at(floats, places // floats.itemsize, np.real(terms))
        np.add.at(floats, places // floats.itemsize + 1, np.imag(terms))
    else:
        np.add.at(memory, places // out.itemsize, terms)
    return out


def setpart(x: np.ndarray, part: str, value: Any) -> np.ndarray:
    """Return a copy of a complex array `x` with its `part`, "real" or "imag", set to `value`.

    Parameters:
        x (array): The complex array.
        part (str): "real" or "imag".
        value (float | array): The value to write.
    Returns:
        array: The copy.
    See Also:
        setitem

    Examples:
        >>> wg.extend.setpart(np.zeros(2, complex), "imag", 5.0)
        array([0.+5.j, 0.+5.j])
    """
    out = _places_apart(x)
    setattr(out, part, value)
    return out


def make_tuple(*xs: Any) -> tuple[Any, ...]:
    """Return the tuple of `xs`; a new tuple that holds traced values is recorded as a call of this.

    Parameters:
        *xs (Any): The items.
    Returns:
        tuple: The tuple.
    See Also:
        make_list, make_dict

    Examples:
        >>> wg.extend.make_tuple(1.0, 2.0)
        (1.0, 2.0)
    """
    return xs


def make_list(*xs: Any) -> list[Any]:
    """Return the list of `xs`; recorded like `make_tuple`.

    Parameters:
        *xs (Any): The items.
    Returns:
        list: The list.
    See Also:
        make_tuple, make_dict

    Examples:
        >>> wg.extend.make_list(1.0, 2.0)
        [1.0, 2.0]
    """
    return list(xs)


def make_dict(keys: tuple[Any, ...], *values: Any) -> dict[Any, Any]:
    """Return the dictionary from `keys` to `values`; recorded like `make_tuple`.

    Parameters:
        keys (tuple): The keys.
        *values (Any): The values.
    Returns:
        dict: The dictionary.
    See Also:
        make_tuple, make_list

    Examples:
        >>> wg.extend.make_dict(("a", "b"), 1.0, 2.0)
        {'a': 1.0, 'b': 2.0}
    """
    return dict(zip(keys, values, strict=True))


class Path(tuple[tuple[str, Any], ...]):
    """A path to a leaf of a container: `("[]", key)` for each item, `(".", name)` for each attribute.

    The leaf `t["w"][0].bias` has the path `(("[]", "w"), ("[]", 0), (".", "bias"))`.
    """

    __slots__ = ()

    def of(self, container: Any) -> Any:
        """Return the leaf of `container` at this path."""
        for how, key in self:
            container = container[key] if how == "[]" else getattr(container, key)
        return container

    def __repr__(self) -> str:
        return "".join([f"[{key!r}]" if how == "[]" else f".{key}" for how, key in self])


def getfield(t: Any, i: Any) -> Any:
    """Return item `i` of a tuple, list or dictionary `t`; if i is a Path, the leaf at that path.

    Parameters:
        t (tuple | list | dict): The container.
        i (Any): An index, a key or a Path.
    Returns:
        Any: The item, or the leaf at the Path.
    See Also:
        getitem, make_tuple

    Examples:
        >>> wg.extend.getfield({"w": 2.0}, "w")
        2.0
    """
    return i.of(t) if type(i) is Path else t[i]


def raises(fn: Any, errors: dict[str, Any], warned: type[Warning] | None, *args: Any, **kwargs: Any) -> type | None:
    """Return the class of the exception that `fn(*args, **kwargs)` raises, or None; a caught exception is recorded so.

    `errors` are arguments of `np.errstate`. Warnings of the class `warned` are raised as errors.
    """
    try:
        with np.errstate(**errors), _raised(warned):
            fn(*args, **kwargs)
    except Exception as error:
        return type(error)
    return None


def whole(fn: Any, *numbers: float) -> float:
    """Compute `fn` of integers that are stored as floats as Python does with ints; a loop counter is recorded so.

    Parameters:
        fn (callable): The function of integers.
        *numbers (float): Integers stored as floats.
    Returns:
        float: The result, an integer stored as a float.
    Raises:
        StaleTapeError: The result is not an integer, or exceeds 2**53, above which floats are not exact.
    See Also:
        as_index, iterations

    Examples:
        >>> wg.extend.whole(lambda n, m: n // m, -7.0, 2.0)
        -4.0
    """
    ints = [*map(int, numbers)]
    if fn in _GROWING and abs(ints[0]) > 1 and ints[1] > 64:
        raise StaleTapeError("an integer power or shift exceeds 2**53; record the tape again")
    made = fn(*ints)
    if type(made) is not int or not -WHOLE <= made <= WHOLE:
        raise StaleTapeError("a result of integers is not an integer, or exceeds 2**53; record the tape again")
    return float(made)


def as_index(number: float) -> np.int64:
    """Return the integer that `number` stores as a float, for use in a key; a loop counter in a key is recorded so.

    Parameters:
        number (float): The integer as a float.
    Returns:
        int: The integer, as a NumPy integer.
    See Also:
        whole, iterations

    Examples:
        >>> wg.extend.as_index(2.0)
        np.int64(2)
    """
    return np.int64(number)


def stopped(x: Any) -> Any:
    """Copy a number or array `x`; no derivative passes through the copy.

    Parameters:
        x (float | array): The value.
    Returns:
        float | array: The copy.
    See Also:
        stop_gradient, unseen

    Examples:
        >>> wg.grad(lambda x: x * wg.extend.stopped(x))(3.0)
        3.0
    """
    return x.copy("K") if isinstance(x, np.ndarray) else fresh(x)


def length(x: Any) -> float:
    """Return the number of items along the first axis of `x` as a float; the length of a selection is recorded so.

    Parameters:
        x (array): The array.
    Returns:
        float: The length, an integer stored as a float.
    See Also:
        whole, as_index

    Examples:
        >>> wg.extend.length(np.zeros((3, 2)))
        3.0
    """
    return float(len(x))


def iterations(number: float) -> int:
    """Return how often a loop runs, from the `number` that a tape computes; recorded as a guard on it.

    Parameters:
        number (float): The integer as a float.
    Returns:
        int: The number of iterations.
    See Also:
        whole, as_index

    Examples:
        >>> wg.extend.iterations(2.0)
        2
    """
    return int(number)


WHOLE = 2**53
"""The largest n such that floats represent every integer up to n exactly."""
_GROWING = Functions(operator.pow, operator.lshift)


def sumprod(p: np.ndarray, q: np.ndarray) -> float:
    """Compute Σ pₖ qₖ of the vectors `p` and `q`, rounded once, as `math.sumprod` does for Python floats only.

    Requires Python 3.12; earlier versions never call it.

    Parameters:
        p (array): A vector.
        q (array): A vector of the same length.
    Returns:
        float: The sum of products.
    See Also:
        whole

    Examples:
        >>> import math
        >>> wg.extend.sumprod(np.ones(2), np.ones(2)) if hasattr(math, "sumprod") else 2.0
        2.0
    """
    made: float = math.sumprod(p.tolist(), q.tolist())  # type: ignore[attr-defined,unused-ignore]
    return made


def _raised(warned: type[Warning] | None) -> Any:
    return nullcontext() if warned is None else warnings.catch_warnings(action="error", category=warned)


def _places_apart(x: np.ndarray) -> np.ndarray:
    """Return a copy in which no two elements share memory, so that a write changes one element only."""
    return np.array(x, order="K") if overlaps(np.asarray(x)) else strided_copy(x)


def strided_copy(x: np.ndarray) -> np.ndarray:
    """Return a copy with the strides of `x`, on which a window given in bytes shows the same elements."""
    x = np.asarray(x)  # a cotangent of a 0-d array may be a NumPy scalar
    out = x.copy(order="K")
    same = all(a == b or n <= 1 for a, b, n in zip(out.strides, x.strides, x.shape, strict=True))
    if same or not x.size:
        return out
    low, high = byte_bounds(x)
    buffer = np.zeros(high - low, np.uint8)
    out = np.ndarray(x.shape, x.dtype, buffer, x.__array_interface__["data"][0] - low, x.strides)
    out[...] = x
    return out


def _window(x: np.ndarray, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """Return the strided window of `lens` onto the memory of `x` itself, not a copy."""
    before, memory = _memory(x)
    steps = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
    first = offset + before + sum(step for step in steps if step < 0)
    last = offset + before + sum(step for step in steps if step > 0) + x.itemsize
    if 0 in shape:
        return np.empty(shape, x.dtype)
    if first < 0 or last > memory.nbytes or (offset + before) % x.itemsize:
        raise ValueError(f"the window of shape {shape} and strides {strides} at byte {offset} leaves the array")
    return as_strided(memory[(offset + before) // x.itemsize :], shape, strides)


def _memory(x: np.ndarray) -> tuple[int, np.ndarray]:
    """Return the number of bytes before the first element of `x`, and all its memory as a flat array."""
    if not x.size:
        return 0, np.empty(0, x.dtype)
    low, high = byte_bounds(x)
    corner = x[tuple(slice(None, None, -1 if stride < 0 else 1) for stride in x.strides)]
    flat = as_strided(corner, ((high - low) // x.itemsize,), (x.itemsize,))
    return x.__array_interface__["data"][0] - low, flat


def overlaps(window: np.ndarray) -> bool:
    """Whether two elements of the array `window` may share memory; if False, no two do.

    Parameters:
        window (array): The array.
    Returns:
        bool: Whether elements may share memory.
    See Also:
        lens

    Examples:
        >>> wg.extend.overlaps(np.broadcast_to(1.0, (3,))), wg.extend.overlaps(np.ones((2, 3)).T)
        (True, False)
    """
    reach = window.itemsize
    for stride, n in sorted((abs(s), n) for s, n in zip(window.strides, window.shape, strict=True) if n > 1):
        if stride < reach:
            return True
        reach += (n - 1) * stride
    return False


def is_destination(x: Any) -> bool:
    """Whether a sum may be written into `x`: a plain, writeable array of floats in NumPy's memory, without overlaps."""
    if type(x) is not np.ndarray or not x.flags.writeable or x.dtype.kind not in "fc" or not x.ndim:
        return False
    owner = x
    while type(owner) is np.ndarray and owner.base is not None:
        owner = owner.base
    return type(owner) is np.ndarray and not overlaps(x)


STORES = Functions(setitem, setlens, setpart)  # record in-place writes of an array
WINDOWED = Functions(lens, setlens, addlens)  # take strides in bytes
DISPLAYS = Functions(make_tuple, make_list, make_dict)
