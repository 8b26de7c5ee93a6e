"""Memory that objects of C show beside the array itself: what they read is right, or refused; never a silent zero."""

import array
import ctypes
import io
import itertools
import mmap
import struct

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import wengert as wg

N = 3


class Interface:
    """What gives its memory by `__array_interface__` alone."""

    def __init__(self, a):
        self.__array_interface__ = a.__array_interface__


def doubles(a):
    return a.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


OBJECTS = {  # made of a contiguous array of N numbers; read at place 1
    "memoryview": (memoryview, lambda m: m[1]),
    "part of a memoryview": (lambda a: memoryview(a)[1:], lambda m: m[0]),
    "memoryview of a view": (lambda a: memoryview(a[1:]), lambda m: m[0]),
    "memoryview of another shape": (lambda a: memoryview(a.reshape(1, N)), lambda m: m[0, 1]),
    "memoryview, cast": (lambda a: memoryview(a).cast("B").cast("d"), lambda m: m[1]),
    "memoryview as a list": (memoryview, lambda m: m.tolist()[1]),
    "memoryview iterated over": (memoryview, lambda m: [v for v in m][1]),  # noqa: C416
    "memoryview as a tuple": (memoryview, lambda m: tuple(m)[1]),
    "memoryview unpacked": (memoryview, lambda m: (lambda _, b, __: b)(*m)),
    "memoryview in a sum": (memoryview, sum),
    "memoryview in max": (memoryview, max),
    "memoryview in NumPy": (memoryview, np.sum),
    "memoryview unpacked by struct": (memoryview, lambda m: struct.unpack("3d", m)[1]),
    "memoryview as bytes": (memoryview, lambda m: np.frombuffer(bytes(m))[1]),
    ".data": (lambda a: a.data, lambda m: m[1]),
    "frombuffer": (np.frombuffer, lambda b: b[1]),
    "frombuffer of a memoryview": (lambda a: np.frombuffer(memoryview(a)), lambda b: b[1]),
    "an array of a memoryview": (lambda a: np.asarray(memoryview(a)), np.sum),
    "dlpack": (np.from_dlpack, lambda b: b[1]),
    "dlpack, by a ufunc": (np.from_dlpack, lambda b: np.max(np.multiply(b, 1.0))),
    "dlpack, by a method": (np.from_dlpack, lambda b: b.sum()),
    "dlpack, in a product": (np.from_dlpack, lambda b: b @ np.ones(N)),
    "__array_interface__": (lambda a: np.asarray(Interface(a)), lambda b: b[1]),
    "an array of a ctypes array": (lambda a: np.ctypeslib.as_array(np.ctypeslib.as_ctypes(a)), lambda b: b[1]),
    "a ctypes array": (np.ctypeslib.as_ctypes, lambda c: c[1]),
    "a ctypes array over the buffer": (lambda a: (ctypes.c_double * N).from_buffer(a), lambda c: c[1]),
    "a ctypes number": (lambda a: ctypes.c_double.from_buffer(a, 8), lambda c: c.value),
    "a ctypes pointer": (doubles, lambda p: p[1]),
    "what a ctypes pointer points to": (lambda a: doubles(a[1:]), lambda p: p.contents.value),
    "nditer": (np.nditer, lambda it: [v * 1.0 for v in it][1]),
    "nditer by place": (lambda a: np.nditer(a[1:]), lambda it: it[0] * 1.0),
    "nditer's value": (lambda a: np.nditer(a[1:]), lambda it: it.value * 1.0),
    "nditer's operands": (np.nditer, lambda it: it.operands[0][1]),
    "a buffering nditer": (
        lambda a: np.nditer(a, ["buffered", "external_loop", "delay_bufalloc"], op_dtypes=["f4"], casting="same_kind"),
        lambda it: (it.reset(), sum(np.sum(v) for v in it))[1],
    ),
    "broadcast": (lambda a: np.broadcast(a, 1.0), lambda b: [v for v, _ in b][1]),
    "broadcast's next": (lambda a: np.broadcast(a[1:], 1.0), lambda b: next(b)[0]),
    "broadcast's iterators": (lambda a: np.broadcast(a, 1.0), lambda b: b.iters[0][1]),
    "flat": (lambda a: a.flat, lambda it: it[1]),
    "flat's next": (lambda a: a[1:].flat, next),
    "flat's step": (lambda a: a[1:].flat, lambda it: it.__next__()),
    "ndenumerate": (np.ndenumerate, lambda it: [v for _, v in it][1]),
    "iter": (lambda a: iter(a[1:]), next),
    "iter in a loop": (iter, lambda it: [v for v in it][1]),  # noqa: C416
    "reversed": (reversed, lambda it: list(it)[1]),
    "zip": (lambda a: zip(a, a, strict=True), lambda it: [v for v, _ in it][1]),
    "map": (lambda a: map(float, a), lambda it: list(it)[1]),
    "enumerate": (enumerate, lambda it: dict(it)[1]),
    "chain": (lambda a: itertools.chain([0.0], a), lambda it: list(it)[2]),
    "chain of views": (lambda a: itertools.chain(a[1:], a[1:]), next),
    "islice": (lambda a: itertools.islice(a, 1, 2), next),
    "cycle": (lambda a: itertools.cycle(a[1:]), next),
    "pairwise": (itertools.pairwise, lambda it: next(it)[1]),
    "a generator": (lambda a: (v for v in a[1:]), next),
    "a generator that reads by place": (lambda a: (a[k] for k in (1, 2)), next),
    "a generator in a loop": (lambda a: (v for v in a), lambda it: list(it)[1]),
    "a generator's step": (lambda a: (v for v in a[1:]), lambda it: it.__next__()),
    "a strided view": (lambda a: as_strided(a, (2, 2), (8, 8)), lambda v: v[0, 1]),
    "a window": (lambda a: sliding_window_view(a, 2), lambda v: v[0, 1]),
    "the bits": (lambda a: a.view(np.int64), lambda v: v[1:2].view(float)[0]),
    "a method": (lambda a: a.item, lambda f: f(1)),
    "a bound reduction": (lambda a: a.sum, lambda f: f()),
}


