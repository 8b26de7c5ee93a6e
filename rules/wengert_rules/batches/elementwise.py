"""Batching rules of elementwise functions: the axes of shorter arguments are aligned."""

from __future__ import annotations

import builtins
import operator

import numpy as np

from wengert.extend import batching, setpart, stopped
from wengert_rules.batches.axes import aligned, in_rows, lifted, owned, rank
from wengert_rules.recurrences import share
from wengert_rules.special_functions import bessel_i


@batching(
    np.ufunc, operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.neg, operator.pos, operator.abs, operator.lt, operator.le, operator.eq, operator.ne, operator.ge,
    operator.gt, operator.and_, operator.or_, operator.xor, operator.invert, operator.lshift, operator.rshift,
    builtins.abs, builtins.divmod, np.where, np.clip, np.real, np.imag,
    np.round, np.around, np.fix, np.isclose, np.iscomplex, np.isreal, np.isneginf, np.isposinf, np.i0, np.sinc,
    share, bessel_i,
)  # fmt: skip
def elementwise(batch, *args, **kwargs):
    if kwargs.get("out") is not None:
        return NotImplemented
    words = [name for name in batch.named if np.ndim(kwargs[name]) > 1]
    ndim = max([*map(rank, args, batch.axes), *[np.ndim(kwargs[name]) - 1 for name in words]])
    kwargs = {name: lifted(x, ndim) if name in batch.named else x for name, x in kwargs.items()}
    return batch.fn(*[lifted(x, ndim, on) for x, on in zip(args, batch.axes, strict=True)], **kwargs)


@batching(operator.pow, builtins.pow)
def power(batch, x, y):
    """Of two arguments; modulo a third one there are whole numbers only."""
    x, y = aligned(batch, (x, y))
    return x**y


@batching(operator.not_)
def not_(batch, x):
    return np.logical_not(x)


@batching(operator.index)
def index(batch, x):
    return x


@batching(operator.truth, bool)
def truth(batch, x):
    return x != 0


@batching(stopped)
def constant(batch, x):
    return stopped(x)


@batching(np.copy, np.zeros_like, np.ones_like)
def like(batch, x, *args, **kwargs):
    """Of an array of the same shape: what `order` and `subok` say of memory and class is left to NumPy."""
    if not batch.first or args or {*kwargs} - {"dtype", "order", "subok"}:
        return NotImplemented
    return batch.fn(x, **({"dtype": kwargs["dtype"]} if "dtype" in kwargs else {}))


@batching(np.ndarray.astype, np.generic.astype)
def astype(batch, x, dtype, *args, **kwargs):
    return x.astype(dtype)


@batching(np.ndarray.view)
def view(batch, x, dtype=None, *args, **kwargs):
    return x.copy() if dtype is None or dtype == x.dtype else NotImplemented


@batching(float)
def float_(batch, x):
    return np.real(x).astype(float)


@batching(np.float64, np.float32, np.float16, np.longdouble, np.complex128, np.complex64, np.clongdouble)
def number(batch, x):
    return x.astype(batch.fn)


@batching(complex)
def complex_(batch, real, *imag):
    return real + 1j * imag[0] if imag else real.astype(complex)


@batching(complex.conjugate)
def conjugate(batch, z):
    return np.conjugate(z)


@batching(setpart)
def setpart_(batch, x, part, value):
    on_x, _, on_value = batch.axes
    return setpart(owned(x, on_x, batch.size), part, lifted(value, rank(x, on_x), on_value))


@batching(np.full)
def full(batch, shape, fill_value, dtype=None, **kwargs):
    """Of a value of each example; the shape is the same for all."""
    if batch.axes[0] is not False or {*kwargs} - {"order"}:
        return NotImplemented
    shape = tuple(shape) if np.ndim(shape) else (shape,)
    filled = np.broadcast_to(lifted(fill_value, len(shape)), (batch.size, *shape))
    return filled.astype(fill_value.dtype if dtype is None else dtype)


@batching(np.allclose, np.array_equal, np.array_equiv)
def all_equal(batch, *args, **kwargs):
    """Of arrays of shapes that broadcast; those of others are not equal."""
    if batch.fn is np.allclose:
        return np.all(in_rows(np.isclose(*aligned(batch, args), **kwargs)), axis=1)
    if kwargs or len(args) > 2 or len({*map(rank, args, batch.axes)}) > 1:
        return NotImplemented
    each = np.equal(*aligned(batch, args))
    return np.all(in_rows(each), axis=1)