def by_item(a, x):
    a[1] = x


def by_slice(a, x):
    a[1:2] = x * np.ones(1)


def by_out(a, x):
    np.multiply(np.array([0.0, 1.0, 0.0]), x, out=a)


def by_addition(a, x):
    a += x * np.array([0.0, 1.0, 0.0])


def by_a_view(a, x):
    a[::-1][1] = x


def by_copyto(a, x):
    np.copyto(a[1:2], x)


WRITES = [by_item, by_slice, by_out, by_addition, by_a_view, by_copyto]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("when", ["before", "inside"])
@pytest.mark.parametrize("name", OBJECTS)
def test_what_reads_the_memory_of_an_array_sees_traced_values_or_is_refused(name, when, write):
    make, read = OBJECTS[name]

    def program():
        buffer = np.zeros(N)
        made = make(buffer) if when == "before" else None

        def f(x):
            shown = make(buffer) if made is None else made
            write(buffer, x)
            return read(shown) * 2.0

        return f

    assert program()(1.25) == 2.5
    try:
        found = wg.grad(program())(1.25)
    except (wg.RefusedCallError, wg.NoRuleError):
        return
    assert found == 2.0


BACKED = {
    "bytearray": lambda: bytearray(8 * N),
    "array.array": lambda: array.array("d", [0.0] * N),
    "mmap": lambda: mmap.mmap(-1, 8 * N),
    "ctypes": lambda: (ctypes.c_double * N)(),
    "BytesIO": lambda: io.BytesIO(bytes(8 * N)).getbuffer(),
}


@pytest.mark.parametrize("name", BACKED)
def test_arrays_over_foreign_memory_are_not_written_with_traced_values(name):
    memory = BACKED[name]()
    a, b = np.frombuffer(memory), np.frombuffer(memory)

    def f(x):
        a[1] = x
        return b[1] + struct.unpack_from("d", memory, 8)[0]

    assert f(1.0) == 2.0
    with pytest.raises(wg.RefusedCallError, match="foreign memory"):
        wg.grad(f)(1.25)


SEEN = {  # writes to what a pullback keeps, by way of other objects
    "memoryview": (memoryview, lambda m: m.__setitem__(1, 9.0)),
    "item of a memoryview": (memoryview, lambda m: exec("m[1] = 9.0", {"m": m})),
    "slice of a memoryview": (memoryview, lambda m: exec("m[1:2] = w", {"m": m, "w": np.full(1, 9.0)})),
    "a ctypes array": (np.ctypeslib.as_ctypes, lambda c: exec("c[1] = 9.0", {"c": c})),
    "a ctypes pointer": (doubles, lambda p: exec("p[1] = 9.0", {"p": p})),
    "frombuffer of a memoryview": (lambda a: np.frombuffer(memoryview(a)), lambda b: exec("b[1] = 9.0", {"b": b})),
    "__array_interface__": (lambda a: np.asarray(Interface(a)), lambda b: b.fill(9.0)),
    "readinto": (lambda a: a, lambda a: io.BytesIO(np.full(N, 9.0).tobytes()).readinto(a)),
    "readinto of a memoryview": (memoryview, lambda m: io.BytesIO(np.full(N, 9.0).tobytes()).readinto(m)),
    "pack_into": (lambda a: a, lambda a: struct.pack_into("d", a, 8, 9.0)),
    "pack_into of a memoryview": (memoryview, lambda m: struct.pack_into("d", m, 8, 9.0)),
    "random numbers": (lambda a: a, lambda a: np.random.default_rng(0).random(out=a)),
}


@pytest.mark.parametrize("name", SEEN)
def test_what_a_pullback_keeps_is_put_back_whatever_wrote_it(name):
    make, write = SEEN[name]

    def f(x):
        w = np.ones(N)
        shown = make(w)
        y = np.sum(x * w)
        write(shown)
        assert w[1] != 1.0
        return y

    assert wg.grad(f)(1.25) == N
    assert wg.vjp(f, 1.25)[1](2.0)[0] == 2 * N


def test_ordinary_programs_with_buffers_go_on():
    """What was exported once, what is exported and only read, and what readers show that is not traced."""
    buffer = np.arange(3.0)
    bytes(memoryview(buffer))
    np.frombuffer(buffer).sum()

    def writes(x):
        buffer[1] = x * x
        return np.sum(buffer * buffer)

    np.testing.assert_allclose(wg.grad(writes)(1.5), 4 * 1.5**3)

    table = np.arange(3.0)
    view, over = memoryview(table), np.from_dlpack(table)

    def reads(x):
        y = np.zeros(3)
        y[:] = x
        total = view[1] * y[1] + over[2] * y[2] + sum(view) * x
        for a, b in zip(table, iter(table), strict=True):
            total = total + a * b * y[0]
        return total + max(memoryview(table)) * x

    assert wg.grad(reads)(1.0) == 1 + 2 + 3 + 5 + 2

    pairs = zip([np.ones(2), np.ones(2)], itertools.repeat(2.0), strict=False)

    def hands_on(x):
        (first, factor), second = next(pairs), next(pairs)[0]
        first[0] = x
        second[:] = first
        return factor * np.sum(second)

    assert wg.grad(hands_on)(1.0) == 2.0
